/* The page's frame: shows the custom element that belongs to the address. A page element has
 *
 *	route = {page, id, sub, params}		set first and on each change of the address that it did not make itself
 *	pageTitle				what the tab of the browser says (optional; dispatchEvent(new Event("hermit:page", {bubbles: true})) when it is known later)
 *	search, searchHint, searchText		see hm-header.js (optional)
 *
 * and cleans up in disconnectedCallback. The element stays while page, id and sub stay. */
import "./hm-header.js";
import "./hm-banner.js";
import "./hm-toasts.js";
import {fill, h} from "./dom.js";
import {router} from "./router.js";
import {emptyNotice, errorNotice} from "./notices.js";

/* page or page/SUB -> element and the module that defines it; modules load when they are first needed */
const PAGES = {
	"": ["page-recordings", () => import("./page-recordings.js")],
	"r": ["page-recording", () => import("./page-recording.js")],
	"r/summary": ["page-summary", () => import("./page-summary.js")],
	"diff": ["page-diff", () => import("./page-diff.js")],
	"coverage": ["page-coverage", () => import("./page-coverage.js")],
	"sessions": ["page-sessions", () => import("./page-sessions.js")],
	"jobs": ["page-jobs", () => import("./page-jobs.js")],
	"settings": ["page-settings", () => import("./page-settings.js")],
};

const PRELOAD_MS = 500;

const main = document.querySelector("main");
const header = document.querySelector("hm-header");
let page = null;
let shownKey = null;
let wanted = 0;

/* the title or the search box of the shown page changed */
function pageChanged() {
	document.title = page?.pageTitle ? `${page.pageTitle} - hermit` : "hermit";
	header.page = page ?? {};
}

async function show() {
	const route = router.route;
	const name = route.sub ? `${route.page}/${route.sub}` : route.page;
	const key = [route.page, route.id ?? "", route.sub ?? ""].join("/");
	const mine = ++wanted;

	if (key === shownKey && page) {
		page.route = structuredClone(route);
		pageChanged();
		return;
	}
	const [tag, load] = PAGES[name] ?? [];
	let next = null;

	if (!tag || (route.page === "r" && !route.id)) {
		next = h("div.page", {}, h("h1.sr-only", {}, "Not found"), emptyNotice({title: "There is no such page", text: "The link may be old.", actions: h("a.button", {href: "#/"}, "All recordings")}));
	} else {
		try {
			await load();
		} catch (error) {
			next = h("div.page", {}, h("h1.sr-only", {}, "Not loaded"), errorNotice(error, () => location.reload()));
		}
		if (mine !== wanted)
			return;
		next ??= document.createElement(tag);
	}
	const first = shownKey === null;

	shownKey = key;
	page = next;
	page.route = structuredClone(route);
	fill(main, page);
	main.scrollTop = 0;
	pageChanged();
	if (first)
		return;
	main.focus({preventScroll: true});
	document.querySelector("#announce").textContent = page.pageTitle ?? "";
}

document.querySelector(".skip").addEventListener("click", event => {
	event.preventDefault();
	main.focus();
});
/* the other pages' modules come when there is nothing else to do: going there is at once then, also when the server is gone */
addEventListener("load", () => setTimeout(() => Object.values(PAGES).forEach(([, load]) => load().catch(() => {})), PRELOAD_MS));
addEventListener("hermit:page", pageChanged);
router.addEventListener("route", show);
show();
