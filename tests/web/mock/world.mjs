/* The made-up machine: recordings, jobs, sessions, and what happens while one looks. The same each time: no clock, no random numbers but its own. */

const NOW = Date.UTC(2026, 10, 30, 22, 34, 53, 347);
const HOSTILE = ["<img src=x onerror=alert(1)>", "\"><script>alert(document.domain)</script>", "\u202Egnp.exe", "a\u0001b\u001B[31mred", "javascript:alert(1)", "x".repeat(300)];
const COMMANDS = [
	["make -j2", "make"], ["./server --port 8080 --workers 4", "server"], ["python3 -m pytest tests/ -q", "python3"], ["redis-server redis.conf", "redis-server"],
	["sqlite3 test.db 'select count(*) from t'", "sqlite3"], ["go test ./...", "go"], ["bash -c 'find / -name \"*.conf\" | wc -l'", "bash"], ["node index.mjs", "node"],
	["gcc -O2 -o hello hello.c", "gcc"], ["curl -s http://localhost:8080/health", "curl"], ["java -jar app.jar --spring.profiles.active=ci", "java"], ["./flaky-test --seed 4711", "flaky-test"],
];
const LABELS = [null, null, null, "nightly", "flaky test", null, "ticket 4711", null, "before the fix"];

/** A small generator of numbers (mulberry32): the same seed, the same numbers. */
export function numbers(seed) {
	let a = seed >>> 0;

	return () => {
		a = (a + 0x6d2b79f5) >>> 0;
		let t = Math.imul(a ^ (a >>> 15), a | 1);

		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	};
}

function stateOf(at, next) {
	if (at < 3)
		return "recording";
	const x = next();

	return x < 0.55 ? "sealed" : x < 0.88 ? "complete" : x < 0.97 ? "truncated" : "broken";
}

function exitOf(state, next) {
	const x = next();

	if (state === "recording")
		return {kind: "running"};
	if (state === "broken" || (state === "truncated" && x < 0.5))
		return {kind: "unknown"};
	if (x < 0.72)
		return {kind: "exited", code: 0};
	if (x < 0.88)
		return {kind: "exited", code: [1, 2, 127, 139][Math.floor(next() * 4)]};
	return {kind: "signaled", signal: ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGTERM"][Math.floor(next() * 4)]};
}

function recording(at) {
	const next = numbers(1000 + at);
	const hostile = at >= 5 && at < 5 + HOSTILE.length ? HOSTILE[at - 5] : null;
	const [command, program] = hostile ? [`./run ${hostile}`, hostile] : COMMANDS[Math.floor(next() * COMMANDS.length)];
	const state = stateOf(at, next);
	const started = NOW - Math.floor(at < 3 ? at * 90000 + 20000 : 900000 + at * at * 4000 + next() * 60000);
	const events = Math.floor(10 ** (2 + next() * 4));
	const processes = 1 + Math.floor(next() ** 3 * 40);

	return {
		id: Array.from({length: 4}, () => Math.floor(next() * 4294967296).toString(16).padStart(8, "0")).join(""),
		label: hostile && at % 2 ? hostile : LABELS[Math.floor(next() * LABELS.length)], keep: next() < 0.06, state,
		reason: state === "truncated" ? ["the recorder was killed", "disk space fell below the floor"][at % 2] : null,
		error: state === "broken" ? "frame 12 of main: checksum does not match" : null, live: state === "recording",
		command, program, started: new Date(started).toISOString(), started_ns: `${started}000000`,
		duration_ns: state === "recording" || state === "broken" ? null : String(Math.floor(10 ** (6.5 + next() * 6))),
		exit: exitOf(state, next), events, processes, threads: processes + Math.floor(next() * 12), bytes: Math.floor(events * (30 + next() * 400)),
		host: at % 11 === 4 ? "ci-runner-3" : "vm", user: "root", source: at % 11 === 4 ? "import" : at < 3 ? "daemon" : "local", bookmarks: Math.floor(next() ** 4 * 9),
		etag: 1,
	};
}

const COUNTS = {many: 2000, few: 24, empty: 0, "read-only": 24, login: 24, broken: 24, slow: 24};
const REFUSE = {login: [401, "unauthorized", "a token or a login is needed"], broken: [500, "internal", "the catalog could not be read: Input/output error"]};

export function makeWorld(scenario) {
	const listeners = new Set();
	const world = {
		now: NOW,
		recordings: Array.from({length: COUNTS[scenario] ?? 2000}, (_, at) => recording(at)),
		jobs: [], sessions: [], bookmarks: new Map(), serial: 1,
		readOnly: scenario === "read-only", refuse: REFUSE[scenario] ?? null, delayMs: scenario === "slow" ? 1500 : 0,
		find: id => world.recordings.find(one => one.id === id),
		/* tell all streams: fn(event, data) */
		listen(fn) {
			listeners.add(fn);
			return () => listeners.delete(fn);
		},
		tell: (event, data) => listeners.forEach(fn => fn(event, data)),
		stop: () => clearInterval(timer),
	};
	/* what records goes on recording */
	const timer = setInterval(() => {
		for (const one of world.recordings.filter(each => each.live)) {
			one.events += 137;
			one.bytes += 9216;
			world.tell("recording", {id: one.id, what: "changed"});
		}
	}, 1000);

	timer.unref();
	return world;
}
