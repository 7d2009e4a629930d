/* Two panels and a bar between them that can be dragged, moved by arrow keys, closed by Enter or double click.
 *
 *	<hm-split dir="row|column" sized="first|second" name="rec.details" size="26" min="12">	sizes in rem; two children
 *
 * The named size is remembered in this browser. Event "resize" while it moves (canvases use ResizeObserver instead). */
import {framed, h, remember, rem} from "./dom.js";

const STEP_REM = 1;

class HmSplit extends HTMLElement {
	#bar = null;
	#size = 0;		/* rem; 0: collapsed */

	connectedCallback() {
		if (this.#bar)
			return;
		const row = this.getAttribute("dir") !== "column";

		this.#size = remember.get("split." + this.getAttribute("name"), this.#default);
		this.#bar = h("div.bar", {
			role: "separator", tabindex: 0, "aria-orientation": row ? "vertical" : "horizontal",
			"aria-label": this.getAttribute("label") ?? "Resize panels", "aria-valuemin": 0, "aria-valuemax": 100,
			onpointerdown: event => this.#drag(event),
			ondblclick: () => this.toggle(),
			onkeydown: event => this.#key(event),
		});
		this.children[0].after(this.#bar);
		this.#apply();
	}

	get #default() {
		return Number(this.getAttribute("size") ?? 24);
	}

	/** Another size for when nobody has chosen one: known only after something has been loaded. */
	suggest(size) {
		this.setAttribute("size", size);
		if (remember.get("split." + this.getAttribute("name")) !== null)
			return;
		this.#size = size;
		if (this.#bar)
			this.#apply();
	}

	get collapsed() {
		return this.#size === 0;
	}

	/** Collapse the sized panel, or open it again. */
	toggle() {
		this.#set(this.#size ? 0 : this.#default);
	}

	get #panel() {
		return this.getAttribute("sized") === "first" ? this.children[0] : this.children[2];
	}

	#set(size) {
		const min = Number(this.getAttribute("min") ?? 8);
		const whole = (this.getAttribute("dir") === "column" ? this.clientHeight : this.clientWidth) / rem(1);

		this.#size = size < min / 2 ? 0 : Math.min(Math.max(size, min), Math.max(whole - min, min));
		remember.set("split." + this.getAttribute("name"), this.#size);
		this.#apply();
		this.dispatchEvent(new Event("resize"));
	}

	#apply() {
		const whole = (this.getAttribute("dir") === "column" ? this.clientHeight : this.clientWidth) / rem(1) || 100;

		this.#panel.style.flex = `0 0 ${this.#size}rem`;
		this.#panel.classList.toggle("collapsed", this.collapsed);
		this.#bar.setAttribute("aria-valuenow", Math.round(100 * this.#size / whole));
	}

	#drag(event) {
		const row = this.getAttribute("dir") !== "column";
		const first = this.getAttribute("sized") === "first";
		const start = row ? event.clientX : event.clientY;
		const from = this.#size;
		let at = start;
		const move = framed(() => this.#set(from + (first ? at - start : start - at) / rem(1)));
		const moved = ev => {
			at = row ? ev.clientX : ev.clientY;
			move();
		};
		const end = () => {
			this.#bar.removeEventListener("pointermove", moved);
			this.classList.remove("dragging");
		};

		if (event.button !== 0)
			return;
		event.preventDefault();
		this.#bar.focus();
		this.#bar.setPointerCapture(event.pointerId);
		this.classList.add("dragging");
		this.#bar.addEventListener("pointermove", moved);
		this.#bar.addEventListener("lostpointercapture", end, {once: true});
	}

	#key(event) {
		const sign = this.getAttribute("sized") === "first" ? 1 : -1;
		const moves = {ArrowLeft: -sign, ArrowUp: -sign, ArrowRight: sign, ArrowDown: sign};

		if (event.key === "Enter")
			this.toggle();
		else if (event.key in moves)
			this.#set(this.#size + moves[event.key] * STEP_REM);
		else
			return;
		event.preventDefault();
	}
}

customElements.define("hm-split", HmSplit);
