/* Two recordings side by side: where they first differ, all rows aligned, how often each called what. While the server works, it says how far it is. */
import "./hm-diff-rows.js";
import "./hm-table.js";
import "./hm-tabs.js";
import {get, latest} from "./api.js";
import {badge, exitBadge} from "./badges.js";
import {fill, h} from "./dom.js";
import * as format from "./format.js";
import {show} from "./format.js";
import {icon} from "./icons.js";
import {keys} from "./keys.js";
import {emptyNotice, errorNotice, loadingNotice} from "./notices.js";
import {href, router} from "./router.js";
import {pickRecording} from "./pick-dialog.js";
import {toast, toastError} from "./hm-toasts.js";

const POLL_MS = 400;

class PageDiff extends HTMLElement {
	pageTitle = "Compare";
	#ids = {left: null, right: null};
	#recs = {};
	#diff = null;
	#tab = "rows";
	#words = "";
	#wantedAt = null;
	#load = latest();
	#timer = 0;
	#off = [];
	#sides = h("div.sides", {});
	#strip = h("div.strip", {});
	#tabs = document.createElement("hm-tabs");
	#panel = h("div.panel", {role: "tabpanel", id: "diff-panel"});
	#rows = document.createElement("hm-diff-rows");
	#table = document.createElement("hm-table");

