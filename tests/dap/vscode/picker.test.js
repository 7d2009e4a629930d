/* The list of recordings: from the program hermit and from hermitd. */
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const {test} = require("node:test");
const {BROKEN, ID, OTHER, fakeHermit, mockHermitd} = require("./sources.js");
const {world} = require("./stub.js");

const load = w => w.load("src/picker.js").load();
const ids = found => found.map(({id}) => id);

test("store and hermitd are one list, newest first, each recording once", async t => {
	const w = world();
	const hermitd = await mockHermitd(t, w);

	fakeHermit(t, w);
	const {found, problems} = await load(w);

	assert.deepEqual(problems, []);
	assert.deepEqual(ids(found), [OTHER, ID, BROKEN]);
	assert.equal(found[0].server, hermitd.url);
	assert.equal(found[1].server, null, "what is in the store needs no hermitd");
	assert.deepEqual(found.map(one => one.ending), ["SIGSEGV", "ok", "unreadable"]);
	assert.deepEqual(found.map(one => one.bad), [true, false, true]);
});

test("texts for people", async t => {
	const w = world();

	await mockHermitd(t, w);
	fakeHermit(t, w);
	const {describe} = w.load("src/recordings.js");
	const {found} = await load(w);
	const text = describe(found[0], Date.parse("2026-11-30T13:00:00.000Z"));

	assert.equal(text.label, "nightly: make -j2");
	assert.equal(text.description, "SIGSEGV  \u00b7  2.5 s  \u00b7  12\u202f034 events");
	assert.match(text.detail, new RegExp(`^2 h ago  \u00b7  2.86 MiB  \u00b7  ${OTHER}`));
	assert.match(describe(found[2], 0).label, /damaged/);
});

test("one source that fails does not hide the other", async t => {
	const w = world();
	const hermitd = await mockHermitd(t, w);

	w.settings.hermitPath = "/nowhere/hermit";
	let {found, problems} = await load(w);

	assert.deepEqual(ids(found), [OTHER, ID]);
	assert.match(problems[0], /no program \/nowhere\/hermit .*hermit\.hermitPath/);
	fakeHermit(t, w, {fail: "hermit: no store"});
	assert.match((await load(w)).problems[0], /^hermit: no store$/);
	fakeHermit(t, w);
	for (const [change, said] of [
		[() => { w.settings.token = "wrong"; }, /a token is needed/],
		[() => { w.settings.token = hermitd.token; hermitd.raw = "<html>"; }, /no JSON/],
		[() => { hermitd.raw = "{}"; }, /no list of recordings/],
		[() => { hermitd.raw = "x".repeat(9 << 20); }, /too long/],
		[() => { w.settings.server = "file:///x"; }, /hermit\.server: .*no URL/],
		[() => { w.settings.server = hermitd.url; hermitd.server.closeAllConnections(); hermitd.server.close(); }, /not at work/],
	]) {
		change();
		({found, problems} = await load(w));
		assert.deepEqual(ids(found), [ID, BROKEN]);
		assert.match(problems[0], said);
		assert.equal(problems.length, 1);
	}
});

test("no hermitd in the settings: none is asked; the directory of the settings is", async t => {
	const w = world();
	const hermitd = await mockHermitd(t, w);
	const calls = fakeHermit(t, w);

	Object.assign(w.settings, {server: "", dataDir: "/var/x"});
	assert.deepEqual(ids((await load(w)).found), [ID, BROKEN]);
	assert.deepEqual(hermitd.asked, []);
	assert.equal(calls()[0].dataDir, "/var/x");
});

test("the token is read from its file", async t => {
	const w = world();
	const hermitd = await mockHermitd(t, w);
	const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "token-")), "token");

	fakeHermit(t, w);
	t.after(() => fs.rmSync(path.dirname(file), {recursive: true}));
	fs.writeFileSync(file, "from-file\n");
	hermitd.token = "from-file";
	Object.assign(w.settings, {token: "", tokenFile: file});
	assert.deepEqual((await load(w)).problems, []);
});

test("an empty list says why", async t => {
	const w = world();

	fakeHermit(t, w, {rows: []});
	w.answers.push(items => assert.deepEqual(items, []));
	assert.equal(await w.load("src/picker.js").pick(), null);
	assert.match(w.seen.shown[0].text, /no recordings/);
});

test("the view of recordings", async t => {
	const w = world();

	fakeHermit(t, w);
	w.settings.server = "nonsense";
	const library = new (w.load("src/library.js").Library)();
	const rows = (await library.getChildren()).map(one => library.getTreeItem(one));

	assert.deepEqual(rows.map(({iconPath}) => iconPath.id), ["warning", "pass", "error"]);
	assert.deepEqual(rows.map(({contextValue}) => contextValue), [undefined, "recording", "recording"]);
});
