/**
 * Drawing of lanes. What a tile says of a lane is painted once into a bitmap (a column of pixels per bucket); a frame only copies bitmaps.
 * When so few events are in a tile that it names them, they are drawn one by one, with a shape for what is not a plain call.
 */
import {cssColor} from "./theme.js";

export let LANE_PX = 20;		/* grow with the font of the page: scaleLanes() */
export let RULER_PX = 20;
const GROUP = 32;
const BITMAP_SETS = 14;
const MARK_NEAR_PX = 3;
export const KIND_SIGNAL = 5;

let palette = null;
let paletteSerial = 0;

export function forgetPalette() {
	palette = null;
	paletteSerial++;
}

function rgb(css) {
	const canvas = document.createElement("canvas");
	canvas.width = canvas.height = 1;
	const ctx = canvas.getContext("2d", {willReadFrequently: true});
	ctx.fillStyle = css;
	ctx.fillRect(0, 0, 1, 1);
	const [r, g, b] = ctx.getImageData(0, 0, 1, 1).data;
	return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
}

export function colors() {
	if (!palette) {
		const names = {running: "--c-running", blocked: "--c-blocked", error: "--c-error", signal: "--c-signal", bookmark: "--c-bookmark", accent: "--c-accent",
			text: "--c-text", muted: "--c-muted", line: "--c-faint", border: "--c-border", surface: "--c-surface", select: "--c-select", sunken: "--c-sunken"};
		palette = Object.fromEntries(Object.entries(names).map(([key, token]) => [key, cssColor(token)]));
		palette.words = {running: rgb(palette.running), blocked: rgb(palette.blocked), error: rgb(palette.error), line: rgb(palette.line)};
	}
	return palette;
}

/** @returns {boolean} whether the lanes have another height now */
export function scaleLanes(remPx) {
	const px = Math.round(1.25 * remPx);
	const other = px !== LANE_PX;

	if (other)
		LANE_PX = RULER_PX = px;
	return other;
}

/** One lane of a tile: the sum over its threads. */
export function laneSum(tile, threads) {
	if (threads.length === 1)
		return tile.lanes.get(threads[0]) ?? null;
	tile.sums ??= new Map();
	const key = threads.join();
	if (!tile.sums.has(key)) {
		const counts = new Uint32Array(tile.buckets);
		const errors = new Uint32Array(tile.buckets);
		const blocked = new Uint8Array(tile.buckets);
		for (const lane of threads.map(t => tile.lanes.get(t)))
			for (let i = 0; lane && i < tile.buckets; i++) {
				counts[i] += lane.counts[i];
				errors[i] += lane.errors[i];
				blocked[i] = Math.max(blocked[i], lane.blocked[i]);
			}
		tile.sums.set(key, {counts, errors, blocked});
	}
	return tile.sums.get(key);
}

/* From the top of a lane: errors, the bars of what ran, and below the line of life what was blocked. */
const ERROR_Y = 2;
const ERROR_MAX = 3;
const BASE_Y = 15;
const TALL = 11;
const BLOCKED_Y = 16;
const BLOCKED_SEEN = 20;

function paintLane(words, pixels, width, y0, lane, scale) {
	for (let x = 0; x < width; x++) {
		const n = lane.counts[x];
		const column = (from, to, color) => {
			for (let y = from; y < to; y++)
				pixels[(y0 + y) * width + x] = color;
		};
		if (lane.blocked[x] > BLOCKED_SEEN)
			column(BLOCKED_Y, BLOCKED_Y + (lane.blocked[x] > 128 ? 3 : 2), words.blocked);
		if (!n)
			continue;
		const high = Math.max(2, Math.min(TALL, Math.round(Math.sqrt(n) * scale)));
		column(BASE_Y - high, BASE_Y, words.running);
		if (lane.errors[x])
			column(ERROR_Y, ERROR_Y + Math.max(1, Math.round(Math.min(1, 4 * lane.errors[x] / n) * ERROR_MAX)), words.error);
	}
}

export class LanePainter {
	#sets = [];
	#layout = null;
	#serial = -1;
	#lanePx = 0;

	constructor() {
		this.peakRate = 0;
	}

