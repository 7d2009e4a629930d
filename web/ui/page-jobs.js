/* Long work of hermitd: sealing, verifying, replay checks, imports, housekeeping. Progress by the stream; what runs can be cancelled. */
import "./hm-table.js";
import {del, get, latest, live} from "./api.js";
import {stateBadge} from "./badges.js";
import {fill, h} from "./dom.js";
import * as format from "./format.js";
import {show} from "./format.js";
import {icon} from "./icons.js";
import {keys} from "./keys.js";
import {emptyNotice, errorNotice, loadingNotice} from "./notices.js";
import {href, router} from "./router.js";
import {toastError} from "./hm-toasts.js";

const KINDS = {"seal": "Seal", "verify": "Verify", "replay-check": "Replay check", "import": "Import", "gc": "Housekeeping", "scan": "Integrity scan"};
const ACTIVE = ["queued", "running"];

class PageJobs extends HTMLElement {
	pageTitle = "Jobs";
	searchHint = "Search jobs";
	#words = "";
	#jobs = null;
	#load = latest();
	#off = [];
	#count = h("span.muted", {}, "\u00a0");
	#table = document.createElement("hm-table");

	constructor() {
		super();
		Object.assign(this.#table, {key: row => row.id, caption: "Jobs", sort: {key: "created", order: "desc"}, columns: [
			{key: "state", title: "State", width: "7.5rem", sort: true, cell: row => stateBadge(row.state)},
			{key: "kind", title: "Work", width: "9rem", sort: true, cell: row => KINDS[row.kind] ?? row.kind},
			{key: "recording", title: "Recording", kind: "mono", width: "11rem", cell: row => row.recording ? h("a", {href: href(`r/${row.recording}`), title: row.recording}, row.recording.slice(0, 12)) : format.NONE},
			{key: "progress", title: "Progress", width: "13rem", cell: progress},
			{key: "result", title: "Result", cell: row => row.error ? h("span.bad", {title: row.error}, format.printable(row.error)) : h("span", {title: resultText(row.result)}, resultText(row.result))},
			{key: "created", title: "Started", kind: "num", width: "8rem", sort: true, cell: row => show.when(row.created)},
			{key: "took", title: "Took", kind: "num", width: "7rem", cell: row => row.finished ? show.duration(Math.max(0, new Date(row.finished) - new Date(row.created)) * 1e6) : ""},
			{key: "act", title: "", label: "Actions", width: "7.5rem", kind: "act", cell: row => ACTIVE.includes(row.state) ? h("button.quiet", {onclick: () => this.#cancel(row)}, icon("close"), "Cancel") : ""},
		]});
	}

	set route({params}) {
		this.#words = params.q ?? "";
		this.#draw();
	}

	get searchText() {
		return this.#words;
	}

	search(text) {
		this.#words = text;
		router.update({q: text});
		this.#draw();
	}

	connectedCallback() {
		fill(this, h("header.toolbar", {}, h("div.title", {}, h("h1", {}, "Jobs"), this.#count)), h("div.scroll.surface", {}, this.#table));
		this.#table.empty = loadingNotice("Loading jobs");
		this.#table.rows = [];
		this.#off = [
			live({job: job => this.#told(job), again: () => this.#ask()}),
			keys.add("Jobs", [{key: "j", also: ["ArrowDown"], does: "Into the table, next row", run: () => this.#table.focusRow(0)}]),
		];
		this.#ask();
	}

	disconnectedCallback() {
		this.#off.forEach(off => off());
		this.#load.abort();
	}

	#told(job) {
		const known = this.#jobs?.some(one => one.id === job.id);

		if (!known || !job.state) {
			this.#ask();
			return;
		}
		this.#jobs = this.#jobs.map(one => one.id === job.id ? {...one, ...job} : one);
		this.#draw();
	}

	async #ask() {
		try {
			const answer = await this.#load(signal => get("/jobs", {params: {limit: 1000}, signal}));

			if (!answer)
				return;
			this.#jobs = answer.items;
			this.#draw();
		} catch (error) {
			if (this.#jobs)
				return;
			this.#table.empty = errorNotice(error, () => this.#ask());
			this.#table.rows = [];
		}
	}

	#draw() {
		const words = this.#words.toLowerCase().split(/\s+/).filter(Boolean);

		if (!this.#jobs)
			return;
		this.#count.textContent = format.count(this.#jobs.length);
		this.#table.empty = emptyNotice(words.length ? {title: "Nothing found", text: "No job has all of these words."} :
			{title: "No jobs", text: "Sealing, verifying and replay checks of recordings appear here while they run and for a while after. Start one from the menu of a recording."});
		this.#table.rows = this.#jobs.filter(one => words.every(word => `${one.kind} ${one.state} ${one.recording} ${one.error ?? ""}`.toLowerCase().includes(word)));
	}

	async #cancel(job) {
		try {
			await del(`/jobs/${job.id}`);
		} catch (error) {
			toastError(error, "Could not cancel it");
		}
		this.#ask();
	}
}

function progress(row) {
	const part = row.total ? row.done / row.total : 0;

	if (row.state === "queued")
		return h("span.muted", {}, "waiting");
	if (!ACTIVE.includes(row.state))
		return h("span.muted", {}, row.total && row.state !== "done" ? `after ${Math.floor(100 * part)} %` : "");
	return h("span.progress-cell", {}, h("progress", {max: 1, value: row.total ? part : null, "aria-label": KINDS[row.kind] ?? row.kind}), h("span.muted", {}, row.total ? `${Math.floor(100 * part)} %` : ""));
}

/* JobResult: before and after (seal), freed (housekeeping), events and report (replay check), truncated */
function resultText(result) {
	const parts = [];

	if (!result)
		return "";
	if (result.report)
		parts.push(result.report);
	if (result.after !== undefined)
		parts.push(`${format.bytes(result.before)} became ${format.bytes(result.after)}`);
	if (result.freed !== undefined)
		parts.push(`${format.bytes(result.freed)} freed`);
	if (result.events !== undefined)
		parts.push(`${format.plural(result.events, "event")} replayed`);
	if (result.truncated)
		parts.push("whole up to where it was cut off");
	return format.printable(parts.join(", ") || "no fault found");
}

customElements.define("page-jobs", PageJobs);
