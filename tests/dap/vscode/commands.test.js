/* Commands, the timeline and links, against an adapter that is a table. */
"use strict";
const assert = require("node:assert/strict");
const {test} = require("node:test");
const {world} = require("./stub.js");

const ID = "0123456789abcdef0123456789abcdef";
const started = () => {
	const w = world();

	w.activate();
	return {...w, run: (name, item) => w.seen.commands.get(`hermit.${name}`)(item)};
};

function editor(w, text, line, from, to = from) {
	const at = character => ({line, character});

	w.vscode.window.activeTextEditor = {
		selection: {isEmpty: from === to, active: at(to), start: at(from), end: at(to)},
		document: {uri: {fsPath: "/src/a.c"}, lineAt: () => ({text}), getText: () => text.slice(from, to)},
	};
}

test("reverse steps go to the thread that the call stack shows", async () => {
	const w = started();
	const session = w.session({"hermit/reverseStepIn": {}, "hermit/reverseStepOut": {}, "hermit/reverseNext": {}, threads: {threads: [{id: 3, name: "main"}]}});

	w.vscode.debug.activeStackItem = {session, threadId: 7, frameId: 1};
	await w.run("reverseStepIn");
	await w.run("reverseStepOut");
	w.vscode.debug.activeStackItem = {session: {id: "another"}, threadId: 9};
	await w.run("reverseNext");
	assert.deepEqual(w.seen.requests, [["hermit/reverseStepIn", {threadId: 7}], ["hermit/reverseStepOut", {threadId: 7}], ["threads", {}], ["hermit/reverseNext", {threadId: 3}]]);
});

test("places", async () => {
	const w = started();

	w.session({"hermit/seek": {}, "hermit/navigate": {}});
	await w.run("goToStart");
	await w.run("goToEnd");
	await w.run("back");
	await w.run("forward");
	w.answers.push(({validateInput}) => {
		assert.ok(validateInput("x") && validateInput("-1") && validateInput(""));
		return "12 034";
	}, ({validateInput}) => {
		assert.ok(validateInput("soon") && validateInput("1.5 parsecs"));
		return "1.5 s";
	}, "250", undefined);
	await w.run("goToEvent");
	await w.run("goToTime");
	await w.run("goToTime");
	await w.run("goToEvent");
	await w.run("goToPlace", {place: 9});
	await w.run("goToPlace", undefined);
	assert.deepEqual(w.seen.requests.map(([, args]) => args.place ?? args.direction), ["start", "end", "back", "forward", "12034", "1.5s", "250s", "9"]);
});

test("last write: of what the cursor is in, of a selection, of a variable, of a watched expression", async () => {
	const w = started();
	const session = w.session({"hermit/lastWrite": {}});

	w.vscode.debug.activeStackItem = {session, threadId: 1, frameId: 4};
	editor(w, "\tlist->head.next = item;", 9, 8);
	w.answers.push(({value}) => value, ({value}) => value, undefined);
	await w.run("lastWrite");
	editor(w, "\tlist->head.next = item;", 9, 1, 16);
	await w.run("lastWrite");
	await w.run("lastWrite");
	await w.run("lastWriteOfVariable", {container: {variablesReference: 12}, variable: {name: "count", evaluateName: "s.count"}});
	await w.run("lastWriteOfVariable", {variable: {name: "count", evaluateName: "s.count"}});
	await w.run("lastWriteOfVariable", {name: "a[3]"});
	await w.run("lastWriteOfVariable", "a[4]");
	assert.deepEqual(w.seen.requests.map(([, args]) => args), [
		{expression: "list->head", frameId: 4}, {expression: "list->head.next", frameId: 4}, {variablesReference: 12, name: "count"},
		{expression: "s.count", frameId: 4}, {expression: "a[3]", frameId: 4}, {expression: "a[4]", frameId: 4}]);
});

test("the expression that the cursor is in", () => {
	const {expressionAt, eventPlace, timePlace} = world().load("src/expressions.js");

	for (const [line, column, want] of [
		["a->b.c = 1;", 0, "a"], ["a->b.c = 1;", 1, "a"], ["a->b.c = 1;", 3, "a->b"], ["a->b.c = 1;", 6, "a->b.c"], ["a->b.c = 1;", 8, ""], ["f(x, yy)", 5, "yy"], ["v[3] = v[i];", 0, "v"],
		["v[3] = v[i];", 2, "v[3]"], ["v[3] = v[i];", 9, "v[i]"], ["ns::count++;", 5, "ns::count"], ["", 0, ""], ["  1234  ", 4, ""],
	])
		assert.equal(expressionAt(line, column), want, `${line} at ${column}`);
	assert.deepEqual(["1,000", "1 000 000", "0", "007", "1e3", "1.5", "12 34", ""].map(eventPlace), ["1000", "1000000", "0", "7", null, null, null, null]);
	assert.deepEqual(["1.5s", "20 ms", "2", "3min", "4m", "5\u00b5s", "-1s", "s", "1..2"].map(timePlace), ["1.5s", "20ms", "2s", "3m", "4m", "5us", null, null, null]);
});

