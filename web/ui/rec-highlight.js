/** Colours for source text: comments, strings, numbers, keywords of C, C++, Rust, Go and Python. Made of text nodes; no markup is read. */
import {h} from "./dom.js";

const C_WORDS = "auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false NULL";
const WORDS = {
	c: C_WORDS,
	cpp: C_WORDS + " alignas alignof catch class concept constexpr consteval co_await co_return co_yield decltype delete explicit export final friend mutable namespace new noexcept nullptr operator override private protected public requires template this throw try typename using virtual",
	rust: "as async await box break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
	go: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false",
	python: "and as assert async await break class continue def del elif else except finally for from global if import in is lambda None nonlocal not or pass raise return True False try while with yield",
};
const NAMES = {"c++": "cpp", cc: "cpp", cxx: "cpp", h: "c", rs: "rust", py: "python"};
const sets = new Map();

function words(language) {
	const name = WORDS[language] ? language : NAMES[language] ?? "c";
	if (!sets.has(name))
		sets.set(name, new Set(WORDS[name].split(" ")));
	return sets.get(name);
}

const C_TOKENS = /(\/\/.*|\/\*.*?(?:\*\/|$))|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\]){1,8}'|`[^`]*`?)|(^\s*#\s*\w+)|\b(0x[\da-fA-F_]+|\d[\d_.]*(?:[eE][+-]?\d+)?\w*)\b|([A-Za-z_]\w*)/g;
const PYTHON_TOKENS = /(#.*)|("""[^]*?(?:"""|$)|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(^\s*@\w+)|\b(0x[\da-fA-F_]+|\d[\d_.]*\w*)\b|([A-Za-z_]\w*)/g;
const CLASSES = [null, "comment", "string", "pre", "number"];
const LINE_MAX = 2000;

/**
 * One line as nodes.
 * @param {{comment: boolean}} state carried from line to line: inside a comment of several lines
 */
function line(source, language, state) {
	const out = [];
	const known = words(language);
	let at = 0;

	if (source.length > LINE_MAX)
		return [source];
	if (state.comment) {
		const end = source.indexOf("*/");
		const stop = end < 0 ? source.length : end + 2;
		state.comment = end < 0;
		out.push(h("span.hl-comment", null, source.slice(0, stop)));
		at = stop;
	}
	const tokens = language === "python" || language === "py" ? PYTHON_TOKENS : C_TOKENS;
	const rest = source.slice(at);
	let from = 0;
	for (const m of rest.matchAll(tokens)) {
		const kind = m[5] ? known.has(m[5]) ? "word" : null : CLASSES[[1, 2, 3, 4].find(k => m[k] !== undefined)];
		if (m[1]?.startsWith("/*") && !m[1].endsWith("*/"))
			state.comment = true;
		if (!kind)
			continue;
		if (m.index > from)
			out.push(rest.slice(from, m.index));
		out.push(h(`span.hl-${kind}`, null, m[0]));
		from = m.index + m[0].length;
	}
	out.push(rest.slice(from));
	return out;
}

/** @returns {(Node|string)[][]} nodes for each line */
export function highlight(lines, language) {
	const state = {comment: false};
	return lines.map(l => line(l, language ?? "c", state));
}
