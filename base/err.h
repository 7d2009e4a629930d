/* One integer space for results: >= 0 success, -1..-4095 a negated errno, below -4096 hermit's own
 * codes from err.def. struct errinfo carries what a number cannot say. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/macros.h"

enum err_code {
	ERR_BASE_ = -4096,
#define ERR(name, text) ERR_INDEX_##name##_,
#include "base/err.def"
#undef ERR
};

/* ERR_DIVERGED is -4097, the next -4098, and so on. */
enum {
	ERR_FIRST_ = ERR_BASE_ + 1,
#define ERR(name, text) ERR_##name = ERR_BASE_ - (ERR_INDEX_##name##_ - ERR_FIRST_ + 1),
#include "base/err.def"
#undef ERR
};

/* Text of any negative result; static storage (errno texts: thread-local). Never NULL. */
const char *err_str(int r);
/* Symbolic name ("ENOENT", "DIVERGED") or "?" ; static storage. */
const char *err_name(int r);

/* Bounded explanation of a failure. All-zero is a valid empty one. */
struct errinfo {
	char text[1024];
	uint64_t event;  /* event number, 0 = none */
	uint64_t offset; /* byte offset in the file that text names, 0 = none */
};

/* Stores the text (keeps the first one stored unless it is empty) and returns r.
 * ei may be NULL. Text: what we tried + object + cause, lower case, no full stop. */
int errinfo_set(struct errinfo *ei, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Like errinfo_set() but appends ": err_str(r)". */
int errinfo_set_r(struct errinfo *ei, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
