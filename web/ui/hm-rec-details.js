/** <hm-rec-details>: what there is to know of the event at the cursor, in tabs. */
import "./hm-tabs.js";
import {h, fill, remember, uid} from "./dom.js";
import * as format from "./format.js";
import {text} from "./dom.js";
import {CallView} from "./rec-view-call.js";
import {StackView} from "./rec-view-stack.js";
import {RegistersView, MapsView, ThreadsView, MemoryView} from "./rec-view-state.js";

class Details extends HTMLElement {
	/** @param {import("./rec-model.js").RecordingModel} model */
	set model(model) {
		this.m = model;
		this.look = {when: "before", thread: null};
		this.views = {
			call: new CallView(model), stack: new StackView(model, this.look), registers: new RegistersView(model, this.look),
			maps: new MapsView(model, this.look), memory: new MemoryView(model, this.look), threads: new ThreadsView(model, this.look),
		};
		this.#build();
		model.on("cursor", () => this.#title());
		this.addEventListener("look-memory", e => {
			this.views.memory.addr = null;
			this.show("memory");
			this.views.memory.go(BigInt(e.detail.addr));
		});
		this.addEventListener("look-thread", e => {
			this.look.thread = e.detail.thread;
			this.#lookChanged();
			this.show("stack");
		});
		this.#title();
	}

	#build() {
		const panels = Object.entries(this.views).map(([id, view]) => {
			view.root.id = uid("rec-panel");
			view.root.setAttribute("role", "tabpanel");
			view.root.tabIndex = 0;
			return [id, view];
		});
		const labels = {call: "Call", stack: "Stack", registers: "Registers", maps: "Maps", memory: "Memory", threads: "Threads"};
		this.tabs = document.createElement("hm-tabs");
		this.tabs.label = "Details of the event";
		this.tabs.tabs = panels.map(([id, view]) => ({id, label: labels[id], panel: view.root.id}));
		this.tabs.addEventListener("select", () => this.show(this.tabs.selected));
		this.heading = h("h2.rec-details-title");
		this.when = h("button.rec-small", {type: "button", title: "Switch between the state before and after the event", onclick: () => {
			this.look.when = this.look.when === "before" ? "after" : "before";
			this.#lookChanged();
		}});
		this.other = h("button.quiet.rec-small", {type: "button", hidden: true, title: "Back to the thread of the event", onclick: () => {
			this.look.thread = null;
			this.#lookChanged();
		}});
		this.empty = h("div.rec-empty-view", null, h("p", null, "No event is chosen."), h("p.muted", null, "Click a row, a lane or a line of the console; or press j."));
		fill(this, h("header.rec-details-head", null, this.heading, this.other, this.when), this.tabs, this.empty, panels.map(([, view]) => view.root));
		this.#lookChanged();
		this.show(remember.get("details-tab", "call"));
	}

	#lookChanged() {
		text(this.when, `State ${this.look.when} it`);
		this.other.hidden = !this.look.thread;
		text(this.other, this.look.thread ? `${this.m.threadName(this.look.thread)} \u2715` : "");
		Object.values(this.views).forEach(v => v.refresh?.(0));
	}

	#title() {
		text(this.heading, this.m.event ? `Event ${format.event(this.m.event)}` : "Details");
		this.#visibility();
	}

	show(id) {
		const name = this.views[id] ? id : "call";
		this.tabs.selected = name;
		remember.set("details-tab", name);
		this.#visibility();
		Object.entries(this.views).forEach(([key, v]) => v.setVisible?.(key === name));
	}

	#visibility() {
		const none = !this.m.event;
		this.empty.hidden = !none;
		Object.entries(this.views).forEach(([key, v]) => {
			v.root.hidden = none || key !== this.tabs.selected;
		});
		this.when.hidden = none || this.tabs.selected === "call";
	}

	focusTabs() {
		this.tabs.querySelector("[aria-selected=true]")?.focus();
	}
}

customElements.define("hm-rec-details", Details);
