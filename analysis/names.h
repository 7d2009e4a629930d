/* Strings of one recording (paths, mostly), each kept once and known by a number from 1. 0 is "none".
 *
 * What a stranger's recording can make us keep is limited: beyond NAMES_BYTES_MAX new strings are not kept and get 0. */
#ifndef ANALYSIS_NAMES_H
#define ANALYSIS_NAMES_H

#include <stdbool.h>
#include "base/buf.h"

#define NAMES_BYTES_MAX (64u << 20)
#define NAMES_MAX (2u << 20)

struct names {
	struct buf text;   /* each with its NUL */
	uint32_t *offset;  /* of string i + 1; owned */
	uint32_t n, cap;
	uint32_t *slot;    /* hash table of numbers; owned */
	uint32_t n_slots;  /* a power of two, or 0 */
	bool full;         /* some string was not kept */
};

/* Zeroed is a valid empty one. */
void names_done(struct names *t); /* for CLEANUP too */
/* The number of the n bytes at s (cut at a NUL), added when new. 0 for the empty string, when full, and without memory. */
uint32_t names_add(struct names *t, const char *s, size_t n);
/* The same, but 0 when it is not there. */
uint32_t names_find(const struct names *t, const char *s, size_t n);
/* The string, NULL for 0 and numbers that are not there. Valid until the next names_add(). */
const char *names_get(const struct names *t, uint32_t number);

#endif
