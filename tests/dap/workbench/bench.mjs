/* What steps do with the workbench, by keyboard and by what is on the screen. */
import assert from "node:assert/strict";

const WAIT_MS = 60000;

export class Bench {
	constructor(page) {
		this.page = page;
	}

	/** Tries until it is true: an action whose effect takes its time, or may come too early (the extension is still being loaded). */
	async until(what, check, {each = 250, limit = WAIT_MS} = {}) {
		const end = Date.now() + limit;

		for (;;) {
			if (await check())
				return;
			assert.ok(Date.now() < end, `${what}: not after ${limit / 1000} s`);
			await this.page.waitForTimeout(each);
		}
	}

	async open(url, folder) {
		await this.page.goto(`${url}/?folder=${folder}`);
		await this.page.locator(".monaco-workbench").waitFor({timeout: WAIT_MS});
	}

	async openFile(name) {
		await this.page.getByRole("treeitem", {name}).first().dblclick({timeout: WAIT_MS});
		await this.page.locator(".view-line").first().waitFor();
	}

	/** Replaces the text of the box that asks for something. title: a part of what it says. */
	async type(text, title = "") {
		const box = this.page.locator(".quick-input-widget:visible").filter({hasText: title});

		await box.locator(".quick-input-box input").fill(text);
	}

	async input(title, text) {
		await this.type(text, title);
		await this.page.keyboard.press("Enter");
	}

	/** A command of the palette, by its title. The list is made when it opens: what is not there yet (the session still runs) is looked for anew. */
	async command(title) {
		const row = this.page.locator(".quick-input-list .monaco-list-row").filter({hasText: title}).first();

		await this.until(title, async () => {
			await this.page.keyboard.press("F1");
			await this.type(`>${title}`);
			if (await row.waitFor({timeout: 3000}).then(() => true, () => false))
				return true;
			await this.page.keyboard.press("Escape");
			return false;
		});
		await row.click();
	}

	async goToLine(line) {
		await this.page.keyboard.press("Control+g");
		await this.input("", `:${line}`);
		await this.until(`line ${line}`, async () => (await this.page.locator(".statusbar").textContent()).includes(`Ln ${line},`));
	}

	/** The debugger stands at a line: the one whose number the topmost frame shows. */
	stopsAt(line, what = `a stop at line ${line}`) {
		const frame = this.page.locator(".debug-call-stack .stack-frame .line-number").first();

		return this.until(what, async () => await frame.count() > 0 && (await frame.textContent()).startsWith(`${line}:`));
	}

	row(view, text) {
		return this.page.locator(`${view} .monaco-list-row`).filter({hasText: text}).first();
	}

	/** A variable shows a value. */
	shows(name, value) {
		return this.until(`${name} = ${value}`, async () => (await this.page.locator(".debug-variables .monaco-list-row").allTextContents()).some(text => text.replace(/\s/g, "") === `${name}=${value}`));
	}

	/** A view of the debug side bar (Hermit Timeline), opened if it is closed. */
	async view(title) {
		const header = this.page.locator(".pane-header").filter({hasText: title});

		await header.waitFor();
		if (await header.getAttribute("aria-expanded") !== "true")
			await header.click();
		return this.page.locator(".pane").filter({has: header});
	}
}
