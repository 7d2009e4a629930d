/* The processes and threads of a recording, told from its events: also of live and cut ones, whose manifest does not say. */
#ifndef ANALYSIS_PROCESSES_H
#define ANALYSIS_PROCESSES_H

#include <stdbool.h>
#include "store/reader.h"

#define PROCESSES_NONE UINT32_MAX

struct thread_info {
	uint32_t number;
	uint32_t process; /* index */
	uint32_t next;    /* index of the next thread of the process, PROCESSES_NONE = last */
	int32_t tid;
	char name[16];    /* as the kernel would show it; bytes of strangers */
	uint64_t first_event, last_event, start_ns, end_ns; /* last_event, end_ns: so far while it lives */
	bool ended;
};

struct process_info {
	uint32_t thread;  /* number of its first thread */
	uint32_t parent;  /* number of the parent's first thread, 0 = none */
	uint32_t first, last; /* threads: indices */
	uint32_t alive;
	int32_t pid;
	char *exe, *command; /* of the last program; owned, never NULL */
	int status;       /* wait status, -1 = has not ended */
	uint64_t first_event, last_event, start_ns, end_ns;
	bool ended, group; /* group: status is that of the whole process */
};

struct processes;

int processes_new(struct processes **ret) MUST_CHECK;
void processes_free(struct processes *p);
/* Each event in order, from the first. */
void processes_see(struct processes *p, struct store_reader *r, const struct event *ev);
uint32_t processes_count(const struct processes *p);
uint32_t processes_threads(const struct processes *p);
/* By index, in order of birth. */
const struct process_info *processes_at(const struct processes *p, uint32_t i);
const struct thread_info *processes_thread_at(const struct processes *p, uint32_t i);
/* By the number of a thread, NULL when there is none. */
const struct thread_info *processes_thread(const struct processes *p, uint32_t number);
/* Its pid, 0 when it is not known. */
int32_t processes_pid(const struct processes *p, uint32_t thread);
/* False when something was left out (limits.h, memory). */
bool processes_complete(const struct processes *p);

#endif
