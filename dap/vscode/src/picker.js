/* Lets a person choose a recording, and sees to it that it can be replayed here. */
"use strict";
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const vscode = require("vscode");
const {Hermitd} = require("./hermitd.js");
const {parseServer} = require("./link.js");
const recordings = require("./recordings.js");
const {settings} = require("./settings.js");
const store = require("./store.js");

/* hermitd of recordings that were chosen and are not in the store here, by id: ${command:hermit.pickRecording} can give an id only. */
const elsewhere = new Map();

/** The recordings, or [] after a person was told what is wrong. */
async function load() {
	const now = settings();
	const {recordings: found, problems} = await recordings.all(now);

	if (now.problem)
		problems.push(now.problem);
	for (const one of found)
		if (one.server)
			elsewhere.set(one.id, one.server);
	return {found, problems};
}

/** A recording that a person chose; null: none. */
async function pick() {
	const items = load().then(({found, problems}) => {
		if (!found.length)
			vscode.window.showWarningMessage(`Hermit: there are no recordings. ${problems.join(" ")}`.trim());
		return found.map(one => ({...recordings.describe(one, Date.now()), one}));
	});
	const chosen = await vscode.window.showQuickPick(items, {title: "Recordings", placeHolder: "Command, label or id", matchOnDescription: true, matchOnDetail: true});

	return chosen?.one ?? null;
}

/* The token of the settings belongs to the hermitd of the settings; any other is asked for its own. */
async function tokenFor(origin) {
	const now = settings();

	if (origin === now.server)
		return now.token;
	return await vscode.window.showInputBox({title: `Token of hermitd at ${origin}`, password: true, ignoreFocusOut: true, prompt: "It is sent there once and not kept."}) ?? null;
}

/* The directory of a hermitd's recordings, if it is one of this machine that we can read; else null. */
async function readableHere(hermitd) {
	const dir = await hermitd.dataDir();

	try {
		await fs.promises.access(dir, fs.constants.R_OK | fs.constants.X_OK);
		return path.isAbsolute(dir) ? dir : null;
	} catch {
		return null;
	}
}

function fetchRecording(hermitd, id) {
	const options = {location: vscode.ProgressLocation.Notification, cancellable: true, title: `Downloading recording ${id.slice(0, 12)} from ${hermitd.origin}`};

	return vscode.window.withProgress(options, async (progress, cancel) => {
		const dir = await fs.promises.mkdtemp(path.join(os.tmpdir(), "hermit-import-"));
		const file = path.join(dir, "recording.hermit");
		const abort = new AbortController();

		cancel.onCancellationRequested(() => abort.abort());
		try {
			await hermitd.download(id, file, abort.signal);
			progress.report({message: "taking it into the store"});
			await store.importFile(settings(), file, abort.signal);
		} finally {
			await fs.promises.rm(dir, {recursive: true, force: true});
		}
	});
}

/** Makes a recording of a hermitd one that can be replayed here: {dataDir}, or {} when it is in the usual store now. null: a person does not want it. */
async function bring(id, server) {
	const {origin, local} = parseServer(server);
	const hermitd = new Hermitd(origin, await tokenFor(origin));
	const dataDir = local ? await readableHere(hermitd) : null;

	if (dataDir)
		return {dataDir};
	const has = (await store.list(settings())).some(one => one.id.startsWith(id));

	if (has)
		return {};
	const yes = "Download";
	const answer = await vscode.window.showInformationMessage(`Recording ${id.slice(0, 12)} is on ${origin}. Download it into the store of this machine?`, {modal: true}, yes);

	if (answer !== yes)
		return null;
	await fetchRecording(hermitd, id);
	return {};
}

module.exports = {bring, elsewhere, load, pick};
