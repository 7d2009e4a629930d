/* Recordings of the store and of hermitd in one list, and as people read them. No vscode in here.
 *
 * A recording is {id, label, command, started (ms), durationNs, events, bytes, ending, bad, live, server}: server is the hermitd that has it, null when it
 * is in the store of this machine (also when hermitd has it too). */
"use strict";
const {Hermitd} = require("./hermitd.js");
const store = require("./store.js");

const UNITS = [["h", 3600e9], ["min", 60e9], ["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];

function duration(ns) {
	const [unit, size] = UNITS.find(([, least]) => Number(ns) >= least) ?? UNITS.at(-1);

	return `${Number((Number(ns) / size).toPrecision(3))} ${unit}`;
}

function bytes(n) {
	let value = Number(n);
	let at = 0;

	for (; value >= 1024 && at < 3; at++)
		value /= 1024;
	return `${Number(value.toPrecision(3))} ${["B", "KiB", "MiB", "GiB"][at]}`;
}

function count(n) {
	return Number(n).toLocaleString("en").replaceAll(",", "\u202f");
}

function ending({state, code, signal, error}) {
	if (error)
		return "unreadable";
	if (state === "recording" || state === "truncated")
		return state;
	return signal ? signal : code ? `exit ${code}` : "ok";
}

function common(row, more) {
	const end = ending(more);

	return {
		id: String(row.id), label: row.label ?? null, command: String(row.command ?? row.error ?? ""), durationNs: row.duration_ns ?? 0,
		events: Number(row.events ?? 0), bytes: Number(row.bytes ?? 0), ending: end, bad: end !== "ok" && end !== "recording", live: more.state === "recording",
		started: Date.parse(row.start ?? row.started ?? "") || 0, ...more.where,
	};
}

function ofStore(row) {
	return common(row, {state: row.state, code: row.exit_code, signal: row.signal, error: row.error, where: {server: null}});
}

function ofHermitd(row, server) {
	return common(row, {state: row.state, code: row.exit?.code, signal: row.exit?.signal, error: row.error, where: {server}});
}

/** {recordings: newest first, problems: [text]}. settings: hermitPath, dataDir, server (origin or null), token. One source that fails does not hide the other. */
async function all(settings) {
	const sources = [store.list(settings).then(rows => rows.map(ofStore))];
	const problems = [];
	const found = new Map();

	if (settings.server)
		sources.push(new Hermitd(settings.server, settings.token).recordings().then(rows => rows.map(row => ofHermitd(row, settings.server))));
	for (const result of await Promise.allSettled(sources)) {
		if (result.status === "rejected") {
			problems.push(result.reason.message);
			continue;
		}
		for (const one of result.value)
			if (!found.has(one.id))
				found.set(one.id, one);
	}
	return {recordings: [...found.values()].sort((a, b) => b.started - a.started), problems};
}

/** Texts of a recording: {label, description, detail}. now: ms. */
function describe(one, now) {
	const age = Math.max(0, now - one.started) * 1e6;

	return {
		label: one.label ? `${one.label}: ${one.command}` : one.command || one.id,
		description: [one.ending, duration(one.durationNs), `${count(one.events)} events`].join("  \u00b7  "),
		detail: [one.started ? `${duration(age)} ago` : null, bytes(one.bytes), one.id, one.server].filter(Boolean).join("  \u00b7  "),
	};
}

module.exports = {all, bytes, count, describe, duration};
