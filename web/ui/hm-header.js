/* The bar on top of every page: name, pages, one box to search or jump, theme, keys. The box belongs to the page that is shown:
 *
 *	page.searchHint = "# event, time, text"		placeholder
 *	page.search(text, {submit: bool})		called while typing (submit false) and on Enter (true)
 *	page.searchText					what the box holds when the page comes (for example the filter of the URL)
 *
 * Pages without search() send people to the list of recordings. */
import {debounce, fill, h} from "./dom.js";
import {icon} from "./icons.js";
import {keys} from "./keys.js";
import {showKeys} from "./hm-keys-dialog.js";
import {chosen, choose, themes} from "./theme.js";
import {href, router} from "./router.js";
import {version} from "./api.js";

const PAGES = [
	["", "Recordings", ["", "r", "diff"]],
	["coverage", "Coverage", ["coverage"]],
	["sessions", "Sessions", ["sessions"]],
	["jobs", "Jobs", ["jobs"]],
	["settings", "Settings", ["settings"]],
];

const THEMES = {
	system: {next: "light", icon: "system", says: "Theme: as the system"},
	light: {next: "dark", icon: "sun", says: "Theme: light"},
	dark: {next: "system", icon: "moon", says: "Theme: dark"},
};

const TYPING_MS = 180;

class HmHeader extends HTMLElement {
	#page = null;
	#input = h("input", {
		type: "search", id: "search", autocomplete: "off", spellcheck: "false", "aria-label": "Search or jump", "aria-keyshortcuts": "/",
	});
	#links = PAGES.map(([path, label]) => h("a", {href: href(path), "data-label": label}, label));
	#theme = h("button.quiet.icon", {onclick: () => choose(THEMES[chosen()].next)});
	#user = h("span.user", {});

	connectedCallback() {
		if (this.firstChild)
			return;
		this.setAttribute("role", "banner");
		fill(this,
			h("a.brand", {href: "#/"}, h("img", {src: "icon.svg", alt: "", width: 20, height: 20}), "hermit"),
			h("nav", {"aria-label": "Pages"}, this.#links),
			h("search", {}, h("form", {onsubmit: event => this.#submit(event)},
				icon("search"), this.#input, h("kbd", {"aria-hidden": "true"}, "/"))),
			this.#user,
			this.#theme,
			h("button.quiet.icon", {onclick: showKeys, "aria-label": "Keyboard", title: "Keyboard (?)"}, h("span", {"aria-hidden": "true"}, "?")));
		const typing = debounce(() => this.#tell(false), TYPING_MS);

		this.#input.addEventListener("input", typing);
		this.#input.addEventListener("keydown", event => {
			if (event.key !== "Escape")
				return;
			event.preventDefault();
			if (this.#input.value) {
				this.#input.value = "";
				this.#tell(false);
			} else {
				document.querySelector("main").focus();
			}
		});
		themes.addEventListener("theme", () => this.#drawTheme());
		this.#drawTheme();
		keys.add("Everywhere", [
			{key: "/", does: "Search or jump", run: () => this.focusSearch()},
			{key: "?", does: "This list", run: showKeys},
			{key: "Escape", does: "Close, clear, back", run: () => false},
		]);
		version().then(about => {
			this.#user.textContent = [about.user, about.host].filter(Boolean).join("@");
			this.#user.title = `hermitd ${about.version}${about.commit ? ` (${about.commit})` : ""} on ${about.host ?? "this machine"}` + (about.read_only ? ", read-only" : "");
			if (about.read_only)
				this.#user.append(h("span.chip", {}, "read-only"));
		}, () => {});
	}

	/** Called by app.js for each page that is shown. */
	set page(page) {
		const route = router.route;

		this.#page = page;
		this.#input.placeholder = page.searchHint ?? "Search recordings";
		if (document.activeElement !== this.#input)
			this.#input.value = page.searchText ?? "";
		PAGES.forEach(([, , names], at) => {
			if (names.includes(route.page))
				this.#links[at].setAttribute("aria-current", "page");
			else
				this.#links[at].removeAttribute("aria-current");
		});
	}

	/** Put the caret into the box; with text: also set it (for example "#" of "go to"). */
	focusSearch(text = null) {
		if (text !== null)
			this.#input.value = text;
		this.#input.focus();
		if (text === null)
			this.#input.select();
	}

	#submit(event) {
		event.preventDefault();
		this.#tell(true);
	}

	#tell(submit) {
		const text = this.#input.value.trim();

		if (this.#page?.search)
			this.#page.search(text, {submit});
		else if (submit)
			router.go("", {q: text});
	}

	#drawTheme() {
		const theme = THEMES[chosen()];

		fill(this.#theme, icon(theme.icon));
		this.#theme.setAttribute("aria-label", `${theme.says}, switch to ${theme.next}`);
		this.#theme.title = theme.says;
	}
}

customElements.define("hm-header", HmHeader);
