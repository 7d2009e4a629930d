/* Recordings, their jobs and sessions, the machine: everything of the API that is not about one recording's content. */

const LIST_MAX = 1000;
const hidden = ({etag: _etag, ...rest}) => rest;

function tag(one) {
	return `"${one.id.slice(0, 8)}-${one.etag}"`;
}

function matches(one, query) {
	const words = (query.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
	const text = `${one.command} ${one.label ?? ""} ${one.host} ${one.id}`.toLowerCase();
	const exit = query.get("exit");
	const how = one.exit.kind === "signaled" ? "signaled" : one.exit.kind !== "exited" ? null : one.exit.code ? "failed" : "ok";

	return words.every(word => text.includes(word)) && (!query.get("state") || query.getAll("state").flatMap(s => s.split(",")).includes(one.state)) &&
		(!query.get("label") || one.label === query.get("label")) && (!exit || exit.split(",").includes(how));
}

const SORTS = {
	started: one => one.started, duration: one => Number(one.duration_ns ?? -1), bytes: one => one.bytes, events: one => one.events,
	command: one => one.command, label: one => one.label ?? "", state: one => one.state,
};

function list({query, world, reply}) {
	const sort = query.get("sort") ?? "started";
	const value = SORTS[sort];
	const sign = (query.get("order") ?? "desc") === "asc" ? 1 : -1;
	const limit = Number(query.get("limit") ?? 100);
	const offset = Number(query.get("cursor") ?? 0);

	if (!value || !(limit >= 1 && limit <= LIST_MAX))
		return reply.problem(400, "bad-request", "sort or limit is not one of those there are");
	const found = world.recordings.filter(one => matches(one, query)).sort((a, b) => {
		if (sort === "started" && a.live !== b.live)
			return a.live ? -1 : 1;
		return sign * (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
	});
	const end = offset + limit;

	return reply.json({items: found.slice(offset, end).map(hidden), next_cursor: end < found.length ? String(end) : null, total: found.length});
}

function one(handler) {
	return call => {
		const found = call.world.find(call.params.id);

		return found ? handler({...call, one: found}) : call.reply.problem(404, "no-such-recording", `there is no recording ${call.params.id}`);
	};
}

function edited(handler) {
	return one(call => {
		if (!call.headers["if-match"])
			return call.reply.problem(428, "precondition-required", "If-Match is missing");
		if (call.headers["if-match"] !== tag(call.one))
			return call.reply.problem(412, "precondition-failed", "somebody else changed it");
		return handler(call);
	});
}

function detail({one: rec, reply}) {
	const argv = rec.command.split(" ");

	reply.json({...hidden(rec), argv, env: ["HOME=/root", "PATH=/usr/bin:/bin", "LANG=C.UTF-8"], cwd: "/srv/build", hermit_version: "0.6.0", kernel: "6.1.0-37-amd64",
		cpu_model: "AMD EPYC 7763", cpu: {family: 25, features: 31}, status: rec.exit.kind === "exited" ? rec.exit.code << 8 : null,
		warnings: rec.state === "truncated" ? ["the recording ends before the program"] : [], options: {chaos: false, timeslice_ms: 5, checksum: "off"},
		streams: [{name: "main", raw_bytes: rec.bytes * 4, stored_bytes: rec.bytes, sha256: "0x" + "ab".repeat(32)}], blobs: {count: 12, bytes: 4194304}, format: {major: 1, minor: 4},
		crash: rec.exit.kind === "signaled" ? {event: rec.events - 1, thread: 1, pid: 4711, signal: rec.exit.signal} : null}, {headers: {ETag: tag(rec)}});
}

function change({one: rec, body, world, reply}) {
	Object.assign(rec, {label: body.label === undefined ? rec.label : body.label || null, keep: body.keep ?? rec.keep, etag: rec.etag + 1});
	world.tell("recording", {id: rec.id, what: "changed"});
	reply.json(hidden(rec), {headers: {ETag: tag(rec)}});
}

function remove({one: rec, world, reply}) {
	if (rec.live)
		return reply.problem(409, "busy", "it is being recorded");
	world.recordings.splice(world.recordings.indexOf(rec), 1);
	world.tell("recording", {id: rec.id, what: "removed"});
	return reply.none();
}

function stop({one: rec, body, world, reply}) {
	if (!rec.live)
		return reply.problem(409, "conflict", "it is not being recorded");
	Object.assign(rec, {live: false, state: body?.mode === "cut" ? "truncated" : "complete", duration_ns: "20000000000",
		exit: {kind: "signaled", signal: body?.mode === "kill" ? "SIGKILL" : "SIGTERM"}, etag: rec.etag + 1});
	world.tell("recording", {id: rec.id, what: "changed"});
	return reply.json(hidden(rec));
}

function begin({body, world, reply}) {
	if (!Array.isArray(body.argv) || !body.argv.length)
		return reply.problem(400, "bad-request", "argv must be a list of strings");
	if (body.argv[0] === "./missing")
		return reply.problem(400, "bad-request", "cannot execute ./missing: No such file or directory");
	const id = (world.serial++).toString(16).padStart(32, "0");
	const rec = {...world.recordings[0], id, label: body.label ?? null, keep: Boolean(body.keep), state: "recording", live: true, reason: null, error: null, command: body.argv.join(" "),
		program: body.argv[0], started: new Date(world.now + world.serial * 1000).toISOString(), started_ns: `${world.now}000000`, duration_ns: null, exit: {kind: "running"},
		events: 12, processes: 1, threads: 1, bytes: 4096, host: "vm", user: "root", source: "daemon", bookmarks: 0, etag: 1};

	world.recordings.unshift(rec);
	world.tell("recording", {id, what: "added"});
	return reply.json(hidden(rec), {status: 201});
}

function receive({body, world, reply}) {
	if (body.length < 16)
		return reply.problem(422, "corrupt", "not an export of hermit: it ends after a few bytes");
	const rec = {...world.recordings.at(-1), id: (world.serial++).toString(16).padStart(32, "f"), label: "imported", state: "sealed", live: false, source: "import",
		started: new Date(world.now + world.serial).toISOString()};

	world.recordings.unshift(rec);
	world.tell("recording", {id: rec.id, what: "added"});
	return reply.json(hidden(rec), {status: 201});
}

/* --- jobs --- */

function job(kind) {
	return one(({one: rec, world, reply}) => {
		const work = {id: String(world.serial++), kind, recording: rec.id, state: "running", done: 0, total: rec.events, error: null,
			created: new Date(world.now).toISOString(), finished: null, result: null};
		const step = () => {
			if (work.state !== "running")
				return;
			work.done = Math.min(work.total, work.done + Math.ceil(work.total / 8));
			if (work.done === work.total)
				finish(work, rec, world);
			else
				setTimeout(step, 150).unref();
			world.tell("job", work);
		};

		world.jobs.unshift(work);
		setTimeout(step, 150).unref();
		world.tell("job", work);
		reply.json(work, {status: 202, headers: {Location: `/api/v1/jobs/${work.id}`}});
	});
}

function finish(work, rec, world) {
	work.state = rec.state === "broken" ? "failed" : "done";
	work.error = rec.error;
	work.finished = new Date(world.now + 1200).toISOString();
	work.result = work.state === "done" ? {seal: {before: rec.bytes * 4, after: rec.bytes}, "replay-check": {events: rec.events}}[work.kind] ?? {truncated: false} : null;
	if (work.kind === "seal" && work.state === "done")
		rec.state = "sealed";
	world.tell("recording", {id: rec.id, what: "changed"});
}

/* --- sessions --- */

function session({body, world, reply}) {
	const rec = world.find(body.recording);

	if (!rec)
		return reply.problem(404, "no-such-recording", `there is no recording ${body.recording}`);
	const place = `${body.pid ? ` -p ${body.pid}` : ""}${body.goto ? ` -g ${body.goto}` : ""}`;
	const port = 4700 + world.serial;
	const one_ = {id: String(world.serial++), recording: rec.id, kind: "gdb", pid: body.pid ?? 4711, goto: body.goto ?? null, state: "starting", error: null,
		address: {host: "127.0.0.1", port}, created: new Date(world.now).toISOString(), commands: {
			gdb: `gdb -q -ex 'target remote 127.0.0.1:${port}' /usr/bin/${rec.program.slice(0, 40)}`, local: `hermit replay ${rec.id}${place}`,
			vscode: `vscode://hermit.hermit-debug/open?recording=${rec.id}&target=127.0.0.1:${port}`}};

	world.sessions.unshift(one_);
	world.tell("session", one_);
	setTimeout(() => {
		one_.state = rec.state === "broken" ? "failed" : "ready";
		one_.error = rec.error;
		world.tell("session", one_);
	}, 300).unref();
	return reply.json(one_, {status: 201});
}

/* --- the machine --- */

function everything({world, reply}) {
	const out = reply.sse();
	const off = world.listen((event, data) => out.closed ? off() : out.send(event, data, world.serial));
}

function storage({world, reply}) {
	const used = world.recordings.reduce((sum, rec) => sum + rec.bytes, 0);

	reply.json({data_dir: "/root/.local/share/hermit", recordings: world.recordings.length, bytes_recordings: used, bytes_blobs: Math.floor(used * 0.4), bytes_free: 41 * 2 ** 30,
		floor: 2 ** 30, max_size: 200 * 2 ** 30, max_age_s: 30 * 86400});
}

export function routes(world) {
	const about = {name: "hermit", version: "0.6.0", commit: "19c20a3", built: "2026-11-30", api: "v1", read_only: world.readOnly, user: "root", host: "vm"};
	const settings = {data_dir: "/root/.local/share/hermit", runtime_dir: "/run/user/0/hermit", addresses: ["127.0.0.1:7777", "unix:/run/user/0/hermit/http"], hosts: [], read_only: world.readOnly, allow_start: true,
		keep_running: false, debuginfod: false, max_size: 200 * 2 ** 30, max_age_s: 30 * 86400, disk_floor: 2 ** 30, scan_every_s: 604800, max_recordings: 16, max_sessions: 16,
		max_inspectors: 4, max_upload: 64 * 2 ** 30, max_connections: 512};
	const find = (list, key) => call => {
		const found = list().find(each => each.id === call.params[key]);

		return found ? call.reply.json(found) : call.reply.problem(404, "not-found", "there is none with this id");
	};

	return [
		["GET", "/version", ({reply}) => reply.json(about)],
		["GET", "/settings", ({reply}) => reply.json(settings)],
		["GET", "/storage", storage],
		["GET", "/stream", everything],
		["POST", "/logout", ({reply}) => reply.none()],
		["GET", "/recordings", list],
		["POST", "/recordings", begin],
		["POST", "/recordings/import", receive],
		["GET", "/recordings/{id}", one(detail)],
		["PATCH", "/recordings/{id}", edited(change)],
		["DELETE", "/recordings/{id}", edited(remove)],
		["POST", "/recordings/{id}/stop", one(stop)],
		["POST", "/recordings/{id}/signal", one(({reply}) => reply.none())],
		["POST", "/recordings/{id}/seal", job("seal")],
		["POST", "/recordings/{id}/verify", job("verify")],
		["POST", "/recordings/{id}/replay-check", job("replay-check")],
		["GET", "/recordings/{id}/export", one(({one: rec, reply}) => reply.bytes(Buffer.from(rec.id.repeat(100)), "application/x-tar", {"Content-Disposition": `attachment; filename="${rec.id}.tar"`}))],
		["GET", "/jobs", ({reply}) => reply.json({items: world.jobs, next_cursor: null, total: world.jobs.length})],
		["GET", "/jobs/{jid}", find(() => world.jobs, "jid")],
		["DELETE", "/jobs/{jid}", call => {
			const found = world.jobs.find(each => each.id === call.params.jid);

			if (!found)
				return call.reply.problem(404, "not-found", "no such job");
			found.state = "cancelled";
			found.finished = new Date(world.now).toISOString();
			world.tell("job", found);
			return call.reply.none();
		}],
		["GET", "/sessions", ({reply}) => reply.json({items: world.sessions, next_cursor: null, total: world.sessions.length})],
		["POST", "/sessions", session],
		["GET", "/sessions/{sid}", find(() => world.sessions, "sid")],
		["DELETE", "/sessions/{sid}", call => {
			const at = world.sessions.findIndex(each => each.id === call.params.sid);

			if (at < 0)
				return call.reply.problem(404, "not-found", "no such session");
			const [gone] = world.sessions.splice(at, 1);

			world.tell("session", {...gone, state: "ended"});
			return call.reply.none();
		}],
	];
}
