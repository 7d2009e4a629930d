/* The pictures of docs/FIVE-MINUTES.md, on a real hermitd: docs_pictures.mjs DIR [NAME...]. tools/docs-screenshots runs it. */
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {mkdirSync} from "node:fs";
import {join} from "node:path";
import {HERE, Skipped, closeAll, missing, newPage} from "./harness.mjs";
import {startReal} from "./real.mjs";

const SIZE = {width: 1280, height: 800, theme: "light"};
const PORT = 8080;
const SETTLE_MS = 700;
const TRIES = 50;
const [dir, ...names] = process.argv.slice(2);

const pause = ms => new Promise(done => setTimeout(done, ms));

/** Asks the order service, once it listens. */
async function ask(path) {
	for (let i = 0; i < TRIES; i++) {
		try {
			return await (await fetch(`http://127.0.0.1:${PORT}${path}`)).text();
		} catch (error) {
			if (error.cause?.code !== "ECONNREFUSED")
				return null;		/* it crashed on this */
			await pause(100);
		}
	}
	throw new Error("the order service does not listen");
}

const ORDERS = ["sku=tea&qty=2&note=no+rush", "sku=coffee&qty=1", "sku=cocoa&qty=3&note=please+ring+the+bell+twice", "sku=tea&qty=1"];

/** A day's work of a server: what the pictures show. @returns the id of the crash */
async function record({hermit, dir: home}) {
	const work = join(home, "orders");

	mkdirSync(work);
	execFileSync("cc", ["-g", "-O2", "-o", "orderd", join(HERE, "../../../docs/examples/orderd.c")], {cwd: work});
	for (const [name, ...argv] of [["nightly", "sh", "-c", "date; for i in 1 2 3 4 5 6 7 8; do sha256sum /bin/sh | sort; done; exit 3"], ["backup", "tar", "-cf", "/dev/null", "/etc"]]) {
		try {
			hermit("record", "start", "--name", name, "--", ...argv);
		} catch (error) {
			assert.ok(error.status, error);		/* that they fail is what is recorded */
		}
	}
	hermit("record", "start", "-d", "--no-stdio", "--workdir", work, "--name", "orders-before", "--", "./orderd", String(PORT));
	for (const order of ORDERS.filter(text => !text.includes("bell")))
		await ask(`/order?${order}`);
	assert.ok(await ask("/report"));
	hermit("record", "stop", "orders-before");
	const id = hermit("record", "start", "-d", "--no-stdio", "--workdir", work, "--name", "orders", "--", "./orderd", String(PORT));

	for (const order of ORDERS)
		await ask(`/order?${order}`);
	assert.equal(await ask("/report"), null, "the report was answered");
	await pause(1500);		/* the recordings are compressed meanwhile */
	return id;
}

const tab = (page, name) => page.locator("hm-rec-details").getByRole("tab", {name, exact: true}).click();

const loaded = page => page.locator("hm-rec-details").getByText(/^Event #/).waitFor();

/* name of the picture, the address, what is done there before it is taken */
const PICTURES = [
	["list", () => "#/", page => page.locator("page-recordings tbody tr[data-at]").nth(3).waitFor()],
	["crash", (id, crash) => `#/r/${id}?at=${crash.event}`, async page => {
		await loaded(page);
		await page.keyboard.press("c");		/* room for stack and source */
		await tab(page, "Stack");
		await page.getByText("order_total").first().waitFor();
		await page.locator("hm-rec-details").getByText("order->product->cents").first().waitFor();
	}],
	["filter", (id, crash, order) => `#/r/${id}?at=${order}&q=syscall:read%20fd:4`, async page => {
		await page.keyboard.press("c");
		await tab(page, "Call");
		await page.locator("hm-rec-details").getByText("bell").first().waitFor();
	}],
	["summary", id => `#/r/${id}/summary`, page => page.locator("page-summary tbody tr[data-at]").getByText("accept").first().waitFor()],
	["debug", (id, crash) => `#/r/${id}?at=${crash.event}`, async page => {
		await loaded(page);
		await page.keyboard.press("Shift+D");
		await page.getByRole("button", {name: "Start a session"}).click();
		await page.getByRole("dialog").getByText("target remote").waitFor();
	}],
];

const why = missing();

if (why)
	throw new Error(why);
const server = await startReal([], Skipped);

try {
	const id = await record(server);
	const {context, page, faults} = await newPage(SIZE);

	await page.goto(server.login());
	const base = new URL(page.url()).origin;
	const api = async path => (await page.request.get(`${base}/api/v1/recordings/${id}${path}`)).json();
	const {crash} = await api("");
	const order = (await api("/events?q=syscall:read%20cocoa")).items[0].number;

	for (const [name, hash, act] of PICTURES.filter(([one]) => !names.length || names.includes(one))) {
		await page.goto("about:blank");
		await page.goto(`${base}/${hash(id, crash, order)}`);
		await act(page);
		await page.mouse.move(0, 0);
		await pause(SETTLE_MS);
		await page.screenshot({path: join(dir, `${name}.png`)});
	}
	await context.close();
	assert.deepEqual(faults, [], "the page complained");
} finally {
	await closeAll();
	await server.close();
}
