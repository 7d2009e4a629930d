/** The state at the cursor, from the inspector: registers, memory maps, threads, memory. Asked for only while it is looked at. */
import {h, fill} from "./dom.js";
import * as format from "./format.js";
import {latest} from "./api.js";
import {copyButton} from "./hm-copy.js";
import {errorNotice, loadingNotice} from "./notices.js";
import {hexDump, fromBase64} from "./rec-hex.js";

const REST_MS = 180;
const MEMORY_PAGE = 512;

/**
 * What all views of the inspector do: wait until the cursor rests, keep what was shown until the answer comes, say what went wrong.
 * look: {when: "before"|"after", thread: number|null}, shared by them.
 */
export class InspectorView {
	#load = latest();
	#timer = 0;
	#shown = "";

	constructor(model, look, what, label) {
		Object.assign(this, {m: model, look, what, visible: false});
		this.body = h("div.rec-view-body");
		this.root = h("div.rec-view", null, this.body);
		this.label = label;
		model.on("cursor", ({by}) => by !== "time" && this.refresh());
		model.signal.addEventListener("abort", () => {
			clearTimeout(this.#timer);
			this.#load.abort();
		});
	}

	setVisible(yes) {
		this.visible = yes;
		if (yes)
			this.refresh(0);
		else
			this.#load.abort();
	}

	params() {
		return {when: this.look.when === "after" ? "after" : null, thread: this.look.thread};
	}

	refresh(delay = REST_MS) {
		clearTimeout(this.#timer);
		if (!this.visible || !this.m.event)
			return;
		const key = JSON.stringify([this.m.event, this.params()]);
		if (key === this.#shown)
			return;
		this.root.setAttribute("aria-busy", "true");
		if (!this.body.firstChild)
			fill(this.body, loadingNotice(this.label));
		this.#timer = setTimeout(() => this.#fetch(key), delay);
	}

	async #fetch(key) {
		try {
			const answer = await this.#load(signal => this.m.get(`/events/${this.m.event}/${this.what}`, this.params(), signal));
			if (answer === undefined)
				return;
			this.#shown = key;
			this.render(answer);
		} catch (error) {
			this.#shown = "";
			fill(this.body, errorNotice(error, () => this.refresh(0)));
		}
		this.root.removeAttribute("aria-busy");
	}
}

const GROUPS = {general: "General", flags: "Flags", segment: "Segments", vector: "Vector"};

export class RegistersView extends InspectorView {
	#before = null;

	constructor(model, look) {
		super(model, look, "registers", "Reading the registers");
	}

	render(answer) {
		const before = this.#before;
		const changed = r => before !== null && before.has(r.name) && before.get(r.name) !== r.value;
		const one = r => h("div.rec-reg", {"data-changed": changed(r) || null, title: changed(r) ? `was ${before.get(r.name)}` : null},
			h("dt", null, r.name), h("dd", null, h("button.quiet.rec-addr.mono", {type: "button", title: "Look at the memory there", onclick: () => this.root.dispatchEvent(new CustomEvent("look-memory", {bubbles: true, detail: {addr: r.value}}))}, r.value),
				changed(r) ? h("span.rec-changed", null, "changed") : null, r.text ? h("span.muted.cut", null, r.text) : null));
		const groups = Object.keys(GROUPS).map(key => [key, answer.registers.filter(r => r.group === key)]).filter(([, list]) => list.length);
		const open = new Set([...this.body.querySelectorAll("details[open]")].map(d => d.dataset.group));
		fill(this.body, groups.map(([key, list]) => h("details.rec-group", {"data-group": key, open: open.size ? open.has(key) : key !== "vector" && key !== "segment"}, h("summary", null, `${GROUPS[key]} (${list.length})`), h("dl.rec-regs", null, list.map(one)))),
			before ? h("p.muted", null, "\"changed\" compares with the registers shown before.") : null);
		this.#before = new Map(answer.registers.map(r => [r.name, r.value]));
	}
}

export class MapsView extends InspectorView {
	constructor(model, look) {
		super(model, look, "maps", "Reading the memory maps");
	}

	render(answer) {
		const look = addr => this.root.dispatchEvent(new CustomEvent("look-memory", {bubbles: true, detail: {addr}}));
		fill(this.body, h("table.rec-table.rec-maps", null, h("thead", null, h("tr", null, ["Start", "Size", "May", "What"].map(t => h("th", {scope: "col"}, t)))),
			h("tbody", null, answer.items.map(m => h("tr", null, h("td", null, h("button.quiet.rec-addr.mono", {type: "button", title: `${m.start}..${m.end}`, onclick: () => look(m.start)}, m.start)), h("td", {title: format.bytesExact(m.size)}, format.bytes(m.size)),
				h("td.mono", null, m.prot), h("td", null, h("code.rec-value", null, m.name || "anonymous")))))));
	}
}

export class ThreadsView extends InspectorView {
	constructor(model, look) {
		super(model, look, "threads", "Reading the threads");
	}

	params() {
		return {when: this.look.when === "after" ? "after" : null};
	}

	render(answer) {
		const pick = t => this.root.dispatchEvent(new CustomEvent("look-thread", {bubbles: true, detail: {thread: t.current ? null : t.number}}));
		const chosen = t => this.look.thread ? t.number === this.look.thread : t.current;
		fill(this.body, h("table.rec-table.rec-threads", null, h("thead", null, h("tr", null, ["Thread", "Where", "State", ""].map(t => h("th", {scope: "col"}, t || h("span.sr-only", null, "Look at it"))))),
			h("tbody", null, answer.items.map(t => h("tr", {"data-current": t.current || null}, h("td", null, `${t.name || "thread"} (${t.number})`), h("td", null, h("code.rec-value", {title: t.pc}, t.function ?? t.pc)),
				h("td", null, `${t.in_call ? "in a call" : "running"}${t.current ? ", at the event" : ""}`), h("td", null, h("button.rec-small", {type: "button", "aria-pressed": String(chosen(t)), onclick: () => pick(t)}, "Look")))))));
	}
}

/** Memory at an address. */
export class MemoryView extends InspectorView {
	constructor(model, look) {
		super(model, look, "memory", "Reading memory");
		this.addr = null;
		this.input = h("input.mono", {type: "text", "aria-label": "Address", placeholder: "0x7ffd...", spellcheck: "false", autocomplete: "off"});
		const turn = by => h("button.quiet.rec-small", {type: "button", "aria-label": by < 0 ? "Lower addresses" : "Higher addresses", onclick: () => this.addr !== null && this.go(this.addr + BigInt(by * MEMORY_PAGE))}, by < 0 ? "\u2190" : "\u2192");
		this.note = h("p.muted", {role: "status"});
		this.root.prepend(h("form.rec-memory-form", {onsubmit: e => {
			e.preventDefault();
			this.#parse();
		}}, this.input, h("button", {type: "submit"}, "Go"), turn(-1), turn(1)), this.note);
		this.note.textContent = "Give an address, or click one in the arguments, the registers or the maps.";
	}

	#parse() {
		try {
			this.go(BigInt(this.input.value.trim().replace(/^(?!0x)(?=[\da-f]*[a-f])/i, "0x")));
		} catch {
			this.note.textContent = "That is no address. Write it like 0x7ffd1000.";
		}
	}

	go(addr) {
		this.addr = addr < 0n ? 0n : addr;
		this.input.value = "0x" + this.addr.toString(16);
		this.refresh(0);
	}

	params() {
		return {...super.params(), addr: this.addr === null ? null : "0x" + this.addr.toString(16), len: MEMORY_PAGE};
	}

	refresh(delay) {
		if (this.addr !== null)
			super.refresh(delay);
	}

	render(answer) {
		const bytes = fromBase64(answer.data);
		this.note.textContent = answer.read < answer.len ? answer.read ? `${answer.read} of ${answer.len} bytes are mapped here.` : "Nothing is mapped at this address." : "";
		fill(this.body, bytes.length ? [hexDump(bytes, this.addr), copyButton(() => [...bytes].map(b => b.toString(16).padStart(2, "0")).join(" "), "Copy the bytes")] : null);
	}
}
