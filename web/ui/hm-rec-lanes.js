/**
 * <hm-rec-lanes>: time from left to right, a lane per thread (or folded process). The names are elements, the lanes one canvas; the slider
 * over the canvas is the cursor for the keyboard and for screen readers. Moving and zooming only changes the window of the model.
 */
import {h, fill, framed, text, rem, remember} from "./dom.js";
import * as format from "./format.js";
import {themes} from "./theme.js";
import {TimelineTiles} from "./rec-tiles.js";
import {laneRows, laneLabel} from "./rec-lanes-rows.js";
import {LANE_PX, RULER_PX, LanePainter, forgetPalette, laneSum, scaleLanes} from "./rec-lanes-paint.js";
import {drawBackground, drawMarks, drawOverlay} from "./rec-lanes-scene.js";
import {beginFrame, onRedraw} from "./rec-canvas.js";
import {LaneMouse} from "./rec-lanes-mouse.js";

const ZOOM_KEY = 1.6;
const PAN_KEY = 0.15;
const FIT_NS = 200000;

class Lanes extends HTMLElement {
	#painter = new LanePainter();
	#rows = [];
	#rowOf = new Map();
	#folded = new Set();
	#labels = [];
	#top = 0;
	#font = null;
	#draw = framed(() => this.#paint());

