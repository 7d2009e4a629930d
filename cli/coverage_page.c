/* See coverage_page.h. It looks like the web UI (web/ui/tokens.css) without sharing a file with it. What strangers named - command lines, reasons - is
 * escaped, and the page's own policy allows no script but the one below. */
#include "cli/coverage_page.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/build.h"
#include "base/json.h"
#include "base/str.h"

static const char style[] =
	":root{color-scheme:light dark;--bg:light-dark(#f6f7f9,#0e1115);--surface:light-dark(#fff,#151a20);--border:light-dark(#d9dee5,#2a323c);"
	"--text:light-dark(#1a1f26,#e4e8ed);--muted:light-dark(#57606c,#9ba5b1);--accent:light-dark(#0b5cc0,#74b3ff);--error:light-dark(#b91f2b,#ff8580);"
	"--hover:light-dark(#f0f3f7,#1e252e)}\n"
	"*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem;max-width:80rem;background:var(--bg);color:var(--text);font:.875rem/1.25rem system-ui,"
	"\"Segoe UI\",Roboto,\"Noto Sans\",sans-serif;font-variant-numeric:tabular-nums}\n"
	"h1{font-size:1.125rem;margin:0 0 .25rem}h2{font-size:.875rem;margin:1.5rem 0 .5rem}p{margin:.25rem 0}.muted{color:var(--muted)}"
	".bad{color:var(--error)}code,td.name,ul.never{font-family:ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;font-size:.8125rem}\n"
	"dl{display:flex;flex-wrap:wrap;gap:.5rem 2rem;margin:1rem 0}dt{color:var(--muted);font-size:.75rem}dd{margin:0;font-size:1.125rem}\n"
	"input{font:inherit;color:inherit;background:var(--surface);border:1px solid var(--border);border-radius:.375rem;padding:.375rem .5rem;width:20rem;max-width:100%}\n"
	"table{border-collapse:collapse;width:100%;background:var(--surface);border:1px solid var(--border)}"
	"th,td{padding:.25rem .75rem;text-align:right;border-bottom:1px solid var(--border);white-space:nowrap}th{position:sticky;top:0;background:var(--surface)}"
	"th:nth-child(2),td:nth-child(2),th:nth-child(3),td:nth-child(3){text-align:left}tbody tr:hover{background:var(--hover)}td.zero{color:var(--muted)}\n"
	"th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible,input:focus-visible{outline:2px solid var(--accent);outline-offset:2px}"
	"th[aria-sort=ascending] button::after{content:\" \\2191\"}th[aria-sort=descending] button::after{content:\" \\2193\"}\n"
	"ul{margin:0;padding:0;list-style:none}ul.never{columns:11rem;column-gap:1rem}ul.runs li{overflow-wrap:anywhere;padding:.125rem 0}\n"
	"@media print{input{display:none}th{position:static}}\n";

static const char script[] =
	"\"use strict\";\n"
	"const body = document.querySelector(\"tbody\"), filter = document.querySelector(\"input\"), shown = document.querySelector(\"#shown\");\n"
	"const rows = [...body.rows], never = [...document.querySelectorAll(\".never li\")];\n"
	"const value = (row, i) => { const t = row.cells[i].textContent; return i === 1 || i === 2 ? t : Number(t.replaceAll(\",\", \"\")); };\n"
	"filter.addEventListener(\"input\", () => {\n"
	"\tconst words = filter.value.toLowerCase().split(/\\s+/).filter(Boolean);\n"
	"\tconst fits = text => words.every(w => text.toLowerCase().includes(w));\n"
	"\tfor (const r of rows) r.hidden = !fits(r.cells[0].textContent + \" \" + r.cells[1].textContent + \" \" + r.cells[2].textContent);\n"
	"\tfor (const li of never) li.hidden = !fits(li.textContent);\n"
	"\tshown.textContent = words.length ? rows.filter(r => !r.hidden).length + \" of \" + rows.length + \" rows\" : \"\";\n"
	"});\n"
	"document.querySelectorAll(\"th button\").forEach((button, i) => button.addEventListener(\"click\", () => {\n"
	"\tconst th = button.parentElement, up = th.ariaSort ? th.ariaSort === \"descending\" : i < 3;\n"
	"\tfor (const other of document.querySelectorAll(\"th\")) other.removeAttribute(\"aria-sort\");\n"
	"\tth.ariaSort = up ? \"ascending\" : \"descending\";\n"
	"\trows.sort((a, b) => { const x = value(a, i), y = value(b, i); return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1); });\n"
	"\tbody.append(...rows);\n"
	"}));\n";

static void put_html(struct buf *b, const char *s)
{
	static const struct {
		char c;
		const char *text;
	} special[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" } };

	for (; *s; s++) {
		size_t i = 0;

		while (i < ARRAY_SIZE(special) && special[i].c != *s)
			i++;
		if (i < ARRAY_SIZE(special))
			buf_printf(b, "%s", special[i].text);
		else
			buf_put_u8(b, (uint8_t)*s);
	}
}

/* Text of strangers: control bytes shown, bytes that are no text replaced, markup escaped. */
static void put_strange(struct buf *b, const char *s)
{
	json_t *clean = jsonx_string_lossy(s, strlen(s));
	struct buf text CLEANUP(buf_done) = { 0 };

	buf_put_printable(&text, clean ? json_string_value(clean) : "?");
	put_html(b, buf_cstr(&text));
	json_decref(clean);
}

/* 12,345 */
static void put_number(struct buf *b, uint64_t v)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);

	for (int i = 0; i < n; i++) {
		buf_put_u8(b, (uint8_t)digits[i]);
		if ((n - 1 - i) % 3 == 0 && i < n - 1)
			buf_put_u8(b, ',');
	}
}

