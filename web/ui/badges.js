/* Small words with a colour and a shape: states, exits, counts. The word always says it, the colour only helps. */
import {h} from "./dom.js";
import {icon} from "./icons.js";

const STATES = {
	recording: {kind: "running", icon: "record", text: "recording", title: "The program runs and is being recorded"},
	complete: {kind: "plain", icon: "check", text: "complete", title: "Recorded from beginning to end"},
	sealed: {kind: "plain", icon: "seal", text: "sealed", title: "Complete, compressed and checksummed"},
	truncated: {kind: "blocked", icon: "danger", text: "truncated", title: "The recording ends before the program did"},
	broken: {kind: "error", icon: "danger", text: "broken", title: "Cannot be read"},
	queued: {kind: "plain", icon: "play", text: "queued"},
	running: {kind: "running", icon: "play", text: "running"},
	starting: {kind: "running", icon: "play", text: "starting"},
	ready: {kind: "running", icon: "check", text: "ready"},
	done: {kind: "plain", icon: "check", text: "done"},
	ended: {kind: "plain", icon: "stop", text: "ended"},
	failed: {kind: "error", icon: "danger", text: "failed"},
	cancelled: {kind: "plain", icon: "close", text: "cancelled"},
};

/** badge("error", "failed", {icon: "danger", title}); kinds: plain, running, blocked, error, signal, select, bookmark */
export function badge(kind, text, {icon: name = null, title = null} = {}) {
	return h(`span.badge.${kind}`, {title}, name ? icon(name) : null, text);
}

/** Of a recording, a job or a session. */
export function stateBadge(state, reason = null) {
	const one = STATES[state] ?? {kind: "plain", icon: "info", text: state};

	return badge(one.kind, one.text, {icon: one.icon, title: [one.title, reason].filter(Boolean).join(": ") || null});
}

/** How a program ended: Recording.exit */
export function exitBadge(exit) {
	switch (exit?.kind) {
	case "exited":
		return exit.code === 0 ? badge("plain", "exit 0", {title: "Ended with status 0"}) :
			badge("error", `exit ${exit.code}`, {icon: "close", title: `Ended with status ${exit.code}`});
	case "signaled":
		return badge("signal", exit.signal, {icon: "signal", title: `Killed by ${exit.signal}`});
	case "running":
		return badge("running", "running", {icon: "play"});
	default:
		return badge("plain", "unknown", {title: "How it ended was not recorded"});
	}
}
