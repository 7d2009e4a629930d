/* The list of recordings. */
import {test} from "./harness.mjs";

const rows = page => page.locator("page-recordings tbody tr[data-at]");
const firstRow = page => rows(page).first().waitFor();
const row = (page, text) => rows(page).filter({hasText: text}).first();

test("recordings: live ones on top, their counters move", {scenario: "few"}, async ({page, open, world, check}) => {
	await open("#/");
	await firstRow(page);
	check.equal(await page.locator("tr.live").count(), world.recordings.filter(one => one.live).length);
	check.ok(await rows(page).first().evaluate(el => el.classList.contains("live")));
	const cell = rows(page).nth(1).locator("td").nth(6);
	const before = await cell.textContent();

	await page.waitForFunction(old => document.querySelectorAll("tr[data-at]")[1].querySelectorAll("td")[6].textContent !== old, before);
});

test("recordings: told without a pause, list, counters, storage and summary are loaded all the same", {scenario: "few"}, async ({page, open, world}) => {
	const [one] = world.recordings.filter(rec => rec.live);
	const fresh = {...world.recordings.at(-1), id: "f".repeat(32), command: "a fresh one", started: new Date(world.now).toISOString()};
	const telling = setInterval(() => {
		for (const {id} of [one, fresh])
			world.tell("recording", {id, what: "changed"});
	}, 100);

	try {
		await open("#/");
		await firstRow(page);
		world.delayMs = 500;	/* longer than the list waits for more to be told */
		world.recordings.unshift(fresh);
		await rows(page).getByText("a fresh one").waitFor();
		await page.waitForRequest(/\/storage$/);
		await page.waitForRequest(new RegExp(`/recordings/${one.id}$`));
		await open(`#/r/${one.id}/summary`);
		for (let n = 0; n < 2; n++)
			await page.waitForRequest(new RegExp(`/recordings/${one.id}/summary$`));
	} finally {
		clearInterval(telling);
	}
});

test("recordings: 2000 entries, few rows in the document, the last is reached", {scenario: "many"}, async ({page, open, check}) => {
	await open("#/");
	await firstRow(page);
	await page.waitForFunction(() => document.querySelector("hm-table table").getAttribute("aria-rowcount") === "2001");
	check.ok(await rows(page).count() < 120, "rows in the document");
	await page.keyboard.press("j");
	await page.keyboard.press("End");
	await page.waitForFunction(() => document.activeElement.closest("tr")?.getAttribute("aria-rowindex") === "2001");
	check.ok(await rows(page).count() < 120);
	await page.keyboard.press("Home");
	await page.waitForFunction(() => document.activeElement.closest("tr")?.getAttribute("aria-rowindex") === "2");
});

test("recordings: search, filter and sort are in the address", {scenario: "many"}, async ({page, open, check}) => {
	await open("#/");
	await firstRow(page);
	await page.keyboard.press("/");
	await page.keyboard.type("redis");
	await page.waitForFunction(() => location.hash.includes("q=redis"));
	await page.waitForFunction(() => [...document.querySelectorAll("tbody tr[data-at]")].every(tr => tr.textContent.includes("redis")));
	await page.getByRole("button", {name: "Broken"}).click();
	await page.waitForFunction(() => location.hash.includes("state=broken"));
	await page.waitForFunction(() => [...document.querySelectorAll("tbody tr[data-at]")].every(tr => tr.textContent.includes("broken")));
	check.equal(await page.getByRole("button", {name: "Broken"}).getAttribute("aria-pressed"), "true");
	await page.goBack();
	await page.waitForFunction(() => !location.hash.includes("state="));
	await page.waitForFunction(() => [...document.querySelectorAll("tbody tr[data-at]")].some(tr => !tr.textContent.includes("broken")));
	await page.getByRole("button", {name: "Size"}).click();
	await page.waitForFunction(() => location.hash.includes("sort=bytes") && location.hash.includes("order=desc"));
	check.equal(await page.locator("th[aria-sort=descending]").textContent(), "Size");
	await page.reload();
	await firstRow(page);
	check.equal(await page.locator("#search").inputValue(), "redis");
	check.equal(await page.locator("th[aria-sort=descending]").textContent(), "Size");
	await page.locator("#search").fill("no such thing at all");
	await page.getByText("Nothing found").waitFor();
	await page.getByRole("button", {name: "Show all recordings"}).click();
	await firstRow(page);
});

