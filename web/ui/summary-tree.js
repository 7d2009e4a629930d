/* The tree of processes as nested lists that can be folded; each process leads to its first event. */
import {exitBadge} from "./badges.js";
import {h, uid} from "./dom.js";
import * as format from "./format.js";
import {icon} from "./icons.js";
import {emptyNotice} from "./notices.js";
import {href} from "./router.js";

const OPEN_DEPTH = 6;

/** @param {Set<number>} folded threads whose children are not shown; what people fold is kept in it */
export function processTree(items, id, words, folded) {
	const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);

	if (wanted.length) {
		const found = items.filter(one => wanted.every(word => `${one.pid} ${one.exe} ${one.command}`.toLowerCase().includes(word)));

		if (!found.length)
			return emptyNotice({title: "Nothing found", text: "No process has all of these words."});
		return h("ul.tree", {}, found.map(one => h("li", {}, line(one, id, null))));
	}
	const children = Map.groupBy(items, one => one.parent);
	const known = new Set(items.map(one => one.thread));

	return h("ul.tree", {}, items.filter(one => !known.has(one.parent)).map(one => node(one, {children, id, folded}, 0)));
}

function node(one, tree, depth) {
	const below = tree.children.get(one.thread) ?? [];

	if (!below.length)
		return h("li", {}, line(one, tree.id, null));
	if (depth === OPEN_DEPTH && !tree.folded.has(-one.thread))
		tree.folded.add(one.thread);
	const list = h("ul.tree", {id: uid("tree"), hidden: tree.folded.has(one.thread)}, below.map(child => node(child, tree, depth + 1)));
	const fold = h("button.quiet.icon.fold", {
		type: "button", "aria-expanded": String(!list.hidden), "aria-controls": list.id, "aria-label": `Children of ${one.pid}`,
		onclick: () => {
			list.hidden = !list.hidden;
			fold.setAttribute("aria-expanded", String(!list.hidden));
			tree.folded[list.hidden ? "add" : "delete"](one.thread);
			tree.folded.add(-one.thread);		/* a person decided */
		},
	}, icon("right"));

	return h("li", {}, line(one, tree.id, fold), list);
}

function line(one, id, fold) {
	return h("div.process", {},
		fold ?? h("span.fold", {}),
		h("span.pid", {}, String(one.pid)),
		h("a.mono.cut", {href: href(`r/${id}`, {at: one.first_event, q: `pid:${one.pid}`}), title: one.command}, format.printable(one.command || one.exe)),
		one.threads.length > 1 ? h("span.muted", {}, format.plural(one.threads.length, "thread")) : null,
		exitBadge(one.exit),
		h("span.muted.num", {}, one.end_ns ? format.duration(Number(one.end_ns) - Number(one.start_ns)) : ""));
}
