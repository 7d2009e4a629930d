/* What this server is, how it is configured, how it does. */
#include "web/server_priv.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/build.h"
#include "base/json.h"
#include "web/json_priv.h"

#include "web/openapi.inc"

#define API_VERSION "v1"
#define PASSWD_BYTES 4096

json_t *web_json_user(void)
{
	char text[PASSWD_BYTES];
	struct passwd pw, *found = NULL;

	if (getpwuid_r(geteuid(), &pw, text, sizeof(text), &found) == 0 && found)
		return web_json_str(found->pw_name);
	(void)snprintf(text, sizeof(text), "%u", (unsigned)geteuid());
	return json_string(text);
}

static json_t *host_name(void)
{
	char text[HOST_NAME_MAX + 1] = "";

	(void)gethostname(text, sizeof(text) - 1);
	return web_json_str(text);
}

int web_version_get(struct web_request *q)
{
	return web_reply_json(q, 200,
			      json_pack("{s:s,s:s,s:o,s:s,s:s,s:b,s:o,s:o}", "name", "hermit", "version", build_version(), "commit",
					web_json_str(build_commit()), "built", build_date(), "api", API_VERSION, "read_only",
					(int)q->web->cfg->read_only, "user", web_json_user(), "host", host_name()));
}

int web_openapi_get(struct web_request *q)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	q->no_cache = true;
	web_etag(q, false, "%s-%zu", *build_commit() ? build_commit() : q->web->boot, sizeof(openapi_json));
	if (web_not_modified(q))
		return web_replied(q);
	buf_put(&b, openapi_json, sizeof(openapi_json));
	return web_reply_buf(q, 200, "application/json", &b);
}

int web_healthz_get(struct web_request *q)
{
	return web_reply_json(q, 200, json_pack("{s:s}", "status", "ok"));
}

int web_metrics_get(struct web_request *q)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	daemon_metrics(q->web->daemon, &b);
	counters_print(q->web, &b);
	return web_reply_buf(q, 200, "text/plain; version=0.0.4; charset=utf-8", &b);
}

int web_storage_get(struct web_request *q)
{
	json_t *j = NULL;
	int r = daemon_storage(q->web->daemon, &j);

	return r < 0 ? r : web_reply_json(q, 200, j);
}

static json_t *words(char *const *list)
{
	json_t *j = json_array();

	for (size_t i = 0; j && list && list[i]; i++) {
		if (json_array_append_new(j, jsonx_string_lossy(list[i], strlen(list[i]))) < 0) {
			json_decref(j);
			return NULL;
		}
	}
	return j;
}

static json_t *addresses(const struct web *w)
{
	json_t *j = json_array();

	for (size_t i = 0; j && i < w->n_listeners; i++) {
		if (json_array_append_new(j, jsonx_string_lossy(w->listener[i].url, strlen(w->listener[i].url))) < 0) {
			json_decref(j);
			return NULL;
		}
	}
	return j;
}

int web_settings_get(struct web_request *q)
{
	const struct daemon_config *c = q->web->cfg;

	return web_reply_json(
		q, 200,
		json_pack("{s:o,s:o,s:o,s:o,s:b,s:b,s:b,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "data_dir", web_json_str(c->data_dir), "runtime_dir",
			  web_json_str(c->runtime_dir), "addresses", addresses(q->web), "hosts", words(c->hosts), "read_only", (int)c->read_only,
			  "allow_start", (int)c->allow_start, "keep_running", (int)c->keep_running, "debuginfod", (int)c->debuginfod, "max_size",
			  (json_int_t)c->max_size, "max_age_s", (json_int_t)c->max_age_s, "disk_floor", (json_int_t)c->disk_floor, "scan_every_s",
			  (json_int_t)c->scan_every_s, "max_recordings", (json_int_t)c->max_recordings, "max_sessions", (json_int_t)c->max_sessions,
			  "max_inspectors", (json_int_t)c->max_inspectors, "max_upload", (json_int_t)c->max_upload, "max_connections",
			  (json_int_t)c->max_connections));
}
