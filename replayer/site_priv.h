/* A site: a place in a guest's code whose passes are seen while one thread is searched for an asynchronous point.
 * A jump to a trampoline stands there, or a breakpoint; when the search is over, nothing is left of it. */
#ifndef REPLAYER_SITE_PRIV_H
#define REPLAYER_SITE_PRIV_H

#include "replayer/rep_priv.h"

#define REP_GUARDS_MAX 16

/* Room for a trampoline: its code begins anywhere in the first page, its data are in the last one. */
#define REP_ROOM (CODE_TRAMP_MAX + 2 * 4096u)
#define REP_ROOM_DATA (CODE_TRAMP_MAX + 4096u)

struct rep_site {
	struct rep_session *s;
	struct rep_task *t;
	uint64_t at;
	bool want_jump;      /* else a breakpoint */
	struct code_plan plan;
	struct code_tramp tramp;
	const struct code_cond *cond; /* borrowed, as last planted */
	unsigned n;
	bool jump, planted;
	bool in_place;       /* its instruction cannot be copied: it is stepped over where it stands */
	uint8_t bytes[CODE_JUMP_LEN]; /* what stands there when planted */
	uint64_t room;       /* address of our mapping of REP_ROOM bytes, 0 = none */
	uint64_t entry;      /* of the trampoline, in it */
	struct rep_guard {   /* pages of code that the guest may write, write-protected meanwhile */
		uint64_t page;
		uint32_t prot;
	} guard[REP_GUARDS_MAX];
	unsigned n_guards;
	struct rep_site *next; /* another one of t's */
};

/* --- room.c --- */
/* Maps room within reach of the site. 1: done. 0: there is none. */
int rep_room_map(struct rep_site *site) MUST_CHECK;
/* Would a thread that enters the site's jump in the middle, at an instruction that it covers, trap there? */
bool rep_room_fits(const struct rep_site *site);

/* --- site.c --- */
/* Prepares a site at that address for t. 1; 0: there is no code that could be watched. */
int rep_site_open(struct rep_site *site, struct rep_session *s, struct rep_task *t, uint64_t at, bool jump) MUST_CHECK;
/* Makes passes for which all conditions hold stop the thread (with a breakpoint: all passes), and lets t, where it
 * stands, go on. */
int rep_site_plant(struct rep_site *site, const struct code_cond *cond, unsigned n) MUST_CHECK;
/* So many bytes of the guest's code are not its own now; plan.bytes has them. */
size_t rep_site_len(const struct rep_site *site);
/* t goes on behind the site's instruction after a pass. A step may end in something else than its trap: ERR_GUEST. */
int rep_site_go_on(struct rep_site *site) MUST_CHECK;
/* Was that stop a pass? Then t's rip is the site's address again (1). Or a write of the guest to the watched code?
 * It is done then, and t may go on (2). */
int rep_site_stop(struct rep_site *site, struct eng_stop *st) MUST_CHECK;
/* t, which has executed an instruction, may be in the trampoline of a site of its: lets it finish what was one instruction of the
 * guest's there. 1: what it did last was done for the guest. 0: it belongs to the decision, nothing of the guest's has happened. */
int rep_site_settle(struct rep_task *t) MUST_CHECK;
/* t has faulted: if that came in the trampoline of a site of its, its registers are those with which it would have come in place. */
int rep_site_faulted(struct rep_task *t) MUST_CHECK;
/* t, which was interrupted in the trampoline, goes on to where it is clear which of the guest's instructions it stands at. */
int rep_site_to_origin(struct rep_site *site) MUST_CHECK;
/* The guest's code and memory are as they were. t's rip, if it was within our code, is one of its own again. */
int rep_site_close(struct rep_site *site) MUST_CHECK;

#endif
