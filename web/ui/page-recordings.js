/* The list of recordings: live ones on top with counters that move, search and filters in the address, actions per row and for a selection. */
import "./hm-table.js";
import "./hm-storage.js";
import {ApiError, get, latest, live, readOnly} from "./api.js";
import {exitBadge, stateBadge} from "./badges.js";
import {fill, h, soon} from "./dom.js";
import * as format from "./format.js";
import {show} from "./format.js";
import {icon} from "./icons.js";
import {keys} from "./keys.js";
import {openMenu} from "./menu.js";
import {emptyNotice, errorNotice, loadingNotice} from "./notices.js";
import {href, router} from "./router.js";
import {nameOf, recordingActions, remove, startJob} from "./actions.js";
import {chooseFiles, dropTarget} from "./import.js";
import {openStartDialog} from "./start-dialog.js";

const FIRST_PAGE = 200;
const PAGE = 1000;
const ROWS_MAX = 20000;
const LIVE_MS = 900;
const CHANGED_MAX = 8;		/* more changed ones than this: the list is loaded again */

const STATES = [["", "All"], ["recording", "Recording"], ["complete", "Complete"], ["sealed", "Sealed"], ["truncated", "Truncated"], ["broken", "Broken"]];
const EXITS = [["", "Any exit"], ["ok", "Exit 0"], ["failed", "Failed"], ["signaled", "Killed by a signal"]];
const SORTS = {state: "state", command: "command", started: "started", duration: "duration", events: "events", bytes: "bytes"};

