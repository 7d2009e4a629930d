/* One recording at a glance: what it called, touched and started, how it ended, where it ran. Each row leads to its first event. */
import "./hm-table.js";
import "./hm-tabs.js";
import "./hm-rec-head.js";
import {get, latest, live} from "./api.js";
import {badge, exitBadge} from "./badges.js";
import {fill, h, soon} from "./dom.js";
import * as format from "./format.js";
import {show} from "./format.js";
import {icon} from "./icons.js";
import {copyButton} from "./hm-copy.js";
import {keys} from "./keys.js";
import {errorNotice, emptyNotice, loadingNotice, partialNote} from "./notices.js";
import {nameOf} from "./actions.js";
import {openDebugDialog} from "./hm-debug.js";
import {href, router} from "./router.js";
import {processTree} from "./summary-tree.js";

const AGAIN_MS = 2000;
const PARTS = ["summary", "files", "sockets", "processes"];
const TABS = [["calls", "System calls"], ["files", "Files"], ["sockets", "Sockets"], ["processes", "Processes"], ["machine", "Machine"]];

class PageSummary extends HTMLElement {
	searchHint = "Filter this table";
	#id = null;
	#tab = "calls";
	#words = "";
	#recording = null;
	#data = {};
	#errors = {};
	#load = latest();
	#timer = 0;
	#off = [];
	#head = document.createElement("hm-rec-head");
	#top = h("div.cards", {});
	#note = h("div.notes", {});
	#tabs = document.createElement("hm-tabs");
	#panel = h("div.panel", {role: "tabpanel", id: "summary-panel", tabindex: -1});
	#tables = {};
	#folded = new Set();
	#counted = -1;		/* events of the summary that was shown before */
	#again = soon(() => this.#loadAll(), AGAIN_MS);

