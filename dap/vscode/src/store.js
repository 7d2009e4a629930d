/* The store of this machine, through the hermit program. No vscode in here. */
"use strict";
const {execFile} = require("node:child_process");

const LIST_MS = 20000;
const LIST_MAX = 64 << 20;

/** Runs hermit; its standard output. Throws an Error with what it said. */
function hermit({hermitPath, dataDir}, words, {signal, timeout} = {}) {
	const env = dataDir ? {...process.env, HERMIT_DATA_DIR: dataDir} : process.env;

	return new Promise((resolve, reject) => {
		execFile(hermitPath, words, {env, signal, timeout, maxBuffer: LIST_MAX}, (error, stdout, stderr) => {
			if (!error)
				resolve(stdout);
			else if (error.code === "ENOENT")
				reject(new Error(`there is no program ${hermitPath} (setting hermit.hermitPath)`));
			else
				reject(new Error(stderr.trim().split("\n").at(-1) || error.message));
		});
	});
}

/** Rows of `hermit record list --json`, newest first. */
async function list(options) {
	const rows = JSON.parse(await hermit(options, ["record", "list", "--json"], {timeout: LIST_MS}));

	return rows.reverse();
}

/** Takes an export into the store. */
function importFile(options, file, signal) {
	return hermit(options, ["record", "import", file], {signal});
}

module.exports = {importFile, list};
