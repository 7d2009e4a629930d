/* Summary, diff, coverage, sessions, jobs, settings. */
import {test} from "./harness.mjs";

test("summary: calls by count, time and errors, each leads to its events", {scenario: "few"}, async ({page, open, world, check}) => {
	const rec = world.recordings.find(one => !one.live && one.events > 100000);

	await open(`#/r/${rec.id}/summary`);
	const rows = page.locator("page-summary tbody tr[data-at]");

	await rows.first().waitFor();
	const calls = async column => (await rows.locator(`td:nth-child(${column})`).allTextContents()).map(text => Number(text.replaceAll(",", "")));
	const byCount = await calls(3);

	check.deepEqual(byCount, [...byCount].sort((a, b) => b - a));
	await page.getByRole("button", {name: "Errors", exact: true}).click();
	const byErrors = await calls(5);

	check.deepEqual(byErrors, [...byErrors].sort((a, b) => b - a));
	check.ok(byErrors[0] > 0);
	await page.keyboard.press("/");
	await page.keyboard.type("openat");
	await page.waitForFunction(() => document.querySelectorAll("page-summary tbody tr[data-at]").length === 1);
	await page.waitForFunction(() => location.hash.includes("q=openat"));
	check.match(await rows.first().locator("a").first().getAttribute("href"), new RegExp(`#/r/${rec.id}\\?q=syscall:openat`));
	await page.locator("#search").fill("nothing like this");
	await page.getByRole("button", {name: "Show all"}).click();
	await rows.nth(5).waitFor();
});

test("summary: files, sockets, processes and the machine by keys", {scenario: "few"}, async ({page, open, world, check}) => {
	const rec = world.recordings.find(one => one.processes > 3 && !one.live);

	await open(`#/r/${rec.id}/summary`);
	await page.locator("page-summary tbody tr[data-at]").first().waitFor();
	await page.keyboard.press("2");
	await page.locator("page-summary").getByText("/tmp/<img src=x onerror=alert(1)>").waitFor();
	check.equal(await page.locator("main img").count(), 0);
	check.match(page.url(), /tab=files|summary$/);
	await page.keyboard.press("3");
	await page.getByText("/run/<b>nscd</b>/socket").waitFor();
	await page.keyboard.press("4");
	await page.locator(".tree .process").nth(1).waitFor();
	await page.keyboard.press("5");
	await page.getByText(rec.id).waitFor();
	await page.waitForFunction(() => location.hash.includes("tab=machine"));
	await page.reload();
	await page.getByText(rec.id).waitFor();
	await page.keyboard.press("t");
	await page.waitForFunction(id => location.hash === `#/r/${id}`, rec.id);
});

test("summary: how it ended, and live ones say so", {scenario: "few"}, async ({page, open, world}) => {
	const killed = world.recordings.find(one => one.exit.kind === "signaled");
	const cut = world.recordings.find(one => one.state === "truncated");

	if (killed) {
		await open(`#/r/${killed.id}/summary`);
		await page.locator(".cards").getByRole("link", {name: new RegExp(`${killed.exit.signal} at #`)}).waitFor();
	}
	await open(`#/r/${world.recordings[0].id}/summary`);
	await page.getByText("still being recorded").waitFor();
	if (cut) {
		await open(`#/r/${cut.id}/summary`);
		await page.getByText("ends before the program").waitFor();
	}
});

test("debug: commands, a session is started, copied and ended", {scenario: "few"}, async ({page, open, world, context, url, check}) => {
	const rec = world.recordings[9];

	await context.grantPermissions(["clipboard-read", "clipboard-write"], {origin: url});
	await open(`#/r/${rec.id}/summary`);
	await page.locator("page-summary tbody tr[data-at]").first().waitFor();
	await page.keyboard.press("d");
	const dialog = page.getByRole("dialog");

	await dialog.getByText(`hermit replay ${rec.id}`).waitFor();
	await dialog.getByRole("button", {name: "Copy the command"}).click();
	check.equal(await page.evaluate(() => navigator.clipboard.readText()), `hermit replay ${rec.id}`);
	await dialog.getByRole("button", {name: "Start a session"}).click();
	await dialog.locator(".badge").getByText("ready").waitFor();
	await dialog.getByText("target remote 127.0.0.1").waitFor();
	check.match(await dialog.getByRole("link", {name: "VS Code", exact: true}).getAttribute("href"), /^vscode:\/\/hermit\.hermit-debug\/open\?recording=[0-9a-f]+&target=127\.0\.0\.1:\d+$/);
	check.equal(await dialog.getByRole("link", {name: "Open in VS Code"}).getAttribute("href"), `vscode://hermit.hermit-debug/open?${new URLSearchParams({recording: rec.id, server: url})}`);
	check.equal(world.sessions.length, 1);
	await dialog.getByRole("button", {name: "Close"}).last().click();
	await page.locator("dialog").waitFor({state: "detached"});
	await page.locator("hm-header nav").getByText("Sessions").click();
	await page.locator("page-sessions .session").waitFor();
	await page.getByRole("button", {name: "End"}).click();
	await page.getByRole("dialog").getByRole("button", {name: "End"}).click();
	await page.getByText("Nobody is debugging").waitFor();
	check.equal(world.sessions.length, 0);
});

