/**
 * <hm-rec-filter>: the box for the filter language, what it was understood as (chips), what was wrong with it (the word is underlined),
 * suggestions while writing, a help that shows examples, and how much matches.
 */
import {h, fill, text, uid} from "./dom.js";
import * as format from "./format.js";
import {get} from "./api.js";
import {KEYS, suggest, wordAt, without} from "./rec-filter-words.js";

const APPLY_MS = 350;

class FilterBar extends HTMLElement {
	#timer = 0;
	#chosen = -1;
	#list = [];
	#known = null;
	#abort = null;

	/** @param {import("./rec-model.js").RecordingModel} model */
	set model(model) {
		this.m = model;
		this.#build();
		model.on("query", () => this.#queryChanged());
		model.on("pages", () => this.#listen());
		model.on("cursor", () => this.#quickState());
		model.on("grow", () => this.#matches());
		model.signal.addEventListener("abort", () => clearTimeout(this.#timer));
		this.#queryChanged();
		this.#listen();
	}

	#build() {
		const listId = uid("suggestions");
		this.errorId = uid("filter-error");
		this.input = h("input", {type: "text", role: "combobox", "aria-label": "Filter events", "aria-expanded": "false", "aria-controls": listId, "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false",
			placeholder: "Filter: words, syscall:openat, path:/etc/*, failed ..."});
		this.mirror = h("div.rec-mirror", {"aria-hidden": "true"});
		this.clear = h("button.quiet.rec-clear", {type: "button", "aria-label": "Clear the filter", title: "Clear the filter", hidden: true, onclick: () => {
			this.m.setQuery("");
			this.input.focus();
		}}, "\u2715");
		this.list = h("ul.rec-suggest", {id: listId, role: "listbox", "aria-label": "Suggestions", hidden: true});
		this.help = h("button.quiet.rec-small", {type: "button", "aria-label": "Help on filters", title: "Help on filters", popovertarget: "rec-filter-help"}, "?");
		this.helpBox = h("div.rec-help", {id: "rec-filter-help", popover: "auto", role: "dialog", "aria-label": "Filters"});
		this.chips = h("span.rec-chips", {role: "list", "aria-label": "Terms of the filter", hidden: true});
		this.status = h("span.rec-matches", {role: "status"});
		this.error = h("span.rec-filter-error", {id: this.errorId, hidden: true});
		this.quick = h("span.rec-quick", {role: "group", "aria-label": "Quick filters"});
		fill(this, h("div.rec-filter-line", null, h("div.rec-filter-box", null, this.mirror, this.input, this.clear, this.list), this.help, this.helpBox, this.quick, this.status),
			h("div.rec-filter-line.rec-filter-parsed", null, this.chips, this.error));
		this.#buildHelp();
		this.#buildQuick();
		this.input.addEventListener("input", () => this.#typed());
		this.input.addEventListener("keydown", e => this.#key(e));
		this.input.addEventListener("scroll", () => {
			this.mirror.scrollLeft = this.input.scrollLeft;
		});
		this.input.addEventListener("blur", () => this.#close());
		this.input.addEventListener("focus", () => this.#learn());
	}

	focusInput() {
		this.input.focus();
		this.input.select();
	}

	#buildHelp() {
		const example = e => h("button.quiet.mono", {type: "button", onclick: () => {
			this.helpBox.hidePopover();
			this.m.setQuery(`${this.m.query} ${e}`);
		}}, e);
		fill(this.helpBox, h("p", null, "Words are found in the printed line; everything must match. Click an example to add it."),
			h("dl", null, KEYS.map(k => h("div", null, h("dt.mono", null, k.key), h("dd", null, k.says), h("dd", null, k.examples.map(example))))),
			h("p.muted", null, "Ctrl+F in the table comes here: rows that are not in sight are no elements, so the find of the browser would miss them."));
	}

	#buildQuick() {
		const button = (label, title, term) => {
			const el = h("button.quiet.rec-small", {type: "button", title, "aria-pressed": "false", onclick: () => this.#toggle(term())}, label);
			el.term = term;
			return el;
		};
		fill(this.quick, button("Failed", "Only what failed", () => "failed"),
			button("Signals", "Only signals", () => "kind:signal"),
			button("This thread", "Only the thread of the cursor", () => this.m.row ? `thread:${this.m.row.thread}` : null),
			button("This call", "Only this system call", () => this.m.row?.kind.startsWith("syscall") ? `syscall:${this.m.row.name}` : null));
		this.#quickState();
	}

	#toggle(term) {
		if (!term)
			return;
		if (this.#timer)
			this.#apply("step");
		const words = this.m.query.split(/\s+/);
		if (words.includes(term))
			this.m.setQuery(words.filter(w => w !== term).join(" "));
		else
			this.m.addTerm(term);
	}

	#quickState() {
		const words = this.m.query.split(/\s+/);
		for (const button of this.quick.children) {
			const term = button.term();
			button.disabled = term === null;
			button.setAttribute("aria-pressed", String(words.includes(term)));
		}
	}

	#queryChanged() {
		clearTimeout(this.#timer);
		this.#timer = 0;
		if (document.activeElement !== this.input || this.input.value.trim() !== this.m.query)
			this.input.value = this.m.query;
		this.clear.hidden = !this.input.value;
		fill(this.mirror);
		this.#quickState();
	}

	#listen() {
		this.#abort?.abort();
		this.#abort = new AbortController();
		const {pages} = this.m;
		if (!pages)
			return;
		pages.addEventListener("change", () => this.#answered(), {signal: this.#abort.signal});
		pages.addEventListener("error", () => this.#failed(pages.error), {signal: this.#abort.signal});
		this.#matches();
	}

	#answered() {
		const {pages, query} = this.m;
		this.error.hidden = true;
		this.input.removeAttribute("aria-invalid");
		this.input.removeAttribute("aria-describedby");
		fill(this.mirror);
		const terms = query ? pages.terms : [];
		const key = JSON.stringify(terms);
		if (key !== this.shownTerms) {
			this.shownTerms = key;
			fill(this.chips, terms.map(t => this.#chip(t, query)));
			this.chips.hidden = terms.length === 0;
		}
		this.#matches();
	}

	#chip(term, query) {
		const said = term.key === "text" ? `"${term.value}"` : term.key === "failed" ? "failed" : `${term.key} ${term.value}`;
		return h("span.rec-chip", {role: "listitem", "data-negated": term.negated || null}, h("span", null, `${term.negated ? "not " : ""}${said}`),
			h("button.quiet", {type: "button", "aria-label": `Remove ${said}`, onclick: () => this.m.setQuery(without(query, term))}, "\u2715"));
	}

	#matches() {
		const {pages, query} = this.m;
		if (!pages)
			return;
		if (!query)
			text(this.status, pages.total ? format.plural(pages.total, "event") : "");
		else if (!pages.answered)
			text(this.status, "searching...");
		else if (pages.complete)
			text(this.status, `${format.plural(pages.total, "match", "matches")}`);
		else
			text(this.status, `${format.count(pages.total)}+ matches, ${format.percent(pages.scanned, pages.last)} searched`);
	}

	#failed(error) {
		if (error.code !== "bad-filter") {
			text(this.status, "");
			return;
		}
		const {offset = 0, length = 0} = error.problem ?? {};
		const value = this.m.query;
		text(this.error, error.message);
		this.error.hidden = false;
		this.chips.hidden = true;
		this.shownTerms = null;
		this.input.setAttribute("aria-invalid", "true");
		this.input.setAttribute("aria-describedby", this.errorId);
		fill(this.mirror, value.slice(0, offset), h("span.rec-wrong", null, value.slice(offset, offset + length) || " "), value.slice(offset + length));
		text(this.status, "");
	}

	#typed() {
		this.clear.hidden = !this.input.value;
		fill(this.mirror);
		clearTimeout(this.#timer);
		this.#timer = 0;
		this.#suggest();
		if (!/[:\-#,.]$/.test(this.input.value))
			this.#timer = setTimeout(() => this.#apply("step"), APPLY_MS);
	}

	#apply(by) {
		clearTimeout(this.#timer);
		this.#timer = 0;
		this.m.setQuery(this.input.value, {by});
	}

	/** Names of calls and threads, asked for once. */
	async #learn() {
		if (this.#known)
			return;
		this.#known = {syscalls: [], threads: [], pids: []};
		for (const process of this.m.processes) {
			this.#known.pids.push([String(process.pid), process.exe?.split("/").pop() ?? ""]);
			process.threads.forEach(t => this.#known.threads.push([String(t.number), t.name ?? ""]));
		}
		try {
			const {syscalls} = await get(this.m.path("/summary"), {signal: this.m.signal});
			this.#known.syscalls = syscalls.filter(s => s.calls > 0).sort((a, b) => b.calls - a.calls).map(s => s.name);
		} catch {
			/* suggestions only */
		}
	}

	#suggest() {
		const word = wordAt(this.input.value, this.input.selectionStart);
		this.#list = word.text === "" && this.input.value ? [] : suggest(word.text, this.#known ?? {syscalls: [], threads: [], pids: []});
		this.#chosen = -1;
		fill(this.list, this.#list.map((s, i) => h("li", {role: "option", id: `${this.list.id}-${i}`, "aria-selected": "false", onpointerdown: e => {
			e.preventDefault();
			this.#take(i);
		}}, h("span.mono", null, s.label), h("span.muted", null, s.says))));
		this.#show(this.#list.length > 0);
	}

	#show(yes) {
		this.list.hidden = !yes;
		this.input.setAttribute("aria-expanded", String(yes));
		if (!yes)
			this.input.removeAttribute("aria-activedescendant");
	}

	#close() {
		this.#show(false);
		this.#chosen = -1;
	}

	#mark(i) {
		this.#chosen = (i + this.#list.length) % this.#list.length;
		[...this.list.children].forEach((li, k) => li.setAttribute("aria-selected", String(k === this.#chosen)));
		const li = this.list.children[this.#chosen];
		this.input.setAttribute("aria-activedescendant", li.id);
		li.scrollIntoView({block: "nearest"});
	}

	#take(i) {
		const s = this.#list[i];
		const {value, selectionStart} = this.input;
		const word = wordAt(value, selectionStart);
		const tail = s.more ? "" : " ";
		this.input.value = value.slice(0, word.start) + s.insert + tail + value.slice(word.end).trimStart();
		const caret = word.start + s.insert.length + tail.length;
		this.input.setSelectionRange(caret, caret);
		if (s.more)
			this.#suggest();
		else {
			this.#close();
			this.#apply("step");
		}
	}

	#key(e) {
		const open = !this.list.hidden;
		if (e.key === "ArrowDown" && !open)
			this.#suggest();
		else if (e.key === "ArrowDown" && open)
			this.#mark(this.#chosen + 1);
		else if (e.key === "ArrowUp" && open)
			this.#mark(this.#chosen < 0 ? this.#list.length - 1 : this.#chosen - 1);
		else if ((e.key === "Enter" || e.key === "Tab") && open && this.#chosen >= 0)
			this.#take(this.#chosen);
		else if (e.key === "Enter") {
			this.#close();
			this.#apply("jump");
		} else if (e.key === "Escape" && open)
			this.#close();
		else if (e.key === "Escape")
			this.dispatchEvent(new CustomEvent("leave", {bubbles: true}));
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	}
}

customElements.define("hm-rec-filter", FilterBar);
