/* Answers that are final, kept for the next one who asks for the same: pages of events of finished recordings. Thread-safe. */
#ifndef WEB_ANSWERS_PRIV_H
#define WEB_ANSWERS_PRIV_H

#include <stdbool.h>
#include "base/buf.h"

#define ANSWERS_MAX 512u
#define ANSWERS_BYTES_MAX (16u << 20)  /* of all of them */
#define ANSWER_BYTES_MAX (512u << 10)  /* a larger one is not kept */

struct answers;

int answers_new(struct answers **ret) MUST_CHECK;
void answers_free(struct answers *p);
/* Appends the answer of that key; false: there is none (or no memory, which out knows). */
bool answers_get(struct answers *p, const char *key, struct buf *out);
/* Keeps a copy. Not being able to matters nothing. */
void answers_put(struct answers *p, const char *key, const struct buf *answer);

#endif
