/* The recording page with small recordings of real programs: what each part shows, and that all of them show the same moment. */
import {readdirSync, statSync, truncateSync} from "node:fs";
import {join} from "node:path";
import {test} from "./harness.mjs";
import {at, cursor, enter, hash, openRecording, row, rows, settled} from "./recording.mjs";

const CRASH = {c: `#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
struct node { struct node *next; int value; };
static int deepest(struct node *n)
{
	return n->next->value;	/* the crash */
}
static int middle(struct node *n, int depth)
{
	return depth ? middle(n, depth - 1) + 1 : deepest(n);
}
int main(void)
{
	char buffer[9000];
	struct node one = { NULL, 42 };
	int fd = open("/dev/zero", O_RDONLY);
	ssize_t n = read(fd, buffer, sizeof(buffer));
	open("/nonexistent/file", O_RDONLY);
	fprintf(stderr, "\\033[31mred\\033[0m %d\\n", (int)n);
	for (int i = 0; i < 40; i++)
		dprintf(1, "line %d\\n", i);
	return middle(&one, 30);
}
`};
const THREADS = {c: `#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *work(void *arg)
{
	char name[16];
	snprintf(name, sizeof(name), "worker-%ld", (long)arg);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 4; i++)
		usleep(300);
	return NULL;
}
int main(void)
{
	pthread_t t[64];
	for (long i = 0; i < 64; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 64; i++)
		pthread_join(t[i], NULL);
	return 0;
}
`.replace("#include <pthread.h>", "#define _GNU_SOURCE\n#include <pthread.h>")};
const EVIL = "<img src=x onerror=alert(1)>";
const HOSTILE = ["sh", "-c", `echo '<script>alert(2)</script>'; printf '\\033[31mred\\033[0m \\033]0;title\\007%s\\n' '${EVIL}'; ls '${EVIL}' '<b>file'; exit 3`];

for (const theme of ["light", "dark"]) {
	test(`recording: axe in ${theme}: every tab, filter, menus, bookmarks`, {real: [CRASH], theme}, async ({page, login, axe}) => {
		await openRecording(page, login, "program0", "?at=20");
		await axe();
		for (const tab of ["Stack", "Registers", "Maps", "Threads", "Memory"]) {
			await page.getByRole("tab", {name: tab}).click();
			await settled(page);
			await axe();
		}
		await page.getByLabel("Filter events").fill("syscall:write -line");
		await page.locator(".rec-chip").nth(1).waitFor();
		await axe();
		await page.getByRole("button", {name: "Help on filters"}).click();
		await page.locator("#rec-filter-help").waitFor();
		await axe();
		await page.keyboard.press("Escape");
		await page.getByLabel("Filter events").fill("sys");
		await page.getByRole("option").first().waitFor();
		await axe();
		await page.getByLabel("Filter events").fill("");
		await page.getByRole("button", {name: "Export"}).click();
		await page.getByRole("menuitem").first().waitFor();
		await axe();
		await page.keyboard.press("Escape");
		await page.getByRole("tab", {name: "Bookmarks"}).click();
		await axe();
	});
}

test("recording: one cursor for table, lanes, details, console and address", {real: [CRASH]}, async ({page, login, check}) => {
	await openRecording(page, login, "program0");
	await cursor(page, 1);
	const write = page.locator(".rec-chunk").filter({hasText: "line 7"}).first();
	const event = Number(await write.getAttribute("data-event"));

	await write.click();
	await cursor(page, event);
	check.equal(await write.getAttribute("aria-current"), "true");
	await page.keyboard.press("k");
	await cursor(page, event - 1);
	await page.waitForFunction(() => document.querySelector(".rec-chunk[aria-current]")?.textContent.includes("line 6"));
	await row(page, event + 1).click();
	await cursor(page, event + 1);
	const lanes = page.getByLabel("Cursor in the lanes");

	check.equal(await lanes.getAttribute("aria-valuenow"), String(event + 1));
	const box = await lanes.boundingBox();

	await page.mouse.click(box.x + 2, box.y + 30);
	await cursor(page, 1);
	await page.locator("hm-rec-overview").click({position: {x: 2, y: 20}});
	await cursor(page, 1);
	await page.getByRole("link", {name: "Go to the crash"}).click();
	await page.waitForFunction(() => document.querySelector(".rec-cursor")?.textContent.includes("SIGSEGV"));
	await page.goBack();
	await cursor(page, 1);
});

