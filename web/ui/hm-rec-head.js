/** <hm-rec-head>: which recording this is: label and command, how it ended, how long and how big it is, and what can be done with it. */
import {h, fill, text} from "./dom.js";
import * as format from "./format.js";
import {url} from "./api.js";
import {router, href} from "./router.js";
import {icon} from "./icons.js";
import {exitBadge, stateBadge} from "./badges.js";
import {copyText} from "./hm-copy.js";
import {openMenu} from "./menu.js";
import {toast, toastError} from "./hm-toasts.js";
import {partialNote} from "./notices.js";

class Head extends HTMLElement {
	/** @param {import("./rec-model.js").RecordingModel} model */
	set model(model) {
		this.m = model;
		this.#build();
		model.on("recording", () => this.#draw());
		model.on("grow", () => this.#facts());
		model.on("follow", () => this.#followState());
	}

	#build() {
		this.titleLine = h("h1.cut");
		this.command = h("code.cut.rec-command");
		this.badges = h("span.rec-badges");
		this.facts = h("span.rec-head-facts.muted");
		this.follow = h("button.rec-small.rec-live", {type: "button", hidden: true, "aria-pressed": "false", title: "Keep the cursor at the newest event", onclick: () => this.m.setFollow(!this.m.follow)}, h("span.rec-live-dot", {"aria-hidden": "true"}), h("span", null, "live"));
		const id = encodeURIComponent(this.m.id);
		this.nav = h("nav.subnav", {"aria-label": "Views of the recording"}, h("a", {href: href(`r/${id}`), "aria-current": "page"}, "Events"), h("a", {href: href(`r/${id}/summary`)}, "Summary"));
		const button = (label, name, run, extra = {}) => h("button", {type: "button", onclick: e => run(e.currentTarget), ...extra}, icon(name), label);
		this.note = h("div.rec-head-note");
		fill(this, h("div.rec-head-line", null, h("div.rec-title", null, this.titleLine, this.command), this.badges, this.follow, this.facts, this.nav,
			h("div.rec-head-actions", null, button("Debug", "debug", () => this.dispatchEvent(new CustomEvent("debug", {bubbles: true}))), button("Share", "link", () => this.#share(), {title: "Copy the link to this place"}),
				button("Export", "download", el => this.#export(el), {"aria-haspopup": "menu"}))), this.note);
	}

	#draw() {
		const r = this.m.recording;
		text(this.titleLine, r.label || r.program || "Recording");
		this.titleLine.title = r.label || r.program || "";
		text(this.command, r.command);
		this.command.title = r.command;
		const crash = r.crash;
		const exit = exitBadge(r.exit);
		fill(this.badges, r.state === "complete" || r.state === "sealed" || r.live ? null : stateBadge(r.state, r.reason ?? r.error),
			crash && r.exit.kind === "signaled" ? h("a", {href: href(`r/${encodeURIComponent(this.m.id)}`, {at: crash.event}), title: `Go to ${format.event(crash.event)}, where it ended`}, exit) : exit);
		this.follow.hidden = !r.live;
		fill(this.note, r.state === "truncated" ? partialNote(`The recording ends before the program did${r.reason ? `: ${r.reason}` : ""}. What is here is complete up to its last event.`)
			: r.state === "broken" ? partialNote(`The recording is damaged: ${r.error ?? "unreadable"}. What can be read is shown.`) : (r.warnings ?? []).map(w => partialNote(w)));
		this.#facts();
	}

	#facts() {
		const r = this.m.recording;
		if (!r)
			return;
		const ns = r.live ? this.m.endNs : r.duration_ns;
		const list = [[format.duration(ns), format.durationExact(Math.floor(Number(ns ?? 0)))], [`${format.short(Math.max(this.m.last, r.events))} events`, format.plural(Math.max(this.m.last, r.events), "event")],
			[format.bytes(r.bytes), format.bytesExact(r.bytes)], [format.when(r.started), format.whenExact(r.started)]];
		fill(this.facts, list.map(([human, exact]) => h("span", {title: exact}, human)));
	}

	#followState() {
		this.follow.setAttribute("aria-pressed", String(this.m.follow));
		text(this.follow.lastChild, this.m.follow ? "live, following" : "live");
	}

	async #share() {
		try {
			await copyText(new URL(router.href, location.href).href);
			toast("Copied the link to this place");
		} catch (error) {
			toastError(error, "The browser did not let the link be copied");
		}
	}

	#export(button) {
		const {m} = this;
		const params = m.query ? {q: m.query} : {};
		const which = m.query ? "the filtered events" : "all events";
		const save = (suffix, type, label) => ({label: `${label} of ${which}`, icon: "download", run: () => this.#saveEvents(suffix, type, params)});
		openMenu(button, [
			{label: "Recording (tar)", icon: "download", href: url(m.path("/export")), download: ""},
			null,
			save("csv", "text/csv", "CSV"), save("ndjson", "application/x-ndjson", "NDJSON"), save("txt", "text/plain", "strace text"),
			null,
			{label: "Trace for Perfetto", icon: "download", href: url(m.path("/trace")), download: `${m.id}.trace.json`},
			{label: "Output as text", icon: "download", run: () => this.#saveEvents("console.txt", "text/plain", {}, "/console")},
		]);
	}

	/** The format is chosen by Accept, which links cannot say: fetched by pages and saved. */
	async #saveEvents(suffix, type, params, what = "/events") {
		const pieces = [];
		const whole = what !== "/events";
		try {
			for (let offset = 0, more = true; more; offset += 1000) {
				const response = await fetch(url(this.m.path(what), whole ? params : {...params, offset, limit: 1000}), {headers: {Accept: type}, signal: this.m.signal, credentials: "same-origin"});
				if (!response.ok)
					throw new Error(`the server answered ${response.status}`);
				const body = await response.text();
				const lines = body.split("\n").length - 1;
				pieces.push(suffix === "csv" && offset > 0 ? body.slice(body.indexOf("\n") + 1) : body);
				more = !whole && lines >= 1000;
			}
			const link = h("a", {href: URL.createObjectURL(new Blob(pieces, {type})), download: `${this.m.id}.${suffix}`});
			link.click();
			setTimeout(() => URL.revokeObjectURL(link.href), 10000);
		} catch (error) {
			if (error.name !== "AbortError")
				toastError(error, "The export did not work");
		}
	}
}

customElements.define("hm-rec-head", Head);
