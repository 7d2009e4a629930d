/* How values are written: human first, exact in the title and in copies. All take null and answer "-" style dashes. */
import {h} from "./dom.js";

export const NONE = "-";

const integer = new Intl.NumberFormat("en-US");
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** 12034 -> "12,034" */
export function count(n) {
	return n === null || n === undefined ? NONE : integer.format(n);
}

/** 1234567 -> "1.2 M": for places with no room; the title has count(). */
export function short(n) {
	if (n === null || n === undefined)
		return NONE;
	for (const [from, scale, unit] of [[999.5e6, 1e9, "G"], [999.5e3, 1e6, "M"], [1e4, 1e3, "k"]]) {
		if (n >= from)
			return digits(n / scale) + " " + unit;
	}
	return integer.format(n);
}

function digits(x) {
	return x >= 100 ? x.toFixed(0) : x.toFixed(1);
}

/** 1258291 -> "1.2 MiB" */
export function bytes(n) {
	let unit = 0;

	if (n === null || n === undefined)
		return NONE;
	while (n >= 1024 && unit < UNITS.length - 1) {
		n /= 1024;
		unit++;
	}
	return (unit ? digits(n) : n) + " " + UNITS[unit];
}

export function bytesExact(n) {
	return n === null || n === undefined ? "" : `${integer.format(n)} bytes`;
}

const STEPS = [[1, "ns"], [1e3, "\u00b5s"], [1e6, "ms"], [1e9, "s"]];

/** Nanoseconds (number or decimal string) -> "3.4 ms", "2 min 05 s", "3 h 12 min" */
export function duration(ns) {
	if (ns === null || ns === undefined || ns === "")
		return NONE;
	const n = Number(ns);
	const s = n / 1e9;
	const pad = x => String(Math.floor(x)).padStart(2, "0");

	if (n < 0)
		return "-" + duration(-n);
	if (s >= 86400)
		return s % 86400 < 3600 ? `${Math.floor(s / 86400)} d` : `${Math.floor(s / 86400)} d ${pad(s % 86400 / 3600)} h`;
	if (s >= 3600)
		return `${Math.floor(s / 3600)} h ${pad(s % 3600 / 60)} min`;
	if (s >= 60)
		return `${Math.floor(s / 60)} min ${pad(s % 60)} s`;
	const [scale, unit] = STEPS.findLast(([step]) => n >= step) ?? STEPS[0];
	const value = n / scale;
	return (scale === 1 ? value : value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2)) + " " + unit;
}

/** "100752136" -> "0.100752136 s" */
export function durationExact(ns) {
	if (ns === null || ns === undefined || ns === "")
		return "";
	const digit = BigInt(ns).toString().padStart(10, "0");
	return `${digit.slice(0, -9)}.${digit.slice(-9)} s`;
}

/** Time since the start for columns of tables: always seconds with 6 digits, so that digits line up. */
export function clock(ns) {
	return ns === null || ns === undefined ? NONE : (Number(ns) / 1e9).toFixed(6);
}

const time = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
const day = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short"});
const dayYear = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short", year: "numeric"});
const full = new Intl.DateTimeFormat("en-GB", {dateStyle: "full", timeStyle: "long"});

/** RFC 3339 -> "14:02" today, "29 Nov 14:02" this year, "3 Jan 2025" before */
export function when(iso, now = new Date()) {
	if (!iso)
		return NONE;
	const date = new Date(iso);

	if (date.toDateString() === now.toDateString())
		return time.format(date);
	return date.getFullYear() === now.getFullYear() ? `${day.format(date)} ${time.format(date)}` : dayYear.format(date);
}

export function whenExact(iso) {
	return iso ? `${full.format(new Date(iso))} (${iso})` : "";
}

/** How long ago, as a duration in whole seconds: counters of what runs. */
export function since(iso, now = Date.now()) {
	return duration(Math.max(1, Math.round((now - new Date(iso)) / 1000)) * 1e9).replace(/\.0+ s$/, " s").replace(/^(\d)\.00 s/, "$1 s");
}

/** "#12,034" */
export function event(n) {
	return n === null || n === undefined ? NONE : "#" + integer.format(n);
}

export function percent(part, whole) {
	return whole ? (100 * part / whole).toFixed(1) + " %" : NONE;
}

/** "1 event", "2 events" */
export function plural(n, one, many = one + "s") {
	return `${integer.format(n)} ${n === 1 ? one : many}`;
}

/** <span title=exact>human</span> */
export function span(human, exact) {
	return h("span", {title: exact && exact !== human ? exact : null}, human);
}

export const show = {
	bytes: n => span(bytes(n), bytesExact(n)),
	duration: ns => span(duration(ns), durationExact(ns)),
	when: iso => span(when(iso), whenExact(iso)),
	short: n => span(short(n), count(n)),
	count: n => span(count(n)),
};

/* control characters, and those that turn the direction of text or have no width */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Recorded text on one line with nothing hidden: "a\x1b[31m" instead of an escape that cannot be seen. */
export function printable(string) {
	return (string ?? "").replace(HIDDEN, c => ESCAPES[c] ?? (c < "\u0100" ? "\\x" + hex(c, 2) : "\\u" + hex(c, 4)));
}

const ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"};

function hex(c, digitCount) {
	return c.charCodeAt(0).toString(16).padStart(digitCount, "0");
}

/** One shell word: for commands that people copy. */
export function shellQuote(word) {
	return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";
}
