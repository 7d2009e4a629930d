/* The commands that act on the session that is looked at. Each is a request of the adapter (hermit/...); the stop that follows moves the editor. */
"use strict";
const vscode = require("vscode");
const {eventPlace, expressionAt, timePlace, writtenThing} = require("./expressions.js");
const {count} = require("./recordings.js");
const {active, ask, frame, threadId} = require("./session.js");

async function reverse(request) {
	const thread = await threadId();

	return thread === null ? null : ask(request, {threadId: thread});
}

function seek(place) {
	return ask("hermit/seek", {place: String(place)});
}

/** Text that a person types, or undefined; read: gives what it stands for, null when it stands for nothing. */
async function typed({title, prompt, value, wrong}, read) {
	const answer = await vscode.window.showInputBox({title, prompt, value, validateInput: line => read(line) === null ? wrong : null});

	return answer === undefined ? undefined : read(answer);
}

const some = line => line.trim() || null;

async function seekTyped(texts, read) {
	if (!active())
		return ask("hermit/where");
	const place = await typed(texts, read);

	return place === undefined ? null : seek(place);
}

/* The selection, or what the cursor is in. */
function pointedAt() {
	const editor = vscode.window.activeTextEditor;

	if (!editor)
		return "";
	const {selection, document} = editor;

	return selection.isEmpty ? expressionAt(document.lineAt(selection.active.line).text, selection.active.character) : document.getText(selection).trim();
}

async function lastWrite() {
	const expression = await typed({title: "Last write", prompt: "Back to the instruction that last changed this variable or range", value: pointedAt(), wrong: "An expression that has an address"}, some);

	return expression === undefined ? null : ask("hermit/lastWrite", {expression, ...frame()});
}

function lastWriteOfVariable(item) {
	const thing = writtenThing(item);

	return thing ? ask("hermit/lastWrite", {...thing, ...thing.expression ? frame() : {}}) : lastWrite();
}

async function bookmark() {
	const text = await typed({title: "Bookmark", prompt: "A name for this place; it stays with the recording", wrong: "A name"}, some);

	return text === undefined ? null : ask("hermit/addBookmark", {text});
}

async function goToBookmark() {
	const answer = await ask("hermit/bookmarks");

	if (!answer)
		return null;
	const items = (answer.bookmarks ?? []).map(one => ({label: one.text, description: `event ${count(one.event)}`, detail: one.author ?? undefined, one}));
	const chosen = await vscode.window.showQuickPick(items, {title: "Bookmarks", placeHolder: items.length ? "Go to" : "There are no bookmarks yet"});

	return chosen ? seek(chosen.one.position ?? chosen.one.event) : null;
}

/* The line that a menu of line numbers names ({uri, lineNumber}), else that of the cursor. */
function lineOf(item) {
	const editor = vscode.window.activeTextEditor;

	if (item?.uri && item.lineNumber)
		return {path: item.uri.fsPath, line: item.lineNumber};
	return editor ? {path: editor.document.uri.fsPath, line: editor.selection.active.line + 1} : null;
}

async function logAll(item) {
	const place = lineOf(item);

	if (!place)
		return null;
	const where = `${place.path.split("/").at(-1)}:${place.line}`;
	const logMessage = await typed({title: `Log at ${where}, over the whole recording`, prompt: "Text; expressions in braces, as {list->length}", wrong: "A text"}, some);

	if (logMessage === undefined)
		return null;
	const condition = await typed({title: `Log at ${where}: only if`, prompt: "A condition; empty: always"}, line => line.trim());

	if (condition === undefined)
		return null;
	vscode.commands.executeCommand("workbench.debug.action.focusRepl");
	return ask("hermit/logAll", {source: {path: place.path}, line: place.line, logMessage, ...condition ? {condition} : {}});
}

async function where() {
	const now = await ask("hermit/where");

	if (!now)
		return null;
	const copy = "Copy Position";
	const answer = await vscode.window.showInformationMessage(`Hermit: event ${count(now.event)} of ${count(now.events)}`, ...now.position ? [copy] : []);

	return answer === copy ? vscode.env.clipboard.writeText(now.position) : null;
}

/** Id without "hermit." and what it does; the argument is the item of a menu or tree. */
const commands = {
	reverseNext: () => reverse("hermit/reverseNext"),
	reverseStepIn: () => reverse("hermit/reverseStepIn"),
	reverseStepOut: () => reverse("hermit/reverseStepOut"),
	lastWrite,
	lastWriteOfVariable,
	bookmark,
	goToBookmark,
	removeBookmark: item => item?.bookmark ? ask("hermit/removeBookmark", {id: item.bookmark.id}) : null,
	goToStart: () => seek("start"),
	goToEnd: () => seek("end"),
	back: () => ask("hermit/navigate", {direction: "back"}),
	forward: () => ask("hermit/navigate", {direction: "forward"}),
	goToEvent: () => seekTyped({title: "Run to event", prompt: "So many events have happened then", wrong: "The number of an event"}, eventPlace),
	goToTime: () => seekTyped({title: "Go to time", prompt: "After the beginning of the recording: 1.5s, 20ms, 3m", wrong: "A time: 1.5s, 20ms, 3m"}, timePlace),
	goToPlace: item => item?.place === undefined ? null : seek(item.place),
	logAll,
	where,
	openProcess: item => item?.process ? ask("hermit/openProcess", {pid: item.process.pid}) : chooseProcess(),
};

async function chooseProcess() {
	const answer = await ask("hermit/processes");

	if (!answer)
		return null;
	const items = (answer.processes ?? []).map(one => ({label: `${one.pid}`, description: one.program, detail: `events ${count(one.first)} to ${count(one.last)}`, one}));
	const chosen = await vscode.window.showQuickPick(items, {title: "Processes of the recording", placeHolder: "Open a session of", matchOnDescription: true});

	return chosen ? ask("hermit/openProcess", {pid: chosen.one.pid}) : null;
}

/** Commands after which the bookmarks are others. */
const CHANGE_BOOKMARKS = ["bookmark", "removeBookmark"];

module.exports = {CHANGE_BOOKMARKS, commands};
