/* package.json against the code: what is contributed is there, and the other way round. */
"use strict";
const assert = require("node:assert/strict");
const {execFileSync} = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const {test} = require("node:test");
const {EXTENSION, world} = require("./stub.js");

const TOP = path.join(__dirname, "../../..");
const manifest = JSON.parse(fs.readFileSync(path.join(EXTENSION, "package.json"), "utf8"));
const {contributes} = manifest;
const titled = contributes.commands.map(one => one.command);
const KEYS = /^(inDebugMode|debugType|debugState|editorTextFocus|view|viewItem)$/;
const items = Object.entries(contributes.menus).flatMap(([menu, list]) => list.map(one => ({menu, ...one})));

test("each command has a title and is registered, and no other is", () => {
	const w = world();

	w.activate();
	assert.deepEqual([...w.seen.commands.keys()].sort(), [...titled].sort());
	assert.equal(new Set(titled).size, titled.length);
	for (const one of contributes.commands) {
		assert.match(one.title, /^[A-Z]/, one.command);
		assert.equal(one.category, "Hermit");
	}
});

test("menus, keys and welcome texts name commands that exist", () => {
	for (const {menu, command} of items)
		assert.ok(titled.includes(command), `${menu}: ${command}`);
	for (const {command} of contributes.keybindings)
		assert.ok(titled.includes(command) || ["workbench.action.debug.stepBack", "workbench.action.debug.reverseContinue"].includes(command), command);
	for (const {contents} of contributes.viewsWelcome)
		for (const [, command] of contents.matchAll(/\(command:([^)]*)\)/g))
			assert.ok(titled.includes(command), command);
	for (const command of Object.values(contributes.debuggers[0].variables))
		assert.ok(titled.includes(command), command);
});

test("what belongs to debugging is shown only while a recording is debugged", () => {
	const clauses = [...items.filter(one => one.when !== "false"), ...contributes.keybindings, ...contributes.commands.filter(one => one.enablement).map(one => ({when: one.enablement, ...one}))];

	for (const one of clauses)
		for (const part of one.when.split(" && "))
			assert.match(part.split(/ (?:==|=~) /)[0], KEYS, `${one.command}: ${one.when}`);
	for (const one of items.filter(({menu}) => /^debug\/|^editor\//.test(menu)))
		assert.match(one.when, /debugType == 'hermit'/, `${one.menu}: ${one.command}`);
	for (const one of contributes.keybindings)
		assert.match(one.when, /inDebugMode && debugType == 'hermit' && debugState == 'stopped'/, one.command);
	for (const one of items.filter(({menu}) => menu.startsWith("view/")))
		assert.ok(contributes.views.debug.some(({id}) => one.when.includes(`view == ${id}`)), one.when);
	assert.equal(new Set(contributes.keybindings.map(({key}) => key)).size, contributes.keybindings.length);
});

test("every command is in the palette or hidden there on purpose", () => {
	const palette = new Map(contributes.menus.commandPalette.map(one => [one.command, one.when]));

	assert.deepEqual(titled.filter(one => !palette.has(one)).sort(), ["hermit.refreshRecordings", "hermit.replay"]);
});

test("views, providers and the debugger are registered", () => {
	const w = world();

	w.activate();
	assert.deepEqual([...w.seen.trees.keys()].sort(), contributes.views.debug.map(({id}) => id).sort());
	for (const list of ["factories", "providers", "trackers"])
		assert.deepEqual([...w.seen[list].keys()], [contributes.debuggers[0].type], list);
	assert.ok(w.seen.uri);
});

test("files that package.json names exist; settings are of the machine", () => {
	for (const name of [manifest.icon, manifest.main, ...contributes.views.debug.map(({icon}) => icon)])
		assert.ok(fs.existsSync(path.join(EXTENSION, name)), name);
	for (const [name, {scope}] of Object.entries(contributes.configuration.properties))
		assert.equal(scope, "machine", name);
	assert.deepEqual(manifest.extensionKind, ["workspace"]);
	assert.equal(manifest.dependencies ?? manifest.devDependencies ?? manifest.scripts, undefined);
});

test("snippets and attributes fit the checks of configurations", () => {
	const {problem} = world().load("src/config.js");
	const {configurationAttributes, configurationSnippets} = contributes.debuggers[0];

	for (const {label, body} of configurationSnippets) {
		assert.equal(problem({...body, ...body.target ? {target: "127.0.0.1:1"} : {}}), null, label);
		for (const name of Object.keys(body).filter(one => !["type", "request", "name"].includes(one)))
			assert.ok(configurationAttributes[body.request].properties[name], `${label}: ${name}`);
	}
});

/* dap/requests.def is what the adapter answers */
test("the requests that are sent exist", () => {
	const table = fs.readFileSync(path.join(TOP, "dap/requests.def"), "utf8");
	const sent = fs.readdirSync(path.join(EXTENSION, "src")).flatMap(name => [...fs.readFileSync(path.join(EXTENSION, "src", name), "utf8").matchAll(/"(hermit\/\w+)"/g)].map(one => one[1]));

	assert.ok(sent.length > 10);
	for (const name of new Set(sent))
		assert.ok(table.includes(`"${name}"`), name);
	for (const [, name] of table.matchAll(/"(hermit\/\w+)"/g))
		assert.ok(sent.includes(name), `${name} is never used`);
});

test("the package has all files, the same bytes each time, and the version", t => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), "vsix-"));
	const pack = name => execFileSync(path.join(TOP, "tools/vsix-pack"), [EXTENSION, "1.2.3", path.join(TOP, "LICENSE"), path.join(dir, name)]);
	const unzip = "import json,sys,zipfile;z=zipfile.ZipFile(sys.argv[1]);json.dump({n:z.read(n).decode('latin-1') for n in z.namelist()},sys.stdout)";

	t.after(() => fs.rmSync(dir, {recursive: true}));
	pack("a");
	pack("b");
	assert.ok(fs.readFileSync(path.join(dir, "a")).equals(fs.readFileSync(path.join(dir, "b"))));
	const files = JSON.parse(execFileSync("python3", ["-c", unzip, path.join(dir, "a")], {encoding: "utf8", maxBuffer: 64 << 20}));
	const names = Object.keys(files);
	const listed = [...fs.readFileSync(path.join(EXTENSION, "Makemodule.am"), "utf8").matchAll(/^\tdap\/vscode\/([^ \n]+)/gm)].map(one => `extension/${one[1]}`);

	assert.deepEqual(names.filter(one => one.startsWith("extension/")).sort(), [...listed, "extension/LICENSE.txt"].sort());
	assert.equal(JSON.parse(files["extension/package.json"]).version, "1.2.3");
	assert.match(files["extension.vsixmanifest"], /<Identity Language="en-US" Id="hermit-debug" Version="1.2.3" Publisher="hermit"\/>/);
	for (const name of names.filter(one => one.startsWith("extension/")))
		assert.ok(files["[Content_Types].xml"].includes(`Extension=".${name.split(".").at(-1)}"`), name);
});
