/* The tree of processes as nested lists that can be folded; each process leads to its first event. */
import {exitBadge} from "./badges.js";
import {h} from "./dom.js";
import * as format from "./format.js";
import {emptyNotice} from "./notices.js";
import {href} from "./router.js";

const OPEN_DEPTH = 6;

export function processTree(items, id, words) {
	const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);

	if (wanted.length) {
		const found = items.filter(one => wanted.every(word => `${one.pid} ${one.exe} ${one.command}`.toLowerCase().includes(word)));

		if (!found.length)
			return emptyNotice({title: "Nothing found", text: "No process has all of these words."});
		return h("ul.tree", {}, found.map(one => h("li", {}, line(one, id))));
	}
	const children = Map.groupBy(items, one => one.parent);
	const known = new Set(items.map(one => one.thread));
	const roots = items.filter(one => !known.has(one.parent));

	return h("ul.tree", {}, roots.map(one => node(one, children, id, 0)));
}

function node(one, children, id, depth) {
	const below = children.get(one.thread) ?? [];

	if (!below.length)
		return h("li", {}, line(one, id));
	return h("li", {}, h("details", {open: depth < OPEN_DEPTH}, h("summary", {}, line(one, id)), h("ul.tree", {}, below.map(child => node(child, children, id, depth + 1)))));
}

function line(one, id) {
	const last = one.end_ns ?? null;

	return h("span.process", {},
		h("span.pid", {}, String(one.pid)),
		h("a.mono.cut", {href: href(`r/${id}`, {at: one.first_event, q: `pid:${one.pid}`}), title: one.command}, format.printable(one.command || one.exe)),
		one.threads.length > 1 ? h("span.muted", {}, format.plural(one.threads.length, "thread")) : null,
		exitBadge(one.exit),
		h("span.muted.num", {}, last ? format.duration(Number(last) - Number(one.start_ns)) : ""));
}
