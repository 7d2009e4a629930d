/**
 * <hm-rec-overview>: the whole recording in one strip: how dense it is, where errors, bookmarks and the crash are, what part the lanes show
 * (a window with handles to drag or to move by the arrow keys), where the cursor is.
 */
import {h, fill, framed} from "./dom.js";
import * as format from "./format.js";
import {themes} from "./theme.js";
import {colors, drawMark} from "./rec-lanes-paint.js";
import {beginFrame, onRedraw} from "./rec-canvas.js";

const STEP = 0.01;
const SHAPES_MAX = 16;		/* of one kind; more of them are ticks */
const MARK_PX = 12;
const RELOAD_MS = 2000;

class Overview extends HTMLElement {
	#draw = framed(() => this.#paint());
	#reload = 0;
	#sums = null;

	/** @param {{model: import("./rec-model.js").RecordingModel, tiles: import("./rec-tiles.js").TimelineTiles}} parts */
	connect({model, tiles}) {
		this.m = model;
		this.tiles = tiles;
		this.#build();
		tiles.addEventListener("change", () => {
			if (this.#sums?.of !== tiles.whole)
				this.#draw();
		});
		for (const name of ["window", "cursor", "bookmarks", "processes", "recording"])
			model.on(name, () => this.#draw());
		model.on("grow", () => {
			this.#draw();
			this.#reload ||= setTimeout(() => {
				this.#reload = 0;
				this.load();
			}, RELOAD_MS);
		});
		model.signal.addEventListener("abort", () => clearTimeout(this.#reload));
		onRedraw(this, themes, () => this.#draw(), model.signal);
		this.load();
	}

	async load() {
		const whole = await this.tiles.loadWhole();
		if (whole && whole.endNs > this.m.endNs) {
			this.m.endNs = whole.endNs;
			this.m.emit("window", {by: "load"});
		}
		this.#draw();
	}

	#build() {
		this.canvas = h("canvas", {role: "img", "aria-label": "Density of the whole recording"});
		this.area = h("div.rec-window");
		this.handles = ["from", "to"].map(side => this.#handle(side));
		this.hint = h("span.rec-strip-hint");
		fill(this, this.canvas, this.area, this.handles, this.hint);
		this.addEventListener("pointerdown", e => this.#down(e));
		this.addEventListener("wheel", e => this.#wheel(e), {passive: false});
		this.addEventListener("dblclick", () => this.m.showAll());
		this.addEventListener("pointermove", e => {
			const box = this.getBoundingClientRect();
			this.title = format.duration(Math.max(0, this.#time(e.clientX - box.left)));
		});
	}

	#handle(side) {
		const el = h(`div.rec-handle.rec-${side}`, {role: "slider", tabindex: "0", "aria-label": side === "from" ? "Window begins" : "Window ends", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": side === "from" ? "0" : "100"});
		el.addEventListener("keydown", e => {
			const step = {ArrowLeft: -STEP, ArrowRight: STEP, PageUp: 10 * STEP, PageDown: -10 * STEP}[e.key];
			if (step === undefined || e.ctrlKey || e.altKey)
				return;
			this.#moveSide(side, this.m.view[side] + step * this.m.endNs);
			e.preventDefault();
			e.stopPropagation();
		});
		return el;
	}

	#moveSide(side, ns) {
		const {from, to} = this.m.view;
		if (side === "from")
			this.m.setWindow(Math.min(Math.max(0, ns), to - 100), to);
		else
			this.m.setWindow(from, Math.max(Math.min(this.m.endNs, ns), from + 100));
	}

	get #end() {
		return Math.max(1, this.m.endNs);
	}

	#x(ns) {
		return ns / this.#end * this.clientWidth;
	}

	#time(x) {
		return x / Math.max(1, this.clientWidth) * this.#end;
	}

	#down(e) {
		if (e.button !== 0)
			return;
		const x0 = e.clientX - this.getBoundingClientRect().left;
		const side = this.handles[0].contains(e.target) ? "from" : this.handles[1].contains(e.target) ? "to" : null;
		const view = {...this.m.view};
		const inside = this.m.window && x0 >= this.#x(view.from) && x0 <= this.#x(view.to);
		let moved = false;
		const move = ev => {
			const x = ev.clientX - this.getBoundingClientRect().left;
			moved ||= Math.abs(x - x0) > 3;
			if (!moved)
				return;
			if (side)
				this.#moveSide(side, this.#time(x));
			else if (inside)
				this.m.setWindow(view.from + this.#time(x - x0), view.to + this.#time(x - x0));
			else
				this.m.setWindow(this.#time(Math.min(x, x0)), this.#time(Math.max(x, x0)));
		};
		this.setPointerCapture(e.pointerId);
		this.addEventListener("pointermove", move);
		this.addEventListener("lostpointercapture", () => {
			this.removeEventListener("pointermove", move);
			if (!moved && !side)
				this.m.moveToTime(this.#time(x0)).catch(error => this.m.trouble(error));
		}, {once: true});
		e.preventDefault();
	}

	#wheel(e) {
		const {from, to} = this.m.view;
		const factor = Math.exp(e.deltaY * 0.0022);
		const at = this.#time(e.clientX - this.getBoundingClientRect().left);
		e.preventDefault();
		if (e.shiftKey) {
			const by = (e.deltaX || e.deltaY) / this.clientWidth * (to - from);
			this.m.setWindow(from + by, to + by);
			return;
		}
		const center = Math.min(Math.max(at, from), to);
		this.m.setWindow(center - (center - from) * factor, center + (to - center) * factor);
	}

	#sum(whole) {
		if (this.#sums?.of !== whole) {
			const counts = new Float64Array(whole.buckets);
			const errors = new Uint32Array(whole.buckets);
			for (const lane of whole.lanes.values())
				for (let i = 0; i < whole.buckets; i++) {
					counts[i] += lane.counts[i];
					errors[i] += lane.errors[i];
				}
			this.#sums = {of: whole, counts, errors, peak: Math.max(1, counts.reduce((a, b) => Math.max(a, b), 0))};
		}
		return this.#sums;
	}

	#paint() {
		if (!this.isConnected || !this.m)
			return;
		const {ctx, width, height} = beginFrame(this.canvas);
		const c = colors();
		const {whole} = this.tiles;
		if (whole)
			this.#density(ctx, whole, width, height, c);
		this.#marks(ctx, [...this.m.bookmarkMarks, ...whole?.marks ?? []], width, c);
		const at = this.m.cursorNs;
		if (at !== null) {
			ctx.fillStyle = c.accent;
			ctx.fillRect(Math.round(this.#x(at)) - 1, 0, 2, height);
		}
		this.#window(width);
	}

	/** The important ones first, none over another; kinds with many are small ticks. */
	#marks(ctx, marks, width, c) {
		const taken = [];
		const counts = {};

		for (const {kind} of marks)
			counts[kind] = (counts[kind] ?? 0) + 1;
		ctx.fillStyle = c.muted;
		for (const kind of ["exec", "birth", "exit", "note", "signal"])
			for (const mark of counts[kind] > SHAPES_MAX ? marks : [])
				if (mark.kind === kind)
					ctx.fillRect(Math.round(this.#x(mark.ns)), 0, 1, 4);
		for (const kind of ["bookmark", "fatal", "exec", "signal", "note", "birth", "exit"])
			for (const mark of counts[kind] <= SHAPES_MAX || kind === "bookmark" || kind === "fatal" ? marks : []) {
				const x = Math.min(width - 8, Math.max(6, this.#x(mark.ns)));

				if (mark.kind !== kind || taken.some(other => Math.abs(other - x) < MARK_PX))
					continue;
				taken.push(x);
				drawMark(ctx, kind, x, 8);
			}
	}

	#density(ctx, whole, width, height, c) {
		const {counts, errors, peak} = this.#sum(whole);
		const tall = height - 14;
		const bucketPx = this.#x(whole.bucketNs);
		ctx.fillStyle = c.running;
		ctx.beginPath();
		ctx.moveTo(this.#x(whole.from), height);
		for (let i = 0; i < counts.length; i++)
			ctx.lineTo(this.#x(whole.from) + (i + 0.5) * bucketPx, height - (counts[i] ? 1 + tall * Math.sqrt(counts[i] / peak) : 0));
		ctx.lineTo(this.#x(whole.to), height);
		ctx.globalAlpha = 0.75;
		ctx.fill();
		ctx.globalAlpha = 1;
		ctx.fillStyle = c.error;
		const most = errors.reduce((a, b) => Math.max(a, b), 0);
		for (let i = 0; most && i < errors.length; i++)
			if (errors[i])
				ctx.fillRect(this.#x(whole.from) + i * bucketPx, height - Math.max(2, 8 * errors[i] / most), Math.max(1, bucketPx), Math.max(2, 8 * errors[i] / most));
	}

	#window(width) {
		const {from, to} = this.m.view;
		const all = !this.m.window;
		const x0 = Math.max(0, Math.min(width - 2, this.#x(from)));
		const x1 = Math.max(x0 + 2, Math.min(width, this.#x(to)));
		this.area.style.left = `${x0}px`;
		this.area.style.width = `${x1 - x0}px`;
		this.area.classList.toggle("rec-all", all);
		[x0, x1].forEach((x, i) => {
			this.handles[i].style.left = `${x}px`;
			this.handles[i].setAttribute("aria-valuenow", String(Math.round(x / Math.max(1, width) * 100)));
			this.handles[i].setAttribute("aria-valuetext", format.duration(Math.max(0, i ? to : from)));
		});
	}
}

customElements.define("hm-rec-overview", Overview);
