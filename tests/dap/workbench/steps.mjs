/* The walk: [name, async (bench, {folder}) => ...], in order. */
import assert from "node:assert/strict";

export const SOURCE = `#include <stdio.h>

static int total;

static int add(int n)
{
	int before = total;

	total = before + n;
	return total;
}

int main(void)
{
	for (int i = 1; i <= 5; i++)
		add(i);
	printf("total %d\\n", total);
	return 0;
}
`;
export const LINES = {before: 7, assign: 9, after: 10, loop: 15, call: 16};

const BREAKPOINT = ".codicon-debug-breakpoint, .codicon-debug-breakpoint-unverified";

/* The extension tells which languages have breakpoints; until it is known, F9 does nothing. */
async function breakpoint(bench, {lines}) {
	await bench.openFile("sum.c");
	await bench.goToLine(lines.assign);
	await bench.until("a breakpoint", async () => {
		await bench.page.keyboard.press("F9");
		await bench.page.waitForTimeout(1000);
		return await bench.page.locator(".glyph-margin-widgets, .margin").locator(BREAKPOINT).count() > 0;
	}, {each: 2000});
}

/* Without launch.json: the picker, with the one recording that there is. */
async function launch(bench, {lines}) {
	await bench.command("Hermit: Replay a Recording");
	const row = bench.page.locator(".quick-input-list .monaco-list-row").filter({hasText: "/sum"}).first();

	await row.waitFor();
	assert.match(await row.textContent(), /ok.*events/);
	await row.click();
	await bench.stopsAt(lines.loop, "a stop in main");
}

async function toolbar(bench) {
	const labels = await bench.page.locator(".debug-toolbar .action-label").evaluateAll(list => list.map(one => one.getAttribute("aria-label").replace(/ \(.*/, "")));

	for (const want of ["Step Back", "Reverse", "Reverse Step Into", "Reverse Step Out", "Last Write of Expression\u2026", "Bookmark this Place\u2026", "Go to Start", "Go to End",
		"Back to the Previous Place", "Forward to the Next Place"])
		assert.ok(labels.includes(want), `${want} is not among ${labels.join(", ")}`);
}

async function forwards(bench, {lines}) {
	for (const n of [1, 2, 3]) {
		await bench.page.keyboard.press("F5");
		await bench.shows("n", n);
		await bench.stopsAt(lines.assign);
	}
}

async function backwards(bench, {lines}) {
	await bench.page.keyboard.press("Control+Shift+F8");
	await bench.shows("n", 2);
	await bench.stopsAt(lines.assign);
	await bench.page.keyboard.press("Control+Shift+F7");
	await bench.stopsAt(lines.call, "the call of add");
	await bench.page.keyboard.press("F5");
	await bench.stopsAt(lines.assign);
	await bench.page.keyboard.press("F10");
	await bench.stopsAt(lines.after);
	await bench.page.keyboard.press("Control+F8");
	await bench.stopsAt(lines.assign);
	await bench.shows("n", 2);
}

async function lastWrite(bench, {lines}) {
	await bench.page.keyboard.press("Alt+F11");
	await bench.input("Last write", "total");
	await bench.shows("n", 1);
	await bench.stopsAt(lines.assign);
}

async function variable(bench, {lines}) {
	await bench.page.keyboard.press("F5");
	await bench.shows("n", 2);
	await bench.shows("before", 1);
	await bench.row(".debug-variables", /^before/).click({button: "right"});
	const item = bench.page.getByRole("menuitem", {name: "Last Write of this Variable"});
	await item.hover();
	await bench.page.waitForTimeout(500); // a menu takes no click that comes with its opening
	await item.click();
	await bench.stopsAt(lines.before);
}

async function bookmark(bench, {lines}) {
	await bench.command("Hermit: Bookmark this Place");
	await bench.input("Bookmark", "before the sum");
	const pane = await bench.view("Hermit Timeline");

	await pane.locator(".monaco-list-row").filter({hasText: /Event \d+ of \d+/}).waitFor();
	await pane.locator(".monaco-list-row").filter({hasText: "before the sum"}).waitFor();
	await bench.page.keyboard.press("F5");
	await bench.stopsAt(lines.assign);
	await bench.command("Hermit: Go to Bookmark");
	await bench.page.locator(".quick-input-list .monaco-list-row").filter({hasText: "before the sum"}).click();
	await bench.stopsAt(lines.before);
}

async function logAll(bench, {lines}) {
	await bench.page.locator(".tabs-container .tab").filter({hasText: "sum.c"}).click();
	await bench.goToLine(lines.assign);
	await bench.command("Hermit: Log Point over the Whole Recording");
	await bench.input("over the whole recording", "adding {n}");
	await bench.input("only if", "n != 4");
	await bench.until("the lines", async () => {
		const text = await bench.page.locator(".repl").textContent();

		return [1, 2, 3, 5].every(n => text.includes(`adding ${n}`)) && !text.includes("adding 4");
	});
	await bench.stopsAt(lines.before, "the session where it was");
	await bench.shows("n", 2);
}

async function startAndEnd(bench, {lines}) {
	await bench.command("Hermit: Run to Event");
	await bench.input("Run to event", "1");
	const pane = await bench.view("Hermit Timeline");

	await pane.locator(".monaco-list-row").filter({hasText: /Event 1 of/}).waitFor();
	await bench.command("Hermit: Back to the Previous Place");
	await bench.stopsAt(lines.before);
}

async function library(bench) {
	const pane = await bench.view("Hermit Recordings");

	await pane.locator(".monaco-list-row").filter({hasText: "/sum"}).waitFor();
}

async function stop(bench) {
	await bench.page.keyboard.press("Shift+F5");
	await bench.until("the end of the session", async () => await bench.page.locator(".debug-toolbar:visible").count() === 0);
}

export const steps = [
	["breakpoint: by keyboard", breakpoint], ["launch: the picker and a stop in main", launch], ["toolbar: the buttons are there", toolbar],
	["forwards: the breakpoint, and a variable that changes", forwards], ["backwards: reverse, step back, out of the call", backwards],
	["last-write: of an expression", lastWrite], ["variable: last write from its menu", variable],
	["bookmark: in the timeline, and gone to", bookmark], ["log-all: the debug console has all lines", logAll], ["event: run there and back", startAndEnd],
	["recordings: the view", library], ["stop: the session ends", stop],
];