test("diff: first difference in view, next and previous, sides", {scenario: "few"}, async ({page, open, world, check}) => {
	const [left, right] = world.recordings.filter(one => !one.live && one.state !== "broken" && one.events > 3000);

	await open(`#/diff?left=${left.id}&right=${right.id}`);
	const current = page.locator(".diff-row.current.changed");

	await current.waitFor();
	check.match(await current.textContent(), /EAGAIN/);
	const at = async () => Number(await page.locator(".diff-row.current").getAttribute("data-at"));
	const first = await at();

	await page.keyboard.press("n");
	await page.waitForFunction(old => Number(document.querySelector(".diff-row.current")?.dataset.at) > old, first);
	await page.keyboard.press("p");
	await page.waitForFunction(old => Number(document.querySelector(".diff-row.current")?.dataset.at) === old, first);
	await page.keyboard.press("p");
	await page.getByText("No earlier difference").waitFor();
	await page.keyboard.press("j");
	await page.keyboard.press("End");
	await page.waitForFunction(() => document.querySelector(".diff-row.current")?.getAttribute("aria-rowindex") === document.querySelector(".scroller").getAttribute("aria-rowcount"));
	check.ok(await page.locator(".diff-row").count() < 200);
	await page.waitForFunction(() => location.hash.includes("at="));
	await page.keyboard.press("f");
	await page.waitForFunction(old => Number(document.querySelector(".diff-row.current")?.dataset.at) === old, first);
	await page.getByRole("tab", {name: "System calls"}).click();
	await page.locator("page-diff tbody tr[data-at]").first().waitFor();
	await page.keyboard.press("Escape");
	await page.getByRole("button", {name: "Swap left and right"}).click();
	await page.waitForFunction(id => location.hash.includes(`left=${id}`), right.id);
});

test("diff: choose two by keyboard, equal ones say so", {scenario: "few"}, async ({page, open, world, check}) => {
	const rec = world.recordings.find(one => !one.live && one.state !== "broken");

	await open("#/diff");
	await page.getByText("Choose two recordings").waitFor();
	await page.getByRole("button", {name: "Choose"}).first().click();
	await page.getByRole("dialog").waitFor();
	await page.keyboard.type(rec.id);
	await page.waitForFunction(() => document.querySelectorAll("dialog .picks button").length === 1);
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Enter");
	await page.waitForFunction(id => location.hash === `#/diff?left=${id}`, rec.id);
	await open(`#/diff?left=${rec.id}&right=${rec.id}`);
	await page.getByText("no difference").waitFor();
	await page.locator(".diff-row.same").first().waitFor();
	check.equal(await page.locator(".diff-row:not(.same)").count(), 0);
});

test("coverage: totals add up, filter, never exercised, CSV", {scenario: "few"}, async ({page, open, check}) => {
	await open("#/coverage");
	const rows = page.locator("page-coverage tbody tr[data-at]");

	await rows.first().waitFor();
	const numbers = (await page.locator(".legend dd").evaluateAll(list => list.map(el => el.firstChild.textContent))).map(text => Number(text.replaceAll(",", "")));

	check.equal(numbers[0], numbers.slice(1).reduce((sum, n) => sum + n, 0));
	await page.locator("page-coverage").getByText("does not add up", {exact: true}).waitFor();
	await page.keyboard.press("/");
	await page.keyboard.type("epoll");
	await page.waitForFunction(() => [...document.querySelectorAll("page-coverage tbody tr[data-at]")].every(tr => tr.textContent.includes("epoll")));
	await page.getByRole("tab", {name: /Never exercised/}).click();
	await page.getByText("epoll_pwait2").waitFor();
	check.equal(await page.getByText("kexec_load").count(), 0);
	const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", {name: "CSV"}).click()]);

	check.equal(download.suggestedFilename(), "coverage.csv");
});

