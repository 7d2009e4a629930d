/* How much room recordings and blobs take. */
#include <errno.h>
#include <string.h>
#include "base/os.h"
#include "store/idset_priv.h"
#include "store/maintain.h"
#include "store/manifest_priv.h"
#include "store/store_priv.h"

struct sizes {
	const char *dir;
	uint64_t bytes;
};

static int add_size(void *ctx, const char *name)
{
	struct sizes *z = ctx;
	char *path CLEANUP(freep) = os_asprintf("%s/%s", z->dir, name);
	struct stat st;

	if (!path)
		return -ENOMEM;
	if (fs_stat(path, &st) == 0 && S_ISREG(st.st_mode))
		z->bytes += (uint64_t)st.st_size;
	return 0;
}

static int own_bytes(const char *dir, uint64_t *ret)
{
	struct sizes own = { .dir = dir };
	int r = fs_each_name(dir, add_size, &own);

	if (r == 0)
		*ret = own.bytes;
	return r;
}

static int blob_bytes(struct store *s, const struct blob_id *id, uint64_t *sum)
{
	char *path CLEANUP(freep) = blob_path(s, id);
	struct stat st;

	if (!path)
		return -ENOMEM;
	if (fs_stat(path, &st) == 0)
		*sum += (uint64_t)st.st_size;
	return 0;
}

int store_usage(struct store *s, const struct store_id *id, uint64_t *ret_own, uint64_t *ret_blobs)
{
	struct manifest m CLEANUP(manifest_done);
	char *dir CLEANUP(freep) = NULL;
	uint64_t own = 0, blobs = 0;
	int r = store_path(s, id, &dir);

	manifest_init(&m);
	if (r == 0)
		r = own_bytes(dir, &own);
	if (r == 0)
		r = manifest_load_at(dir, &m, NULL);
	for (size_t i = 0; i < m.n_blobs && r == 0; i++)
		r = blob_bytes(s, &m.blobs[i], &blobs);
	if (r < 0)
		return r;
	*ret_own = own;
	*ret_blobs = blobs;
	return 0;
}

static int share(struct store *s, const struct store_id *id, struct idset *seen, uint64_t *ret)
{
	struct manifest m CLEANUP(manifest_done);
	char *dir CLEANUP(freep) = NULL;
	int r = store_path(s, id, &dir);

	manifest_init(&m);
	if (r == 0)
		r = own_bytes(dir, ret);
	if (r == 0 && manifest_load_at(dir, &m, NULL) < 0)
		return 0;
	for (size_t i = 0; i < m.n_blobs && r >= 0; i++) {
		r = idset_add(seen, &m.blobs[i]);
		if (r > 0)
			r = blob_bytes(s, &m.blobs[i], ret);
	}
	return r < 0 ? r : 0;
}

int store_shares(struct store *s, const struct store_id *ids, size_t n, uint64_t *ret)
{
	struct idset seen = { 0 };
	int r = 0;

	for (size_t i = 0; i < n && r != -ENOMEM; i++) {
		ret[i] = 0;
		r = share(s, &ids[i], &seen, &ret[i]); /* one that has gone needs nothing */
	}
	idset_done(&seen);
	return r == -ENOMEM ? r : 0;
}

static int add_blobs_below(void *ctx, const char *name)
{
	struct sizes *z = ctx;
	struct sizes sub = { 0 };
	char *dir CLEANUP(freep) = NULL;
	int r;

	if (strlen(name) != 2)
		return 0;
	dir = os_asprintf("%s/%s", z->dir, name);
	sub.dir = dir;
	r = dir ? fs_each_name(dir, add_size, &sub) : -ENOMEM;
	z->bytes += sub.bytes;
	return r == -ENOMEM ? r : 0;
}

int store_blobs_usage(struct store *s, uint64_t *ret)
{
	char *dir CLEANUP(freep) = os_asprintf("%s/blobs", s->dir);
	struct sizes z = { .dir = dir };
	int r = dir ? fs_each_name(dir, add_blobs_below, &z) : -ENOMEM;

	if (r == 0)
		*ret = z.bytes;
	return r;
}
