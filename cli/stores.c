/* See stores.h. */
#define LOG_AREA "cli.stores"
#include "cli/stores.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "cli/fail.h"
#include "store/live.h"

static int find_dir(const char *dir, char **ret)
{
	int r = store_default_dir(dir, ret);

	if (r >= 0)
		return 0;
	fail(EXIT_INTERNAL, "cannot tell where recordings are kept");
	fail_cause("%s", r == -ENOENT ? "neither HOME nor XDG_DATA_HOME nor HERMIT_DATA_DIR is set" : err_str(r));
	fail_cause("name a directory with --data-dir");
	return EXIT_INTERNAL;
}

static int fail_none(const char *dir)
{
	fail(EXIT_INTERNAL, "there are no recordings in %s", dir);
	fail_cause("make one: hermit record -- PROGRAM");
	return EXIT_INTERNAL;
}

static int open_dir(const char *dir, bool create, struct store **ret)
{
	struct errinfo ei = { 0 };
	int r = store_open(dir, create, ret, &ei);

	if (r == -ENOENT && !create)
		return fail_none(dir);
	if (r < 0)
		return fail_r(r, &ei, "cannot open the recordings in %s", dir);
	/* A store that may only be read has nothing for us to tidy up. */
	r = store_recover(*ret);
	if (r < 0)
		log_debug("recover %s: %s", dir, err_str(r));
	else if (r > 0)
		log_info("%d recordings were cut off by a dead recorder; they are marked truncated", r);
	return 0;
}

int stores_open(const char *dir, bool create, struct store **ret)
{
	char *found CLEANUP(freep) = NULL;
	int r = find_dir(dir, &found);

	return r ? r : open_dir(found, create, ret);
}

int stores_open_if_there(const char *dir, struct store **ret)
{
	char *found CLEANUP(freep) = NULL;
	struct stat st;
	int r = find_dir(dir, &found);

	if (r)
		return r;
	if (stat(found, &st) && errno == ENOENT) {
		*ret = NULL;
		return 0;
	}
	return open_dir(found, false, ret);
}

int stores_resolve(struct store *s, const char *text, struct store_id *ret)
{
	struct errinfo ei = { 0 };
	int r = store_resolve(s, text, ret, &ei);

	if (r >= 0)
		return 0;
	if (text && r != ERR_NOT_FOUND)
		return fail_r(r, &ei, "cannot find recording '%s' in %s", text, store_dir(s));
	if (text) {
		fail(EXIT_INTERNAL, "cannot find recording '%s' in %s", text, store_dir(s));
		fail_advice(r);
		return EXIT_INTERNAL;
	}
	return r == ERR_NOT_FOUND ? fail_none(store_dir(s)) : fail_r(r, &ei, "cannot find the last recording in %s", store_dir(s));
}

int stores_open_resolve(const char *dir, const char *text, struct store **ret, struct store_id *ret_id)
{
	struct store *s CLEANUP(store_freep) = NULL;
	int r = stores_open(dir, false, &s);

	if (!r)
		r = stores_resolve(s, text, ret_id);
	if (!r)
		*ret = TAKE(s);
	return r;
}

static bool find_live(struct store *s, struct store_id *ret)
{
	struct store_id *ids CLEANUP(freep) = NULL;
	size_t n = 0;

	if (store_list(s, &ids, &n) < 0)
		return false;
	while (n-- > 0)
		if (store_is_live(s, &ids[n])) {
			*ret = ids[n];
			return true;
		}
	return false;
}

int stores_open_resolve_live(const char *dir, const char *text, struct store **ret, struct store_id *ret_id)
{
	struct store *s CLEANUP(store_freep) = NULL;
	int r = stores_open(dir, false, &s);

	if (!r && (text || !find_live(s, ret_id)))
		r = stores_resolve(s, text, ret_id);
	if (!r)
		*ret = TAKE(s);
	return r;
}

#define RETRY_MS 50
#define TELL_NS 1000000000ull

static bool is_being_recorded(struct store *s, const struct store_id *id)
{
	struct manifest m CLEANUP(manifest_done);

	manifest_init(&m);
	return manifest_load(s, id, &m, NULL) < 0 || m.state == RECORDING_OPEN;
}

bool stores_retry(struct stores_patience *p, struct store *s, const struct store_id *id, int r)
{
	uint64_t now = os_mono_ns();

	if (r != ERR_BUSY || is_being_recorded(s, id))
		return false;
	if (!p->until_ns)
		p->until_ns = now + STORES_PATIENCE_S * 1000000000ull;
	if (now >= p->until_ns)
		return false;
	if (!p->told && p->until_ns - now < STORES_PATIENCE_S * 1000000000ull - TELL_NS) {
		fprintf(stderr, "hermit: waiting until %s is compressed ...\n", id->hex);
		p->told = true;
	}
	usleep(RETRY_MS * 1000);
	return true;
}

char *stores_abs_dir(const struct store *s)
{
	char *real = realpath(store_dir(s), NULL);

	return real ? real : os_strdup(store_dir(s));
}

bool stores_is_default(const struct store *s)
{
	char *def CLEANUP(freep) = NULL;
	struct stat a, b;

	/* by identity, so that any way to write the path will do */
	return store_default_dir(NULL, &def) >= 0 && !stat(def, &a) && !stat(store_dir(s), &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}
