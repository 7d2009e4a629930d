/**
 * <hm-rec-console>: what the program wrote, stdout and stderr as they came; each chunk is a link to its moment, the one nearest before the
 * cursor is marked. A stretch of chunks is kept; more are fetched at its ends, and what is far away is let go.
 */
import {h, fill, text, remember} from "./dom.js";
import * as format from "./format.js";
import {href} from "./router.js";
import {errorNotice} from "./notices.js";
import {ansiNodes} from "./rec-ansi.js";

const PAGE = 200;
const KEPT = 600;
const CHUNK_MAX = 8192;
const BACK = [64, 1024, 16384, 262144, Infinity];

class Console extends HTMLElement {
	#chunks = [];
	#more = true;
	#busy = false;
	#atStart = false;
	#current = null;
	#stream = remember.get("console-stream", "");
	#serial = 0;

	/** @param {import("./rec-model.js").RecordingModel} model */
	set model(model) {
		this.m = model;
		this.#build();
		model.on("cursor", ({by}) => this.#follow(by));
		model.on("output", () => this.#tail());
		model.on("recording", () => this.#tail());
		this.#restart(model.event ?? 0);
	}

	#build() {
		this.pre = h("div.rec-console-text.mono", {role: "group", "aria-label": "Output"});
		this.scroller = h("div.rec-console-scroll", {tabindex: "-1"}, this.pre);
		this.status = h("span.muted");
		this.streams = h("span", {role: "group", "aria-label": "Streams"}, [["", "Both"], ["stdout", "stdout"], ["stderr", "stderr"]].map(([value, label]) => h("button.quiet.rec-small", {type: "button", "data-value": value, "aria-pressed": String(value === this.#stream), onclick: () => this.#choose(value)}, label)));
		this.tools = h("div.rec-console-tools", null, this.status, this.streams);
		fill(this, this.scroller);
		this.scroller.addEventListener("scroll", () => this.#edges(), {passive: true});
		this.pre.addEventListener("click", e => this.#click(e));
		this.pre.addEventListener("keydown", e => this.#key(e));
		this.pre.addEventListener("dragstart", e => e.preventDefault());
	}

	#choose(value) {
		this.#stream = value;
		remember.set("console-stream", value);
		[...this.streams.children].forEach(b => b.setAttribute("aria-pressed", String(b.dataset.value === value)));
		this.#restart(this.m.event ?? 0);
	}

	#fetch(after) {
		return this.m.get("/console", {after: after || null, limit: PAGE, stream: this.#stream || null});
	}

	/** Begins anew around an event. */
	async #restart(event) {
		const serial = ++this.#serial;
		this.#busy = true;
		try {
			const {items, more, start} = await this.#around(event);
			if (serial !== this.#serial)
				return;
			this.#chunks = items;
			this.#more = more;
			this.#atStart = start;
			this.#render();
			this.#mark(true);
		} catch (error) {
			if (error.name !== "AbortError")
				fill(this.pre, errorNotice(error, () => this.#restart(event)));
		} finally {
			this.#busy = false;
		}
	}

	async #around(event) {
		for (const back of BACK) {
			const after = Math.max(0, event - 1 - back);
			const answer = await this.#fetch(after);
			const start = after === 0;
			if (start || (answer.items.length && answer.items[0].event <= event))
				return {items: answer.items, more: answer.next_after !== null || !answer.complete, start};
		}
		return {items: [], more: false, start: true};
	}

	#style = {};

	#node(chunk) {
		const shown = chunk.text.length > CHUNK_MAX ? chunk.text.slice(0, CHUNK_MAX) : chunk.text;
		const style = this.#style[chunk.stream] ??= {};
		return h(`a.rec-chunk.rec-${chunk.stream}`, {href: href(`r/${encodeURIComponent(this.m.id)}`, {at: chunk.event, q: this.m.query}), tabindex: "-1", draggable: "false", "data-event": chunk.event,
			title: `${format.event(chunk.event)}, ${format.clock(chunk.time_ns)} s, ${this.m.threadName(chunk.thread)}, ${chunk.stream}`},
		ansiNodes(shown, style), shown.length < chunk.text.length ? h("span.muted", null, ` ... ${format.bytes(chunk.bytes)} in all\n`) : null);
	}

	#render() {
		this.#style = {};
		if (this.#chunks.length)
			fill(this.pre, this.#chunks.map(c => this.#node(c)));
		else
			fill(this.pre, h("p.rec-empty-view.muted", null, this.m.recording?.live ? "Nothing written yet." : "The program wrote nothing to stdout or stderr."));
		const first = this.pre.querySelector(".rec-chunk");
		if (first)
			first.tabIndex = 0;
		this.#say();
	}

	#say() {
		text(this.status, this.#chunks.length ? `${format.event(this.#chunks[0].event)} to ${format.event(this.#chunks[this.#chunks.length - 1].event)}` : "");
	}

	async #edges() {
		const {scrollTop, clientHeight, scrollHeight} = this.scroller;
		if (this.#busy || !this.#chunks.length)
			return;
		if (scrollTop + clientHeight > scrollHeight - 400 && this.#more)
			await this.#later();
		else if (scrollTop < 200 && !this.#atStart)
			await this.#earlier();
	}

	async #later() {
		const serial = this.#serial;
		this.#busy = true;
		try {
			const answer = await this.#fetch(this.#chunks.length ? this.#chunks[this.#chunks.length - 1].event : 0);
			if (serial !== this.#serial)
				return;
			const known = new Set(this.#chunks.slice(-PAGE).map(c => c.event));
			const fresh = answer.items.filter(c => !known.has(c.event) || c.event > (this.#chunks[this.#chunks.length - 1]?.event ?? 0));
			if (!this.#chunks.length && fresh.length)
				fill(this.pre);
			this.#more = answer.next_after !== null && answer.items.length > 0;
			this.#chunks.push(...fresh);
			this.pre.append(...fresh.map(c => this.#node(c)));
			this.#trimStart();
			this.#say();
		} catch (error) {
			this.m.trouble(error);
		} finally {
			this.#busy = false;
		}
	}

	async #earlier() {
		const serial = this.#serial;
		const first = this.#chunks[0].event;
		this.#busy = true;
		try {
			let items = [];
			let after = first;
			for (const back of BACK) {
				after = Math.max(0, first - 1 - back);
				items = (await this.#fetch(after)).items;
				if (after === 0 || items.some(c => c.event < first))
					break;
			}
			const known = items.findIndex(c => c.event >= first);
			const fresh = known < 0 ? items : items.slice(0, known);
			if (serial !== this.#serial)
				return;
			if (known < 0) {
				this.#busy = false;
				await this.#restart(first - 1);
				return;
			}
			this.#atStart = after === 0;
			const height = this.scroller.scrollHeight;
			this.#chunks.unshift(...fresh);
			this.pre.prepend(...fresh.map(c => this.#node(c)));
			this.scroller.scrollTop += this.scroller.scrollHeight - height;
			while (this.#chunks.length > KEPT) {
				this.#chunks.pop();
				this.pre.lastChild.remove();
				this.#more = true;
			}
			this.#say();
		} catch (error) {
			this.m.trouble(error);
		} finally {
			this.#busy = false;
		}
	}

	#trimStart() {
		const over = this.#chunks.length - KEPT;
		if (over <= 0)
			return;
		const height = this.scroller.scrollHeight;
		const top = this.scroller.scrollTop;
		this.#chunks.splice(0, over);
		for (let i = 0; i < over; i++)
			this.pre.firstChild.remove();
		this.scroller.scrollTop = top - (height - this.scroller.scrollHeight);
		this.#atStart = false;
	}

	/** New output of a live recording: shown at once when the end is in sight. */
	async #tail() {
		if (this.#busy)
			return;
		const {scrollTop, clientHeight, scrollHeight} = this.scroller;
		const atEnd = scrollTop + clientHeight >= scrollHeight - 8;
		if (this.#chunks.length && !atEnd && !this.m.follow) {
			this.#more = true;
			return;
		}
		await this.#later();
		this.scroller.scrollTop = this.scroller.scrollHeight;
	}

	#follow(by) {
		if (!this.m.event || by === "time")
			return;
		const first = this.#chunks[0]?.event;
		const last = this.#chunks[this.#chunks.length - 1]?.event;
		if (this.#chunks.length && ((this.m.event < first && !this.#atStart) || (this.m.event > last && this.#more))) {
			clearTimeout(this.restartTimer);
			this.restartTimer = setTimeout(() => !this.m.signal.aborted && this.#restart(this.m.event), 150);
			return;
		}
		this.#mark(by !== "follow");
	}

	/** Marks the last chunk at or before the cursor. */
	#mark(scroll) {
		let lo = 0;
		let hi = this.#chunks.length;
		while (lo < hi) {
			const mid = (lo + hi) >> 1;
			if (this.#chunks[mid].event <= (this.m.event ?? 0))
				lo = mid + 1;
			else
				hi = mid;
		}
		const el = lo > 0 ? this.pre.children[lo - 1] : null;
		this.#current?.removeAttribute("aria-current");
		this.#current = el;
		if (!el)
			return;
		el.setAttribute("aria-current", "true");
		for (const other of this.pre.querySelectorAll("[tabindex='0']"))
			other.tabIndex = -1;
		el.tabIndex = 0;
		if (!scroll || this.scroller.contains(document.activeElement))
			return;
		const top = el.offsetTop - this.pre.offsetTop;
		const {scrollTop, clientHeight} = this.scroller;
		if (top < scrollTop || top + el.offsetHeight > scrollTop + clientHeight)
			this.scroller.scrollTop = top - clientHeight / 2;
	}

	#click(e) {
		const el = e.target.closest(".rec-chunk");
		if (!el || e.ctrlKey || e.metaKey || e.shiftKey)
			return;
		e.preventDefault();
		if (getSelection().isCollapsed)
			this.m.moveTo(Number(el.dataset.event));
	}

	#key(e) {
		const el = e.target.closest(".rec-chunk");
		if (!el || e.ctrlKey || e.altKey || e.metaKey)
			return;
		const to = {ArrowDown: el.nextElementSibling, ArrowUp: el.previousElementSibling, Home: this.pre.firstElementChild, End: this.pre.lastElementChild}[e.key];
		if (to) {
			el.tabIndex = -1;
			to.tabIndex = 0;
			to.focus();
		} else if (e.key === "Enter")
			this.m.moveTo(Number(el.dataset.event));
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	}
}

customElements.define("hm-rec-console", Console);
