/* What can be done with a recording, the same everywhere: menus of the list and of the recording page are made of recordingActions().
 * After a change the stream tells the pages; nothing is returned. */
import {ApiError, delFresh, patchFresh, post, url} from "./api.js";
import {h} from "./dom.js";
import * as format from "./format.js";
import {confirmDialog, openDialog, promptDialog} from "./dialogs.js";
import {copyText} from "./hm-copy.js";
import {href, router} from "./router.js";
import {openDebugDialog} from "./hm-debug.js";
import {toast, toastError} from "./hm-toasts.js";

const NAME_MAX = 60;
export const LABEL_MAX = 100;
export const LABEL_HINT = "Shown before the command. Up to 100 bytes, no slash.";

/** What people call it: its label, else its command, cut. */
export function nameOf(rec) {
	const name = format.printable(rec.label || rec.command) || rec.id;

	return name.length > NAME_MAX ? name.slice(0, NAME_MAX) + "\u2026" : name;
}

const path = rec => `/recordings/${rec.id}`;

async function attempt(what, fn, done = null) {
	try {
		await fn();
		if (done)
			toast(done);
		return true;
	} catch (error) {
		toastError(error, what);
		return false;
	}
}

export async function rename(rec) {
	const label = await promptDialog({title: "Rename", label: "Label", value: rec.label ?? "", hint: `${LABEL_HINT} Leave it empty for none.`, maxlength: LABEL_MAX, action: "Rename"});

	if (label !== null && label.trim() !== (rec.label ?? ""))
		await attempt(`Could not rename ${nameOf(rec)}`, () => patchFresh(path(rec), {label: label.trim() || null}));
}

export function setKeep(rec, keep) {
	return attempt(`Could not change ${nameOf(rec)}`, () => patchFresh(path(rec), {keep}),
		keep ? "Kept: housekeeping will not remove it" : "Housekeeping may remove it again");
}

export async function stop(rec) {
	const ways = [
		["term", "Ask the program to end", "SIGTERM; what it does until then is recorded"],
		["kill", "Kill the program", "SIGKILL to all its processes"],
		["cut", "End the recording only", "The program goes on without hermit; the recording is truncated"],
	];
	let mode = "term";
	const body = h("fieldset.choices", {}, h("legend.sr-only", {}, "How to stop"), ways.map(([value, label, hint]) => h("label", {},
		h("input", {type: "radio", name: "mode", value, checked: value === mode, onchange: () => {
			mode = value;
		}}),
		h("span", {}, label, h("small.muted", {}, hint)))));

	if (await confirmDialog({title: `Stop ${nameOf(rec)}?`, body, action: "Stop", danger: true}))
		await attempt("Could not stop it", () => post(path(rec) + "/stop", {mode}));
}

export async function startJob(rec, kind, what) {
	try {
		await post(`${path(rec)}/${kind}`);
		toast(`${what} ${nameOf(rec)}`, {action: {label: "Jobs", run: () => router.go("jobs")}});
	} catch (error) {
		toastError(error, `Could not start: ${what.toLowerCase()} ${nameOf(rec)}`);
	}
}

/** Asks, then deletes; true when all of them are gone. */
export async function remove(list) {
	const one = list.length === 1 ? list[0] : null;
	const size = list.reduce((sum, rec) => sum + rec.bytes, 0);
	const kept = list.filter(rec => rec.keep).length;
	const text = `${one ? "It is" : "They are"} gone for good, with bookmarks and notes; ${format.bytes(size)} are freed.` +
		(kept ? ` ${one ? "It is" : format.plural(kept, "of them is", "of them are")} marked as kept.` : "");
	const failed = [];

	if (!await confirmDialog({title: one ? `Delete ${nameOf(one)}?` : `Delete ${list.length} recordings?`, text, action: "Delete", danger: true}))
		return false;
	for (const rec of list) {
		try {
			await delFresh(path(rec));
		} catch (error) {
			if (!(error instanceof ApiError && error.status === 404))
				failed.push([rec, error]);
		}
	}
	if (failed.length)
		toastError(failed[0][1], failed.length === 1 ? `Could not delete ${nameOf(failed[0][0])}` : `Could not delete ${failed.length} of ${list.length} recordings`);
	else
		toast(one ? `Deleted ${nameOf(one)}` : `Deleted ${list.length} recordings`);
	return !failed.length;
}

export function sendSignal(rec) {
	const names = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGKILL"];
	const select = h("select", {id: "signal-name", autofocus: true}, names.map(name => h("option", {}, name)));

	openDialog({
		title: `Send a signal to ${nameOf(rec)}`,
		body: h("div.field", {}, h("label", {for: "signal-name"}, "Signal"), select),
		actions: [{label: "Cancel"}, {label: "Send", primary: true, run: () => attempt("Could not send it", () => post(path(rec) + "/signal", {signal: select.value}), `Sent ${select.value}`)}],
	});
}

/**
 * Items for openMenu(). at: event number a debug session should go to, or null.
 * @param {{readOnly?: boolean, open?: boolean, at?: number|null}} options open: with the links that open its pages
 */
export function recordingActions(rec, {readOnly = false, open = true, at = null} = {}) {
	const no = readOnly ? "The server is read-only" : null;
	const broken = rec.state === "broken" ? "It cannot be read" : null;
	const liveNow = rec.live ? "It is still being recorded" : null;

	return [
		...open ? [
			{label: "Open", icon: "right", href: href(`r/${rec.id}`)},
			{label: "Summary", icon: "info", href: href(`r/${rec.id}/summary`)},
		] : [],
		{label: "Debug\u2026", icon: "debug", disabled: broken, run: () => openDebugDialog(rec, at)},
		null,
		...rec.live ? [
			{label: "Stop\u2026", icon: "stop", disabled: no, run: () => stop(rec)},
			{label: "Send a signal\u2026", icon: "signal", disabled: no, run: () => sendSignal(rec)},
			null,
		] : [],
		{label: "Rename\u2026", icon: "pen", disabled: no, run: () => rename(rec)},
		{label: rec.keep ? "Do not keep" : "Keep", icon: "keep", disabled: no, run: () => setKeep(rec, !rec.keep)},
		{label: "Seal", icon: "seal", disabled: no ?? liveNow ?? broken ?? (rec.state === "sealed" ? "It is sealed" : null), run: () => startJob(rec, "seal", "Sealing")},
		{label: "Verify", icon: "check", disabled: no ?? liveNow, run: () => startJob(rec, "verify", "Verifying")},
		{label: "Replay check", icon: "play", disabled: no ?? liveNow ?? broken, run: () => startJob(rec, "replay-check", "Replaying")},
		null,
		{label: "Download", icon: "download", disabled: liveNow, href: url(path(rec) + "/export"), download: `${rec.id}.hermit.tar`},
		{label: "Copy ID", icon: "copy", run: () => attempt("Could not copy", () => copyText(rec.id), "Copied the ID")},
		{label: "Delete\u2026", icon: "trash", danger: true, disabled: no ?? liveNow, run: () => remove([rec])},
	];
}
