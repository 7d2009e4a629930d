#!/usr/bin/env node
/* Serves web/ui and answers the API (docs/HTTP.md) with made-up data: for working on the page and for tests that must see the same each time.
 *
 *	tests/web/mock/server.mjs [--port N] [--scenario NAME] [--ui DIR]
 *
 * Prints its address. Scenarios: many (default: 2000 recordings), empty, few, read-only, login (401), broken (500 everywhere), slow.
 * Routes come from routes_*.mjs beside this file; each exports routes(world) -> [[method, "/path/{x}", handler], ...], where
 * handler({params, query, body, headers, world, reply, request, response}) calls reply.json(value, {status, headers}), reply.problem(status, code, detail),
 * reply.bytes(buffer, type), reply.none() or reply.sse() -> {send(event, data, id), closed}. */
import {createServer} from "node:http";
import {readFile, readdir} from "node:fs/promises";
import {dirname, extname, join, normalize, resolve} from "node:path";
import {fileURLToPath, pathToFileURL} from "node:url";
import {makeWorld} from "./world.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json"};
const CSP = "default-src 'self'; script-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";
const BODY_MAX = 64 << 20;

const TITLES = {400: "Bad request", 401: "Not logged in", 403: "Forbidden", 404: "Not found", 405: "Method not allowed", 409: "Conflict", 412: "It has changed",
	422: "Cannot be understood", 428: "If-Match is missing", 500: "Internal error", 503: "Not now"};

function replier(request, response) {
	const send = (status, headers, body) => {
		if (response.writableEnded)
			return;
		response.writeHead(status, {"Cache-Control": "no-store", "X-Request-Id": "mock", ...headers});
		response.end(request.method === "HEAD" ? undefined : body);
	};

	return {
		json: (value, {status = 200, headers = {}} = {}) => send(status, {"Content-Type": "application/json", ...headers}, JSON.stringify(value)),
		problem: (status, code, detail, more = {}) => send(status, {"Content-Type": "application/problem+json"}, JSON.stringify({
			type: "/problems/" + code, title: TITLES[status] ?? "Error", status, code, detail, instance: request.url, ...more})),
		bytes: (buffer, type = "application/octet-stream", headers = {}) => send(200, {"Content-Type": type, "Content-Length": buffer.length, ...headers}, buffer),
		none: () => send(204, {}),
		sse: () => {
			const out = {closed: false, send(event, data, id) {
				response.write((id === undefined ? "" : `id: ${id}\n`) + `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
			}};

			response.writeHead(200, {"Content-Type": "text/event-stream", "Cache-Control": "no-store"});
			response.write("retry: 1000\n\n");
			response.on("close", () => {
				out.closed = true;
			});
			return out;
		},
	};
}

function compile([method, path, handler]) {
	const names = [];
	const pattern = path.replace(/\{(\w+)\}/g, (_, name) => {
		names.push(name);
		return "([^/]+)";
	});

	return {method, names, pattern: new RegExp(`^/api/v1${pattern}$`), handler};
}

async function bodyOf(request) {
	const chunks = [];
	let size = 0;

	for await (const chunk of request) {
		size += chunk.length;
		if (size <= BODY_MAX)
			chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}

async function serveFile(ui, path, reply) {
	const file = normalize(join(ui, path === "/" ? "index.html" : decodeURIComponent(path)));

	if (!file.startsWith(ui + "/"))
		return reply.problem(404, "not-found", "no such file");
	try {
		return reply.bytes(await readFile(file), TYPES[extname(file)], {"Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff"});
	} catch {
		return reply.problem(404, "not-found", `no file ${path}`);
	}
}

async function serveApi(world, table, url, request, response, reply) {
	const fits = table.map(route => [route, route.pattern.exec(url.pathname)]).filter(([, match]) => match);
	const [route, match] = fits.find(([one]) => one.method === request.method || (one.method === "GET" && request.method === "HEAD")) ?? [];

	if (world.refuse)
		return reply.problem(...world.refuse);
	if (!fits.length)
		return reply.problem(404, "not-found", `no resource ${url.pathname}`);
	if (!route)
		return reply.problem(405, "method-not-allowed", `not ${request.method}`);
	if (world.readOnly && request.method !== "GET" && request.method !== "HEAD")
		return reply.problem(403, "read-only", "this server is read-only");
	if (world.delayMs)
		await new Promise(done => setTimeout(done, world.delayMs));
	const raw = await bodyOf(request);
	const isJson = request.headers["content-type"] === "application/json";
	const params = Object.fromEntries(route.names.map((name, at) => [name, decodeURIComponent(match[at + 1])]));

	return route.handler({params, query: url.searchParams, body: isJson && raw.length ? JSON.parse(raw) : raw, headers: request.headers, world, reply, request, response});
}

/** @returns {Promise<{url: string, world: object, close: () => Promise<void>}>} */
export async function start({port = 0, scenario = "many", ui = resolve(HERE, "../../../web/ui")} = {}) {
	const world = makeWorld(scenario);
	const files = (await readdir(HERE)).filter(name => /^routes_.*\.mjs$/.test(name)).sort();
	const modules = await Promise.all(files.map(name => import(pathToFileURL(join(HERE, name)).href)));
	const table = modules.flatMap(module => module.routes(world)).map(compile);
	const server = createServer(async (request, response) => {
		const reply = replier(request, response);
		const url = new URL(request.url, "http://localhost");

		try {
			if (url.pathname.startsWith("/api/"))
				await serveApi(world, table, url, request, response, reply);
			else
				await serveFile(ui, url.pathname, reply);
		} catch (error) {
			reply.problem(500, "internal", String(error.stack));
		}
	});

	await new Promise(done => server.listen(port, "127.0.0.1", done));
	return {
		url: `http://127.0.0.1:${server.address().port}`, world,
		close: () => new Promise(done => {
			world.stop();
			server.close(done);
			server.closeAllConnections();
		}),
	};
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const option = name => {
		const at = process.argv.indexOf("--" + name);

		return at < 0 ? undefined : process.argv[at + 1];
	};
	const {url} = await start({port: Number(option("port") ?? 0), scenario: option("scenario"), ui: option("ui")});

	console.log(url);
}
