/* Exception filters: C++ exceptions, panics, signals, system calls; and exceptionInfo about the stop that one of them led to.
 *
 * gdb is told of processes being made and replaced by nobody (the server tells no fork-events, a session looks at one process), but a system call shows each:
 * those filters are catchpoints of calls with a condition that lets one stop of two through, the entry or the return. */
#define LOG_AREA "dap.except"
#include "dap/except_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/os.h"
#include "base/str.h"

/* --- filters --- */

enum filter_kind { FILTER_CXX, FILTER_FUNCTION, FILTER_SIGNAL, FILTER_CALLS };

struct filter {
	const char *id, *label, *description, *condition; /* condition: its description; NULL = none */
	enum filter_kind kind;
	bool on;
	const char *what; /* CXX, FUNCTION: names; CALLS: names, NULL = the condition's */
	const char *only; /* CALLS: condition */
	struct {
		const char *what, *only;
	} also[2];        /* more calls with other conditions */
};

/* The kernel's -ENOSYS stands in rax at the entry of a call. */
#define AT_ENTRY "$rax == -38"
#define AT_RETURN "$rax != -38"
/* Threads are made by clone() and clone3() as well: with CLONE_THREAD. The number of the call is gone at its return. */
#define NO_THREAD "($rdi & 0x10000) == 0"
#define NO_THREAD_3 "(*(unsigned long *) $rdi & 0x10000) == 0"

static const struct filter filters[] = {
	/* clang-format off */
	{ .id = "throw", .label = "C++: throw", .kind = FILTER_CXX, .what = "__cxa_throw",
	  .description = "Stops where a C++ exception is thrown.",
	  .condition = "Regular expression for the exception's type" },
	{ .id = "rethrow", .label = "C++: rethrow", .kind = FILTER_CXX, .what = "__cxa_rethrow",
	  .description = "Stops where a C++ exception is thrown again.",
	  .condition = "Regular expression for the exception's type" },
	{ .id = "catch", .label = "C++: catch", .kind = FILTER_CXX, .what = "__cxa_begin_catch",
	  .description = "Stops where a C++ exception is caught.",
	  .condition = "Regular expression for the exception's type" },
	{ .id = "rust_panic", .label = "Rust: panic", .kind = FILTER_FUNCTION, .what = "rust_panic",
	  .description = "Stops where a Rust panic begins to unwind; its message was printed before." },
	{ .id = "go_panic", .label = "Go: panic", .kind = FILTER_FUNCTION, .what = "runtime.gopanic runtime.fatalthrow",
	  .description = "Stops at a Go panic, also of the runtime." },
	{ .id = "signal", .label = "Signals", .kind = FILTER_SIGNAL, .on = true,
	  .description = "Stops where a signal is about to be delivered: SIGSEGV and others that end a program with a core, or those of the condition.",
	  .condition = "Names of signals: SIGSEGV SIGUSR1, or all" },
	{ .id = "syscall", .label = "System calls", .kind = FILTER_CALLS,
	  .description = "Stops at the entry and at the return of system calls.",
	  .condition = "Names or numbers of calls: openat write; without any all calls" },
	{ .id = "fork", .label = "New process", .kind = FILTER_CALLS, .what = "fork vfork", .only = AT_RETURN,
	  .also = { { "clone", AT_RETURN " && " NO_THREAD }, { "clone3", AT_RETURN " && " NO_THREAD_3 } },
	  .description = "Stops when fork, vfork or clone has made a process (not a thread)." },
	{ .id = "exec", .label = "New program", .kind = FILTER_CALLS, .what = "execve execveat", .only = AT_ENTRY,
	  .description = "Stops where the process is about to execute another program." },
	{ .id = "exit", .label = "Exit", .kind = FILTER_CALLS, .what = "exit_group", .only = AT_ENTRY,
	  .description = "Stops where the process is about to end itself." },
	/* clang-format on */
};

static const char fatal_signals[] = "SIGSEGV SIGBUS SIGILL SIGFPE SIGABRT SIGSYS SIGQUIT SIGXCPU SIGXFSZ";

#define NUMBERS_MAX 8

/* A filter that is on, and gdb's numbers for it. */
struct active {
	const struct filter *f;
	int64_t number[NUMBERS_MAX];
	size_t n;
};

struct dap_except {
	struct active active[2 * ARRAY_SIZE(filters)]; /* one may come as filter and with an option */
	size_t n;
	/* of the last stop */
	const struct filter *hit; /* NULL = it was no exception, or a signal without filter */
	json_t *mi;               /* owned; NULL = no stop yet */
	bool signal, exception;
};