test("recording: every key of the list, without the mouse", {real: [CRASH]}, async ({page, login, check}) => {
	const rec = await openRecording(page, login, "program0");
	const press = (...list) => list.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve());

	await cursor(page, 1);
	await press("j", "ArrowDown");
	await cursor(page, 3);
	await press("k", "ArrowUp");
	await cursor(page, 1);
	await press("End");
	await cursor(page, rec.events);
	await press("Home");
	await cursor(page, 1);
	await press("PageDown");
	await page.waitForFunction(() => document.querySelector(".rec-cursor") && !location.hash.includes("at=1&") && !location.hash.endsWith("at=1"));
	const paged = await at(page);

	check.ok(paged > 5);
	await press("PageUp");
	await cursor(page, 1);
	await press("n");
	await page.waitForFunction(() => document.querySelector(".rec-cursor")?.dataset.state === "error");
	const failed = await at(page);

	await press("p");
	check.equal(await at(page), failed, "there is no failure before the first");
	await press("]");
	await cursor(page, failed + 1);
	await press("[");
	await cursor(page, failed);
	await press("g");
	await page.keyboard.type("12");
	await press("Enter");
	await cursor(page, 12);
	await press("g");
	await page.keyboard.type("0ms");
	await press("Enter");
	await cursor(page, 1);
	const range = () => page.locator(".rec-range").textContent();
	const whole = await range();

	for (const [key, ...rest] of [["w"], ["d"], ["a"], ["s"], ["+"], ["-"], ["f"], ["0"]]) {
		await press(key, ...rest);
		await page.waitForFunction(all => (document.querySelector(".rec-range").textContent === all) === !location.hash.includes("from="), whole);
	}
	await page.waitForFunction(all => document.querySelector(".rec-range").textContent === all, whole);
	await press("b");
	await page.keyboard.type("the <b>start");
	await press("Enter");
	await page.locator(".rec-bookmarked").waitFor();
	await press("b");
	await page.getByRole("dialog").getByLabel("Note").waitFor();
	await press("Escape");
	await press("j", "Enter");
	check.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "tab");
	await press("ArrowRight");
	await page.getByRole("tab", {name: "Stack", selected: true}).waitFor();
	await press("Escape");
	check.ok(await page.evaluate(() => document.activeElement.matches(".rec-cursor")), "Esc goes back to the row");
	await press("m");
	await page.getByRole("menuitem", {name: /^Thread/}).waitFor();
	await press("Escape");
	await page.waitForFunction(() => document.activeElement.matches(".rec-cursor"));
	await press("Control+f");
	check.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Filter events");
	await page.keyboard.type("failed");
	await press("Enter");
	await page.waitForFunction(() => location.hash.includes("q=failed"));
	await press("Escape");
	await page.waitForFunction(() => document.activeElement.matches(".rec-row"));
	await press("?");
	await page.getByRole("dialog", {name: "Keyboard"}).getByText("Zoom in").waitFor();
	await press("Escape");
	await page.locator("dialog").waitFor({state: "detached"});
	await press("D");
	await page.getByRole("dialog").getByText(`-g ${await at(page)}`).first().waitFor();
});

test("recording: the stack, its source, registers with changes, maps, memory", {real: [CRASH]}, async ({page, login, check}) => {
	await openRecording(page, login, "program0");
	await page.getByRole("link", {name: "Go to the crash"}).click();
	await page.getByRole("tab", {name: "Stack"}).click();
	await page.locator(".rec-frame").filter({hasText: "deepest"}).waitFor();
	const line = page.locator(".rec-line[aria-current]");
	const seen = () => line.evaluate(el => {
		const box = el.getBoundingClientRect();
		const around = el.parentElement.getBoundingClientRect();

		return box.top >= around.top && box.bottom <= Math.min(around.bottom, innerHeight);
	});

	await line.filter({hasText: "the crash"}).waitFor();
	check.ok(await seen(), "the line is in sight");
	await page.locator(".rec-frame").filter({hasText: /main.*program0/}).click();
	await line.filter({hasText: "middle(&one, 30)"}).waitFor();
	check.ok(await seen());
	check.ok(await page.locator(".rec-frame[aria-selected=true]").evaluate(el => el.offsetTop >= el.parentElement.scrollTop && el.offsetTop < el.parentElement.scrollTop + el.parentElement.clientHeight));
	await page.getByRole("tab", {name: "Registers"}).click();
	await page.locator(".rec-reg").filter({hasText: "rip"}).waitFor();
	await page.keyboard.press("[");
	await page.locator(".rec-reg[data-changed]").filter({hasText: "rip"}).waitFor();
	await page.getByRole("tab", {name: "Maps"}).click();
	await page.locator(".rec-maps").getByText("program0").first().waitFor();
	await page.locator(".rec-maps button").first().click();
	await page.getByRole("tab", {name: "Memory", selected: true}).waitFor();
	await page.locator(".rec-hex-chars").first().filter({hasText: ".ELF"}).waitFor();
	await page.getByLabel("Address", {exact: true}).fill("0x10");
	await page.keyboard.press("Enter");
	await page.getByText("Nothing is mapped at this address").waitFor();
	await page.getByLabel("Address", {exact: true}).fill("nonsense");
	await page.keyboard.press("Enter");
	await page.getByText("That is no address").waitFor();
});

