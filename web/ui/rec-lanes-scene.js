/** What lies behind and over the densities of the lanes: ruler, lifetimes, marks, the selection, the mouse, the cursor. */
import * as format from "./format.js";
import {LANE_PX, RULER_PX, colors, drawMark, rulerStep} from "./rec-lanes-paint.js";

const MARK_ROOM_PX = 6;		/* marks of one kind in one lane that are nearer than that are drawn once */
const LABEL_ROOM = 5.5;		/* of a label of the ruler, in heights of the ruler */

const yOf = (lanes, row) => RULER_PX + row * LANE_PX - lanes.top;

/** Ruler and lifetimes of the rows first..last. */
export function drawBackground(lanes, ctx, width, height, [first, last]) {
	const c = colors();
	const {from, to} = lanes.m.view;
	const end = lanes.m.endNs;
	const step = rulerStep(lanes.nsPerPx, LABEL_ROOM * RULER_PX);

	ctx.font = `${Math.round(RULER_PX * 0.55)}px ${lanes.fontFamily}`;
	ctx.textBaseline = "middle";
	for (let t = Math.ceil(Math.max(0, from) / step) * step; t <= Math.min(to, end); t += step) {
		const x = Math.round(lanes.xOf(t));

		ctx.fillStyle = c.border;
		ctx.fillRect(x, RULER_PX * 0.7, 1, height);
		ctx.fillStyle = c.muted;
		ctx.fillText(t === 0 ? "0" : rulerLabel(t, step), x + 4, RULER_PX * 0.45);
	}
	ctx.fillStyle = c.line;
	for (let i = first; i <= last; i++) {
		const row = lanes.rows[i];
		const life = row.thread ?? row.process;
		const x0 = Math.max(0, lanes.xOf(Number(life.start_ns)));
		const x1 = Math.min(width, lanes.xOf(life.end_ns ? Number(life.end_ns) : end));

		if (row.threads.length && yOf(lanes, i) > RULER_PX - LANE_PX && x1 > x0)
			ctx.fillRect(x0, yOf(lanes, i) + LANE_PX - 4, x1 - x0, 1);
	}
}

/** Marks of the tiles that cover the window, and the bookmarks. */
export function drawMarks(lanes, ctx, width) {
	const drawn = new Map();
	const draw = (kind, thread, ns) => {
		const row = lanes.rowOfThread(thread);
		const x = lanes.xOf(ns);
		const key = `${row} ${kind}`;

		if (row === undefined || x < -8 || x > width + 8 || x - (drawn.get(key) ?? -Infinity) < MARK_ROOM_PX)
			return;
		drawn.set(key, x);
		drawMark(ctx, kind, x, yOf(lanes, row) + LANE_PX / 2);
	};

	for (const tile of lanes.cover)
		for (const mark of tile.marks)
			if (!tile.part || (mark.ns >= tile.part.from && mark.ns < tile.part.to))
				draw(mark.kind, mark.thread, mark.ns);
	for (const mark of lanes.m.bookmarkMarks)
		draw("bookmark", mark.thread, mark.ns);
}

/** The selection, the line at the mouse, the cursor with a box around its event. */
export function drawOverlay(lanes, ctx, width, height) {
	const c = colors();
	const {selection, cursorNs} = lanes.m;

	if (selection) {
		const x0 = lanes.xOf(selection.from);
		const x1 = lanes.xOf(selection.to);

		ctx.fillStyle = c.accent;
		ctx.globalAlpha = 0.14;
		ctx.fillRect(x0, 0, x1 - x0, height);
		ctx.globalAlpha = 1;
		ctx.fillRect(x0, 0, 1, height);
		ctx.fillRect(x1, 0, 1, height);
	}
	if (lanes.mouse.x !== null && !lanes.mouse.dragging) {
		ctx.fillStyle = c.muted;
		ctx.globalAlpha = 0.5;
		ctx.fillRect(Math.round(lanes.mouse.x), RULER_PX, 1, height);
		ctx.globalAlpha = 1;
	}
	const x = cursorNs === null ? NaN : Math.round(lanes.xOf(cursorNs));

	if (!(x >= -6 && x <= width + 6))
		return;
	ctx.fillStyle = c.accent;
	ctx.fillRect(x - 1, 4, 2, height);
	ctx.beginPath();
	ctx.moveTo(x - 5, 2);
	ctx.lineTo(x + 5, 2);
	ctx.lineTo(x, 10);
	ctx.fill();
	const row = lanes.rowOfThread(lanes.m.row?.thread);

	if (row !== undefined && yOf(lanes, row) >= RULER_PX - LANE_PX / 2) {
		ctx.strokeStyle = c.accent;
		ctx.lineWidth = 2;
		ctx.strokeRect(x - 4, yOf(lanes, row) + 2, 8, LANE_PX - 4);
	}
}

/** Labels of one ruler have the same number of digits. */
function rulerLabel(ns, step) {
	const [unit, name] = step >= 1e9 ? [1e9, "s"] : step >= 1e6 ? [1e6, "ms"] : step >= 1e3 ? [1e3, "\u00b5s"] : [1, "ns"];

	return `${format.count(Math.round(ns / unit))} ${name}`;
}