int except_new(struct dap_except **ret)
{
	*ret = os_calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void except_free(struct dap_except *e)
{
	if (!e)
		return;
	jsonx_unrefp(&e->mi);
	free(e);
}

json_t *except_filters(void)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < ARRAY_SIZE(filters); i++) {
		const struct filter *f = &filters[i];
		bool cond = f->condition;
		json_t *one = json_pack("{ss ss ss sb sb ss*}", "filter", f->id, "label", f->label, "description", f->description, "default", f->on,
					"supportsCondition", cond, "conditionDescription", f->condition);

		if (!one || json_array_append_new(list, one) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* --- setting --- */

static int take_number(struct active *a, int64_t number)
{
	if (number <= 0 || a->n == NUMBERS_MAX)
		return ERR_PROTOCOL;
	a->number[a->n++] = number;
	return 0;
}

static int last_number(struct dap *d, struct active *a)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int r = mi_command(d->mi, &j, &d->ei, "-data-evaluate-expression $bpnum");

	return r < 0 ? r : take_number(a, mi_int(j, "value", 0));
}

/* A breakpoint in the C++ runtime; libraries bring it later. */
static int set_cxx(struct dap *d, struct active *a, const char *condition)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	struct buf c CLEANUP(buf_done) = { 0 }, b CLEANUP(buf_done) = { 0 };
	int r = python_check(d);

	if (r < 0)
		return r;
	if (condition) {
		buf_printf(&c, "$_hermit_type(\"%s\", ", a->f->id);
		mi_quote(&c, condition);
		buf_printf(&c, ")");
		buf_printf(&b, "-c ");
		mi_quote(&b, buf_cstr(&c));
	}
	r = mi_command(d->mi, &j, &d->ei, "-break-insert -f %s --function %s", buf_cstr(&b), a->f->what);
	if (r >= 0)
		r = take_number(a, mi_int(json_object_get(j, "bkpt"), "number", 0));
	if (r >= 0 && json_object_get(json_object_get(j, "bkpt"), "pending"))
		r = errinfo_set(&d->ei, -EREMOTEIO, "no C++ runtime is loaded (yet)");
	return r;
}

/* The next word of *s; false: there is none. */
static bool next_word(const char **s, char *word, size_t size)
{
	size_t n;

	*s += strspn(*s, " ,;|\t");
	n = strcspn(*s, " ,;|\t");
	if (!n || n >= size)
		return false;
	memcpy(word, *s, n);
	word[n] = 0;
	*s += n;
	return true;
}

/* Those of the names that the program has. */
static int set_functions(struct dap *d, struct active *a, const char *condition)
{
	const char *s = a->f->what;
	char name[64];

	(void)condition;
	while (next_word(&s, name, sizeof(name))) {
		json_t *j CLEANUP(jsonx_unrefp) = NULL;
		struct errinfo why = { 0 };
		int r = mi_command(d->mi, &j, &why, "-break-insert --function %s", name);

		if (r >= 0)
			r = take_number(a, mi_int(json_object_get(j, "bkpt"), "number", 0));
		if (r < 0 && r != -EREMOTEIO)
			return r;
	}
	return a->n ? 0 : errinfo_set(&d->ei, -EREMOTEIO, "this program has no %s", a->f->what);
}

/* The debugger's own signals (SIGTRAP, SIGINT) stop always: gdb's "all" leaves them out. */
static int pass_signals(struct dap *d)
{
	return mi_console(d->mi, NULL, &d->ei, "handle all nostop noprint pass");
}

static int set_signals(struct dap *d, struct active *a, const char *condition)
{
	const char *s = condition ? condition : fatal_signals;
	char word[32], upper[40];
	int r = 0;

	(void)a;
	while (r >= 0 && next_word(&s, word, sizeof(word))) {
		for (char *c = word; *c; c++)
			*c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
		if (strcmp(word, "ALL") == 0)
			snprintf(upper, sizeof(upper), "all");
		else
			snprintf(upper, sizeof(upper), "%s%s", str_has_prefix(word, "SIG") || (*word >= '0' && *word <= '9') ? "" : "SIG", word);
		r = mi_console(d->mi, NULL, &d->ei, "handle %s stop print pass", upper);
	}
	return r >= 0 && s[strspn(s, " ,;|\t")] ? errinfo_set(&d->ei, -EINVAL, "'%.60s' is no list of signals", condition) : r;
}

static bool harmless_words(const char *s)
{
	return !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:,; \t")];
}

