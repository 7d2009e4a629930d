/**
 * What all parts of the recording page share: the recording, its processes, the cursor (an event number), the filter, the window of the
 * timeline, the bookmarks. Parts read it and listen to it; none of them knows another.
 *
 * Events: "recording", "processes", "cursor" ({by}), "detail", "query", "window" ({by}), "bookmarks", "grow", "follow", "trouble" ({error}).
 */
import {get, post, patchFresh, delFresh, stream} from "./api.js";
import {EventPages} from "./rec-pages.js";

const DETAIL_DELAY_MS = 60;
const DETAILS_KEPT = 200;
const GROW_MS = 250;
const AGAIN_MS = 700;		/* answers that say they are not complete are asked for again */
const EVENTS_LIMIT = 500;
const PLACES_MAX = 200;

export class RecordingModel extends EventTarget {
	#details = new Map();
	#places = new Map();
	#detailAbort = null;
	#detailTimer = 0;
	#growTimer = 0;
	#processTimer = 0;
	#unwatch = null;
	#closed = new AbortController();

	/** @param {string} id */
	constructor(id) {
		super();
		this.id = id;
		this.recording = null;
		this.processes = [];
		this.threads = new Map();
		this.bookmarks = [];
		this.bookmarkMarks = [];	/* those of which the time is known: {event, ns, thread, kind, text} */
		this.event = null;
		this.row = null;
		this.detail = null;
		this.query = "";
		this.window = null;
		this.selection = null;
		this.endNs = 0;
		this.last = 0;
		this.follow = false;
		this.pages = null;
	}

	get signal() {
		return this.#closed.signal;
	}

	path(rest = "") {
		return `/recordings/${encodeURIComponent(this.id)}${rest}`;
	}

	get(rest, params = {}, signal = this.signal) {
		return get(this.path(rest), {params, signal});
	}

	emit(name, detail = {}) {
		this.dispatchEvent(new CustomEvent(name, {detail}));
	}

	/** Listens until the page is left or signal says so. */
	on(name, listener, signal = this.signal) {
		this.addEventListener(name, e => listener(e.detail), {signal});
	}

	async open() {
		this.recording = await this.get("");
		this.last = this.recording.events ?? 0;
		this.endNs = Math.max(this.endNs, Number(this.recording.duration_ns ?? 0));
		this.emit("recording");
		this.#renewPages();
		this.loadProcesses();
		this.loadBookmarks();
		if (this.recording.live)
			this.#watch();
	}

