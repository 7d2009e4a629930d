/* The page on a real hermitd with real recordings. */
import {test} from "./harness.mjs";

const PROGRAMS = [
	["sh", "-c", "date; ls /; cat /etc/hostname; exit 3"],
	["sh", "-c", "kill -SEGV $$"],
	["sh", "-c", "echo '<script>alert(1)</script>'; ls '<img src=x onerror=alert(1)>'"],
	["ls", "/nonexistent"],
];
const rows = page => page.locator("page-recordings tbody tr[data-at]");

async function enter(page, login) {
	await page.goto(login());
	await rows(page).first().waitFor();
	return new URL(page.url()).origin;
}

test("real: login, the list, every page of a recording", {real: PROGRAMS}, async ({page, login, axe, check}) => {
	const base = await enter(page, login);

	check.ok(!page.url().includes("token"), "the token does not stay in the address");
	check.equal(await rows(page).count(), PROGRAMS.length);
	await rows(page).getByText("exit 3", {exact: true}).waitFor();
	await rows(page).getByText("SIGSEGV", {exact: true}).waitFor();
	await axe();
	const {items} = await (await page.request.get(`${base}/api/v1/recordings`)).json();
	const rec = items.find(one => one.command.includes("hostname"));
	const evil = items.find(one => one.command.includes("script"));

	await page.goto(`${base}/#/r/${rec.id}/summary`);
	await page.locator("page-summary tbody tr[data-at]").getByText("openat").waitFor();
	await page.keyboard.press("2");
	await page.getByText("/etc/hostname").first().waitFor();
	await page.keyboard.press("4");
	await page.locator(".tree .tree .process").nth(1).waitFor();
	await page.keyboard.press("5");
	await page.getByText(rec.id).waitFor();
	await axe();
	await page.goto(`${base}/#/r/${evil.id}/summary?tab=files`);
	await page.getByText("<img src=x onerror=alert(1)>").first().waitFor();
	check.equal(await page.locator("main img").count(), 0);
	await page.goto(`${base}/#/coverage`);
	await page.locator("page-coverage tbody tr[data-at]").first().waitFor();
	const numbers = (await page.locator(".legend dd").evaluateAll(list => list.map(el => el.firstChild.textContent))).map(text => Number(text.replaceAll(",", "")));

	check.equal(numbers[0], numbers.slice(1).reduce((sum, n) => sum + n, 0));
	await page.goto(`${base}/#/settings`);
	await page.getByText(base.replace("http://", "")).first().waitFor();
	await axe();
});

test("real: record, watch, rename, stop, check, download, delete, import", {real: PROGRAMS.slice(0, 1)}, async ({page, login, check}) => {
	const base = await enter(page, login);

	await page.keyboard.press("r");
	await page.keyboard.type("sh -c 'while :; do date; sleep .2; done'");
	await page.getByRole("dialog").getByRole("button", {name: "Record", exact: true}).click();
	await page.waitForFunction(() => /#\/r\/[0-9a-f]{32}/.test(location.hash));
	await page.goto(`${base}/#/`);
	const first = page.locator("tr.live").first();

	await first.waitFor();
	const before = await first.locator("td").nth(6).textContent();

	await page.waitForFunction(old => document.querySelector("tr.live")?.querySelectorAll("td")[6].textContent !== old, before);
	await first.locator(".more").click();
	await page.getByRole("menuitem", {name: "Rename"}).click();
	await page.keyboard.type("the clock");
	await page.keyboard.press("Enter");
	await page.locator("tr.live").getByText("the clock").waitFor();
	await first.locator(".more").click();
	await page.getByRole("menuitem", {name: "Stop"}).click();
	await page.getByRole("dialog").getByRole("button", {name: "Stop"}).click();
	await page.waitForFunction(() => !document.querySelector("tr.live"));
	const mine = rows(page).filter({hasText: "the clock"});

	await mine.getByText("SIGTERM").waitFor();
	await mine.locator(".more").click();
	await page.getByRole("menuitem", {name: "Replay check"}).click();
	await page.locator(".toast").getByRole("button", {name: "Jobs"}).click();
	await page.locator("page-jobs tbody tr").filter({hasText: "Replay check"}).getByText("done").waitFor();
	await page.getByText(/events replayed/).waitFor();
	await page.goto(`${base}/#/`);
	await mine.locator(".more").click();
	const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", {name: "Download"}).click()]);
	const file = await download.path();

	await mine.locator(".more").click();
	await page.getByRole("menuitem", {name: "Delete"}).click();
	await page.getByRole("dialog").getByRole("button", {name: "Delete"}).click();
	await mine.waitFor({state: "detached"});
	const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", {name: "Import"}).click()]);

	await chooser.setFiles(file);
	await page.getByText(/^Imported /).waitFor();
	await rows(page).nth(1).waitFor();
	check.equal(await rows(page).count(), 2);
});

test("real: a debug session and logging out", {real: PROGRAMS.slice(0, 1), allow: /401/}, async ({page, login, check}) => {
	const base = await enter(page, login);
	const {items} = await (await page.request.get(`${base}/api/v1/recordings`)).json();

	await page.goto(`${base}/#/r/${items[0].id}/summary`);
	await page.locator("page-summary tbody tr[data-at]").first().waitFor();
	await page.keyboard.press("d");
	await page.getByRole("button", {name: "Start a session"}).click();
	await page.getByRole("dialog").locator(".badge").getByText("ready").waitFor();
	await page.getByRole("dialog").getByText("target remote").waitFor();
	await page.keyboard.press("Escape");
	await page.goto(`${base}/#/sessions`);
	await page.getByRole("button", {name: "End"}).click();
	await page.getByRole("dialog").getByRole("button", {name: "End"}).click();
	await page.getByText("Nobody is debugging").waitFor();
	await page.goto(`${base}/#/settings`);
	await page.getByRole("button", {name: "Log out this browser"}).click();
	await page.getByRole("dialog").getByRole("button", {name: "Log out"}).click();
	await page.locator("hm-banner").getByText("hermit open").waitFor();
	check.equal((await page.request.get(`${base}/api/v1/recordings`)).status(), 401);
});