/* only: NULL = no condition. */
static int catch_calls(struct dap *d, struct active *a, const char *names, const char *only)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	char word[64];
	int r;

	buf_printf(&b, "catch syscall");
	while (next_word(&names, word, sizeof(word)))
		buf_printf(&b, " %s", word);
	r = mi_console(d->mi, NULL, &d->ei, "%s", buf_cstr(&b));
	if (r >= 0)
		r = last_number(d, a);
	return r < 0 || !only ? r : mi_command(d->mi, NULL, &d->ei, "-break-condition %" PRId64 " \"%s\"", a->number[a->n - 1], only);
}

static int set_calls(struct dap *d, struct active *a, const char *condition)
{
	const struct filter *f = a->f;
	const char *names = f->what ? f->what : condition ? condition : "";
	/* conditions are C, whatever the program's language */
	int r = mi_command(d->mi, NULL, &d->ei, "-gdb-set language c"), r2;

	if (r < 0)
		return r;
	if (harmless_words(names))
		r = catch_calls(d, a, names, f->only);
	else
		r = errinfo_set(&d->ei, -EINVAL, "'%.60s' is no list of system calls", condition);
	for (size_t i = 0; i < ARRAY_SIZE(f->also) && f->also[i].what && r >= 0; i++)
		r = catch_calls(d, a, f->also[i].what, f->also[i].only);
	r2 = mi_command(d->mi, NULL, &d->ei, "-gdb-set language auto");
	return r < 0 ? r : r2;
}

static int clear_filters(struct dap *d)
{
	struct dap_except *e = d->except;
	int r = pass_signals(d);

	for (size_t i = 0; i < e->n && r >= 0; i++)
		for (size_t k = 0; k < e->active[i].n; k++) {
			struct errinfo ignored = { 0 };

			if (mi_command(d->mi, NULL, &ignored, "-break-delete %" PRId64, e->active[i].number[k]) < 0)
				log_debug("exception filter: %s", ignored.text);
		}
	e->n = 0;
	return r;
}

static const struct filter *find_filter(const char *id)
{
	for (size_t i = 0; id && i < ARRAY_SIZE(filters); i++)
		if (strcmp(filters[i].id, id) == 0)
			return &filters[i];
	return NULL;
}

static int set_filter(struct dap *d, const char *id, const char *condition, json_t *list)
{
	static int (*const set[])(struct dap *d, struct active *a, const char *condition) = {
		[FILTER_CXX] = set_cxx, [FILTER_FUNCTION] = set_functions, [FILTER_SIGNAL] = set_signals, [FILTER_CALLS] = set_calls,
	};
	struct dap_except *e = d->except;
	struct active *a = &e->active[e->n];
	json_t *one;
	int r;

	*a = (struct active){ .f = find_filter(id) };
	if (condition && !condition[strspn(condition, " \t")])
		condition = NULL;
	if (!a->f)
		r = errinfo_set(&d->ei, -EINVAL, "there is no exception filter '%.60s'", id ? id : "");
	else if (e->n + 1 == ARRAY_SIZE(e->active))
		r = errinfo_set(&d->ei, -EINVAL, "too many exception filters");
	else
		r = set[a->f->kind](d, a, condition);
	if (r < 0 && r != -EREMOTEIO && r != -EINVAL)
		return r;
	one = json_pack("{sb so*}", "verified", r >= 0, "message", r < 0 ? jsonx_text(d->ei.text) : NULL);
	if (r < 0)
		d->ei = (struct errinfo){ 0 };
	/* one that failed half-way is cleared away with the others */
	e->n += a->f && e->n + 1 < ARRAY_SIZE(e->active);
	return one && json_array_append_new(list, one) == 0 ? 0 : -ENOMEM;
}

struct set_args {
	json_t *filters, *options;
};

static const struct arg set_table[] = {
	ARG(ARRAY, struct set_args, filters, "filters", .required = true),
	ARG(ARRAY, struct set_args, options, "filterOptions"),
	{ .name = NULL },
};

static int set_exception_breakpoints(struct dap *d, const void *args, json_t *body)
{
	const struct set_args *a = args;
	json_t *list CLEANUP(jsonx_unrefp) = json_array();
	int r = list ? clear_filters(d) : -ENOMEM;

	for (size_t i = 0; i < json_array_size(a->filters) && r >= 0; i++)
		r = set_filter(d, json_string_value(json_array_get(a->filters, i)), NULL, list);
	for (size_t i = 0; i < json_array_size(a->options) && r >= 0; i++) {
		const json_t *o = json_array_get(a->options, i);

		r = set_filter(d, mi_str(o, "filterId"), mi_str(o, "condition"), list);
	}
	return r >= 0 ? jsonx_set_new(body, "breakpoints", TAKE(list)) : r;
}
DAP_METHOD(set_exception_breakpoints, set_table, struct set_args);

