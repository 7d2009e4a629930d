/* The view of the session that is looked at: where it stands, its bookmarks, marks (crashes, signals, programs started ...), processes, and the events around. */
"use strict";
const vscode = require("vscode");
const {count, duration} = require("./recordings.js");
const {active} = require("./session.js");

const AROUND = 8; /* events before and after the present one, at first */
const MORE = 50;
const MARKS_MAX = 200;
const ICONS = {crash: "error", signal: "zap", exec: "rocket", exit: "circle-slash", thread: "git-branch", note: "note"};

function item(label, {icon, ...rest} = {}) {
	return {label, collapsible: vscode.TreeItemCollapsibleState.None, icon, ...rest};
}

function group(label, children, open = true) {
	return {label, children, collapsible: open ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed};
}

function bookmarkItem(one, here) {
	return item(one.text, {
		kind: "bookmark", icon: "bookmark", bookmark: one, place: one.position ?? one.event, here: one.event === here,
		description: `event ${count(one.event)}`, tooltip: [one.text, one.author && `by ${one.author}`].filter(Boolean).join("\n"),
	});
}

function markItem(one, here) {
	return item(one.text ?? one.kind, {kind: "mark", icon: ICONS[one.kind] ?? "circle-small", place: one.event, here: one.event === here, description: `event ${count(one.event)}, ${duration(one.timeNs ?? 0)}`});
}

function eventItem(one, here) {
	return item(one.text, {kind: "event", icon: one.event === here ? "debug-stackframe" : "blank", place: one.event, here: one.event === here, description: `${count(one.event)}`, tooltip: `${one.event}  ${one.text}`});
}

function processItem(one) {
	const program = String(one.program ?? "").split("/").at(-1);

	return item(`${one.pid} ${program}`, {kind: "process", icon: one.current ? "debug-stackframe" : "server-process", process: one, description: `events ${count(one.first)} to ${count(one.last)}`, tooltip: `${one.command ?? one.program}\nchild of ${one.parent}`});
}

class Timeline {
	#changed = new vscode.EventEmitter();
	onDidChangeTreeData = this.#changed.event;
	#before = AROUND;
	#after = AROUND;

	/** The session stands elsewhere, or another is looked at. */
	refresh() {
		this.#before = this.#after = AROUND;
		this.#changed.fire(undefined);
	}

	bookmarksChanged() {
		this.#changed.fire(undefined);
	}

	more({earlier}) {
		if (earlier)
			this.#before += MORE;
		else
			this.#after += MORE;
		this.#changed.fire(undefined);
	}


	getTreeItem(one) {
		const tree = new vscode.TreeItem(one.label, one.collapsible);

		Object.assign(tree, {description: one.description, tooltip: one.tooltip, contextValue: one.kind, id: one.id});
		if (one.icon)
			tree.iconPath = new vscode.ThemeIcon(one.icon, one.here ? new vscode.ThemeColor("debugIcon.breakpointCurrentStackframeForeground") : undefined);
		if (one.command || one.place !== undefined)
			tree.command = one.command ?? {command: "hermit.goToPlace", title: "Go to this Place", arguments: [one]};
		return tree;
	}

	async getChildren(one) {
		const session = active();

		if (one)
			return one.children ?? [];
		return session ? this.#groups(session) : [];
	}

	/* While the guest runs, or when a part fails, the rest is shown all the same. */
	async #groups(session) {
		const quietly = (command, args) => session.customRequest(command, args).then(body => body ?? {}, () => ({}));
		const [now, marks, processes] = await Promise.all([quietly("hermit/timeline", {}), quietly("hermit/bookmarks", {}), quietly("hermit/processes", {})]);

		const bookmarks = marks.bookmarks ?? [];
		if (now.event === undefined)
			return [item("The recording is being replayed", {icon: "loading~spin"})];
		const from = Math.max(1, now.event - this.#before);
		const events = await quietly("hermit/events", {from, count: now.event + this.#after - from + 1});

		return [this.#here(now), ...this.#lists(now, bookmarks, processes.processes ?? []), this.#events(now, events)];
	}

	#here(now) {
		const end = now.atStart ? ", start" : now.atEnd ? ", end" : "";

		return item(`Event ${count(now.event)} of ${count(now.events)}${end}`, {icon: "debug-stackframe", here: true, description: `${duration(now.timeNs ?? 0)} of ${duration(now.durationNs ?? 0)}`, tooltip: now.position});
	}

	#lists(now, bookmarks, processes) {
		/* bookmarks are shown by themselves */
		const marks = (now.marks ?? []).filter(one => one.kind !== "bookmark").slice(0, MARKS_MAX);

		return [
			bookmarks.length ? group("Bookmarks", bookmarks.map(one => bookmarkItem(one, now.event))) : null,
			marks.length ? group("Marks", marks.map(one => markItem(one, now.event))) : null,
			processes.length > 1 ? group("Processes", processes.map(processItem), false) : null,
		].filter(Boolean);
	}

	#events(now, {events = [], total = 0}) {
		const more = (label, earlier) => item(label, {icon: "ellipsis", command: {command: "hermit.moreEvents", title: label, arguments: [{earlier}]}});
		const children = events.map(one => eventItem(one, now.event));

		if (events.length && events[0].event > 1)
			children.unshift(more("Earlier events", true));
		if (events.length && events.at(-1).event < total)
			children.push(more("Later events", false));
		return group("Events", children);
	}
}

module.exports = {Timeline};
