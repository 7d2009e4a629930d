/* What a place shows when it has no content: empty, loading, failed, partial. Each says what to do next.
 *
 *	emptyNotice({title: "No recordings yet", text: "Run:", command: "hermit record start -- ./your-program"})
 *	errorNotice(error, retry)		loadingNotice("Counting calls")		partialNote("Counted so far: 12,000 of 90,000 events")
 */
import {h} from "./dom.js";
import {icon} from "./icons.js";
import {commandLine} from "./hm-copy.js";

export function emptyNotice({title, text = null, command = null, actions = null}) {
	return h("div.notice", {}, h("h2", {}, title), text ? h("p.muted", {}, text) : null, command ? commandLine(command) : null, actions);
}

const ADVICE = {
	"down": "Start it with: hermitd",
	"unauthorized": "Run hermit open on the machine of hermitd and follow its link.",
	"not-found": "The link may be old.",
	"no-such-recording": "It was deleted, or the link is from another machine.",
	"corrupt": "Run hermit record verify on it to see which part is damaged; what lies before it can still be read.",
	"timeout": "It takes longer than a minute. Try again: the work goes on from where it was.",
	"unavailable": "The server has too much to do. Try again in a moment.",
	"too-many-requests": "Wait a moment, then try again.",
	"diverged": "The replay does not do what was recorded; what was recorded itself can still be read.",
};

/* Nothing to try again: somewhere else is better. */
const GONE = new Set(["not-found", "no-such-recording"]);

function sentence(text) {
	return text ? text[0].toUpperCase() + text.slice(1) : text;
}

export function errorNotice(error, retry = null) {
	return h("div.notice.error", {role: "alert"},
		h("h2", {}, icon("danger"), error.title || "That did not work"),
		h("p", {}, sentence(error.message)),
		ADVICE[error.code] ? h("p.muted", {}, ADVICE[error.code]) : null,
		GONE.has(error.code) ? h("p", {}, h("a", {href: "#/"}, "All recordings")) : null,
		retry ? h("button", {onclick: retry}, icon("refresh"), "Try again") : null);
}

/** Shown after a while only: what comes at once does not flash. */
export function loadingNotice(text = "Loading") {
	return h("div.notice.loading", {role: "status"}, h("span.spinner", {"aria-hidden": "true"}), h("p.muted", {}, text + "\u2026"));
}

export function partialNote(text) {
	return h("p.partial", {role: "status"}, icon("info"), text);
}
