/**
 * <page-recording>: puts the parts of the recording page together, keeps the address in step with the model, and owns the keys.
 * Address: #/r/ID?at=EVENT&q=FILTER&from=NS&to=NS&tab=console|bookmarks&thread=N
 */
import "./hm-split.js";
import "./hm-tabs.js";
import "./hm-rec-head.js";
import "./hm-rec-overview.js";
import "./hm-rec-lanes.js";
import "./hm-rec-filter.js";
import "./hm-rec-events.js";
import "./hm-rec-details.js";
import "./hm-rec-console.js";
import "./hm-rec-bookmarks.js";
import {h, fill, rem, remember} from "./dom.js";
import * as format from "./format.js";
import {keys} from "./keys.js";
import {router, href} from "./router.js";
import {icon} from "./icons.js";
import {store} from "./store.js";
import {errorNotice, partialNote} from "./notices.js";
import {openDebugDialog} from "./hm-debug.js";
import {exportButton} from "./rec-export.js";
import {toast, toastError} from "./hm-toasts.js";
import {RecordingModel} from "./rec-model.js";
import {openRowMenu} from "./rec-row-menu.js";

const LANE_REM = 1.25;
const LANE_HEAD_REM = 3.75;		/* actions, ruler, a little room */
const UNITS = {ns: 1, us: 1e3, "\u00b5s": 1e3, ms: 1e6, s: 1e9, min: 60e9};

const between = (least, size, most) => Math.min(most, Math.max(least, size));

/** Rem that show all lanes, or as many as there is room for. */
function lanesRem({processes, threads}) {
	const rows = threads + (threads > processes ? Math.min(processes, threads - processes) : 0);
	return between(5, LANE_HEAD_REM + LANE_REM * rows, 0.28 * innerHeight / rem(1));
}

class PageRecording extends HTMLElement {
	#route = null;
	#stop = [];
	#applying = false;
	searchHint = "Go to # event or time (1.2s), or filter: words, path:/etc/*";

	set route(route) {
		const known = this.#route;
		this.#route = route;
		if (this.m && known)
			this.#apply(route.params);
	}

	get pageTitle() {
		const r = this.m?.recording;
		return r ? `${r.label || r.program}${this.m.event ? ` ${format.event(this.m.event)}` : ""}` : "Recording";
	}

	get searchText() {
		return "";
	}

	connectedCallback() {
		this.m = new RecordingModel(this.#route.id);
		this.#build();
		this.#connect();
		this.#keys();
		this.#open();
	}

	disconnectedCallback() {
		this.#stop.forEach(stop => stop());
		this.m.close();
		store.reset();
	}

	#make(tag) {
		return document.createElement(tag);
	}

