/* A client of hermitd's HTTP API (docs/HTTP.md). No vscode in here. */
"use strict";
const fs = require("node:fs");
const {Readable} = require("node:stream");
const {pipeline} = require("node:stream/promises");

const ANSWER_MS = 10000;
const ANSWER_MAX = 8 << 20;
const WORDS = {ECONNREFUSED: "it is not at work (connection refused)", ENOTFOUND: "there is no such host", UND_ERR_SOCKET: "the connection broke off"};

class HermitdError extends Error {
	constructor(message, status = 0) {
		super(message);
		this.status = status;
	}
}

/** What to tell a person about an answer that is no success: the detail of its problem document. */
async function explain(response) {
	try {
		const problem = await response.json();

		return String(problem.detail ?? problem.title ?? response.statusText);
	} catch {
		return `${response.status} ${response.statusText}`;
	}
}

class Hermitd {
	/** origin: as parseServer() of link.js gives. token: a string, or null. */
	constructor(origin, token) {
		this.origin = origin;
		this.token = token;
	}

	/* A redirection would take the token elsewhere. A kept connection may be one that hermitd has closed meanwhile: once more, then. */
	async #fetch(path, signal, again = true) {
		const headers = this.token ? {Authorization: `Bearer ${this.token}`} : {};
		let response = null;

		try {
			response = await fetch(`${this.origin}/api/v1${path}`, {headers, signal, redirect: "error"});
		} catch (error) {
			const why = error.name === "TimeoutError" ? "no answer" : error.cause?.code ?? error.cause?.message ?? error.message;

			if (again && why === "UND_ERR_SOCKET")
				return this.#fetch(path, signal, false);
			throw new HermitdError(`hermitd at ${this.origin}: ${WORDS[why] ?? why}`);
		}
		if (!response.ok)
			throw new HermitdError(`hermitd at ${this.origin}: ${await explain(response)}`, response.status);
		return response;
	}

	async get(path) {
		const response = await this.#fetch(path, AbortSignal.timeout(ANSWER_MS));
		const parts = [];
		let size = 0;

		for await (const part of response.body) {
			size += part.length;
			if (size > ANSWER_MAX)
				throw new HermitdError(`hermitd at ${this.origin}: the answer is too long`);
			parts.push(part);
		}
		try {
			return JSON.parse(Buffer.concat(parts).toString("utf8"));
		} catch {
			throw new HermitdError(`hermitd at ${this.origin}: the answer is no JSON`);
		}
	}

	/** Recordings, newest first, at most a thousand. */
	async recordings() {
		const answer = await this.get("/recordings?limit=1000&sort=started&order=desc");

		if (!Array.isArray(answer?.items))
			throw new HermitdError(`hermitd at ${this.origin}: this is no list of recordings`);
		return answer.items;
	}

	async dataDir() {
		return String((await this.get("/storage")).data_dir ?? "");
	}

	/** Writes the export of a recording to a new file. */
	async download(id, file, signal) {
		const response = await this.#fetch(`/recordings/${encodeURIComponent(id)}/export`, signal);

		await pipeline(Readable.fromWeb(response.body), fs.createWriteStream(file, {flags: "wx", mode: 0o600}), {signal});
	}
}

module.exports = {Hermitd, HermitdError};
