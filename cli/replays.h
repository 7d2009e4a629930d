/* Running a replay from the command line: shared by 'replay' and 'record --verify'. */
#ifndef CLI_REPLAYS_H
#define CLI_REPLAYS_H

#include "replayer/replayer.h"

struct replay {
	struct store_reader *reader;
	struct rep_session *session;
};

/* Opens the recording for replay_run(). */
int replay_open(struct replay *p, struct store *s, const struct store_id *id, struct errinfo *ei) MUST_CHECK;
void replay_done(struct replay *p); /* for CLEANUP too */
/* Replays all of it; recorded output goes to the descriptors (-1: nowhere), progress to stderr when that is a terminal the output does
 * not go to. */
int replay_run(struct replay *p, int stdout_fd, int stderr_fd, bool check, struct rep_result *ret, struct errinfo *ei) MUST_CHECK;
/* Tells the user why replay_open() or replay_run() failed with r: for a divergence with all the replayer knows. Exit code. */
int replay_report(struct replay *p, const struct store_id *id, int r, const struct errinfo *ei);

#endif
