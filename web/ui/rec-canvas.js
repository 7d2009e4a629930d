/** A canvas that is as sharp as the screen and follows the size of its element. */

/** @returns {{ctx: CanvasRenderingContext2D, width: number, height: number}} in CSS pixels; cleared */
export function beginFrame(canvas) {
	const ratio = devicePixelRatio || 1;
	const width = canvas.clientWidth;
	const height = canvas.clientHeight;
	const w = Math.max(1, Math.round(width * ratio));
	const h = Math.max(1, Math.round(height * ratio));
	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
	}
	const ctx = canvas.getContext("2d");
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	ctx.clearRect(0, 0, width, height);
	return {ctx, width, height};
}

/** Calls fn when the element, the density of the screen, or the theme changes, until signal says so. */
export function onRedraw(el, themes, fn, signal) {
	const sizes = new ResizeObserver(fn);
	sizes.observe(el);
	themes.addEventListener("theme", fn, {signal});
	let query = null;
	const watch = () => {
		query = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
		query.addEventListener("change", () => {
			fn();
			watch();
		}, {once: true, signal});
	};
	watch();
	signal.addEventListener("abort", () => sizes.disconnect());
}
