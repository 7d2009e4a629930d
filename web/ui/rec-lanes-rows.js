/** The rows of the lanes: processes, with their threads below them unless folded. A folded process is one lane of all its threads. */

/**
 * @param {import("./rec-model.js").RecordingModel} model
 * @param {Set<number>} folded numbers of the first threads of folded processes
 * @returns {{kind: "process"|"thread", process: object, thread: object|null, threads: number[], depth: number, folded: boolean}[]}
 */
export function laneRows(model, folded) {
	const children = new Map();
	const owners = new Map();
	const rows = [];

	for (const process of model.processes)
		for (const thread of process.threads)
			owners.set(thread.number, process.thread);
	for (const process of model.processes) {
		const parent = owners.get(process.parent) ?? 0;
		children.set(parent, [...children.get(parent) ?? [], process]);
	}
	const seen = new Set();
	const add = (process, depth) => {
		if (seen.has(process.thread))
			return;
		seen.add(process.thread);
		const single = process.threads.length <= 1;
		const fold = folded.has(process.thread) || single;
		rows.push({kind: "process", process, thread: fold && single ? process.threads[0] ?? null : null, threads: fold ? process.threads.map(t => t.number) : [], depth, folded: fold, single});
		if (!fold)
			for (const thread of process.threads)
				rows.push({kind: "thread", process, thread, threads: [thread.number], depth: depth + 1, folded: false, single: false});
		for (const child of children.get(process.thread) ?? [])
			add(child, depth + 1);
	};
	for (const process of children.get(0) ?? [])
		add(process, 0);
	for (const process of model.processes)
		add(process, 0);
	return rows;
}

/** "server  4101" and what the tooltip says. */
export function laneLabel(row) {
	const {process, thread} = row;
	if (row.kind === "thread")
		return {name: thread.name || `thread ${thread.number}`, number: String(thread.tid), title: `thread ${thread.number}, tid ${thread.tid}`};
	const name = process.exe?.split("/").pop() || process.command?.split(" ")[0] || "process";
	return {name, number: String(process.pid), title: `${process.command ?? process.exe ?? ""}\npid ${process.pid}`};
}
