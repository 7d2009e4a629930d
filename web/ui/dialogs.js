/* Dialogs: all are native <dialog> elements, made when they are needed and gone when they are closed; the focus returns to where it was.
 *
 *	if (await confirmDialog({title: "Delete 3 recordings?", text: "..", action: "Delete", danger: true})) ..
 *	const name = await promptDialog({title: "Rename", label: "Label", value, action: "Rename"});	// null: cancelled
 *	const close = openDialog({title, body: element, actions: [{label, run, primary, danger, stay}], wide, onclose});
 */
import {h, uid} from "./dom.js";
import {icon} from "./icons.js";

/** @param {{title: string, body: Node|Node[], actions?: object[], wide?: boolean, onclose?: () => void, submit?: () => void}} options */
export function openDialog({title, body, actions = [], wide = false, onclose, submit}) {
	const id = uid("dialog");
	const before = document.activeElement;
	const close = () => dialog.close();
	const buttons = actions.map(action => h(`button${action.primary ? ".primary" : ""}${action.danger ? ".danger" : ""}`, {
		type: action.primary ? "submit" : "button",
		onclick: event => {
			if (action.primary && submit)
				return;
			event.preventDefault();
			if (!action.stay)
				close();
			action.run?.(close);
		},
	}, action.label));
	const dialog = h(`dialog${wide ? ".wide" : ""}`, {
		"aria-labelledby": id,
		onclose: () => {
			dialog.remove();
			onclose?.();
			if (before?.isConnected)
				before.focus();
		},
		onclick: event => {
			if (event.target === dialog)
				close();
		},
	}, h("form", {
		method: "dialog",
		onsubmit: event => {
			event.preventDefault();
			submit?.(close);
		},
	},
	h("header", {}, h("h2", {id}, title),
		h("button.quiet.icon", {type: "button", onclick: close, "aria-label": "Close"}, icon("close"))),
	h("div.body", {}, body),
	buttons.length ? h("footer", {}, buttons) : null));

	document.body.append(dialog);
	dialog.showModal();
	(dialog.querySelector("[autofocus]") ?? dialog.querySelector("footer .primary:not(.danger)") ?? dialog.querySelector("footer button") ?? dialog.querySelector("header button")).focus();
	return close;
}

/** @returns {Promise<boolean>} */
export function confirmDialog({title, text, body, action, danger = false}) {
	return new Promise(resolve => {
		let yes = false;

		openDialog({
			title,
			body: body ?? h("p", {}, text),
			actions: [
				{label: "Cancel"},
				{label: action, primary: true, danger, run: () => {
					yes = true;
					resolve(true);
				}},
			],
			onclose: () => yes || resolve(false),
		});
	});
}

/** @returns {Promise<string|null>} */
export function promptDialog({title, label, value = "", hint = null, action, maxlength = 200}) {
	const id = uid("field");
	const input = h("input.grow", {id, value, maxlength, autocomplete: "off", spellcheck: "false", autofocus: true});

	return new Promise(resolve => {
		let answer = null;

		openDialog({
			title,
			body: h("div.field", {}, h("label", {for: id}, label), input, hint ? h("small.muted", {}, hint) : null),
			actions: [{label: "Cancel"}, {label: action, primary: true}],
			submit: close => {
				answer = input.value;
				close();
			},
			onclose: () => resolve(answer),
		});
		input.select();
	});
}
