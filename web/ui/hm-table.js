/* A table that sorts, selects and - beyond 150 rows - keeps only the rows near the view in the document (real <table>, aria-rowindex says which).
 *
 *	table.columns = [{key, title, kind: "num"|"mono"|"grow"|"", width: "8rem", sort: true, cell: row => Node|string, value: row => number|string, hint}]
 *	table.key = row => row.id;	table.caption = "Recordings";	table.selectable = true;
 *	table.rows = [...];		keeps scroll position, focus and selection by key
 *	table.sort = {key, order}	with localSort (default) rows are sorted here by value(); else listen to "sort" and set rows
 *	table.empty = Node		shown in place of rows
 * Events: "sort", "select". table.selection is a Set of keys.
 *
 * Keys: j k / arrows move from row to row (the focus is on the row's first link or button, else the row), Home End, x selects.
 * All rows have one height (--row, or --row-dense with the attribute dense). The nearest scrolling ancestor is the view. */
import {fill, framed, h, rem} from "./dom.js";
import {icon} from "./icons.js";
import {writing} from "./keys.js";

const WINDOW_FROM = 150;
const OVERSCAN = 12;

class HmTable extends HTMLElement {
	localSort = true;
	selectable = false;
	selectLabel = row => `Select ${this.key(row)}`;
	rowClass = () => "";
	key = row => row.key;
	empty = null;
	selection = new Set();
	#columns = [];
	#rows = [];
	#sorted = [];
	#sort = {key: null, order: "asc"};
	#at = 0;			/* the row Tab goes to */
	#view = null;
	#first = 0;
	#head = h("thead", {});
	#body = h("tbody", {});
	#caption = h("caption.sr-only", {});
	#table = h("table", {}, this.#caption, this.#head, this.#body);
	#draw = framed(() => this.#window(false));
	#resize = new ResizeObserver(() => this.#draw());

