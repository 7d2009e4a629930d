/* The parts of a daemon. Each is an object of its own file, made and freed by daemon.c in this order; a part may use those before it. */
#ifndef DAEMON_DAEMON_PRIV_H
#define DAEMON_DAEMON_PRIV_H

#include "daemon/daemon.h"

struct daemon {
	struct loop *loop;               /* borrowed */
	const struct daemon_config *cfg; /* borrowed */
	struct store *store;             /* for the loop's thread only */
	struct catalog *catalog;
	struct feed *feed;
	struct logins *logins;           /* logins.c: one-time tokens */
	struct jobs *jobs;               /* jobs.c: long work in children at idle priority */
	struct recorders *recorders;     /* recorders.c: a child per recording */
	struct sessions *sessions;       /* sessions.c: a child per debug session */
	struct inspectors *inspectors;   /* inspectors.c: warm children that answer questions; locks by itself */
	struct house *house;             /* house.c: what is done from time to time: catalog, sealing, retention, scan, disk floor */
	bool draining;
	struct daemon_drain *drain;      /* NULL: not yet */
};

/* Each x_new() finds d's earlier parts ready and sets nothing in d; x_free(NULL) is fine. x_drain(): begin to stop; x_busy(): is anything left? */
int logins_new(struct daemon *d, struct logins **ret) MUST_CHECK;
void logins_free(struct logins *l);
int jobs_new(struct daemon *d, struct jobs **ret) MUST_CHECK;
void jobs_free(struct jobs *j);
void jobs_drain(struct jobs *j);
bool jobs_busy(const struct jobs *j);
int recorders_new(struct daemon *d, struct recorders **ret) MUST_CHECK;
void recorders_free(struct recorders *r);
void recorders_drain(struct recorders *r);
bool recorders_busy(const struct recorders *r);
/* Ends all recordings as truncated, with that reason (the disk is full). */
void recorders_cut_all(struct recorders *r, const char *reason);
int sessions_new(struct daemon *d, struct sessions **ret) MUST_CHECK;
void sessions_free(struct sessions *s);
void sessions_drain(struct sessions *s);
bool sessions_busy(const struct sessions *s);
int inspectors_new(struct daemon *d, struct inspectors **ret) MUST_CHECK;
void inspectors_drain(struct inspectors *i); /* ends all, takes no more requests; those who wait get ERR_INTERRUPTED */
void inspectors_free(struct inspectors *i); /* ends all; those who wait get ERR_INTERRUPTED */
int house_new(struct daemon *d, struct house **ret) MUST_CHECK;
void house_free(struct house *h);
/* A recording has ended: it is to be sealed, unless we are read-only. Loop's thread. */
void house_ended(struct house *h, const struct store_id *id);
/* Is there less free space than the floor? Any thread. */
bool house_disk_low(const struct house *h);
/* Then: -ENOSPC, saying how much there is and should be. Else 0. */
int house_disk_refusal(const struct house *h, struct errinfo *ei) MUST_CHECK;

#endif
