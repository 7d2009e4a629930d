/* The fetch layer: every request of the page goes through here. Problem documents become ApiError; nothing else knows HTTP.
 *
 *	const load = latest();				// one per place that loads: a new call aborts the one before
 *	const page = await load(signal => get(`/recordings/${id}/events`, {params: {offset, limit}, signal}));
 *	if (page === undefined) return;			// aborted: somebody asked for something newer
 *
 * Events of `status` (an EventTarget): "unauthorized" (show how to log in), "down" and "up" (the server does not answer, answers again). */

export const BASE = "/api/v1";
export const status = new EventTarget();

const CACHE_MAX = 300;
const cache = new Map();		/* url -> answer; oldest first */
let down = false;

export class ApiError extends Error {
	/** @param {number} http 0 when there was no answer at all */
	constructor(http, problem) {
		super(problem.detail || problem.title || `HTTP ${http}`);
		this.name = "ApiError";
		this.status = http;
		this.code = problem.code ?? (http ? "http-" + http : "down");
		this.title = problem.title ?? "";
		this.problem = problem;
	}
}

/** "/recordings" and {q: "x", id: ["a", "b"], none: null} -> "/api/v1/recordings?q=x&id=a&id=b" */
export function url(path, params) {
	const query = new URLSearchParams();

	for (const [name, value] of Object.entries(params ?? {})) {
		for (const one of Array.isArray(value) ? value : [value]) {
			if (one !== null && one !== undefined && one !== "" && one !== false)
				query.append(name, one === true ? "1" : one);
		}
	}
	const string = query.toString();
	return (path.startsWith("//") ? path.slice(1) : BASE + path) + (string ? "?" + string : "");
}

function reachable(yes) {
	if (down === !yes)
		return;
	down = !yes;
	status.dispatchEvent(new Event(yes ? "up" : "down"));
}

async function problemOf(response) {
	try {
		return await response.json();
	} catch {
		return {title: response.statusText, detail: `the server answered ${response.status} ${response.statusText}`};
	}
}

async function request(method, path, {params, body, etag, signal, accept} = {}) {
	const headers = {Accept: accept ?? "application/json"};
	let response;

	if (body !== undefined)
		headers["Content-Type"] = "application/json";
	if (etag)
		headers["If-Match"] = etag;
	try {
		response = await fetch(url(path, params), {
			method, headers, signal,
			body: body === undefined ? undefined : JSON.stringify(body),
			credentials: "same-origin",
		});
	} catch (error) {
		if (error.name === "AbortError")
			throw error;
		reachable(false);
		throw new ApiError(0, {title: "No answer", detail: "hermitd does not answer. Is it running? Start it with: hermitd"});
	}
	reachable(true);
	if (response.status === 401)
		status.dispatchEvent(new Event("unauthorized"));
	if (!response.ok)
		throw new ApiError(response.status, await problemOf(response));
	return response;
}

async function decode(response, as) {
	if (response.status === 204)
		return null;
	if (as === "text")
		return response.text();
	return as === "bytes" ? response.arrayBuffer() : response.json();
}

/**
 * GET. keep: remember the answer in memory (only for what cannot change: details of events of finished recordings).
 * @param {{params?: object, signal?: AbortSignal, keep?: boolean, as?: "json"|"text"|"bytes", accept?: string}} options
 */
export async function get(path, options = {}) {
	const key = options.keep ? (options.as ?? "json") + url(path, options.params) : null;

	if (key && cache.has(key)) {
		const hit = cache.get(key);

		cache.delete(key);
		cache.set(key, hit);
		return hit;
	}
	const answer = await decode(await request("GET", path, options), options.as);
	if (key) {
		cache.set(key, answer);
		if (cache.size > CACHE_MAX)
			cache.delete(cache.keys().next().value);
	}
	return answer;
}

/** GET of what people edit: {data, etag}; give the etag to patch() or del(). */
export async function getTagged(path, options = {}) {
	const response = await request("GET", path, options);

	return {data: await response.json(), etag: response.headers.get("ETag")};
}

export async function post(path, body, options = {}) {
	return decode(await request("POST", path, {...options, body}));
}

export async function patch(path, body, etag) {
	return decode(await request("PATCH", path, {body, etag}));
}

export async function del(path, etag) {
	return decode(await request("DELETE", path, {etag}));
}

/** Change or remove what others may change at the same time: asks for the current etag first. */
export async function patchFresh(path, body) {
	const {etag} = await getTagged(path);

	return patch(path, body, etag);
}

