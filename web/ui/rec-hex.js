/** Bytes for people: a hex dump with the printable characters beside it, or text. */
import {fill, h} from "./dom.js";

const WIDE = 16;
const NARROW = 8;
const LINE_EM = 0.6;		/* a character of the monospace font, of its size */
const hex2 = Array.from({length: 256}, (_, i) => i.toString(16).padStart(2, "0"));

/**
 * @param {Uint8Array} bytes
 * @param {bigint|number} base what the first byte is called
 */
export function hexDump(bytes, base) {
	const box = h("div.rec-hex.mono", {tabindex: "0", role: "group", "aria-label": "Bytes"});
	let shown = 0;
	const sizes = new ResizeObserver(() => {
		const digits = addressDigits(bytes, base);
		const room = (box.clientWidth - 24) / (LINE_EM * parseFloat(getComputedStyle(box).fontSize));
		const perLine = room >= digits + 4 + WIDE * 4 + 1 ? WIDE : NARROW;

		if (!box.isConnected)
			sizes.disconnect();
		else if (perLine !== shown)
			fill(box, hexLines(bytes, base, shown = perLine));
	});

	fill(box, hexLines(bytes, base, NARROW));
	sizes.observe(box);
	return box;
}

function addressDigits(bytes, base) {
	return Math.max(4, (BigInt(base) + BigInt(bytes.length)).toString(16).length);
}

function hexLines(bytes, base, perLine) {
	const lines = [];
	const start = BigInt(base);
	const digits = addressDigits(bytes, base);

	for (let at = 0; at < bytes.length; at += perLine) {
		const part = bytes.subarray(at, at + perLine);
		let hex = "";
		let chars = "";
		for (let i = 0; i < perLine; i++) {
			hex += (i < part.length ? hex2[part[i]] : "  ") + (i === 7 && perLine > 8 ? "  " : " ");
			if (i < part.length)
				chars += part[i] >= 32 && part[i] < 127 ? String.fromCharCode(part[i]) : ".";
		}
		lines.push(h("div.rec-hex-line", null, h("span.rec-hex-addr", null, (start + BigInt(at)).toString(16).padStart(digits, "0")), `  ${hex} `, h("span.rec-hex-chars", null, chars)));
	}
	return lines;
}

export function textDump(bytes) {
	const text = new TextDecoder("utf-8", {fatal: false}).decode(bytes);
	return h("pre.rec-text-dump.mono", {tabindex: "0"}, text.replace(/[\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, "\u00b7"));
}

/** Mostly printable: shown as text first. The zero at the end of a string does not count. */
export function looksLikeText(bytes) {
	const length = bytes[bytes.length - 1] === 0 ? bytes.length - 1 : bytes.length;
	let odd = 0;

	for (let i = 0; i < length; i++)
		if (bytes[i] < 9 || (bytes[i] > 13 && bytes[i] < 32) || bytes[i] === 127)
			odd++;
	return length > 0 && odd * 20 < length;
}

export function fromBase64(data) {
	return Uint8Array.from(atob(data), c => c.charCodeAt(0));
}
