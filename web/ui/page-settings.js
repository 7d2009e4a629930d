/* What this browser likes (theme), what hermitd is set to (read here, changed in hermitd.conf), room, version, keys, logout. */
import "./hm-storage.js";
import "./hm-keys-dialog.js";
import {get, post, version} from "./api.js";
import {fill, h} from "./dom.js";
import * as format from "./format.js";
import {commandLine} from "./hm-copy.js";
import {errorNotice, loadingNotice} from "./notices.js";
import {choose, chosen, themes} from "./theme.js";
import {toastError} from "./hm-toasts.js";
import {confirmDialog} from "./dialogs.js";

const THEMES = [["system", "As the system"], ["light", "Light"], ["dark", "Dark"]];
const yes = on => on ? "yes" : "no";
const limit = (n, show) => n ? show(n) : "no limit";
const age = s => format.duration(s * 1e9);

/* name in hermitd.conf, what it is, how it is shown */
const SETTINGS = [
	["addresses", "Addresses", list => (list ?? []).join(", ")],
	["hosts", "More names in Host", list => (list ?? []).join(", ") || "none"],
	["read_only", "Read-only", yes],
	["allow_start", "Programs may be started from here", yes],
	["keep_running", "Recordings go on when hermitd stops", yes],
	["debuginfod", "Debug information from the net", yes],
	["max_recordings", "Recordings at once", format.count],
	["max_sessions", "Debug sessions at once", format.count],
	["max_inspectors", "Inspectors at once", format.count],
	["max_upload", "Largest import", n => limit(n, format.bytes)],
	["scan_every_s", "Integrity scan", n => n ? `every ${age(n)}` : "never"],
];

class PageSettings extends HTMLElement {
	pageTitle = "Settings";
	searchHint = "Search recordings";
	#off = null;
	#theme = h("div.segments", {role: "group", "aria-label": "Theme"}, THEMES.map(([value, label]) => h("button", {"data-value": value, onclick: () => choose(value)}, label)));
	#storage = h("div", {});
	#server = h("div", {});
	#about = h("div", {});

	set route(_route) {
		/* nothing in the address */
	}

	connectedCallback() {
		const drawTheme = () => this.#theme.querySelectorAll("button").forEach(button => button.setAttribute("aria-pressed", button.dataset.value === chosen()));

		fill(this, h("header.toolbar", {}, h("div.title", {}, h("h1", {}, "Settings"))), h("div.scroll", {}, h("div.column.narrow", {},
			section("Appearance", h("div.row-field", {}, h("span", {}, "Theme"), this.#theme)),
			section("Storage and retention", this.#storage),
			section("hermitd", this.#server),
			section("Access", h("p.muted", {}, "Each browser logs in once, by a link that works one time for a minute. To log in another one, run on this machine:"), commandLine("hermit open"),
				h("p.muted", {}, "Programs send the token of $XDG_RUNTIME_DIR/hermit/token as \"Authorization: Bearer\"."),
				h("div", {}, h("button.danger", {onclick: () => this.#logout()}, "Log out this browser"))),
			section("Keyboard", h("hm-keys", {})),
			section("About", this.#about))));
		for (const place of [this.#storage, this.#server, this.#about])
			fill(place, loadingNotice());
		themes.addEventListener("theme", drawTheme);
		this.#off = () => themes.removeEventListener("theme", drawTheme);
		drawTheme();
		this.#part(this.#storage, () => Promise.all([get("/storage"), get("/settings")]), ([storage, settings]) => drawStorage(storage, settings));
		this.#part(this.#server, () => get("/settings"), drawServer);
		this.#part(this.#about, version, drawAbout);
	}

	disconnectedCallback() {
		this.#off();
	}

	async #part(place, ask, draw) {
		try {
			fill(place, draw(await ask()));
		} catch (error) {
			fill(place, errorNotice(error, () => this.#part(place, ask, draw)));
		}
	}

	async #logout() {
		if (!await confirmDialog({title: "Log out?", text: "This browser then needs a new link from hermit open.", action: "Log out"}))
			return;
		try {
			await post("/logout");
			location.reload();
		} catch (error) {
			toastError(error, "Could not log out");
		}
	}
}

function section(title, ...inside) {
	return h("section.box.settings", {}, h("h2", {}, title), inside);
}

function facts(rows) {
	return h("dl.details", {}, rows.filter(Boolean).map(([name, value, conf]) => h("div", {title: conf ? `${conf === "addresses" ? "listen" : conf} in hermitd.conf` : null}, h("dt", {}, name), h("dd", {}, value))));
}

function drawStorage(storage, settings) {
	return [h("hm-storage", {}), facts([
		["Directory", h("code", {}, storage.data_dir)],
		["Recordings", `${format.count(storage.recordings)}, ${format.bytes(storage.bytes_recordings)} and ${format.bytes(storage.bytes_blobs)} of shared files`],
		["Free on the disk", format.bytes(storage.bytes_free)],
		["New recordings need", `${format.bytes(storage.floor)} free`, "disk_floor"],
		["Removed when beyond", limit(storage.max_size, format.bytes), "max_size"],
		["Removed when older than", limit(storage.max_age_s, age), "max_age"],
	]), h("p.muted", {}, "Recordings marked Keep and those that are open are never removed. ", settings.read_only ? "This server is read-only." : "")];
}

function drawServer(settings) {
	return [facts(SETTINGS.filter(([key]) => settings[key] !== undefined).map(([key, name, say]) => [name, say(settings[key]), key])),
		h("p.muted", {}, "Changed in hermitd.conf or on the command line of hermitd; man hermitd.conf says how.")];
}

function drawAbout(about) {
	return facts([["hermitd", [about.version, about.commit ? ` (${about.commit})` : "", `, built ${about.built}`].join("")], ["Interface", h("a", {href: "/api/v1/openapi.json"}, `${about.api}, as OpenAPI`)], ["Runs as", `${about.user ?? "?"}@${about.host ?? "?"}`]]);
}

customElements.define("page-settings", PageSettings);
