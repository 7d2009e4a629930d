/* Tables as CSV (RFC 4180): what strangers named stays one field, and is no formula for the program that opens the table. */
#ifndef WEB_CSV_PRIV_H
#define WEB_CSV_PRIV_H

#include <stdbool.h>
#include "base/buf.h"

/* Appends one field, quoted where it has to be. NULL is an empty one. Bytes that are not UTF-8 stay as they are. Text that begins like a formula (= + - @, a
 * tab) gets a ' in front. */
void csv_put(struct buf *b, const char *s);

#endif
