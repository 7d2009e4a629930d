/* Commands behind `monitor hermit`: monitor.c finds and runs them, monitor_*.c has them. */
#ifndef GDBSTUB_MONITOR_PRIV_H
#define GDBSTUB_MONITOR_PRIV_H

#include "gdbstub/stub_priv.h"

#define MONITOR_WORDS_MAX 256

struct monitor {
	struct stub *s;
	const char *word[MONITOR_WORDS_MAX]; /* arguments behind the command */
	unsigned words;
	bool json;
	struct buf *out;   /* text */
	json_t *result;    /* object, when json */
	struct errinfo ei;
};

/* 0, or an error that m->ei or its number explains. With m->json they fill m->result, else m->out. */
int monitor_where(struct monitor *m);
int monitor_goto(struct monitor *m);
int monitor_arm(struct monitor *m);
int monitor_events(struct monitor *m);
int monitor_processes(struct monitor *m);
int monitor_last_write(struct monitor *m);
int monitor_checkpoint(struct monitor *m);
int monitor_bookmark(struct monitor *m);
int monitor_bookmarks(struct monitor *m);
int monitor_output(struct monitor *m);

/* The position of that name: of the session, else of a note in the recording with that text. */
bool monitor_find_bookmark(struct monitor *m, const char *name, struct dbg_pos *ret);

/* Adds a member to m->result; v is taken over. */
int monitor_set(struct monitor *m, const char *key, json_t *v) MUST_CHECK;
int monitor_set_str(struct monitor *m, const char *key, const char *text) MUST_CHECK;
/* Appends strings of strangers, control characters made visible. */
void monitor_put_safe(struct buf *out, const char *text);
/* Another reader of the recording that the session does not use. */
int monitor_reader(struct monitor *m, struct store_reader **ret) MUST_CHECK;

#endif
