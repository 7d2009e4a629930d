/* A hermitd of the build (BUILD_DIR) with directories of its own and recordings of some programs, for tests of the page on the real thing. */
import {execFileSync, spawn} from "node:child_process";
import {existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {dirname, join, resolve} from "node:path";
import {fileURLToPath} from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const BUILD = resolve(process.env.BUILD_DIR ?? join(HERE, "../../../build"));
const RECORD_MS = 30000;
const START_MS = 15000;
const URL_LINE = /are at (http:\/\/[^\s]+)/;

const MAKE_MS = 60000;

/** A program from a line of source: {c: "int main..", args: [..]}; the compiler of the build. */
function compiled(dir, {c, args = []}, number) {
	const source = join(dir, `program${number}.c`);
	const program = join(dir, `program${number}`);

	writeFileSync(source, c);
	execFileSync(process.env.CC ?? "cc", ["-g", "-O0", "-pthread", "-o", program, source], {timeout: RECORD_MS, stdio: "ignore"});
	return [program, ...args];
}

/** {make: ["big", "1000000"]}: what tests/tools/make_recordings writes. */
function made(env, words, Skipped) {
	const tool = join(BUILD, "tests/tools/make_recordings");

	if (!existsSync(tool))
		throw new Skipped(`there is no ${tool}`);
	execFileSync(tool, [env.HERMIT_DATA_DIR, ...words], {env, stdio: "ignore", timeout: MAKE_MS});
}

function provide(hermit, env, dir, program, number, Skipped) {
	if (program.make)
		made(env, program.make, Skipped);
	else
		record(hermit, env, program.c ? compiled(dir, program, number) : program);
}

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

/** @param {(string[]|{c: string, args?: string[]}|{make: string[]})[]} programs
 * @returns {Promise<{url: string, data: string, login: () => string, dir: string, hermit: (...args: string[]) => string, close: () => Promise<void>}>}
 * dir is gone after close(); hermit() runs a command of hermit on this store and gives what it prints. */
export async function startReal(programs, Skipped) {
	const [hermit, hermitd] = ["hermit", "hermitd"].map(name => join(BUILD, name));

	if (!existsSync(hermit) || !existsSync(hermitd))
		throw new Skipped(`there is no hermitd in ${BUILD}`);
	const dir = mkdtempSync(join(tmpdir(), "hermit-ui-"));
	const env = {...process.env, HERMIT_DATA_DIR: join(dir, "data"), XDG_RUNTIME_DIR: join(dir, "run")};

	mkdirSync(env.XDG_RUNTIME_DIR, {mode: 0o700});
	mkdirSync(env.HERMIT_DATA_DIR, {mode: 0o700});
	let child = null;
	const close = async () => {
		if (child && child.exitCode === null) {
			const gone = new Promise(done => child.once("exit", done));

			child.kill("SIGTERM");
			await gone;
		}
		/* sealers of recordings made just now may still put files there */
		rmSync(dir, {recursive: true, force: true, maxRetries: 20, retryDelay: 100});
	};

	try {
		programs.forEach((program, number) => provide(hermit, env, dir, program, number, Skipped));
		child = spawn(hermitd, ["--listen", "127.0.0.1:0"], {env, stdio: ["ignore", "ignore", "pipe"]});
		const url = await addressOf(child);

		const run = (...args) => execFileSync(hermit, args, {env, cwd: dir, stdio: ["ignore", "pipe", "ignore"], timeout: RECORD_MS}).toString().trim();

		return {url, close, data: env.HERMIT_DATA_DIR, dir, hermit: run, login: () => run("open", "--print")};
	} catch (error) {
		await close();
		throw error;
	}
}
