/* Copy buttons. copyButton(text or () => text, label): an icon; commandLine(command): a command in a box that can be copied.
 * The clipboard needs a secure context (https or localhost); elsewhere the old way with a selection is taken. */
import {fill, h} from "./dom.js";
import {icon} from "./icons.js";

const DONE_MS = 1500;

export async function copyText(text) {
	if (navigator.clipboard) {
		await navigator.clipboard.writeText(text);
		return;
	}
	const area = h("textarea.sr-only", {value: text});
	const host = document.querySelector("dialog[open]") ?? document.body;

	host.append(area);
	area.select();
	document.execCommand("copy");
	area.remove();
}

class HmCopy extends HTMLElement {
	text = "";
	label = "Copy";

	connectedCallback() {
		const button = h("button.quiet.icon", {type: "button", "aria-label": this.label, title: this.label}, icon("copy"));
		const said = h("span.sr-only", {"aria-live": "polite"});

		button.addEventListener("click", async event => {
			event.stopPropagation();
			try {
				await copyText(typeof this.text === "function" ? this.text() : this.text);
			} catch {
				said.textContent = "Could not copy: the browser refused";
				return;
			}
			fill(button, icon("check"));
			said.textContent = "Copied";
			setTimeout(() => {
				fill(button, icon("copy"));
				said.textContent = "";
			}, DONE_MS);
		});
		fill(this, button, said);
	}
}

customElements.define("hm-copy", HmCopy);

export function copyButton(text, label = "Copy") {
	const el = document.createElement("hm-copy");

	el.text = text;
	el.label = label;
	return el;
}

export function commandLine(command, label = "Copy the command") {
	return h("div.command", {}, h("code", {tabindex: 0}, command), copyButton(command, label));
}
