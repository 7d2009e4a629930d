/** Details of an event: the call, its arguments, what it returned, its buffers, what it changed, its other half. */
import {h, fill} from "./dom.js";
import * as format from "./format.js";
import {get, url} from "./api.js";
import {copyButton} from "./hm-copy.js";
import {href} from "./router.js";
import {shapeOf} from "./rec-columns.js";
import {quoteTerm} from "./rec-filter-words.js";
import {hexDump, textDump, looksLikeText} from "./rec-hex.js";

const BUFFER_PAGE = 4096;
const BUFFERS_SHOWN = 16;

export class CallView {
	constructor(model) {
		this.m = model;
		this.root = h("div.rec-view");
		model.on("detail", ({error}) => this.show(error));
		model.on("cursor", ({by}) => by !== "time" && this.root.setAttribute("aria-busy", "true"));
	}

	show(error) {
		const d = this.m.detail;
		this.root.removeAttribute("aria-busy");
		if (error)
			fill(this.root, h("div.rec-empty-view", {role: "alert"}, h("p", null, "This event could not be loaded."), h("p.muted", null, error.message)));
		else if (d && d.number === this.m.event)
			fill(this.root, this.#head(d), this.#arguments(d), this.#returned(d), this.#facts(d), this.#buffers(d), this.#effects(d));
	}

	#head(d) {
		const [shape, word, state] = shapeOf(d);
		const gdb = `hermit replay ${this.m.id} -g ${d.number}`;
		return h("section.rec-call-head", null,
			h("div.rec-call-line", null, h("code", {tabindex: "0", "data-state": state || null}, h("span.rec-shape", {role: "img", "aria-label": word}, shape), " ", d.line || d.name), copyButton(d.line || d.name, "Copy the line")),
			h("p.rec-facts.muted", null, h("span", {title: format.durationExact(d.time_ns)}, `at ${format.clock(d.time_ns)} s`), h("span", null, this.m.threadName(d.thread)), h("span", null, `pid ${d.pid}, tid ${d.tid}`),
				d.duration_ns ? h("span", {title: format.durationExact(d.duration_ns)}, `blocked ${format.duration(d.duration_ns)}`) : null),
			h("div.rec-walk", null,
				this.#walk(d.previous_same_thread, "\u2190 previous of thread", "["), this.#walk(d.next_same_thread, "next of thread \u2192", "]"),
				d.partner ? this.#link(d.partner, d.kind === "syscall-enter" ? "where the call ends" : "the other half of the call") : null,
				h("span.rec-gdb", null, "gdb command", copyButton(gdb, `Copy: ${gdb}`))));
	}

