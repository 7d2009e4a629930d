/** The mouse over the lanes: drag moves, shift+drag selects, the wheel zooms (with shift it moves), a click goes to the nearest event. */
const CLICK_PX = 4;
const WHEEL_ZOOM = 0.0022;

export class LaneMouse {
	#lanes;
	#drag = null;
	x = null;
	y = null;

	/**
	 * @param {HTMLElement} lanes the hm-rec-lanes
	 * @param {HTMLElement} surface what lies over the canvas
	 */
	constructor(lanes, surface) {
		this.#lanes = lanes;
		surface.addEventListener("wheel", e => this.#wheel(e), {passive: false});
		surface.addEventListener("pointerdown", e => this.#down(e));
		surface.addEventListener("pointermove", e => this.#move(e));
		surface.addEventListener("pointerup", e => this.#up(e));
		surface.addEventListener("pointercancel", () => this.#end());
		surface.addEventListener("pointerleave", () => {
			this.x = this.y = null;
			lanes.redraw();
		});
		surface.addEventListener("dblclick", e => lanes.zoom(1 / 3, e.offsetX));
		this.surface = surface;
	}

	get dragging() {
		return this.#drag?.moved ?? false;
	}

	#wheel(e) {
		const unit = e.deltaMode === 1 ? 16 : 1;
		const lanes = this.#lanes;
		e.preventDefault();
		if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
			lanes.pan((e.deltaX || e.deltaY) * unit / lanes.width);
		else if (e.altKey)
			lanes.scrollLanes(e.deltaY * unit);
		else
			lanes.zoom(Math.exp(e.deltaY * unit * WHEEL_ZOOM * (e.ctrlKey ? 3 : 1)), e.offsetX);
	}

	#down(e) {
		if (e.button !== 0)
			return;
		this.surface.focus({preventScroll: true});
		this.surface.setPointerCapture(e.pointerId);
		this.#drag = {x: e.offsetX, y: e.offsetY, view: {...this.#lanes.m.view}, top: this.#lanes.top, select: e.shiftKey, moved: false};
		e.preventDefault();
	}

	#move(e) {
		const lanes = this.#lanes;
		const drag = this.#drag;
		this.x = e.offsetX;
		this.y = e.offsetY;
		lanes.hover(e.offsetX, e.offsetY);
		lanes.redraw();
		if (!drag)
			return;
		if (!drag.moved && Math.hypot(e.offsetX - drag.x, e.offsetY - drag.y) < CLICK_PX)
			return;
		drag.moved = true;
		this.surface.classList.add(drag.select ? "rec-selecting" : "rec-dragging");
		const perPx = (drag.view.to - drag.view.from) / lanes.width;
		if (drag.select) {
			const [a, b] = [drag.x, e.offsetX].sort((p, q) => p - q);
			lanes.m.setSelection({from: drag.view.from + a * perPx, to: drag.view.from + b * perPx});
			return;
		}
		const by = (drag.x - e.offsetX) * perPx;
		if (lanes.m.window || by)
			lanes.m.setWindow(drag.view.from + by, drag.view.to + by, {by: "pan"});
		lanes.scrollLanes(drag.top + drag.y - e.offsetY - lanes.top);
	}

	#up(e) {
		const drag = this.#drag;
		this.#end();
		if (drag && !drag.moved)
			this.#click(e.offsetX, e.offsetY);
	}

	#end() {
		this.#drag = null;
		this.surface.classList.remove("rec-dragging", "rec-selecting");
		this.#lanes.redraw();
	}

	/** A mark or single event that is near; else the first event at that time, of the thread if a thread was hit. */
	#click(x, y) {
		const lanes = this.#lanes;
		const row = lanes.rowAt(y);
		let best = null;
		for (const mark of lanes.m.bookmarkMarks)
			if (row?.threads.includes(mark.thread))
				best = nearer(best, mark.event, Math.abs(lanes.xOf(mark.ns) - x), 7);
		for (const tile of lanes.cover ?? []) {
			for (const mark of tile.marks)
				if (row?.threads.includes(mark.thread))
					best = nearer(best, mark.event, Math.abs(lanes.xOf(mark.ns) - x), 7);
			for (const e of tile.events ?? [])
				if (row?.threads.includes(e[2]))
					best = nearer(best, e[0], Math.abs(lanes.xOf(tile.from + e[1]) - x) + 0.5, 1e9);
		}
		if (best)
			lanes.m.moveTo(best.event);
		else
			lanes.m.moveToTime(lanes.timeAt(x - 0.5), row?.threads.length === 1 ? row.threads[0] : null).catch(error => lanes.m.trouble(error));
	}
}

function nearer(best, event, distance, limit) {
	return distance <= limit && (!best || distance < best.distance) ? {event, distance} : best;
}
