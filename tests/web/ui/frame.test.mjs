/* What all pages share: router, header, themes, keys, banner, tables, splitters. */
import {test} from "./harness.mjs";

const ROUTES = ["#/", "#/coverage", "#/sessions", "#/jobs", "#/settings", "#/diff"];

for (const theme of ["light", "dark"]) {
	test(`axe: every page, ${theme}`, {scenario: "few", theme}, async ({page, open, axe, world}) => {
		const rec = world.recordings[9];

		for (const hash of [...ROUTES, `#/r/${rec.id}/summary`, `#/r/${rec.id}/summary?tab=files`, `#/r/${rec.id}/summary?tab=processes`, `#/r/${rec.id}/summary?tab=machine`, "#/coverage?tab=never",
			`#/diff?left=${rec.id}&right=${world.recordings[8].id}`, "#/nowhere"]) {
			await open(hash);
			await page.waitForLoadState("load");
			await page.waitForFunction(() => !document.querySelector(".notice.loading")); // there may be several
			await page.waitForTimeout(hash.includes("left=") ? 1500 : 150);
			await axe();
		}
	});

	test(`axe: dialogs and menus, ${theme}`, {scenario: "few", theme}, async ({page, open, axe}) => {
		await open("#/");
		await page.locator("tbody tr[data-at]").first().waitFor();
		for (const key of ["?", "r"]) {
			await page.keyboard.press(key);
			await page.locator("dialog[open]").waitFor();
			await axe();
			await page.keyboard.press("Escape");
			await page.locator("dialog[open]").waitFor({state: "detached"});
		}
		await page.locator(".more").nth(5).click();
		await axe();
		await page.getByRole("menuitem", {name: "Debug"}).click();
		await page.getByRole("button", {name: "Start a session"}).waitFor();
		await axe();
	});
}

test("frame: address, Back and the titles", {scenario: "few"}, async ({page, open, check}) => {
	await open("#/");
	check.equal(await page.title(), "Recordings - hermit");
	for (const name of ["Coverage", "Sessions", "Jobs", "Settings"]) {
		await page.locator("hm-header nav").getByText(name).click();
		await page.waitForFunction(title => document.title === title, `${name} - hermit`);
		check.equal(await page.locator("hm-header [aria-current]").textContent(), name);
		check.equal(await page.evaluate(() => document.activeElement.id), "main", "the focus goes to the page");
	}
	await page.goBack();
	await page.waitForFunction(() => document.title === "Jobs - hermit");
	await page.goBack();
	await page.waitForFunction(() => document.title === "Sessions - hermit");
	check.ok(page.url().endsWith("#/sessions"));
});

test("frame: unknown pages and recordings say so", {scenario: "few", allow: /404/}, async ({page, open}) => {
	await open("#/nothing/here");
	await page.getByText("There is no such page").waitFor();
	await page.getByRole("link", {name: "All recordings"}).click();
	await page.locator("page-recordings").waitFor();
	await open("#/r/0123456789abcdef0123456789abcdef/summary");
	await page.getByText("there is no recording").waitFor();
});

test("frame: the theme is chosen, remembered and shown before scripts", {scenario: "few", theme: "light"}, async ({page, open, check}) => {
	const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);

	await open("#/");
	const light = await background();

	await page.getByRole("button", {name: /switch to light/}).click();
	await page.getByRole("button", {name: /switch to dark/}).click();
	check.notEqual(await background(), light);
	await page.reload();
	await page.locator("page-recordings").waitFor();
	check.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
	check.notEqual(await background(), light);
	await page.getByRole("button", {name: /switch to system/}).click();
	check.equal(await background(), light);
});

test("frame: / searches, Esc clears, ? lists the keys that work here", {scenario: "few"}, async ({page, open, check}) => {
	await open("#/");
	await page.locator("tbody tr[data-at]").first().waitFor();
	await page.keyboard.press("/");
	await page.keyboard.type("redis?");
	check.equal(await page.locator("#search").inputValue(), "redis?", "? is text in a field");
	await page.keyboard.press("Escape");
	check.equal(await page.locator("#search").inputValue(), "");
	await page.keyboard.press("Escape");
	await page.keyboard.press("?");
	await page.getByRole("dialog", {name: "Keyboard"}).getByText("Compare two selected").waitFor();
	await page.keyboard.press("r");
	check.equal(await page.locator("dialog[open]").count(), 1, "keys rest while a dialog is open");
	await page.keyboard.press("Escape");
	await page.locator("dialog").waitFor({state: "detached"});
	await page.goto(page.url().replace(/#.*/, "#/settings"));
	await page.locator("page-settings").waitFor();
	await page.keyboard.press("?");
	check.equal(await page.getByRole("dialog").getByText("Compare two selected").count(), 0);
});

test("frame: without a login it says how", {scenario: "login", allow: /401/}, async ({page, open, check}) => {
	await open("#/");
	await page.locator("hm-banner").getByText("hermit open").waitFor();
	check.equal(await page.locator("page-recordings .notice.error").count(), 1);
});

test("frame: a server that is gone and comes back", {scenario: "few", allow: /ERR_|500|Failed to load/}, async ({page, open, context}) => {
	await open("#/");
	await page.locator("tbody tr[data-at]").first().waitFor();
	await context.route("**/api/**", route => route.abort());
	await page.locator("hm-header nav").getByText("Jobs").click();
	await page.locator("hm-banner").getByText("does not answer").waitFor();
	await context.unroute("**/api/**");
	await page.locator("hm-banner").waitFor({state: "hidden"});
});

test("frame: errors of the server are shown with advice", {scenario: "broken", allow: /500/}, async ({page, open}) => {
	await open("#/");
	await page.getByText("the catalog could not be read: Input/output error").waitFor();
	await open("#/coverage");
	await page.locator("page-coverage .notice.error").getByRole("button", {name: "Try again"}).waitFor();
});

test("frame: nothing in the page breaks a strict policy", {scenario: "few"}, async ({page, open, url, check}) => {
	const response = await page.request.get(url + "/");

	check.match(response.headers()["content-security-policy"], /script-src 'self'/);
	await open("#/");
	const inline = await page.evaluate(() => document.querySelectorAll("[style*=javascript], script:not([src]), style, [onclick], [onload]").length);

	check.equal(inline, 0);
});

for (const width of [1024, 1440, 3840]) {
	test(`frame: nothing sticks out at ${width} px`, {scenario: "few", width, height: 768}, async ({page, open, world, check}) => {
		const rec = world.recordings[9];

		for (const hash of [...ROUTES, `#/r/${rec.id}/summary`, `#/diff?left=${rec.id}&right=${world.recordings[8].id}`]) {
			await open(hash);
			await page.waitForTimeout(hash.includes("left=") ? 1500 : 250);
			const out = await page.evaluate(() => [...document.querySelectorAll("body *")].filter(el => el.getClientRects().length && !el.closest(".sr-only, .skip, code, pre, hm-rec-events") &&
				el.getBoundingClientRect().right > innerWidth + 1).map(el => el.outerHTML.slice(0, 80)));

			check.deepEqual(out, [], `${hash} at ${width}`);
			check.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${hash} scrolls sideways`);
		}
	});
}

test("frame: forced colours keep the selection visible", {scenario: "few", forcedColors: "active"}, async ({page, open, check}) => {
	await open("#/");
	await page.locator("tbody input").nth(3).check();
	check.notEqual(await page.locator("tr.chosen").evaluate(el => getComputedStyle(el).outlineStyle), "none");
});
