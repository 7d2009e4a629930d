// A recording made by a formula: any number of events, nothing kept on disk, the same bytes on each run. It answers what docs/HTTP.md says
// of /recordings/ID and what is below it, so that the page can be tried with 10^6 events without recording them.
//
// The rows live in typed arrays; whatever is text is computed from the number of the event when it is asked for.
import {compileFilter, FilterError} from "./synthetic_filter.mjs";
import {inspect} from "./synthetic_state.mjs";

export const CALLS = [
	["read", 0, "file,desc"], ["write", 1, "file,desc"], ["openat", 257, "file"], ["close", 3, "desc"], ["futex", 202, "ipc"],
	["mmap", 9, "mem"], ["epoll_wait", 232, "desc"], ["recvfrom", 45, "net"], ["sendto", 44, "net"], ["newfstatat", 262, "file"],
	["munmap", 11, "mem"], ["clock_nanosleep", 230, "time"],
];
const CALL = Object.fromEntries(CALLS.map(([name], i) => [name, i]));
const WEIGHTED = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 6, 6, 7, 8, 9, 9, 9, 10, 11, 4];
const BLOCKING = new Set([CALL.futex, CALL.epoll_wait, CALL.recvfrom, CALL.clock_nanosleep]);
export const KINDS = ["exec", "syscall", "syscall-enter", "syscall-exit", "signal", "sched", "async-point", "buffer", "tsc", "cpuid", "birth", "exit"];
const KIND = Object.fromEntries(KINDS.map((k, i) => [k, i + 1]));
const PATHS = ["/etc/passwd", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/var/lib/store/segment-", "/tmp/build/obj-", "/proc/self/maps", "/etc/ssl/openssl.cnf"];
const HOSTILE = "<img src=x onerror=\"window.__xss=1\"><script>window.__xss=1</script>\u202e\u0007'\"`${1}";
const THREADS = [[1, 0, "server"], [2, 1, "net-0"], [3, 1, "net-1"], [4, 1, "compact"], [5, 0, "worker"], [6, 5, "worker-io"], [7, 0, "logger"], [8, 0, "sh"]];

/** A well-mixed 32-bit number of n. */
export function mix(n) {
	n = Math.imul(n ^ (n >>> 16), 0x45d9f3b);
	n = Math.imul(n ^ (n >>> 16), 0x45d9f3b);
	return (n ^ (n >>> 16)) >>> 0;
}

export class Synthetic {
	constructor({id = "synthetic-1m", events = 1000000, threads = 8, hostile = false, live = false} = {}) {
		Object.assign(this, {id, count: events, live, hostile});
		this.threads = THREADS.slice(0, threads);
		this.bookmarks = [];
		this.nextBookmark = 1;
		this.searches = new Map();
		this.#make();
		this.bookmarkSerial = 0;
		if (!live && events > 0)
			this.addBookmark({event: Math.max(1, Math.floor(events / 3)), text: this.dirty("here the queue begins to grow")});
	}

	dirty(text) {
		return this.hostile ? `${text} ${HOSTILE}` : text;
	}

	#make() {
		const n = this.count;
		this.time = new Float64Array(n + 2);
		this.thread = new Uint8Array(n + 2);
		this.kind = new Uint8Array(n + 2);
		this.call = new Uint8Array(n + 2);
		this.failed = new Uint8Array(n + 2);
		this.duration = new Uint32Array(n + 2);
		this.next = new Uint32Array(n + 2);
		this.previous = new Uint32Array(n + 2);
		const tails = new Uint32Array(16);
		let t = 0;
		for (let i = 1; i <= n; i++) {
			const r = mix(i);
			const phase = (i / n) * 40;
			t += 600 + (r % 1800) * (1 + Math.pow(Math.sin(phase), 8) * 9) + (r % 9973 === 0 ? 900000 : 0);
			this.time[i] = Math.floor(t);
			this.thread[i] = this.#threadOf(i, r, phase);
			this.kind[i] = KIND.syscall;
			this.call[i] = WEIGHTED[(r >>> 8) % WEIGHTED.length];
			this.failed[i] = (r >>> 5) % 61 === 0 ? 1 : 0;
			this.duration[i] = BLOCKING.has(this.call[i]) ? 2000 + (r >>> 12) % 400000 : 0;
			if (r % 20011 === 7)
				this.kind[i] = KIND.signal;
		}
		this.#births();
		for (let i = 1; i <= n; i++) {
			const tail = tails[this.thread[i]];
			this.previous[i] = tail;
			if (tail)
				this.next[tail] = i;
			tails[this.thread[i]] = i;
		}
		this.end = this.time[n] ?? 0;
		this.crash = this.live || n < 50 ? null : {event: n - 3, thread: this.thread[n - 3], pid: 0, signal: "SIGSEGV"};
		if (this.crash) {
			this.kind[n - 3] = KIND.signal;
			this.crash.pid = this.pidOf(this.crash.thread);
		}
	}

	/** Live recordings: how many of the events have happened. */
	show(count) {
		this.count = count;
		this.end = this.time[count];
	}

	#threadOf(i, r, phase) {
		const live = this.threads.length;
		if (i <= live * 4)
			return 1;
		const busy = 1 + Math.floor(Math.abs(Math.sin(phase / 3)) * live) % live;
		return (r >>> 3) % 3 === 0 ? busy : 1 + (r >>> 17) % live;
	}

	#births() {
		this.first = [0];
		if (this.count === 0)
			return;
		this.kind[1] = KIND.exec;
		this.first[1] = 1;
		for (let i = 1; i < this.threads.length; i++) {
			const at = i * 4;
			if (at > this.count)
				break;
			this.kind[at] = KIND.birth;
			this.call[at] = i;
			this.first[i + 1] = at;
		}
	}

	pidOf(thread) {
		const [number, leader] = this.threads[thread - 1];
		return 4100 + (leader || number);
	}

	/** The printed halves of an event: what stands in the columns. */
	text(i) {
		const r = mix(i * 7 + 1);
		const fd = 3 + r % 28;
		const failed = this.failed[i] === 1;
		const wrong = name => ({result: `-1 ${name}`, errno: name});
		const n = r % 4096;
		switch (this.kind[i]) {
		case KIND.exec: return {name: "exec", args: this.dirty('"/usr/bin/server", ["server", "--threads", "8"]'), result: ""};
		case KIND.birth: return {name: "birth", args: `thread ${this.call[i] + 1}`, result: ""};
		case KIND.signal: return {name: i === this.crash?.event ? "SIGSEGV" : "SIGCHLD", args: i === this.crash?.event ? "SEGV_MAPERR, addr 0x10" : "CLD_EXITED, pid 4177", result: ""};
		}
		switch (CALLS[this.call[i]][0]) {
		case "read": return {name: "read", args: `${fd}, "${this.dirty("GET /v1/items/" + n)}\\r\\n"..., 4096`, ...(failed ? wrong("EAGAIN") : {result: String(n)})};
		case "write": return {name: "write", args: `${this.streamOf(i) ? (this.streamOf(i) === "stdout" ? 1 : 2) : fd}, "${this.dirty("item " + n)}\\n", ${n}`, ...(failed ? wrong("EPIPE") : {result: String(n)})};
		case "openat": return {name: "openat", args: `AT_FDCWD, "${this.path(i)}", O_RDONLY|O_CLOEXEC`, ...(failed ? wrong("ENOENT") : {result: String(fd)})};
		case "close": return {name: "close", args: String(fd), ...(failed ? wrong("EBADF") : {result: "0"})};
		case "futex": return {name: "futex", args: `0x7f21c0${(r & 0xfff).toString(16).padStart(3, "0")}, FUTEX_WAIT_PRIVATE, 2, NULL`, ...(failed ? wrong("EAGAIN") : {result: "0"})};
		case "mmap": return {name: "mmap", args: `NULL, ${4096 * (1 + r % 64)}, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0`, ...(failed ? wrong("ENOMEM") : {result: `0x7f21${(r & 0xffff).toString(16)}000`})};
		case "epoll_wait": return {name: "epoll_wait", args: "4, [{EPOLLIN, 17}], 64, -1", ...(failed ? wrong("EINTR") : {result: "1"})};
		case "recvfrom": return {name: "recvfrom", args: `${fd}, "\\x00\\x01${n}"..., 8192, 0, NULL, NULL`, ...(failed ? wrong("ECONNRESET") : {result: String(n)})};
		case "sendto": return {name: "sendto", args: `${fd}, "HTTP/1.1 200 OK"..., ${n}, MSG_NOSIGNAL, NULL, 0`, ...(failed ? wrong("EPIPE") : {result: String(n)})};
		case "newfstatat": return {name: "newfstatat", args: `AT_FDCWD, "${this.path(i)}", {st_mode=S_IFREG|0644, st_size=${n}}, 0`, ...(failed ? wrong("ENOENT") : {result: "0"})};
		case "munmap": return {name: "munmap", args: `0x7f21${(r & 0xffff).toString(16)}000, ${4096 * (1 + r % 64)}`, ...(failed ? wrong("EINVAL") : {result: "0"})};
		default: return {name: "clock_nanosleep", args: "CLOCK_MONOTONIC, 0, {0, 250000}, NULL", ...(failed ? wrong("EINTR") : {result: "0"})};
		}
	}

	path(i) {
		const p = PATHS[mix(i + 3) % PATHS.length];
		return this.dirty(p.endsWith("-") ? p + (mix(i) % 400) : p);
	}

	classOf(i) {
		return CALLS[this.call[i]][2].split(",");
	}

	streamOf(i) {
		if (this.kind[i] !== KIND.syscall || this.call[i] !== CALL.write || mix(i + 11) % 40 !== 0)
			return null;
		return mix(i + 12) % 5 === 0 ? "stderr" : "stdout";
	}

	row(i) {
		const {name, args, result, errno = null} = this.text(i);
		const thread = this.thread[i];
		return {
			number: i, time_ns: String(this.time[i]), thread, pid: this.pidOf(thread), tid: 4100 + thread,
			kind: KINDS[this.kind[i] - 1], name, args, result, errno, failed: errno !== null,
			duration_ns: this.kind[i] === KIND.syscall && this.duration[i] ? String(this.duration[i]) : null, stream: this.streamOf(i), flags: [], partner: null,
		};
	}

	recording() {
		const n = this.count;
		return {
			id: this.id, label: this.hostile ? this.dirty("label") : n >= 1e6 ? "load test, 8 threads" : null, keep: false, state: this.live ? "recording" : "complete", reason: null, error: null, live: this.live,
			command: this.dirty("server --threads 8 --listen 127.0.0.1:8080"), program: this.dirty("server"),
			started: "2026-11-30T22:34:53.347Z", started_ns: "1796078093347000000", duration_ns: this.live ? null : String(this.end),
			exit: this.live ? {kind: "running"} : this.crash ? {kind: "signaled", signal: "SIGSEGV"} : {kind: "exited", code: 0},
			events: n, processes: 4, threads: this.threads.length, bytes: n * 31, host: "vm", user: "root", source: "daemon", bookmarks: this.bookmarks.length,
			argv: ["server", "--threads", "8"], env: [this.dirty("LANG=C.UTF-8")], cwd: this.dirty("/srv"), hermit_version: "0.1", kernel: "Linux 6.1", cpu_model: "synthetic", cpu: {},
			status: null, warnings: this.hostile ? [HOSTILE] : [], options: {}, streams: [], blobs: {count: 0, bytes: 0}, format: {major: 1, minor: 0}, crash: this.crash,
		};
	}

	processes() {
		const leaders = this.threads.filter(([, leader]) => !leader);
		const life = t => ({first_event: this.first[t] ?? 1, last_event: this.count, start_ns: String(this.time[this.first[t] ?? 1]), end_ns: this.live ? null : String(this.end)});
		return {items: leaders.map(([number, , name]) => ({
			thread: number, parent: number === 1 ? 0 : 1, pid: 4100 + number, exe: this.dirty(`/usr/bin/${name}`), command: this.dirty(`${name} --threads 8`),
			exit: number === this.crash?.thread ? {kind: "signaled", signal: "SIGSEGV"} : {kind: this.live ? "running" : "exited", code: 0}, ...life(number),
			threads: this.threads.filter(([t, leader]) => t === number || leader === number).map(([t, , label]) => ({number: t, tid: 4100 + t, name: this.dirty(label), ...life(t)})),
		})), complete: true};
	}

	/** Matches of a filter so far; goes on for at most budget_ms. */
	search(params, budget = 200) {
		const key = JSON.stringify([...params].filter(([k]) => !["offset", "limit", "event", "dir"].includes(k)));
		let s = this.searches.get(key);
		if (!s) {
			s = {...compileFilter(params, this), hits: [], scanned: 0};
			this.searches.set(key, s);
		}
		const until = Date.now() + budget;
		while (s.match && s.scanned < this.count && (s.scanned % 4096 || Date.now() < until))
			if (s.match(++s.scanned))
				s.hits.push(s.scanned);
		return s;
	}

	events(params) {
		const s = this.search(params);
		const limit = Math.min(1000, Number(params.get("limit") ?? 100));
		let offset = Number(params.get("offset") ?? 0);
		const total = s.match ? s.hits.length : this.count;
		if (params.has("event"))
			offset = s.match ? lowerBound(s.hits, Number(params.get("event"))) : Number(params.get("event")) - 1;
		const items = [];
		for (let i = offset; i < Math.min(total, offset + limit); i++)
			items.push(this.row(s.match ? s.hits[i] : i + 1));
		return {items, offset, total, complete: !s.match || s.scanned >= this.count, scanned: s.match ? s.scanned : this.count, last: this.count, filter: s.terms};
	}

	locate(params) {
		const s = this.search(params, 2000);
		const event = Number(params.get("event") ?? 1);
		const dir = params.get("dir") ?? "nearest";
		if (!s.match) {
			const at = Math.min(this.count, Math.max(1, event + (dir === "next" ? 1 : dir === "previous" ? -1 : 0)));
			return {event: at, offset: at - 1, complete: true, total: this.count};
		}
		let at = lowerBound(s.hits, dir === "next" ? event + 1 : event);
		if (dir === "previous" || (dir === "nearest" && at >= s.hits.length))
			at--;
		const [found, offset] = at >= 0 && at < s.hits.length ? [s.hits[at], at] : [null, null];
		return {event: found, offset, complete: s.scanned >= this.count, total: s.hits.length};
	}

	timeline(params) {
		const from = Number(params.get("from_ns") ?? 0);
		const to = Math.max(from + 1, Number(params.get("to_ns") ?? this.end));
		const buckets = Math.min(4000, Math.max(10, Number(params.get("buckets") ?? 1200)));
		const width = (to - from) / buckets;
		const lanes = this.threads.map(([t, leader, name]) => ({total: 0, thread: t, process: leader || t, tid: 4100 + t, pid: this.pidOf(t), name: this.dirty(name), start_ns: String(this.time[this.first[t] ?? 1]), end_ns: this.live ? null : String(this.end),
			counts: new Array(buckets).fill(0), errors: new Array(buckets).fill(0), blocked: new Array(buckets).fill(0)}));
		const start = lowerBound(this.time.subarray(1, this.count + 1), from) + 1;
		const marks = this.marks().filter(m => Number(m.time_ns) >= from && Number(m.time_ns) < to);
		const events = [];
		let i = start;
		for (; i <= this.count && this.time[i] < to; i++) {
			const b = Math.min(buckets - 1, Math.floor((this.time[i] - from) / width));
			const lane = lanes[this.thread[i] - 1];
			lane.total++;
			lane.counts[b]++;
			lane.errors[b] += this.failed[i];
			if (this.duration[i])
				lane.blocked[b] = Math.min(255, lane.blocked[b] + Math.floor(this.duration[i] / width * 255));
			if (events.length <= buckets * 4)
				events.push([i, this.time[i] - from, this.thread[i], this.kind[i], CALLS[this.call[i]][1], this.failed[i], this.duration[i] ? this.time[i] - from + this.duration[i] : 0]);
		}
		return {from_ns: String(from), to_ns: String(to), bucket_ns: String(Math.ceil(width)), buckets, end_ns: String(this.end), last: this.count, complete: true, lanes_total: lanes.length, lanes, marks, events: i - start <= buckets * 4 ? events : null};
	}

	marks() {
		const out = this.crash ? [{event: this.crash.event, thread: this.crash.thread, kind: "fatal", text: "SIGSEGV"}] : [];
		this.bookmarks.forEach(b => out.push({event: b.event, thread: this.thread[b.event], kind: "bookmark", text: b.text}));
		this.first.forEach((e, t) => t && out.push({event: e, thread: t, kind: t === 1 ? "exec" : "birth", text: this.dirty(this.threads[t - 1][2])}));
		this.signals ??= Array.from({length: this.count}, (_, i) => i + 1).filter(i => this.kind[i] === KIND.signal).slice(0, 60);
		this.signals.forEach(e => e !== this.crash?.event && out.push({event: e, thread: this.thread[e], kind: "signal", text: "SIGCHLD"}));
		return out.map(m => ({...m, time_ns: String(this.time[m.event])}));
	}

	console(params) {
		const limit = Math.min(1000, Number(params.get("limit") ?? 100));
		const items = [];
		let i = Number(params.get("after") ?? 0) + 1;
		for (; i <= this.count && items.length < limit; i++) {
			const stream = this.streamOf(i);
			if (!stream)
				continue;
			const text = stream === "stderr" ? `\u001b[33mwarn\u001b[0m queue ${mix(i) % 90} deep\n` : `${this.dirty("served item " + mix(i) % 4096)} in \u001b[1m${mix(i) % 80} ms\u001b[0m\n`;
			items.push({event: i, time_ns: String(this.time[i]), thread: this.thread[i], pid: this.pidOf(this.thread[i]), stream, text, bytes: text.length});
		}
		return {items, next_after: i <= this.count ? i - 1 : null, complete: !this.live};
	}

	addBookmark({event, text = "", thread = null, position = null}) {
		const b = {id: String(this.nextBookmark++), event, position, thread, text, author: "root", created: "2026-11-30T22:40:00.000Z", changed: "2026-11-30T22:40:00.000Z"};
		this.bookmarks.push(b);
		return b;
	}

	/**
	 * Answers a request below /api/v1/recordings/ID.
	 * @returns {{status: number, json?: object, bytes?: Buffer, text?: string, type?: string}|null} null: not ours
	 */
	handle(method, path, params, body = null) {
		try {
			return this.#route(method, path, params, body);
		} catch (e) {
			if (!(e instanceof FilterError))
				throw e;
			return problem(422, "bad-filter", e.message, {offset: e.offset, length: e.length});
		}
	}

	#route(method, path, params, body) {
		const json = (value, status = 200) => ({status, json: value});
		const [head, a, b] = path.replace(/^\//, "").split("/");
		if (head === "bookmarks")
			return this.#bookmark(method, a, body);
		if (method !== "GET" && method !== "HEAD")
			return head === "" && method === "PATCH" ? json(this.recording()) : null;
		switch (head) {
		case "": return json(this.recording());
		case "processes": return json(this.processes());
		case "timeline": return json(this.timeline(params));
		case "console": return json(this.console(params));
		case "summary": return json(this.summary());
		case "events":
			if (!a)
				return json(this.events(params));
			if (a === "locate")
				return json(this.locate(params));
			if (!(Number(a) >= 1 && Number(a) <= this.count))
				return problem(404, "no-such-event", `event ${a} is not in this recording`);
			return inspect(this, Number(a), b, path, params);
		case "source": return inspect(this, 1, "source", path, params);
		default: return null;
		}
	}

	summary() {
		const calls = new Uint32Array(CALLS.length);
		const errors = new Uint32Array(CALLS.length);
		for (let i = 1; i <= this.count; i++)
			if (this.kind[i] === KIND.syscall) {
				calls[this.call[i]]++;
				errors[this.call[i]] += this.failed[i];
			}
		return {events: this.count, calls: calls.reduce((x, y) => x + y), kinds: {syscall: this.count}, complete: true, children: 3, execs: [], notes: [],
			syscalls: CALLS.map(([name, number, cls], i) => ({number, name, class: cls, calls: calls[i], errors: errors[i], refused: 0, blocked_ns: "0", errnos: {}, first_event: 1})), signals: []};
	}

	#bookmark(method, id, body) {
		this.bookmarkSerial += method === "GET" ? 0 : 1;
		const at = this.bookmarks.findIndex(b => b.id === id);
		if (method === "GET" && id)
			return at < 0 ? problem(404, "not-found", "no such bookmark") : {status: 200, json: this.bookmarks[at]};
		if (method === "GET")
			return {status: 200, json: {items: this.bookmarks, next_cursor: null, total: this.bookmarks.length} };
		if (method === "POST")
			return {status: 201, json: this.addBookmark(body)};
		if (at < 0)
			return problem(404, "not-found", "no such bookmark");
		if (method === "DELETE") {
			this.bookmarks.splice(at, 1);
			return {status: 204};
		}
		Object.assign(this.bookmarks[at], body);
		return {status: 200, json: this.bookmarks[at]};
	}
}

export function problem(status, code, detail, more = {}) {
	return {status, type: "application/problem+json", json: {type: `/problems/${code}`, title: code, status, detail, code, ...more} };
}

function lowerBound(list, value) {
	let lo = 0;
	let hi = list.length;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (list[mid] < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
