/* Stands in for VS Code's API: load() gives the extension's modules an object that keeps what they register and show, and answers as the test wants. */
"use strict";
const Module = require("node:module");
const path = require("node:path");

const EXTENSION = path.join(__dirname, "../../../dap/vscode");

class EventEmitter {
	#listeners = [];
	event = listener => this.#listeners.push(listener);
	fire(value) {
		this.#listeners.forEach(one => one(value));
	}
}

/** A world of its own: {vscode, seen, answers, settings, load(file)}. answers: what input boxes, picks and messages give, in order; a function is called with the arguments. */
function world() {
	const seen = {commands: new Map(), shown: [], asked: [], started: [], requests: [], trees: new Map(), executed: []};
	const answers = [];
	const settings = {};
	const next = (kind, args) => {
		const answer = answers.shift();

		seen.asked.push({kind, args});
		return Promise.resolve(typeof answer === "function" ? answer(...args) : answer);
	};
	const show = kind => (text, ...more) => {
		seen.shown.push({kind, text});
		return more.length ? next(kind, [text, ...more]) : Promise.resolve(undefined);
	};
	const register = list => (name, thing) => {
		(seen[list] ??= new Map()).set(name, thing);
		return {dispose() {}};
	};
	const vscode = {
		EventEmitter,
		TreeItem: class {
			constructor(label, collapsibleState) {
				Object.assign(this, {label, collapsibleState});
			}
		},
		ThemeIcon: class {
			constructor(id, color) {
				Object.assign(this, {id, color});
			}
		},
		ThemeColor: class {},
		TreeItemCollapsibleState: {None: 0, Collapsed: 1, Expanded: 2},
		ProgressLocation: {Notification: 15},
		DebugAdapterExecutable: class {
			constructor(command, args, options) {
				Object.assign(this, {command, args, options});
			}
		},
		commands: {registerCommand: register("commands"), executeCommand: (...args) => Promise.resolve(void seen.executed.push(args))},
		debug: {
			activeDebugSession: undefined, activeStackItem: undefined,
			registerDebugAdapterDescriptorFactory: register("factories"), registerDebugConfigurationProvider: register("providers"),
			registerDebugAdapterTrackerFactory: register("trackers"), onDidChangeActiveDebugSession: () => ({dispose() {}}),
			startDebugging: (folder, config) => Promise.resolve(Boolean(seen.started.push(config))),
		},
		window: {
			activeTextEditor: undefined,
			registerTreeDataProvider: register("trees"), registerUriHandler: handler => ((seen.uri = handler), {dispose() {}}),
			showInformationMessage: show("info"), showWarningMessage: show("warning"), showErrorMessage: show("error"),
			showInputBox: options => next("input", [options]),
			showQuickPick: async (items, options) => next("pick", [await items, options]),
			withProgress: (options, work) => work({report() {}}, {onCancellationRequested() {}}),
		},
		workspace: {workspaceFolders: undefined, getConfiguration: () => ({get: name => settings[name]})},
		env: {clipboard: {writeText: text => Promise.resolve(void (seen.copied = text))}},
	};
	const modules = new Map();

	/* A module of the extension with this world's vscode; fresh for each world, shared within it. */
	function load(file) {
		const full = path.resolve(EXTENSION, file);

		if (modules.has(full))
			return modules.get(full).exports;
		const module = new Module(full);

		module.filename = full;
		module.paths = [];
		module.require = name => name === "vscode" ? vscode : name.startsWith(".") ? load(path.resolve(path.dirname(full), name)) : require(name);
		modules.set(full, module);
		module._compile(require("node:fs").readFileSync(full, "utf8"), full);
		return module.exports;
	}

	/** A debug session whose adapter answers as table says: {command: body or function of the arguments or Error}. */
	function session(table, configuration = {}) {
		const customRequest = async (command, args) => {
			const answer = table[command];

			seen.requests.push([command, args]);
			if (answer === undefined)
				throw new Error(`unknown request ${command}`);
			const body = typeof answer === "function" ? answer(args) : answer;

			if (body instanceof Error)
				throw body;
			return body;
		};

		return (vscode.debug.activeDebugSession = {id: "s1", type: "hermit", configuration, customRequest});
	}
	return {vscode, seen, answers, settings, load, session, activate: () => load("extension.js").activate({subscriptions: []})};
}

module.exports = {EXTENSION, world};
