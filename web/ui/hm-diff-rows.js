/* The aligned rows of a diff: two columns, only the rows in sight exist. The place is a row index (from 0).
 *
 *	rows.ids = {left, right}; rows.total = n; rows.at = index;	event "move": at changed; rows.reveal(index)
 *	rows.firstDifference = index	where looking back may end
 *	rows.nextDifference(1 or -1)	looks further than what is loaded; resolves to false when there is none
 */
import {get, latest} from "./api.js";
import {fill, framed, h, rem} from "./dom.js";
import * as format from "./format.js";
import {ScrollMap} from "./rec-scroll.js";
import {EventPages} from "./rec-pages.js";
import {href} from "./router.js";
import {toastError} from "./hm-toasts.js";

const PAGE = 500;
const SEARCH_PAGE = 1000;
const MARKS = {same: ["", "same"], changed: ["\u2260", "different"], left: ["\u2212", "only left"], right: ["+", "only right"]};

class HmDiffRows extends HTMLElement {
	firstDifference = 0;
	#ids = {};
	#total = 0;
	#at = 0;
	#pages = null;
	#map = null;
	#first = 0;
	#search = latest();
	#spacer = h("div.spacer", {});
	#body = h("div.rows", {role: "rowgroup"});
	#scroller = h("div.scroller", {tabindex: 0, role: "grid", "aria-label": "Aligned events", "aria-colcount": 3}, this.#spacer, this.#body);
	#draw = framed(() => this.#window());
	#resize = new ResizeObserver(() => this.#draw());