test("recording: buffers as hex and text, by pages", {real: [CRASH]}, async ({page, login, check}) => {
	await openRecording(page, login, "program0", "?q=syscall:read+9000");
	await page.locator(".rec-row", {hasText: "9000"}).click();
	await page.locator(".rec-call-line", {hasText: "9000"}).waitFor(); /* until then the details of the event before are shown */
	const buffer = page.locator(".rec-buffer").filter({hasText: "Bytes received"});

	await buffer.scrollIntoViewIfNeeded();
	await buffer.locator(".rec-hex-line").nth(10).waitFor();
	await buffer.getByRole("button", {name: "Bytes after"}).click();
	await buffer.getByText("4,096..8,192").waitFor();
	await buffer.getByRole("button", {name: "Bytes after"}).click();
	await buffer.getByText("8,192..9,000").waitFor();
	await buffer.getByRole("button", {name: "Show as text"}).click();
	await buffer.locator(".rec-text-dump").waitFor();
	const [download] = await Promise.all([page.waitForEvent("download"), buffer.getByRole("link", {name: "Download"}).click()]);

	check.equal(statSync(await download.path()).size, 9000);
});

test("recording: filters: chips, mistakes, suggestions, quick ones, the menu of a row", {real: [CRASH], allow: /422/}, async ({page, login, check}) => {
	const asked = [];

	page.on("request", request => /events\?/.test(request.url()) && asked.push(request.url()));
	await openRecording(page, login, "program0");
	const input = page.getByLabel("Filter events");

	await input.fill("syscall:openat failed");
	await page.locator(".rec-chip").nth(1).waitFor();
	check.deepEqual((await page.locator(".rec-chip > span").allTextContents()), ["syscall openat", "failed"]);
	await page.waitForFunction(() => [...document.querySelectorAll(".rec-layer .rec-row:not([hidden])")].every(el => el.dataset.state === "error"));
	await page.getByRole("button", {name: "Remove failed"}).click();
	await page.waitForFunction(() => location.hash.includes("q=syscall:openat") && !location.hash.includes("failed"));
	await input.fill("syscall:openat nonsense:x");
	await page.locator(".rec-filter-error").getByText("nonsense").waitFor();
	check.equal(await page.locator(".rec-wrong").textContent(), "nonsense");
	check.equal(await input.getAttribute("aria-invalid"), "true");
	const before = asked.length;

	await page.locator("hm-rec-events").hover();
	await page.mouse.wheel(0, 200);
	await page.keyboard.press("Escape");
	await page.waitForTimeout(600);
	check.ok(asked.length - before <= 1, `a filter with a mistake is asked for once, not ${asked.length - before + 1} times`);
	await input.fill("errno:EN");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Enter");
	check.match(await input.inputValue(), /^errno:EN\w+ $/);
	await input.fill("");
	await page.waitForFunction(() => !location.hash.includes("q="));
	await page.getByRole("button", {name: "Failed", exact: true}).click();
	await page.waitForFunction(() => location.hash.includes("q=failed"));
	check.equal(await page.getByRole("button", {name: "Failed", exact: true}).getAttribute("aria-pressed"), "true");
	await page.goBack();
	await page.waitForFunction(() => !location.hash.includes("q=failed"));
	await page.getByRole("button", {name: "Failed", exact: true}).click();
	await rows(page).first().click({button: "right"});
	await page.getByRole("menuitem", {name: /^Error E/}).click();
	await page.waitForFunction(() => /q=failed\+errno:E/.test(location.hash));
	await page.getByLabel("Clear the filter").click();
	await page.waitForFunction(() => !location.hash.includes("q="));
	await input.fill("no such text anywhere");
	await page.getByText("No event matches the filter").waitFor();
});

