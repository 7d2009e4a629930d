/* Launch configurations: what is missing is asked for, what is wrong is said before anything starts. */
"use strict";
const vscode = require("vscode");
const {bring, elsewhere, pick} = require("./picker.js");

const REQUESTS = ["launch", "attach"];
const IN_TEXT = /^[^\0\n\r]{1,4096}$/;

/* Each property: whether its value is one. The adapter judges the rest, recordings' names and places for instance. */
const text = value => typeof value === "string" && IN_TEXT.test(value);
const number = value => Number.isSafeInteger(value) && value >= 0;
const flag = value => typeof value === "boolean";
const map = value => typeof value === "object" && value !== null && !Array.isArray(value) && Object.entries(value).every(pair => pair.every(text));
const CHECKS = {
	recording: [text, "the id or label of a recording"], process: [value => text(value) || number(value), "a pid or the name of a program"], processes: [text, "a text"],
	output: [text, "process, all or none"],
	stopAt: [value => text(value) || number(value), "entry, main, end, crash, a number of events, a time or a position"], stopOnEntry: [flag, "true or false"],
	server: [text, "the URL of a hermitd, HOST:PORT or the path of a socket"], dataDir: [text, "a directory"], target: [text, "HOST:PORT or the path of a socket"], program: [text, "a file"],
	gdb: [text, "a program"], sourceMap: [map, "an object of paths"],
};

/** What is wrong with a configuration, or null. */
function problem(config) {
	if (!REQUESTS.includes(config.request))
		return `"request" is launch or attach, not ${JSON.stringify(config.request)}`;
	for (const [name, [good, what]] of Object.entries(CHECKS))
		if (config[name] !== undefined && !good(config[name]))
			return `"${name}" is ${what}, not ${JSON.stringify(config[name])}`;
	if (config.request === "attach" && config.target === undefined)
		return "\"target\" is missing: HOST:PORT or the path of a socket";
	/* gdb runs what stands behind a bar there */
	for (const name of ["target", "server"])
		if (config[name] !== undefined && /^\s*[|-]/.test(config[name]))
			return `"${name}" is HOST:PORT or the path of a socket, not ${JSON.stringify(config[name])}`;
	return null;
}

/* A session can be started without launch.json. */
function complete(config) {
	if (config.type || config.request || config.name)
		return {...config};
	return {type: "hermit", request: "launch", name: "Replay"};
}

class Configurations {
	provideDebugConfigurations() {
		return [{type: "hermit", request: "launch", name: "Replay", recording: "${command:pickRecording}"}];
	}

	async resolveDebugConfiguration(folder, given) {
		const config = complete(given);

		if (config.request === "launch" && config.recording === undefined) {
			const one = await pick();

			if (!one)
				return undefined;
			Object.assign(config, {recording: one.id}, one.server ? {server: one.server} : {});
		}
		const wrong = problem(config);

		if (!wrong)
			return config;
		vscode.window.showErrorMessage(`Hermit: ${wrong}`);
		return undefined;
	}

	/* Variables are values now. */
	async resolveDebugConfigurationWithSubstitutedVariables(folder, config) {
		const server = config.server ?? elsewhere.get(config.recording);

		/* what is no URL is a replay server, which is the adapter's affair */
		if (config.request !== "launch" || !server || !server.includes("://"))
			return config;
		try {
			const where = await bring(config.recording, server);

			if (!where)
				return undefined;
			const resolved = {...config, ...where};

			delete resolved.server;
			return resolved;
		} catch (error) {
			vscode.window.showErrorMessage(`Hermit: ${error.message}`);
			return undefined;
		}
	}
}

module.exports = {Configurations, complete, problem};
