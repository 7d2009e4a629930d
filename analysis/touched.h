/* Files and sockets that a recording touched, with what was read and written. */
#ifndef ANALYSIS_TOUCHED_H
#define ANALYSIS_TOUCHED_H

#include "analysis/fds.h"
#include "analysis/summary.h"

struct touched_file {
	uint32_t name; /* in the names of touched_new() */
	uint64_t opens, failed, stats, reads, writes, bytes_read, bytes_written, mapped; /* failed: calls with this path or file */
	uint64_t first_event, last_event;
	struct errno_counts errors;
};

enum touched_how { TOUCHED_SOCKET, TOUCHED_CONNECT, TOUCHED_ACCEPT, TOUCHED_BIND, TOUCHED_PAIR };

struct touched_socket {
	uint64_t object;   /* as in struct fds_info: one socket, however many descriptors */
	int family, type;  /* -1 = not known. type: without SOCK_NONBLOCK and SOCK_CLOEXEC */
	enum touched_how how;
	char *local, *peer; /* owned; NULL = not known */
	uint64_t sends, receives, bytes_sent, bytes_received, first_event, last_event;
	uint32_t thread;   /* that made it */
	int fd;            /* as which */
	struct errno_counts errors;
};

struct touched;

/* names: borrowed. */
int touched_new(const char *cwd, struct names *names, struct touched **ret) MUST_CHECK;
void touched_free(struct touched *t);
/* Each event in order, from the first. */
void touched_see(struct touched *t, struct store_reader *r, const struct event *ev);
uint32_t touched_files(const struct touched *t);
const struct touched_file *touched_file(const struct touched *t, uint32_t i); /* in the order in which they were first touched */
uint32_t touched_sockets(const struct touched *t);
const struct touched_socket *touched_socket(const struct touched *t, uint32_t i);
/* False when something was left out: limits.h, limits of fds.h and names.h, memory. */
bool touched_complete(const struct touched *t);

/* "AF_INET", "SOCK_STREAM"; a number in buf otherwise. */
const char *touched_family(int family, char buf[16]);
const char *touched_type(int type, char buf[16]);
const char *touched_how_name(enum touched_how how);

#endif
