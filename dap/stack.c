/* Frames, and the references that clients hold: see parts_priv.h. References are numbers that rise for the whole session; those of before the last
 * run are told from those of now by that, so a client that is late gets an error and never another variable. */
#define LOG_AREA "dap.stack"
#include "dap/guard_priv.h"
#include "dap/paths_priv.h"
#include "dap/stack_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/os.h"
#include "base/str.h"

/* variablesReference has to stay below 2^31. */
#define REF_MAX (INT64_C(1) << 30)
#define REFS_MAX 1000000u
/* A client that asks for all frames gets so many at once, and asks for more if it wants. */
#define FRAMES_AT_ONCE 1000
/* Beyond the page that was asked for, so many frames are counted. */
#define FRAMES_AHEAD 100

/* --- life --- */

int stack_new(struct dap_stack **ret)
{
	struct dap_stack *s = os_calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->next_frame = s->first_ref = 1;
	*ret = s;
	return 0;
}

static void ref_free(struct ref *r)
{
	free(r->expr);
	free(r->varobj);
	free(r->type);
	free(r);
}

static void clear(struct dap_stack *s)
{
	for (size_t i = 0; i < s->n_refs; i++)
		ref_free(s->refs[i]);
	s->first_ref += (int64_t)s->n_refs;
	if (s->first_ref > REF_MAX)
		s->first_ref = 1;
	s->n_refs = s->n_pages = 0;
	s->threads_old = true;
	jsonx_unrefp(&s->listed);
	jsonx_unrefp(&s->libraries);
	s->listed = s->libraries = NULL;
	freep(&s->returned);
	s->returned = NULL;
}

void stack_free(struct dap_stack *s)
{
	if (!s)
		return;
	clear(s);
	jsonx_unrefp(&s->threads);
	jsonx_unrefp(&s->registers);
	free(s->pages);
	free(s->refs);
	free(s);
}

void stack_forget(struct dap *d)
{
	struct dap_stack *s = d->stack;
	int r = 0;

	for (size_t i = 0; i < s->n_refs && d->mi && r != ERR_GUEST_GONE; i++)
		if (s->refs[i]->ours)
			r = mi_command(d->mi, NULL, NULL, "-var-delete %s", s->refs[i]->varobj);
	clear(s);
}

void stack_stopped(struct dap *d, const struct run_stop *stop)
{
	const char *name = mi_str(stop->mi, "gdb-result-var");

	freep(&d->stack->returned);
	d->stack->returned = name ? os_strdup(name) : NULL;
	d->stack->returned_thread = (int)stop->thread;
}

/* --- references --- */

/* Room for one more of so many: p or its successor, NULL when out of memory. */
static void *grown(void *p, size_t *cap, size_t n, size_t size)
{
	size_t want = *cap ? *cap * 2 : 64;
	void *more;

	if (n < *cap)
		return p;
	more = reallocarray(p, want, size);
	if (more)
		*cap = want;
	return more;
}

static int copy(const char *s, char **ret)
{
	*ret = s ? os_strdup(s) : NULL;
	return s && !*ret ? -ENOMEM : 0;
}

int stack_ref_new(struct dap *d, const struct ref *from, int64_t *ret)
{
	struct dap_stack *s = d->stack;
	struct ref **refs, *r;

	if (s->n_refs >= REFS_MAX)
		return errinfo_set(&d->ei, ERR_LIMIT, "more than %u variables were opened at this stop", REFS_MAX);
	refs = grown(s->refs, &s->cap_refs, s->n_refs, sizeof(*s->refs));
	if (!refs)
		return -ENOMEM;
	s->refs = refs;
	r = os_calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	*r = *from;
	r->expr = r->varobj = r->type = NULL;
	if (copy(from->expr, &r->expr) < 0 || copy(from->varobj, &r->varobj) < 0 || copy(from->type, &r->type) < 0) {
		ref_free(r);
		return -ENOMEM;
	}
	*ret = s->first_ref + (int64_t)s->n_refs;
	s->refs[s->n_refs++] = r;
	return 0;
}

int stack_ref(struct dap *d, int64_t id, struct ref **ret)
{
	struct dap_stack *s = d->stack;

	if (id < s->first_ref || id >= s->first_ref + (int64_t)s->n_refs)
		return errinfo_set(&d->ei, -ENOENT, "there are no variables of number %" PRId64 ": the program has run since, or there never were", id);
	*ret = s->refs[id - s->first_ref];
	return 0;
}

