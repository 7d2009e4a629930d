/* Links (link.js): nothing on another machine is asked, and no server is attached to, before a person has agreed. */
"use strict";
const vscode = require("vscode");
const {linkConfiguration, parseLink} = require("./link.js");

const OPEN = "Open";

/* What a link wants to connect to, as a question; null: nothing to ask. A replay server is named in any case: gdb would talk to whatever listens there. */
function question(link) {
	if (link.strangers.length)
		return `A link wants to open recording ${link.recording.slice(0, 12)} and to connect to ${link.strangers.join(" and ")}, which is not this machine.`;
	return link.target ? `A link wants gdb to attach to the replay of recording ${link.recording.slice(0, 12)} at ${link.target}.` : null;
}

class LinkHandler {
	async handleUri(uri) {
		let link = null;

		try {
			link = parseLink(uri);
		} catch (error) {
			vscode.window.showErrorMessage(`Hermit: this link cannot be followed: ${error.message}`);
			return;
		}
		const ask = question(link);

		if (ask && await vscode.window.showWarningMessage(ask, {modal: true, detail: "Open it only if you trust where the link comes from."}, OPEN) !== OPEN)
			return;
		await vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], linkConfiguration(link));
	}
}

module.exports = {LinkHandler};
