/**
 * The timeline at any zoom, as tiles: a tile of level k covers TILE buckets of 2^k ns, so that zooming and panning find again what has been
 * fetched. What is not here yet is drawn from a coarser tile meanwhile.
 */
export const TILE = 1024;
const TILES_KEPT = 48;
const AGAIN_MS = 4000;		/* a tile that failed is not asked for again sooner */
const MORE_MS = 1000;		/* ... and one that was not complete, because the recording is still being read */
const MARKS_MAX = 500;		/* of the server; important kinds come first */

export class TimelineTiles extends EventTarget {
	#fetch;
	#tiles = new Map();
	#pending = new Map();
	#wanted = new Set();
	#failed = new Map();

	/** @param {(params: object, signal: AbortSignal) => Promise<object>} fetch */
	constructor(fetch) {
		super();
		this.#fetch = fetch;
		this.whole = null;
		this.error = null;
		this.more = 0;
	}

	dispose() {
		for (const abort of this.#pending.values())
			abort.abort();
		clearTimeout(this.more);
		this.#pending.clear();
		this.#tiles.clear();
	}

	/** The whole recording in one answer: for the strip, and below all tiles. */
	async loadWhole(buckets = 1500) {
		const abort = new AbortController();
		this.#pending.get("whole")?.abort();
		this.#pending.set("whole", abort);
		try {
			this.whole = this.#prepare(await this.#fetch({buckets}, abort.signal));
			if (!this.whole.complete)
				this.#askAgain(() => this.loadWhole(buckets));
			this.error = null;
			this.dispatchEvent(new Event("change"));
		} catch (error) {
			if (error?.name !== "AbortError") {
				this.error = error;
				this.dispatchEvent(new Event("error"));
			}
		}
		return this.whole;
	}

	#askAgain(fn) {
		clearTimeout(this.more);
		this.more = setTimeout(fn, MORE_MS);
	}

	static level(nsPerPixel) {
		return Math.max(0, Math.ceil(Math.log2(Math.max(1, nsPerPixel))));
	}

	/**
	 * What to draw for a window: answers that cover it, coarse below fine. Begins to fetch what is missing and what is beside it.
	 * @returns {object[]}
	 */
	cover(from, to, nsPerPixel, endNs) {
		const level = TimelineTiles.level(nsPerPixel);
		const span = TILE * 2 ** level;
		const first = Math.max(0, Math.floor(from / span));
		const last = Math.max(first, Math.floor(Math.min(to, endNs) / span));
		const out = [];
		this.#wanted = new Set();
		for (let i = first; i <= last; i++) {
			const tile = this.#tiles.get(`${level}/${i}`) ?? null;
			if (tile)
				out.push(tile);
			else
				out.push(...this.#coarser(level, i, span));
			this.#want(level, i);
		}
		for (const i of [last + 1, first - 1])
			if (i >= 0 && i * span < endNs)
				this.#want(level, i);
		this.#forgetPending();
		return out;
	}

	/** Live recordings: tiles that reach the old end are fetched anew. */
	grow(oldEnd) {
		for (const tile of this.#tiles.values())
			if (tile.to >= oldEnd || !tile.complete)
				tile.stale = true;
	}

	#coarser(level, index, span) {
		for (let up = 1; up <= 8; up++) {
			const tile = this.#tiles.get(`${level + up}/${Math.floor(index / 2 ** up)}`);
			if (tile)
				return [clip(tile, index * span, (index + 1) * span)];
		}
		return this.whole ? [clip(this.whole, index * span, (index + 1) * span)] : [];
	}

	#want(level, index) {
		const key = `${level}/${index}`;
		this.#wanted.add(key);
		const tile = this.#tiles.get(key);
		if (this.#pending.has(key) || (tile && !tile.stale && (tile.complete || performance.now() - tile.since < MORE_MS)) || performance.now() - (this.#failed.get(key) ?? -Infinity) < AGAIN_MS)
			return;
		const abort = new AbortController();
		this.#pending.set(key, abort);
		this.#load(key, level, index, abort);
	}

	async #load(key, level, index, abort) {
		const span = TILE * 2 ** level;
		try {
			const answer = await this.#fetch({from_ns: index * span, to_ns: (index + 1) * span, buckets: TILE}, abort.signal);
			this.#tiles.delete(key);
			this.#tiles.set(key, this.#prepare(answer));
			if (this.#tiles.size > TILES_KEPT)
				this.#tiles.delete(this.#tiles.keys().next().value);
			this.error = null;
			this.dispatchEvent(new Event("change"));
		} catch (error) {
			if (error?.name !== "AbortError") {
				this.error = error;
				this.#failed.set(key, performance.now());
				this.dispatchEvent(new Event("error"));
			}
		} finally {
			if (this.#pending.get(key) === abort)
				this.#pending.delete(key);
		}
	}

	#forgetPending() {
		for (const [key, abort] of this.#pending)
			if (key !== "whole" && !this.#wanted.has(key)) {
				abort.abort();
				this.#pending.delete(key);
			}
	}

	#prepare(answer) {
		const lanes = new Map();
		for (const lane of answer.lanes)
			lanes.set(lane.thread, {...lane, counts: Uint32Array.from(lane.counts), errors: Uint32Array.from(lane.errors), blocked: Uint8Array.from(lane.blocked)});
		const from = Number(answer.from_ns);
		const to = Number(answer.to_ns);
		return {from, to, bucketNs: (to - from) / answer.buckets, buckets: answer.buckets, endNs: Number(answer.end_ns), last: answer.last, complete: answer.complete,
			lanes, marks: wholeKinds(answer.marks).map(m => ({...m, ns: Number(m.time_ns)})), events: answer.events, bitmaps: new Map(), stale: false, part: null, since: performance.now()};
	}
}

/** When not all marks have come, those of the last kind are only the earliest of it: none says less that is wrong. */
function wholeKinds(marks) {
	const cut = marks.length >= MARKS_MAX ? marks[marks.length - 1].kind : null;
	return marks.filter(m => m.kind !== cut);
}

/** A view of a tile that shows only a part of it. */
function clip(tile, from, to) {
	return {...tile, part: {from, to}, of: tile};
}
