/** The columns of the event table: what a cell shows, and their widths, which are remembered. */
import {h, remember} from "./dom.js";
import * as format from "./format.js";

/** Kinds of events as a shape and a word; what is not here is a plain dot. */
const SHAPES = {
	exec: ["\u25b6", "exec"], birth: ["\u271a", "birth"], exit: ["\u25a0", "exit"], signal: ["\u25b2", "signal"], note: ["\u25c7", "note"], end: ["\u25a0", "end"],
	"syscall-enter": ["\u25d0", "call begins"], "syscall-exit": ["\u25d1", "call ends"], syscall: ["\u25cf", "system call"], restart: ["\u21bb", "restart"],
	"async-point": ["\u2301", "place of a signal"], tsc: ["\u25f7", "time stamp counter"], cpuid: ["\u25a1", "cpuid"],
};

export function shapeOf(row) {
	if (row.failed)
		return ["\u2715", "failed", "error"];
	const [shape, word] = SHAPES[row.kind] ?? ["\u00b7", row.kind];
	return [shape, word, row.kind === "signal" ? "signal" : row.stream === "stderr" ? "stderr" : ""];
}

/** The time column: since the start, or since the row before. */
function timeOf(row, before, since) {
	if (since === "start")
		return format.clock(row.time_ns);
	return before ? "+" + format.duration(Number(row.time_ns) - Number(before.time_ns)) : "";
}

export const COLUMNS = [
	{key: "number", label: "#", width: 84, min: 56, end: true, text: row => format.count(row.number)},
	{key: "time", label: "Time", width: 92, min: 60, end: true, text: (row, before, since) => timeOf(row, before, since), exact: row => format.durationExact(row.time_ns)},
	{key: "thread", label: "pid/tid", width: 96, min: 48, text: row => row.pid === row.tid ? String(row.pid) : `${row.pid}/${row.tid}`, exact: (row, model) => model.threadName(row.thread)},
	{key: "kind", label: "Kind", width: 28, min: 24, text: row => shapeOf(row)[0], exact: row => shapeOf(row)[1]},
	{key: "name", label: "Name", width: 132, min: 60, text: row => row.name},
	{key: "args", label: "Arguments", width: 0, min: 120, text: row => row.args, exact: row => row.args},
	{key: "result", label: "Result", width: 124, min: 50, text: row => row.result, exact: row => row.result},
	{key: "duration", label: "Blocked", width: 80, min: 50, end: true, text: row => row.duration_ns ? format.duration(row.duration_ns) : "", exact: row => row.duration_ns ? format.durationExact(row.duration_ns) : ""},
];

const KEY_STEP = 12;
const LEAVE_OUT = ["duration", "thread", "kind", "result"];	/* first what is missed least */
const ARGS_PX = 160;
const PADDING_PX = 32;

/** Widths of the columns; sets --cols on the element, which the rows use as their grid. */
export class Widths {
	#widths = {};
	#el;

	constructor(el) {
		this.#el = el;
		const saved = remember.get("columns", {});
		for (const column of COLUMNS)
			this.#widths[column.key] = Number.isFinite(saved[column.key]) ? Math.max(column.min, saved[column.key]) : column.width;
		this.#apply();
		new ResizeObserver(() => this.#apply()).observe(el);
	}

	/** Columns for which there is no room are left out; the details have what they say. */
	#apply() {
		const rem = 16;
		const room = this.#el.clientWidth * rem / parseFloat(getComputedStyle(document.documentElement).fontSize) || Infinity;
		const gone = new Set();

		for (const key of LEAVE_OUT)
			if (PADDING_PX + COLUMNS.reduce((sum, c) => sum + (gone.has(c.key) ? 0 : this.#widths[c.key] || ARGS_PX), 0) > room)
				gone.add(key);
		for (const key of LEAVE_OUT)
			this.#el.classList.toggle(`rec-no-${key}`, gone.has(key));
		this.#el.style.setProperty("--cols", COLUMNS.filter(c => !gone.has(c.key)).map(c => this.#widths[c.key] ? `${this.#widths[c.key] / rem}rem` : `minmax(${c.min / rem}rem, 1fr)`).join(" "));
	}

	set(column, width) {
		this.#widths[column.key] = Math.min(1200, Math.max(column.min, Math.round(width)));
		this.#apply();
		remember.set("columns", this.#widths);
	}

	get(column) {
		return this.#widths[column.key];
	}

	/** A handle to drag, or to move by the arrow keys, at the end of a column's head. */
	handle(column) {
		const el = h("span.rec-col-handle", {role: "separator", tabindex: "0", "aria-orientation": "vertical", "aria-label": `Width of ${column.label}`,
			"aria-valuenow": this.get(column), "aria-valuemin": column.min, "aria-valuemax": 1200});
		const set = width => {
			this.set(column, width);
			el.setAttribute("aria-valuenow", this.get(column));
		};
		el.addEventListener("keydown", e => {
			const step = {ArrowLeft: -KEY_STEP, ArrowRight: KEY_STEP}[e.key];
			if (!step)
				return;
			set(this.get(column) + step);
			e.preventDefault();
			e.stopPropagation();
		});
		el.addEventListener("dblclick", () => set(column.width));
		el.addEventListener("pointerdown", e => {
			const start = e.clientX;
			const width = this.get(column);
			const scale = 16 / parseFloat(getComputedStyle(document.documentElement).fontSize);
			const move = ev => set(width + (ev.clientX - start) * scale);
			el.setPointerCapture(e.pointerId);
			el.addEventListener("pointermove", move);
			el.addEventListener("lostpointercapture", () => el.removeEventListener("pointermove", move), {once: true});
			e.preventDefault();
		});
		return el;
	}
}
