/* Where recordings come from in tests: a program that answers as hermit does, and a hermitd. */
"use strict";
const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");

const ID = "11111111111111111111111111111111";
const OTHER = "22222222222222222222222222222222";
const BROKEN = "33333333333333333333333333333333";

const ROWS = [
	{id: BROKEN, error: "the manifest is damaged", bytes: "10"},
	{id: ID, label: null, state: "complete", command: "/bin/echo hi", start: "2026-11-30T10:00:00.000Z", duration_ns: "17602760", exit_code: 0, signal: null, events: "189", bytes: "75550"},
];
const ITEMS = [
	{id: OTHER, label: "nightly", state: "sealed", error: null, live: false, command: "make -j2", started: "2026-11-30T11:00:00.000Z", duration_ns: "2500000000", exit: {kind: "signaled", signal: "SIGSEGV"}, events: 12034, bytes: 3000000},
	{id: ID, label: null, state: "complete", error: null, live: false, command: "/bin/echo hi", started: "2026-11-30T10:00:00.000Z", duration_ns: "17602760", exit: {kind: "exited", code: 0}, events: 189, bytes: 75550},
];

/** Puts a hermit in the settings; gives a function: the calls so far, as {words, content of the imported file, dataDir}. */
function fakeHermit(t, w, {rows = ROWS, fail = null} = {}) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), "fake-hermit-"));
	const file = path.join(dir, "hermit");
	const log = path.join(dir, "log");

	fs.writeFileSync(file, `#!${process.execPath}
const fs = require("fs");
const words = process.argv.slice(2);
const content = words[1] === "import" ? fs.readFileSync(words[2], "latin1") : null;
fs.appendFileSync(${JSON.stringify(log)}, JSON.stringify({words, content, dataDir: process.env.HERMIT_DATA_DIR ?? null}) + "\\n");
const fail = ${JSON.stringify(fail)};
if (fail) { console.error("hermit: first line\\n" + fail); process.exit(1); }
if (words.join(" ") === "record list --json") console.log(${JSON.stringify(JSON.stringify(rows))});
`, {mode: 0o755});
	w.settings.hermitPath = file;
	t.after(() => fs.rmSync(dir, {recursive: true, force: true}));
	return () => fs.existsSync(log) ? fs.readFileSync(log, "utf8").trim().split("\n").map(line => JSON.parse(line)) : [];
}

/** A hermitd, put in the settings with its token: {url, asked: [{path, token}], token, dataDir, items, redirect, status}; its members can be changed. */
async function mockHermitd(t, w) {
	const it = {asked: [], token: "secret", dataDir: "", items: ITEMS, redirect: null, raw: null};
	const server = http.createServer((request, reply) => {
		const answer = (status, body, type = "application/json") => {
			reply.writeHead(status, {"Content-Type": type});
			reply.end(typeof body === "string" ? body : JSON.stringify(body));
		};
		const {pathname} = new URL(request.url, "http://x");

		it.asked.push({path: pathname, token: request.headers.authorization ?? null});
		if (it.redirect) {
			reply.writeHead(302, {Location: it.redirect + request.url});
			reply.end();
		} else if (request.headers.authorization !== `Bearer ${it.token}`) {
			answer(401, {code: "unauthorized", detail: "a token is needed"}, "application/problem+json");
		} else if (it.raw !== null) {
			answer(200, it.raw);
		} else if (pathname === "/api/v1/recordings") {
			answer(200, {items: it.items, next_cursor: null, total: it.items.length});
		} else if (pathname === "/api/v1/storage") {
			answer(200, {data_dir: it.dataDir});
		} else {
			answer(200, "an export", "application/x-tar");
		}
	});

	await new Promise(resolve => server.listen(0, "127.0.0.1", resolve));
	t.after(() => {
		server.closeAllConnections();
		server.close();
	});
	it.url = `http://127.0.0.1:${server.address().port}`;
	it.server = server;
	Object.assign(w.settings, {server: it.url, token: it.token});
	return it;
}

module.exports = {BROKEN, ID, OTHER, fakeHermit, mockHermitd};
