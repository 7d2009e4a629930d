/** The stack at the cursor, and the source of the frame that is chosen. */
import {h, fill, safeHref} from "./dom.js";
import {latest} from "./api.js";
import {copyButton} from "./hm-copy.js";
import {partialNote} from "./notices.js";
import {highlight} from "./rec-highlight.js";
import {InspectorView} from "./rec-view-state.js";

const CONTEXT = 40;
const base = path => path?.split("/").pop() ?? "";

export class StackView extends InspectorView {
	#source = latest();
	#frame = 0;
	#frames = [];
	#shownSource = "";

	constructor(model, look) {
		super(model, look, "stack", "Replaying to this moment");
		this.list = h("div.rec-frames", {role: "listbox", "aria-label": "Stack", tabindex: "-1"});
		this.source = h("div.rec-source");
		this.note = h("div");
		this.list.addEventListener("keydown", e => this.#key(e));
	}

	render(answer) {
		const first = this.#frames.length === 0 || !this.body.contains(this.list);
		const hadFocus = this.list.contains(document.activeElement);
		this.#frames = answer.frames;
		fill(this.list, answer.frames.map((f, i) => this.#row(f, i)));
		fill(this.note, answer.note || !answer.complete ? partialNote(answer.note ?? "The stack could not be followed to its end.") : null);
		if (first)
			fill(this.body, this.list, this.note, this.source);
		if (!answer.frames.length)
			fill(this.list, h("p.muted", null, "There is no stack here."));
		const own = answer.frames.findIndex(f => f.source);
		this.#choose(own < 0 ? 0 : own, hadFocus);
	}

	#row(f, i) {
		const args = f.args?.length ? `(${f.args.map(a => `${a.name}=${a.value}`).join(", ")})` : "";
		return h("div.rec-frame", {role: "option", "aria-selected": "false", tabindex: "-1", "data-inlined": f.inlined || null, title: `${f.pc}${f.symbol ? `\n${f.symbol}${f.offset === null || f.offset === undefined ? "" : `+${f.offset}`}` : ""}\n${f.module ?? ""}`, onclick: () => this.#choose(i, true)},
			h("span.rec-frame-index", null, String(f.index ?? i)), h("span.rec-frame-main", null,
				h("span.rec-frame-fn", null, f.function ?? f.symbol ?? f.pc, h("span.muted", null, args)),
				f.inlined ? h("span.chip", null, "inlined") : null, f.signal ? h("span.badge.signal", null, "signal") : null),
			h("span.rec-frame-where.muted", null, f.file ? `${base(f.file)}${f.line ? `:${f.line}` : ""}` : base(f.module)));
	}

	#key(e) {
		const to = {ArrowDown: this.#frame + 1, ArrowUp: this.#frame - 1, Home: 0, End: this.#frames.length - 1}[e.key];
		if (to === undefined || e.ctrlKey || e.altKey || e.metaKey)
			return;
		this.#choose(Math.min(Math.max(0, to), this.#frames.length - 1), true);
		e.preventDefault();
		e.stopPropagation();
	}

	#choose(i, focus = false) {
		this.#frame = i;
		[...this.list.querySelectorAll("[role=option]")].forEach((el, k) => {
			el.setAttribute("aria-selected", String(k === i));
			el.tabIndex = k === i ? 0 : -1;
			if (k !== i)
				return;
			if (el.offsetTop < this.list.scrollTop || el.offsetTop + el.offsetHeight > this.list.scrollTop + this.list.clientHeight)
				this.list.scrollTop = el.offsetTop - (this.list.clientHeight - el.offsetHeight) / 2;
			if (focus)
				el.focus({preventScroll: true});
		});
		this.#showSource(this.#frames[i]);
	}

	async #showSource(f) {
		const key = f?.source ? `${f.file}:${f.line}` : "";
		if (key && key === this.#shownSource)
			return;
		this.#shownSource = key;
		if (!key) {
			this.#source.abort();
			fill(this.source, f ? h("p.rec-empty-view.muted", null, f.file ? `The source ${f.file} is not on this machine.` : `No line information for ${base(f.module) || "this address"}.`) : null);
			return;
		}
		try {
			const answer = await this.#source(signal => this.m.get("/source", {path: f.file, line: f.line, context: CONTEXT}, signal));
			if (answer)
				this.#lines(answer, f);
		} catch (error) {
			fill(this.source, h("p.rec-empty-view.muted", null, `${f.file}: ${error.message}`));
		}
	}

	#lines(answer, f) {
		const editor = safeHref(`vscode://file${encodeURI(f.file)}:${f.line}`);
		const nodes = highlight(answer.lines, answer.language);
		const rows = nodes.map((line, i) => {
			const number = answer.first + i;
			return h("div.rec-line", {"aria-current": number === f.line ? "true" : null}, h("span.rec-line-number", null, String(number)), h("code", null, line));
		});
		fill(this.source, h("div.rec-source-head", null, h("code.cut", {title: f.file}, `${f.file}:${f.line}`), copyButton(`${f.file}:${f.line}`, "Copy the place"),
			answer.verified === false ? h("span.badge.blocked", {title: "The file may have changed since the program was built"}, "not verified") : null, editor ? h("a", {href: editor}, "VS Code") : null),
		h("div.rec-lines.mono", {tabindex: "0", role: "group", "aria-label": `Source ${base(f.file)}`}, rows));
		const lines = this.source.lastChild;
		const at = lines.querySelector("[aria-current]");
		if (at)
			lines.scrollTop = at.offsetTop - lines.clientHeight / 2;
	}
}