test("bookmarks are made, gone to and removed, and the view follows", async () => {
	const w = started();
	const bookmarks = [{id: "b1", event: 12034, position: "12034:5", text: "here", author: "me"}];
	let changes = 0;

	w.session({"hermit/addBookmark": {}, "hermit/removeBookmark": {}, "hermit/bookmarks": {bookmarks}, "hermit/seek": {}});
	w.seen.trees.get("hermit.timeline").onDidChangeTreeData(() => changes++);
	w.answers.push("crash site", items => items[0]);
	await w.run("bookmark");
	await w.run("goToBookmark");
	await w.run("removeBookmark", {bookmark: bookmarks[0]});
	await w.run("removeBookmark", undefined);
	assert.deepEqual(w.seen.requests, [["hermit/addBookmark", {text: "crash site"}], ["hermit/bookmarks", {}], ["hermit/seek", {place: "12034:5"}], ["hermit/removeBookmark", {id: "b1"}]]);
	assert.equal(changes, 3);
});

test("a log point over the whole recording: at a line number, at the cursor, given up", async () => {
	const w = started();

	w.session({"hermit/logAll": {}});
	editor(w, "x", 41, 0);
	w.answers.push("n={n}", "", "n={n}", " n > 3 ", "text", undefined, undefined);
	await w.run("logAll", {uri: {fsPath: "/src/b.c"}, lineNumber: 7});
	await w.run("logAll");
	await w.run("logAll");
	await w.run("logAll");
	assert.deepEqual(w.seen.requests.map(([, args]) => args), [
		{source: {path: "/src/b.c"}, line: 7, logMessage: "n={n}"}, {source: {path: "/src/a.c"}, line: 42, logMessage: "n={n}", condition: "n > 3"}]);
	w.vscode.window.activeTextEditor = undefined;
	await w.run("logAll");
	assert.equal(w.seen.requests.length, 2);
});

test("processes and position", async () => {
	const w = started();

	w.session({"hermit/processes": {processes: [{pid: 12, parent: 11, program: "/bin/sh", first: 3, last: 9, status: 0}]}, "hermit/openProcess": {}, "hermit/where": {event: 3, events: 9, position: "3:1"}});
	w.answers.push(items => items[0], (text, button) => button);
	await w.run("openProcess");
	await w.run("openProcess", {process: {pid: 13}});
	await w.run("where");
	assert.deepEqual(w.seen.requests.map(([, args]) => args), [{}, {pid: 12}, {pid: 13}, {}]);
	assert.equal(w.seen.copied, "3:1");
});

test("what the adapter refuses is shown; without a session nothing is sent", async () => {
	const w = started();

	for (const name of ["reverseNext", "goToStart", "goToEvent", "lastWriteOfVariable", "where"]) {
		w.seen.shown.length = 0;
		await w.run(name, {name: "x"});
		assert.ok(w.seen.shown.length <= 1, name);
	}
	w.vscode.debug.activeDebugSession = {type: "cppdbg", customRequest: () => assert.fail("another debugger was asked")};
	await w.run("goToStart");
	assert.match(w.seen.shown.at(-1).text, /no recording/);
	w.session({"hermit/seek": new Error("there is no event 99")});
	await w.run("goToStart");
	assert.deepEqual(w.seen.shown.at(-1), {kind: "error", text: "Hermit: there is no event 99"});
});

const TIMELINE = {event: 50, events: 200, timeNs: 1500000, durationNs: 2500000000, atStart: false, atEnd: false, position: "50:1", marks: [{event: 199, timeNs: 2400000000, kind: "crash", text: "SIGSEGV"}, {event: 50, timeNs: 1, kind: "bookmark", text: "here"}]};
const EVENTS = ({from, count}) => ({total: 200, events: Array.from({length: Math.min(count, 201 - from)}, (_, i) => ({event: from + i, time: 0, thread: 1, text: `read(${from + i})`}))});

