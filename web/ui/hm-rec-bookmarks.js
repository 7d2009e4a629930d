/** <hm-rec-bookmarks>: the places people marked, with their notes; kept on the server, so that all who look at the recording see them. */
import {h, fill} from "./dom.js";
import * as format from "./format.js";
import {href} from "./router.js";
import {icon} from "./icons.js";
import {promptDialog} from "./dialogs.js";
import {toast, toastError} from "./hm-toasts.js";

class Bookmarks extends HTMLElement {
	/** @param {import("./rec-model.js").RecordingModel} model */
	set model(model) {
		this.m = model;
		model.on("bookmarks", () => this.#draw());
		model.on("cursor", () => this.#mark());
		this.#draw();
	}

	#draw() {
		const {bookmarks} = this.m;
		if (!bookmarks.length) {
			fill(this, h("div.rec-empty-view", null, h("p", null, "No bookmarks yet."), h("p.muted", null, "Press ", h("kbd", null, "b"), " to mark the event at the cursor and to write a note.")));
			return;
		}
		fill(this, h("ul.rec-bookmarks", null, bookmarks.map(b => h("li", {"data-event": b.event},
			h("a.rec-bookmark-event.mono", {href: href(`r/${encodeURIComponent(this.m.id)}`, {at: b.event}), onclick: e => {
				if (e.ctrlKey || e.metaKey || e.shiftKey)
					return;
				e.preventDefault();
				this.m.moveTo(b.event);
			}}, format.event(b.event)),
			h("span.rec-bookmark-text", null, b.text || h("span.muted", null, "no note")),
			h("span.muted", {title: format.whenExact(b.changed ?? b.created)}, `${b.author ?? ""} ${format.when(b.changed ?? b.created)}`),
			h("button.quiet.icon", {type: "button", "aria-label": `Edit the note of ${format.event(b.event)}`, title: "Edit", onclick: () => this.edit(b)}, icon("pen")),
			h("button.quiet.icon", {type: "button", "aria-label": `Delete the bookmark of ${format.event(b.event)}`, title: "Delete", onclick: () => this.remove(b)}, icon("trash"))))));
		this.#mark();
	}

	#mark() {
		for (const li of this.querySelectorAll("li"))
			li.toggleAttribute("data-current", Number(li.dataset.event) === this.m.event);
	}

	/** "b": a new bookmark at the cursor, or the note of the one that is there. */
	async toggle() {
		const {event, row} = this.m;
		if (!event)
			return;
		const known = this.m.bookmarks.find(b => b.event === event);
		if (known) {
			await this.edit(known);
			return;
		}
		const note = await promptDialog({title: `Bookmark ${format.event(event)}`, label: "Note", value: "", hint: row ? `${row.name}(${row.args})`.slice(0, 120) : null, action: "Save", maxlength: 1000});
		if (note === null)
			return;
		await this.#try(() => this.m.addBookmark(event, note), "The bookmark could not be saved");
	}

	async edit(b) {
		const note = await promptDialog({title: `Note of ${format.event(b.event)}`, label: "Note", value: b.text, action: "Save", maxlength: 1000});
		if (note !== null && note !== b.text)
			await this.#try(() => this.m.editBookmark(b, note), "The note could not be saved");
	}

	async remove(b) {
		const done = await this.#try(() => this.m.removeBookmark(b), "The bookmark could not be deleted");
		if (done)
			toast(`Deleted the bookmark of ${format.event(b.event)}`, {action: {label: "Undo", run: () => this.#try(() => this.m.addBookmark(b.event, b.text), "It could not be brought back")}});
	}

	async #try(work, what) {
		try {
			await work();
			return true;
		} catch (error) {
			toastError(error, what);
			return false;
		}
	}
}

customElements.define("hm-rec-bookmarks", Bookmarks);
