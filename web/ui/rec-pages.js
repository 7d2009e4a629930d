/**
 * The rows of a list of events, fetched by pages as they come into sight. Keeps a bounded number of pages, fetches ahead in the direction
 * of scrolling and gives up requests for what has left the sight. Fires "change" when rows or the total change, "error" when a page failed.
 */
const PAGES_KEPT = 40;
const POLL_MS = 250;
const AGAIN_MS = 4000;		/* a page that failed is not asked for again sooner, unless somebody says so */

export class EventPages extends EventTarget {
	#fetch;
	#pages = new Map();
	#pending = new Map();
	#failed = new Map();
	#poll = 0;
	#wanted = [0, 0];
	#disposed = false;

	/**
	 * @param {(offset: number, signal: AbortSignal) => Promise<object>} fetch
	 * @param {{size: number, total: number}} options rows of a page; rows that are known to exist
	 */
	constructor(fetch, {size, total}) {
		super();
		this.#fetch = fetch;
		this.size = size;
		this.total = total;
		this.complete = false;
		this.answered = false;
		this.scanned = 0;
		this.last = total;
		this.terms = [];
		this.error = null;
	}

	dispose() {
		this.#disposed = true;
		clearTimeout(this.#poll);
		for (const abort of this.#pending.values())
			abort.abort();
	}

	/** @returns {object|undefined} the row with that index when it is here */
	row(index) {
		return this.#pages.get(Math.floor(index / this.size))?.items[index % this.size];
	}

	/** A loaded row by the number of its event. */
	byNumber(number) {
		const index = this.indexOf(number);
		return index === null ? null : this.row(index);
	}

	/** The index of an event among the loaded rows, else null. */
	indexOf(number) {
		for (const [page, {items}] of this.#pages) {
			if (!items.length || items[0].number > number || items[items.length - 1].number < number)
				continue;
			let lo = 0;
			let hi = items.length - 1;
			while (lo < hi) {
				const mid = (lo + hi) >> 1;
				if (items[mid].number < number)
					lo = mid + 1;
				else
					hi = mid;
			}
			if (items[lo].number === number)
				return page * this.size + lo;
		}
		return null;
	}

	/** Says which rows are in sight; direction: -1, 0 or 1. */
	want(first, last, direction) {
		const from = Math.max(0, Math.floor(first / this.size));
		const to = Math.max(from, Math.floor(last / this.size));
		this.#wanted = [from, to];
		const near = direction === 0 ? [] : [direction > 0 ? to + 1 : from - 1];
		const wanted = new Set(near);
		for (let page = from; page <= to; page++)
			wanted.add(page);
		for (const [page, abort] of this.#pending)
			if (!wanted.has(page)) {
				abort.abort();
				this.#pending.delete(page);
			}
		for (let page = from; page <= to; page++)
			this.#load(page);
		for (const page of near)
			if (page >= 0 && page * this.size < this.total)
				this.#load(page);
	}

	/** More events exist now: total without a filter, null with one (then ask again). */
	grow(total) {
		if (total !== null)
			this.total = Math.max(this.total, total);
		this.last = Math.max(this.last, total ?? 0);
		for (const [page, entry] of this.#pages)
			if (entry.items.length < this.size && (total === null || entry.items.length + page * this.size < total))
				entry.stale = true;
		this.#emit("change");
		this.#load(this.#wanted[1]);
	}

	retry() {
		this.error = null;
		this.#failed.clear();
		this.want(this.#wanted[0] * this.size, this.#wanted[1] * this.size, 0);
	}

	async #load(page, again = false) {
		const known = this.#pages.get(page);
		if (this.#disposed || this.#pending.has(page) || (known && !known.stale && !again) || this.#rests(page))
			return;
		const abort = new AbortController();
		this.#pending.set(page, abort);
		try {
			const answer = await this.#fetch(page * this.size, abort.signal);
			if (this.#pending.get(page) === abort)
				this.#take(page, answer);
		} catch (error) {
			if (error?.name !== "AbortError" && !this.#disposed) {
				this.error = error;
				this.#failed.set(page, performance.now());
				this.#emit("error");
			}
		} finally {
			if (this.#pending.get(page) === abort)
				this.#pending.delete(page);
		}
	}

	/** A filter with a mistake gets no better by asking again. */
	#rests(page) {
		return this.error?.code === "bad-filter" || performance.now() - (this.#failed.get(page) ?? -Infinity) < AGAIN_MS;
	}

	#take(page, answer) {
		this.#failed.delete(page);
		this.#pages.delete(page);
		this.#pages.set(page, {items: answer.items, stale: answer.items.length < this.size && !answer.complete});
		if (this.#pages.size > PAGES_KEPT)
			this.#pages.delete(this.#pages.keys().next().value);
		this.total = Math.max(answer.total, page * this.size + answer.items.length);
		this.complete = answer.complete;
		this.scanned = answer.scanned;
		this.last = answer.last;
		this.terms = answer.filter ?? [];
		this.answered = true;
		this.error = null;
		this.#emit("change");
		clearTimeout(this.#poll);
		if (!answer.complete)
			this.#poll = setTimeout(() => this.#load(this.#wanted[1], true), POLL_MS);
	}

	#emit(name) {
		if (!this.#disposed)
			this.dispatchEvent(new Event(name));
	}
}