export async function delFresh(path) {
	const {etag} = await getTagged(path);

	return del(path, etag);
}

/** Fetch something in a format that only the Accept header chooses, and hand it to the browser as a file. */
export async function download(path, name, options) {
	const response = await request("GET", path, options);
	const link = document.createElement("a");

	link.href = URL.createObjectURL(await response.blob());
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** A runner that aborts its previous call; it gives undefined when it was aborted itself. .abort() ends the running one. */
export function latest() {
	let controller = null;
	const run = async fn => {
		const mine = new AbortController();

		controller?.abort();
		controller = mine;
		try {
			const answer = await fn(mine.signal);

			return controller === mine ? answer : undefined;
		} catch (error) {
			if (error.name === "AbortError" || controller !== mine)
				return undefined;
			throw error;
		}
	};

	run.abort = () => {
		controller?.abort();
		controller = null;
	};
	return run;
}

/** Send a file with progress: fetch has none for uploads. */
export function upload(path, file, {onprogress, signal} = {}) {
	return new Promise((resolve, reject) => {
		const xhr = new XMLHttpRequest();

		xhr.open("POST", url(path));
		xhr.setRequestHeader("Content-Type", "application/x-tar");
		xhr.setRequestHeader("Accept", "application/json");
		xhr.upload.onprogress = event => onprogress?.(event.loaded, event.total);
		xhr.onload = () => {
			let answer = {};

			try {
				answer = JSON.parse(xhr.responseText);
			} catch {
				answer = {title: xhr.statusText};
			}
			if (xhr.status >= 200 && xhr.status < 300)
				resolve(answer);
			else
				reject(new ApiError(xhr.status, answer));
		};
		xhr.onerror = () => reject(new ApiError(0, {title: "No answer", detail: "the connection broke while sending"}));
		xhr.onabort = () => reject(new DOMException("aborted", "AbortError"));
		signal?.addEventListener("abort", () => xhr.abort());
		xhr.send(file);
	});
}

/**
 * Server-sent events: stream("/stream", {recording(data) {}, job(data) {}, open() {}, error() {}}) -> close().
 * EventSource connects again by itself and resumes by Last-Event-ID; when the server refused for good (no retry), this tries again
 * with growing pauses. Hidden tabs of the browser keep their connection: it is one per page.
 */
export function stream(path, handlers, params) {
	let source = null;
	let timer = 0;
	let pause = 1000;
	let closed = false;
	const connect = () => {
		source = new EventSource(url(path, params));
		source.onopen = () => {
			pause = 1000;
			reachable(true);
			handlers.open?.();
		};
		source.onerror = () => {
			handlers.error?.();
			if (!closed)
				get("/version").catch(() => {});	/* says whether the server is gone */
			if (source.readyState !== EventSource.CLOSED || closed)
				return;
			timer = setTimeout(connect, pause);
			pause = Math.min(pause * 2, 30000);
		};
		for (const [name, fn] of Object.entries(handlers)) {
			if (name !== "open" && name !== "error")
				source.addEventListener(name, event => fn(event.data ? JSON.parse(event.data) : null, event));
		}
	};

	connect();
	return () => {
		closed = true;
		clearTimeout(timer);
		source.close();
	};
}

let shared = null;
const sharedHandlers = new Set();

/**
 * The stream of everything (/stream), one connection however many listeners: live({recording(d) {}, job(d) {}, ..}) -> stop().
 * again() is called when the connection came back: load what may have been missed.
 */
export function live(handlers) {
	sharedHandlers.add(handlers);
	if (!shared) {
		let opened = false;
		const tell = name => data => [...sharedHandlers].forEach(one => one[name]?.(data));

		shared = stream("/stream", {
			recording: tell("recording"), job: tell("job"), session: tell("session"), storage: tell("storage"),
			open() {
				if (opened)
					tell("again")();
				opened = true;
			},
		});
	}
	return () => {
		sharedHandlers.delete(handlers);
		if (!sharedHandlers.size) {
			shared();
			shared = null;
		}
	};
}

/** What the server says about itself; asked once. */
let about = null;

export function version() {
	about ??= get("/version").catch(error => {
		about = null;
		throw error;
	});
	return about;
}

/** True when the server refuses changes; pages hide or disable what would only be refused. */
export async function readOnly() {
	try {
		return (await version()).read_only;
	} catch {
		return false;
	}
}
