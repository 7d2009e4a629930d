/** What can be done with a row: narrow the filter to what it is about, copy, bookmark. The paths and descriptors come from its details. */
import {h} from "./dom.js";
import {openMenu} from "./menu.js";
import {copyText} from "./hm-copy.js";
import {toast} from "./hm-toasts.js";
import {href} from "./router.js";
import {quoteTerm} from "./rec-filter-words.js";

async function copied(value, what) {
	await copyText(value);
	toast(`Copied ${what}`);
}

/** Terms that fit a row: [label, term] */
export function termsOf(row, detail) {
	const terms = [[`Thread ${row.thread}`, `thread:${row.thread}`], [`Process ${row.pid}`, `pid:${row.pid}`]];
	const args = detail?.number === row.number ? detail.arguments ?? [] : [];
	if (row.kind.startsWith("syscall"))
		terms.push([`Call ${row.name}`, `syscall:${row.name}`], [`Not ${row.name}`, `-syscall:${row.name}`]);
	else
		terms.push([`Kind ${row.kind}`, `kind:${row.kind}`]);
	if (row.errno)
		terms.push([`Error ${row.errno}`, `errno:${row.errno}`]);
	for (const fd of args.map(a => a.fd).filter(Boolean))
		terms.push([`Descriptor ${fd.number}`, `fd:${fd.number}`]);
	const path = args.find(a => a.fd?.path)?.fd.path ?? /"(\/[^"]{1,300})"/.exec(row.args)?.[1];
	if (path)
		terms.push([`Path ${path.length > 40 ? `...${path.slice(-38)}` : path}`, quoteTerm("path", path)]);
	return terms;
}

/** @param {{row: object, x: number, y: number, from: HTMLElement}} at */
export function openRowMenu(model, {row, x, y, from}, bookmark) {
	const anchor = h("span.rec-anchor", {"aria-label": "Actions for the event"});
	const items = termsOf(row, model.detail).map(([label, term]) => ({label, icon: "search", run: () => model.addTerm(term)}));
	anchor.style.left = `${x}px`;
	anchor.style.top = `${y}px`;
	anchor.focus = () => from.focus({preventScroll: true});
	document.body.append(anchor);
	openMenu(anchor, [...items, null,
		{label: "Bookmark", icon: "keep", key: "b", run: bookmark},
		{label: "Copy the line", icon: "copy", run: () => copied(row.kind.startsWith("syscall") ? `${row.name}(${row.args}) = ${row.result}` : `${row.name} ${row.args}`, "the line")},
		{label: "Copy the link", icon: "link", run: () => copied(new URL(href(`r/${encodeURIComponent(model.id)}`, {at: row.number}), location.href).href, "the link")},
		{label: "Copy the gdb command", icon: "debug", run: () => copied(`hermit replay ${model.id} -g ${row.number}`, "the command")}]);
	document.body.querySelector(":scope > .menu")?.addEventListener("toggle", e => e.newState === "closed" && anchor.remove());
}
