/* The head of the pages of one recording (#/r/ID and #/r/ID/summary): what it is, how it ended, its pages, Debug, Share and the menu.
 * Its height is the same while the recording is not known yet.
 *
 *	head.active = "events" | "summary";	head.recording = rec;	head.at = () => event number or null, for Debug
 *	head.extra = [nodes]			buttons of the page between Share and the menu (Export)
 */
import {readOnly} from "./api.js";
import {exitBadge, stateBadge} from "./badges.js";
import {fill, h} from "./dom.js";
import * as format from "./format.js";
import {show} from "./format.js";
import {copyText} from "./hm-copy.js";
import {icon} from "./icons.js";
import {openMenu} from "./menu.js";
import {href, router} from "./router.js";
import {recordingActions} from "./actions.js";
import {openDebugDialog} from "./hm-debug.js";
import {toast, toastError} from "./hm-toasts.js";

class HmRecHead extends HTMLElement {
	active = "events";
	at = () => null;
	debugKey = "d";		/* on the timeline d means later */
	#recording = null;
	#extra = [];
	#readOnly = false;
	#name = h("h1.cut", {}, "\u00a0");
	#badges = h("span.hstack", {});
	#command = h("p.mono.cut.muted", {}, "\u00a0");
	#facts = h("dl.facts", {});
	#pages = h("nav.subnav", {"aria-label": "Pages of the recording"});
	#buttons = h("div.hstack", {});

	connectedCallback() {
		fill(this, h("div.what", {}, h("div.hstack", {}, this.#name, this.#badges), this.#command), this.#facts, this.#buttons, this.#pages);
		readOnly().then(no => {
			this.#readOnly = no;
		});
	}

	get recording() {
		return this.#recording;
	}

	set extra(nodes) {
		this.#extra = nodes;
		this.#drawButtons();
	}

	set recording(rec) {
		const first = !this.#recording || this.#recording.id !== rec.id;

		this.#recording = rec;
		this.#name.textContent = format.printable(rec.label || rec.program || rec.command || rec.id.slice(0, 12));
		this.#name.title = rec.id;
		fill(this.#badges, stateBadge(rec.state, rec.reason ?? rec.error), rec.live ? null : exitBadge(rec.exit));
		fill(this.#command, format.printable(rec.command));
		this.#command.title = rec.command;
		fill(this.#facts, fact("Events", show.short(rec.events)), fact("Duration", rec.live ? "running" : show.duration(rec.duration_ns)),
			fact("Size", show.bytes(rec.bytes)), fact("Started", show.when(rec.started)), fact("Host", rec.host ?? format.NONE));
		if (!first)
			return;
		fill(this.#pages, [["events", "Timeline", `r/${rec.id}`], ["summary", "Summary", `r/${rec.id}/summary`]].map(([name, label, path]) =>
			h("a", {href: href(path), "data-label": label, "aria-current": name === this.active ? "page" : null}, label)));
		this.#drawButtons();
	}

	#drawButtons() {
		const rec = this.#recording;

		if (!rec)
			return;
		fill(this.#buttons,
			h("button", {disabled: rec.state === "broken", onclick: () => openDebugDialog(this.#recording, this.at()), title: `Debug (${this.debugKey})`}, icon("debug"), "Debug"),
			h("button", {onclick: () => this.#share(), title: "Copy a link to this moment"}, icon("link"), "Share"),
			this.#extra,
			h("button.icon", {"aria-label": "Actions", "aria-haspopup": "menu", "aria-expanded": "false", onclick: event => openMenu(event.currentTarget,
				recordingActions(this.#recording, {readOnly: this.#readOnly, open: false, at: this.at()}))}, icon("menu")));
	}

	async #share() {
		try {
			await copyText(new URL(router.href, location.href).href);
			toast("Copied a link to what you see");
		} catch (error) {
			toastError(error, "Could not copy the link");
		}
	}
}

function fact(name, value) {
	return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}

customElements.define("hm-rec-head", HmRecHead);
