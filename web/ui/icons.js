/* Line icons on a 16 x 16 grid, drawn here. icon("stop") is decoration (aria-hidden): the name of what it does stands beside it or in aria-label. */
const PATHS = {
	check: "M3 8.5l3.5 3.5L13 4.5",
	chevron: "M4 6l4 4 4-4",
	right: "M6 4l4 4-4 4",
	close: "M4 4l8 8M12 4l-8 8",
	copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
	danger: "M8 2l6.5 11.5h-13zM8 6.5v3M8 11.6v.1",
	debug: "M5.5 6.5a2.5 2.5 0 015 0v4a2.5 2.5 0 01-5 0zM8 6.5v6M2.5 5l3 2M13.5 5l-3 2M2 9.5h3.5M14 9.5h-3.5M3 13.5l2.7-2M13 13.5l-2.7-2",
	diff: "M5 2.5v11M11 2.5v11M2.5 5.5h5M8.5 10.5h5M11 8v5",
	download: "M8 2.5v8M4.5 7.5L8 11l3.5-3.5M2.5 13.5h11",
	up: "M4 10l4-4 4 4",
	upload: "M8 11V3M4.5 6L8 2.5 11.5 6M2.5 13.5h11",
	info: "M8 14A6 6 0 108 2a6 6 0 000 12zM8 7.5V11M8 5v.1",
	key: "M10 9.5a3.5 3.5 0 10-3.2-2L2 12.3V14h2.5v-1.5H6V11l1.2-1.2A3.5 3.5 0 0010 9.5zM11 5v.1",
	keep: "M4 2.5h8v11l-4-3-4 3z",
	link: "M6.5 9.5l3-3M7 4.5l1.6-1.6a3 3 0 014.3 4.3L11.3 8.8M9 11.5l-1.6 1.6a3 3 0 01-4.3-4.3l1.6-1.6",
	menu: "M3 8v.1M8 8v.1M13 8v.1",
	moon: "M13 9.5A5.5 5.5 0 016.5 3a5.5 5.5 0 106.5 6.5z",
	pen: "M3 13l.7-3L10.5 3.2a1.6 1.6 0 012.3 2.3L6 12.3z",
	play: "M5 3l8 5-8 5z",
	plus: "M8 3v10M3 8h10",
	record: "M8 12a4 4 0 100-8 4 4 0 000 8z",
	refresh: "M13.5 3v3.5H10M13.2 6.5A5.5 5.5 0 1013.3 9.7",
	search: "M7 11.5a4.5 4.5 0 100-9 4.5 4.5 0 000 9zM10.3 10.3l3.2 3.2",
	seal: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 015 0v2.5",
	signal: "M9 2L3.5 9H8l-1 5 5.5-7H8z",
	stop: "M4 4h8v8H4z",
	sun: "M8 11a3 3 0 100-6 3 3 0 000 6zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
	swap: "M2.5 5.5h10M9.5 2.5l3 3-3 3M13.5 10.5h-10M6.5 7.5l-3 3 3 3",
	system: "M2 3h12v8H2zM6 14h4M8 11v3",
	trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9",
};

const NS = "http://www.w3.org/2000/svg";

export function icon(name) {
	const svg = document.createElementNS(NS, "svg");
	const path = document.createElementNS(NS, "path");

	svg.setAttribute("class", "i");
	svg.setAttribute("viewBox", "0 0 16 16");
	svg.setAttribute("aria-hidden", "true");
	if (name === "menu")
		svg.setAttribute("stroke-width", "2.5");
	path.setAttribute("d", PATHS[name]);
	svg.append(path);
	return svg;
}
