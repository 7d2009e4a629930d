/* Summary, files, sockets, processes, diff and coverage of made-up recordings. The names of the calls come from engine/syscalls.def. */
import {readFileSync} from "node:fs";
import {numbers} from "./world.mjs";

const TABLE = [...readFileSync(new URL("../../../engine/syscalls.def", import.meta.url), "utf8").matchAll(/^SYS\((\w+), (\d+), (\w+),/gm)]
	.map(([, name, number, how]) => ({number: Number(number), name, class: how.toLowerCase()}));
const COMMON = new Set(["read", "write", "openat", "close", "fstat", "mmap", "mprotect", "munmap", "brk", "rt_sigaction", "rt_sigprocmask", "ioctl", "pread64", "access", "pipe2",
	"dup2", "getpid", "clone", "clone3", "execve", "exit_group", "wait4", "fcntl", "getcwd", "newfstatat", "readlink", "futex", "epoll_wait", "epoll_ctl", "accept4", "recvfrom", "sendto",
	"socket", "connect", "bind", "listen", "setsockopt", "getrandom", "prlimit64", "set_robust_list", "rseq", "arch_prctl", "poll", "lseek", "getdents64", "statx", "clock_nanosleep", "writev"]);
const ERRNOS = {openat: "ENOENT", access: "ENOENT", readlink: "EINVAL", connect: "ECONNREFUSED", recvfrom: "EAGAIN", read: "EAGAIN", futex: "EAGAIN", ioctl: "ENOTTY", wait4: "ECHILD"};
const BLOCKS = new Set(["read", "futex", "epoll_wait", "poll", "wait4", "clock_nanosleep", "accept4", "recvfrom", "connect"]);

function seedOf(id) {
	return parseInt(id.slice(0, 7), 16);
}

function syscalls(rec) {
	const next = numbers(seedOf(rec.id));
	const weights = TABLE.filter(row => COMMON.has(row.name)).map(row => [row, next() ** 4]);
	const sum = weights.reduce((all, [, weight]) => all + weight, 0);

	return weights.map(([row, weight]) => {
		const calls = Math.floor(rec.events * 0.95 * weight / sum);
		const errno = ERRNOS[row.name];
		const errors = errno ? Math.floor(calls * next() * 0.3) : 0;

		return {number: row.number, name: row.name, class: row.class, calls, errors, refused: 0, blocked_ns: BLOCKS.has(row.name) ? String(Math.floor(calls * next() * 4e6)) : "0",
			errnos: errors ? {[errno]: errors} : {}, first_event: Math.floor(next() * rec.events / 2) + 1};
	}).filter(row => row.calls);
}

function summary(rec) {
	const table = syscalls(rec);
	const fatal = rec.exit.kind === "signaled";

	return {events: rec.events, calls: table.reduce((sum, row) => sum + row.calls, 0), kinds: {syscall: rec.events - 40, signal: 3, birth: rec.threads, exit: rec.threads, exec: 2}, syscalls: table,
		signals: [{signal: "SIGCHLD", count: rec.processes, handled: rec.processes, fatal: 0, first_event: 90}, ...fatal ? [{signal: rec.exit.signal, count: 1, handled: 0, fatal: 1, first_event: rec.events - 1}] : []],
		children: rec.processes - 1, execs: [{event: 1, path: `/usr/bin/${rec.program}`, command: rec.command, pid: 4711}, {event: 57, path: "/usr/bin/<b>sh</b>", command: "sh -c 'echo \"<script>\"'", pid: 4712}],
		notes: rec.state === "truncated" ? [{event: rec.events, text: "the recorder was killed"}] : [], complete: !rec.live};
}

function files(rec) {
	const next = numbers(seedOf(rec.id) + 1);
	const names = ["/etc/ld.so.cache", "/lib/x86_64-linux-gnu/libc.so.6", "/etc/passwd", "/proc/self/status", "/tmp/<img src=x onerror=alert(1)>", "/srv/build/main.c", "/dev/urandom", "/usr/share/locale/locale.alias",
		...Array.from({length: 180}, (_, at) => `/srv/build/obj/unit_${at}.o`)];

	return {items: names.map((path, at) => {
		const missing = at % 7 === 3;

		return {path, opens: 1 + Math.floor(next() * 9), failed: missing ? 1 : 0, stats: Math.floor(next() * 5), reads: Math.floor(next() * 40), writes: at > 8 && at % 3 === 0 ? Math.floor(next() * 20) : 0,
			bytes_read: Math.floor(10 ** (next() * 7)), bytes_written: at > 8 && at % 3 === 0 ? Math.floor(10 ** (next() * 6)) : 0, mapped: path.endsWith(".6") ? 4 : 0,
			first_event: Math.floor(next() * rec.events) + 1, last_event: rec.events, errors: missing ? {ENOENT: 1} : {}};
	}), complete: !rec.live};
}

const SOCKETS = {items: [
	{id: 1, family: "AF_INET", type: "SOCK_STREAM", local: "0.0.0.0:8080", peer: null, how: "bind", sends: 0, receives: 0, bytes_sent: 0, bytes_received: 0, errors: 0, first_event: 40, last_event: 900, pid: 4711, fd: 3},
	{id: 2, family: "AF_INET", type: "SOCK_STREAM", local: "127.0.0.1:8080", peer: "127.0.0.1:53122", how: "accept", sends: 12, receives: 14, bytes_sent: 92817, bytes_received: 2210, errors: 1, first_event: 61, last_event: 700, pid: 4711, fd: 7},
	{id: 3, family: "AF_UNIX", type: "SOCK_STREAM", local: null, peer: "/run/<b>nscd</b>/socket", how: "connect", sends: 0, receives: 0, bytes_sent: 0, bytes_received: 0, errors: 1, first_event: 22, last_event: 23, pid: 4711, fd: 4},
], complete: true};

function processes(rec) {
	const next = numbers(seedOf(rec.id) + 2);

	return {items: Array.from({length: rec.processes}, (_, at) => {
		const first = at ? Math.floor(next() * rec.events * 0.8) + 1 : 1;

		return {thread: at + 1, parent: at ? Math.floor(next() * at) + 1 : 0, pid: 4711 + at, exe: at ? "/usr/bin/sh" : `/usr/bin/${rec.program}`, command: at ? `sh -c 'step ${at}'` : rec.command,
			exit: at ? {kind: "exited", code: at % 9 === 4 ? 1 : 0} : rec.exit, first_event: first, last_event: rec.events, start_ns: String(first * 1000), end_ns: rec.live ? null : String(rec.events * 1000),
			threads: [{number: at + 1, tid: 4711 + at, name: at ? "sh" : rec.program.slice(0, 15), first_event: first, last_event: rec.events, start_ns: String(first * 1000), end_ns: null}]};
	}), complete: !rec.live};
}

/* --- diff: the left one row for row, the right one differs from DIVERGE on --- */

const DIVERGE = 0.3;
const LINES = ["openat(AT_FDCWD, \"/etc/hosts\", O_RDONLY|O_CLOEXEC) = 3", "read(3, \"127.0.0.1 localhost\\n\"..., 4096) = 187", "close(3) = 0", "clock_gettime(CLOCK_MONOTONIC, {...}) = 0",
	"write(1, \"<b>ok</b>\\n\", 10) = 10", "futex(0x7ffd1000, FUTEX_WAIT_PRIVATE, 0, NULL) = -1 EAGAIN", "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000010000"];

function diffRow(at, total, same) {
	const line = LINES[at % LINES.length];
	const from = Math.floor(total * DIVERGE);

	if (same || at < from)
		return {op: "same", left: at + 1, right: at + 1, left_line: line, right_line: line};
	if (at === from)
		return {op: "changed", left: at + 1, right: at + 1, left_line: "read(3, \"ok\", 4096) = 2", right_line: "read(3, 0x5581c0, 4096) = -1 EAGAIN"};
	if (at % 23 === 0)
		return {op: "left", left: at + 1, right: null, left_line: line, right_line: ""};
	if (at % 23 === 7)
		return {op: "right", left: null, right: at + 1, left_line: "", right_line: "nanosleep({tv_sec=0, tv_nsec=1000000}, NULL) = 0"};
	return at % 31 === 0 ? {op: "changed", left: at + 1, right: at + 1, left_line: line, right_line: line.replace("= ", "= 1")} : {op: "same", left: at + 1, right: at + 1, left_line: line, right_line: line};
}

function pair({query, world, reply}) {
	const left = world.find(query.get("left"));
	const right = world.find(query.get("right"));

	if (!left || !right) {
		reply.problem(404, "no-such-recording", `there is no recording ${left ? query.get("right") : query.get("left")}`);
		return null;
	}
	return {left, right, same: left === right, total: Math.max(left.events, right.events)};
}

function diff(call) {
	const two = pair(call);

	if (!two)
		return undefined;
	const {left, right, same, total} = two;
	const at = Math.floor(total * DIVERGE);
	const row = diffRow(at, total, same);
	const known = `${left.id} ${right.id}`;

	/* works for a moment the first time */
	call.world.diffs ??= new Map();
	const asked = (call.world.diffs.get(known) ?? 0) + 1;

	call.world.diffs.set(known, asked);
	if (asked < 3)
		return call.reply.json({left: left.id, right: right.id, state: "working", progress: asked / 3, equal: false, divergence: null, counts: {same: 0, changed: 0, only_left: 0, only_right: 0}, rows: 0,
			normalized: ["pids", "addresses", "times"], syscalls: [], output_equal: false});
	const other = new Map(syscalls(right).map(each => [each.name, each.calls]));

	return call.reply.json({left: left.id, right: right.id, state: "ready", progress: 1, equal: same,
		divergence: same ? null : {left: at + 1, right: at + 1, left_line: row.left_line, right_line: row.right_line, why: "the result differs: 2 / -1 EAGAIN", thread: 1},
		counts: {same: same ? total : Math.floor(total * 0.9), changed: same ? 0 : 41, only_left: same ? 0 : 17, only_right: same ? 0 : 23}, rows: total, normalized: ["pids", "addresses", "times"],
		syscalls: syscalls(left).map(each => ({name: each.name, left: each.calls, right: other.get(each.name) ?? 0})), output_equal: same});
}

function diffRows(call) {
	const two = pair(call);

	if (!two)
		return undefined;
	const limit = Math.min(1000, Number(call.query.get("limit") ?? 100));
	const offset = call.query.get("at") === "divergence" ? Math.max(0, Math.floor(two.total * DIVERGE) - limit / 2) : Number(call.query.get("offset") ?? 0);
	const length = Math.max(0, Math.min(limit, two.total - offset));

	return call.reply.json({items: Array.from({length}, (_, at) => diffRow(offset + at, two.total, two.same)), offset, total: two.total});
}

/* --- coverage --- */

function coverage({query, world, reply, headers}) {
	const ids = query.getAll("id");
	const chosen = ids.length ? ids.map(world.find).filter(Boolean) : world.recordings.slice(0, 400);
	const skipped = chosen.filter(rec => rec.state === "broken");
	const counted = chosen.filter(rec => rec.state !== "broken");
	const all = new Map();

	for (const rec of counted) {
		for (const row of syscalls(rec)) {
			const sum = all.get(row.name) ?? {number: row.number, name: row.name, class: row.class, calls: 0, recordings: 0};

			sum.calls += row.calls;
			sum.recordings++;
			all.set(row.name, sum);
		}
	}
	const rows = [...all.values()].sort((a, b) => a.number - b.number).map(row => handled(row));
	const totals = Object.fromEntries(["calls", "buffered", "executed", "answered", "refused", "did_not_return"].map(key => [key, rows.reduce((sum, row) => sum + row[key], 0)]));

	if (headers.accept === "text/csv")
		return reply.bytes(Buffer.from("number,name,calls\n" + rows.map(row => `${row.number},${row.name},${row.calls}\n`).join("")), "text/csv");
	return reply.json({recordings: chosen.map(rec => ({id: rec.id, command: rec.command})), counted: counted.length, not_counted: skipped.map(rec => rec.id), reasons: Object.fromEntries(skipped.map(rec => [rec.id, rec.error])), totals,
		syscalls: rows, never: TABLE.filter(row => !all.has(row.name)).map(({number, name, class: group}) => ({number, name, class: group}))});
}

function handled(row) {
	const buffered = ["read", "write", "clock_gettime", "fstat"].includes(row.name) ? Math.floor(row.calls * 0.8) : 0;
	const answered = row.name.startsWith("rt_") ? row.calls : 0;
	const gone = row.name === "exit_group" ? row.calls : 0;

	return {...row, buffered, executed: row.calls - buffered - answered - gone, answered, refused: 0, did_not_return: gone, adds_up: row.name !== "rseq"};
}

export function routes() {
	const of = make => ({params, world, reply}) => {
		const rec = world.find(params.id);

		return rec ? reply.json(make(rec)) : reply.problem(404, "no-such-recording", `there is no recording ${params.id}`);
	};

	return [
		["GET", "/recordings/{id}/summary", of(summary)],
		["GET", "/recordings/{id}/files", of(files)],
		["GET", "/recordings/{id}/sockets", of(() => SOCKETS)],
		["GET", "/recordings/{id}/processes", of(processes)],
		["GET", "/diff", diff],
		["GET", "/diff/rows", diffRows],
		["GET", "/coverage", coverage],
	];
}