test("the timeline shows place, bookmarks, marks, processes and events", async () => {
	const w = started();
	const tree = w.seen.trees.get("hermit.timeline");

	assert.deepEqual(await tree.getChildren(), [], "nothing without a session");
	w.session({"hermit/timeline": TIMELINE, "hermit/events": EVENTS, "hermit/bookmarks": {bookmarks: [{id: 1, event: 50, position: null, text: "here"}]},
		"hermit/processes": {processes: [{pid: 1, parent: 0, program: "/bin/sh", first: 1, last: 200}, {pid: 2, parent: 1, program: "/bin/ls", first: 20, last: 90, current: true}]}});
	const top = await tree.getChildren();
	const items = top.map(one => tree.getTreeItem(one));

	assert.deepEqual(items.map(({label}) => label), ["Event 50 of 200", "Bookmarks", "Marks", "Processes", "Events"]);
	assert.equal(items[0].description, "1.5 ms of 2.5 s");
	const marks = (await tree.getChildren(top[2])).map(one => tree.getTreeItem(one));

	assert.deepEqual([marks[0].label, marks[0].iconPath.id, marks[0].command.command, marks[0].command.arguments[0].place], ["SIGSEGV", "error", "hermit.goToPlace", 199]);
	assert.equal(marks.length, 1, "bookmarks are shown once");
	assert.deepEqual((await tree.getChildren(top[3])).map(({icon}) => icon), ["server-process", "debug-stackframe"]);
	const events = await tree.getChildren(top[4]);

	assert.deepEqual(events.map(({label}) => label).slice(0, 2), ["Earlier events", "read(42)"]);
	assert.equal(events.at(-2).label, "read(58)");
	assert.deepEqual(events.filter(({here}) => here).map(({place}) => place), [50]);
	await w.run("moreEvents", events[0].command.arguments[0]);
	assert.equal((await tree.getChildren((await tree.getChildren())[4]))[0].label, "read(1)", "the first one has none before it");
	tree.refresh();
	assert.equal((await tree.getChildren((await tree.getChildren())[4]))[1].label, "read(42)");
});

test("the timeline has what can be had, and follows stops", async () => {
	const w = started();
	const tree = w.seen.trees.get("hermit.timeline");
	const tracker = w.seen.trackers.get("hermit").createDebugAdapterTracker();
	let changes = 0;

	w.session({"hermit/timeline": {...TIMELINE, marks: undefined, atEnd: true}, "hermit/events": new Error("no"), "hermit/bookmarks": new Error("no")});
	assert.deepEqual((await tree.getChildren()).map(({label}) => label), ["Event 50 of 200, end", "Events"]);
	w.session({"hermit/timeline": new Error("it runs")});
	assert.deepEqual((await tree.getChildren()).map(({label}) => label), ["The recording is being replayed"]);
	tree.onDidChangeTreeData(() => changes++);
	tracker.onDidSendMessage({type: "event", event: "output"});
	tracker.onDidSendMessage({type: "event", event: "stopped"});
	assert.equal(changes, 1);
});

test("a link starts a session at once when nothing but the store is needed", async () => {
	const w = started();

	await w.seen.uri.handleUri({path: "/open", query: `recording=${ID}&process=7&event=12&server=http://127.0.0.1:7777`});
	assert.deepEqual(w.seen.asked, []);
	assert.deepEqual(w.seen.started, [{type: "hermit", request: "launch", name: "Recording 01234567", recording: ID, process: 7, stopAt: 12, server: "http://127.0.0.1:7777"}]);
});

test("a link to another machine, or for gdb to attach, is asked about; a bad one is refused", async () => {
	const w = started();
	const open = query => w.seen.uri.handleUri({path: "/open", query: `recording=${ID}&${query}`});

	for (const query of ["server=http://evil.example", "target=evil.example:1", "target=127.0.0.1:4711"]) {
		w.answers.push(undefined);
		await open(query);
		assert.deepEqual(w.seen.started, [], query);
		const [text, options] = w.seen.asked.at(-1).args;

		assert.ok(text.includes(query.split("=")[1]) && options.modal, text);
	}
	w.answers.push("Open");
	await open("target=127.0.0.1:4711");
	assert.equal(w.seen.started.length, 1);
	w.seen.shown.length = 0;
	await open("program=/bin/sh");
	assert.equal(w.seen.started.length, 1);
	assert.match(w.seen.shown[0].text, /cannot be followed: a link cannot say "program"/);
});

test("a recording is replayed from the view and from the palette", async () => {
	const w = started();

	await w.run("replayRecording", {id: ID, command: "make", server: "http://127.0.0.1:1"});
	await w.run("replayRecording", {id: ID, command: "", server: null});
	await w.run("copyRecordingId", {id: ID});
	assert.deepEqual(w.seen.started, [{type: "hermit", request: "launch", name: "make", recording: ID, server: "http://127.0.0.1:1"}, {type: "hermit", request: "launch", name: ID, recording: ID}]);
	assert.equal(w.seen.copied, ID);
});
