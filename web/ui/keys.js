/* The keyboard map. Pages register what they do while they are shown; the "?" dialog lists exactly what is registered.
 *
 *	const off = keys.add("Events", [
 *		{key: "j", also: ["ArrowDown"], does: "Next row", run: event => ..},
 *		{key: "Ctrl+f", does: "Find", run},
 *	]);
 *
 * Keys are event.key values, with "Ctrl+" or "Alt+" before them; Shift shows in the key itself ("?", "G", and "Shift+ArrowLeft" for keys
 * that have no capital). Nothing is called while somebody writes into a field or a dialog is open, except with {always: true}.
 * The last one registered wins. run() may return false: not handled, look further. */

class Keys extends EventTarget {
	#groups = [];

	constructor() {
		super();
		addEventListener("keydown", event => this.#press(event));
	}

	/** @returns {() => void} take them away again */
	add(title, list) {
		const group = {title, list};

		this.#groups.push(group);
		return () => {
			this.#groups = this.#groups.filter(other => other !== group);
		};
	}

	/** For the dialog: [{title, list}] */
	get groups() {
		return this.#groups.filter(group => group.list.some(one => one.does));
	}

	#press(event) {
		if (event.defaultPrevented || event.isComposing)
			return;
		const name = keyName(event);
		const busy = writing(event.target) || document.querySelector("dialog[open]") !== null;

		for (const {list} of [...this.#groups].reverse()) {
			for (const one of list) {
				if ((one.key !== name && !one.also?.includes(name)) || (busy && !one.always))
					continue;
				if (one.run(event) === false)
					continue;
				event.preventDefault();
				return;
			}
		}
	}
}

/** "Ctrl+f", "Shift+ArrowLeft", "?", "G" */
export function keyName(event) {
	const named = event.key.length > 1;

	return (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + (event.altKey ? "Alt+" : "") +
		(event.shiftKey && named ? "Shift+" : "") + (event.key === " " ? "Space" : event.key);
}

/** True for elements where keys are text. */
export function writing(el) {
	return el instanceof HTMLElement && (el.isContentEditable || el.matches("textarea, select") ||
		(el.matches("input") && !["checkbox", "radio", "range", "button"].includes(el.type)));
}

const NAMES = {ArrowUp: "\u2191", ArrowDown: "\u2193", ArrowLeft: "\u2190", ArrowRight: "\u2192", Escape: "Esc"};

/** "Shift+ArrowLeft" -> ["Shift", arrow]: the caps to draw. */
export function caps(key) {
	return key.split(/(?<=.)\+(?=.)/).map(part => NAMES[part] ?? part);
}

export const keys = new Keys();
