// The filter language of docs/HTTP.md, as much of it as the synthetic recording has fields for.

export class FilterError extends Error {
	constructor(message, offset, length) {
		super(message);
		Object.assign(this, {offset, length});
	}
}

const UNITS = {ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9};

function time(text, term) {
	const m = /^([0-9.]+)(ns|us|ms|s|m)?$/.exec(text);
	if (!m)
		throw new FilterError(`"${text}" is no time`, term.offset, term.length);
	return Number(m[1]) * (UNITS[m[2]] ?? 1e9);
}

function glob(pattern) {
	const source = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
	return new RegExp(`^${source}$`);
}

function range(text, one) {
	const [a, b] = text.split("..");
	return b === undefined ? [one(a), one(a)] : [a ? one(a) : -Infinity, b ? one(b) : Infinity];
}

/** key -> (value, term, recording) -> test of an event's number */
const KEYS = {
	syscall: (v, _, r) => {
		const globs = v.split(",").map(glob);
		return (i) => r.kind[i] === 2 && globs.some(g => g.test(r.text(i).name));
	},
	thread: (v, _, r) => (i) => v.split(",").includes(String(r.thread[i])),
	pid: (v, _, r) => (i) => v.split(",").includes(String(r.pidOf(r.thread[i]))),
	tid: (v, _, r) => (i) => v.split(",").includes(String(4100 + r.thread[i])),
	fd: (v, _, r) => (i) => new RegExp(`^${Number(v)}\\b`).test(r.text(i).args) || (r.text(i).name === "openat" && r.text(i).result === v),
	path: (v, _, r) => (i) => glob(v).test(/"(\/[^"]*)"/.exec(r.text(i).args)?.[1] ?? ""),
	errno: (v, _, r) => (i) => r.failed[i] === 1 && v.split(",").includes(r.text(i).errno),
	signal: (v, _, r) => (i) => r.kind[i] === 5 && r.text(i).name === v,
	kind: (v, _, r) => (i) => v.split(",").includes(r.row(i).kind),
	time: (v, term, r) => {
		const [from, to] = range(v, x => time(x, term));
		return (i) => r.time[i] >= from && r.time[i] <= to;
	},
	dur: (v, term, r) => {
		const m = /^([<>])(.+)$/.exec(v);
		if (!m)
			throw new FilterError("dur: wants > or < and a time", term.offset, term.length);
		const limit = time(m[2], term);
		return (i) => r.duration[i] > 0 && (m[1] === ">" ? r.duration[i] > limit : r.duration[i] < limit);
	},
	class: (v, _, r) => (i) => r.kind[i] === 2 && v.split(",").some(c => r.classOf(i).includes(c)),
};

function parse(q) {
	const terms = [];
	for (const m of q.matchAll(/(-?)((?:[a-z]+:)?"[^"]*"?|\S+)/g)) {
		const word = m[2];
		const term = {text: m[0], offset: m.index, length: m[0].length, key: "text", value: word.replaceAll('"', ""), negated: m[1] === "-"};
		const key = /^([a-z]+):(.*)$/.exec(word);
		if (word.startsWith("#"))
			Object.assign(term, {key: "number", value: word.slice(1).replaceAll("#", "")});
		else if (word === "failed")
			Object.assign(term, {key: "failed", value: ""});
		else if (key)
			Object.assign(term, {key: key[1], value: key[2].replaceAll('"', "")});
		terms.push(term);
	}
	return terms;
}

function test(term, rec) {
	if (term.key === "failed")
		return (i) => rec.failed[i] === 1;
	if (term.key === "number") {
		const [from, to] = range(term.value, Number);
		return (i) => i >= from && i <= to;
	}
	if (term.key === "text") {
		const needle = term.value.toLowerCase();
		return (i) => {
			const t = rec.text(i);
			return `${t.name}(${t.args}) = ${t.result}`.toLowerCase().includes(needle);
		};
	}
	if (!KEYS[term.key] || !term.value)
		throw new FilterError(KEYS[term.key] ? `${term.key}: wants a value` : `"${term.key}" is no key of the filter`, term.offset, term.length);
	return KEYS[term.key](term.value, term, rec);
}

/** @returns {{terms: object[], match: ((i: number) => boolean)|null}} match is null when everything matches */
export function compileFilter(params, rec) {
	const terms = parse(params.get("q") ?? "");
	const tests = terms.map(t => {
		const f = test(t, rec);
		return t.negated ? (i) => !f(i) : f;
	});
	for (const key of ["thread", "pid", "syscall", "fd", "path", "errno", "signal", "kind"])
		if (params.get(key))
			tests.push(test({key, value: params.get(key), offset: 0, length: 0}, rec));
	if (params.get("failed") === "1")
		tests.push(i => rec.failed[i] === 1);
	return {terms, match: tests.length ? (i) => tests.every(t => t(i)) : null};
}
