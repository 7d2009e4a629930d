/* Taking in an exported recording: importFiles(files) sends them one after the other and shows progress; dropTarget(element) takes dropped files. */
import {upload} from "./api.js";
import {fill, h} from "./dom.js";
import * as format from "./format.js";
import {icon} from "./icons.js";
import {router} from "./router.js";
import {toast, toastError} from "./hm-toasts.js";

function progressToast(name, abort) {
	const bar = h("progress", {max: 1, "aria-label": `Importing ${name}`});
	const said = h("p.muted", {}, "Waiting");
	const one = h("div.toast", {}, icon("upload"), h("div.grow", {}, h("p", {}, `Importing ${name}`), bar, said), h("button.quiet.icon", {onclick: abort, "aria-label": "Cancel the import"}, icon("close")));

	document.querySelector("hm-toasts").append(one);
	return {
		update(done, total) {
			bar.value = total ? done / total : 0;
			fill(said, done === total ? "Checking\u2026" : `${format.bytes(done)} of ${format.bytes(total)}`);
		},
		close: () => one.remove(),
	};
}

async function importFile(file) {
	const controller = new AbortController();
	const progress = progressToast(file.name, () => controller.abort());

	try {
		const rec = await upload("/recordings/import", file, {onprogress: progress.update, signal: controller.signal});

		toast(`Imported ${file.name}`, {action: {label: "Open", run: () => router.go(`r/${rec.id}`)}});
	} catch (error) {
		if (error.name === "AbortError")
			toast(`Import of ${file.name} was cancelled`);
		else
			toastError(error, `Could not import ${file.name}`);
	} finally {
		progress.close();
	}
}

export async function importFiles(files) {
	for (const file of files)
		await importFile(file);
}

/** Ask for files, then import them. */
export function chooseFiles() {
	const input = h("input", {type: "file", multiple: true, accept: ".tar,.hermit"});

	input.addEventListener("change", () => importFiles(input.files));
	input.click();
}

/** Files dropped on the element are imported; the attribute "dropping" is there while they hover. */
export function dropTarget(el) {
	let depth = 0;
	const files = event => event.dataTransfer?.types.includes("Files");
	const mark = by => {
		depth = by === 0 ? 0 : Math.max(0, depth + by);
		el.toggleAttribute("dropping", depth > 0);
	};

	el.addEventListener("dragenter", event => files(event) && mark(1));
	el.addEventListener("dragleave", event => files(event) && mark(-1));
	el.addEventListener("dragover", event => files(event) && event.preventDefault());
	el.addEventListener("drop", event => {
		if (!files(event))
			return;
		event.preventDefault();
		mark(0);
		importFiles([...event.dataTransfer.files]);
	});
}