	connectedCallback() {
		fill(this, this.#scroller);
		this.#map = new ScrollMap(this.#scroller, this.#spacer);
		this.#map.resize(this.#total, this.#rowHeight);
		this.#scroller.addEventListener("scroll", this.#draw, {passive: true});
		this.#scroller.addEventListener("keydown", event => this.#key(event));
		this.#body.addEventListener("click", event => {
			const row = event.target.closest("[data-at]");

			if (row && !event.target.closest("a") && getSelection().isCollapsed)
				this.#moveTo(Number(row.dataset.at));
		});
		this.#resize.observe(this);
	}

	disconnectedCallback() {
		this.#pages?.dispose();
		this.#search.abort();
		this.#resize.disconnect();
	}

	set ids(ids) {
		this.#ids = ids;
		this.#pages?.dispose();
		this.#pages = null;
	}

	set total(total) {
		this.#total = total;
		this.#pages ??= this.#open();
		this.#scroller.setAttribute("aria-rowcount", total);
		this.#map?.resize(total, this.#rowHeight);
		this.#draw();
	}

	get at() {
		return this.#at;
	}

	set at(index) {
		this.#at = Math.max(0, Math.min(index, this.#total - 1));
		this.reveal(this.#at, true);
	}

	focusRows() {
		this.#scroller.focus();
	}

	reveal(index, centre = false) {
		const top = index * this.#rowHeight;
		const view = this.#map?.viewHeight ?? 0;
		const shown = this.#map?.top ?? 0;

		if (top < shown || top + this.#rowHeight > shown + view)
			this.#map?.set(centre ? top - view / 2 : top < shown ? top : top + this.#rowHeight - view);
		this.#draw();
	}

	/** The row as loaded, or undefined. */
	row(index) {
		return this.#pages?.row(index);
	}

	async nextDifference(direction) {
		try {
			const found = await this.#search(signal => this.#look(direction, signal));

			if (found === undefined)
				return true;
			if (found === null)
				return false;
			this.#moveTo(found, true);
		} catch (error) {
			toastError(error, "Could not look for the next difference");
		}
		return true;
	}

	/* Differences stand in groups: this gives the first row of the next group, or of the one before. Rows before firstDifference are all the same. */
	async #look(direction, signal) {
		let inside = this.row(this.#at) ? this.row(this.#at).op !== "same" : false;
		let found = null;

		if (direction < 0 && inside && this.row(this.#at - 1)?.op !== "same")
			inside = false;		/* in the middle of a group: to its beginning */
		for (let at = this.#at + direction; at >= this.firstDifference && at < this.#total;) {
			const offset = direction > 0 ? at : Math.max(0, at - SEARCH_PAGE + 1);
			const {items} = await get("/diff/rows", {params: {...this.#ids, offset, limit: direction > 0 ? SEARCH_PAGE : at - offset + 1}, signal});

			if (!items.length)
				return found;
			for (; at >= Math.max(offset, this.firstDifference) && at < offset + items.length; at += direction) {
				const other = items[at - offset].op !== "same";

				if (direction > 0 && other && !inside)
					return at;
				if (direction < 0 && found !== null && !other)
					return found;
				if (direction < 0 && other && !inside)
					found = at;
				inside = other && (direction > 0 || inside);
			}
		}
		return found;
	}

	get #rowHeight() {
		return rem(1.5);
	}

	#open() {
		const pages = new EventPages(async (offset, signal) => {
			const answer = await get("/diff/rows", {params: {...this.#ids, offset, limit: PAGE}, signal});

			return {items: answer.items, total: answer.total, complete: true, scanned: answer.total, last: answer.total};
		}, {size: PAGE, total: this.#total});

		pages.addEventListener("change", this.#draw);
		pages.addEventListener("error", () => toastError(pages.error, "Could not load rows of the diff"));
		return pages;
	}

	#window() {
		if (!this.#pages || !this.isConnected)
			return;
		const height = this.#rowHeight;
		const top = this.#map.top;
		const first = Math.max(0, Math.floor(top / height));
		const n = Math.min(this.#total - first, Math.ceil(this.#map.viewHeight / height) + 1);

		this.#pages.want(first, first + Math.max(0, n - 1), Math.sign(first - this.#first));
		this.#first = first;
		this.#body.style.transform = `translateY(${this.#scroller.scrollTop - (top - first * height)}px)`;
		fill(this.#body, Array.from({length: Math.max(0, n)}, (_, at) => this.#row(first + at)));
		if (this.#at >= first && this.#at < first + n)
			this.#scroller.setAttribute("aria-activedescendant", `diff-${this.#at}`);
		else
			this.#scroller.removeAttribute("aria-activedescendant");
	}

	#row(at) {
		const row = this.#pages.row(at);
		const [mark, says] = MARKS[row?.op] ?? ["", ""];

		return h(`div.diff-row.${row?.op ?? "waiting"}${at === this.#at ? ".current" : ""}`, {role: "row", id: `diff-${at}`, "data-at": at, "aria-rowindex": at + 1, "aria-selected": String(at === this.#at)},
			side(row, "left", this.#ids.left),
			h("span.mark", {role: "gridcell"}, h("span", {"aria-hidden": "true"}, mark), h("span.sr-only", {}, says)),
			side(row, "right", this.#ids.right));
	}

	#moveTo(index, centre = false) {
		this.#at = Math.max(0, Math.min(index, this.#total - 1));
		this.reveal(this.#at, centre);
		this.dispatchEvent(new Event("move"));
	}

	#key(event) {
		const page = Math.max(1, Math.floor(this.#map.viewHeight / this.#rowHeight) - 1);
		const moves = {j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};

		if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in moves))
			return;
		event.preventDefault();
		event.stopPropagation();
		this.#moveTo(this.#at + moves[event.key]);
	}
}

function side(row, name, id) {
	const number = row?.[name];

	return h(`span.side.${name}`, {role: "gridcell"},
		number ? h("a.number", {href: href(`r/${id}`, {at: number}), tabindex: -1}, format.event(number)) : h("span.number", {}),
		h("code", {title: row?.[name + "_line"] || null}, number ? format.printable(row[name + "_line"]) : ""));
}

customElements.define("hm-diff-rows", HmDiffRows);