	constructor() {
		super();
		this.#tabs.label = "Parts of the comparison";
		this.#tabs.addEventListener("select", () => this.#show(this.#tabs.selected));
		this.#rows.addEventListener("move", () => router.update({at: this.#rows.at + 1}));
		Object.assign(this.#table, {key: row => row.name, caption: "System calls of both", sort: {key: "difference", order: "desc"}, columns: COUNTS});
		this.#table.setAttribute("dense", "");
	}

	get searchHint() {
		return this.#tab === "calls" ? "Filter this table" : "Row number";
	}

	get searchText() {
		return this.#tab === "calls" ? this.#words : "";
	}

	search(text, {submit}) {
		const row = Number(text.replace(/[#,\s]/g, ""));

		if (this.#tab === "calls") {
			this.#words = text.toLowerCase();
			this.#drawCounts();
		} else if (submit && row >= 1 && this.#diff) {
			this.#rows.at = row - 1;
			this.#rows.focusRows();
			router.update({at: this.#rows.at + 1});
		}
	}

	set route({params}) {
		const changed = params.left !== this.#ids.left || params.right !== this.#ids.right;

		this.#ids = {left: params.left, right: params.right};
		this.#wantedAt = params.at ? Number(params.at) - 1 : null;
		this.#tab = params.tab === "calls" ? "calls" : "rows";
		if (changed) {
			this.#diff = null;
			this.#recs = {};
			this.#start();
		} else if (this.#diff && this.#wantedAt !== null) {
			this.#rows.at = this.#wantedAt;
		}
	}

	connectedCallback() {
		fill(this, h("header.diff-head", {}, h("h1.sr-only", {}, "Compare two recordings"), this.#sides, this.#strip), this.#panel);
		this.#tabs.tabs = [{id: "rows", label: "Events", panel: "diff-panel"}, {id: "calls", label: "System calls", panel: "diff-panel"}];
		this.#tabs.selected = this.#tab;
		this.#off = [keys.add("Compare", [
			{key: "f", does: "First difference", run: () => this.#toDivergence()},
			{key: "n", does: "Next difference", run: () => this.#next(1)},
			{key: "p", also: ["N"], does: "Previous difference", run: () => this.#next(-1)},
			{key: "j", also: ["ArrowDown"], does: "Into the rows, next row", run: () => this.#rows.isConnected && this.#rows.focusRows()},
			{key: "o", does: "Open the left event", run: () => this.#open("left")},
			{key: "O", does: "Open the right event", run: () => this.#open("right")},
			{key: "s", does: "Swap left and right", run: () => this.#swap()},
		])];
	}

	disconnectedCallback() {
		this.#off.forEach(off => off());
		this.#load.abort();
		clearTimeout(this.#timer);
	}

	/* --- loading --- */

	async #start() {
		const {left, right} = this.#ids;

		clearTimeout(this.#timer);
		this.#load.abort();
		this.#drawSides();
		fill(this.#strip);
		if (!left || !right) {
			fill(this.#panel, emptyNotice({title: "Choose two recordings", text: "Their events are aligned, without what differs between any two runs (process numbers, addresses, times), and the first one that differs is shown."}));
			return;
		}
		fill(this.#panel, loadingNotice("Comparing"));
		for (const side of ["left", "right"]) {
			get(`/recordings/${this.#ids[side]}`).then(rec => {
				this.#recs[side] = rec;
				this.#drawSides();
			}, () => {});
		}
		this.#ask();
	}

	async #ask() {
		try {
			const diff = await this.#load(signal => get("/diff", {params: this.#ids, signal}));

			if (!diff)
				return;
			if (diff.state === "working") {
				fill(this.#strip, h("progress", {max: 1, value: diff.progress, "aria-label": "Comparing"}), h("span.muted", {}, `Comparing: ${Math.round(100 * diff.progress)} %`));
				this.#timer = setTimeout(() => this.#ask(), POLL_MS);
				return;
			}
			this.#diff = diff;
			this.#drawDiff();
		} catch (error) {
			fill(this.#strip);
			fill(this.#panel, errorNotice(error, () => this.#start()));
		}
	}

	async #drawDiff() {
		const diff = this.#diff;
		const {counts} = diff;

		fill(this.#strip,
			diff.equal ? badge("running", "no difference", {icon: "check"}) : h("button.verdict", {onclick: () => this.#toDivergence(), title: "Go to the first difference (f)"},
				badge("error", "first difference", {icon: "diff"}), h("span.cut", {}, diff.divergence ? `${format.event(diff.divergence.left)} / ${format.event(diff.divergence.right)}: ${diff.divergence.why}` : "")),
			h("dl.counts", {}, count("same", counts.same), count("changed", counts.changed), count("only left", counts.only_left), count("only right", counts.only_right)),
			h("span.muted", {title: `Not compared: ${diff.normalized.join(", ")}`}, diff.output_equal ? "output equal" : "output differs"),
			h("span.grow", {}), this.#tabs,
			h("button.icon", {"aria-label": "Previous difference", title: "Previous difference (p)", disabled: diff.equal, onclick: () => this.#next(-1)}, icon("up")),
			h("button.icon", {"aria-label": "Next difference", title: "Next difference (n)", disabled: diff.equal, onclick: () => this.#next(1)}, icon("chevron")));
		this.#rows.ids = this.#ids;
		this.#show(this.#tab, false);
		if (diff.divergence)
			this.#rows.firstDifference = await this.#divergenceRow();
		if (this.#wantedAt !== null)
			this.#rows.at = this.#wantedAt;
		else if (diff.divergence)
			this.#toDivergence(false);
	}

	#show(tab, tell = true) {
		this.#tab = tab;
		this.#tabs.selected = tab;
		if (tell) {
			router.update({tab: tab === "rows" ? null : tab});
			this.dispatchEvent(new Event("hermit:page", {bubbles: true}));
		}
		if (!this.#diff)
			return;
		if (tab === "calls") {
			fill(this.#panel, h("div.scroll", {}, this.#table));
			this.#drawCounts();
			return;
		}
		fill(this.#panel, h("div.diff-columns", {}, h("span", {}, "Left"), h("span", {}, "Right")), this.#rows);
		this.#rows.total = this.#diff.rows;
	}

	#drawCounts() {
		this.#table.rows = (this.#diff?.syscalls ?? []).filter(row => row.name.includes(this.#words));
		this.#table.empty = emptyNotice({title: "Nothing found", text: "No call has this name."});
	}

	#drawSides() {
		const side = name => {
			const rec = this.#recs[name];

			return h("section.side-card", {"aria-label": name === "left" ? "Left recording" : "Right recording"},
				h("span.which", {"aria-hidden": "true"}, name === "left" ? "L" : "R"),
				rec ? [h("a.mono.cut.grow", {href: href(`r/${rec.id}`), title: rec.command}, format.printable(rec.label ? `${rec.label}: ${rec.command}` : rec.command)), exitBadge(rec.exit), h("span.muted", {}, show.when(rec.started)), h("span.muted", {}, `${format.short(rec.events)} events`)] :
					h("span.muted.grow", {}, this.#ids[name] ? "\u00a0" : "none chosen"),
				h("button", {onclick: () => this.#choose(name)}, this.#ids[name] ? "Change" : "Choose\u2026"));
		};

		fill(this.#sides, side("left"),
			h("button.icon.quiet", {"aria-label": "Swap left and right", title: "Swap (s)", disabled: !this.#ids.left || !this.#ids.right, onclick: () => this.#swap()}, icon("swap")), side("right"));
	}

	/* --- actions --- */

	async #choose(name) {
		const other = name === "left" ? "right" : "left";
		const rec = await pickRecording({title: `The ${name} recording`, but: this.#ids[other]});

		if (rec)
			router.go("diff", {...this.#ids, [name]: rec.id});
	}

	#swap() {
		if (this.#ids.left && this.#ids.right)
			router.go("diff", {left: this.#ids.right, right: this.#ids.left});
	}

	/* the server knows which row it is: an answer that holds it */
	async #divergenceRow() {
		try {
			const answer = await get("/diff/rows", {params: {...this.#ids, at: "divergence", limit: 100}});

			return answer.offset + Math.max(0, answer.items.findIndex(row => row.op !== "same"));
		} catch (error) {
			toastError(error, "Could not find the first difference");
			return 0;
		}
	}

	#toDivergence(tell = true) {
		if (!this.#diff?.divergence)
			return;
		if (this.#tab !== "rows")
			this.#show("rows");
		this.#rows.at = this.#rows.firstDifference;
		if (tell) {
			router.update({at: this.#rows.at + 1});
			this.#rows.focusRows();
		}
	}

	async #next(direction) {
		if (!this.#diff || this.#diff.equal || this.#tab !== "rows")
			return;
		if (!await this.#rows.nextDifference(direction))
			toast(direction > 0 ? "No further difference" : "No earlier difference");
	}

	#open(name) {
		const row = this.#rows.row(this.#rows.at);

		if (row?.[name])
			router.go(`r/${this.#ids[name]}`, {at: row[name]});
	}
}

const COUNTS = [
	{key: "name", title: "Call", kind: "mono", sort: true, cell: row => row.name},
	{key: "left", title: "Left", kind: "num", width: "9rem", sort: true, cell: row => show.count(row.left)},
	{key: "right", title: "Right", kind: "num", width: "9rem", sort: true, cell: row => show.count(row.right)},
	{key: "difference", title: "Difference", kind: "num", width: "10rem", sort: true, value: row => Math.abs(row.right - row.left),
		cell: row => row.left === row.right ? h("span.muted", {}, "same") : `${row.right > row.left ? "+" : "\u2212"}${format.count(Math.abs(row.right - row.left))}`},
];

function count(name, n) {
	return h("div", {}, h("dt", {}, name), h("dd", {}, format.count(n)));
}

customElements.define("page-diff", PageDiff);
