/* Short messages at the bottom: what was done (gone after 5 s), what failed (stays until closed).
 *
 *	toast("Deleted make -j2");		toast("Copied", {quiet: true});
 *	toast("Deleted", {action: {label: "Undo", run}});
 *	toastError(error, "Could not delete make -j2");
 */
import {h} from "./dom.js";
import {icon} from "./icons.js";

const LIFE_MS = 5000;
const MAX = 4;

class HmToasts extends HTMLElement {
	connectedCallback() {
		this.setAttribute("role", "status");
		this.setAttribute("aria-live", "polite");
	}

	show(message, {error = false, detail = null, action = null} = {}) {
		const close = () => one.remove();
		const one = h(`div.toast${error ? ".error" : ""}`, {},
			icon(error ? "danger" : "check"),
			h("div.grow", {}, h("p", {}, message), detail ? h("p.muted", {}, detail) : null),
			action ? h("button", {onclick: () => {
				close();
				action.run();
			}}, action.label) : null,
			h("button.quiet.icon", {onclick: close, "aria-label": "Dismiss"}, icon("close")));
		let timer = 0;
		const start = () => {
			if (!error)
				timer = setTimeout(close, LIFE_MS);
		};

		one.addEventListener("pointerenter", () => clearTimeout(timer));
		one.addEventListener("pointerleave", start);
		start();
		this.append(one);
		while (this.children.length > MAX)
			this.firstChild.remove();
	}
}

customElements.define("hm-toasts", HmToasts);

export function toast(message, options) {
	document.querySelector("hm-toasts").show(message, options);
}

export function toastError(error, message) {
	if (error.name === "AbortError")
		return;
	document.querySelector("hm-toasts").show(message, {error: true, detail: error.message});
}