/* --- settings --- */

static void setting(struct dap *d, const char *text)
{
	struct errinfo ei = { 0 };

	if (mi_console(d->mi, NULL, &ei, "%s", text) < 0)
		log_debug("%s: %s", text, ei.text);
}

void stack_quiet(struct dap *d)
{
	setting(d, "set may-call-functions off");
}

void stack_loud(struct dap *d)
{
	setting(d, "set may-call-functions on");
}

void stack_hex(struct dap *d, bool hex)
{
	if (hex)
		setting(d, "set output-radix 16");
}

void stack_plain(struct dap *d, bool hex)
{
	if (hex)
		setting(d, "set output-radix 10");
}

/* A bug of gdb ends the command, not gdb: 13.1 has one with enums of today's Rust. */
static const char *const settings[] = {
	"set print object on",
	"set print max-depth 3",
	"set print elements 200",
	"set print repeats 10",
	"set print sevenbit-strings off",
	"set host-charset UTF-8",
	"set max-value-size 65536",
	"set python print-stack none",
	"maintenance set internal-error quit no",
	"maintenance set internal-error corefile no",
	"maintenance set internal-warning quit no",
	"maintenance set internal-warning corefile no",
};

void stack_setup(struct dap *d)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		setting(d, settings[i]);
}

/* --- frames --- */

static const struct frame_page *page_of(const struct dap_stack *s, int64_t id)
{
	for (size_t i = s->n_pages; i-- > 0;)
		if (id >= s->pages[i].first_id && id < s->pages[i].first_id + s->pages[i].n)
			return &s->pages[i];
	return NULL;
}

int stack_frame(struct dap *d, int64_t frame_id, int *ret_thread, int *ret_level)
{
	const struct frame_page *p = page_of(d->stack, frame_id);

	if (frame_id == 0) {
		*ret_thread = (int)MAX(run_where(d)->thread_id, 1);
		*ret_level = 0;
		return 0;
	}
	if (!p)
		return errinfo_set(&d->ei, -ENOENT, "there is no frame of number %" PRId64 ": the program has run since, or there never was", frame_id);
	*ret_thread = p->thread;
	*ret_level = (int)(p->low + (frame_id - p->first_id));
	return 0;
}

/* The first id of frames: the same frames keep their ids while the program stands. */
static int page_id(struct dap_stack *s, int thread, int64_t low, int64_t n, int64_t *ret)
{
	struct frame_page *p;

	for (size_t i = 0; i < s->n_pages; i++) {
		p = &s->pages[i];
		if (p->thread == thread && low >= p->low && low + n <= p->low + p->n) {
			*ret = p->first_id + (low - p->low);
			return 0;
		}
	}
	p = grown(s->pages, &s->cap_pages, s->n_pages, sizeof(*s->pages));
	if (!p)
		return -ENOMEM;
	s->pages = p;
	s->pages[s->n_pages++] = (struct frame_page){ .thread = thread, .low = low, .n = n, .first_id = s->next_frame };
	*ret = s->next_frame;
	s->next_frame += n;
	return 0;
}

/* gdb does not say which frames are inlined; they stand at the very place of the one around them, and bear another name. */
static bool inlined(const json_t *frame, const json_t *outer)
{
	const char *func = mi_str(frame, "func"), *around = mi_str(outer, "func");

	return func && around && mi_addr(frame, "addr") == mi_addr(outer, "addr") && strcmp(func, around) != 0;
}

/* Its source, else its machine code where the client shows none by itself. NULL: none. */
static json_t *frame_source(struct dap *d, const json_t *mi, int64_t *ret_line)
{
	CLEANUP(jsonx_unrefp) json_t *source = sources_of(d, mi_str(mi, "file"), mi_str(mi, "fullname"));

	*ret_line = sources_line_out(d, mi_int(mi, "line", 0));
	if (json_is_null(source))
		source = sources_of_code(d, mi, ret_line);
	return json_is_null(source) ? NULL : TAKE(source);
}

