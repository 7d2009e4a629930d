/* usage: node scenarios.cjs NAME, with what is needed in the environment as JSON: {"adapter", "modules", "recordings", "sources", "lines"} (test_editors.py).
 * Each is a session of DebugClient, which is what adapters of VS Code are tested with. */
"use strict";
const assert = require("node:assert/strict");
const {createRequire} = require("node:module");
const {join} = require("node:path");

const given = JSON.parse(process.env.HERMIT_DAP_SCENARIO);
const {DebugClient} = createRequire(join(given.modules, "package.json"))("@vscode/debugadapter-testsupport");

const top = async client => {
	const {body} = await client.stackTraceRequest({threadId: client.thread, startFrame: 0, levels: 1});

	return body.stackFrames[0];
};

const value = async (client, expression) => {
	const {body} = await client.evaluateRequest({expression, frameId: (await top(client)).id, context: "watch"});

	return body.result;
};

/* A request that runs, and the stop that follows. */
const go = async (client, request, args = {}) => {
	const [event] = await Promise.all([client.waitForEvent("stopped"), request.call(client, {threadId: client.thread, ...args})]);

	client.thread = event.body.threadId;
	return event.body;
};

const open = async (client, recording, stopAt) => {
	const [event] = await Promise.all([
		client.waitForEvent("stopped"), client.configurationSequence(), client.launch({recording: given.recordings[recording], stopAt})]);

	client.thread = event.body.threadId;
	return event.body;
};

const scenarios = {
	async breakpoint(client) {
		const source = given.sources.steps;
		const line = given.lines["in square"];

		client.thread = 1;
		const stopped = client.waitForEvent("stopped").then(() => go(client, client.continueRequest));

		await Promise.all([
			client.waitForEvent("initialized").then(async () => {
				const {body} = await client.setBreakpointsRequest({source: {path: source}, breakpoints: [{line}]});

				assert.deepEqual(body.breakpoints.map(b => [b.verified, b.line]), [[true, line]]);
				await client.configurationDoneRequest();
			}),
			client.launch({recording: given.recordings.steps, stopAt: "main"}),
			stopped,
		]);
		assert.equal((await top(client)).line, line);
		const [, response] = await Promise.all([client.continueRequest({threadId: client.thread}), client.assertStoppedLocation("breakpoint", {path: source, line})]);

		assert.ok(response.body.stackFrames.length >= 3);
		assert.equal(await value(client, "n"), "1");
	},

	async back(client) {
		await open(client, "steps", "main");
		const first = (await top(client)).line;

		await go(client, client.nextRequest);
		assert.notEqual((await top(client)).line, first);
		assert.equal((await go(client, client.stepBackRequest)).reason, "step");
		assert.equal((await top(client)).line, first);
		assert.match((await go(client, client.continueRequest)).description, /End/);
		await client.setBreakpointsRequest({source: {path: given.sources.steps}, breakpoints: [{line: given.lines["again"]}]});
		assert.equal((await go(client, client.reverseContinueRequest)).reason, "breakpoint");
		assert.equal((await top(client)).line, given.lines["again"]);
	},

	async crash(client) {
		const stop = await open(client, "corrupt", "crash");

		assert.equal(stop.reason, "exception");
		const info = await client.exceptionInfoRequest({threadId: client.thread});

		assert.match(info.body.exceptionId, /SIGABRT/);
		await client.setBreakpointsRequest({source: {path: given.sources.corrupt}, breakpoints: [{line: given.lines["noticed here"]}]});
		await go(client, client.reverseContinueRequest);
		const {body} = await client.stackTraceRequest({threadId: client.thread});
		const main = body.stackFrames.find(frame => frame.name.startsWith("main"));
		const [event] = await Promise.all([
			client.waitForEvent("stopped"),
			client.customRequest("hermit/lastWrite", {expression: "records[checking].magic", frameId: main.id}),
		]);

		client.thread = event.body.threadId;
		assert.equal((await top(client)).line, given.lines["the culprit"]);
		assert.equal(await value(client, "rounds_done"), "700");
	},

	async data(client) {
		await open(client, "steps", "main");
		const info = await client.dataBreakpointInfoRequest({name: "total", frameId: (await top(client)).id});

		assert.ok(info.body.dataId);
		await client.setDataBreakpointsRequest({breakpoints: [{dataId: info.body.dataId, accessType: "write"}]});
		assert.equal((await go(client, client.continueRequest)).reason, "data breakpoint");
		assert.equal(await value(client, "total"), "1");
	},

	async refusals(client) {
		await open(client, "steps", "main");
		await assert.rejects(client.send("writeMemory", {memoryReference: "0x1000", data: "AAAA"}), /read-only/);
		await assert.rejects(client.launchRequest({recording: "none"}));
		await assert.rejects(client.evaluateRequest({expression: "total = 3", frameId: (await top(client)).id, context: "hover"}));
		assert.equal((await client.threadsRequest()).body.threads.length, 1);
	},
};

async function main() {
	const client = new DebugClient(given.adapter, "--stdio", "hermit", {env: process.env}, true);

	client.defaultTimeout = 60000;
	await client.start();
	try {
		await scenarios[process.argv[2]](client);
	} finally {
		await client.stop();
	}
}

main().then(() => process.exit(0), error => {
	console.error(error.stack ?? error);
	process.exit(1);
});
