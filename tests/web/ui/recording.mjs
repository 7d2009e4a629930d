/* What the tests of the recording page share. */

/** Logs in; @returns the origin */
export async function enter(page, login) {
	await page.goto(login());
	await page.locator("page-recordings tbody tr[data-at]").first().waitFor();
	return new URL(page.url()).origin;
}

/** Opens the recording of a program, with parameters for the address; waits for rows. @returns the recording */
export async function openRecording(page, login, program, params = "") {
	const base = await enter(page, login);
	const {items} = await (await page.request.get(`${base}/api/v1/recordings`)).json();
	const rec = items.find(one => one.label === program || one.program.endsWith(program));

	await page.goto(`${base}/#/r/${rec.id}${params}`);
	await rows(page).first().waitFor();
	await page.locator(".rec-lane-label:not([hidden])").first().waitFor();
	return rec;
}

export const rows = page => page.locator(".rec-layer .rec-row:not([hidden]):not([data-state=loading])");

const number = event => event.toLocaleString("en-US");

/** The row of an event. */
export const row = (page, event) => rows(page).filter({has: page.locator(".rec-c-number", {hasText: new RegExp(`^${number(event)}$`)})});

export const hash = (page, name) => page.evaluate(key => new URLSearchParams(location.hash.split("?")[1] ?? "").get(key), name);

/** The event at the cursor. */
export const at = page => page.locator(".rec-details-title").textContent().then(text => Number(text.replace(/\D/g, "")));

/** Waits until every part shows that the cursor is at event. */
export async function cursor(page, event) {
	await page.waitForFunction(([n, text]) => document.querySelector(".rec-cursor .rec-c-number")?.textContent === text &&
		document.querySelector(".rec-details-title").textContent === `Event #${text}` &&
		document.querySelector(".rec-lanes-cursor").getAttribute("aria-valuenow") === String(n) &&
		new URLSearchParams(location.hash.split("?")[1]).get("at") === String(n), [event, number(event)]);
}

/** Waits until the details have arrived. */
export async function settled(page) {
	await page.locator(".rec-view[aria-busy]:not([hidden])").waitFor({state: "detached"});
	await page.waitForFunction(() => !document.querySelector(".rec-view:not([hidden]) .notice.loading"));
}
