/** Bytes for people: a hex dump with the printable characters beside it, or text. */
import {h} from "./dom.js";

const PER_LINE = 16;
const hex2 = Array.from({length: 256}, (_, i) => i.toString(16).padStart(2, "0"));

/**
 * @param {Uint8Array} bytes
 * @param {bigint|number} base what the first byte is called
 */
export function hexDump(bytes, base) {
	const lines = [];
	const start = BigInt(base);
	const digits = Math.max(4, (start + BigInt(bytes.length)).toString(16).length);

	for (let at = 0; at < bytes.length; at += PER_LINE) {
		const part = bytes.subarray(at, at + PER_LINE);
		let hex = "";
		let chars = "";
		for (let i = 0; i < PER_LINE; i++) {
			hex += (i < part.length ? hex2[part[i]] : "  ") + (i === 7 ? "  " : " ");
			if (i < part.length)
				chars += part[i] >= 32 && part[i] < 127 ? String.fromCharCode(part[i]) : ".";
		}
		lines.push(h("div.rec-hex-line", null, h("span.rec-hex-addr", null, (start + BigInt(at)).toString(16).padStart(digits, "0")), `  ${hex} `, h("span.rec-hex-chars", null, chars)));
	}
	return h("div.rec-hex.mono", {tabindex: "0", role: "group", "aria-label": "Bytes"}, lines);
}

export function textDump(bytes) {
	const text = new TextDecoder("utf-8", {fatal: false}).decode(bytes);
	return h("pre.rec-text-dump.mono", {tabindex: "0"}, text.replace(/[\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, "\u00b7"));
}

/** Mostly printable: shown as text first. */
export function looksLikeText(bytes) {
	let odd = 0;
	for (const b of bytes)
		if (b < 9 || (b > 13 && b < 32) || b === 127)
			odd++;
	return bytes.length > 0 && odd * 20 < bytes.length;
}

export function fromBase64(data) {
	return Uint8Array.from(atob(data), c => c.charCodeAt(0));
}