	constructor() {
		super();
		this.#head.active = "summary";
		this.#tabs.label = "Parts of the summary";
		this.#tabs.addEventListener("select", () => router.update({tab: this.#tabs.selected === "calls" ? null : this.#tabs.selected}) ?? this.#show(this.#tabs.selected));
		for (const [name, columns, caption, sort] of [["calls", CALLS, "System calls", "calls"], ["files", FILES, "Files", "opens"], ["sockets", SOCKETS, "Sockets", "id"]]) {
			const table = document.createElement("hm-table");

			Object.assign(table, {key: row => row.name ?? row.path ?? row.id, caption, sort: {key: sort, order: name === "sockets" ? "asc" : "desc"}});
			table.setAttribute("dense", "");
			table.columns = columns.map(column => ({...column, cell: row => column.cell(row, this.#data.scale ?? {}, this.#id)}));
			this.#tables[name] = table;
		}
	}

	get pageTitle() {
		return this.#recording ? `Summary of ${nameOf(this.#recording)}` : "Summary";
	}

	get searchText() {
		return this.#words;
	}

	search(text) {
		this.#words = text;
		router.update({q: text});
		this.#draw();
	}

	set route(route) {
		this.#words = route.params.q ?? "";
		this.#tab = TABS.some(([id]) => id === route.params.tab) ? route.params.tab : "calls";
		if (route.id !== this.#id) {
			this.#id = route.id;
			this.#loadAll();
		} else {
			this.#show(this.#tab);
		}
	}

	connectedCallback() {
		fill(this, this.#head, h("div.scroll", {}, h("div.column", {}, this.#note, this.#top, h("section.box", {}, this.#tabs, this.#panel))));
		this.#tabs.tabs = TABS.map(([id, label]) => ({id, label, panel: "summary-panel"}));
		this.#show(this.#tab);
		this.#off = [
			live({recording: ({id, what}) => id === this.#id && what === "changed" && this.#again(), again: () => this.#loadAll()}),
			keys.add("Summary", [
				{key: "d", also: ["D"], does: "Debug", run: () => this.#recording && openDebugDialog(this.#recording)},
				{key: "t", does: "To the timeline", run: () => router.go(`r/${this.#id}`)},
				{key: "j", also: ["ArrowDown"], does: "Into the table, next row", run: () => this.#tables[this.#tab]?.focusRow(0)},
				...TABS.map(([id, label], at) => ({key: String(at + 1), does: label, run: () => {
					this.#tabs.selected = id;
					this.#tabs.dispatchEvent(new Event("select"));
				}})),
			]),
		];
	}

	disconnectedCallback() {
		this.#off.forEach(off => off());
		this.#load.abort();
		this.#again.cancel();
		clearTimeout(this.#timer);
	}

	async #loadAll() {
		clearTimeout(this.#timer);
		try {
			await this.#load(async signal => {
				const rec = await get(`/recordings/${this.#id}`, {signal});

				this.#recording = rec;
				this.#head.recording = rec;
				this.dispatchEvent(new Event("hermit:page", {bubbles: true}));
				this.#draw();
				await Promise.all(PARTS.map(part => this.#loadPart(part, signal)));
				/* what is still being counted is asked for again, until it stands still: a limit was hit */
				const before = this.#counted;

				this.#counted = this.#data.summary?.events ?? 0;
				if (PARTS.some(part => this.#data[part]?.complete === false) && !rec.live && before !== this.#counted)
					this.#timer = setTimeout(() => this.#loadAll(), AGAIN_MS);
			});
		} catch (error) {
			if (!this.#recording)
				fill(this, errorNotice(error, () => location.reload()));
		}
	}

	async #loadPart(part, signal) {
		try {
			this.#data[part] = await get(`/recordings/${this.#id}/${part}`, {signal});
			delete this.#errors[part];
		} catch (error) {
			if (error.name === "AbortError")
				throw error;
			this.#errors[part] = error;
		}
		if (part === "summary" && this.#data.summary)
			this.#data.scale = scaleOf(this.#data.summary.syscalls);
		this.#draw();
	}

	#show(tab) {
		this.#tab = tab;
		this.#tabs.selected = tab;
		this.#draw();
	}

	/* --- drawing --- */

	#draw() {
		const rec = this.#recording;
		const summary = this.#data.summary;

		if (!rec)
			return;
		fill(this.#note, rec.live ? partialNote("It is still being recorded: the numbers are those so far.") : null,
			summary && !summary.complete && !rec.live ? partialNote(`Counted so far: ${format.count(summary.events)} of ${format.count(rec.events)} events.`) : null,
			rec.state === "truncated" ? partialNote(`The recording ends before the program: ${rec.reason ?? "the reason is not known"}. What was recorded can be replayed.`) : null,
			rec.state === "broken" ? partialNote(`It cannot be read fully: ${rec.error}. Verify shows which part is damaged.`) : null);
		this.#drawCards(rec, summary);
		this.#drawPanel();
	}

	#drawCards(rec, summary) {
		const calls = summary?.syscalls ?? [];
		const errors = calls.reduce((sum, row) => sum + row.errors, 0);

		fill(this.#top,
			card("Ended", rec.live ? badge("running", "still running", {icon: "play"}) : exitBadge(rec.exit),
				rec.crash ? h("a", {href: href(`r/${rec.id}`, {at: rec.crash.event})}, `${rec.crash.signal} at ${format.event(rec.crash.event)}`) : rec.reason ?? "\u00a0"),
			card("System calls", summary ? show.short(summary.calls) : "\u00a0", summary ? `${format.count(errors)} failed (${format.percent(errors, summary.calls)})` : "\u00a0"),
			card("Processes", show.count(rec.processes), format.plural(rec.threads, "thread")),
			card("Waited", summary ? show.duration(calls.reduce((sum, row) => sum + Number(row.blocked_ns), 0)) : "\u00a0", "by all threads, in calls"),
			h("section.card.wide", {}, h("h2", {}, "Signals and programs"), summary ? signalList(summary, rec.id) : "\u00a0"));
	}

	#drawPanel() {
		const part = {calls: "summary"}[this.#tab] ?? this.#tab;
		const data = this.#data[part];
		const keep = this.#panel.firstElementChild;

		if (part === "machine") {
			fill(this.#panel, machine(this.#recording));
			return;
		}
		if (this.#errors[part]) {
			fill(this.#panel, errorNotice(this.#errors[part], () => this.#loadAll()));
			return;
		}
		if (!data) {
			fill(this.#panel, loadingNotice("Counting"));
			return;
		}
		if (part === "processes") {
			fill(this.#panel, processTree(data.items, this.#id, this.#words, this.#folded));
			return;
		}
		const table = this.#tables[this.#tab];
		const words = this.#words.toLowerCase().split(/\s+/).filter(Boolean);
		const rows = (this.#tab === "calls" ? data.syscalls : data.items).filter(row => {
			const text = `${row.name ?? ""} ${row.class ?? ""} ${row.path ?? ""} ${row.local ?? ""} ${row.peer ?? ""} ${Object.keys(row.errnos ?? {}).join(" ")}`.toLowerCase();

			return words.every(word => text.includes(word));
		});

		table.empty = words.length ? emptyNotice({title: "Nothing found", text: "No row has all of these words.", actions: h("button", {onclick: () => this.search("")}, "Show all")}) :
			emptyNotice({title: NOTHING[this.#tab], text: "The recording has none."});
		table.rows = rows;
		if (keep !== table)
			fill(this.#panel, table);
	}
}

const NOTHING = {calls: "No system calls", files: "No files were touched", sockets: "No sockets"};

function scaleOf(rows) {
	const most = key => Math.max(1, ...rows.map(row => Number(row[key])));

	return {calls: most("calls"), errors: most("errors"), blocked_ns: most("blocked_ns")};
}

function bar(value, most, text, kind) {
	const fillBar = h("span.fill", {});

	fillBar.style.width = `${100 * Number(value) / most}%`;
	return h(`span.bar-cell.${kind}`, {}, h("span.track", {"aria-hidden": "true"}, fillBar), text);
}

const eventLink = (n, id) => n ? h("a", {href: href(`r/${id}`, {at: n})}, format.event(n)) : format.NONE;
const errnoText = errnos => Object.entries(errnos ?? {}).sort(([, a], [, b]) => b - a).map(([name, n]) => `${name} ${format.count(n)}`).join(", ");

const CALLS = [
	{key: "name", title: "Call", kind: "mono", width: "11rem", sort: true, cell: (row, _, id) => h("a", {href: href(`r/${id}`, {q: `syscall:${row.name}`})}, row.name)},
	{key: "class", title: "Class", width: "5rem", sort: true, cell: row => h("span.muted", {}, row.class)},
	{key: "calls", title: "Calls", kind: "num", width: "10rem", sort: true, cell: (row, most) => bar(row.calls, most.calls, show.count(row.calls), "calls")},
	{key: "blocked_ns", title: "Waited", kind: "num", width: "10rem", sort: true, hint: "Time in the call while others ran", value: row => Number(row.blocked_ns),
		cell: (row, most) => Number(row.blocked_ns) ? bar(row.blocked_ns, most.blocked_ns, show.duration(row.blocked_ns), "waited") : ""},
	{key: "errors", title: "Errors", kind: "num", width: "9rem", sort: true, cell: (row, most) => row.errors ? bar(row.errors, most.errors, show.count(row.errors), "errors") : ""},
	{key: "errnos", title: "Errors by kind", cell: (row, _, id) => Object.keys(row.errnos).length ?
		h("a.bad", {href: href(`r/${id}`, {q: `syscall:${row.name} failed`}), title: errnoText(row.errnos)}, errnoText(row.errnos)) : ""},
	{key: "first_event", title: "First", kind: "num", width: "7rem", sort: true, cell: (row, _, id) => eventLink(row.first_event, id)},
];

const FILES = [
	{key: "path", title: "Path", kind: "mono", sort: true, cell: (row, _, id) => h("a", {href: href(`r/${id}`, {q: `path:${quoted(row.path)}`}), title: row.path}, format.printable(row.path))},
	{key: "opens", title: "Opened", kind: "num", width: "5.5rem", sort: true, cell: row => row.opens ? show.count(row.opens) : ""},
	{key: "failed", title: "Failed", kind: "num", width: "8rem", sort: true, cell: row => row.failed ? h("span.bad", {title: errnoText(row.errors)}, `${format.count(row.failed)} ${Object.keys(row.errors ?? {})[0] ?? ""}`) : ""},
	{key: "bytes_read", title: "Read", kind: "num", width: "6rem", sort: true, cell: row => row.reads ? show.bytes(row.bytes_read) : row.mapped ? "mapped" : ""},
	{key: "bytes_written", title: "Written", kind: "num", width: "6rem", sort: true, cell: row => row.writes ? show.bytes(row.bytes_written) : ""},
	{key: "first_event", title: "First", kind: "num", width: "7rem", sort: true, cell: (row, _, id) => eventLink(row.first_event, id)},
	{key: "last_event", title: "Last", kind: "num", width: "7rem", sort: true, cell: (row, _, id) => eventLink(row.last_event, id)},
];

const SOCKETS = [
	{key: "id", title: "Socket", width: "5rem", sort: true, cell: row => `fd ${row.fd}`},
	{key: "family", title: "Kind", width: "11rem", sort: true, cell: row => `${row.family.replace("AF_", "")} ${row.type.replace("SOCK_", "").toLowerCase()}`},
	{key: "how", title: "How", width: "6rem", sort: true, cell: row => row.how},
	{key: "local", title: "Local", kind: "mono", sort: true, cell: row => format.printable(row.local) || format.NONE},
	{key: "peer", title: "Peer", kind: "mono", sort: true, cell: row => format.printable(row.peer) || format.NONE},
	{key: "bytes_sent", title: "Sent", kind: "num", width: "6rem", sort: true, cell: row => show.bytes(row.bytes_sent)},
	{key: "bytes_received", title: "Received", kind: "num", width: "6rem", sort: true, cell: row => show.bytes(row.bytes_received)},
	{key: "errors", title: "Errors", kind: "num", width: "5rem", sort: true, cell: row => row.errors ? h("span.bad", {}, show.count(row.errors)) : ""},
	{key: "first_event", title: "First", kind: "num", width: "7rem", sort: true, cell: (row, _, id) => eventLink(row.first_event, id)},
];

function quoted(word) {
	return /[\s"]/.test(word) ? `"${word.replaceAll("\\", "\\\\").replaceAll("\"", "\\\"")}"` : word;
}

function card(title, value, below) {
	return h("section.card", {}, h("h2", {}, title), h("p.big", {}, value), h("p.muted", {}, below));
}

function signalList(summary, id) {
	const rows = [
		...summary.signals.map(one => [one.first_event, badge(one.fatal ? "error" : "signal", one.signal, {icon: "signal"}),
			one.fatal ? "ended a process" : `${format.plural(one.count, "time")}, ${one.handled ? "handled" : "not handled"}`]),
		...summary.execs.map(one => [one.event, badge("plain", "exec", {icon: "play"}), h("code", {title: one.path}, format.printable(one.command || one.path))]),
		...summary.notes.map(one => [one.event, badge("blocked", "note", {icon: "info"}), format.printable(one.text)]),
	].sort(([a], [b]) => a - b);

	if (!rows.length)
		return h("p.muted", {}, "None");
	return h("ul.happened", {tabindex: 0, "aria-label": "Signals and programs"}, rows.map(([event, mark, text]) => h("li", {}, eventLink(event, id), mark, h("span.cut", {}, text))));
}

function machine(rec) {
	const row = (name, value) => value === null || value === undefined ? null : h("div", {}, h("dt", {}, name), h("dd", {}, value));

	return h("dl.details", {},
		row("ID", h("span.hstack", {}, h("code", {}, rec.id), copyButton(rec.id, "Copy the ID"))),
		row("Command", h("code", {}, rec.argv.map(word => format.shellQuote(format.printable(word))).join(" "))),
		row("Directory", h("code", {}, format.printable(rec.cwd))), row("Started", format.whenExact(rec.started)), row("Duration", format.durationExact(rec.duration_ns) || format.NONE),
		row("Host", `${rec.user}@${rec.host}`), row("Kernel", rec.kernel), row("CPU", rec.cpu_model), row("Recorded by", `hermit ${rec.hermit_version}, format ${rec.format.major}.${rec.format.minor}`),
		row("Options", Object.entries(rec.options ?? {}).map(([key, value]) => `${key}=${value}`).join(", ") || "defaults"),
		row("Size", `${format.bytes(rec.bytes)} and ${format.bytes(rec.blobs?.bytes)} in ${format.count(rec.blobs?.count)} shared files`),
		row("Warnings", rec.warnings?.length ? h("ul.plain", {}, rec.warnings.map(text => h("li", {}, icon("danger"), " ", format.printable(text)))) : "none"),
		row("Environment", h("details", {}, h("summary", {}, format.plural(rec.env?.length ?? 0, "variable")), h("pre", {}, (rec.env ?? []).map(format.printable).join("\n")))));
}

customElements.define("page-summary", PageSummary);
