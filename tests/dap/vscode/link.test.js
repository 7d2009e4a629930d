/* Links from strangers. */
"use strict";
const assert = require("node:assert/strict");
const {test} = require("node:test");
const {world} = require("./stub.js");

const {LinkError, parseLink, parseServer, parseTarget, linkConfiguration, isLocalHost} = world().load("src/link.js");
const ID = "0123456789abcdef0123456789abcdef";
const open = query => parseLink({path: "/open", query});

test("a link says recording, process, place and server", () => {
	const link = open(`recording=${ID}&process=77&event=120&server=http://127.0.0.1:7777`);

	assert.deepEqual(link, {recording: ID, process: 77, stopAt: 120, server: "http://127.0.0.1:7777", target: null, strangers: []});
	assert.deepEqual(linkConfiguration(link), {type: "hermit", request: "launch", name: "Recording 01234567", recording: ID, process: 77, stopAt: 120, server: "http://127.0.0.1:7777"});
	assert.equal(open(`recording=${ID}&at=start`).stopAt, "entry");
	assert.equal(open(`recording=${ID}&at=1.5s`).stopAt, "1.5s");
	assert.deepEqual(linkConfiguration(open(`recording=${ID}&target=127.0.0.1:4711`)), {type: "hermit", request: "attach", name: "Recording 01234567", target: "127.0.0.1:4711"});
});

test("a link from hermitd's encoder is read", () => {
	assert.equal(open(`recording=${ID}&server=http%3A%2F%2Flocalhost%3A7777`).server, "http://localhost:7777");
	assert.equal(open(`recording=${ID}&target=%5B%3A%3A1%5D%3A4711`).target, "[::1]:4711");
});

test("hosts that are not this machine are named", () => {
	for (const [query, host] of [
		["server=https://evil.example", "https://evil.example"], ["server=http://127.0.0.1.evil.example:7777", "http://127.0.0.1.evil.example:7777"],
		["server=http://10.0.0.1", "http://10.0.0.1"], ["server=http://localhost.evil.example", "http://localhost.evil.example"],
		["target=evil.example:22", "evil.example:22"], ["target=127.0.0.1.evil.example:22", "127.0.0.1.evil.example:22"], ["target=[2001:db8::1]:22", "[2001:db8::1]:22"],
	])
		assert.deepEqual(open(`recording=${ID}&${query}`).strangers, [host], query);
	/* other ways to write an address of this machine: read as such by URL, so the origin is plain */
	assert.equal(open(`recording=${ID}&server=http://0x7f.1:7777`).server, "http://127.0.0.1:7777");
	assert.ok(isLocalHost("127.0.0.1") && isLocalHost("[::1]") && isLocalHost("localhost"));
	assert.ok(!isLocalHost("0.0.0.0") && !isLocalHost("127.0.0.1.example") && !isLocalHost("::1") && !isLocalHost(""));
});

test("hostile links are refused", () => {
	for (const query of [
		"", "event=1", `recording=`, `recording=last`, `recording=${ID.toUpperCase()}`, `recording=../../etc/passwd`, `recording=-x`, `recording=${"a".repeat(65)}`, `recording=${ID}%0Ax`,
		`recording=${ID}&recording=${ID}`, `recording=${ID}&event=1&at=end`, `recording=${ID}&event=-1`, `recording=${ID}&event=1e9`, `recording=${ID}&event=${"9".repeat(16)}`,
		`recording=${ID}&process=x`, `recording=${ID}&process=0`, `recording=${ID}&process=-p`, `recording=${ID}&at=/bin/sh`, `recording=${ID}&at=-g`, `recording=${ID}&at=main;quit`,
		`recording=${ID}&program=/bin/sh`, `recording=${ID}&gdb=/tmp/x`, `recording=${ID}&dapPath=/tmp/x`, `recording=${ID}&dataDir=/tmp`, `recording=${ID}&sourceMap={}`, `recording=${ID}&__proto__=1`,
		`recording=${ID}&constructor=1`, `recording=${ID}&server=`, `recording=${ID}&server=file:///etc/passwd`, `recording=${ID}&server=javascript:alert(1)`,
		`recording=${ID}&server=http://user:pw@127.0.0.1`, `recording=${ID}&server=http://127.0.0.1@evil.example`, `recording=${ID}&server=http://127.0.0.1/path`, `recording=${ID}&server=http://127.0.0.1?q`,
		`recording=${ID}&server=http://127.0.0.1%23x`, `recording=${ID}&server=http://127.0.0.1%5C@evil.example`, `recording=${ID}&server=http://a%20b`, `recording=${ID}&server=http://%5B`,
		`recording=${ID}&target=|sh -c x`, `recording=${ID}&target=| nc evil 1:1`, `recording=${ID}&target=-x:1`, `recording=${ID}&target=/tmp/socket`, `recording=${ID}&target=127.0.0.1`, `recording=${ID}&target=h:0`,
		`recording=${ID}&target=h:65536`, `recording=${ID}&target=h:1%0Ashell id`, `recording=${ID}&target=a b:1`, `recording=${ID}&target=$(id):1`,
	])
		assert.throws(() => open(query), LinkError, query);
	for (const path of ["", "/", "/run", "/open/", "/open/../run"])
		assert.throws(() => parseLink({path, query: `recording=${ID}`}), /nothing called/, path);
});

test("servers and targets of configurations are looked at in the same way", () => {
	assert.deepEqual(parseServer("https://h.example:8443"), {origin: "https://h.example:8443", local: false});
	assert.throws(() => parseServer("h.example"), /no URL/);
	assert.throws(() => parseTarget("| sh"), /no HOST:PORT/);
});
