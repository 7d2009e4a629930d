/* What an expression or a line of the debug console would do besides telling something: decided from its text alone. Pure.
 *
 * gdb refuses by itself to write to a recording, in words that mislead. Here it is said in plain ones, before anything is evaluated; and what would reach
 * beyond the recording (files, commands of this machine) is not passed on at all. Functions of the program can be called: that happens in a copy. */
#ifndef DAP_GUARD_PRIV_H
#define DAP_GUARD_PRIV_H

#include <stdbool.h>
#include <stddef.h>

/* What an expression has. */
#define GUARD_WRITES (1u << 0)  /* assignments, ++ and -- of anything but gdb's own $variables */
#define GUARD_KEEPS (1u << 1)   /* the same of gdb's own $variables */
#define GUARD_CALLS (1u << 2)   /* what may be a call of a function: NAME(...), (...)(...) */
#define GUARD_ESCAPES (1u << 3) /* gdb's functions that run commands of this machine: $_shell() */
unsigned guard_expression(const char *expr);

/* The format at the end of "EXPR,x" or "EXPR,10". */
struct guard_suffix {
	size_t len;    /* of the expression before it */
	char format;   /* x d u o t c a f s z; 0 = none */
	unsigned count; /* of elements; 0 = none */
};
struct guard_suffix guard_split(const char *expr);

enum guard_kind {
	GUARD_UNKNOWN, /* no command that is known here; those that let the guest run are words of places.c */
	GUARD_COMMAND, /* for gdb's console */
	GUARD_DENIED,  /* target says why, as a sentence's end */
};

struct guard_verdict {
	enum guard_kind kind;
	const char *target; /* GUARD_COMMAND: the whole name of the command; static */
	const char *args;   /* behind the word and blanks, in line */
};

/* Looks at the first word of a line. Words that gdb would complete are completed here if only one fits: gdb gets whole names. */
struct guard_verdict guard_command(const char *line);
/* The line can be nothing but a command: its word is one, and an argument follows that begins no operator. */
bool guard_only_command(const char *line);
/* The line is the word of a command and nothing else. */
bool guard_lone_word(const char *line);
/* The i-th word that guard_command() lets pass, for completions; NULL = there are no more. */
const char *guard_word(size_t i);

#endif
