/* Starts the debug adapter, one process a session. */
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const {settings} = require("./settings.js");

/** The file that a name in PATH, or a path, stands for; null when there is none that can be run. */
function findProgram(name) {
	const places = name.includes("/") ? [path.resolve(name)] : (process.env.PATH ?? "").split(":").filter(Boolean).map(dir => path.join(dir, name));

	return places.find(file => {
		try {
			fs.accessSync(file, fs.constants.X_OK);
			return fs.statSync(file).isFile();
		} catch {
			return false;
		}
	}) ?? null;
}

class AdapterFactory {
	createDebugAdapterDescriptor(session) {
		const {dapPath, dataDir} = settings();
		const program = findProgram(dapPath);
		const store = session.configuration.dataDir || dataDir;
		const env = {};

		if (!program)
			throw new Error(`There is no program ${dapPath}: install hermit where the recordings are, or say where hermit-dap is (setting hermit.dapPath).`);
		if (store)
			env.HERMIT_DATA_DIR = store;
		return new vscode.DebugAdapterExecutable(program, [], {env});
	}
}

module.exports = {AdapterFactory, findProgram};