	close() {
		this.#closed.abort();
		this.#unwatch?.();
		this.#detailAbort?.abort();
		this.pages?.dispose();
		clearTimeout(this.#detailTimer);
		clearTimeout(this.#growTimer);
		clearTimeout(this.#processTimer);
	}

	async loadProcesses() {
		try {
			const {items, complete} = await this.get("/processes");
			this.processes = items;
			this.threads = new Map();
			for (const process of items)
				for (const thread of process.threads)
					this.threads.set(thread.number, {...thread, process});
			this.emit("processes");
			clearTimeout(this.#processTimer);
			if (!complete && !this.recording?.live)
				this.#processTimer = setTimeout(() => this.loadProcesses(), AGAIN_MS);
		} catch (error) {
			this.trouble(error);
		}
	}

	async loadBookmarks() {
		try {
			const {items} = await this.get("/bookmarks");
			this.bookmarks = items.slice().sort((a, b) => a.event - b.event);
			this.#markBookmarks();
			this.emit("bookmarks");
			await this.#placeBookmarks();
		} catch (error) {
			this.trouble(error);
		}
	}

	#markBookmarks() {
		this.bookmarkMarks = this.bookmarks.map(b => ({...this.#places.get(b.event), event: b.event, kind: "bookmark", text: b.text})).filter(m => m.ns !== undefined);
	}

	/** A bookmark names an event; the lanes need its time. */
	async #placeBookmarks() {
		const missing = this.bookmarks.filter(b => b.event >= 1 && !this.#places.has(b.event)).slice(0, PLACES_MAX);
		for (const {event} of missing) {
			const row = this.row?.number === event ? this.row : this.pages?.byNumber(event) ?? (await this.get("/events", {offset: event - 1, limit: 1})).items[0];
			if (row)
				this.#places.set(event, {ns: Number(row.time_ns), thread: row.thread});
		}
		if (missing.length) {
			this.#markBookmarks();
			this.emit("bookmarks");
		}
	}

	trouble(error) {
		if (error?.name !== "AbortError" && !this.signal.aborted)
			this.emit("trouble", {error});
	}

	/** Name of a thread as people read it: "net-0 (3)". */
	threadName(number) {
		const t = this.threads.get(number);
		return t?.name ? `${t.name} (${number})` : `thread ${number}`;
	}

	/**
	 * Moves the cursor.
	 * @param {number} event
	 * @param {{row?: object, by?: "step"|"jump"|"url"|"follow"}} how a step replaces the place in the history, a jump adds one
	 */
	moveTo(event, {row = null, by = "jump"} = {}) {
		const limit = Math.max(this.last, this.recording?.events ?? 0, 1);
		const n = Math.min(Math.max(1, Math.floor(event)), limit);
		if (n === this.event && by !== "url")
			return;
		this.event = n;
		this.row = row ?? this.pages?.byNumber(n) ?? this.#details.get(n) ?? null;
		if (by !== "follow" && this.follow && n < this.last)
			this.setFollow(false);
		this.emit("cursor", {by});
		this.#wantDetail(n);
	}

	/** Time of the cursor in ns, null when not known yet. */
	get cursorNs() {
		return this.row ? Number(this.row.time_ns) : null;
	}

	#wantDetail(n) {
		clearTimeout(this.#detailTimer);
		this.#detailAbort?.abort();
		const known = this.#details.get(n);
		if (known) {
			this.#haveDetail(known);
			return;
		}
		this.#detailTimer = setTimeout(() => this.#fetchDetail(n), DETAIL_DELAY_MS);
	}

	async #fetchDetail(n) {
		const abort = new AbortController();
		this.#detailAbort = abort;
		try {
			const detail = await this.get(`/events/${n}`, {}, abort.signal);
			if (this.#details.size >= DETAILS_KEPT)
				this.#details.delete(this.#details.keys().next().value);
			this.#details.set(n, detail);
			if (this.event === n)
				this.#haveDetail(detail);
		} catch (error) {
			if (error?.name !== "AbortError")
				this.emit("detail", {error});
		}
	}

	#haveDetail(detail) {
		const knewTime = this.row !== null;
		this.detail = detail;
		this.row ??= detail;
		this.emit("detail", {});
		if (!knewTime)
			this.emit("cursor", {by: "time"});
	}

	/** The next or previous event of the cursor's thread. */
	async alongThread(direction) {
		const from = this.event;
		if (!from || !this.row)
			return;
		const near = this.detail?.number === from ? this.detail : null;
		const n = near ? near[direction === "next" ? "next_same_thread" : "previous_same_thread"]
			: (await this.get("/events/locate", {event: from, dir: direction, thread: this.row.thread})).event;
		if (n && this.event === from)
			this.moveTo(n, {by: "step"});
	}

	/** The next or previous match of the filter; without a filter: what failed. */
	async alongMatches(direction) {
		const q = this.query || "failed";
		const found = await this.get("/events/locate", {event: this.event ?? 1, dir: direction, q});
		if (found.event)
			this.moveTo(found.event, {by: "step"});
		return found.event !== null;
	}

	/** The first event at or after a time, of a thread when given. */
	async moveToTime(ns, thread = null) {
		const params = {from_ns: Math.max(0, Math.floor(ns)), limit: 1};
		if (thread)
			params.thread = thread;
		const {items} = await this.get("/events", params);
		if (items.length)
			this.moveTo(items[0].number, {row: items[0]});
		else if (!thread)
			this.moveTo(this.last);
		return items.length > 0;
	}

	setQuery(query, {by = "jump"} = {}) {
		const q = query.trim();
		if (q === this.query && this.pages)
			return;
		this.query = q;
		this.#renewPages();
		this.emit("query", {by});
	}

	/** Adds a term to the filter unless it is there. */
	addTerm(term) {
		if (!` ${this.query} `.includes(` ${term} `))
			this.setQuery(`${this.query} ${term}`);
	}

	setWindow(from, to, {by = "zoom"} = {}) {
		const end = this.endNs || Math.max(1, to);	/* of a live one nothing is known at first */
		const span = Math.min(Math.max(50, to - from), end * 1.05);
		const start = Math.min(Math.max(from, -0.02 * end), Math.max(-0.02 * end, end * 1.03 - span));
		this.window = {from: start, to: start + span};
		this.emit("window", {by});
	}

	get view() {
		return this.window ?? {from: 0, to: Math.max(1, this.endNs)};
	}

	showAll() {
		this.window = null;
		this.emit("window", {by: "zoom"});
	}

	setSelection(selection) {
		this.selection = selection;
		this.emit("selection");
	}

	#renewPages() {
		this.pages?.dispose();
		const query = this.query;
		this.pages = new EventPages((offset, signal) => this.get("/events", query ? {q: query, offset, limit: EVENTS_LIMIT} : {offset, limit: EVENTS_LIMIT}, signal),
			{size: EVENTS_LIMIT, total: query ? 0 : this.last});
		this.emit("pages");
	}

	async addBookmark(event, text) {
		await post(this.path("/bookmarks"), {event, text, thread: this.row?.number === event ? this.row.thread : null});
		await this.loadBookmarks();
	}

	async editBookmark(bookmark, text) {
		await patchFresh(this.path(`/bookmarks/${encodeURIComponent(bookmark.id)}`), {text});
		await this.loadBookmarks();
	}

	async removeBookmark(bookmark) {
		await delFresh(this.path(`/bookmarks/${encodeURIComponent(bookmark.id)}`));
		await this.loadBookmarks();
	}

	setFollow(on) {
		this.follow = on;
		this.emit("follow");
		if (on)
			this.moveTo(this.last, {by: "follow"});
	}

	#watch() {
		this.#unwatch = stream(this.path("/stream"), {
			events: data => this.#grow(data),
			output: () => this.emit("output"),
			state: () => this.#refresh(),
			end: () => {
				this.#unwatch();
				this.#refresh();
			},
		});
	}

	#grow({last, time_ns}) {
		this.last = Math.max(this.last, last);
		this.endNs = Math.max(this.endNs, Number(time_ns ?? 0));
		if (this.#growTimer)
			return;
		this.#growTimer = setTimeout(() => {
			this.#growTimer = 0;
			this.pages.grow(this.query ? null : this.last);
			this.emit("grow");
			if (this.follow)
				this.moveTo(this.last, {by: "follow"});
		}, GROW_MS);
	}

	async #refresh() {
		try {
			this.recording = await this.get("");
			this.last = Math.max(this.last, this.recording.events);
			this.endNs = Math.max(this.endNs, Number(this.recording.duration_ns ?? 0));
			this.emit("recording");
			this.pages.grow(this.query ? null : this.last);
			this.emit("grow");
			await this.loadProcesses();
		} catch (error) {
			this.trouble(error);
		}
	}
}
