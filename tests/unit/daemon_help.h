/* What tests of parts of the daemon share: a daemon of some parts only, with a shell script in place of hermit. */
#ifndef TESTS_UNIT_DAEMON_HELP_H
#define TESTS_UNIT_DAEMON_HELP_H

#include <pthread.h>
#include "base/json.h"
#include "base/log.h"
#include "daemon/daemon_priv.h"
#include "tests/unit/store_help.h"

struct help_daemon {
	struct daemon d;
	struct daemon_config cfg;
	struct help_store h;
	char *script;
	pthread_t thread; /* runs the loop, when help_daemon_run() was called */
	bool runs;
};

/* script: what follows the first line of the shell script. */
static inline void help_daemon_begin(struct help_daemon *hd, const char *script)
{
	char *text = os_asprintf("#!/bin/sh\n%s", script);

	OK(log_set_filter("off"));
	*hd = (struct help_daemon){ .h = help_open() };
	config_init(&hd->cfg);
	hd->script = os_asprintf("%s/fake", hd->h.dir);
	help_spill(hd->script, text, strlen(text));
	ck_assert_int_eq(chmod(hd->script, 0700), 0);
	free(text);
	OK(config_set(&hd->cfg, "data_dir", hd->h.dir, NULL));
	OK(config_set(&hd->cfg, "runtime_dir", hd->h.dir, NULL));
	OK(config_set(&hd->cfg, "session_binary", hd->script, NULL));
	hd->d.cfg = &hd->cfg;
	hd->d.store = hd->h.s;
	OK(loop_new(&hd->d.loop));
	OK(feed_new(&hd->d.feed));
	OK(catalog_new(hd->h.dir, &hd->d.catalog, NULL));
}

static inline void *help_daemon_loop(void *arg)
{
	struct help_daemon *hd = arg;

	OK(loop_run(hd->d.loop));
	return NULL;
}

/* From here on only functions for any thread. */
static inline void help_daemon_run(struct help_daemon *hd)
{
	ck_assert_int_eq(pthread_create(&hd->thread, NULL, help_daemon_loop, hd), 0);
	hd->runs = true;
}

static inline void help_daemon_stop(struct help_daemon *hd)
{
	if (!hd->runs)
		return;
	loop_quit(hd->d.loop);
	pthread_join(hd->thread, NULL);
	hd->runs = false;
}

static inline void help_daemon_end(struct help_daemon *hd)
{
	catalog_free(hd->d.catalog);
	feed_free(hd->d.feed);
	loop_free(hd->d.loop);
	config_done(&hd->cfg);
	free(hd->script);
	help_close(&hd->h);
}

/* Turns the loop until cond holds; fails after 20 s. */
#define HELP_UNTIL(hd, cond) \
	do { \
		uint64_t until_ = os_mono_ns() + 20000000000ull; \
\
		while (!(cond)) { \
			ck_assert_msg(os_mono_ns() < until_, "waited too long for: %s", #cond); \
			(void)!loop_step((hd)->d.loop, 20); \
		} \
	} while (0)

static inline const char *help_text(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

#endif
