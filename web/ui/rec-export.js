/** What a recording can be saved as: all of it, its events (those of the filter) in three forms, a trace for Perfetto, its output. */
import {h} from "./dom.js";
import {url} from "./api.js";
import {icon} from "./icons.js";
import {openMenu} from "./menu.js";
import {toastError} from "./hm-toasts.js";

const PAGE = 1000;

/** @param {import("./rec-model.js").RecordingModel} model */
export function exportButton(model) {
	return h("button", {type: "button", "aria-haspopup": "menu", "aria-expanded": "false", onclick: e => openMenu(e.currentTarget, items(model))}, icon("download"), "Export");
}

function items(model) {
	const which = model.query ? "the filtered events" : "all events";
	const save = (suffix, type, label) => ({label: `${label} of ${which}`, icon: "download", run: () => saveEvents(model, suffix, type)});

	return [
		{label: "Recording (tar)", icon: "download", disabled: model.recording?.live ? "It is still being recorded" : null, href: url(model.path("/export")), download: `${model.id}.hermit.tar`},
		{label: "Trace for Perfetto", icon: "download", href: url(model.path("/trace")), download: `${model.id}.trace.json`},
		null,
		save("csv", "text/csv", "CSV"), save("ndjson", "application/x-ndjson", "NDJSON"), save("txt", "text/plain", "strace text"),
		null,
		{label: "Output as text", icon: "download", run: () => saveOutput(model)},
	];
}

/** The form is chosen by Accept, which links cannot say. */
async function fetchAs(model, rest, type, params) {
	const response = await fetch(url(model.path(rest), params), {headers: {Accept: type}, signal: model.signal, credentials: "same-origin"});

	if (!response.ok)
		throw new Error(`the server answered ${response.status}`);
	return response.text();
}

function keep(pieces, type, name) {
	const link = h("a", {href: URL.createObjectURL(new Blob(pieces, {type})), download: name});

	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function saveEvents(model, suffix, type) {
	const pieces = [];

	try {
		for (let offset = 0, more = true; more; offset += PAGE) {
			const body = await fetchAs(model, "/events", type, {q: model.query, offset, limit: PAGE});
			const lines = body.split("\n").length - 1;
			const head = suffix === "csv" ? 1 : 0;

			pieces.push(head && offset > 0 ? body.slice(body.indexOf("\n") + 1) : body);
			more = lines - head >= PAGE;
		}
		keep(pieces, type, `${model.id}.${suffix}`);
	} catch (error) {
		if (error.name !== "AbortError")
			toastError(error, "The export did not work");
	}
}

async function saveOutput(model) {
	try {
		keep([await fetchAs(model, "/console", "text/plain")], "text/plain", `${model.id}.output.txt`);
	} catch (error) {
		if (error.name !== "AbortError")
			toastError(error, "The output could not be saved");
	}
}
