/* Small recordings for the tests of analysis/: events with effects, written into a store of their own. */
#ifndef TESTS_UNIT_ANALYSIS_HELP_H
#define TESTS_UNIT_ANALYSIS_HELP_H

#include <fcntl.h>
#include <sys/syscall.h>
#include "tests/unit/store_help.h"

/* Rows of tables say what they have; the rest is zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define A_PATH_AT 0x1000u
#define A_PATH2_AT 0x1800u
#define A_BUF_AT 0x2000u

/* One event of a table: what it reads at A_PATH_AT and A_PATH2_AT, what it writes at A_BUF_AT. */
struct a_event {
	struct event ev;
	const char *path, *path2;
	const void *out;
	size_t out_len, path_len; /* path_len: of a path that is no string */
};

/* Fills a writer with a table. The events are 1 us apart from `first_ns` on, unless they have a time. */
static inline void a_write(struct store_writer *w, const struct a_event *table, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct a_event *a = &table[i];
		struct event ev = a->ev;
		struct effect effect[3];

		ev.effects = effect;
		ev.text = ev.text ? ev.text : "";
		if (!ev.time_ns)
			ev.time_ns = (store_writer_count(w) + 1) * 1000;
		if (a->path)
			effect[ev.n_effects++] = (struct effect){ .kind = EFFECT_INPUT, .addr = A_PATH_AT, .len = a->path_len ? a->path_len : strlen(a->path) + 1, .data = a->path, .name = "" };
		if (a->path2)
			effect[ev.n_effects++] = (struct effect){ .kind = EFFECT_INPUT, .addr = A_PATH2_AT, .len = strlen(a->path2) + 1, .data = a->path2, .name = "" };
		if (a->out)
			effect[ev.n_effects++] = (struct effect){ .kind = EFFECT_MEM, .addr = A_BUF_AT, .len = a->out_len, .data = a->out, .name = "" };
		OK(store_writer_event(w, &ev));
	}
}

static inline struct store_writer *a_begin(struct store *s, const char *cwd)
{
	struct store_writer *w = NULL;
	struct manifest m;

	manifest_init(&m);
	m.cwd = cwd ? strdup(cwd) : NULL;
	m.status = -1;
	m.start_wall_ns = 1234567;
	OK(store_writer_new(s, &m, &w, NULL));
	manifest_done(&m);
	return w;
}

static inline struct store_id a_commit(struct store_writer *w, const char *cwd, enum recording_state state)
{
	struct store_id id = *store_writer_id(w);
	struct manifest m;

	manifest_init(&m);
	m.cwd = cwd ? strdup(cwd) : NULL;
	m.start_wall_ns = 1234567;
	m.state = state;
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	return id;
}

static inline struct store_id a_recording(struct store *s, const char *cwd, const struct a_event *table, size_t n)
{
	struct store_writer *w = a_begin(s, cwd);

	a_write(w, table, n);
	return a_commit(w, cwd, RECORDING_COMPLETE);
}

/* clang-format off */
#define A_CALL(thread_, nr_, result_, ...) { .kind = EVENT_SYSCALL, .thread = thread_, .sysno = nr_, .result = result_, .args = { __VA_ARGS__ } }
#define A_ENTER(thread_, nr_, ...) { .kind = EVENT_SYSCALL_ENTER, .thread = thread_, .sysno = nr_, .args = { __VA_ARGS__ } }
#define A_EXIT(thread_, nr_, result_) { .kind = EVENT_SYSCALL_EXIT, .thread = thread_, .sysno = nr_, .result = result_ }
#define A_EXEC(thread_, path_, pid_) { .kind = EVENT_EXEC, .thread = thread_, .sysno = SYS_execve, .text = path_, .blob = path_, .blob_len = sizeof(path_), .pid = pid_, .tid = pid_ }
#define A_BIRTH(thread_, nr_, child_, pid_, tid_, flags_) \
	{ .kind = EVENT_BIRTH, .thread = thread_, .sysno = nr_, .child = child_, .pid = pid_, .tid = tid_, .args = { flags_ } }
#define A_END(thread_, status_, flags_) { .kind = EVENT_EXIT, .thread = thread_, .result = status_, .flags = flags_ }
/* clang-format on */

#endif
