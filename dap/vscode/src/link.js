/* Links that open a recording: vscode://hermit.hermit-debug/open?recording=ID&process=PID&event=N&server=URL. hermitd and its page make them
 * (daemon/sessions.c, web/ui/hm-debug.js), but anybody can: a link comes from strangers. It can name a recording and a place in it, nothing that is
 * started and no file: whatever it says besides is an error, not ignored. No vscode in here.
 *
 *	recording  id in hexadecimal, or its beginning             target  HOST:PORT of a session of hermitd: gdb attaches there
 *	process    pid as recorded                                 server  URL of the hermitd that has the recording
 *	event      so many events have happened                    at      start, main, end, crash or a time (1.5s) instead of event */
"use strict";

class LinkError extends Error {}

const SHAPES = {
	recording: /^[0-9a-f]{4,64}$/,
	process: /^[1-9][0-9]{0,9}$/,
	event: /^(0|[1-9][0-9]{0,14})$/,
	at: /^(start|entry|main|end|crash|[0-9]{1,12}(\.[0-9]{1,9})?(ns|us|ms|s|m|h))$/,
	server: /^https?:\/\/[^\s/\\?#@]{1,255}\/?$/,
	target: /^(\[[0-9a-f:]{2,45}\]|[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?):[1-9][0-9]{0,4}$/,
};

function isLocalHost(host) {
	return host === "localhost" || host === "[::1]" || /^127\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.test(host);
}

/** The origin of a hermitd's URL as written in settings, configurations and links ("http://127.0.0.1:7777"), and whether it is this machine. */
function parseServer(text) {
	let url = null;

	try {
		url = new URL(text);
	} catch {
		throw new LinkError(`"${text}" is no URL of a hermitd`);
	}
	if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.pathname !== "/" || url.search || url.hash)
		throw new LinkError(`"${text}" is no URL of a hermitd: http://HOST:PORT`);
	return {origin: url.origin, local: isLocalHost(url.hostname)};
}

/** HOST:PORT; nothing else may reach gdb's "target remote", which also takes commands to run. */
function parseTarget(text) {
	const [, host, port] = /^(.*):(\d+)$/.exec(text) ?? [];

	if (!SHAPES.target.test(text) || Number(port) > 65535)
		throw new LinkError(`"${text}" is no HOST:PORT`);
	return {target: text, local: isLocalHost(host)};
}

function parameters(query) {
	const found = {};

	for (const [key, value] of new URLSearchParams(query)) {
		if (!Object.hasOwn(SHAPES, key))
			throw new LinkError(`a link cannot say "${key.slice(0, 40)}"`);
		if (Object.hasOwn(found, key))
			throw new LinkError(`"${key}" is there twice`);
		if (!SHAPES[key].test(value))
			throw new LinkError(`"${value.slice(0, 80)}" is no ${key}`);
		found[key] = value;
	}
	return found;
}

/** {recording, process, stopAt, server, target, strangers}: null for what is not said; strangers: hosts that are not this machine. Throws LinkError. */
function parseLink({path, query}) {
	if (path !== "/open")
		throw new LinkError(`there is nothing called "${String(path).slice(0, 40)}"`);
	const found = parameters(query);
	const strangers = [];

	if (!found.recording)
		throw new LinkError("it names no recording");
	if (found.event && found.at)
		throw new LinkError("it names two places");
	const server = found.server ? parseServer(found.server) : null;
	const target = found.target ? parseTarget(found.target) : null;

	if (server && !server.local)
		strangers.push(server.origin);
	if (target && !target.local)
		strangers.push(target.target);
	return {
		recording: found.recording,
		process: found.process ? Number(found.process) : null,
		stopAt: found.event ? Number(found.event) : found.at === "start" ? "entry" : found.at ?? null,
		server: server?.origin ?? null,
		target: target?.target ?? null,
		strangers,
	};
}

/** The debug configuration that does what a link says. */
function linkConfiguration(link) {
	const name = `Recording ${link.recording.slice(0, 8)}`;

	if (link.target)
		return {type: "hermit", request: "attach", name, target: link.target};
	return {
		type: "hermit", request: "launch", name, recording: link.recording,
		...link.process === null ? {} : {process: link.process},
		...link.stopAt === null ? {} : {stopAt: link.stopAt},
		...link.server === null ? {} : {server: link.server},
	};
}

module.exports = {LinkError, isLocalHost, linkConfiguration, parseLink, parseServer, parseTarget};