test("recording: the address is the state", {real: [CRASH]}, async ({page, login, check}) => {
	await openRecording(page, login, "program0", "?at=30&q=syscall:write&from=1000000&to=900000000&tab=bookmarks");
	await page.getByRole("tab", {name: "Bookmarks", selected: true}).waitFor();
	check.equal(await page.getByLabel("Filter events").inputValue(), "syscall:write");
	check.equal(await hash(page, "at"), "30");
	await page.getByRole("tab", {name: "Console"}).click();
	await page.waitForFunction(() => !location.hash.includes("tab="));
	const wide = await page.locator(".rec-range").textContent();

	await page.keyboard.press("w");
	await page.waitForFunction(before => document.querySelector(".rec-range").textContent !== before && !location.hash.includes("from=1000000&"), wide);
	const [url, range] = [page.url(), await page.locator(".rec-range").textContent()];

	await page.reload();
	await page.locator(".rec-layer .rec-row").first().waitFor();
	await page.waitForFunction(text => document.querySelector(".rec-range").textContent === text, range);
	check.equal(page.url(), url);
	await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
	await page.getByRole("button", {name: "Share"}).click();
	await page.getByText("Copied a link").waitFor();
	check.equal(await page.evaluate(() => navigator.clipboard.readText()), url);
});

test("recording: bookmarks are kept, edited, jumped to, deleted, brought back", {real: [CRASH]}, async ({page, login, check}) => {
	await openRecording(page, login, "program0", "?at=9&tab=bookmarks");
	await cursor(page, 9);
	await page.keyboard.press("b");
	await page.keyboard.type(EVIL);
	await page.keyboard.press("Enter");
	const item = page.locator(".rec-bookmarks li");

	await item.getByText(EVIL).waitFor();
	check.equal(await page.locator("main img").count(), 0);
	await page.keyboard.press("End");
	await page.waitForFunction(() => !document.querySelector(".rec-bookmarks li[data-current]"));
	await item.getByRole("link").click();
	await cursor(page, 9);
	await item.getByRole("button", {name: /Edit/}).click();
	await page.getByRole("dialog").getByLabel("Note").fill("second");
	await page.keyboard.press("Enter");
	await item.getByText("second").waitFor();
	await page.reload();
	await item.getByText("second").waitFor();
	await item.getByRole("button", {name: /Delete/}).click();
	await page.getByText("No bookmarks yet").waitFor();
	await page.locator(".toast").getByRole("button", {name: "Undo"}).click();
	await item.getByText("second").waitFor();
});

test("recording: what strangers recorded stays text", {real: [HOSTILE]}, async ({page, login, check}) => {
	await openRecording(page, login, "sh");
	await page.locator(".rec-chunk").getByText("<script>alert(2)</script>").waitFor();
	await page.locator(".rec-chunk .ansi-red").getByText("red").waitFor();
	check.ok(!(await page.locator(".rec-console-text").textContent()).includes("title"), "escape sequences are no text");
	await page.getByRole("button", {name: "stderr", exact: true}).click();
	await page.locator(".rec-chunk").getByText(EVIL).first().waitFor();
	await page.getByLabel("Filter events").fill(`"${EVIL}"`);
	await page.locator(".rec-chip").getByText(EVIL).waitFor();
	await rows(page).first().click();
	await page.locator(".rec-call-line").getByText(EVIL).waitFor();
	await rows(page).first().click({button: "right"});
	await page.getByRole("menuitem").first().waitFor();
	await page.keyboard.press("Escape");
	check.equal(await page.locator("main img, main script").count(), 0);
});

test("recording: 64 threads: lanes, folding, names", {real: [THREADS], width: 1024, height: 768}, async ({page, login, check}) => {
	await openRecording(page, login, "program0");
	await page.locator(".rec-lane-label:not([hidden])").getByText("worker-0").waitFor();
	check.ok(await page.locator(".rec-lane-label").count() < 40, "only the names in sight are elements");
	await page.locator(".rec-gutter").hover();
	await page.mouse.wheel(0, 5000);
	await page.locator(".rec-lane-label:not([hidden])").getByText("worker-63").click();
	await page.waitForFunction(() => document.querySelector(".rec-facts")?.textContent.includes("worker-63"));
	await page.locator(".rec-gutter").hover();
	await page.mouse.wheel(0, -5000);
	await page.getByRole("button", {name: /^Fold/}).click();
	await page.waitForFunction(() => document.querySelectorAll(".rec-lane-label:not([hidden])").length === 1);
	await page.reload();
	await page.getByRole("button", {name: /^Unfold/}).click();
	await page.locator(".rec-lane-label:not([hidden])").getByText("worker-0").waitFor();
});

