/* The request as handlers see it, and its life: begun with its head, fed its body, run, freed. */
#define LOG_AREA "web.request"
#include "web/server_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"
#include "base/str.h"
#include "web/text_priv.h"

/* Uploads look this often whether there is still room. */
#define ROOM_EVERY (16u << 20)

/* --- life --- */

struct web_request *request_new(struct web *w, struct MHD_Connection *c, struct conn *conn, const char *target)
{
	struct web_request *q = os_calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->web = w;
	q->mhd = c;
	q->conn = conn;
	q->body_fd = -1;
	q->start_ns = os_mono_ns();
	q->url_error = url_parse(target, &q->url);
	w->counters.active++;
	conn_deadline(conn, WEB_HEAD_NS);
	return q;
}

static void log_access(const struct web_request *q, uint64_t ns)
{
	log_debug("%s %s %u %llu bytes %.1f ms %s", q->head ? "HEAD" : web_method(q), web_path(q), q->status, (unsigned long long)q->reply_bytes,
		  (double)ns / 1e6, q->id);
}

void request_free(struct web_request *q)
{
	if (!q)
		return;
	stream_request_gone(q);
	readers_put_all(q);
	readers_store_put(q->web->readers, q->store);
	if (q->status)
		log_access(q, os_mono_ns() - q->start_ns);
	q->web->counters.active--;
	q->web->counters.bytes_out += q->reply_bytes;
	q->web->counters.bytes_in += q->body_len;
	if (q->conn)
		conn_deadline(q->conn, WEB_IDLE_NS);
	if (q->body_fd >= 0)
		close(q->body_fd);
	buf_done(&q->body);
	json_decref(q->json);
	url_done(&q->url);
	free(q);
}

static void set_id(struct web_request *q)
{
	const char *theirs = web_header(q, "X-Request-Id");

	if (theirs && text_is_request_id(theirs))
		(void)snprintf(q->id, sizeof(q->id), "%s", theirs);
	else
		(void)snprintf(q->id, sizeof(q->id), "%.8s-%llu", q->web->boot, (unsigned long long)++q->web->next_request);
}

void request_begin(struct web_request *q, const char *method)
{
	const char *length = web_header(q, "Content-Length");
	uint64_t n = 0;

	q->begun = true;
	q->head = strcmp(method, "HEAD") == 0;
	q->method = route_method(method);
	set_id(q);
	guard_check(q);
	if (length && str_parse_u64(length, &n) < 0)
		refuse(q, 400, "bad-request", "Content-Length is no number");
	q->body_announced = n;
	conn_deadline(q->conn, WEB_BODY_NS + (q->refusal.status ? 0 : n / WEB_SLOWEST_BYTES * 1000000000u));
	if (!q->refusal.status && n > (q->route && q->route->flags & ROUTE_UPLOAD ? q->web->cfg->max_upload : WEB_BODY_MAX))
		refuse(q, 413, "too-large", "a body of %llu bytes is more than is taken", (unsigned long long)n);
}

/* --- the body --- */

static int check_room(struct web_request *q)
{
	struct statvfs st;

	if (fstatvfs(q->body_fd, &st) < 0)
		return -errno;
	return (uint64_t)st.f_bavail * st.f_frsize < q->web->cfg->disk_floor ? -ENOSPC : 0;
}

/* A file without a name on the disk of the store: nothing is left of it whatever happens. */
int request_open_upload(struct web_request *q)
{
	q->body_fd = os_open(q->web->cfg->data_dir, O_TMPFILE | O_RDWR, 0600);
	if (q->body_fd == -EOPNOTSUPP || q->body_fd == -EISDIR) {
		char *path CLEANUP(freep) = os_asprintf("%s/tmp/new.upload-XXXXXX", q->web->cfg->data_dir);

		q->body_fd = path ? mkostemp(path, O_CLOEXEC) : -1;
		if (q->body_fd >= 0)
			(void)unlink(path);
		else
			q->body_fd = path ? -errno : -ENOMEM;
	}
	return q->body_fd < 0 ? errinfo_set_r(&q->ei, q->body_fd, "no file can be made in %s", q->web->cfg->data_dir) : 0;
}

static int write_upload(struct web_request *q, const void *p, size_t n)
{
	int r = 0;

	if (q->body_fd < 0) {
		r = request_open_upload(q);
		if (r == 0)
			r = check_room(q);
	} else if (q->body_len / ROOM_EVERY != (q->body_len + n) / ROOM_EVERY) {
		r = check_room(q);
	}
	return r == 0 ? os_write_full(q->body_fd, p, n) : r;
}

void request_body(struct web_request *q, const void *p, size_t n)
{
	const bool upload = q->route && q->route->flags & ROUTE_UPLOAD;
	const uint64_t max = upload ? q->web->cfg->max_upload : WEB_BODY_MAX;

	if (!q->refusal.status && q->body_len + n > max)
		refuse(q, 413, "too-large", "the body is larger than %llu bytes", (unsigned long long)max);
	if (!q->refusal.status && q->body_error == 0) {
		if (upload) {
			q->body_error = write_upload(q, p, n);
		} else {
			buf_put(&q->body, p, n);
			q->body_error = buf_error(&q->body);
		}
	}
	q->body_len += n;
}

int web_body_json(struct web_request *q, json_t **ret)
{
	struct errinfo why = { 0 };
	int r;

	if (!q->json) {
		if (!q->body.len) {
			q->error = web_problem(q, 400, "bad-request", "a JSON object is wanted as body");
			return -EINVAL;
		}
		r = jsonx_parse((const char *)q->body.data, q->body.len, &q->json, &why);
		if (r < 0 || !json_is_object(q->json)) {
			q->error = web_problem(q, 400, "bad-request", "the body is no JSON object%s%s", why.text[0] ? ": " : "", why.text);
			return -EINVAL;
		}
	}
	*ret = q->json;
	return 0;
}

