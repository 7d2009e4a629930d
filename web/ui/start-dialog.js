/* Starting a recording from the page: a command line is cut into words here (quotes as in a shell, nothing else of a shell), shown as they will be passed. */
import {get, post} from "./api.js";
import {fill, h, remember, uid} from "./dom.js";
import {icon} from "./icons.js";
import {openDialog} from "./dialogs.js";
import {LABEL_HINT, LABEL_MAX} from "./actions.js";
import {router} from "./router.js";

/** {words, error}: "a 'b c' d\ e" -> ["a", "b c", "d e"] */
export function splitWords(line) {
	const words = [];
	let word = null;
	let quote = null;

	for (let at = 0; at < line.length; at++) {
		const c = line[at];

		if (quote === "'" ? c === "'" : c === quote) {
			quote = null;
		} else if (c === "\\" && quote !== "'" && at + 1 < line.length && (!quote || "\"\\$`".includes(line[at + 1]))) {
			word = (word ?? "") + line[++at];
		} else if (quote) {
			word += c;
		} else if (c === "'" || c === "\"") {
			quote = c;
			word ??= "";
		} else if (/\s/.test(c)) {
			if (word !== null)
				words.push(word);
			word = null;
		} else {
			word = (word ?? "") + c;
		}
	}
	if (word !== null)
		words.push(word);
	return {words, error: quote ? `a ${quote} is not closed` : null};
}

const SHELL = /^(\||\|\||&&|&|;|<|>|>>|2>|2>&1)$/;

function advice({words, error}) {
	if (error)
		return error;
	if (words.some(word => SHELL.test(word)))
		return "No shell runs this: for pipes and redirections write sh -c '...'";
	return words.length ? null : "The program and its arguments; no shell is involved.";
}

function environment(text) {
	const env = {};

	for (const line of text.split("\n").filter(one => one.trim())) {
		const at = line.indexOf("=");

		if (at < 1)
			throw new Error(`not NAME=VALUE: ${line}`);
		env[line.slice(0, at).trim()] = line.slice(at + 1);
	}
	return env;
}

function field(label, input, hint = null) {
	input.id ||= uid("start");
	return h("div.field", {}, h("label", {for: input.id}, label), input, hint);
}

export function openStartDialog() {
	const last = remember.get("start", {});
	const command = h("input.mono", {value: last.command ?? "", spellcheck: "false", autocomplete: "off", autofocus: true, required: true, placeholder: "./your-program --option 'two words'"});
	const words = h("div.words", {"aria-live": "polite"});
	const cwd = h("input.mono", {value: last.cwd ?? "", spellcheck: "false", autocomplete: "off", placeholder: "/"});
	const label = h("input", {autocomplete: "off", maxlength: LABEL_MAX});
	const keep = h("input", {type: "checkbox"});
	const base = h("select", {}, [["host", "That of hermitd"], ["minimal", "Minimal (PATH, HOME, LANG)"], ["empty", "Empty"]].map(([value, text]) => h("option", {value}, text)));
	const env = h("textarea.mono", {rows: 3, spellcheck: "false", placeholder: "NAME=VALUE"});
	const chaos = h("input", {type: "checkbox"});
	const slice = h("input", {type: "number", min: 1, max: 1000, placeholder: "default"});
	const failed = h("p.bad", {role: "alert"});
	const draw = () => {
		const cut = splitWords(command.value);

		fill(words, cut.words.map(word => h("code.chip", {}, word || "''")), h("small.muted", {}, advice(cut)));
	};
	const submit = async close => {
		const cut = splitWords(command.value);

		fill(failed);
		try {
			if (cut.error || !cut.words.length)
				throw new Error(cut.error ?? "There is no program");
			const rec = await post("/recordings", {argv: cut.words, ...cwd.value ? {cwd: cwd.value} : {}, env: environment(env.value), base_env: base.value,
				label: label.value || null, keep: keep.checked, options: {...chaos.checked ? {chaos: true} : {}, ...slice.value ? {timeslice_ms: Number(slice.value)} : {}}});

			remember.set("start", {command: command.value, cwd: cwd.value});
			close();
			router.go(`r/${rec.id}`);
		} catch (error) {
			fill(failed, icon("danger"), " ", error.message);
		}
	};

	command.addEventListener("input", draw);
	draw();
	get("/settings").then(settings => settings.allow_start === false && fill(failed, "hermitd is configured not to start programs (allow_start)."), () => {});
	openDialog({
		title: "Record a program",
		wide: true,
		body: [
			field("Command", command, words), field("Working directory", cwd), field("Label", label, h("small.muted", {}, LABEL_HINT)),
			h("label.check", {}, keep, "Keep: never removed by housekeeping"),
			h("details", {}, h("summary", {}, "Environment and scheduling"), h("div.inside", {},
				field("Environment", base), field("More variables", env, h("small.muted", {}, "One NAME=VALUE a line")),
				h("label.check", {}, chaos, "Chaos: unusual thread schedules, to make rare bugs show"), field("Time slice (ms)", slice))),
			failed,
		],
		actions: [{label: "Cancel"}, {label: "Record", primary: true}],
		submit,
	});
}