	#split(attributes, ...children) {
		const el = h("hm-split", attributes, children);
		this.#splits[attributes.name] = el;
		return el;
	}

	#splits = {};

	#build() {
		this.head = this.#make("hm-rec-head");
		this.head.at = () => this.m.event;
		this.head.debugKey = "D";
		this.note = h("div.rec-head-note");
		this.overview = this.#make("hm-rec-overview");
		this.lanes = this.#make("hm-rec-lanes");
		this.filter = this.#make("hm-rec-filter");
		this.events = this.#make("hm-rec-events");
		this.details = this.#make("hm-rec-details");
		this.console = this.#make("hm-rec-console");
		this.bookmarks = this.#make("hm-rec-bookmarks");
		this.bottomTabs = this.#make("hm-tabs");
		this.bottomTabs.label = "Console and bookmarks";
		this.consolePanel = h("div.rec-bottom-panel", {id: "rec-console", role: "tabpanel", "aria-label": "Console"}, this.console);
		this.bookmarksPanel = h("div.rec-bottom-panel", {id: "rec-bookmarks", role: "tabpanel", "aria-label": "Bookmarks"}, this.bookmarks);
		this.bottomTools = h("span.rec-bottom-tools");
		const table = h("section.rec-events-panel", {"aria-label": "Events"}, this.filter, this.events);
		const bottom = h("section.rec-bottom", {"aria-label": "Output and notes"}, h("div.rec-bottom-head", null, this.bottomTabs, this.bottomTools), this.consolePanel, this.bookmarksPanel);
		const middle = this.#split({dir: "row", sized: "second", name: "rec.details", size: between(23.5, 0.34 * innerWidth / rem(1), 52), min: 18, label: "Width of the details"}, table, this.details);
		const lower = this.#split({dir: "column", sized: "second", name: "rec.console", size: between(7, 0.14 * innerHeight / rem(1), 14), min: 5, label: "Height of the console"}, middle, bottom);
		const whole = this.#split({dir: "column", sized: "first", name: "rec.lanes", size: 9, min: 5, label: "Height of the lanes"}, this.lanes, lower);
		this.body = h("div.rec-body", null, this.overview, whole);
		fill(this, h("div", null, this.head, this.note), this.body);
	}

	#connect() {
		const {m} = this;
		for (const part of [this.lanes, this.filter, this.events, this.details, this.console, this.bookmarks])
			part.model = m;
		this.overview.connect({model: m, tiles: this.lanes.tiles});
		fill(this.bottomTools, this.console.tools);
		this.#bottom(remember.get("bottom-tab", "console"));
		this.bottomTabs.addEventListener("select", () => {
			this.#bottom(this.bottomTabs.selected);
			router.update({tab: this.bottomTabs.selected === "console" ? null : this.bottomTabs.selected});
		});
		m.on("bookmarks", () => this.#bottomTabs());
		m.on("cursor", ({by}) => this.#cursorMoved(by));
		m.on("query", ({by}) => this.#tell({q: m.query}, by === "jump"));
		m.on("window", ({by}) => by !== "load" && this.#tell({from: m.window ? Math.round(m.window.from) : null, to: m.window ? Math.round(m.window.to) : null}, false));
		m.on("recording", () => {
			store.set({recording: m.recording});
			if (!this.live && !this.head.recording)
				this.#splits["rec.lanes"].suggest(lanesRem(m.recording));
			this.#drawHead();
			this.dispatchEvent(new Event("hermit:page", {bubbles: true}));
		});
		/* of a damaged one the note under the head has said it */
		m.on("trouble", ({error}) => m.recording?.state !== "broken" && toastError(error, "Something could not be loaded"));
		this.addEventListener("open-details", () => this.details.focusTabs());
		this.addEventListener("leave", () => this.events.focusRow());
		this.addEventListener("row-menu", e => openRowMenu(m, e.detail, () => this.bookmarks.toggle()));
		m.on("follow", () => this.#followState());
		this.addEventListener("click", e => this.#link(e));
	}

	/** Links to moments of this recording move the cursor; with a modifier or the middle button the browser opens them. */
	#link(e) {
		const link = e.target.closest("a[href^='#/r/']");
		if (!link || e.defaultPrevented || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey)
			return;
		const at = /^#\/r\/([^?/]+)\?.*\bat=(\d+)/.exec(link.getAttribute("href"));
		if (!at || decodeURIComponent(at[1]) !== this.m.id)
			return;
		e.preventDefault();
		this.m.moveTo(Number(at[2]));
	}

	async #open() {
		const {params} = this.#route;
		try {
			this.m.query = params.q?.trim() ?? "";
			await this.m.open();
			this.#apply(params);
			this.m.emit("query", {by: "url"});
			if (!this.m.event)
				this.events.move(0);
		} catch (error) {
			if (error.name !== "AbortError")
				fill(this, errorNotice(error, () => location.reload()));
		}
	}

	/** What the address says becomes the state. */
	#apply(params) {
		const {m} = this;
		this.#applying = true;
		m.setQuery(params.q ?? "", {by: "url"});
		if (params.from !== undefined && params.to !== undefined && Number(params.to) > Number(params.from))
			m.setWindow(Number(params.from), Number(params.to), {by: "load"});
		else if (m.window)
			m.showAll();
		if (Number(params.at) >= 1)
			m.moveTo(Number(params.at), {by: "url"});
		if (params.tab)
			this.#bottom(params.tab);
		if (params.thread)
			this.details.look.thread = Number(params.thread) || null;
		this.#applying = false;
		if (m.event)
			router.update({at: m.event});
	}

	#tell(params, push) {
		if (!this.#applying)
			router.update(params, {push});
	}

	#cursorMoved(by) {
		const {m} = this;
		store.set({cursor: m.event});
		if (by === "time")
			return;
		this.#tell({at: m.event}, by === "jump");
		this.dispatchEvent(new Event("hermit:page", {bubbles: true}));
	}

	#bottomTabs() {
		const selected = this.bottomTabs.selected;
		this.bottomTabs.tabs = [{id: "console", label: "Console", panel: "rec-console"}, {id: "bookmarks", label: "Bookmarks", panel: "rec-bookmarks", count: this.m.bookmarks.length}];
		this.bottomTabs.selected = selected ?? "console";
	}

	#bottom(name) {
		const id = name === "bookmarks" ? name : "console";
		if (!this.bottomTabs.firstChild)
			this.#bottomTabs();
		this.bottomTabs.selected = id;
		this.consolePanel.hidden = id !== "console";
		this.bookmarksPanel.hidden = id !== "bookmarks";
		this.console.tools.hidden = id !== "console";
		remember.set("bottom-tab", id);
	}

	#drawHead() {
		const r = this.m.recording;
		const crash = r.crash;
		this.head.recording = r;
		this.live ??= h("button.rec-live", {type: "button", "aria-pressed": "false", title: "Keep the cursor at the newest event", onclick: () => this.m.setFollow(!this.m.follow)}, h("span.rec-live-dot", {"aria-hidden": "true"}), h("span", null, "Follow"));
		this.head.extra = [r.live ? this.live : null,
			crash ? h("a.button.rec-crash", {href: href(`r/${encodeURIComponent(this.m.id)}`, {at: crash.event}), title: `${crash.signal} ended it at ${format.event(crash.event)}`}, icon("signal"), "Go to the crash") : null, exportButton(this.m)];
		fill(this.note, r.state === "truncated" ? partialNote(`The recording ends before the program did${r.reason ? `: ${r.reason}` : ""}. What is here is complete up to its last event.`)
			: r.state === "broken" ? partialNote(`The recording is damaged: ${r.error ?? "unreadable"}. What can be read is shown.`) : (r.warnings ?? []).map(w => partialNote(w)));
	}

	#followState() {
		this.live?.setAttribute("aria-pressed", String(this.m.follow));
	}

	#debug() {
		if (this.m.recording)
			openDebugDialog(this.m.recording, this.m.event, this.m.row?.pid ?? null);
	}

	/** The box of the header: "#12", "12034" and "1.2s" go somewhere, everything else filters. */
	search(text, {submit}) {
		if (!submit)
			return;
		this.goTo(text);
	}

	goTo(text) {
		const number = /^#?\s*([\d,_]+)$/.exec(text);
		const time = /^#?\s*(\d+\.?\d*|\.\d+)\s*(ns|us|\u00b5s|ms|s|min)$/.exec(text);
		if (number)
			this.m.moveTo(Number(number[1].replace(/[,_]/g, "")));
		else if (time)
			this.m.moveToTime(Number(time[1]) * UNITS[time[2]]).catch(error => this.m.trouble(error));
		else
			this.m.setQuery(text);
		this.events.focusRow();
	}

	#keys() {
		const {m, events} = this;
		const attempt = work => Promise.resolve(work()).catch(error => m.trouble(error));
		const matches = async direction => {
			if (!await m.alongMatches(direction))
				toast(direction === "next" ? "No match after this event" : "No match before this event", {quiet: true});
		};
		this.#stop.push(keys.add("Events", [
			{key: "j", also: ["ArrowDown"], does: "Next row", run: () => events.move(1)},
			{key: "k", also: ["ArrowUp"], does: "Row before", run: () => events.move(-1)},
			{key: "PageDown", does: "A page down", run: () => events.page(1)},
			{key: "PageUp", does: "A page up", run: () => events.page(-1)},
			{key: "Home", does: "First event", run: () => events.first()},
			{key: "End", does: "Last event", run: () => events.last()},
			{key: "]", does: "Next event of the thread", run: () => attempt(() => m.alongThread("next"))},
			{key: "[", does: "Event before, of the thread", run: () => attempt(() => m.alongThread("previous"))},
			{key: "n", does: "Next match (without a filter: next failure)", run: () => attempt(() => matches("next"))},
			{key: "p", does: "Match before", run: () => attempt(() => matches("previous"))},
			{key: "g", does: "Go to # or time", run: () => document.querySelector("hm-header")?.focusSearch("#")},
			{key: "Ctrl+f", does: "Filter (the rows are virtual: the find of the browser would miss them)", run: () => this.#find()},
			{key: "b", does: "Bookmark, or its note", run: () => attempt(() => this.bookmarks.toggle())},
			{key: "m", does: "Actions for the row", run: () => false},
			{key: "Enter", does: "Details", run: () => false},
			{key: "Escape", does: "Back to the row; clear the selection", run: () => this.#escape()},
			{key: "D", does: "Debug from here", run: () => this.#debug()},
			{key: "c", does: "Close or open the console", run: () => this.#splits["rec.console"].toggle()},
			{key: "i", does: "Close or open the details", run: () => this.#splits["rec.details"].toggle()},
		]), keys.add("Timeline", this.lanes.keyMap));
	}

	#find() {
		if (!this.events.contains(document.activeElement) && document.activeElement !== document.body && !this.filter.contains(document.activeElement))
			return false;
		this.filter.focusInput();
		return true;
	}

	#escape() {
		if (this.m.selection) {
			this.m.setSelection(null);
			return true;
		}
		return this.events.focusRow();
	}
}

customElements.define("page-recording", PageRecording);
