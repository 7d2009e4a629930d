/* How much room recordings take: a meter that is always there (no jump when the numbers come). */
import {get, live} from "./api.js";
import {fill, h, soon} from "./dom.js";
import * as format from "./format.js";

const SETTLE_MS = 1500;

class HmStorage extends HTMLElement {
	#bar = h("span.fill", {});
	#text = h("span.said", {}, "\u00a0");
	#off = null;
	#soon = soon(() => this.#load(), SETTLE_MS);

	connectedCallback() {
		fill(this, h("span.track", {}, this.#bar), this.#text);
		this.setAttribute("role", "meter");
		this.setAttribute("aria-label", "Storage");
		this.setAttribute("aria-valuemin", 0);
		this.setAttribute("aria-valuemax", 100);
		this.setAttribute("aria-valuenow", 0);
		this.#off = live({storage: () => this.#load(), recording: this.#soon, again: () => this.#load()});
		this.#load();
	}

	disconnectedCallback() {
		this.#off?.();
		this.#soon.cancel();
	}

	async #load() {
		try {
			this.#draw(await get("/storage"));
		} catch {
			/* the banner says it */
		}
	}

	#draw(storage) {
		const used = storage.bytes_recordings + (storage.bytes_blobs ?? 0);
		const limit = storage.max_size || used + storage.bytes_free;
		const low = storage.bytes_free < 2 * storage.floor;
		const part = limit ? Math.min(1, used / limit) : 0;
		const said = low ? `only ${format.bytes(storage.bytes_free)} free` : `${format.bytes(used)} of ${format.bytes(limit)}`;

		this.#bar.style.width = `${100 * part}%`;
		this.classList.toggle("low", low || part > 0.9);
		this.#text.textContent = said;
		this.setAttribute("aria-valuenow", Math.round(100 * part));
		this.setAttribute("aria-valuetext", said);
		this.title = [`${format.plural(storage.recordings, "recording")}: ${format.bytesExact(storage.bytes_recordings)}`,
			`shared files: ${format.bytesExact(storage.bytes_blobs)}`, `free on the disk: ${format.bytes(storage.bytes_free)}`,
			`new recordings are refused below ${format.bytes(storage.floor)}`,
			storage.max_size ? `the oldest are removed beyond ${format.bytes(storage.max_size)}` : "no limit of size", storage.data_dir].join("\n");
	}
}

customElements.define("hm-storage", HmStorage);
