/* Launch configurations. */
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const {test} = require("node:test");
const {fakeHermit, mockHermitd, ID, OTHER} = require("./sources.js");
const {world} = require("./stub.js");

const launch = more => ({type: "hermit", request: "launch", name: "x", recording: "last", ...more});

test("what is wrong is said, and nothing starts", async () => {
	const w = world();
	const provider = new (w.load("src/config.js").Configurations)();

	for (const [config, said] of [
		[launch({request: "run"}), /"request"/], [launch({recording: 5}), /"recording"/], [launch({recording: ""}), /"recording"/], [launch({process: -1}), /"process"/], [launch({process: 1.5}), /"process"/],
		[launch({stopAt: {}}), /"stopAt"/], [launch({stopAt: true}), /"stopAt"/], [launch({stopOnEntry: "yes"}), /"stopOnEntry"/], [launch({sourceMap: ["a"]}), /"sourceMap"/],
		[launch({sourceMap: {a: 1}}), /"sourceMap"/], [launch({gdb: 1}), /"gdb"/], [launch({server: "| sh"}), /"server"/], [launch({dataDir: "a\nb"}), /"dataDir"/],
		[{type: "hermit", request: "attach", name: "x"}, /"target" is missing/], [{type: "hermit", request: "attach", name: "x", target: "| sh -c id"}, /"target"/],
	]) {
		w.seen.shown.length = 0;
		assert.equal(await provider.resolveDebugConfiguration(undefined, config), undefined, JSON.stringify(config));
		assert.equal(w.seen.shown.length, 1);
		assert.match(w.seen.shown[0].text, said);
	}
});

test("good ones are passed on as they are", async () => {
	const w = world();
	const provider = new (w.load("src/config.js").Configurations)();

	for (const config of [launch({process: 12, stopAt: 120, sourceMap: {"/a": "/b"}, processes: "all"}), launch({process: "cc1", stopAt: "crash", server: "127.0.0.1:99"}), {type: "hermit", request: "attach", name: "x", target: "/run/s"}]) {
		const first = await provider.resolveDebugConfiguration(undefined, config);

		assert.deepEqual(await provider.resolveDebugConfigurationWithSubstitutedVariables(undefined, first), config);
	}
	assert.deepEqual(w.seen.shown, []);
});

test("without launch.json a recording is asked for; no choice starts nothing", async t => {
	const w = world();

	fakeHermit(t, w);
	const provider = new (w.load("src/config.js").Configurations)();

	w.answers.push(items => items.find(({one}) => one.id === ID));
	assert.deepEqual(await provider.resolveDebugConfiguration(undefined, {}), {type: "hermit", request: "launch", name: "Replay", recording: ID});
	w.answers.push(undefined);
	assert.equal(await provider.resolveDebugConfiguration(undefined, {}), undefined);
});

test("a recording of a hermitd with its files here is replayed from its directory", async t => {
	const w = world();
	const hermitd = await mockHermitd(t, w);

	fakeHermit(t, w);
	hermitd.dataDir = __dirname;
	const provider = new (w.load("src/config.js").Configurations)();

	assert.deepEqual(await provider.resolveDebugConfigurationWithSubstitutedVariables(undefined, launch({recording: OTHER, server: hermitd.url})), launch({recording: OTHER, dataDir: __dirname}));
	/* one that was picked for ${command:pickRecording} is remembered */
	w.answers.push(items => items.find(({one}) => one.id === OTHER));
	w.activate();
	assert.equal(await w.seen.commands.get("hermit.pickRecording")(), OTHER);
	assert.equal((await provider.resolveDebugConfigurationWithSubstitutedVariables(undefined, launch({recording: OTHER}))).dataDir, __dirname);
});

test("a recording of another machine is downloaded after a person agreed", async t => {
	const w = world();
	const hermitd = await mockHermitd(t, w);
	const calls = fakeHermit(t, w);
	const provider = new (w.load("src/config.js").Configurations)();
	const resolve = () => provider.resolveDebugConfigurationWithSubstitutedVariables(undefined, launch({recording: OTHER, server: hermitd.url}));

	hermitd.dataDir = "/nowhere/at/all";
	w.answers.push(undefined);
	assert.equal(await resolve(), undefined);
	assert.ok(!hermitd.asked.some(one => one.path.endsWith("/export")));
	w.answers.push("Download");
	assert.deepEqual(await resolve(), launch({recording: OTHER}));
	const imported = calls().find(one => one.words[1] === "import");

	assert.equal(imported.content, "an export");
	assert.ok(!fs.existsSync(path.dirname(imported.words[2])), "the download is gone");
	/* what is in the store here already is not fetched again */
	hermitd.asked.length = 0;
	assert.deepEqual(await provider.resolveDebugConfigurationWithSubstitutedVariables(undefined, launch({recording: ID, server: hermitd.url})), launch({recording: ID}));
	assert.ok(!hermitd.asked.some(one => one.path.endsWith("/export")));
});

test("the token goes to the hermitd of the settings only", async t => {
	const w = world();
	const hermitd = await mockHermitd(t, w);
	const other = await mockHermitd(t, w);
	const provider = new (w.load("src/config.js").Configurations)();

	fakeHermit(t, w);
	w.settings.server = hermitd.url;
	w.settings.token = "secret";
	other.token = "theirs";
	other.dataDir = __dirname;
	w.answers.push("theirs");
	assert.ok(await provider.resolveDebugConfigurationWithSubstitutedVariables(undefined, launch({recording: OTHER, server: other.url})));
	assert.equal(w.seen.asked[0].kind, "input");
	assert.ok(w.seen.asked[0].args[0].password);
	assert.deepEqual([...new Set(other.asked.map(one => one.token))], ["Bearer theirs"]);
	/* and does not follow where an answer points */
	hermitd.redirect = other.url;
	other.asked.length = 0;
	assert.equal(await provider.resolveDebugConfigurationWithSubstitutedVariables(undefined, launch({recording: OTHER, server: hermitd.url})), undefined);
	assert.deepEqual(other.asked, []);
});

test("the adapter is found, has the store, or is missed in plain words", t => {
	const w = world();
	const {AdapterFactory, findProgram} = w.load("src/adapter.js");
	const factory = new AdapterFactory();

	fakeHermit(t, w);
	w.settings.dapPath = w.settings.hermitPath;
	const found = factory.createDebugAdapterDescriptor({configuration: {dataDir: "/x"}});

	assert.deepEqual({...found}, {command: w.settings.hermitPath, args: [], options: {env: {HERMIT_DATA_DIR: "/x"}}});
	w.settings.dataDir = "/y";
	assert.deepEqual(factory.createDebugAdapterDescriptor({configuration: {}}).options.env, {HERMIT_DATA_DIR: "/y"});
	w.settings.dapPath = "no-such-program-at-all";
	assert.throws(() => factory.createDebugAdapterDescriptor({configuration: {}}), /no program no-such-program-at-all.*hermit\.dapPath/);
	assert.match(findProgram("sh"), /^\/.*\/sh$/);
	assert.equal(findProgram(__dirname), null);
	assert.equal(findProgram(__filename), null, "not executable");
});