static const char *const how_titles[COVERAGE_HOW_MAX_] = { "Buffered", "Executed", "Answered", "Refused", "Did not return" };

static void put_totals(struct buf *b, const struct coverage *c)
{
	uint64_t calls = 0, how[COVERAGE_HOW_MAX_] = { 0 };
	unsigned made = 0, exist = 0;

	for (uint32_t nr = 0; nr <= SYS_TABLE_MAX; nr++) {
		calls += c->row[nr].calls;
		made += c->row[nr].calls && coverage_exists(nr);
		exist += coverage_exists(nr);
		for (int h = 0; h < COVERAGE_HOW_MAX_; h++)
			how[h] += c->row[nr].how[h];
	}
	buf_printf(b, "<dl><div><dt>System calls exercised</dt><dd>%u of %u</dd></div><div><dt>Calls</dt><dd>", made, exist);
	put_number(b, calls);
	buf_printf(b, "</dd></div>");
	for (int h = 0; h < COVERAGE_HOW_MAX_; h++) {
		buf_printf(b, "<div><dt>%s</dt><dd>", how_titles[h]);
		put_number(b, how[h]);
		buf_printf(b, "</dd></div>");
	}
	buf_printf(b, "</dl>\n");
}

static void put_cell(struct buf *b, uint64_t v)
{
	buf_printf(b, v ? "<td>" : "<td class=zero>");
	put_number(b, v);
	buf_printf(b, "</td>");
}

static void put_rows(struct buf *b, const struct coverage *c)
{
	char name[24];

	for (uint32_t nr = 0; nr <= SYS_TABLE_MAX; nr++) {
		const struct coverage_row *row = &c->row[nr];

		if (!row->calls && !row->bad)
			continue;
		buf_printf(b, "<tr><td>%u</td><td class=name>%s%s</td><td>%s</td>", nr, nr < SYS_TABLE_MAX ? sys_name(nr, name) : "?",
			   row->bad ? " <span class=bad>(did not add up in a recording that is not counted)</span>" : "", coverage_class(nr));
		put_cell(b, row->calls);
		for (int h = 0; h < COVERAGE_HOW_MAX_; h++)
			put_cell(b, row->how[h]);
		put_cell(b, row->recordings);
		buf_printf(b, "</tr>\n");
	}
}

static void put_table(struct buf *b, const struct coverage *c)
{
	static const char *const first[] = { "Number", "Name", "Class", "Calls" };

	buf_printf(b, "<h2>System calls</h2>\n<p><label>Filter <input type=search placeholder=\"name, number or class\"></label> <span id=shown class=muted "
		      "role=status></span></p>\n<table><thead><tr>");
	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		buf_printf(b, "<th scope=col%s><button>%s</button></th>", i ? "" : " aria-sort=ascending", first[i]);
	for (int h = 0; h < COVERAGE_HOW_MAX_; h++)
		buf_printf(b, "<th scope=col><button>%s</button></th>", how_titles[h]);
	buf_printf(b, "<th scope=col><button>Recordings</button></th></tr></thead><tbody>\n");
	put_rows(b, c);
	buf_printf(b, "</tbody></table>\n");
}

static void put_never(struct buf *b, const struct coverage *c)
{
	unsigned n = 0;
	char name[24];

	for (uint32_t nr = 0; nr < SYS_TABLE_MAX; nr++)
		n += coverage_exists(nr) && !c->row[nr].calls;
	buf_printf(b, "<h2>Never exercised (%u)</h2>\n<ul class=never>", n);
	for (uint32_t nr = 0; nr < SYS_TABLE_MAX; nr++)
		if (coverage_exists(nr) && !c->row[nr].calls)
			buf_printf(b, "<li>%s <span class=muted>%u %s</span></li>\n", sys_name(nr, name), nr, coverage_class(nr));
	buf_printf(b, "</ul>\n");
}

static void put_recordings(struct buf *b, const struct coverage *c)
{
	buf_printf(b, "<h2>Recordings (%u, %u counted)</h2>\n<ul class=runs>", c->n, c->counted);
	for (uint32_t i = 0; i < c->n; i++) {
		buf_printf(b, "<li><code>%.8s</code> <code>", c->recording[i].id.hex);
		put_strange(b, c->recording[i].command);
		buf_printf(b, "</code>");
		if (c->recording[i].why) {
			buf_printf(b, " <span class=bad>not counted: ");
			put_strange(b, c->recording[i].why);
			buf_printf(b, "</span>");
		}
		buf_printf(b, "</li>\n");
	}
	buf_printf(b, "</ul>\n");
}

int coverage_page(const struct coverage *c, struct buf *b)
{
	time_t now = time(NULL);
	struct tm tm;
	char when[32] = "";

	if (gmtime_r(&now, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M UTC", &tm);
	buf_printf(b, "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>System call coverage - hermit</title>\n"
		      "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'\">\n"
		      "<meta name=viewport content=\"width=device-width\">\n<style>\n%s</style></head><body>\n<main>\n", style);
	buf_printf(b, "<h1>System call coverage</h1>\n<p class=muted>hermit %s, %s. Calls are buffered in the guest, executed by the kernel, answered or refused by the "
		      "recorder, or did not return; each row adds up.</p>\n", build_version(), when);
	put_totals(b, c);
	put_table(b, c);
	put_never(b, c);
	put_recordings(b, c);
	buf_printf(b, "</main>\n<script>\n%s</script>\n</body></html>\n", script);
	return buf_error(b);
}
