/* A row of tabs for panels on the same page (pages use links instead).
 *
 *	tabs.label = "Details"; tabs.tabs = [{id: "call", label: "Call", panel: "id-of-panel", count: 3}]; tabs.selected = "call";
 *	tabs.addEventListener("select", () => show(tabs.selected));
 */
import {fill, h} from "./dom.js";

class HmTabs extends HTMLElement {
	#tabs = [];
	#selected = null;
	#buttons = new Map();

	connectedCallback() {
		this.setAttribute("role", "tablist");
		this.addEventListener("keydown", event => this.#key(event));
	}

	set label(text) {
		this.setAttribute("aria-label", text);
	}

	set tabs(list) {
		this.#tabs = list;
		this.#buttons.clear();
		for (const tab of list) {
			this.#buttons.set(tab.id, h("button", {
				type: "button", role: "tab", "aria-controls": tab.panel,
				onclick: () => this.#choose(tab.id),
			}, h("span.name", {"data-label": tab.label}, tab.label), tab.count === undefined ? null : h("span.n", {}, String(tab.count))));
		}
		fill(this, [...this.#buttons.values()]);
		this.selected = this.#buttons.has(this.#selected) ? this.#selected : list[0]?.id;
	}

	set selected(id) {
		this.#selected = id;
		for (const [key, button] of this.#buttons) {
			button.setAttribute("aria-selected", key === id);
			button.tabIndex = key === id ? 0 : -1;
		}
	}

	get selected() {
		return this.#selected;
	}

	#choose(id) {
		if (id === this.#selected)
			return;
		this.selected = id;
		this.dispatchEvent(new Event("select"));
	}

	#key(event) {
		const at = this.#tabs.findIndex(tab => tab.id === this.#selected);
		const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: this.#tabs.length - 1}[event.key];

		if (to === undefined)
			return;
		const tab = this.#tabs[(to + this.#tabs.length) % this.#tabs.length];

		event.preventDefault();
		event.stopPropagation();
		this.#choose(tab.id);
		this.#buttons.get(tab.id).focus();
	}
}

customElements.define("hm-tabs", HmTabs);
