/* What has happened lately, for those who watch (server-sent events). Thread-safe; keeps the last FEED_KEEP messages. */
#ifndef DAEMON_FEED_H
#define DAEMON_FEED_H

#include <jansson.h>
#include <stdint.h>
#include "base/err.h"

#define FEED_KEEP 1024

struct feed;

struct feed_message {
	uint64_t id;    /* from 1, without gaps */
	char type[32];  /* "recording", "job", "session", "storage" */
	char *json;     /* one line; owned by the one who got it */
};

int feed_new(struct feed **ret) MUST_CHECK;
void feed_free(struct feed *f);
/* Takes the reference; NULL (out of memory) is dropped. */
void feed_publish(struct feed *f, const char *type, json_t *message);
uint64_t feed_last(struct feed *f);
/* The first message after id. 1 with *ret; 0: none came within timeout_ms; ERR_NOT_FOUND: it has been forgotten (the client has to look at
 * everything anew); ERR_INTERRUPTED: feed_close(). */
int feed_wait(struct feed *f, uint64_t id, int timeout_ms, struct feed_message *ret) MUST_CHECK;
/* Wakes all who wait, for good. */
void feed_close(struct feed *f);

#endif
