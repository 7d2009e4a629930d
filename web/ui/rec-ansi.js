/**
 * Terminal output as text: colours and weights of SGR sequences become classes, every other escape sequence and control character is
 * dropped. Only text nodes are made of what was recorded.
 */
import {h} from "./dom.js";

const SEQUENCES = /\u001b\[([\d;:]*)([@-~])|\u001b\[[^@-~]*$|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|\u001b[PX^_][^\u001b]*(?:\u001b\\|$)|\u001b[ -/]*[0-~]?|[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const COLORS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

function apply(style, codes) {
	for (let i = 0; i < codes.length; i++) {
		const code = codes[i];
		if (code === 0)
			Object.assign(style, {color: null, bold: false, dim: false, italic: false, underline: false, inverse: false});
		else if (code === 38 || code === 48)
			i += codes[i + 1] === 5 ? 2 : 4;
		else if (code >= 30 && code <= 37)
			style.color = COLORS[code - 30];
		else if (code >= 90 && code <= 97)
			style.color = COLORS[code - 90];
		else if (code === 39)
			style.color = null;
		else if (code in FLAGS)
			style[FLAGS[code][0]] = FLAGS[code][1];
	}
}

const FLAGS = {1: ["bold", true], 2: ["dim", true], 3: ["italic", true], 4: ["underline", true], 7: ["inverse", true], 22: ["bold", false], 23: ["italic", false], 24: ["underline", false], 27: ["inverse", false]};

function classes(style) {
	const out = [];
	if (style.color)
		out.push(`ansi-${style.color}`);
	for (const flag of ["bold", "dim", "italic", "underline", "inverse"])
		if (style[flag])
			out.push(`ansi-${flag}`);
	return out;
}

/**
 * @param {string} text
 * @param {object} style carried from one chunk of a stream to the next; begin with {}
 * @returns {(Node|string)[]}
 */
export function ansiNodes(text, style) {
	const out = [];
	const put = piece => {
		const names = classes(style);
		if (piece)
			out.push(names.length ? h(["span", ...names].join("."), null, piece) : piece);
	};
	let from = 0;

	for (const m of text.matchAll(SEQUENCES)) {
		put(text.slice(from, m.index));
		from = m.index + m[0].length;
		if (m[2] === "m")
			apply(style, m[1] ? m[1].split(/[;:]/).map(Number) : [0]);
	}
	put(text.slice(from));
	return out;
}
