/* The state that the parts of a page share, with events. Nothing else is global.
 *
 *	store.set({cursor: 12034});
 *	const off = store.on(["cursor", "thread"], () => draw());	// called once per change, after all keys are set
 *
 * Keys of the recording page (all null or "" on other pages):
 *	recording	Recording or null		cursor		event number or null: the one cursor of strip, lanes, table, details, console
 *	filter		filter language, ""		window		{from, to} nanoseconds (numbers) of the timeline, null: all
 *	thread		thread number the lanes and the table show alone, or null
 *	matches		{total, complete} of the filter, null: none
 *	bookmarks	array of Bookmark
 */
const EMPTY = {recording: null, cursor: null, filter: "", window: null, thread: null, matches: null, bookmarks: []};

class Store extends EventTarget {
	#state = {...EMPTY};

	get(key) {
		return this.#state[key];
	}

	/** @param {object} patch keys and new values; equal values change nothing */
	set(patch) {
		const changed = Object.keys(patch).filter(key => !same(this.#state[key], patch[key]));

		if (!changed.length)
			return;
		for (const key of changed)
			this.#state[key] = patch[key];
		this.dispatchEvent(new CustomEvent("change", {detail: changed}));
	}

	/** @returns {() => void} stop listening */
	on(keys, fn) {
		const list = Array.isArray(keys) ? keys : [keys];
		const listen = event => {
			if (event.detail.some(key => list.includes(key)))
				fn(event.detail);
		};

		this.addEventListener("change", listen);
		return () => this.removeEventListener("change", listen);
	}

	/** Forget all: another recording is opened. */
	reset() {
		this.set(EMPTY);
	}
}

function same(a, b) {
	if (a === b)
		return true;
	return Boolean(a && b) && a.from !== undefined && a.from === b.from && a.to === b.to;
}

export const store = new Store();
