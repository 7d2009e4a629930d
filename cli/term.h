/* What stdout and stderr are: colours, width, and the progress line.
 *
 * Colours go only to terminals, never when NO_COLOR is set or TERM is "dumb". Long work shows one line on stderr, from
 * its second second on and only on a terminal, and can be interrupted in an orderly way. */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include <stdbool.h>
#include "base/err.h"

enum term_stream { TERM_OUT, TERM_ERR, TERM_STREAM_MAX_ };
enum term_style {
	TERM_PLAIN, TERM_BOLD, TERM_DIM, TERM_RED, TERM_GREEN, TERM_YELLOW, TERM_CYAN, TERM_STYLE_MAX_
};

/* Descriptors 0-2 that are closed would be reused for our own files and then be taken for the guest's: they are opened
 * close-on-exec, so that a guest still finds them closed. Call first. */
void term_guard_fds(void);
/* Looks at the streams once; call next. */
void term_init(void);
bool term_is_tty(enum term_stream s);
/* Escape sequence to switch to the style, "" where colours are off. Static. */
const char *term_style(enum term_stream s, enum term_style style);
/* Columns of a terminal, else 0. */
unsigned term_width(enum term_stream s);
/* Width to wrap help at: the terminal's within 60..100, else 80. */
unsigned term_help_width(void);
/* Can non-ASCII characters be shown? */
bool term_utf8(void);

/* Begins long work that is called `what` ("sealing"). */
void term_progress_watch(const char *what);
/* The same; SIGINT, SIGTERM and SIGHUP are only noted until term_progress_end(), so that the work can clean up. */
void term_progress_begin(const char *what);
/* done of total (0 = not known) of unit; a store_progress_fn: ERR_INTERRUPTED when a signal came. ctx is not used. */
int term_progress(void *ctx, uint64_t done, uint64_t total);
/* The same for other units than bytes. */
int term_progress_count(const char *unit, uint64_t done, uint64_t total);
/* Removes the line for the moment (something else is to be printed). */
void term_progress_clear(void);
/* Ends it; a noted signal now ends the process as if it had come just now. */
void term_progress_end(void);

/* Ends the process by the signal, without a core dump; exits with 128 + signo if that fails. */
NORETURN void term_die_by(int signo);

#endif