static int frame_place(struct dap *d, const json_t *mi, json_t *f, bool artificial)
{
	int64_t line = 0;
	CLEANUP(jsonx_unrefp) json_t *source = artificial ? NULL : frame_source(d, mi, &line);
	bool has = source;
	int r = jsonx_set_i64(f, "line", has ? MAX(line, 0) : 0);

	if (r >= 0)
		r = jsonx_set_i64(f, "column", has && d->client.columns_at_1 ? 1 : 0);
	if (r >= 0 && has)
		r = jsonx_set_new(f, "source", TAKE(source));
	if (r >= 0 && !has)
		r = jsonx_set_str(f, "presentationHint", artificial ? "label" : "subtle");
	return r;
}

static bool lies_in(const json_t *library, uint64_t pc)
{
	const json_t *ranges = json_object_get(library, "ranges");

	for (size_t i = 0; i < json_array_size(ranges); i++) {
		const json_t *range = json_array_get(ranges, i);

		if (pc >= mi_addr(range, "from") && pc < mi_addr(range, "to"))
			return true;
	}
	return false;
}

/* The id that `modules` gives to what the frame's code is of. gdb tells it of frames without debugging information only. */
static const char *frame_module(struct dap *d, const json_t *mi)
{
	const json_t *list = json_object_get(d->stack->libraries, "shared-libraries");
	const char *from = mi_str(mi, "from");

	for (size_t i = 0; i < json_array_size(list) && !from; i++)
		if (lies_in(json_array_get(list, i), mi_addr(mi, "addr")))
			from = mi_str(json_array_get(list, i), "target-name");
	return from ? path_plain(from) : mi_str(mi, "fullname") ? d->program : NULL;
}

static json_t *make_frame(struct dap *d, const json_t *mi, const json_t *outer, int64_t id)
{
	const char *func = mi_str(mi, "func"), *from = mi_str(mi, "from");
	bool artificial = func && *func == '<'; /* <signal handler called>, <function called from gdb> */
	const char *module = frame_module(d, mi);
	uint64_t pc = mi_addr(mi, "addr");
	CLEANUP(jsonx_unrefp) json_t *f = json_object();
	CLEANUP(buf_done) struct buf b = { 0 };
	int r;

	if (!f)
		return NULL;
	if (func && strcmp(func, "??"))
		buf_printf(&b, "%s%s", func, inlined(mi, outer) ? " [inlined]" : "");
	else
		buf_printf(&b, "0x%" PRIx64, pc);
	if (!mi_str(mi, "line") && from && !artificial) { /* which library it is in, where nothing else is known */
		buf_printf(&b, " (%s)", path_base(from));
	}
	r = jsonx_set_i64(f, "id", id);
	if (r >= 0)
		r = jsonx_set_new(f, "name", jsonx_text(buf_cstr(&b)));
	if (r >= 0)
		r = frame_place(d, mi, f, artificial);
	if (r >= 0 && !artificial)
		r = jsonx_set_new(f, "instructionPointerReference", json_sprintf("0x%" PRIx64, pc));
	if (r >= 0 && !artificial && module)
		r = jsonx_set_new(f, "moduleId", jsonx_text(module));
	return r < 0 ? NULL : TAKE(f);
}

/* How many there are: so far that a client knows that there are more. The more it has seen, the farther is looked. */
static int count_frames(struct dap *d, int thread, int64_t seen, bool more, int64_t *ret)
{
	CLEANUP(jsonx_unrefp) json_t *mi = NULL;
	int r;

	*ret = seen;
	if (!more)
		return 0;
	r = mi_command(d->mi, &mi, NULL, "-stack-info-depth --thread %d %" PRId64, thread, seen + FRAMES_AHEAD);
	*ret = MAX(r < 0 ? 0 : mi_int(mi, "depth", 0), seen + 1);
	return r == ERR_GUEST_GONE || r == ERR_INTERRUPTED ? r : 0;
}

struct trace_args {
	int64_t thread, start, levels;
};

static const struct arg trace_table[] = {
	ARG(INT, struct trace_args, thread, "threadId", .required = true),
	ARG(INT, struct trace_args, start, "startFrame"),
	ARG(INT, struct trace_args, levels, "levels"),
	{ .name = NULL },
};