test("recording: panels close, open, and keep their sizes", {real: [CRASH]}, async ({page, login, check}) => {
	await openRecording(page, login, "program0");
	const bar = page.getByRole("separator", {name: "Width of the details"});
	const width = () => page.locator("hm-rec-details").evaluate(el => Math.round(el.getBoundingClientRect().width));
	const before = await width();

	await bar.focus();
	await page.keyboard.press("ArrowLeft");
	await page.keyboard.press("ArrowLeft");
	check.equal(await width(), before + 32);
	await page.reload();
	await page.locator(".rec-layer .rec-row").first().waitFor();
	check.equal(await width(), before + 32);
	await page.keyboard.press("i");
	check.equal(await width(), 0);
	await page.keyboard.press("i");
	check.ok(await width() > 200);
	await page.keyboard.press("c");
	await page.waitForFunction(() => document.querySelector(".rec-bottom").getBoundingClientRect().height < 2);
	await page.keyboard.press("c");
});

test("recording: exports", {real: [CRASH]}, async ({page, login, check}) => {
	const rec = await openRecording(page, login, "program0", "?q=failed");
	const save = async name => {
		await page.getByRole("button", {name: "Export"}).click();
		const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", {name}).click()]);

		return (await import("node:fs")).readFileSync(await download.path());
	};

	check.ok((await save(/Recording/)).length > 4096);
	check.ok(JSON.parse(await save(/Perfetto/)).traceEvents.length > 10);
	const csv = String(await save(/^CSV of the filtered/)).trim().split(/\r?\n/);

	check.ok(csv.length > 1 && csv.length < rec.events && csv[1].includes("ENOENT"));
	check.ok(String(await save(/^NDJSON/)).trim().split("\n").every(line => JSON.parse(line).failed));
	check.match(String(await save(/strace/)), /ENOENT/);
	check.match(String(await save(/Output/)), /line 39\n/);
});

test("recording: one that runs grows without jumping, and can be followed", {real: [["true"]]}, async ({page, login, check}) => {
	const base = await enter(page, login);
	const id = await page.evaluate(async () => (await (await fetch("/api/v1/recordings", {method: "POST", headers: {"Content-Type": "application/json"},
		body: JSON.stringify({argv: ["sh", "-c", "i=0; while :; do i=$((i+1)); echo tick $i; sleep .1; done"], cwd: "/", base_env: "host"})})).json()).id);

	await page.goto(`${base}/#/r/${id}`);
	await page.locator(".rec-chunk").getByText(/tick 3\n/).waitFor();
	await rows(page).first().waitFor();
	const total = () => page.locator(".rec-grid").getAttribute("aria-rowcount").then(Number);
	const first = await total();

	await row(page, 5).click();
	await cursor(page, 5);
	const top = await row(page, 5).boundingBox();

	await page.waitForFunction(n => Number(document.querySelector(".rec-grid").getAttribute("aria-rowcount")) > n + 20, first);
	await cursor(page, 5);
	check.deepEqual(await row(page, 5).boundingBox(), top, "nothing moved under the reader");
	await page.getByRole("button", {name: "Follow"}).click();
	const followed = Number(await hash(page, "at"));

	await page.waitForFunction(n => Number(new URLSearchParams(location.hash.split("?")[1]).get("at")) > n + 10, followed);
	check.equal(await page.getByRole("button", {name: "Follow"}).getAttribute("aria-pressed"), "true");
	await page.keyboard.press("Home");
	await cursor(page, 1);
	check.equal(await page.getByRole("button", {name: "Follow"}).getAttribute("aria-pressed"), "false", "moving ends following");
	await page.evaluate(path => fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: "{\"mode\":\"term\"}"}), `/api/v1/recordings/${id}/stop`);
	await page.locator("hm-rec-head").getByText("SIGTERM").waitFor();
	check.equal(await page.getByRole("button", {name: "Follow"}).count(), 0);
});

test("recording: damaged and cut ones say so", {real: [CRASH, {make: ["small", "10"]}], allow: /422|404|409/}, async ({page, login, data, check}) => {
	const base = await enter(page, login);
	const {items} = await (await page.request.get(`${base}/api/v1/recordings`)).json();
	const cut = items.find(one => one.state === "truncated");
	const {id} = items.find(one => one.program.includes("program0"));

	await page.goto(`${base}/#/r/${cut.id}`);
	await page.getByText("The recording ends before the program did").waitFor();
	await rows(page).first().waitFor();
	const dir = join(data, readdirSync(data).find(name => name === id) ?? join("recordings", id));

	for (const name of readdirSync(dir).filter(one => statSync(join(dir, one)).size > 200 && !one.includes("meta")))
		truncateSync(join(dir, name), 100);
	await page.goto("about:blank");
	await page.goto(`${base}/#/r/${id}`);
	await page.locator("page-recording").getByText(/damaged|corrupt|broken|could not/i).first().waitFor();
	check.equal(await page.locator("dialog").count(), 0);
});