test("recordings: what strangers recorded stays text", {scenario: "few"}, async ({page, open, check}) => {
	await open("#/");
	await firstRow(page);
	await row(page, "<img src=x onerror=alert(1)>").waitFor();
	check.equal(await page.locator("main img").count(), 0);
	await row(page, "\\u202egnp.exe").waitFor();
	await row(page, "\\x1b[31mred").waitFor();
	check.equal(await page.locator("a[href^='javascript:']").count(), 0);
});

test("recordings: empty says what to do", {scenario: "empty"}, async ({page, open, axe}) => {
	await open("#/");
	await page.getByText("No recordings yet").waitFor();
	await page.getByText("hermit record start -- ./your-program").waitFor();
	await axe();
});

test("recordings: rename, keep, by menu and keyboard", {scenario: "few"}, async ({page, open, world, check}) => {
	await open("#/");
	await firstRow(page);
	for (let at = 0; at < 5; at++)
		await page.keyboard.press("j");
	await page.keyboard.press("m");
	await page.keyboard.press("r");
	check.match(await page.evaluate(() => document.activeElement.textContent), /Rename/, "a letter finds the item");
	await page.keyboard.press("Enter");
	await page.getByRole("dialog", {name: "Rename"}).waitFor();
	await page.keyboard.type("a <b>new name");
	await page.keyboard.press("Enter");
	await row(page, "a <b>new name").waitFor();
	const rec = world.recordings.find(one => one.label === "a <b>new name");

	check.ok(rec);
	const kept = rec.keep;

	await row(page, "a <b>new name").locator(".more").click();
	await page.getByRole("menuitem", {name: kept ? "Do not keep" : "Keep"}).click();
	await page.locator(".toast").getByText(kept ? "may remove" : "Kept").waitFor();
	check.equal(rec.keep, !kept);
});

test("recordings: delete asks first, one and several", {scenario: "few"}, async ({page, open, world, check}) => {
	const before = world.recordings.length;

	await open("#/");
	await firstRow(page);
	await rows(page).nth(4).locator(".more").click();
	await page.getByRole("menuitem", {name: "Delete"}).click();
	await page.getByRole("dialog").getByRole("button", {name: "Cancel"}).click();
	check.equal(world.recordings.length, before);
	await rows(page).nth(4).locator("input").check();
	await rows(page).nth(5).locator("input").check();
	await page.getByText("2 selected").waitFor();
	await page.keyboard.press("Delete");
	await page.getByRole("dialog", {name: "Delete 2 recordings?"}).getByRole("button", {name: "Delete"}).click();
	await page.getByText("Deleted 2 recordings").waitFor();
	check.equal(world.recordings.length, before - 2);
	await page.waitForFunction(n => document.querySelectorAll("tbody tr[data-at]").length === n, before - 2);
	check.equal(await page.getByText("2 selected").isVisible(), false);
	/* what is being recorded cannot be deleted */
	await rows(page).first().locator("input").check();
	check.ok(await page.getByRole("button", {name: "Delete"}).isDisabled());
});

test("recordings: stop a live one", {scenario: "few"}, async ({page, open, world, check}) => {
	await open("#/");
	await firstRow(page);
	await rows(page).first().locator(".more").click();
	await page.getByRole("menuitem", {name: "Stop"}).click();
	await page.getByRole("radio", {name: /Kill the program/}).check();
	await page.getByRole("dialog").getByRole("button", {name: "Stop"}).click();
	await page.waitForFunction(() => document.querySelectorAll("tr.live").length === 2);
	check.equal(world.recordings.filter(one => one.exit.signal === "SIGKILL" && one.duration_ns === "20000000000").length, 1);
});

test("recordings: jobs of a recording and their progress", {scenario: "few"}, async ({page, open, check}) => {
	await open("#/");
	await firstRow(page);
	await rows(page).nth(6).locator(".more").click();
	await page.getByRole("menuitem", {name: "Verify"}).click();
	await page.locator(".toast").getByRole("button", {name: "Jobs"}).click();
	await page.locator("page-jobs").getByText("Verify").first().waitFor();
	await page.locator("page-jobs .badge").getByText(/done|failed/).waitFor();
	check.ok(page.url().endsWith("#/jobs"));
});

