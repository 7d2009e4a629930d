/* Which system calls recordings made and how hermit handled each: totals that add up, what was never exercised, the same as CSV. */
import "./hm-table.js";
import "./hm-tabs.js";
import {download, get, latest} from "./api.js";
import {badge} from "./badges.js";
import {fill, h} from "./dom.js";
import * as format from "./format.js";
import {show} from "./format.js";
import {icon} from "./icons.js";
import {keys} from "./keys.js";
import {emptyNotice, errorNotice, loadingNotice, partialNote} from "./notices.js";
import {href, router} from "./router.js";
import {toastError} from "./hm-toasts.js";
import {pickRecording} from "./pick-dialog.js";

const HOW = [
	["buffered", "Buffered", "Done in the program itself, noted in its buffer"],
	["executed", "Executed", "Stopped, run by the kernel, result recorded"],
	["answered", "Answered", "Answered by hermit, the kernel never saw them"],
	["refused", "Refused", "hermit does not support them: the recording ended or the program got ENOSYS"],
	["did_not_return", "Did not return", "exit, exec and calls that a signal or the end cut off"],
];
const CHIPS_MAX = 4;
const WIDE = matchMedia("(min-width: 1240px)");

class PageCoverage extends HTMLElement {
	pageTitle = "Coverage";
	searchHint = "Filter by call or class";
	#ids = null;
	#tab = "called";
	#words = "";
	#data = null;
	#load = latest();
	#off = [];
	#scope = h("div.scope", {});
	#totals = h("div.totals", {});
	#note = h("div.notes", {});
	#tabs = document.createElement("hm-tabs");
	#panel = h("div.panel", {role: "tabpanel", id: "coverage-panel"});
	#csv = h("button", {onclick: () => this.#save()}, icon("download"), "CSV");
	#called = document.createElement("hm-table");
	#never = h("div.never", {});

