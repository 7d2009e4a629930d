/* The way to a program's own main, by breakpoints of one hit.
 *
 * Where the program's symbols have a main, that is one breakpoint. Else the program's entry point is the first stop: by then its libraries are there, and
 * one of them may have it. A stripped program has none, but its C library is given the address. */
#define LOG_AREA "dap.entry"
#include "dap/run_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"

/* The names that a program's own main has. A Go program has both; what C calls main is the runtime's there. */
static const char *const mains[] = { "main.main", "main" };
/* Where Rust's is: CRATE::main. What C calls main only calls the runtime there. */
#define RUST_MAIN "^[^:<]*::main$"
/* The C library's function that calls main, which is its first argument: glibc, musl. */
#define CALLER "__libc_start_main"

/* The breakpoint is e's; *ret (may be NULL): gdb's tuple of it, new reference. -EREMOTEIO: there is no such place. */
static int insert(struct dap *d, const char *where, struct entry *e, json_t **ret)
{
	struct errinfo why = { 0 };
	json_t *j CLEANUP(jsonx_unrefp) = NULL, *bkpt;
	int r = mi_command(d->mi, &j, &why, "-break-insert -t --qualified %s", where);

	if (r == -EREMOTEIO)
		log_debug("%s: %s", where, why.text);
	else if (r < 0)
		d->ei = why;
	if (r < 0)
		return r;
	bkpt = json_object_get(j, "bkpt");
	e->number = mi_int(bkpt, "number", 0);
	if (ret)
		*ret = json_incref(bkpt);
	return 0;
}

static int insert_at(struct dap *d, uint64_t addr, struct entry *e)
{
	char where[32];

	snprintf(where, sizeof(where), "*0x%" PRIx64, addr);
	return insert(d, where, e, NULL);
}

/* True: name is the main of the crate that the program is called after. */
static bool of_program(const struct dap *d, const char *name)
{
	const char *slash = d->program ? strrchr(d->program, '/') : NULL, *base = slash ? slash + 1 : d->program;
	size_t i = 0;

	for (; base && base[i] && name[i] == (base[i] == '-' ? '_' : base[i]); i++)
		;
	return base && !base[i] && strcmp(name + i, "::main") == 0;
}

static bool is_rust(const json_t *file)
{
	const char *name = mi_str(file, "filename"), *dot = name ? strrchr(name, '.') : NULL;

	return dot && strcmp(dot, ".rs") == 0;
}

/* The program's among all functions that are called like it; NULL: there is none, or who knows which. */
static const char *choose_rust(const struct dap *d, const json_t *found)
{
	const json_t *files = json_object_get(json_object_get(found, "symbols"), "debug");
	const char *only = NULL;
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *file = json_array_get(files, i), *symbols = json_object_get(file, "symbols");

		for (size_t k = 0; is_rust(file) && k < json_array_size(symbols); k++, n++) {
			only = mi_str(json_array_get(symbols, k), "name");
			if (only && of_program(d, only))
				return only;
		}
	}
	return n == 1 ? only : NULL;
}

/* Moves the breakpoint there, if that is what the program is written in. */
static int move_to_rust(struct dap *d, struct entry *e)
{
	json_t *found CLEANUP(jsonx_unrefp) = NULL;
	int64_t c_main = e->number;
	struct errinfo why = { 0 };
	int r = mi_command(d->mi, &found, &why, "-symbol-info-functions --name " RUST_MAIN);
	const char *name = r >= 0 ? choose_rust(d, found) : NULL;

	if (r < 0 && r != -EREMOTEIO)
		d->ei = why;
	if (r >= 0)
		r = name ? insert(d, name, e, NULL) : -EREMOTEIO;
	if (r == -EREMOTEIO) /* then it stays */
		return 0;
	return r < 0 ? r : mi_command(d->mi, NULL, &d->ei, "-break-delete %" PRId64, c_main);
}

/* -EREMOTEIO: there is no main that gdb knows. */
static int break_at_main(struct dap *d, struct entry *e)
{
	json_t *bkpt CLEANUP(jsonx_unrefp) = NULL;
	int r = -EREMOTEIO;

	for (size_t i = 0; i < ARRAY_SIZE(mains) && r == -EREMOTEIO; i++)
		r = insert(d, mains[i], e, &bkpt);
	if (r < 0)
		return r;
	e->at = ENTRY_MAIN;
	/* machine code alone: Rust's, or nobody's */
	return mi_str(bkpt, "line") ? 0 : move_to_rust(d, e);
}

/* --- where nobody knows main --- */

/* Of a register; 0 = not known. */
static uint64_t value_of(struct dap *d, const char *reg)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	struct errinfo ignored = { 0 };
	int r = mi_command(d->mi, &j, &ignored, "-data-evaluate-expression --language c \"(long)%s\"", reg);

	return r < 0 ? 0 : (uint64_t)mi_int(j, "value", 0);
}

/* The program's entry point: 0 = not known. */
static uint64_t start_of_program(struct dap *d)
{
	struct buf text CLEANUP(buf_done) = { 0 };
	struct errinfo ignored = { 0 };
	int r = mi_console(d->mi, &text, &ignored, "info auxv");
	const char *row = r < 0 ? NULL : strstr(buf_cstr(&text), "AT_ENTRY"), *hex = row ? strstr(row, "0x") : NULL;

	return hex ? strtoull(hex, NULL, 16) : 0;
}

static int break_at_caller(struct dap *d, struct entry *e)
{
	e->at = ENTRY_CALLER;
	return insert(d, CALLER, e, NULL);
}

int entry_break(struct dap *d, struct entry *e)
{
	int r = break_at_main(d, e);
	uint64_t start;

	if (r != -EREMOTEIO)
		return r;
	start = start_of_program(d);
	if (!start)
		return r;
	if (start == value_of(d, "$pc")) /* a static program: it is there already */
		return break_at_caller(d, e);
	e->at = ENTRY_START;
	return insert_at(d, start, e);
}

int entry_next(struct dap *d, struct entry *e)
{
	enum entry_at at = e->at;
	uint64_t addr;
	int r = -EREMOTEIO;

	e->number = 0;
	if (at == ENTRY_START)
		r = break_at_main(d, e);
	if (at == ENTRY_START && r == -EREMOTEIO)
		r = break_at_caller(d, e);
	addr = at == ENTRY_CALLER ? value_of(d, "$rdi") : 0;
	if (addr) {
		e->at = ENTRY_MAIN;
		r = insert_at(d, addr, e);
	}
	return r == -EREMOTEIO ? 0 : r;
}
