/* What browser tests share. A test file (NAME.test.mjs beside this) calls
 *
 *	test("recordings: sorts by size", {scenario: "few", theme: "dark", width: 1440, height: 900, allow: /404/}, async ({page, url, world, open, axe, check}) => {..});
 *
 * Each test has its own mock server (tests/web/mock), or with {real: [[argv], {c: SOURCE}, {make: WORDS}, ...]} a hermitd of its own with recordings of these programs
 * (real.mjs; login() gives a link that logs in, data is its directory), and its own browser context. Whatever the page writes as an error to the console, each
 * exception nobody caught, each dialog (hostile strings must not run) and each answer of 500 fails it; allow is for errors that a test wants. */
import {execFileSync} from "node:child_process";
import {createRequire} from "node:module";
import {copyFileSync, existsSync, mkdirSync} from "node:fs";
import {fileURLToPath} from "node:url";
import {dirname, join, resolve} from "node:path";
import assert from "node:assert/strict";
import {start} from "../mock/server.mjs";
import {startReal} from "./real.mjs";

export const HERE = dirname(fileURLToPath(import.meta.url));
export const MODULES = join(resolve(process.env.BUILD_DIR ?? join(HERE, "../../../build")), "web-tests");
export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const STEP_MS = 20000;

export class Skipped extends Error {}

/** Installs the driver of the browser into build/ when it is not there. */
export function install() {
	if (existsSync(join(MODULES, "node_modules/playwright-core")) && existsSync(join(MODULES, "node_modules/axe-core")))
		return;
	mkdirSync(MODULES, {recursive: true});
	for (const name of ["package.json", "package-lock.json"])
		copyFileSync(join(HERE, name), join(MODULES, name));
	try {
		execFileSync("npm", ["ci", "--no-audit", "--no-fund"], {cwd: MODULES, stdio: "pipe", timeout: 300000});
	} catch (error) {
		console.error(`npm ci failed: ${String(error.stderr ?? error).trim().split("\n").at(-1)}`);
	}
}

/** Why the tests cannot run here, or null. */
export function missing() {
	if (!existsSync(CHROMIUM))
		return `there is no ${CHROMIUM}`;
	return existsSync(join(MODULES, "node_modules/playwright-core")) ? null : "playwright-core could not be installed";
}

let browser = null;

export async function chromium() {
	const {chromium: driver} = createRequire(join(MODULES, "package.json"))("playwright-core");

	browser ??= await driver.launch({executablePath: CHROMIUM, args: process.getuid() === 0 ? ["--no-sandbox"] : []});
	return browser;
}

export async function closeAll() {
	await browser?.close();
}

export const tests = [];

export function test(name, options, fn) {
	tests.push({name, options, fn});
}

/** A page in a context of its own; faults collects what went wrong in it. */
export async function newPage({theme = "light", width = 1440, height = 900, reducedMotion = "reduce", forcedColors = "none"} = {}) {
	const context = await (await chromium()).newContext({viewport: {width, height}, colorScheme: theme, reducedMotion, forcedColors, acceptDownloads: true, timezoneId: "UTC"});
	const page = await context.newPage();
	const faults = [];

	page.setDefaultTimeout(STEP_MS);
	page.on("console", message => message.type() === "error" && faults.push(`console: ${message.text()}`));
	page.on("pageerror", error => faults.push(`exception: ${error.stack ?? error}`));
	page.on("dialog", dialog => {
		faults.push(`a dialog opened: ${dialog.message()}`);
		dialog.dismiss();
	});
	return {context, page, faults};
}

/** Fails when axe finds anything on the page as it is now. */
async function axe(page, what = {}) {
	if (!await page.evaluate(() => Boolean(window.axe))) {
		const session = await page.context().newCDPSession(page);
		const {readFileSync} = await import("node:fs");

		await session.send("Runtime.evaluate", {expression: readFileSync(join(MODULES, "node_modules/axe-core/axe.min.js"), "utf8")});
	}
	const found = await page.evaluate(options => window.axe.run(document, options), {resultTypes: ["violations"], ...what});
	const text = found.violations.map(({id, help, nodes}) => `${id}: ${help}\n` + nodes.slice(0, 4).map(node => `    ${node.html.slice(0, 160)}\n    ${node.failureSummary}`).join("\n"));

	assert.equal(found.violations.length, 0, "axe:\n" + text.join("\n"));
}

export async function runTest({options, fn}) {
	const server = options.real ? await startReal(options.real, Skipped) : await start({scenario: options.scenario});
	const {context, page, faults} = await newPage(options);

	try {
		await fn({
			page, context, url: server.url, world: server.world, login: server.login, data: server.data, check: assert, axe: what => axe(page, what), skip: why => {
				throw new Skipped(why);
			},
			/* open a hash route and wait until the page element is there */
			open: async (hash = "#/") => {
				await page.goto(server.url + "/" + hash);
				await page.locator("main > *").first().waitFor();
			},
		});
		assert.deepEqual(faults.filter(text => !options.allow?.test(text)), [], "the page complained");
	} finally {
		await context.close();
		await server.close();
	}
}
