/* The address: #/PAGE/ID/SUB?params. Every state that is worth sharing is in it; Back works because pushes are made for what people
 * would call "going somewhere" and replacements for what they would call "moving a little".
 *
 *	router.go("r/ID", {at: 12})		another page (push)
 *	router.update({at: 13})			same page, some parameters (replace, at most 5 times a second); null or "" takes one away
 *	router.update({q: "failed"}, {push: true})
 *	href("r/ID", {at: 12})			for links
 *
 * A page gets element.route = {page, id, sub, params} first and again on each change that was not its own update(). */

/** @typedef {{page: string, id: string|null, sub: string|null, params: Record<string, string>}} Route */

export function href(path, params) {
	const query = new URLSearchParams();

	for (const [name, value] of Object.entries(params ?? {})) {
		if (value !== null && value !== undefined && value !== "")
			query.set(name, value);
	}
	const string = query.toString().replaceAll("%2F", "/").replaceAll("%3A", ":").replaceAll("%2C", ",");
	return "#/" + path + (string ? "?" + string : "");
}

/** @returns {Route} */
export function parse(hash) {
	const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
	const parts = path.split("/").map(part => {
		try {
			return decodeURIComponent(part);
		} catch {
			return part;
		}
	});

	return {page: parts[0] ?? "", id: parts[1] || null, sub: parts[2] || null, params: Object.fromEntries(new URLSearchParams(query))};
}

const REPLACE_MS = 200;		/* browsers refuse more than about 200 replacements in 30 s */

class Router extends EventTarget {
	route = parse(location.hash);
	#timer = 0;

	constructor() {
		super();
		addEventListener("popstate", () => this.#arrive());
		addEventListener("hashchange", () => this.#arrive());
		/* before a link is followed, the entry it leaves gets its last state */
		addEventListener("click", () => this.#flush(), true);
	}

	go(path, params) {
		this.#flush();
		location.hash = href(path, params).slice(1);
	}

	/** The address of the current state, also while a replacement is waiting: for "copy link". */
	get href() {
		return href(this.#path(), this.route.params);
	}

	update(params, {push = false} = {}) {
		const before = this.href;

		if (push)
			this.#flush();
		for (const [name, value] of Object.entries(params)) {
			if (value === null || value === undefined || value === "")
				delete this.route.params[name];
			else
				this.route.params[name] = String(value);
		}
		if (this.href === before)
			return;
		if (push) {
			history.pushState(null, "", this.href);
		} else if (!this.#timer) {
			this.#timer = setTimeout(() => this.#flush(), REPLACE_MS);
		}
	}

	#path() {
		const {page, id, sub} = this.route;

		return [page, id, sub].filter(part => part !== null && part !== "").map(encodeURIComponent).join("/");
	}

	#flush() {
		if (!this.#timer)
			return;
		clearTimeout(this.#timer);
		this.#timer = 0;
		history.replaceState(null, "", this.href);
	}

	#arrive() {
		const route = parse(location.hash);

		if (href([route.page, route.id, route.sub].filter(Boolean).map(encodeURIComponent).join("/"), route.params) === this.href)
			return;
		clearTimeout(this.#timer);
		this.#timer = 0;
		this.route = route;
		this.dispatchEvent(new Event("route"));
	}
}

export const router = new Router();
