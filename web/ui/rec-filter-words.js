/** What the filter language knows, for suggestions and for the help. The server decides what a filter means; this only helps to write one. */

export const KEYS = [
	{key: "syscall:", says: "a system call, a list, or a prefix", examples: ["syscall:openat", "syscall:epoll_*"]},
	{key: "failed", says: "any error", examples: ["failed"]},
	{key: "errno:", says: "failed with this error", examples: ["errno:ENOENT"]},
	{key: "path:", says: "a path in the arguments or behind a descriptor", examples: ["path:/etc/*"]},
	{key: "fd:", says: "the call has this descriptor", examples: ["fd:3"]},
	{key: "thread:", says: "a thread by its number", examples: ["thread:3"]},
	{key: "pid:", says: "a process", examples: ["pid:4101"]},
	{key: "tid:", says: "a thread by its tid", examples: ["tid:4102"]},
	{key: "signal:", says: "a signal", examples: ["signal:SIGSEGV"]},
	{key: "kind:", says: "a kind of event", examples: ["kind:signal,exit"]},
	{key: "class:", says: "a family of system calls", examples: ["class:net"]},
	{key: "dur:", says: "blocked that long", examples: ["dur:>1ms"]},
	{key: "time:", says: "time since the start", examples: ["time:1.2s..1.5s", "time:..10ms"]},
	{key: "#", says: "numbers of events", examples: ["#100..#200"]},
	{key: "-", says: "not: before any term", examples: ["-syscall:futex"]},
];

const VALUES = {
	errno: ["ENOENT", "EAGAIN", "EACCES", "EINTR", "EBADF", "ECONNREFUSED", "ECONNRESET", "EPIPE", "ENOTDIR", "EEXIST", "EINVAL", "ENOMEM", "ETIMEDOUT", "EPERM", "ENOTTY"],
	signal: ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGCHLD", "SIGPIPE", "SIGTERM", "SIGINT", "SIGKILL", "SIGALRM"],
	kind: ["syscall", "signal", "exec", "birth", "exit", "note", "tsc", "cpuid", "async-point"],
	class: ["file", "net", "proc", "mem", "signal", "time", "ipc", "desc"],
	dur: [">1ms", ">10ms", ">100ms", ">1s"],
};

/** The word of the filter at the caret: {start, end, text}; quotes keep blanks together. */
export function wordAt(text, caret) {
	for (const m of text.matchAll(/-?(?:[a-z]+:)?"[^"]*"?|\S+/g))
		if (caret >= m.index && caret <= m.index + m[0].length)
			return {start: m.index, end: m.index + m[0].length, text: m[0].slice(0, caret - m.index)};
	return {start: caret, end: caret, text: ""};
}

/**
 * @param {string} word what stands before the caret
 * @param {{syscalls: string[], threads: [string, string][], pids: [string, string][]}} known of this recording
 * @returns {{insert: string, label: string, says: string, more: boolean}[]} more: something has to follow
 */
export function suggest(word, known) {
	const negated = word.startsWith("-") && word.length > 1 ? "-" : "";
	const body = word.slice(negated.length);
	const at = body.indexOf(":");
	if (at < 0)
		return KEYS.filter(k => k.key.startsWith(body) && (k.key.length > body.length || !body)).map(k => ({insert: negated + k.key, label: k.key, says: k.says, more: k.key !== "failed"}));
	const key = body.slice(0, at);
	const list = body.slice(at + 1);
	const done = list.slice(0, list.lastIndexOf(",") + 1);
	const part = list.slice(done.length).toLowerCase();
	const values = {syscall: known.syscalls.map(s => [s, ""]), thread: known.threads, pid: known.pids}[key] ?? (VALUES[key] ?? []).map(v => [v, ""]);
	return values.filter(([v]) => v.toLowerCase().startsWith(part) && v.length > part.length).slice(0, 12)
		.map(([v, says]) => ({insert: `${negated}${key}:${done}${v}`, label: v, says, more: false}));
}

/** Takes one term out of a filter, by the place the server found it at. */
export function without(query, term) {
	return `${query.slice(0, term.offset)} ${query.slice(term.offset + term.length)}`.replace(/\s+/g, " ").trim();
}

/** A value as the filter language wants it. */
export function quoteTerm(key, value) {
	return /[\s"]/.test(value) ? `${key}:"${value.replaceAll('"', "")}"` : `${key}:${value}`;
}