test("recordings: compare and coverage of a selection", {scenario: "few"}, async ({page, open, check}) => {
	await open("#/");
	await firstRow(page);
	await rows(page).nth(7).locator("input").check();
	check.ok(await page.locator(".chosen").getByRole("button", {name: "Compare"}).isDisabled());
	await rows(page).nth(8).locator("input").check();
	await page.keyboard.press("c");
	await page.locator("page-diff").waitFor();
	check.match(page.url(), /#\/diff\?left=[0-9a-f]{32}&right=[0-9a-f]{32}/);
	await page.goBack();
	await firstRow(page);
	await rows(page).nth(7).locator("input").check();
	await page.locator(".chosen").getByRole("link", {name: "Coverage"}).click();
	await page.locator("page-coverage .chip.removable").waitFor();
});

test("recordings: start a program", {scenario: "few", allow: /400/}, async ({page, open, world, check}) => {
	await open("#/");
	await firstRow(page);
	await page.keyboard.press("r");
	const dialog = page.getByRole("dialog", {name: "Record a program"});

	await page.keyboard.type("./a 'two words' b\\ c \"d'e\" | wc");
	check.deepEqual(await dialog.locator(".words .chip").allTextContents(), ["./a", "two words", "b c", "d'e", "|", "wc"]);
	await dialog.getByText("No shell runs this").waitFor();
	await dialog.getByLabel("Command").fill("./missing");
	await dialog.getByRole("button", {name: "Record", exact: true}).click();
	await dialog.getByText("No such file or directory").waitFor();
	await dialog.getByLabel("Command").fill("./a 'two words");
	await dialog.getByRole("button", {name: "Record", exact: true}).click();
	await dialog.getByRole("alert").getByText("is not closed").waitFor();
	await dialog.getByLabel("Command").fill("./good --fast");
	await dialog.getByLabel("Label").fill("mine");
	await dialog.getByRole("button", {name: "Record", exact: true}).click();
	await page.waitForFunction(() => /#\/r\/[0-9a-f]{32}/.test(location.hash));
	check.equal(world.recordings[0].command, "./good --fast");
	check.equal(world.recordings[0].label, "mine");
});

test("recordings: import by button and by drop", {scenario: "few", allow: /422/}, async ({page, open, world, check}) => {
	const before = world.recordings.length;

	await open("#/");
	await firstRow(page);
	const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", {name: "Import"}).click()]);

	await chooser.setFiles({name: "good.tar", mimeType: "application/x-tar", buffer: Buffer.alloc(4096)});
	await page.getByText("Imported good.tar").waitFor();
	check.equal(world.recordings.length, before + 1);
	await row(page, "imported").waitFor();
	const transfer = await page.evaluateHandle(() => {
		const data = new DataTransfer();

		data.items.add(new File(["short"], "bad.tar"));
		return data;
	});

	await page.dispatchEvent("page-recordings", "dragenter", {dataTransfer: transfer});
	check.equal(await page.locator("page-recordings[dropping]").count(), 1);
	await page.dispatchEvent("page-recordings", "drop", {dataTransfer: transfer});
	await page.getByText("Could not import bad.tar").waitFor();
	await page.getByText("it ends after a few bytes").waitFor();
	check.equal(await page.locator("page-recordings[dropping]").count(), 0);
});

test("recordings: read-only servers offer no changes", {scenario: "read-only"}, async ({page, open, check}) => {
	await open("#/");
	await firstRow(page);
	await page.locator("hm-header").getByText("read-only").waitFor();
	check.ok(await page.getByRole("button", {name: "Record\u2026"}).isDisabled());
	await rows(page).nth(5).locator(".more").click();
	check.equal(await page.getByRole("menuitem", {name: "Rename"}).getAttribute("aria-disabled"), "true");
	check.equal(await page.getByRole("menuitem", {name: "Delete"}).getAttribute("aria-disabled"), "true");
});

test("recordings: slow answers move nothing", {scenario: "slow"}, async ({page, open, check}) => {
	await open("#/");
	const head = () => page.locator("page-recordings thead").boundingBox();
	const before = await head();

	await page.getByText("Loading recordings").waitFor();
	await firstRow(page);
	check.deepEqual(await head(), before);
	await page.keyboard.press("j");
	await page.getByRole("button", {name: "Sealed"}).click();
	await page.waitForTimeout(300);
	check.ok(await rows(page).count() > 5, "old rows stay while new ones are loaded");
	await page.waitForFunction(() => [...document.querySelectorAll("tbody tr[data-at]")].every(tr => tr.textContent.includes("sealed")));
	check.deepEqual(await head(), before);
});
