/* The settings of the extension, with what they mean when they are empty. */
"use strict";
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const vscode = require("vscode");
const {parseServer} = require("./link.js");

const TOKEN_MAX = 4096;

function usualTokenFile() {
	const dir = process.env.XDG_RUNTIME_DIR;

	return dir ? path.join(dir, "hermit", "token") : path.join("/tmp", `hermit-${os.userInfo().uid}`, "token");
}

/* Where there is no file there is no token: hermitd then says what it wants. */
function readToken(file) {
	try {
		return fs.readFileSync(file, "utf8").slice(0, TOKEN_MAX).trim() || null;
	} catch {
		return null;
	}
}

/** {dapPath, hermitPath, dataDir, server: origin or null, token or null, problem: text or null}. */
function settings() {
	const found = vscode.workspace.getConfiguration("hermit");
	const text = name => String(found.get(name) ?? "").trim();
	const server = text("server");
	const answer = {dapPath: text("dapPath") || "hermit-dap", hermitPath: text("hermitPath") || "hermit", dataDir: text("dataDir"), server: null, token: null, problem: null};

	if (!server)
		return answer;
	try {
		answer.server = parseServer(server).origin;
		answer.token = text("token") || readToken(text("tokenFile") || usualTokenFile());
	} catch (error) {
		answer.problem = `hermit.server: ${error.message}`;
	}
	return answer;
}

module.exports = {settings};
