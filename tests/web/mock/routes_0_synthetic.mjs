/* What is below one recording: events, timeline, state, bookmarks, from the formula of synthetic.mjs. The ids synthetic-1m (10^6 events), synthetic-small,
 * synthetic-xss (hostile strings in every field), synthetic-empty and synthetic-live (grows) are always there; recordings of the world get a short one. */
import {Synthetic} from "./synthetic.mjs";

const FIXED = {
	"synthetic-1m": {events: 1000000}, "synthetic-small": {events: 2000}, "synthetic-xss": {events: 3000, hostile: true},
	"synthetic-empty": {events: 0}, "synthetic-live": {events: 200000, live: true},
};
const SHORT = 20000;
const GROW_MS = 100;
const GROW_BY = 40;

function grow(s) {
	s.made = s.count;
	s.show(4000);
	const timer = setInterval(() => {
		s.show(Math.min(s.made, s.count + GROW_BY));
		s.listeners.forEach(tell => tell());
	}, GROW_MS);
	timer.unref();
}

function live({reply}, s) {
	const out = reply.sse();
	let id = 0;
	const tell = () => {
		if (out.closed) {
			s.listeners.delete(tell);
			return;
		}
		out.send("events", {last: s.count, time_ns: String(s.end)}, ++id);
		for (let i = s.count - GROW_BY; i <= s.count; i++)
			if (i > 0 && s.streamOf(i))
				out.send("output", {event: i, stream: s.streamOf(i)}, ++id);
	};
	s.listeners.add(tell);
}

function range(header, bytes) {
	const m = /^bytes=(\d+)-(\d*)$/.exec(header ?? "");
	return m ? [Number(m[1]), Math.min(bytes.length - 1, m[2] ? Number(m[2]) : bytes.length - 1)] : null;
}

function answer(call, s, rest) {
	const {reply, query, body, request, response, headers} = call;
	if (rest === "/stream" && request.method === "GET")
		return live(call, s);
	const a = s.handle(request.method, rest, query, body);
	if (!a)
		return reply.problem(404, "not-found", `nothing at ${rest}`);
	if (a.status === 204)
		return reply.none();
	if (a.bytes) {
		const part = range(headers.range, a.bytes);
		if (!part)
			return reply.bytes(a.bytes);
		response.writeHead(206, {"Content-Type": "application/octet-stream", "Content-Range": `bytes ${part[0]}-${part[1]}/${a.bytes.length}`});
		return response.end(a.bytes.subarray(part[0], part[1] + 1));
	}
	if (a.status >= 400)
		return reply.problem(a.status, a.json.code, a.json.detail, a.json);
	return reply.json(a.json, {status: a.status, headers: {ETag: `"${s.id}-${s.bookmarkSerial}"`}});
}

/** Parts of a recording's path, so that each literal id and {id} can be routed. */
const PATHS = ["/processes", "/timeline", "/console", "/stream", "/source", "/events", "/events/locate", "/events/{n}", "/events/{n}/{what}", "/events/{n}/buffers/{i}", "/bookmarks", "/bookmarks/{b}"];

export function routes(world) {
	const made = new Map();
	const get = id => {
		if (!made.has(id)) {
			const rec = FIXED[id] ? null : world.find(id);
			const s = new Synthetic({id, ...FIXED[id] ?? {events: Math.min(SHORT, rec?.events ?? 0), threads: Math.min(8, rec?.threads || 1)}});
			s.listeners = new Set();
			made.set(id, s);
			if (s.live)
				grow(s);
		}
		return made.get(id);
	};
	const handler = id => call => {
		const name = id ?? call.params.id;
		if (!id && !world.find(name))
			return call.reply.problem(404, "no-such-recording", `there is no recording ${name}`);
		const path = new URL(call.request.url, "http://x").pathname.split("/").slice(5).join("/");
		return answer(call, get(name), path ? `/${path}` : "");
	};
	const table = [];
	for (const id of Object.keys(FIXED)) {
		for (const path of ["", "/summary", ...PATHS])
			table.push(["GET", `/recordings/${id}${path}`, handler(id)]);
		table.push(["POST", `/recordings/${id}/bookmarks`, handler(id)], ["PATCH", `/recordings/${id}/bookmarks/{b}`, handler(id)], ["DELETE", `/recordings/${id}/bookmarks/{b}`, handler(id)]);
	}
	for (const path of PATHS)
		table.push(["GET", `/recordings/{id}${path}`, handler(null)]);
	table.push(["POST", "/recordings/{id}/bookmarks", handler(null)], ["PATCH", "/recordings/{id}/bookmarks/{b}", handler(null)], ["DELETE", "/recordings/{id}/bookmarks/{b}", handler(null)]);
	return table;
}
