/* Runs before the first paint (a classic script, no module): puts the chosen theme on <html>, so that nothing flashes. */
"use strict";
{
	let theme = null;
	try {
		theme = localStorage.getItem("hermit.theme");
	} catch {
		/* no storage: the system decides */
	}
	if (theme === "light" || theme === "dark")
		document.documentElement.dataset.theme = theme;
}
