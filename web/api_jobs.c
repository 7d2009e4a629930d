/* Long work: begin it, look at it, end it. */
#include <errno.h>
#include <stdio.h>
#include "base/json.h"
#include "web/http_priv.h"
#include "web/page_priv.h"
#include "web/recording_priv.h"

/* Of a recording that the catalog knows by then. */
static int begin(struct web_request *q, const char *kind)
{
	struct daemon *d = web_daemon(q);
	const struct catalog_view *v;
	const struct catalog_entry *e;
	char location[80];
	struct store_id id;
	json_t *job;
	int r;

	if (web_recording(q, &id) < 0)
		return web_replied(q);
	r = recording_entry(q, &id, &v, &e);
	if (r < 0)
		return r;
	catalog_put(daemon_catalog(d), v);
	r = daemon_job_new(d, kind, &id, &job, web_errinfo(q));
	if (r < 0)
		return r;
	(void)snprintf(location, sizeof(location), "/api/v1/jobs/%s", json_string_value(json_object_get(job, "id")));
	web_set_header(q, "Location", location);
	return web_reply_json(q, 202, job);
}

int web_job_seal(struct web_request *q)
{
	return begin(q, "seal");
}

int web_job_verify(struct web_request *q)
{
	return begin(q, "verify");
}

int web_job_replay_check(struct web_request *q)
{
	return begin(q, "replay-check");
}

int web_jobs_list(struct web_request *q)
{
	json_t *all;
	int r = daemon_job_list(web_daemon(q), &all);

	return r < 0 ? r : web_reply_page(q, all);
}

static int no_job(struct web_request *q, int r)
{
	if (r == ERR_NOT_FOUND)
		return web_problem(q, 404, "not-found", "there is no job %.64s", web_param(q, "jid"));
	return r == -EALREADY ? web_problem(q, 409, "conflict", "the job is over already") : r;
}

int web_job_get(struct web_request *q)
{
	json_t *job;
	int r = daemon_job_get(web_daemon(q), web_param(q, "jid"), &job);

	return r < 0 ? no_job(q, r) : web_reply_json(q, 200, job);
}

int web_job_delete(struct web_request *q)
{
	int r = daemon_job_cancel(web_daemon(q), web_param(q, "jid"));

	return r < 0 ? no_job(q, r) : web_reply_empty(q, 204);
}
