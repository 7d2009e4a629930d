/* The extension of VS Code: registers what src/ has. README.md says what it does for people; requests of the adapter are in dap/requests.def. */
"use strict";
const vscode = require("vscode");
const {AdapterFactory} = require("./src/adapter.js");
const {CHANGE_BOOKMARKS, commands} = require("./src/commands.js");
const {Configurations} = require("./src/config.js");
const {Library} = require("./src/library.js");
const {LinkHandler} = require("./src/open.js");
const picker = require("./src/picker.js");
const {Timeline} = require("./src/timeline.js");

const TYPE = "hermit";

/** Tells the timeline when a session has stopped. */
function trackers(timeline) {
	return {createDebugAdapterTracker: () => ({onDidSendMessage: message => message.type === "event" && message.event === "stopped" && timeline.refresh()})};
}

async function replay(one) {
	const chosen = one?.id ? one : await picker.pick();
	const config = chosen && {type: TYPE, request: "launch", name: chosen.command || chosen.id, recording: chosen.id, ...chosen.server ? {server: chosen.server} : {}};

	return config ? vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], config) : false;
}

function ofViews(timeline, library) {
	return {
		replay: () => replay(null),
		replayRecording: replay,
		pickRecording: async () => (await picker.pick())?.id,
		copyRecordingId: one => one?.id && vscode.env.clipboard.writeText(one.id),
		refreshRecordings: () => library.refresh(),
		refreshTimeline: () => timeline.refresh(),
		moreEvents: where => timeline.more(where ?? {}),
	};
}

function activate(context) {
	const timeline = new Timeline();
	const library = new Library();
	const configurations = new Configurations();
	const keep = (...things) => context.subscriptions.push(...things);

	for (const [name, run] of Object.entries({...commands, ...ofViews(timeline, library)}))
		keep(vscode.commands.registerCommand(`hermit.${name}`, async argument => {
			const answer = await run(argument);

			if (CHANGE_BOOKMARKS.includes(name))
				timeline.bookmarksChanged();
			return answer;
		}));
	keep(
		vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, new AdapterFactory()),
		vscode.debug.registerDebugConfigurationProvider(TYPE, configurations),
		vscode.debug.registerDebugAdapterTrackerFactory(TYPE, trackers(timeline)),
		vscode.debug.onDidChangeActiveDebugSession(() => timeline.refresh()),
		vscode.window.registerTreeDataProvider("hermit.timeline", timeline),
		vscode.window.registerTreeDataProvider("hermit.recordings", library),
		vscode.window.registerUriHandler(new LinkHandler()));
}

function deactivate() {}

module.exports = {activate, deactivate};
