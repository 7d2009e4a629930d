/* A hermitd of the build (BUILD_DIR) with directories of its own and recordings of some programs, for tests of the page on the real thing. */
import {execFileSync, spawn} from "node:child_process";
import {existsSync, mkdirSync, mkdtempSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {dirname, join, resolve} from "node:path";
import {fileURLToPath} from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const BUILD = resolve(process.env.BUILD_DIR ?? join(HERE, "../../../build"));
const RECORD_MS = 30000;
const START_MS = 15000;
const URL_LINE = /are at (http:\/\/[^\s]+)/;

function record(hermit, env, argv) {
	try {
		execFileSync(hermit, ["record", "start", "--", ...argv], {env, stdio: "ignore", timeout: RECORD_MS});
	} catch (error) {
		if (error.code)		/* could not be run or took too long; how the program ended is its own affair */
			throw error;
	}
}

/** Waits for the line in which hermitd says where it is. */
function addressOf(child) {
	return new Promise((done, fail) => {
		let said = "";
		const timer = setTimeout(() => fail(new Error(`hermitd says no address: ${said}`)), START_MS);

		child.stderr.on("data", chunk => {
			const match = URL_LINE.exec(said += chunk);

			if (match) {
				clearTimeout(timer);
				done(match[1].replace(/\/$/, ""));
			}
		});
		child.on("exit", code => fail(new Error(`hermitd ended with ${code}: ${said}`)));
	});
}

/** @returns {Promise<{url: string, login: () => string, dir: string, hermit: (...args: string[]) => string, close: () => Promise<void>}>}
 * dir is gone after close(); hermit() runs a command of hermit on this store and gives what it prints. */
export async function startReal(programs, Skipped) {
	const [hermit, hermitd] = ["hermit", "hermitd"].map(name => join(BUILD, name));

	if (!existsSync(hermit) || !existsSync(hermitd))
		throw new Skipped(`there is no hermitd in ${BUILD}`);
	const dir = mkdtempSync(join(tmpdir(), "hermit-ui-"));
	const env = {...process.env, HERMIT_DATA_DIR: join(dir, "data"), XDG_RUNTIME_DIR: join(dir, "run")};

	mkdirSync(env.XDG_RUNTIME_DIR, {mode: 0o700});
	let child = null;
	const close = async () => {
		if (child && child.exitCode === null) {
			const gone = new Promise(done => child.once("exit", done));

			child.kill("SIGTERM");
			await gone;
		}
		rmSync(dir, {recursive: true, force: true});
	};

	try {
		programs.forEach(argv => record(hermit, env, argv));
		child = spawn(hermitd, ["--listen", "127.0.0.1:0"], {env, stdio: ["ignore", "ignore", "pipe"]});
		const url = await addressOf(child);

		const run = (...args) => execFileSync(hermit, args, {env, cwd: dir, stdio: ["ignore", "pipe", "ignore"], timeout: RECORD_MS}).toString().trim();

		return {url, close, dir, hermit: run, login: () => run("open", "--print")};
	} catch (error) {
		await close();
		throw error;
	}
}
