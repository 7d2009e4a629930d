/**
 * Scrolling over more rows than an element can be high. Up to MAX_PX the scrollbar is the truth; beyond, the place in the scrollbar is a
 * fraction, and the wheel moves by rows.
 */
const MAX_PX = 10_000_000;

export class ScrollMap {
	#scroller;
	#spacer;
	#virtual = 0;
	#expected = 0;
	#rowHeight = 24;
	rows = 0;

	constructor(scroller, spacer) {
		this.#scroller = scroller;
		this.#spacer = spacer;
		scroller.addEventListener("wheel", e => this.#wheel(e), {passive: false});
	}

	get viewHeight() {
		return this.#scroller.clientHeight;
	}

	get #total() {
		return this.rows * this.#rowHeight;
	}

	get mapped() {
		return this.#total > MAX_PX;
	}

	get #virtualMax() {
		return Math.max(0, this.#total - this.viewHeight);
	}

	get #realMax() {
		return Math.max(1, Math.min(MAX_PX, this.#total) - this.viewHeight);
	}

	resize(rows, rowHeight) {
		this.rows = rows;
		this.#rowHeight = rowHeight;
		const height = `${Math.max(Math.min(MAX_PX, this.#total), 0)}px`;
		if (this.#spacer.style.height !== height)
			this.#spacer.style.height = height;
		if (this.#virtual > this.#virtualMax)
			this.set(this.#virtualMax);
		else if (this.mapped)
			this.#sync();
	}

	/** Pixels above the first visible one, of all the rows. */
	get top() {
		const real = this.#scroller.scrollTop;
		if (!this.mapped)
			this.#virtual = real;
		else if (Math.abs(real - this.#expected) > 1) {
			this.#expected = real;
			this.#virtual = real / this.#realMax * this.#virtualMax;
		}
		return this.#virtual;
	}

	set(px) {
		this.#virtual = Math.min(Math.max(0, px), this.#virtualMax);
		this.#sync();
	}

	#sync() {
		const real = this.mapped ? this.#virtual / Math.max(1, this.#virtualMax) * this.#realMax : this.#virtual;
		this.#scroller.scrollTop = real;
		this.#expected = this.#scroller.scrollTop;
	}

	#wheel(e) {
		if (!this.mapped || e.ctrlKey || e.shiftKey || !e.deltaY)
			return;
		const unit = e.deltaMode === 1 ? this.#rowHeight : e.deltaMode === 2 ? this.viewHeight : 1;
		e.preventDefault();
		const before = this.top;
		this.set(before + e.deltaY * unit);
		this.#scroller.dispatchEvent(new Event("scroll"));
	}
}