	/** @param {import("./rec-model.js").RecordingModel} model */
	set model(model) {
		this.m = model;
		this.tiles = new TimelineTiles((params, signal) => model.get("/timeline", params, signal));
		this.#folded = new Set(remember.get(`folded.${model.id}`, []));
		this.#build();
		const {signal} = model;
		this.tiles.addEventListener("change", () => this.redraw());
		this.tiles.addEventListener("error", () => this.redraw());
		model.on("processes", () => this.#layout());
		model.on("window", () => this.redraw());
		model.on("selection", () => this.redraw());
		model.on("cursor", ({by}) => this.#cursorMoved(by));
		model.on("detail", () => this.#say());
		model.on("bookmarks", () => this.redraw());
		model.on("grow", () => {
			this.tiles.grow(this.grownTo ?? 0);
			this.grownTo = model.endNs;
			this.redraw();
		});
		themes.addEventListener("theme", forgetPalette, {signal});
		onRedraw(this.canvas, themes, () => this.redraw(), signal);
		signal.addEventListener("abort", () => this.tiles.dispose());
		this.#layout();
	}

	#build() {
		this.canvas = h("canvas", {role: "img", "aria-label": "Threads over time"});
		this.slider = h("div.rec-lanes-cursor", {tabindex: "0", role: "slider", "aria-label": "Cursor in the lanes", "aria-valuemin": "1", "aria-valuemax": "1", "aria-valuenow": "1", "aria-orientation": "horizontal",
			title: "Drag: move. Wheel, W S: zoom. Shift+drag: select. Click: go there."});
		this.gutter = h("div.rec-gutter");
		this.names = h("div.rec-names", {role: "group", "aria-label": "Processes and threads"});
		this.readout = h("span.rec-readout");
		this.live = h("span.sr-only", {"aria-live": "polite"});
		this.range = h("span.rec-range");
		this.actions = h("span.rec-lane-actions");
		fill(this, h("div.rec-lane-head", null, this.range, this.readout, this.live, this.actions),
			h("div.rec-lane-body", null, fill(this.gutter, this.names), h("div.rec-canvas-box", null, this.canvas, this.slider)));
		this.gutter.addEventListener("wheel", e => {
			this.scrollLanes(e.deltaY);
			e.preventDefault();
		}, {passive: false});
		this.slider.addEventListener("keydown", e => this.#key(e));
		this.mouse = new LaneMouse(this, this.slider);
		this.#showActions();
	}

	redraw() {
		this.#draw();
	}

	get rows() {
		return this.#rows;
	}

	get top() {
		return this.#top;
	}

	get width() {
		return Math.max(1, this.canvas.clientWidth);
	}

	get nsPerPx() {
		const {from, to} = this.m.view;
		return (to - from) / this.width;
	}

	timeAt(x) {
		return this.m.view.from + x * this.nsPerPx;
	}

	xOf(ns) {
		return (ns - this.m.view.from) / this.nsPerPx;
	}

	/** The index of the row that shows a thread. */
	rowOfThread(thread) {
		return this.#rowOf.get(thread);
	}

	get fontFamily() {
		return this.#font ??= getComputedStyle(this).fontFamily;
	}

	rowAt(y) {
		return this.#rows[Math.floor((y - RULER_PX + this.#top) / LANE_PX)] ?? null;
	}

	#layout() {
		this.#rows = laneRows(this.m, this.#folded);
		this.#rowOf = new Map();
		this.#rows.forEach((row, i) => row.threads.forEach(t => this.#rowOf.set(t, i)));
		this.scrollLanes(0);
		this.redraw();
	}

	fold(process) {
		if (!this.#folded.delete(process.thread))
			this.#folded.add(process.thread);
		remember.set(`folded.${this.m.id}`, [...this.#folded]);
		this.#layout();
	}

	scrollLanes(by) {
		const room = this.canvas.clientHeight - RULER_PX;
		this.#top = Math.max(0, Math.min(this.#top + by, this.#rows.length * LANE_PX - room));
		this.redraw();
	}

	/** @param {number} factor below 1: closer @param {number} x the pixel that stays */
	zoom(factor, x = this.#anchor()) {
		const {from, to} = this.m.view;
		const at = from + (to - from) * x / this.width;
		this.m.setWindow(at - (at - from) * factor, at + (to - at) * factor);
	}

	pan(fraction) {
		const {from, to} = this.m.view;
		const by = (to - from) * fraction;
		this.m.setWindow(from + by, to + by);
	}

	#anchor() {
		if (this.mouse.x !== null)
			return this.mouse.x;
		const at = this.m.cursorNs;
		const x = at === null ? -1 : this.xOf(at);
		return x >= 0 && x <= this.width ? x : this.width / 2;
	}

	/** The selection, else the surroundings of the cursor. */
	fit() {
		const {selection} = this.m;
		if (selection) {
			const margin = (selection.to - selection.from) * 0.05;
			this.m.setWindow(selection.from - margin, selection.to + margin);
			return;
		}
		const at = this.m.cursorNs;
		if (at !== null)
			this.m.setWindow(at - FIT_NS / 2, at + FIT_NS / 2);
	}

	start() {
		const {from, to} = this.m.view;
		this.m.setWindow(0, to - from);
	}

	end() {
		const {from, to} = this.m.view;
		this.m.setWindow(this.m.endNs - (to - from), this.m.endNs);
	}

	#cursorMoved(by) {
		const at = this.m.cursorNs;
		if (at !== null) {
			const {from, to} = this.m.view;
			if (this.m.window && (at < from || at > to) && by !== "pan")
				this.m.setWindow(at - (to - from) / 2, at + (to - from) / 2, {by: "follow"});
			const row = this.#rowOf.get(this.m.row?.thread);
			const room = this.canvas.clientHeight - RULER_PX;
			if (row !== undefined && (row * LANE_PX < this.#top || (row + 1) * LANE_PX > this.#top + room))
				this.scrollLanes(row * LANE_PX - room / 2 - this.#top);
		}
		this.#say();
		this.redraw();
	}

	#say() {
		const {row, event, last} = this.m;
		this.slider.setAttribute("aria-valuemax", String(Math.max(1, last)));
		this.slider.setAttribute("aria-valuenow", String(event ?? 1));
		const said = row ? `${format.event(event)}, ${this.m.threadName(row.thread)}, ${format.duration(row.time_ns)}, ${row.name} ${row.result}` : event ? format.event(event) : "no event";
		this.slider.setAttribute("aria-valuetext", said);
		if (document.activeElement === this.slider)
			text(this.live, said);
	}

	#key(e) {
		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		const lane = by => {
			const at = this.#rowOf.get(this.m.row?.thread) ?? -1;
			for (let i = at + by; i >= 0 && i < this.#rows.length; i += by)
				if (this.#rows[i].threads.length) {
					this.m.moveToTime(this.m.cursorNs ?? 0, this.#rows[i].threads[0]).catch(error => this.m.trouble(error));
					return;
				}
		};
		const actions = {ArrowRight: () => this.m.alongThread("next"), ArrowLeft: () => this.m.alongThread("previous"), ArrowDown: () => lane(1), ArrowUp: () => lane(-1),
			Home: () => this.start(), End: () => this.end(), PageUp: () => this.pan(-0.8), PageDown: () => this.pan(0.8)};
		if (!actions[e.key])
			return;
		Promise.resolve(actions[e.key]()).catch(error => this.m.trouble(error));
		e.preventDefault();
		e.stopPropagation();
	}

	/** Keys that work anywhere on the page. */
	get keyMap() {
		return [
			{key: "w", also: ["+", "="], does: "Zoom in", run: () => this.zoom(1 / ZOOM_KEY)},
			{key: "s", also: ["-"], does: "Zoom out", run: () => this.zoom(ZOOM_KEY)},
			{key: "a", does: "Earlier", run: () => this.pan(-PAN_KEY)},
			{key: "d", does: "Later", run: () => this.pan(PAN_KEY)},
			{key: "f", does: "Fit the selection, or the cursor", run: () => this.fit()},
			{key: "0", does: "All of the recording", run: () => this.m.showAll()},
		];
	}

	#paint() {
		if (!this.isConnected || !this.m)
			return;
		const {ctx, width, height} = beginFrame(this.canvas);
		if (scaleLanes(rem(1)))
			this.scrollLanes(0);
		const view = {x: ns => this.xOf(ns), top: this.#top - RULER_PX};
		const {from, to} = this.m.view;
		const first = Math.max(0, Math.floor(this.#top / LANE_PX));
		const last = Math.min(this.#rows.length - 1, Math.ceil((this.#top + height) / LANE_PX));
		this.#painter.prepare(this.#rows, this.tiles.whole);
		const cover = this.m.endNs > 0 ? this.tiles.cover(from, to, this.nsPerPx, this.m.endNs) : [];
		this.cover = cover;
		drawBackground(this, ctx, width, height, [first, last]);
		ctx.save();
		ctx.beginPath();
		ctx.rect(0, RULER_PX, width, height);
		ctx.clip();
		for (const tile of cover)
			if (!tile.events || !this.#painter.singles(ctx, tile, view, t => this.#rowOf.get(t), [-2, width + 2]))
				this.#painter.density(ctx, tile, view, first, last);
		drawMarks(this, ctx, width);
		ctx.restore();
		drawOverlay(this, ctx, width, height);
		this.#drawNames(first, last, height);
		this.#head(from, to);
	}

	#drawNames(first, last, height) {
		while (this.#labels.length < Math.min(this.#rows.length, Math.ceil(height / LANE_PX) + 2))
			this.#labels.push(this.#label());
		this.#labels.forEach((el, k) => {
			const index = first + k;
			const row = index <= last ? this.#rows[index] : null;
			el.root.hidden = !row;
			if (!row)
				return;
			el.root.style.transform = `translateY(${RULER_PX + index * LANE_PX - this.#top}px)`;
			el.root.classList.toggle("rec-current", row.threads.includes(this.m.row?.thread));
			if (el.row === row)
				return;
			el.row = row;
			const {name, number, title} = laneLabel(row);
			el.root.style.paddingLeft = `${row.depth * 0.75}rem`;
			el.root.classList.toggle("rec-process", row.kind === "process");
			el.fold.hidden = row.kind === "thread" || row.single;
			el.fold.setAttribute("aria-expanded", String(!row.folded));
			el.fold.setAttribute("aria-label", `${row.folded ? "Unfold" : "Fold"} ${name} ${number}`);
			text(el.fold, row.folded ? "\u25b8" : "\u25be");
			text(el.name, name);
			text(el.number, number);
			el.button.title = title;
		});
	}

	#label() {
		const el = {row: null, name: h("span.rec-lane-name"), number: h("span.rec-lane-number")};
		el.fold = h("button.rec-fold", {type: "button", onclick: () => this.fold(el.row.process)});
		el.button = h("button.rec-lane-button", {type: "button", onclick: () => this.#pick(el.row)}, el.name, el.number);
		el.root = h("div.rec-lane-label", null, el.fold, el.button);
		this.names.append(el.root);
		return el;
	}

	/** The name of a lane: its first event in the window. */
	#pick(row) {
		const thread = row.thread?.number ?? row.process.thread;
		this.m.moveToTime(Math.max(0, this.m.view.from), thread).catch(error => this.m.trouble(error));
	}

	#head(from, to) {
		const {selection, window} = this.m;
		const [a, b] = selection ? [selection.from, selection.to] : [Math.max(0, from), to];
		text(this.range, this.tiles.error ? `The timeline could not be loaded: ${this.tiles.error.message}`
			: !selection && !window ? !this.#rows.length ? "Loading the timeline..." : `all of ${format.duration(this.m.endNs)}` : `${selection ? "selected " : ""}${format.duration(b - a)} from ${format.duration(Math.max(0, a))}`);
		this.actions.querySelectorAll("[data-needs=selection]").forEach(el => {
			el.disabled = !selection;
		});
		this.actions.querySelectorAll("[data-needs=window]").forEach(el => {
			el.disabled = !window;
		});
	}

	#showActions() {
		const time = ns => `${(Math.max(0, ns) / 1e3).toFixed(3)}us`;
		const button = (label, title, needs, run) => h("button.quiet.rec-small", {type: "button", title, "data-needs": needs, onclick: run}, label);
		fill(this.actions,
			button("Filter to this time", "Show only events of the selection or window", "", () => {
				const {from, to} = this.m.selection ?? this.m.view;
				this.m.setQuery(`${this.m.query.replace(/(^| )time:\S+/g, "").trim()} time:${time(from)}..${time(to)}`);
			}),
			button("Clear selection", "Esc", "selection", () => this.m.setSelection(null)),
			button("Fit", "Fit the selection, or the cursor (F)", "", () => this.fit()),
			button("\u2212", "Zoom out (S)", "", () => this.zoom(ZOOM_KEY, this.width / 2)),
			button("+", "Zoom in (W)", "", () => this.zoom(1 / ZOOM_KEY, this.width / 2)),
			button("All", "All of the recording (0)", "window", () => this.m.showAll()));
		this.actions.querySelectorAll("button").forEach(b => b.textContent.length === 1 && b.setAttribute("aria-label", b.title));
	}

	/** What is under the mouse, in words. */
	hover(x, y) {
		const row = this.rowAt(y);
		const at = this.timeAt(x);
		const tile = this.cover?.find(t => at >= t.from && at < t.to && (!t.part || (at >= t.part.from && at < t.part.to)));
		const mark = [...this.m.bookmarkMarks, ...tile?.marks ?? []].find(m => Math.abs(this.xOf(m.ns) - x) < 6 && row?.threads.includes(m.thread));
		const lane = tile && row?.threads.length ? laneSum(tile.of ?? tile, row.threads) : null;
		const bucket = tile ? Math.floor((at - tile.from) / tile.bucketNs) : 0;
		const parts = [format.duration(Math.max(0, at))];
		if (row)
			parts.push(laneLabel(row).name + " " + laneLabel(row).number);
		if (mark)
			parts.push(`${mark.kind} ${mark.text ?? ""}`);
		else if (lane) {
			parts.push(format.plural(lane.counts[bucket] ?? 0, "event") + (lane.errors[bucket] ? `, ${format.plural(lane.errors[bucket], "error")}` : ""));
			if (lane.blocked[bucket])
				parts.push(`blocked ${Math.round(lane.blocked[bucket] / 2.55)} %`);
		}
		text(this.readout, parts.join("  \u00b7  "));
	}
}

customElements.define("hm-rec-lanes", Lanes);
