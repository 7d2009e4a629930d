// One event of the synthetic recording in full, and the state at it: stack, registers, maps, memory, threads, source.
import {CALLS, mix, problem} from "./synthetic.mjs";

const hex = n => "0x" + BigInt(Math.floor(n)).toString(16);
const NAMES = ["fd", "buf", "count", "flags", "addr", "len"];

function detail(rec, i) {
	const row = rec.row(i);
	const call = row.kind === "syscall";
	const parts = call ? row.args.split(/, (?![^"]*"[^"]*(?:"[^"]*"[^"]*)*$)/) : [];
	const path = /"(\/[^"]*)"/.exec(row.args)?.[1];
	const out = {...row, line: call ? `${row.name}(${row.args}) = ${row.result}` : `${row.name} ${row.args}`, rip: hex(0x7f2100001000 + i % 4096), sysno: call ? CALLS[rec.call[i]][1] : null};
	out.arguments = parts.map((text, k) => ({name: NAMES[k] ?? `arg${k}`, kind: text.startsWith('"') ? "buf" : "uint", value: hex(mix(i + k)), text,
		fd: k === 0 && /^\d+$/.test(text) ? {number: Number(text), path: rec.dirty(Number(text) < 3 ? "/dev/pts/1" : "/var/lib/store/segment-" + text)} : null,
		buffer: text.startsWith('"') && !path ? 0 : null}));
	out.returned = call ? {text: row.result, value: row.failed ? "0xffffffffffffffff" : hex(mix(i) % 4096)} : null;
	out.effects = call ? [{kind: "mem", addr: "0x7f2100002000", len: mix(i * 7 + 1) % 4096}] : [];
	out.effects_total = out.effects.length;
	out.buffers = out.arguments.some(a => a.buffer === 0) ? [{index: 0, direction: row.name === "read" || row.name === "recvfrom" ? "out" : "in", kind: "mem", argument: 1, addr: "0x7f2100002000", len: 16 + mix(i * 7 + 1) % 40960, thread: row.thread}] : [];
	return {...out, siginfo: row.kind === "signal" ? `si_signo=${row.name}, si_code=SEGV_MAPERR, si_addr=0x10` : null, exec: null, child: null, status: null, text: null,
		previous_same_thread: rec.previous[i] || null, next_same_thread: rec.next[i] || null};
}

function stack(rec, i) {
	const base = [["queue_push", "queue.c", 214], ["std::vector<Item, std::allocator<Item> >::push_back(Item const&)", "stl_vector.h", 1281], ["handle_request", "server.c", 88], ["worker_main", "server.c", 31], ["start_thread", null, null], ["clone3", null, null]];
	const frames = base.slice(mix(i) % 3 === 0 ? 0 : 2).map(([fn, file, line], k) => ({index: k, pc: hex(0x401000 + k * 0x230 + mix(i + k) % 256), function: rec.dirty(fn), symbol: fn, offset: 16 + k * 4, module: rec.dirty(file ? "/usr/bin/server" : "/usr/lib/x86_64-linux-gnu/libc.so.6"),
		file: file && rec.dirty(`/srv/src/${file}`), line, column: file ? 9 : null, inlined: fn.startsWith("std"), signal: false, source: Boolean(file), args: k === 0 ? [{name: "q", value: "0x7f2100002000"}] : []}));
	return {frames, complete: true, note: null};
}

function registers(i) {
	const general = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"];
	const items = general.map((name, k) => ({name, value: hex(mix(k * 31 + (k % 4 ? 5 : i))), group: "general", text: name === "rip" ? "queue_push+16" : null}));
	items.push({name: "eflags", value: "0x246", group: "flags", text: "PF ZF IF"});
	["cs", "ss", "ds", "es", "fs", "gs"].forEach(name => items.push({name, value: "0x2b", group: "segment", text: null}));
	for (let k = 0; k < 4; k++)
		items.push({name: `ymm${k}`, value: hex(mix(k)) + "00000000", group: "vector", text: null});
	return {registers: items};
}

function maps(rec) {
	const names = [["0x400000", "r-xp", "/usr/bin/server"], ["0x600000", "rw-p", "/usr/bin/server"], ["0x7f2100000000", "rw-p", "[heap]"], ["0x7f2200000000", "r-xp", "/usr/lib/x86_64-linux-gnu/libc.so.6"], ["0x7ffd00000000", "rw-p", "[stack]"]];
	return {items: names.map(([start, prot, name]) => ({start, end: "0x" + (BigInt(start) + 0x21000n).toString(16), prot, offset: "0x0", name: rec.dirty(name), size: 0x21000}))};
}

export function bytes(i, from, length) {
	const out = Buffer.alloc(length);
	for (let k = 0; k < length; k++)
		out[k] = (from + k) % 64 < 40 ? 97 + mix(i + from + k) % 26 : mix(i + from + k) & 255;
	return out;
}

function source(rec, params) {
	const line = Number(params.get("line") ?? 1);
	const context = Number(params.get("context") ?? 12);
	const first = Math.max(1, line - context);
	const body = ["/* pushes an item */", "static int queue_push(struct queue *q, const struct item *it)", "{", '\tif (q->used == q->size) // "full"', "\t\treturn -ENOSPC;", "\tq->items[q->used++] = *it;", "\treturn 0;", "}", "", "int main(void)", `\tputs("${rec.dirty("hello")}");`];
	return {path: params.get("path"), first, language: "c", verified: true, lines: Array.from({length: 2 * context + 1}, (_, k) => body[(first + k) % body.length])};
}

export function inspect(rec, i, what, path, params) {
	const at = Number(params.get("thread") ?? 0) || rec.thread[i];
	const state = {event: i, when: params.get("when") ?? "before", thread: at, tid: 4100 + at, pid: rec.pidOf(at)};
	const json = value => ({status: 200, json: {...state, ...value} });
	switch (what) {
	case undefined: return {status: 200, json: detail(rec, i)};
	case "stack": return json(stack(rec, i));
	case "registers": return json(registers(i));
	case "maps": return json(maps(rec));
	case "threads": return json({items: rec.threads.map(([t, , name]) => ({number: t, tid: 4100 + t, name: rec.dirty(name), in_call: t % 3 === 0, current: t === at, pc: hex(0x401000 + t), function: rec.dirty("worker_main")}))});
	case "source": return {status: 200, json: source(rec, params)};
	case "buffers": {
		const len = detail(rec, i).buffers[0]?.len ?? 0;
		return {status: 200, bytes: bytes(i, 0, len), type: "application/octet-stream"};
	}
	case "memory": {
		const len = Math.min(65536, Number(params.get("len") ?? 256));
		const addr = params.get("addr") ?? "0x0";
		return BigInt(addr) < 0x1000n ? json({addr, len, data: "", read: 0}) : json({addr, len, data: bytes(Number(BigInt(addr) & 0xffffn), 0, len).toString("base64"), read: len});
	}
	default: return problem(404, "not-found", `nothing at ${path}`);
	}
}
