/* What a person means in the text of a program and in the views of variables. No vscode in here. */
"use strict";

const PART = "[A-Za-z_$][A-Za-z0-9_$]*";
const CHAIN = new RegExp(`${PART}(?:(?:->|\\.|::)${PART}|\\[[0-9]+\\]|\\[${PART}\\])*`, "g");

/** The expression around a column of a line, up to the part that the column is in (in a->b.c at b: "a->b"); "" when there is none. */
function expressionAt(line, column) {
	for (const {0: chain, index} of line.matchAll(CHAIN)) {
		if (column < index || column > index + chain.length)
			continue;
		const rest = chain.slice(column - index);
		const end = rest.search(/->|\.|::|\[/);

		return end < 0 ? chain : chain.slice(0, column - index + end);
	}
	return "";
}

/** The arguments of hermit/lastWrite for what a context menu of the variables or watch view names; null when that is nothing.
 * Variables come as {container: {variablesReference}, variable: {name, evaluateName}}, watched expressions as such or with a name. */
function writtenThing(item) {
	if (typeof item === "string")
		return item.trim() ? {expression: item.trim()} : null;
	const variable = item?.variable;

	if (variable?.name && item.container?.variablesReference)
		return {variablesReference: item.container.variablesReference, name: variable.name};
	const expression = variable?.evaluateName ?? variable?.name ?? item?.expression ?? item?.evaluateName ?? item?.name;

	return expression ? {expression: String(expression)} : null;
}

/** What a person typed as number of an event ("12 034", "12,034"): the place for hermit/seek, or null. */
function eventPlace(text) {
	const digits = text.replace(/(?<=\d)[\s,'_\u202f](?=\d{3})/g, "").trim();

	return /^[0-9]{1,15}$/.test(digits) ? String(Number(digits)) : null;
}

/** A time after the beginning of the recording ("1.5s", "20 ms", "2" for seconds): the place for hermit/seek, or null. */
function timePlace(text) {
	const [, value, unit] = /^([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*(ns|us|\u00b5s|ms|s|m|min|h)?$/.exec(text.trim()) ?? [];
	const units = {"\u00b5s": "us", min: "m"};

	return value === undefined ? null : value + (units[unit] ?? unit ?? "s");
}

module.exports = {eventPlace, expressionAt, timePlace, writtenThing};
