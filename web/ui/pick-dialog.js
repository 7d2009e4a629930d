/* Choosing a recording: pickRecording({title, but: id}) -> Promise<Recording|null>. */
import {get, latest} from "./api.js";
import {exitBadge} from "./badges.js";
import {debounce, fill, h} from "./dom.js";
import * as format from "./format.js";
import {openDialog} from "./dialogs.js";

const LIMIT = 50;
const TYPING_MS = 150;

export function pickRecording({title, but = null}) {
	return new Promise(resolve => {
		const input = h("input", {type: "search", autofocus: true, "aria-label": "Search recordings", placeholder: "Search commands, labels, hosts, IDs", autocomplete: "off", spellcheck: "false"});
		const list = h("ul.picks", {"aria-live": "polite"});
		const load = latest();
		let chosen = null;
		let close = null;
		const choose = rec => {
			chosen = rec;
			close();
		};
		const search = async () => {
			try {
				const answer = await load(signal => get("/recordings", {params: {q: input.value.trim(), limit: LIMIT}, signal}));

				if (answer)
					fill(list, answer.items.filter(rec => rec.id !== but && rec.state !== "broken").map(rec => pick(rec, choose)), answer.items.length ? null : h("li.muted", {}, "Nothing found"));
			} catch (error) {
				fill(list, h("li.bad", {}, error.message));
			}
		};

		input.addEventListener("input", debounce(search, TYPING_MS));
		input.addEventListener("keydown", event => {
			if (event.key === "ArrowDown") {
				event.preventDefault();
				list.querySelector("button")?.focus();
			}
		});
		list.addEventListener("keydown", event => {
			const item = event.target.closest("li");
			const next = event.key === "ArrowDown" ? item?.nextElementSibling : event.key === "ArrowUp" ? item?.previousElementSibling ?? input : null;

			if (!next)
				return;
			event.preventDefault();
			(next.querySelector?.("button") ?? next).focus();
		});
		close = openDialog({
			title, wide: true, body: [input, list],
			submit: () => list.querySelector("button")?.click(),
			onclose: () => {
				load.abort();
				resolve(chosen);
			},
		});
		search();
	});
}

function pick(rec, choose) {
	return h("li", {}, h("button.quiet", {type: "button", title: rec.command, onclick: () => choose(rec)},
		rec.label ? h("span.chip", {}, format.printable(rec.label)) : null, h("code.grow.cut", {}, format.printable(rec.command)), exitBadge(rec.exit), h("span.muted", {}, format.when(rec.started))));
}