class PageRecordings extends HTMLElement {
	pageTitle = "Recordings";
	searchHint = "Search commands, labels, hosts, IDs";
	#params = {};
	#rows = [];
	#total = 0;
	#loaded = false;
	#readOnly = false;
	#changed = new Set();
	#load = latest();
	#off = [];
	#wide = matchMedia("(min-width: 1240px)");
	#table = document.createElement("hm-table");
	#count = h("span.muted", {}, "\u00a0");
	#states = h("div.segments", {role: "group", "aria-label": "State"}, STATES.map(([value, label]) =>
		h("button", {"data-value": value, onclick: () => router.update({state: value}, {push: true}) ?? this.#arrive(router.route.params)}, label)));
	#exits = h("select", {"aria-label": "Exit", onchange: event => this.#filter({exit: event.target.value})}, EXITS.map(([value, label]) => h("option", {value}, label)));
	#normal = h("div.tools", {}, this.#states, this.#exits);
	#chosen = h("div.tools.chosen", {hidden: true, role: "region", "aria-label": "Selected recordings"});
	#buttons = h("div.hstack", {});
	#note = h("div.note", {hidden: true});
	#refresh = soon(() => this.#loadChanged(), LIVE_MS);
	#reload = soon(() => this.#loadAll(), 300);

	constructor() {
		super();
		Object.assign(this.#table, {key: row => row.id, localSort: false, selectable: true, caption: "Recordings", selectLabel: row => `Select ${nameOf(row)}`,
			rowClass: row => row.live ? "live" : ""});
		this.#table.addEventListener("sort", () => this.#filter({sort: this.#table.sort.key, order: this.#table.sort.order}));
		this.#table.addEventListener("select", () => this.#drawChosen());
		dropTarget(this);
	}

	get searchText() {
		return this.#params.q ?? "";
	}

	search(text, {submit}) {
		const found = this.#rows.find(row => row.id === text);

		if (submit && found)
			router.go(`r/${found.id}`);
		else if (submit && this.#table.rows.length && text === (this.#params.q ?? ""))
			this.#table.focusRow(0);
		else
			this.#filter({q: text});
	}

	set route(route) {
		this.#arrive(route.params);
	}

	connectedCallback() {
		fill(this,
			h("header.toolbar", {}, h("div.title", {}, h("h1", {}, "Recordings"), this.#count), h("hm-storage", {}), this.#buttons),
			h("div.toolbar.second", {}, this.#normal, this.#chosen),
			h("div.scroll", {}, this.#table, this.#note),
			h("div.drop", {"aria-hidden": "true"}, icon("upload"), "Drop exported recordings to import them"));
		this.#columns();
		this.#wide.onchange = () => this.#columns();
		this.#table.empty = loadingNotice("Loading recordings");
		this.#table.rows = [];
		this.#drawButtons();
		readOnly().then(no => {
			this.#readOnly = no;
			this.#drawButtons();
		});
		this.#off = [
			live({recording: event => this.#told(event), again: () => this.#loadAll()}),
			keys.add("Recordings", [
				{key: "j", also: ["ArrowDown"], does: "Into the list, next row", run: () => this.#table.focusRow(0)},
				{key: "k", also: ["ArrowUp"], does: "Previous row", run: () => this.#table.focusRow(0)},
				{key: "Enter", does: "Open", run: () => false},
				{key: "x", does: "Select the row", run: () => false},
				{key: "m", does: "Menu of the row", run: () => this.#rowMenu()},
				{key: "c", does: "Compare two selected", run: () => this.#compare()},
				{key: "Delete", does: "Delete selected", run: () => this.#removeSelected()},
				{key: "r", does: "Record a program", run: () => !this.#readOnly && openStartDialog()},
				{key: "i", does: "Import", run: () => !this.#readOnly && chooseFiles()},
			]),
		];
	}

	disconnectedCallback() {
		this.#off.forEach(off => off());
		this.#wide.onchange = null;
		this.#load.abort();
		this.#refresh.cancel();
		this.#reload.cancel();
	}

	/* --- address --- */

	#filter(params) {
		router.update(params);
		this.#arrive(router.route.params);
	}

	#arrive(params) {
		const key = JSON.stringify(params);

		if (this.#loaded && key === JSON.stringify(this.#params))
			return;
		this.#params = {...params};
		this.#states.querySelectorAll("button").forEach(button => button.setAttribute("aria-pressed", button.dataset.value === (params.state ?? "")));
		this.#exits.value = params.exit ?? "";
		this.#table.sort = {key: SORTS[params.sort] ?? "started", order: params.order === "asc" ? "asc" : "desc"};
		this.#loadAll();
	}

	get #query() {
		const {q, state, exit} = this.#params;

		return {q, state, exit, sort: this.#table.sort.key, order: this.#table.sort.order};
	}

	/* --- loading: a first page at once, the rest behind it --- */

	async #loadAll() {
		try {
			await this.#load(async signal => {
				let rows = [];
				let cursor = null;

				do {
					const page = await get("/recordings", {params: {...this.#query, limit: rows.length ? PAGE : FIRST_PAGE, cursor}, signal});

					rows = rows.concat(page.items);
					cursor = page.next_cursor;
					this.#total = page.total ?? rows.length;
					/* what was there stays until there is as much of the new */
					if (!cursor || rows.length >= Math.min(this.#rows.length, ROWS_MAX) || !this.#loaded)
						this.#show(rows);
				} while (cursor && rows.length < ROWS_MAX);
			});
		} catch (error) {
			this.#fail(error);
		}
	}

	#show(rows) {
		this.#loaded = true;
		this.#rows = rows;
		this.#table.empty = this.#empty();
		this.#table.rows = rows;
		this.#count.textContent = `${format.count(this.#total)}${this.#filtered ? " found" : ""}`;
		this.#note.hidden = this.#total <= ROWS_MAX;
		this.#note.textContent = `The first ${format.count(ROWS_MAX)} are shown. Search to see others.`;
	}

	get #filtered() {
		return Boolean(this.#params.q || this.#params.state || this.#params.exit);
	}

	#empty() {
		if (!this.#filtered) {
			return emptyNotice({title: "No recordings yet", text: "Run:", command: "hermit record start -- ./your-program",
				actions: h("p.muted", {}, "Or drop an exported recording here.")});
		}
		return emptyNotice({title: "Nothing found", text: "No recording has all of these words and states.",
			actions: h("button", {onclick: () => this.#filter({q: "", state: "", exit: ""})}, "Show all recordings")});
	}

	#fail(error) {
		if (this.#rows.length && error instanceof ApiError && error.status === 0)
			return;		/* the banner says it; what is shown stays */
		this.#table.empty = errorNotice(error, () => this.#loadAll());
		this.#rows = [];
		this.#table.rows = [];
		this.#count.textContent = "\u00a0";
	}

	/* --- live --- */

	#told({id, what}) {
		if (what !== "changed" || !this.#rows.some(row => row.id === id)) {
			if (what === "changed" && this.#loaded && !this.#filtered && this.#total > this.#rows.length)
				return;
			this.#reload();
			return;
		}
		this.#changed.add(id);
		this.#refresh();
	}

	async #loadChanged() {
		const ids = [...this.#changed];
		const running = new Set(this.#rows.filter(row => row.live).map(row => row.id));

		this.#changed.clear();
		if (ids.length > CHANGED_MAX && !ids.every(id => running.has(id))) {
			this.#loadAll();
			return;
		}
		try {
			const fresh = ids.length > 2 && ids.every(id => running.has(id)) ? (await get("/recordings", {params: {state: "recording", limit: PAGE}})).items : [];
			const known = new Map(fresh.map(row => [row.id, row]));

			for (const id of ids.filter(one => !known.has(one)))
				known.set(id, await get(`/recordings/${id}`));
			this.#rows = this.#rows.map(row => known.get(row.id) ?? row);
			this.#table.rows = this.#rows;
		} catch (error) {
			if (error.status === 404)
				this.#loadAll();
		}
	}

	/* --- drawing --- */

	#columns() {
		const all = [
			{key: "state", title: "State", width: "7.25rem", sort: true, cell: row => stateBadge(row.state, row.reason ?? row.error)},
			{key: "command", title: "Command", kind: "grow", sort: true, cell: row => commandCell(row)},
			{key: "exit", title: "Exit", width: "6.75rem", cell: row => row.live ? "" : exitBadge(row.exit)},
			{key: "started", title: "Started", width: "7.5rem", sort: true, kind: "num", cell: row => show.when(row.started)},
			{key: "duration", title: "Duration", width: "6.75rem", sort: true, kind: "num", cell: row => row.live ? h("span.muted", {title: "Running since"}, format.since(row.started)) : show.duration(row.duration_ns)},
			{key: "events", title: "Events", width: "5.5rem", sort: true, kind: "num", cell: row => show.short(row.events)},
			{key: "processes", title: "Proc.", hint: "Processes", width: "4rem", kind: "num", wide: true, cell: row => show.count(row.processes)},
			{key: "bytes", title: "Size", width: "5.75rem", sort: true, kind: "num", cell: row => show.bytes(row.bytes)},
			{key: "host", title: "Host", width: "7rem", wide: true, cell: row => hostCell(row)},
			{key: "menu", title: "", label: "Actions", width: "3.75rem", kind: "act", cell: row => this.#menuButton(row)},
		];

		this.#table.columns = all.filter(column => !column.wide || this.#wide.matches);
	}

	#menuButton(row) {
		return h("button.quiet.icon.more", {
			"aria-label": `Actions for ${nameOf(row)}`, "aria-haspopup": "menu", "aria-expanded": "false",
			onclick: event => openMenu(event.currentTarget, recordingActions(row, {readOnly: this.#readOnly})),
		}, icon("menu"));
	}

	#rowMenu() {
		document.activeElement.closest("tr")?.querySelector(".more")?.click();
	}

	#drawButtons() {
		fill(this.#buttons,
			h("button", {disabled: this.#readOnly, onclick: chooseFiles, title: "Import an exported recording (i)"}, icon("upload"), "Import"),
			h("button.primary", {disabled: this.#readOnly, onclick: openStartDialog, title: "Record a program (r)"}, icon("record"), "Record\u2026"));
	}

	get #selected() {
		return this.#rows.filter(row => this.#table.selection.has(row.id));
	}

	#drawChosen() {
		const rows = this.#selected;
		const [a, b] = rows;

		this.#normal.hidden = rows.length > 0;
		this.#chosen.hidden = !rows.length;
		if (!rows.length)
			return;
		fill(this.#chosen,
			h("b", {"aria-live": "polite"}, `${format.count(rows.length)} selected`),
			rows.length === 2 ? h("a.button", {href: href("diff", {left: older(a, b).id, right: newer(a, b).id})}, icon("diff"), "Compare") :
				h("button", {disabled: true, title: "Select two recordings"}, icon("diff"), "Compare"),
			h("a.button", {href: href("coverage", {ids: rows.map(row => row.id).join(",")})}, icon("check"), "Coverage"),
			h("button", {disabled: this.#readOnly, onclick: () => rows.filter(row => !row.live).forEach(row => startJob(row, "verify", "Verifying"))}, icon("check"), "Verify"),
			h("button.danger", {disabled: this.#readOnly || rows.some(row => row.live), title: rows.some(row => row.live) ? "Some are still being recorded" : null,
				onclick: () => this.#removeSelected()}, icon("trash"), "Delete\u2026"),
			h("button.quiet", {onclick: () => this.#table.clearSelection()}, "Clear"));
	}

	#compare() {
		const [a, b, more] = this.#selected;

		if (b && !more)
			router.go("diff", {left: older(a, b).id, right: newer(a, b).id});
	}

	async #removeSelected() {
		const rows = this.#selected;

		if (!this.#readOnly && rows.length && !rows.some(row => row.live) && await remove(rows))
			this.#table.clearSelection();
	}
}

const older = (a, b) => a.started <= b.started ? a : b;
const newer = (a, b) => a.started <= b.started ? b : a;

function commandCell(row) {
	return h("span.command-cell", {},
		row.keep ? h("span.kept", {title: "Kept: housekeeping does not remove it"}, icon("keep"), h("span.sr-only", {}, "kept")) : null,
		row.label ? h("span.chip.label", {title: row.label}, format.printable(row.label)) : null,
		h("a.mono.cut", {href: href(`r/${row.id}`), title: `${row.command}\n${row.id}`}, format.printable(row.command) || row.id));
}

function hostCell(row) {
	return h("span", {title: `${row.user ?? ""}@${row.host ?? ""}${row.source ? `, ${row.source}` : ""}`}, row.host ?? format.NONE);
}

customElements.define("page-recordings", PageRecordings);
