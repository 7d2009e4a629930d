/* Export and import. An export is written into a file without a name on the disk of the store (or in /tmp) and kept for a while: a download that is resumed gets its
 * ranges from there. */
#include "web/server_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "base/os.h"
#include "store/maintain.h"
#include "web/exports_priv.h"
#include "web/recording_priv.h"

#define TAR_TYPE "application/x-tar"

struct export {
	struct store_id id;
	char version[WEB_HEADER_BYTES]; /* ETag of what was exported */
	int fd;                         /* -1 = free */
	uint64_t size, used_ns;
	bool stale;
};

struct web_exports {
	pthread_mutex_t lock; /* of the table */
	pthread_mutex_t work; /* one is written at a time */
	struct export export[WEB_EXPORTS_MAX];
};

int exports_new(struct web_exports **ret)
{
	struct web_exports *x = os_calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	pthread_mutex_init(&x->lock, NULL);
	pthread_mutex_init(&x->work, NULL);
	for (size_t i = 0; i < WEB_EXPORTS_MAX; i++)
		x->export[i].fd = -1;
	*ret = x;
	return 0;
}

void exports_free(struct web_exports *x)
{
	if (!x)
		return;
	exports_trim(x, true);
	pthread_mutex_destroy(&x->lock);
	pthread_mutex_destroy(&x->work);
	free(x);
}

void exports_trim(struct web_exports *x, bool all)
{
	uint64_t now = os_mono_ns();

	if (!x)
		return;
	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < WEB_EXPORTS_MAX; i++) {
		struct export *e = &x->export[i];

		if (e->fd >= 0 && (all || e->stale || now - e->used_ns > WEB_EXPORT_IDLE_NS)) {
			close(e->fd);
			*e = (struct export){ .fd = -1 };
		}
	}
	pthread_mutex_unlock(&x->lock);
}

void exports_forget(struct web_exports *x, const struct store_id *id)
{
	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < WEB_EXPORTS_MAX; i++) {
		if (strcmp(x->export[i].id.hex, id->hex) == 0)
			x->export[i].stale = true;
	}
	pthread_mutex_unlock(&x->lock);
	exports_trim(x, false);
}

/* A descriptor of our own of the export, if there is one of that version. */
static int find(struct web_exports *x, const struct store_id *id, const char *version, int *ret_fd, uint64_t *ret_size)
{
	int r = ERR_NOT_FOUND;

	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < WEB_EXPORTS_MAX && r == ERR_NOT_FOUND; i++) {
		struct export *e = &x->export[i];

		if (e->fd < 0 || e->stale || strcmp(e->id.hex, id->hex) != 0 || strcmp(e->version, version) != 0)
			continue;
		*ret_fd = fcntl(e->fd, F_DUPFD_CLOEXEC, 3);
		r = *ret_fd < 0 ? -errno : 0;
		*ret_size = e->size;
		e->used_ns = os_mono_ns();
	}
	pthread_mutex_unlock(&x->lock);
	return r;
}

/* Keeps fd (taken) in the place of the one unused for longest. */
static void keep(struct web_exports *x, const struct store_id *id, const char *version, int fd, uint64_t size)
{
	struct export *e = &x->export[0];

	pthread_mutex_lock(&x->lock);
	for (size_t i = 1; i < WEB_EXPORTS_MAX && e->fd >= 0; i++) {
		if (x->export[i].fd < 0 || x->export[i].used_ns < e->used_ns)
			e = &x->export[i];
	}
	if (e->fd >= 0)
		close(e->fd);
	*e = (struct export){ .id = *id, .fd = fd, .size = size, .used_ns = os_mono_ns() };
	(void)snprintf(e->version, sizeof(e->version), "%s", version);
	pthread_mutex_unlock(&x->lock);
}

/* A client that has gone, or a stop of the daemon, ends the work; and so does a disk that fills up. */
static int progress(void *ctx, uint64_t done UNUSED, uint64_t total UNUSED)
{
	struct web_request *q = ctx;
	struct statvfs st;

	if (q->web->stopping || conn_gone(q->conn, false))
		return ERR_INTERRUPTED;
	if (fstatvfs(q->body_fd, &st) == 0 && (uint64_t)st.f_bavail * st.f_frsize < q->web->cfg->disk_floor)
		return -ENOSPC;
	return 0;
}