/* One frame more than wanted is asked for: it tells whether there are more, and whether the last is inlined into it. */
static int list_frames(struct dap *d, int thread, int64_t low, int64_t n, json_t **ret)
{
	int r = mi_command(d->mi, ret, &d->ei, "-stack-list-frames --thread %d %" PRId64 " %" PRId64, thread, low, low + n);

	/* behind the last one */
	if (r == -EREMOTEIO && low > 0 && strstr(d->ei.text, "enough frames")) {
		d->ei = (struct errinfo){ 0 };
		*ret = json_pack("{s[]}", "stack");
		r = *ret ? 0 : -ENOMEM;
	}
	return r;
}

static int stack_trace(struct dap *d, const void *args, json_t *body)
{
	const struct trace_args *a = args;
	int64_t low = MAX(a->start, 0), want = a->levels > 0 && a->levels <= FRAMES_AT_ONCE ? a->levels : FRAMES_AT_ONCE, n, id = 0, total = 0;
	CLEANUP(jsonx_unrefp) json_t *mi = NULL;
	json_t *frames = json_array();
	const json_t *list;
	int r = jsonx_set_new(body, "stackFrames", frames);

	if (low > INT32_MAX || a->thread <= 0 || a->thread > INT32_MAX)
		return errinfo_set(&d->ei, -EINVAL, "startFrame, threadId: no such frame");
	if (r >= 0)
		r = list_frames(d, (int)a->thread, low, want, &mi);
	if (r >= 0 && !d->stack->libraries) /* without them modules are not told */
		r = mi_command(d->mi, &d->stack->libraries, NULL, "-file-list-shared-libraries") == ERR_GUEST_GONE ? ERR_GUEST_GONE : 0;
	list = json_object_get(mi, "stack");
	n = MIN((int64_t)json_array_size(list), want);
	if (r >= 0 && n > 0)
		r = page_id(d->stack, (int)a->thread, low, n, &id);
	for (int64_t i = 0; i < n && r >= 0; i++) {
		json_t *f = make_frame(d, json_array_get(list, (size_t)i), json_array_get(list, (size_t)i + 1), id + i);

		r = json_array_append_new(frames, f) < 0 ? -ENOMEM : 0;
	}
	if (r >= 0)
		r = count_frames(d, (int)a->thread, low + n, (int64_t)json_array_size(list) > n, &total);
	return r < 0 ? r : jsonx_set_i64(body, "totalFrames", total);
}
DAP_METHOD(stack_trace, trace_table, struct trace_args);

/* --- addresses --- */

/* A number that follows from gdb's own variables, in C whatever the program's language is. */
static int own_number(struct dap *d, int thread, int level, const char *expr, uint64_t *ret, struct errinfo *ei)
{
	CLEANUP(jsonx_unrefp) json_t *mi = NULL;
	int r = mi_command(d->mi, &mi, ei, "-data-evaluate-expression --thread %d --frame %d --language c++ \"%s\"", thread, level, expr);

	if (r >= 0)
		*ret = mi_addr(mi, "value");
	return r;
}

int stack_lvalue(struct dap *d, int64_t frame_id, const char *expr, uint64_t *ret_addr, uint64_t *ret_len)
{
	struct errinfo why = { 0 };
	uint64_t addr = 0, len = 0;
	int thread, level, r = stack_frame(d, frame_id, &thread, &level);

	if (r < 0)
		return r;
	if (guard_expression(expr) & (GUARD_WRITES | GUARD_KEEPS | GUARD_ESCAPES))
		return errinfo_set(&d->ei, -EINVAL, "'%.200s' has no address: it would change something", expr);
	stack_quiet(d);
	/* the expression is of the program's language, which need not know of sizes (Go) */
	r = mi_console_in(d->mi, thread, level, NULL, &why, "set $hermit_at = &(%s)", expr);
	if (r >= 0)
		r = own_number(d, thread, level, "(unsigned long) $hermit_at", &addr, &why);
	if (r >= 0)
		r = own_number(d, thread, level, "sizeof(*$hermit_at)", &len, &why);
	stack_loud(d);
	if (r == -EREMOTEIO)
		return errinfo_set(&d->ei, -EINVAL, "'%.200s' has no address: %s", expr, why.text);
	if (r < 0)
		return errinfo_set(&d->ei, r, "%s", why.text);
	if (!addr)
		return errinfo_set(&d->ei, -EINVAL, "'%.200s' has no address", expr);
	*ret_addr = addr;
	*ret_len = len;
	return 0;
}
