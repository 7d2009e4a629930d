/* Removal of blobs that nothing needs any more.
 *
 * Which are needed is read from the manifests, and from tmp/ID/blobs of recordings in progress: tmp/ first, then the store, so
 * that a recording committed in between is met at least once. A blob that a recorder gets after that was touched at that moment
 * (blob_touch()), and what was touched within the hour stays. Age and unlink go together under the exclusive lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/os.h"
#include "store/idset_priv.h"
#include "store/limits_priv.h"
#include "store/manifest_priv.h"
#include "store/store_priv.h"

struct gc {
	struct store *store;
	struct idset used;
	const char *dir; /* being read: DIR, DIR/tmp or DIR/blobs/ab */
	const char *sub; /* "ab" */
	uint64_t freed, young;
};

/* Blobs of one recording. Gone meanwhile is fine; unreadable is not: what it needs is not known then. */
static int add_recording(void *ctx, const char *name)
{
	struct gc *g = ctx;
	struct manifest m CLEANUP(manifest_done);
	char *dir CLEANUP(freep) = NULL;
	int r;

	manifest_init(&m);
	if (!store_id_valid(name))
		return 0;
	dir = os_asprintf("%s/%s", g->dir, name);
	r = dir ? blob_list_load(dir, &g->used) : -ENOMEM;
	if (r == 0)
		r = manifest_load_at(dir, &m, NULL);
	for (size_t i = 0; i < m.n_blobs && r >= 0; i++)
		r = idset_add(&g->used, &m.blobs[i]);
	if (r == -ENOENT && !fs_exists(dir))
		return 0;
	return r < 0 ? r : 0;
}

static int add_recordings(struct gc *g, const char *dir)
{
	g->dir = dir;
	return fs_each_name(dir, add_recording, g);
}

static int remove_if_old(struct gc *g, const char *path)
{
	struct stat st;
	int r = blobs_lock(g->store, true);

	if (r < 0)
		return r;
	r = fs_stat(path, &st);
	if (r == 0 && time(NULL) - st.st_mtime <= STALE_SECONDS) {
		g->young += (uint64_t)st.st_size;
	} else if (r == 0) {
		r = fs_unlink_quiet(path);
		if (r == 0)
			g->freed += (uint64_t)st.st_size;
	}
	blobs_unlock(g->store);
	return r == -ENOENT ? 0 : r;
}

static int visit_blob(void *ctx, const char *name)
{
	struct gc *g = ctx;
	struct blob_id id;
	char *path CLEANUP(freep) = NULL;
	char hex[65];

	if (strlen(name) != 62)
		return 0;
	memcpy(hex, g->sub, 2);
	memcpy(hex + 2, name, 63);
	if (blob_id_parse(hex, &id) < 0 || idset_has(&g->used, &id))
		return 0;
	path = os_asprintf("%s/%s", g->dir, name);
	return path ? remove_if_old(g, path) : -ENOMEM;
}

static int visit_sub(void *ctx, const char *name)
{
	struct gc *g = ctx;
	char *dir CLEANUP(freep) = NULL;
	int r;

	if (strlen(name) != 2)
		return 0;
	dir = os_asprintf("%s/blobs/%s", g->store->dir, name);
	g->dir = dir;
	g->sub = name;
	r = dir ? fs_each_name(dir, visit_blob, g) : -ENOMEM;
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

int store_gc(struct store *s, uint64_t *ret_bytes, uint64_t *ret_young)
{
	struct gc g = { .store = s };
	char *tmp CLEANUP(freep) = os_asprintf("%s/tmp", s->dir);
	char *blobs CLEANUP(freep) = os_asprintf("%s/blobs", s->dir);
	int r = tmp && blobs ? add_recordings(&g, tmp) : -ENOMEM;

	if (r == 0 || r == -ENOENT)
		r = add_recordings(&g, s->dir);
	if (r == 0)
		r = fs_each_name(blobs, visit_sub, &g);
	idset_done(&g.used);
	if (r < 0)
		return r;
	*ret_bytes = g.freed;
	if (ret_young)
		*ret_young = g.young;
	return 0;
}