/* The store may be on a disk that cannot be written to, and is still to be read. */
static int open_scratch(struct web_request *q)
{
	int r = request_open_upload(q);

	if (r == -EROFS || r == -EACCES)
		r = q->body_fd = os_open(P_tmpdir, O_TMPFILE | O_RDWR, 0600);
	return r < 0 ? r : 0;
}

static int make(struct web_request *q, const struct store_id *id, int *ret_fd, uint64_t *ret_size)
{
	struct stat st;
	int r = open_scratch(q);

	daemon_job_hurry(q->web->daemon, id); /* the sealer keeps it locked */
	if (r == 0)
		r = web_store(q) ? store_export(web_store(q), id, q->body_fd, progress, q, &q->ei) : -ENOMEM;
	if (r == 0)
		r = os_fstat(q->body_fd, &st);
	if (r < 0)
		return r;
	*ret_size = (uint64_t)st.st_size;
	*ret_fd = TAKE_FD(q->body_fd);
	return 0;
}

static int get(struct web_request *q, const struct store_id *id, int *ret_fd, uint64_t *ret_size)
{
	struct web_exports *x = q->web->exports;
	int r = find(x, id, q->etag, ret_fd, ret_size), mine;

	if (r != ERR_NOT_FOUND)
		return r;
	pthread_mutex_lock(&x->work);
	r = find(x, id, q->etag, ret_fd, ret_size);
	if (r == ERR_NOT_FOUND) {
		r = make(q, id, ret_fd, ret_size);
		mine = r == 0 ? fcntl(*ret_fd, F_DUPFD_CLOEXEC, 3) : -1;
		if (mine >= 0)
			keep(x, id, q->etag, mine, *ret_size);
	}
	pthread_mutex_unlock(&x->work);
	return r;
}

/* All that is exported lies in the recording's directory, and whatever changes there is put in place by a rename. */
static int set_etag(struct web_request *q, const struct store_id *id)
{
	char *path CLEANUP(freep) = NULL;
	struct stat st;
	int r = web_store(q) ? store_path(web_store(q), id, &path) : -ENOMEM;

	if (r < 0)
		return r;
	if (stat(path, &st) < 0)
		return -errno;
	web_etag(q, false, "%s-%llx-%lx", id->hex, (unsigned long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	q->no_cache = true;
	return 0;
}

int web_export_get(struct web_request *q)
{
	const struct catalog_view *v = NULL;
	const struct catalog_entry *e;
	char name[STORE_ID_LEN + 16];
	struct store_id id;
	uint64_t size;
	int fd, r;

	if (web_recording(q, &id) < 0)
		return web_replied(q);
	r = recording_entry(q, &id, &v, &e);
	if (r < 0)
		return r;
	r = e->live ? errinfo_set(&q->ei, ERR_BUSY, "the recording is still being made") : 0;
	catalog_put(daemon_catalog(q->web->daemon), v);
	if (r == 0)
		r = set_etag(q, &id);
	if (r < 0)
		return r;
	if (web_not_modified(q))
		return web_replied(q);
	r = get(q, &id, &fd, &size);
	if (r < 0)
		return r;
	(void)snprintf(name, sizeof(name), "%s.hermit.tar", id.hex);
	return web_reply_file(q, fd, 0, size, TAR_TYPE, name);
}

int web_import_post(struct web_request *q)
{
	char location[sizeof(WEB_API_PREFIX) + STORE_ID_LEN + 16];
	struct store_id id;
	int fd = web_body_file(q), r;

	if (fd < 0)
		return web_problem(q, 400, "bad-request", "an export is wanted as body");
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	r = web_store(q) ? store_import(web_store(q), fd, &id, NULL, NULL, &q->ei) : -ENOMEM;
	if (r == ERR_LIMIT)
		r = ERR_CORRUPT; /* of the file, not of the server */
	if (r < 0)
		return r;
	daemon_refresh(q->web->daemon);
	readers_forget(q->web->readers, &id);
	(void)snprintf(location, sizeof(location), WEB_API_PREFIX "/recordings/%s", id.hex);
	web_set_header(q, "Location", location);
	return recording_reply(q, 201, &id);
}
