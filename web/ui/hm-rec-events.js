/**
 * <hm-rec-events>: the events as rows. Only the rows in sight are elements; they are reused, so that scrolling changes texts and makes
 * nothing. The row of the cursor is the one that Tab reaches.
 */
import {h, fill, framed, text, remember} from "./dom.js";
import * as format from "./format.js";
import {href} from "./router.js";
import {COLUMNS, Widths, shapeOf} from "./rec-columns.js";
import {ScrollMap} from "./rec-scroll.js";

const MARGIN_ROWS = 3;
const SETTLE_MS = 50;

class EventTable extends HTMLElement {
	#rows = [];
	#active = 0;
	#wantReveal = null;
	#wantFocus = false;
	#lastTop = 0;
	#settle = 0;
	#since = remember.get("time-column", "start");
	#draw = framed(() => this.#render());
	#pagesAbort = null;
	#revealAbort = null;
	#bookmarked = new Set();

	/** @param {import("./rec-model.js").RecordingModel} model */
	set model(model) {
		this.m = model;
		this.#build();
		model.on("pages", () => this.#newPages());
		model.on("cursor", ({by}) => by !== "time" && this.reveal(model.event, by));
		model.on("processes", () => this.#draw());
		model.on("grow", () => this.#draw());
		model.on("bookmarks", () => {
			this.#bookmarked = new Set(model.bookmarks.map(b => b.event));
			this.#draw();
		});
		const sizes = new ResizeObserver(() => this.#draw());
		sizes.observe(this.scroller);
		model.signal.addEventListener("abort", () => sizes.disconnect());
		if (model.pages)
			this.#newPages();
	}

	#build() {
		const widths = new Widths(this);
		this.timeButton = h("button.quiet.rec-time-mode", {type: "button", onclick: () => this.#toggleTime()});
		const head = h("div.rec-row.rec-head", {role: "row", "aria-rowindex": "1"}, COLUMNS.map(c => h(`div.rec-cell.rec-c-${c.key}`, {role: "columnheader"},
			c.key === "time" ? this.timeButton : h("span", null, c.key === "kind" ? h("span.sr-only", null, "Kind") : c.label), c.width ? widths.handle(c) : null)));
		this.spacer = h("div.rec-spacer", {role: "presentation"});
		this.layer = h("div.rec-layer", {role: "presentation"});
		this.scroller = h("div.rec-scroller", {role: "rowgroup"}, this.layer, this.spacer);
		this.grid = h("div.rec-grid", {role: "grid", "aria-label": "Events", "aria-colcount": COLUMNS.length, "aria-rowcount": "1"},
			h("div.rec-headgroup", {role: "rowgroup"}, head), this.scroller);
		this.empty = h("div.rec-empty", {hidden: true});
		fill(this, this.grid, this.empty);
		this.map = new ScrollMap(this.scroller, this.spacer);
		this.scroller.addEventListener("scroll", () => this.#draw(), {passive: true});
		this.scroller.addEventListener("keydown", e => this.#key(e));
		this.scroller.addEventListener("click", e => this.#click(e));
		this.scroller.addEventListener("dblclick", () => this.#open());
		this.scroller.addEventListener("contextmenu", e => this.#menu(e));
		this.#labelTime();
	}

	#labelTime() {
		text(this.timeButton, this.#since === "start" ? "Time" : "Since prev");
		this.timeButton.title = this.#since === "start" ? "Seconds since the start. Click: since the row before" : "Since the row before. Click: seconds since the start";
	}

	#toggleTime() {
		this.#since = this.#since === "start" ? "previous" : "start";
		remember.set("time-column", this.#since);
		this.#labelTime();
		this.#draw();
	}

	#newPages() {
		this.#pagesAbort?.abort();
		this.#pagesAbort = new AbortController();
		const {signal} = this.#pagesAbort;
		this.m.pages.addEventListener("change", () => this.#draw(), {signal});
		this.m.pages.addEventListener("error", () => this.#draw(), {signal});
		this.#lastTop = -1;
		this.#active = 0;
		this.map.set(0);
		this.m.pages.want(0, 60, 1);
		if (this.m.event)
			this.reveal(this.m.event, "url");
		this.#draw();
	}

	get rowHeight() {
		return Math.round(1.5 * parseFloat(getComputedStyle(document.documentElement).fontSize));
	}

	/** Brings an event into sight, in the middle when it was far away. */
	async reveal(event, by = "jump") {
		this.#revealAbort?.abort();
		const {pages, query} = this.m;
		let index = query ? pages.indexOf(event) : event - 1;
		if (index === null) {
			const abort = new AbortController();
			this.#revealAbort = abort;
			try {
				const found = await this.m.get("/events/locate", {event, dir: "nearest", q: query}, abort.signal);
				index = found.offset;
			} catch (error) {
				this.m.trouble(error);
			}
			if (abort.signal.aborted || index === null || this.m.pages !== pages)
				return;
		}
		this.#active = index;
		this.#wantReveal = {index, by};
		this.#draw();
	}

	#scrollTo(index, by) {
		const height = this.rowHeight;
		const top = index * height;
		const view = this.map.viewHeight;
		const at = this.map.top;
		const near = top >= at - 3 * height && top <= at + view + 2 * height;
		if (top >= at && top + height <= at + view)
			return;
		if (near && by !== "url")
			this.map.set(top < at ? top : top + height - view);
		else
			this.map.set(top - Math.max(0, (view - height) / 2));
	}

	#render() {
		const {pages} = this.m;
		if (!pages || !this.isConnected)
			return;
		const height = this.rowHeight;
		const total = pages.total;
		this.map.resize(total, height);
		if (this.#wantReveal && this.#wantReveal.index < Math.max(total, 1)) {
			this.#scrollTo(this.#wantReveal.index, this.#wantReveal.by);
			this.#wantReveal = null;
		}
		const top = this.map.top;
		const first = Math.max(0, Math.floor(top / height) - MARGIN_ROWS);
		const last = Math.min(total - 1, Math.ceil((top + this.map.viewHeight) / height) + MARGIN_ROWS);
		this.grid.setAttribute("aria-rowcount", String(pages.complete || !this.m.query ? total + 1 : -1));
		this.#pool(last - first + 1, height);
		const focused = this.scroller.contains(document.activeElement) && document.activeElement.closest(".rec-row") !== null;
		const used = new Set();
		for (let index = first; index <= last; index++) {
			const el = this.#rows[index % this.#rows.length];
			used.add(el);
			this.#fillRow(el, index, pages, index * height - top);
		}
		for (const el of this.#rows)
			if (!used.has(el) && !el.hidden) {
				el.hidden = true;
				el.index = -1;
				el.tabIndex = -1;
				el.classList.remove("rec-cursor", "rec-near");
			}
		if (focused || (this.#wantFocus && !this.#wantReveal))
			this.focusRow();
		this.#fetch(first, last, top);
		this.#showEmpty(pages, total);
	}

	#pool(wanted, height) {
		const size = Math.max(wanted, Math.ceil(this.map.viewHeight / height) + 2 * MARGIN_ROWS + 1);
		while (this.#rows.length < size) {
			const cells = COLUMNS.map(c => h(`${c.key === "number" ? "a" : "span"}.rec-text`, c.key === "number" ? {tabindex: "-1"} : null));
			const el = h("div.rec-row", {role: "row", tabindex: "-1"}, COLUMNS.map((c, i) => h(`div.rec-cell.rec-c-${c.key}`, {role: "gridcell"}, cells[i])));
			el.cells = cells;
			this.#rows.push(el);
			this.layer.append(el);
		}
	}

	#fillRow(el, index, pages, y) {
		const row = pages.row(index) ?? null;
		const active = index === this.#active && this.m.event !== null;
		el.hidden = false;
		el.style.transform = `translateY(${y}px)`;
		el.tabIndex = index === this.#active ? 0 : -1;
		el.setAttribute("aria-selected", String(active));
		el.classList.toggle("rec-cursor", active && (!row || row.number === this.m.event));
		el.classList.toggle("rec-near", active && row !== null && row.number !== this.m.event);
		el.classList.toggle("rec-bookmarked", row !== null && this.#bookmarked.has(row.number));
		const before = this.#since === "previous" && index > 0 ? pages.row(index - 1) ?? null : null;
		if (el.index === index && el.row === row && el.before === before && el.since === this.#since)
			return;
		Object.assign(el, {index, row, before, since: this.#since});
		el.setAttribute("aria-rowindex", String(index + 2));
		const kind = row ? shapeOf(row)[2] : "";
		el.dataset.state = row ? kind : "loading";
		COLUMNS.forEach((column, i) => {
			const cell = el.cells[i];
			text(cell, row ? column.text(row, before, this.#since) : column.key === "number" && !this.m.query ? format.count(index + 1) : "");
			cell.title = row && column.exact ? column.exact(row, this.m) : "";
		});
		if (row)
			el.cells[0].href = href(`r/${encodeURIComponent(this.m.id)}`, {at: row.number, q: this.m.query});
		else
			el.cells[0].removeAttribute("href");
		el.cells[3].setAttribute("aria-label", row ? shapeOf(row)[1] : "");
		el.cells[3].setAttribute("role", "img");
	}

	#fetch(first, last, top) {
		const direction = Math.sign(top - this.#lastTop);
		const far = Math.abs(top - this.#lastTop) > 20 * this.map.viewHeight;
		this.#lastTop = top;
		clearTimeout(this.#settle);
		if (far)
			this.#settle = setTimeout(() => this.m.pages.want(first, Math.max(first, last), direction), SETTLE_MS);
		else
			this.m.pages.want(first, Math.max(first, last), direction);
	}

	#showEmpty(pages, total) {
		const nothing = total === 0;
		this.empty.hidden = !nothing && !pages.error;
		if (this.empty.hidden)
			return;
		if (pages.error && pages.error.code !== "bad-filter")
			fill(this.empty, h("p", null, "These events could not be loaded."), h("p.rec-muted", null, pages.error.message), h("button", {type: "button", onclick: () => pages.retry()}, "Try again"));
		else if (pages.error)
			fill(this.empty, h("p", null, "The filter has a mistake."), h("p.rec-muted", null, pages.error.message));
		else if (!pages.answered)
			fill(this.empty, h("p.rec-muted", null, "Loading events..."));
		else if (!pages.complete && this.m.query)
			fill(this.empty, h("p.rec-muted", null, "Searching..."));
		else if (this.m.query)
			fill(this.empty, h("p", null, "No event matches the filter."), h("button", {type: "button", onclick: () => this.m.setQuery("")}, "Clear the filter"));
		else
			fill(this.empty, h("p", null, this.m.recording?.live ? "No events yet: the program has just begun." : "This recording has no events."));
	}

	/** Puts the keyboard on the row of the cursor; on one that is not there yet when it comes. */
	focusRow() {
		const el = this.#rows.find(r => !r.hidden && r.index === this.#active);
		this.#wantFocus = !el;
		if (el && document.activeElement !== el)
			el.focus({preventScroll: true});
		return Boolean(el);
	}

	/** Moves the cursor by rows. */
	move(rows) {
		this.#goIndex(this.m.event === null ? 0 : this.#active + rows);
	}

	#goIndex(index) {
		const {pages} = this.m;
		const at = Math.min(Math.max(0, index), pages.total - 1);
		if (at < 0)
			return;
		const row = pages.row(at);
		this.#active = at;
		if (row || !this.m.query) {
			this.m.moveTo(row?.number ?? at + 1, {row, by: "step"});
			return;
		}
		this.#wantReveal = {index: at, by: "step"};
		pages.addEventListener("change", () => this.m.pages === pages && this.#active === at && pages.row(at) && this.m.moveTo(pages.row(at).number, {row: pages.row(at), by: "step"}), {once: true});
		this.#draw();
	}

	first() {
		this.#goIndex(0);
	}

	last() {
		this.#goIndex(this.m.pages.total - 1);
	}

	page(direction) {
		this.move(direction * Math.max(1, Math.floor(this.map.viewHeight / this.rowHeight) - 1));
	}

	#key(e) {
		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		const actions = {ArrowDown: () => this.move(1), ArrowUp: () => this.move(-1), PageDown: () => this.page(1), PageUp: () => this.page(-1), Home: () => this.first(), End: () => this.last(),
			Enter: () => this.#open(), ContextMenu: () => this.#menuAtRow(), m: () => this.#menuAtRow()};
		const action = e.shiftKey && e.key === "F10" ? () => this.#menuAtRow() : actions[e.key];
		if (!action)
			return;
		action();
		e.preventDefault();
		e.stopPropagation();
	}

	#click(e) {
		const el = e.target.closest(".rec-row");
		if (!el || e.ctrlKey || e.metaKey || e.shiftKey || !getSelection().isCollapsed)
			return;
		e.preventDefault();
		if (el.row)
			this.m.moveTo(el.row.number, {row: el.row});
		this.#active = el.index;
		this.#draw();
		el.focus({preventScroll: true});
	}

	#open() {
		this.dispatchEvent(new CustomEvent("open-details", {bubbles: true}));
	}

	#menu(e) {
		const el = e.target.closest(".rec-row");
		if (!el?.row || !getSelection().isCollapsed)
			return;
		e.preventDefault();
		this.m.moveTo(el.row.number, {row: el.row, by: "step"});
		this.dispatchEvent(new CustomEvent("row-menu", {bubbles: true, detail: {row: el.row, x: e.clientX, y: e.clientY, from: el}}));
	}

	#menuAtRow() {
		const el = this.#rows.find(r => !r.hidden && r.index === this.#active);
		if (!el?.row)
			return;
		const box = el.getBoundingClientRect();
		this.dispatchEvent(new CustomEvent("row-menu", {bubbles: true, detail: {row: el.row, x: box.left + 120, y: box.bottom, from: el}}));
	}
}

customElements.define("hm-rec-events", EventTable);