int web_body_file(struct web_request *q)
{
	return q->body_fd;
}

/* --- running --- */

static void answer_refusal(struct web_request *q)
{
	const struct refusal *f = &q->refusal;
	int r;

	if (f->header[0])
		web_set_header(q, f->header, f->value);
	q->web->counters.refused++;
	r = web_problem(q, f->status, f->code, "%s", f->detail);
	if (r < 0)
		log_error_r(r, "refuse %s", web_path(q));
}

int request_run(struct web_request *q)
{
	uint64_t ns;
	int r = 0;

	conn_deadline(q->conn, 0);
	if (q->refusal.status)
		answer_refusal(q);
	else if (q->body_error)
		r = q->body_error;
	else if (q->route)
		r = q->route->handler(q);
	else
		r = assets_reply(q);
	if (r == 0 && !q->replied)
		r = q->error ? q->error : errinfo_set(&q->ei, -ENODATA, "nothing was answered");
	if (r < 0 && !q->replied) {
		q->n_headers = 0;
		problem_error(q, r);
	}
	/* the client may take its time with an answer that is made */
	if (!q->stream)
		readers_put_all(q);
	ns = os_mono_ns() - q->start_ns;
	counters_request(q->web, q->status, ns);
	return q->replied ? 0 : -ENOMEM;
}

/* --- what handlers ask --- */

struct daemon *web_daemon(struct web_request *q)
{
	return q->web->daemon;
}

struct store *web_store(struct web_request *q)
{
	if (!q->store && readers_store_get(q->web->readers, &q->store, &q->ei) < 0)
		q->store = NULL;
	return q->store;
}

struct errinfo *web_errinfo(struct web_request *q)
{
	return &q->ei;
}

const char *web_method(const struct web_request *q)
{
	return route_method_name(q->method);
}

const char *web_path(const struct web_request *q)
{
	return q->url.path ? q->url.path : "/";
}

const char *web_param(const struct web_request *q, const char *name)
{
	const char *v = route_param(q->route, &q->url, name);

	must(v);
	return v;
}

const char *web_query(const struct web_request *q, const char *name)
{
	return url_query(&q->url, name, 0);
}

const char *web_query_nth(const struct web_request *q, const char *name, size_t n)
{
	return url_query(&q->url, name, n);
}

const char *web_header(const struct web_request *q, const char *name)
{
	return MHD_lookup_connection_value(q->mhd, MHD_HEADER_KIND, name);
}

int web_query_u64(struct web_request *q, const char *name, uint64_t min, uint64_t max, uint64_t preset, uint64_t *ret)
{
	const char *s = web_query(q, name);
	uint64_t v;

	if (!s) {
		*ret = preset;
		return 0;
	}
	if (str_parse_u64(s, &v) < 0 || v < min || v > max) {
		q->error = web_problem(q, 400, "bad-request", "%s must be a number from %llu to %llu", name, (unsigned long long)min,
				       (unsigned long long)max);
		return -EINVAL;
	}
	*ret = v;
	return 0;
}

int web_query_bool(struct web_request *q, const char *name, bool *ret)
{
	static const char *const words[] = { "0", "1", "false", "true", "no", "yes", NULL };
	int v;
	int r = web_query_enum(q, name, words, 0, &v);

	if (r == 0)
		*ret = v & 1;
	return r;
}

int web_query_enum(struct web_request *q, const char *name, const char *const *choices, int preset, int *ret)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	const char *s = web_query(q, name);

	if (!s) {
		*ret = preset;
		return 0;
	}
	for (int i = 0; choices[i]; i++) {
		if (strcmp(choices[i], s) == 0) {
			*ret = i;
			return 0;
		}
		buf_printf(&b, "%s%s", i ? ", " : "", choices[i]);
	}
	q->error = web_problem(q, 400, "bad-request", "%s must be one of: %s", name, buf_cstr(&b));
	return -EINVAL;
}

int web_recording(struct web_request *q, struct store_id *ret)
{
	const char *hex = web_param(q, "id");
	struct catalog *c = daemon_catalog(q->web->daemon);
	const struct catalog_view *v;
	struct store_id id = { "" };
	bool found;
	int r = 0;

	(void)snprintf(id.hex, sizeof(id.hex), "%s", hex);
	v = catalog_get(c);
	found = v && catalog_find(v, &id);
	catalog_put(c, v);
	if (!found) { /* somebody else's, and quite new */
		struct store *s = web_store(q);
		char *path CLEANUP(freep) = NULL;

		r = s ? store_path(s, &id, &path) : -ENOMEM;
	}
	if (r < 0) {
		q->error = web_problem(q, 404, "no-such-recording", "there is no recording %s", id.hex);
		return -EINVAL;
	}
	*ret = id;
	return 0;
}

int web_accept(struct web_request *q, const char *const *types, int *ret)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	int i = text_accept(web_header(q, "Accept"), types);

	web_set_header(q, "Vary", "Accept");
	if (i >= 0) {
		q->form = *ret = i;
		return 0;
	}
	for (i = 0; types[i]; i++)
		buf_printf(&b, "%s%s", i ? ", " : "", types[i]);
	q->error = web_problem(q, 406, "not-acceptable", "this can be had as: %s", buf_cstr(&b));
	return -EINVAL;
}
