/* The debug session that is looked at, and requests to its adapter. */
"use strict";
const vscode = require("vscode");

/** The active session if it is one of ours, else null. */
function active() {
	const session = vscode.debug.activeDebugSession;

	return session?.type === "hermit" ? session : null;
}

/** An answer of the adapter, or null after a person was told why there is none. */
async function ask(command, args = {}, session = active()) {
	if (!session) {
		vscode.window.showInformationMessage("Hermit: no recording is being replayed.");
		return null;
	}
	try {
		return await session.customRequest(command, args) ?? {};
	} catch (error) {
		vscode.window.showErrorMessage(`Hermit: ${error.message}`);
		return null;
	}
}

/** The thread that the call stack shows, else the first. null: none. */
async function threadId(session = active()) {
	const item = vscode.debug.activeStackItem;

	if (!session)
		return null;
	if (item && item.session.id === session.id)
		return item.threadId;
	return (await ask("threads", {}, session))?.threads?.[0]?.id ?? null;
}

/** The frame that is selected, as {frameId}, or {} when it is the topmost. */
function frame(session = active()) {
	const item = vscode.debug.activeStackItem;

	return session && item?.session.id === session.id && item.frameId !== undefined ? {frameId: item.frameId} : {};
}

module.exports = {active, ask, frame, threadId};