	/** rows: of laneRows(); whole: the tile of the whole recording, for the scale of the heights */
	prepare(rows, whole) {
		if (this.#layout !== rows || this.#serial !== paletteSerial || this.#lanePx !== LANE_PX) {
			for (const tile of this.#sets)
				tile.bitmaps.clear();
			this.#sets = [];
			this.#layout = rows;
			this.#serial = paletteSerial;
			this.#lanePx = LANE_PX;
		}
		let peak = 0;
		for (const lane of whole?.lanes.values() ?? [])
			for (const n of lane.counts)
				if (n > peak)
					peak = n;
		this.peakRate = whole ? peak / whole.bucketNs : 0;
	}

	#bitmap(tile, group) {
		const own = tile.of ?? tile;
		let canvas = own.bitmaps.get(group);
		if (canvas)
			return canvas;
		const rows = this.#layout.slice(group * GROUP, (group + 1) * GROUP);
		const image = new ImageData(own.buckets, rows.length * LANE_PX);
		const pixels = new Uint32Array(image.data.buffer);
		const scale = TALL / Math.max(1, Math.sqrt(this.peakRate * own.bucketNs));
		rows.forEach((row, i) => {
			const lane = row.threads.length ? laneSum(own, row.threads) : null;
			if (lane)
				paintLane(colors().words, pixels, own.buckets, i * LANE_PX, lane, scale);
		});
		canvas = document.createElement("canvas");
		canvas.width = image.width;
		canvas.height = Math.max(1, image.height);
		canvas.getContext("2d").putImageData(image, 0, 0);
		own.bitmaps.set(group, canvas);
		this.#sets = this.#sets.filter(t => t !== own);
		this.#sets.push(own);
		if (this.#sets.length > BITMAP_SETS)
			this.#sets.shift().bitmaps.clear();
		return canvas;
	}

	/** Densities of one tile for the rows first..last; view: {x(ns), top} */
	density(ctx, tile, view, first, last) {
		const from = Math.max(tile.from, tile.part?.from ?? tile.from);
		const to = Math.min(tile.to, tile.part?.to ?? tile.to);
		const sx = (from - tile.from) / tile.bucketNs;
		const sw = (to - from) / tile.bucketNs;
		if (sw <= 0)
			return;
		const x = view.x(from);
		const w = view.x(to) - x;
		ctx.imageSmoothingEnabled = false;
		for (let group = Math.floor(first / GROUP); group <= Math.floor(last / GROUP); group++) {
			const bitmap = this.#bitmap(tile, group);
			ctx.drawImage(bitmap, sx, 0, sw, bitmap.height, x, group * GROUP * LANE_PX - view.top, w, bitmap.height);
		}
	}

	/** Single events; true when they have room. */
	singles(ctx, tile, view, rowOf, visible) {
		const c = colors();
		const events = tile.events;
		let previous = -1e9;
		let crowded = 0;
		for (const e of events) {
			const x = view.x(tile.from + e[1]);
			if (x < visible[0] || x > visible[1])
				continue;
			if (x - previous < MARK_NEAR_PX / 8)
				crowded++;
			previous = x;
		}
		if (crowded > 1500)
			return false;
		for (const [, at, thread, kind, , failed, end] of events) {
			const x = view.x(tile.from + at);
			const stop = end > at ? view.x(tile.from + end) : x;
			if (stop < visible[0] || x > visible[1])
				continue;
			const row = rowOf(thread);
			if (row === undefined)
				continue;
			const y = row * LANE_PX - view.top;
			if (stop > x + 1) {
				ctx.fillStyle = c.blocked;
				ctx.globalAlpha = 0.8;
				ctx.fillRect(x, y + BLOCKED_Y, stop - x, 3);
				ctx.globalAlpha = 1;
			}
			ctx.fillStyle = failed ? c.error : kind === KIND_SIGNAL ? c.signal : c.running;
			ctx.fillRect(Math.round(x) - 0.5, y + 5, 1.5, BASE_Y - 5);
			if (failed)
				cross(ctx, x, y + 4, c.error);
		}
		return true;
	}
}

function cross(ctx, x, y, color) {
	ctx.strokeStyle = color;
	ctx.lineWidth = 1.5;
	ctx.beginPath();
	ctx.moveTo(x - 2.5, y - 2.5);
	ctx.lineTo(x + 2.5, y + 2.5);
	ctx.moveTo(x + 2.5, y - 2.5);
	ctx.lineTo(x - 2.5, y + 2.5);
	ctx.stroke();
}

function polygon(ctx, x, y, points, color) {
	ctx.fillStyle = color;
	ctx.beginPath();
	points.forEach(([dx, dy], i) => i ? ctx.lineTo(x + dx, y + dy) : ctx.moveTo(x + dx, y + dy));
	ctx.closePath();
	ctx.fill();
}

const SHAPES = {
	exec: (ctx, x, y, c) => polygon(ctx, x, y, [[-1, -5], [6, 0], [-1, 5]], c.text),
	birth: (ctx, x, y, c) => polygon(ctx, x, y, [[-1, -4], [3, 0], [-1, 4]], c.muted),
	exit: (ctx, x, y, c) => polygon(ctx, x, y, [[-3, -3], [3, -3], [3, 3], [-3, 3]], c.muted),
	signal: (ctx, x, y, c) => polygon(ctx, x, y, [[0, -5], [5, 4], [-5, 4]], c.signal),
	note: (ctx, x, y, c) => polygon(ctx, x, y, [[0, -5], [4, 0], [0, 5], [-4, 0]], c.muted),
	bookmark: (ctx, x, y, c) => polygon(ctx, x, y, [[-3, -6], [4, -6], [4, 6], [0.5, 3], [-3, 6]], c.bookmark),
	fatal: (ctx, x, y, c) => {
		polygon(ctx, x, y, [[0, -7], [7, 0], [0, 7], [-7, 0]], c.error);
		cross(ctx, x, y, c.surface);
	},
};

/** A mark with the shape of its kind. */
export function drawMark(ctx, kind, x, y) {
	(SHAPES[kind] ?? SHAPES.note)(ctx, x, y, colors());
}

/** A step of the ruler: 1, 2 or 5 times a power of ten, with at most one label per minPx. */
export function rulerStep(nsPerPx, minPx) {
	const least = nsPerPx * minPx;
	const power = 10 ** Math.floor(Math.log10(least));
	return [1, 2, 5, 10].map(f => f * power).find(step => step >= least);
}
