/* Light and dark: the system decides until somebody chooses. Event "theme" of `themes` when it changed: canvases draw again. */
export const themes = new EventTarget();

const dark = matchMedia("(prefers-color-scheme: dark)");

/** "system", "light" or "dark": what was chosen. */
export function chosen() {
	return document.documentElement.dataset.theme ?? "system";
}

/** "light" or "dark": what is shown. */
export function shown() {
	return document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
}

export function choose(theme) {
	if (theme === "system")
		delete document.documentElement.dataset.theme;
	else
		document.documentElement.dataset.theme = theme;
	try {
		localStorage.setItem("hermit.theme", theme);
	} catch {
		/* it lasts as long as the page, then */
	}
	tell();
}

const probed = new Map();

/** A token as a colour canvases understand: cssColor("--c-error") */
export function cssColor(token) {
	if (!probed.has(token)) {
		const probe = document.createElement("i");

		probe.hidden = true;
		probe.style.color = `var(${token})`;
		document.body.append(probe);
		probed.set(token, getComputedStyle(probe).color);
		probe.remove();
	}
	return probed.get(token);
}

function tell() {
	probed.clear();
	themes.dispatchEvent(new Event("theme"));
}

dark.addEventListener("change", tell);
matchMedia("(forced-colors: active)").addEventListener("change", tell);
