/* The "?" dialog: every key that works on this page. */
import {fill, h} from "./dom.js";
import {caps, keys} from "./keys.js";
import {openDialog} from "./dialogs.js";

class HmKeys extends HTMLElement {
	connectedCallback() {
		fill(this, keys.groups.map(({title, list}) => h("section", {},
			h("h3", {}, title),
			h("dl", {}, list.filter(one => one.does).map(one => h("div", {},
				h("dt", {}, [one.key, ...(one.also ?? [])].map((key, at) => [at ? " " : null, caps(key).map(cap => h("kbd", {}, cap))])),
				h("dd", {}, one.does)))))));
	}
}

customElements.define("hm-keys", HmKeys);

export function showKeys() {
	openDialog({title: "Keyboard", wide: true, body: h("hm-keys"), actions: []});
}
