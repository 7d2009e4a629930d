/* Who debugs what: the sessions of hermitd with their addresses and commands; end them. */
import {ApiError, del, get, latest, live} from "./api.js";
import {fill, h} from "./dom.js";
import * as format from "./format.js";
import {sessionCard} from "./hm-debug.js";
import {emptyNotice, errorNotice, loadingNotice} from "./notices.js";
import {confirmDialog} from "./dialogs.js";
import {href} from "./router.js";
import {toast, toastError} from "./hm-toasts.js";

class PageSessions extends HTMLElement {
	pageTitle = "Sessions";
	searchHint = "Search sessions";
	#words = "";
	#sessions = null;
	#commands = new Map();		/* of recordings */
	#load = latest();
	#off = null;
	#count = h("span.muted", {}, "\u00a0");
	#list = h("div.column", {});

	set route({params}) {
		this.#words = params.q ?? "";
	}

	get searchText() {
		return this.#words;
	}

	search(text) {
		this.#words = text;
		this.#draw();
	}

	connectedCallback() {
		fill(this, h("header.toolbar", {}, h("div.title", {}, h("h1", {}, "Sessions"), this.#count)), h("div.scroll", {}, this.#list));
		fill(this.#list, loadingNotice("Loading sessions"));
		this.#off = live({session: () => this.#ask(), again: () => this.#ask()});
		this.#ask();
	}

	disconnectedCallback() {
		this.#off();
		this.#load.abort();
	}

	async #ask() {
		try {
			const answer = await this.#load(signal => get("/sessions", {params: {limit: 1000}, signal}));

			if (!answer)
				return;
			this.#sessions = answer.items.filter(one => one.state !== "ended");
			this.#draw();
			await this.#name();
		} catch (error) {
			if (!this.#sessions)
				fill(this.#list, errorNotice(error, () => this.#ask()));
		}
	}

	/* what the sessions debug, by name */
	async #name() {
		const ids = new Set(this.#sessions.map(one => one.recording).filter(id => !this.#commands.has(id)));

		for (const id of ids) {
			try {
				const rec = await get(`/recordings/${id}`);

				this.#commands.set(id, rec.label ? `${rec.label}: ${rec.command}` : rec.command);
			} catch (error) {
				this.#commands.set(id, error instanceof ApiError && error.status === 404 ? "a deleted recording" : id);
			}
		}
		if (ids.size)
			this.#draw();
	}

	#draw() {
		const words = this.#words.toLowerCase().split(/\s+/).filter(Boolean);
		const shown = (this.#sessions ?? []).filter(one => words.every(word => `${this.#commands.get(one.recording) ?? ""} ${one.recording} ${one.pid} ${one.state}`.toLowerCase().includes(word)));

		if (!this.#sessions)
			return;
		this.#count.textContent = format.count(this.#sessions.length);
		if (!shown.length) {
			fill(this.#list, words.length ? emptyNotice({title: "Nothing found", text: "No session has all of these words."}) :
				emptyNotice({title: "Nobody is debugging", text: "A session makes a recording debuggable by gdb or VS Code at an address. Start one with Debug on a recording, or debug in your terminal:", command: "hermit replay ID"}));
			return;
		}
		fill(this.#list, shown.map(one => h("section.box.with-head", {},
			h("div.box-head", {}, h("a.mono.cut.grow", {href: href(`r/${one.recording}`), title: one.recording}, format.printable(this.#commands.get(one.recording) ?? one.recording)),
				h("span.muted", {title: format.whenExact(one.created)}, `since ${format.when(one.created)}`)),
			sessionCard(one, () => this.#end(one)))));
	}

	async #end(one) {
		if (one.state === "ready" && !await confirmDialog({title: "End this session?", text: "Debuggers that are connected lose their connection. The recording stays.", action: "End", danger: true}))
			return;
		try {
			await del(`/sessions/${one.id}`);
			toast("Ended the session");
		} catch (error) {
			if (!(error instanceof ApiError && error.status === 404))
				toastError(error, "Could not end the session");
		}
		this.#ask();
	}
}

customElements.define("page-sessions", PageSessions);