test("coverage: of chosen recordings", {scenario: "few"}, async ({page, open, world, check}) => {
	const ids = world.recordings.slice(9, 11).map(one => one.id);

	await open(`#/coverage?ids=${ids.join(",")}`);
	await page.locator(".chip.removable").nth(1).waitFor();
	await page.locator(".chip.removable button").first().click();
	await page.waitForFunction(id => location.hash.includes(`ids=${id}`) && !location.hash.includes(","), ids[1]);
	await page.waitForFunction(() => document.querySelectorAll(".chip.removable").length === 1);
	await page.goBack();
	await page.waitForFunction(() => document.querySelectorAll(".chip.removable").length === 2);
	check.ok(true);
});

test("jobs: progress, cancel, failures", {scenario: "few"}, async ({page, open, world, url, check}) => {
	const broken = world.recordings.find(one => one.state === "broken");
	const good = world.recordings.find(one => one.state === "complete");

	await open("#/jobs");
	await page.getByText("No jobs").waitFor();
	await page.request.post(`${url}/api/v1/recordings/${good.id}/replay-check`);
	await page.getByRole("button", {name: "Cancel"}).click();
	await page.locator("page-jobs .badge").getByText("cancelled").waitFor();
	if (broken) {
		await page.request.post(`${url}/api/v1/recordings/${broken.id}/verify`);
		await page.getByText("checksum does not match").waitFor();
	}
	check.equal(world.jobs.length, broken ? 2 : 1);
});

test("settings: what hermitd is set to, theme, keys, logout", {scenario: "few"}, async ({page, open, check}) => {
	await open("#/settings");
	await page.getByText("/root/.local/share/hermit").waitFor();
	await page.getByText("127.0.0.1:7777").waitFor();
	await page.getByRole("button", {name: "Dark", exact: true}).click();
	check.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
	check.equal(await page.getByRole("button", {name: "Dark", exact: true}).getAttribute("aria-pressed"), "true");
	await page.getByRole("button", {name: "Log out this browser"}).click();
	await Promise.all([page.waitForRequest(/logout/), page.getByRole("dialog").getByRole("button", {name: "Log out"}).click()]);
});

test("keyboard: a walk from the list to a session and back without a mouse", {scenario: "few"}, async ({page, open, world, check}) => {
	await open("#/");
	await page.locator("tbody tr[data-at]").first().waitFor();
	for (let at = 0; at < 10; at++)
		await page.keyboard.press("j");
	await page.keyboard.press("Enter");
	await page.waitForFunction(() => /#\/r\/[0-9a-f]{32}/.test(location.hash));
	await page.goBack();
	await page.locator("tbody tr[data-at]").first().waitFor();
	for (let at = 0; at < 10; at++)
		await page.keyboard.press("ArrowDown");
	await page.keyboard.press("m");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Enter");
	await page.locator("page-summary tbody tr[data-at]").first().waitFor();
	await page.keyboard.press("d");
	await page.getByRole("dialog").getByRole("button", {name: "Start a session"}).waitFor();
	for (let at = 0; at < 12 && !/^Start/.test(await page.evaluate(() => document.activeElement.textContent)); at++)
		await page.keyboard.press("Tab");
	await page.keyboard.press("Enter");
	await page.getByRole("dialog").getByText("target remote").waitFor();
	check.equal(world.sessions.length, 1);
	await page.keyboard.press("Escape");
	await page.locator("dialog").waitFor({state: "detached"});
	/* every stop of Tab shows where it is */
	for (let at = 0; at < 20; at++) {
		await page.keyboard.press("Tab");
		const seen = await page.evaluate(() => document.activeElement === document.body || getComputedStyle(document.activeElement).outlineStyle !== "none" || document.activeElement.id === "main");

		check.ok(seen, await page.evaluate(() => document.activeElement.outerHTML.slice(0, 120)));
	}
});
