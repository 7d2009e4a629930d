/* The stack of a thread, with what was inlined, as JSON (docs/HTTP.md). */
#include "inspector/inspect_priv.h"

#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"

/* What is said of one frame. All but numbers may be NULL. */
struct shown {
	const char *function, *symbol, *module;
	bool has_offset, inlined, signal;
	uint64_t pc, offset;
	const struct line_info *line;
	struct scope_chain *chain; /* that the line is of */
	json_t *args; /* taken */
};

struct stack {
	struct inspector *in;
	json_t *frames;
	size_t n;
};

static json_t *number_or_null(bool has, uint64_t v)
{
	return has && v <= INT64_MAX ? json_integer((json_int_t)v) : json_null();
}

static int set_hex(json_t *j, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	return jsonx_set_str(j, key, text);
}

static int put_frame(struct stack *s, const struct shown *f)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object(), *args = f->args ? f->args : json_array();
	const struct line_info *l = f->line;
	bool source = l && l->file && source_note(s->in, &f->chain->cu, l->file);
	bool ok = jsonx_set_new(j, "args", args) >= 0 && jsonx_set_u64(j, "index", s->n) >= 0 && set_hex(j, "pc", f->pc) >= 0;

	ok = ok && jsonx_set_new(j, "function", jsonx_text(f->function)) >= 0 && jsonx_set_new(j, "symbol", jsonx_text(f->symbol)) >= 0;
	ok = ok && jsonx_set_new(j, "offset", number_or_null(f->has_offset, f->offset)) >= 0;
	ok = ok && jsonx_set_new(j, "module", jsonx_text(f->module)) >= 0 && jsonx_set_new(j, "file", jsonx_text(l ? l->file : NULL)) >= 0;
	ok = ok && jsonx_set_new(j, "line", number_or_null(l && l->line > 0, l ? (uint64_t)l->line : 0)) >= 0;
	ok = ok && jsonx_set_new(j, "column", number_or_null(l && l->column > 0, l ? (uint64_t)l->column : 0)) >= 0;
	ok = ok && jsonx_set_bool(j, "inlined", f->inlined) >= 0 && jsonx_set_bool(j, "signal", f->signal) >= 0;
	ok = ok && jsonx_set_bool(j, "source", source) >= 0;
	if (!ok || json_array_append(s->frames, j) < 0)
		return -ENOMEM;
	s->n++;
	return 0;
}

/* From the scope at `top` outwards to the function that has the code; *line is where the first of them stands, and is used up. */
static int put_scopes(struct stack *s, const struct module *m, const struct unwind_frame *f, uint64_t addr, struct scope_chain *c,
		      const struct symbol *sym, struct line_info *line)
{
	for (unsigned i = c->n; i-- > 0 && s->n < INSPECT_FRAMES_MAX;) {
		bool inlined = dwarf_tag(&c->scope[i]) == DW_TAG_inlined_subroutine;
		char *symbol CLEANUP(freep) = NULL, *name CLEANUP(freep) = NULL;
		struct shown shown = { .module = m->path, .pc = f->pc, .line = line, .chain = c, .inlined = inlined, .signal = f->signal };
		Dwarf_Addr start;
		int r;

		if (!inlined && dwarf_tag(&c->scope[i]) != DW_TAG_subprogram)
			continue;
		name = symbols_die_name(&c->scope[i], &symbol);
		shown.function = name;
		if (!inlined) {
			shown.symbol = sym->name ? sym->name : symbol;
			shown.has_offset = sym->name || dwarf_entrypc(&c->scope[i], &start) == 0;
			shown.offset = sym->name ? sym->offset : shown.has_offset ? addr + !f->exact - start : 0;
		}
		shown.args = args_of(s->in, m, c, i, f, addr);
		r = shown.args ? put_frame(s, &shown) : -ENOMEM;
		line_info_done(line);
		*line = (struct line_info){ 0 };
		if (r < 0 || !inlined)
			return r;
		symbols_call_line(c, &c->scope[i], line);
	}
	return 0;
}

static int put_plain(struct stack *s, const struct module *m, const struct unwind_frame *f, const struct symbol *sym, struct scope_chain *c,
		     const struct line_info *line)
{
	char *name CLEANUP(freep) = sym->name ? demangle_name(sym->name) : NULL;

	return put_frame(s, &(struct shown){ .module = m ? m->path : NULL, .pc = f->pc, .function = name ? name : sym->name, .symbol = sym->name,
					     .has_offset = sym->name, .offset = sym->offset, .line = line, .chain = c, .signal = f->signal });
}

/* f has been unwound: its frame is known. */
static int put_frames(struct stack *s, const struct unwind_frame *f)
{
	const struct module *m = modules_find(s->in, f->pc - !f->exact);
	struct line_info line CLEANUP(line_info_done) = { 0 };
	struct scope_chain c = { .n = 0 };
	struct symbol sym = { 0 };
	uint64_t addr;
	bool known;
	int r;

	if (!m || !m->code)
		return put_plain(s, m, f, &sym, NULL, NULL);
	addr = f->pc - m->bias - !f->exact;
	symbols_lookup(m->file, addr, &sym);
	if (sym.name)
		sym.offset += !f->exact;
	known = symbols_scopes(m->file, addr, &c);
	if (known)
		symbols_line(&c, addr, &line);
	if (!c.n)
		return put_plain(s, m, f, &sym, &c, &line);
	r = put_scopes(s, m, f, addr, &c, &sym, &line);
	return r;
}

static int walk(struct stack *s, const struct user_regs_struct *u, json_t *result)
{
	struct unwind_frame f, next;
	const char *note = NULL, *guess = NULL;
	char text[160];
	int r, more = 1;

	unwind_first(u, &f);
	while (more > 0 && s->n < INSPECT_FRAMES_MAX) {
		more = unwind_next(s->in, &f, &next, &note);
		if (more < 0)
			return more;
		if (f.guess && !guess) {
			guess = f.guess;
			snprintf(text, sizeof(text), "from frame %zu on callers were found by the %s, without call frame information", s->n + 1, guess);
		}
		r = put_frames(s, &f);
		if (r < 0)
			return r;
		f = next;
	}
	if (more)
		note = "the stack is deeper: not all of it is shown";
	r = jsonx_set_bool(result, "complete", !note);
	if (!note && guess)
		note = text;
	return r < 0 ? r : jsonx_set_new(result, "note", jsonx_text(note));
}

int answer_stack(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei)
{
	json_t *result CLEANUP(jsonx_unrefp) = json_object();
	struct stack s = { .in = in, .frames = json_array() };
	struct user_regs_struct u;
	struct place p;
	int r = jsonx_set_new(result, "frames", s.frames);

	if (r >= 0)
		r = position_go(in, q, &p, ei);
	if (r >= 0)
		r = dbg_regs(in->dbg, p.tid, &u);
	if (r >= 0)
		r = position_put(&p, result);
	if (r < 0)
		return r;
	guard_begin(in);
	r = modules_update(in);
	if (r >= 0)
		r = walk(&s, &u, result);
	guard_end();
	if (r >= 0)
		*ret = TAKE(result);
	return MIN(r, 0);
}