	connectedCallback() {
		if (!this.#table.isConnected)
			this.append(this.#table);
		this.#view = this.closest(".scroll, main");
		this.#view?.addEventListener("scroll", this.#draw, {passive: true});
		this.#resize.observe(this.#view ?? this);
		this.addEventListener("keydown", this);
		this.addEventListener("focusin", this);
	}

	disconnectedCallback() {
		this.#view?.removeEventListener("scroll", this.#draw);
		this.#resize.disconnect();
	}

	set caption(text) {
		this.#caption.textContent = text;
	}

	set columns(list) {
		this.#columns = list;
		this.#drawHead();
		this.#window(true);
	}

	get sort() {
		return this.#sort;
	}

	set sort({key, order}) {
		this.#sort = {key, order};
		this.#drawHead();
		this.rows = this.#rows;
	}

	get rows() {
		return this.#rows;
	}

	set rows(rows) {
		const focused = this.#sorted[this.#at];
		const column = this.localSort ? this.#columns.find(one => one.key === this.#sort.key) : null;

		this.#rows = rows;
		this.#sorted = column ? sorted(rows, column, this.#sort.order) : rows;
		if (focused !== undefined) {
			const key = this.key(focused);
			const found = this.#sorted.findIndex(row => this.key(row) === key);

			this.#at = found < 0 ? Math.max(0, Math.min(this.#at, this.#sorted.length - 1)) : found;
		}
		if (this.selectable) {
			const have = new Set(rows.map(this.key));
			const before = this.selection.size;

			this.selection = new Set([...this.selection].filter(key => have.has(key)));
			if (before !== this.selection.size)
				this.dispatchEvent(new Event("select"));
		}
		this.#window(true);
	}

	clearSelection() {
		this.selection.clear();
		this.#window(true);
		this.dispatchEvent(new Event("select"));
	}

	/** Focus the row at an index of the sorted order. */
	focusRow(index) {
		if (!this.#sorted.length)
			return;
		this.#at = Math.max(0, Math.min(index, this.#sorted.length - 1));
		this.#reveal();
		this.#window(true);
		this.#target(this.#at)?.focus({preventScroll: true});
	}

	get rowHeight() {
		return rem(this.hasAttribute("dense") ? 1.75 : 2.25);
	}

	#drawHead() {
		const tick = this.selectable ? h("th.tick", {scope: "col"}, h("input", {
			type: "checkbox", "aria-label": "Select all", onchange: event => this.#selectAll(event.target.checked),
		})) : null;

		fill(this.#head, h("tr", {}, tick, this.#columns.map(column => this.#headCell(column))));
		fill(this.#table.querySelector("colgroup") ?? this.#table.insertBefore(h("colgroup", {}), this.#head),
			tick ? col("2.5rem") : null, this.#columns.map(column => col(column.width)));
	}

	#headCell(column) {
		const mine = column.key === this.#sort.key;

		if (!column.sort)
			return h(`th${kindOf(column)}`, {scope: "col", title: column.hint}, column.title ? h("span", {}, column.title) : h("span.sr-only", {}, column.label));
		return h(`th${kindOf(column)}`, {scope: "col", "aria-sort": mine ? `${this.#sort.order}ending` : null},
			h("button", {type: "button", title: column.hint, onclick: () => this.#sortBy(column)},
				column.title, h(`span.arrow${mine ? "." + this.#sort.order : ""}`, {}, icon("chevron"))));
	}

	#sortBy(column) {
		const mine = column.key === this.#sort.key;
		const start = column.kind === "num" ? "desc" : "asc";

		this.sort = {key: column.key, order: mine ? (this.#sort.order === "asc" ? "desc" : "asc") : start};
		this.#head.querySelector("[aria-sort] button")?.focus();
		this.dispatchEvent(new Event("sort"));
	}

	#selectAll(on) {
		this.selection = new Set(on ? this.#rows.map(this.key) : []);
		this.#window(true);
		this.dispatchEvent(new Event("select"));
	}

	#toggle(row, on) {
		if (on)
			this.selection.add(this.key(row));
		else
			this.selection.delete(this.key(row));
		this.#window(true);
		this.dispatchEvent(new Event("select"));
	}

	/* --- rows near the view --- */

	#range() {
		const n = this.#sorted.length;

		if (n <= WINDOW_FROM || !this.#view)
			return [0, n];
		const top = this.#view.getBoundingClientRect().top - this.#body.getBoundingClientRect().top;
		const first = Math.max(0, Math.floor(top / this.rowHeight) - OVERSCAN);

		return [Math.min(first, n - 1), Math.min(n, first + Math.ceil(this.#view.clientHeight / this.rowHeight) + 2 * OVERSCAN)];
	}

	#window(force) {
		if (!this.isConnected || !this.#columns.length)
			return;
		const [first, end] = this.#range();

		if (!force && first === this.#first && end - first === this.#body.querySelectorAll("tr[data-at]").length)
			return;
		const focus = this.#focusPath();

		this.#first = first;
		this.#table.setAttribute("aria-rowcount", this.#sorted.length + 1);
		fill(this.#body, space(first * this.rowHeight), this.#sorted.slice(first, end).map((row, at) => this.#row(row, first + at)),
			space((this.#sorted.length - end) * this.rowHeight),
			this.#sorted.length || !this.empty ? null : h("tr.none", {}, h("td", {colspan: this.#columns.length + (this.selectable ? 1 : 0)}, this.empty)));
		this.#ticks();
		if (focus)
			this.#body.querySelector(`tr[data-at="${this.#at}"]`)?.querySelectorAll(FOCUSABLE)[focus.index]?.focus({preventScroll: true});
	}

	#row(row, at) {
		const key = this.key(row);
		const chosen = this.selection.has(key);
		const tr = h("tr", {"data-at": at, "aria-rowindex": at + 2},
			this.selectable ? h("td.tick", {}, h("input", {
				type: "checkbox", checked: chosen, "aria-label": this.selectLabel(row),
				onchange: event => this.#toggle(row, event.target.checked),
			})) : null,
			this.#columns.map(column => h(`td${kindOf(column)}`, {}, column.cell(row))));

		tr.className = this.rowClass(row);
		tr.classList.toggle("chosen", chosen);
		if (at !== this.#at)
			tr.querySelectorAll(FOCUSABLE).forEach(el => el.tabIndex = -1);
		return tr;
	}

	#ticks() {
		const all = this.#head.querySelector(".tick input");

		if (!all)
			return;
		all.checked = this.#rows.length > 0 && this.selection.size === this.#rows.length;
		all.indeterminate = this.selection.size > 0 && !all.checked;
		all.disabled = !this.#rows.length;
	}

	/* --- keyboard --- */

	#focusPath() {
		const tr = document.activeElement?.closest?.("tr[data-at]");

		if (!tr || !this.#body.contains(tr))
			return null;
		return {index: [...tr.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement)};
	}

	#target(at) {
		const tr = this.#body.querySelector(`tr[data-at="${at}"]`);

		return tr?.querySelector("td:not(.tick) a, td:not(.tick) button") ?? tr?.querySelector(FOCUSABLE);
	}

	#reveal() {
		const view = this.#view.getBoundingClientRect();
		const top = this.#body.getBoundingClientRect().top + this.#at * this.rowHeight;
		const head = this.#head.getBoundingClientRect().height;

		if (top < view.top + head)
			this.#view.scrollTop -= view.top + head - top;
		else if (top + this.rowHeight > view.bottom)
			this.#view.scrollTop += top + this.rowHeight - view.bottom;
	}

	handleEvent(event) {
		if (event.type === "focusin") {
			const at = Number(event.target.closest("tr[data-at]")?.dataset.at ?? -1);

			if (at >= 0 && at !== this.#at) {
				this.#body.querySelectorAll(`tr[data-at="${this.#at}"] :is(${FOCUSABLE})`).forEach(el => el.tabIndex = -1);
				this.#at = at;
				this.#body.querySelectorAll(`tr[data-at="${at}"] :is(${FOCUSABLE})`).forEach(el => el.tabIndex = 0);
			}
			return;
		}
		if (event.ctrlKey || event.altKey || event.metaKey || writing(event.target) || !this.#body.contains(event.target))
			return;
		const page = Math.max(1, Math.floor(this.#view.clientHeight / this.rowHeight) - 2);
		const moves = {j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};

		if (event.key in moves)
			this.focusRow(this.#at + moves[event.key]);
		else if (event.key === "x" && this.selectable)
			this.#toggle(this.#sorted[this.#at], !this.selection.has(this.key(this.#sorted[this.#at])));
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}
}

const FOCUSABLE = "a[href], button, input";

function kindOf(column) {
	return column.kind ? "." + column.kind : "";
}

function col(width) {
	const el = h("col", {});

	if (width)
		el.style.width = width;
	return el;
}

function space(height) {
	if (height <= 0)
		return null;
	const tr = h("tr.space", {"aria-hidden": "true"});

	tr.style.height = `${height}px`;
	return tr;
}

function sorted(rows, column, order) {
	const value = column.value ?? (row => row[column.key]);
	const sign = order === "desc" ? -1 : 1;

	return rows.map((row, at) => [value(row), at, row]).sort(([a, i], [b, j]) => {
		const less = typeof a === "string" && typeof b === "string" ? a.localeCompare(b, "en", {numeric: true}) : (a ?? -Infinity) - (b ?? -Infinity);

		return sign * less || i - j;
	}).map(([, , row]) => row);
}

customElements.define("hm-table", HmTable);