	#link(event, label) {
		return h("a", {href: href(`r/${encodeURIComponent(this.m.id)}`, {at: event, q: this.m.query}), title: format.event(event)}, label);
	}

	#walk(event, label, key) {
		return event ? h("a", {href: href(`r/${encodeURIComponent(this.m.id)}`, {at: event, q: this.m.query}), title: `${format.event(event)} (${key})`}, label) : h("span.muted", null, label);
	}

	#arguments(d) {
		if (!d.arguments?.length)
			return null;
		const cell = a => h("td", null, h("code.rec-value", {title: a.value}, a.text),
			a.fd?.path ? h("div.rec-fd-path.muted", null, h("span", {"aria-label": "which is"}, "\u2192 "), h("code", null, a.fd.path), copyButton(a.fd.path, "Copy the path"),
				h("button.quiet.rec-small", {type: "button", title: "Filter to this descriptor", onclick: () => this.m.addTerm(`fd:${a.fd.number}`)}, `fd:${a.fd.number}`)) : null,
			a.buffer !== null && a.buffer !== undefined ? h("a.rec-buffer-link", {href: "#", onclick: e => {
				e.preventDefault();
				this.root.querySelector(`[data-buffer="${a.buffer}"]`)?.scrollIntoView({block: "nearest"});
			}}, "bytes") : null);
		return h("section", null, h("h3", null, "Arguments"), h("table.rec-table", null, h("tbody", null, d.arguments.map(a => h("tr", null,
			h("th", {scope: "row"}, a.name), cell(a), h("td.rec-raw.muted", null, h("button.quiet.rec-addr", {type: "button", title: "Look at the memory there", onclick: () => this.#memory(a.value)}, a.value)))))));
	}

	#memory(addr) {
		this.root.dispatchEvent(new CustomEvent("look-memory", {bubbles: true, detail: {addr}}));
	}

	#returned(d) {
		if (!d.returned)
			return null;
		return h("section", null, h("h3", null, "Returned"), h("p.rec-returned", {"data-state": d.failed ? "error" : null}, h("code", {title: d.returned.value}, d.returned.text),
			d.errno ? h("button.quiet.rec-small", {type: "button", title: "Filter to this error", onclick: () => this.m.addTerm(quoteTerm("errno", d.errno))}, `errno:${d.errno}`) : null,
			h("span.muted", null, d.returned.value)));
	}

	#facts(d) {
		const rows = [["Signal", d.siginfo], ["Program", d.exec?.path], ["Arguments", d.exec?.argv?.join(" ")], ["Child", d.child ? `thread ${d.child.thread}, pid ${d.child.pid}, tid ${d.child.tid}` : null],
			["Status", d.status ? d.status.kind === "signaled" ? d.status.signal : `exit ${d.status.code}` : null], ["Note", d.text], ["Flags", d.flags?.length ? d.flags.join(", ") : null], ["Instruction", d.rip]];
		return h("section", null, h("table.rec-table", null, h("tbody", null, rows.filter(([, v]) => v).map(([name, v]) => h("tr", null, h("th", {scope: "row"}, name), h("td", null, h("code.rec-value", null, v)))))));
	}

	#effects(d) {
		if (!d.effects?.length)
			return null;
		const said = e => Object.entries(e).filter(([k, v]) => k !== "kind" && k !== "data" && v !== null && typeof v !== "object").map(([k, v]) => `${k} ${v}`).join("  ");
		return h("details.rec-effects", null, h("summary", null, `Effects (${d.effects.length})`), h("table.rec-table", null, h("tbody", null, d.effects.slice(0, 200).map(e => h("tr", null, h("th", {scope: "row"}, e.kind ?? "effect"), h("td", null, h("code.rec-value", null, said(e))))))));
	}

	/** An exec can have hundreds: their bytes are asked for when they come into sight. */
	#buffers(d) {
		const all = d.buffers ?? [];
		const rest = all.length - BUFFERS_SHOWN;
		const sections = all.slice(0, BUFFERS_SHOWN).map(b => this.#buffer(d, b));

		if (rest <= 0)
			return sections;
		const more = h("button", {type: "button", onclick: () => more.replaceWith(...all.slice(BUFFERS_SHOWN).map(b => this.#buffer(d, b)))}, `${format.plural(rest, "more buffer")}`);
		return [...sections, more];
	}

	#whenSeen(el, fn) {
		const seen = new IntersectionObserver(entries => {
			if (entries.some(e => e.isIntersecting)) {
				seen.disconnect();
				fn();
			}
		}, {root: this.root, rootMargin: "200px"});

		seen.observe(el);
	}

	#buffer(d, b) {
		const path = this.m.path(`/events/${d.number}/buffers/${b.index}`);
		const body = h("div.rec-buffer-body");
		const state = {at: 0, mode: null};
		const info = h("span.muted");
		const mode = h("button.quiet.rec-small", {type: "button", onclick: () => {
			state.mode = state.mode === "hex" ? "text" : "hex";
			load();
		}}, "Hex");
		const turn = by => h("button.quiet.rec-small", {type: "button", "aria-label": by < 0 ? "Bytes before" : "Bytes after", onclick: () => {
			state.at = Math.min(Math.max(0, state.at + by * BUFFER_PAGE), Math.max(0, Math.floor((b.len - 1) / BUFFER_PAGE) * BUFFER_PAGE));
			load();
		}}, by < 0 ? "\u2190" : "\u2192");
		const load = async () => {
			try {
				const bytes = await rangeOf(path, state.at, Math.min(b.len, state.at + BUFFER_PAGE), this.m.signal);
				state.mode ??= looksLikeText(bytes) ? "text" : "hex";
				mode.textContent = state.mode === "hex" ? "Show as text" : "Show as hex";
				fill(body, state.mode === "hex" ? hexDump(bytes, state.at) : textDump(bytes));
				info.textContent = b.len > BUFFER_PAGE ? `${format.count(state.at)}..${format.count(state.at + bytes.length)} of ${format.bytes(b.len)}` : format.bytes(b.len);
			} catch (error) {
				if (error.name !== "AbortError")
					fill(body, h("p.muted", null, `The bytes could not be loaded: ${error.message} `, h("button", {type: "button", onclick: load}, "Try again")));
			}
		};
		this.#whenSeen(body, load);
		return h("section.rec-buffer", {"data-buffer": b.index}, h("h3", null, `${b.direction === "in" ? "Bytes given" : "Bytes received"} `, info, mode, b.len > BUFFER_PAGE ? [turn(-1), turn(1)] : null,
			h("a.button.quiet.rec-small", {href: url(path), download: `event-${d.number}-buffer-${b.index}.bin`}, "Download")), body);
	}
}

/** Bytes from..to of a resource, with Range. */
async function rangeOf(path, from, to, signal) {
	if (to <= from)
		return new Uint8Array(0);
	const response = await fetch(url(path), {headers: {Range: `bytes=${from}-${to - 1}`, Accept: "application/octet-stream"}, signal, credentials: "same-origin"});
	if (!response.ok)
		return new Uint8Array(await get(path, {as: "bytes", signal}));
	const bytes = new Uint8Array(await response.arrayBuffer());
	return response.status === 206 ? bytes : bytes.subarray(from, to);
}