	constructor() {
		super();
		this.#tabs.label = "Parts of the coverage";
		this.#tabs.addEventListener("select", () => {
			router.update({tab: this.#tabs.selected === "called" ? null : this.#tabs.selected});
			this.#tab = this.#tabs.selected;
			this.#drawPanel();
		});
		Object.assign(this.#called, {key: row => row.name, caption: "System calls", sort: {key: "calls", order: "desc"}, columns: columns(WIDE.matches)});
		this.#called.setAttribute("dense", "");
	}

	get searchText() {
		return this.#words;
	}

	search(text) {
		this.#words = text;
		router.update({q: text});
		this.#drawPanel();
	}

	set route({params}) {
		const ids = params.ids ?? "";

		this.#words = params.q ?? "";
		this.#tab = params.tab === "never" ? "never" : "called";
		if (ids !== this.#ids) {
			this.#ids = ids;
			this.#start();
		} else {
			this.#drawPanel();
		}
	}

	connectedCallback() {
		fill(this, h("header.toolbar", {}, h("div.title", {}, h("h1", {}, "Coverage"), h("span.muted", {}, "system calls and how they were handled")), this.#csv),
			h("div.scroll", {}, h("div.column", {}, this.#scope, this.#note, this.#totals, h("section.box", {}, this.#tabs, this.#panel))));
		this.#drawTabs();
		WIDE.onchange = () => {
			this.#called.columns = columns(WIDE.matches);
		};
		this.#off = [keys.add("Coverage", [
			{key: "j", also: ["ArrowDown"], does: "Into the table, next row", run: () => this.#called.isConnected && this.#called.focusRow(0)},
			{key: "a", does: "Add a recording", run: () => this.#add()},
		])];
	}

	disconnectedCallback() {
		WIDE.onchange = null;
		this.#off.forEach(off => off());
		this.#load.abort();
	}

	get #list() {
		return this.#ids ? this.#ids.split(",") : [];
	}

	async #start() {
		if (!this.#data)
			fill(this.#panel, loadingNotice("Counting the calls of all recordings"));
		try {
			const data = await this.#load(signal => get("/coverage", {params: {id: this.#list}, signal}));

			if (!data)
				return;
			this.#data = data;
			this.#draw();
		} catch (error) {
			fill(this.#panel, errorNotice(error, () => this.#start()));
		}
	}

	#draw() {
		const {totals, not_counted: skipped, reasons, recordings, counted} = this.#data;
		const odd = this.#data.syscalls.filter(row => !row.adds_up).length;
		const known = new Map(recordings.map(rec => [rec.id, rec.command]));
		const ids = this.#list;

		fill(this.#scope,
			ids.length ? ids.slice(0, CHIPS_MAX).map(id => h("span.chip.removable", {title: known.get(id) ?? id}, h("code.cut", {}, format.printable(known.get(id) ?? id)),
				h("button.quiet.icon", {"aria-label": `Without ${known.get(id) ?? id}`, onclick: () => this.#go(ids.filter(one => one !== id))}, icon("close")))) :
				h("span", {}, `All ${format.plural(counted, "recording")}`),
			ids.length > CHIPS_MAX ? h("span.muted", {}, `and ${ids.length - CHIPS_MAX} more`) : null,
			h("button", {onclick: () => this.#add(), title: "Add a recording (a)"}, icon("plus"), ids.length ? "Add" : "Only some\u2026"),
			ids.length ? h("button.quiet", {onclick: () => this.#go([])}, "All recordings") : null);
		fill(this.#note,
			skipped.length ? h("details.partial-more", {}, h("summary", {}, partialNote(`${format.plural(skipped.length, "recording is", "recordings are")} not counted.`)),
				h("ul.plain", {}, skipped.map(id => h("li", {}, h("a.mono", {href: href(`r/${id}`)}, id.slice(0, 12)), ` ${format.printable(reasons?.[id] ?? "")}`)))) : null,
			odd ? partialNote(`${format.plural(odd, "call does", "calls do")} not add up and ${odd === 1 ? "is" : "are"} marked: the counters of the recordings disagree with their events.`) : null);
		fill(this.#totals, h("div.stack", {"aria-hidden": "true"}, HOW.filter(([key]) => totals[key]).map(([key]) => segment(key, totals[key], totals.calls))),
			h("dl.legend", {}, h("div", {}, h("dt", {}, "Calls"), h("dd", {}, show.count(totals.calls))),
				HOW.map(([key, label, hint]) => h("div", {title: hint}, h("dt", {}, h(`span.swatch.${key}`, {}), label), h("dd", {}, show.count(totals[key]), h("span.muted", {}, " " + format.percent(totals[key], totals.calls)))))));
		this.#drawTabs();
		this.#drawPanel();
	}

	#drawTabs() {
		const data = this.#data;

		this.#tabs.tabs = [{id: "called", label: "Called", panel: "coverage-panel", count: data ? data.syscalls.length : undefined},
			{id: "never", label: "Never exercised", panel: "coverage-panel", count: data ? data.never.length : undefined}];
		this.#tabs.selected = this.#tab;
	}

	#drawPanel() {
		const words = this.#words.toLowerCase().split(/\s+/).filter(Boolean);
		const fits = row => words.every(word => `${row.name} ${row.class} ${row.number}`.includes(word));

		if (!this.#data)
			return;
		this.#tabs.selected = this.#tab;
		if (this.#tab === "never") {
			const groups = Map.groupBy(this.#data.never.filter(fits), row => row.class);

			fill(this.#never, groups.size ? [...groups].sort(([a], [b]) => a.localeCompare(b)).map(([name, rows]) => h("section", {}, h("h2", {}, name, h("span.muted", {}, ` ${rows.length}`)),
				h("ul.names", {}, rows.map(row => h("li", {title: `number ${row.number}`}, h("code", {}, row.name)))))) :
				emptyNotice(words.length ? {title: "Nothing found", text: "No call that was never exercised has these words."} : {title: "Every call was exercised"}));
			fill(this.#panel, this.#never);
			return;
		}
		this.#called.empty = emptyNotice(words.length ? {title: "Nothing found", text: "No call has these words.", actions: h("button", {onclick: () => this.search("")}, "Show all")} :
			{title: "No calls", text: "No recording was counted. Run:", command: "hermit record start -- ./your-program"});
		this.#called.rows = this.#data.syscalls.filter(fits);
		if (this.#panel.firstElementChild !== this.#called)
			fill(this.#panel, this.#called);
	}

	async #save() {
		try {
			await download("/coverage", "coverage.csv", {params: {id: this.#list}, accept: "text/csv"});
		} catch (error) {
			toastError(error, "Could not save the coverage");
		}
	}

	#go(ids) {
		router.go("coverage", {ids: ids.join(","), q: this.#words, tab: this.#tab === "called" ? null : this.#tab});
	}

	async #add() {
		const rec = await pickRecording({title: "Count a recording"});

		if (rec && !this.#list.includes(rec.id))
			this.#go([...this.#list, rec.id]);
	}
}

function segment(key, n, all) {
	const el = h(`span.${key}`, {});

	el.style.flexGrow = all ? n / all : 0;
	return el;
}

function columns(wide) {
	return [
		{key: "number", title: "No.", kind: "num", width: "4.5rem", sort: true, cell: row => h("span.muted", {}, String(row.number))},
		{key: "name", title: "Call", kind: "mono", width: wide ? "12rem" : "11rem", sort: true, cell: row => row.adds_up ? row.name :
			h("span.hstack", {}, row.name, badge("blocked", "does not add up", {icon: "danger", title: "The parts are not as many as the calls: not counted as handled"}))},
		{key: "class", title: "Class", width: "5rem", sort: true, wide: true, cell: row => h("span.muted", {}, row.class)},
		{key: "calls", title: "Calls", kind: "num", width: "7rem", sort: true, cell: row => show.count(row.calls)},
		{key: "parts", title: "How", cell: row => h("div.stack.small", {title: HOW.filter(([key]) => row[key]).map(([key, label]) => `${label}: ${format.count(row[key])}`).join("\n")}, HOW.filter(([key]) => row[key]).map(([key]) => segment(key, row[key], row.calls)))},
		...HOW.map(([key, label, hint]) => ({key, title: label === "Did not return" ? "No return" : label, hint, kind: "num", width: wide ? "6.5rem" : "6.25rem", sort: true, cell: row => row[key] ? show.count(row[key]) : h("span.muted", {}, "0")})),
		{key: "recordings", title: "In", hint: "Recordings that made it", kind: "num", width: "4.5rem", sort: true, wide: true, cell: row => show.count(row.recordings)},
	].filter(column => wide || !column.wide);
}

customElements.define("page-coverage", PageCoverage);
