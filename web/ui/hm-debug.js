/* The "Debug" dialog: how to get a debugger onto a recording at a moment. openDebugDialog(recording, eventNumberOrNull, pidOrNull).
 * Without a session there is the command that needs none (hermit replay); "Start a session" asks hermitd for a gdb server and shows what to paste. */
import {ApiError, del, get, live, post, readOnly} from "./api.js";
import {fill, h, safeHref} from "./dom.js";
import * as format from "./format.js";
import {stateBadge} from "./badges.js";
import {icon} from "./icons.js";
import {openDialog} from "./dialogs.js";
import {commandLine} from "./hm-copy.js";
import {loadingNotice} from "./notices.js";

/* For hermit's extension for VS Code (dap/vscode/src/link.js): it replays by itself and needs no session. */
function vscodeLink(recording, at, pid) {
	const what = new URLSearchParams({recording, ...pid === null ? {} : {process: pid}, ...at === null ? {} : {event: at}, server: location.origin});

	return safeHref(`vscode://hermit.hermit-debug/open?${what}`);
}

class HmDebug extends HTMLElement {
	recording = null;
	at = null;
	pid = null;
	#sessions = [];
	#error = null;
	#busy = false;
	#refuses = false;
	#off = null;
	#list = h("div.sessions", {});

	connectedCallback() {
		const rec = this.recording;
		const local = `hermit replay ${rec.id}${this.pid === null ? "" : ` -p ${this.pid}`}${this.at === null ? "" : ` -g ${this.at}`}`;

		fill(this,
			h("p.muted", {}, this.at === null ? "From the beginning of the recording." : `Right after event ${format.event(this.at)}.`),
			h("section", {}, h("h3", {}, "On this machine"),
				h("p.muted", {}, "Replays in your terminal with gdb; reverse-step, reverse-continue and watchpoints work."), commandLine(local),
				h("p", {}, h("a.button", {href: vscodeLink(rec.id, this.at, this.pid), title: "With the extension of hermit"}, icon("link"), "Open in VS Code"))),
			this.#list);
		fill(this.#list, loadingNotice("Looking for sessions"));
		this.#off = live({session: () => this.#load(), again: () => this.#load()});
		readOnly().then(refuses => {
			this.#refuses = refuses;
			this.#draw();
		});
		this.#load();
	}

	disconnectedCallback() {
		this.#off?.();
	}

	async #load() {
		try {
			const answer = await get("/sessions", {params: {limit: 1000}});

			this.#sessions = answer.items.filter(one => one.recording === this.recording.id && one.state !== "ended");
			this.#error = null;
		} catch (error) {
			this.#error = error;
		}
		this.#draw();
	}

	async #start() {
		this.#busy = true;
		this.#draw();
		try {
			await post("/sessions", {recording: this.recording.id, ...this.pid === null ? {} : {pid: this.pid}, ...this.at === null ? {} : {goto: String(this.at)}});
			this.#error = null;
		} catch (error) {
			this.#error = error;
		}
		this.#busy = false;
		if (!this.#error)
			await this.#load();
		this.#draw();
	}

	async #end(session) {
		try {
			await del(`/sessions/${session.id}`);
		} catch (error) {
			if (!(error instanceof ApiError && error.status === 404))
				this.#error = error;
		}
		await this.#load();
	}

	#draw() {
		const had = this.#list.contains(document.activeElement);

		fill(this.#list,
			h("h3", {}, "By a session of hermitd"),
			h("p.muted", {}, "hermitd replays and waits for gdb or VS Code at an address."),
			this.#error ? h("p.bad", {role: "alert"}, icon("danger"), " ", this.#error.message) : null,
			this.#sessions.map(one => sessionCard(one, () => this.#end(one))),
			h("button.start", {type: "button", disabled: this.#busy || this.#refuses, title: this.#refuses ? "The server is read-only" : null, onclick: () => this.#start()},
				icon("debug"), this.#busy ? "Starting\u2026" : this.#sessions.length ? "Start another session" : "Start a session"));
		if (had)
			this.#list.querySelector("button.start").focus();
	}
}

/** A session with its commands while it can be used; also on the Sessions page. */
export function sessionCard(session, end) {
	const link = session.commands?.vscode && safeHref(session.commands.vscode);
	const open = session.state === "starting" || session.state === "ready";
	const where = session.address?.path ?? (session.address ? `${session.address.host}:${session.address.port}` : null);

	return h("article.session", {},
		h("div.hstack", {}, stateBadge(session.state), h("span.grow.muted", {},
			[where, session.pid ? `pid ${session.pid}` : null, session.goto ? `at ${session.goto}` : null].filter(Boolean).join("  \u00b7  ")),
		link && open ? h("a.button", {href: link}, icon("link"), "VS Code") : null,
		open ? h("button.danger", {type: "button", onclick: end}, icon("stop"), "End") : null),
		session.error ? h("p.bad", {}, session.error) : null,
		session.commands?.gdb && open ? commandLine(session.commands.gdb, "Copy the gdb command") : null);
}

customElements.define("hm-debug", HmDebug);

export function openDebugDialog(recording, at = null, pid = null) {
	const el = document.createElement("hm-debug");

	Object.assign(el, {recording, at, pid});
	openDialog({title: `Debug ${recording.label || recording.program || recording.id}`, wide: true, body: el, actions: [{label: "Close", primary: true}]});
}