/* --- stops --- */

static const struct filter *filter_of_number(const struct dap_except *e, int64_t number)
{
	for (size_t i = 0; number > 0 && i < e->n; i++)
		for (size_t k = 0; k < e->active[i].n; k++)
			if (e->active[i].number[k] == number)
				return e->active[i].f;
	return NULL;
}

bool except_has(const struct dap *d, int64_t number)
{
	return filter_of_number(d->except, number) != NULL;
}

int except_value(struct dap *d, const char *expr, char **ret)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	struct errinfo ignored = { 0 };
	int64_t thread = MAX(run_where(d)->thread_id, 1);
	int r = mi_command(d->mi, &j, &ignored, "-data-evaluate-expression --thread %" PRId64 " --frame 0 --language c++ \"%s\"", thread, expr);

	if (r < 0 && r != -EREMOTEIO)
		return r;
	*ret = os_strdup(r >= 0 && mi_str(j, "value") ? mi_str(j, "value") : "");
	return *ret ? 0 : -ENOMEM;
}

int except_thrown(struct dap *d, const char *kind, json_t **ret)
{
	int r = python_ask(d, 0, 0, ret, NULL, "exception('%s')", kind);

	if (r == -EREMOTEIO || r == ERR_CORRUPT) {
		*ret = json_object();
		r = *ret ? 0 : -ENOMEM;
	}
	return r;
}

static int describe_filter(struct dap *d, struct run_stop *s, const struct filter *f)
{
	const char *call = mi_str(s->mi, "syscall-name"), *reason = mi_str(s->mi, "reason");
	struct buf b CLEANUP(buf_done) = { 0 };
	json_t *thrown CLEANUP(jsonx_unrefp) = NULL;
	char *rax CLEANUP(freep) = NULL;
	int r = 0;

	if (f->kind == FILTER_CXX) {
		r = except_thrown(d, f->id, &thrown);
		buf_printf(&b, "%s", f->label);
		if (r >= 0 && mi_str(thrown, "type"))
			buf_printf(&b, " of %s", mi_str(thrown, "type"));
	} else if (f->kind == FILTER_CALLS && call && strcmp(reason, "syscall-return") == 0) {
		r = except_value(d, "(long) $rax", &rax);
		buf_printf(&b, "%s has returned %s", call, rax && *rax ? rax : "?");
	} else if (f->kind == FILTER_CALLS && call) {
		buf_printf(&b, "%s is called", call);
	} else {
		buf_printf(&b, "%s", f->label);
	}
	return r < 0 ? r : run_stop_name(s, "exception", buf_cstr(&b));
}

static int describe_signal(struct dap *d, struct run_stop *s)
{
	const char *name = mi_str(s->mi, "signal-name"), *meaning = mi_str(s->mi, "signal-meaning");
	struct buf b CLEANUP(buf_done) = { 0 };
	char *addr CLEANUP(freep) = NULL;
	int r = 0;

	buf_printf(&b, "%s", name);
	if (strcmp(name, "SIGSEGV") == 0 || strcmp(name, "SIGBUS") == 0) {
		r = except_value(d, "(unsigned long) $_siginfo._sifields._sigfault.si_addr", &addr);
		if (addr && *addr)
			buf_printf(&b, " at 0x%llx", strtoull(addr, NULL, 10));
	}
	if (meaning)
		buf_printf(&b, ": %s", meaning);
	return r < 0 ? r : run_stop_name(s, "exception", buf_cstr(&b));
}

int except_judge(struct dap *d, struct run_stop *s)
{
	struct dap_except *e = d->except;
	const char *reason = mi_str(s->mi, "reason");

	jsonx_unrefp(&e->mi);
	e->mi = json_incref((json_t *)s->mi);
	e->hit = filter_of_number(e, mi_int(s->mi, "bkptno", 0));
	e->signal = reason && strcmp(reason, "signal-received") == 0 && strcmp(s->reason, "exception") == 0 && mi_str(s->mi, "signal-name");
	/* at the crash, where a session may begin, gdb was told of no signal */
	e->exception = strcmp(s->reason, "exception") == 0;
	if (e->hit)
		return describe_filter(d, s, e->hit);
	return e->signal ? describe_signal(d, s) : 0;
}

struct except_stop except_last(const struct dap *d)
{
	const struct dap_except *e = d->except;

	return (struct except_stop){ .mi = e->mi,
				     .filter = e->hit ? e->hit->id : NULL,
				     .signal = e->signal,
				     .exception = e->exception,
				     .cxx = e->hit && e->hit->kind == FILTER_CXX };
}
