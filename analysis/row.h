/* Events as rows of tables and as details: what the HTTP API and hermit events give out (EventRow and EventDetail of docs/HTTP.md). */
#ifndef ANALYSIS_ROW_H
#define ANALYSIS_ROW_H

#include "analysis/evindex.h"
#include "analysis/evprint.h"

#define ROW_BUFFERS_MAX 4096u /* buffers that a detail lists */

struct row_maker {
	struct store_reader *reader;     /* borrowed */
	const struct evindex_view *view;  /* borrowed */
	struct evprint printer;
	struct evprint_row row;
	const struct event *ev;          /* made last; valid until the next one is made */
	const struct evindex_record *rec; /* NULL: the index has not come so far */
};

void row_init(struct row_maker *m, struct store_reader *reader, const struct evindex_view *view, uint32_t string_max);
void row_done(struct row_maker *m); /* for CLEANUP too */
/* Makes the row of an event. -ERANGE: there is no such event (now). Errors of reading, -ENOMEM. Cheap for the event behind the last one. */
int row_make(struct row_maker *m, uint64_t number, struct errinfo *ei) MUST_CHECK;

/* The row made last. An object; a line of CSV with its end; as strace shows it, with its newline. */
void row_put_json(const struct row_maker *m, struct buf *out);
void row_put_csv(const struct row_maker *m, struct buf *out);
void row_put_text(const struct row_maker *m, struct buf *out);
void row_put_csv_head(struct buf *out);

/* EventDetail of the row made last. New reference. */
int row_detail(struct row_maker *m, json_t **ret, struct errinfo *ei) MUST_CHECK;
/* Length of buffer i of the event made last, and n bytes of it from off. -ENOENT: there is no such buffer. */
int row_buffer(struct row_maker *m, size_t i, uint64_t *ret_len) MUST_CHECK;
int row_buffer_read(struct row_maker *m, size_t i, uint64_t off, void *p, size_t n, struct errinfo *ei) MUST_CHECK;

/* Appends a JSON string of n bytes; what is not UTF-8 becomes U+FFFD. s[n] has to be readable. */
void row_put_json_string(struct buf *out, const char *s, size_t n);

#endif
