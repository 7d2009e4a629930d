/* Building elements. Strings become text nodes, never markup: what recordings hold is hostile. */

/**
 * An element: h("a.quiet.mono", {href, title, onclick, "aria-label": ..}, "text", child, [children], null).
 * Properties that are functions and begin with "on" are listeners; true makes an empty attribute, false/null/undefined none.
 */
export function h(spec, props, ...children) {
	const [tag, ...classes] = spec.split(".");
	const el = document.createElement(tag);

	if (classes.length)
		el.className = classes.join(" ");
	for (const [name, value] of Object.entries(props ?? {})) {
		if (typeof value === "function" && name.startsWith("on"))
			el.addEventListener(name.slice(2), value);
		else if (name === "value" || name === "checked" || name === "selected" || name === "indeterminate")
			el[name] = value;
		else if (value !== false && value !== null && value !== undefined)
			el.setAttribute(name, value === true ? "" : String(value));
	}
	el.append(...flat(children));
	return el;
}

function flat(children) {
	return children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false);
}

/** Replace the children of an element. */
export function fill(el, ...children) {
	el.replaceChildren(...flat(children));
	return el;
}

/** Set the text only when it is another one: live counters do not disturb selections and screen readers. */
export function text(el, string) {
	if (el.textContent !== string)
		el.textContent = string;
}

/** A link that is only followed when it is one of ours or http(s): recorded strings never become javascript: links. */
export function safeHref(href) {
	return /^(#|\/(?!\/)|https?:|vscode:)/.test(href) ? href : null;
}

/** Pixels of n rem. */
export function rem(n) {
	return n * parseFloat(getComputedStyle(document.documentElement).fontSize);
}

/** Call fn ms after the last of several calls, with its arguments: for what a person types. .cancel() forgets a waiting call. */
export function debounce(fn, ms) {
	let timer = 0;
	const run = (...args) => {
		clearTimeout(timer);
		timer = setTimeout(() => fn(...args), ms);
	};

	run.cancel = () => clearTimeout(timer);
	return run;
}

/**
 * Call fn ms after the first of several calls, and never again before the promise it gave is settled: for what is told without end, where each
 * would put the one before off for ever. .cancel() forgets a waiting call.
 */
export function soon(fn, ms) {
	let timer = 0;
	let busy = false;
	let again = false;
	const go = async () => {
		timer = 0;
		busy = true;
		try {
			await fn();
		} finally {
			busy = false;
			if (again)
				run();
			again = false;
		}
	};
	const run = () => {
		if (busy)
			again = true;
		else
			timer ||= setTimeout(go, ms);
	};

	run.cancel = () => {
		clearTimeout(timer);
		timer = 0;
		again = false;
	};
	return run;
}

/** Call fn once in the next animation frame, however often it was asked for. */
export function framed(fn) {
	let wanted = false;

	return () => {
		if (wanted)
			return;
		wanted = true;
		requestAnimationFrame(() => {
			wanted = false;
			fn();
		});
	};
}

/** Values remembered in this browser (sizes, theme, columns); without storage they last as long as the page. */
export const remember = {
	get(name, fallback = null) {
		try {
			return JSON.parse(localStorage.getItem("hermit." + name)) ?? fallback;
		} catch {
			return fallback;
		}
	},
	set(name, value) {
		try {
			localStorage.setItem("hermit." + name, JSON.stringify(value));
		} catch {
			/* full or forbidden: nothing to do */
		}
	},
};

let serial = 0;

/** A fresh id for aria-labelledby and for=. */
export function uid(prefix = "hm") {
	return `${prefix}-${++serial}`;
}
