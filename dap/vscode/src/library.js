/* The view of the recordings of the store and of hermitd. */
"use strict";
const vscode = require("vscode");
const picker = require("./picker.js");
const recordings = require("./recordings.js");

class Library {
	#changed = new vscode.EventEmitter();
	onDidChangeTreeData = this.#changed.event;

	refresh() {
		this.#changed.fire(undefined);
	}

	getTreeItem(one) {
		const tree = new vscode.TreeItem(one.problem ?? recordings.describe(one, Date.now()).label);

		if (one.problem)
			return Object.assign(tree, {iconPath: new vscode.ThemeIcon("warning"), tooltip: one.problem});
		const {description, detail} = recordings.describe(one, Date.now());

		return Object.assign(tree, {
			id: one.id, description, tooltip: `${one.command}\n${description}\n${detail}`, contextValue: "recording",
			iconPath: new vscode.ThemeIcon(one.live ? "record" : one.bad ? "error" : "pass"),
		});
	}

	async getChildren(one) {
		if (one)
			return [];
		const {found, problems} = await picker.load();

		return [...problems.map(problem => ({problem})), ...found];
	}
}

module.exports = {Library};
