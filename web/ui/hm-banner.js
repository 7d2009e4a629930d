/* One line under the header for what concerns all pages: the server is gone, or it wants a login. It takes no room when there is nothing. */
import {fill, h} from "./dom.js";
import {get, status} from "./api.js";
import {icon} from "./icons.js";
import {copyButton} from "./hm-copy.js";

const RETRY_MS = 3000;

class HmBanner extends HTMLElement {
	#timer = 0;

	connectedCallback() {
		this.setAttribute("role", "alert");
		this.hidden = true;
		status.addEventListener("down", () => this.#down());
		status.addEventListener("up", () => this.#up());
		status.addEventListener("unauthorized", () => this.#login());
	}

	#down() {
		this.hidden = false;
		fill(this, icon("danger"), h("p.grow", {}, "hermitd does not answer. What you see may be old. It is asked again every few seconds."));
		clearInterval(this.#timer);
		this.#timer = setInterval(() => get("/version").catch(() => {}), RETRY_MS);
	}

	#up() {
		clearInterval(this.#timer);
		this.hidden = true;
	}

	#login() {
		clearInterval(this.#timer);
		this.hidden = false;
		fill(this, icon("key"), h("p.grow", {}, "This browser is not logged in. Run ", h("code", {}, "hermit open"),
			" on the machine of hermitd: it prints a link that logs in here."),
		copyButton("hermit open", "Copy the command"), h("button", {onclick: () => location.reload()}, "Try again"));
	}
}

customElements.define("hm-banner", HmBanner);
