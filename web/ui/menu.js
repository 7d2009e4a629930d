/* Menus under a button: openMenu(button, [{label, icon, run, danger, disabled, href} or null for a line]). Arrow keys, Esc and a click elsewhere
 * work as people expect; it lives in the top layer, so no panel cuts it off. */
import {h, rem} from "./dom.js";
import {icon} from "./icons.js";

export function openMenu(button, items) {
	const close = () => menu.hidePopover();
	const menu = h("div.menu", {role: "menu", popover: "auto", "aria-label": button.getAttribute("aria-label") ?? button.textContent}, items.map(item => {
		if (!item)
			return h("hr", {});
		const inside = [item.icon ? icon(item.icon) : h("span.i", {}), h("span.grow", {}, item.label), item.key ? h("kbd", {}, item.key) : null];

		if (item.href && !item.disabled)
			return h("a", {role: "menuitem", tabindex: -1, href: item.href, download: item.download, onclick: close}, inside);
		return h(`button.quiet${item.danger ? ".danger" : ""}`, {
			type: "button", role: "menuitem", tabindex: -1, "aria-disabled": item.disabled ? "true" : null, title: item.disabled || null,
			onclick: () => {
				if (item.disabled)
					return;
				close();
				item.run();
			},
		}, inside);
	}));

	menu.addEventListener("toggle", event => {
		if (event.newState !== "closed")
			return;
		const inside = menu.contains(document.activeElement);

		button.setAttribute("aria-expanded", "false");
		menu.remove();
		if (inside)
			button.focus();
	});
	menu.addEventListener("keydown", event => walk(menu, event));
	(button.closest("dialog, main") ?? document.body).append(menu);
	button.setAttribute("aria-expanded", "true");
	menu.showPopover();
	place(menu, button.getBoundingClientRect());
	menu.querySelector("[role=menuitem]").focus();
}

function place(menu, at) {
	const box = menu.getBoundingClientRect();
	const gap = rem(0.25);
	const below = at.bottom + gap + box.height <= innerHeight;

	menu.style.left = `${Math.max(gap, Math.min(at.right - box.width, innerWidth - box.width - gap))}px`;
	menu.style.top = `${below ? at.bottom + gap : Math.max(gap, at.top - gap - box.height)}px`;
}

function walk(menu, event) {
	const items = [...menu.querySelectorAll("[role=menuitem]")];
	const at = items.indexOf(document.activeElement);
	const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1}[event.key];

	if (event.key === "Tab") {
		menu.hidePopover();
		return;
	}
	if (event.key.length === 1 && event.key !== " ") {
		items.find(item => item.textContent.trim().toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
		event.preventDefault();
		event.stopPropagation();
		return;
	}
	if (to === undefined)
		return;
	event.preventDefault();
	event.stopPropagation();
	items[(to + items.length) % items.length].focus();
}
