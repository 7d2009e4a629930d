/* Debug sessions: open one, learn what to paste, end it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/json.h"
#include "web/http_priv.h"
#include "web/page_priv.h"
#include "web/recording_priv.h"

/* -EINVAL: *ret_problem says what is wrong. */
static int parse(const json_t *body, struct daemon_session_spec *spec, const char **ret_problem)
{
	const char *id = NULL;
	uint64_t pid = 0;
	int r = jsonx_get_str(body, "recording", &id);

	if (r < 0 || strlen(id) != STORE_ID_LEN || strspn(id, "0123456789abcdef") != STORE_ID_LEN) {
		*ret_problem = "recording must be the id of a recording";
		return -EINVAL;
	}
	memcpy(spec->recording.hex, id, sizeof(spec->recording.hex));
	r = jsonx_get_u64(body, "pid", &pid);
	if ((r < 0 && r != -ENOENT) || pid > INT32_MAX) {
		*ret_problem = "pid must be the number of a process of the recording";
		return -EINVAL;
	}
	spec->pid = (pid_t)pid;
	r = jsonx_get_str(body, "goto", &spec->go);
	if (r < 0 && r != -ENOENT) {
		*ret_problem = "goto must be a text: an event number, \"end\", \"crash\" or a position";
		return -EINVAL;
	}
	return 0;
}

/* The catalog is to know it by then. */
static int check_recording(struct web_request *q, const struct store_id *id)
{
	const struct catalog_view *v;
	const struct catalog_entry *e;
	int r = recording_entry(q, id, &v, &e);

	if (r == 0)
		catalog_put(daemon_catalog(web_daemon(q)), v);
	return r;
}

int web_sessions_post(struct web_request *q)
{
	struct daemon_session_spec spec = { 0 };
	const char *problem = NULL;
	json_t *body, *session;
	char location[80];
	int r;

	if (web_body_json(q, &body) < 0)
		return web_replied(q);
	if (parse(body, &spec, &problem) < 0)
		return web_problem(q, 400, "bad-request", "%s", problem);
	r = check_recording(q, &spec.recording);
	if (r == ERR_NOT_FOUND)
		return web_problem(q, 404, "no-such-recording", "there is no recording %s", spec.recording.hex);
	if (r == 0)
		r = daemon_session_new(web_daemon(q), &spec, &session, web_errinfo(q));
	if (r < 0)
		return r;
	(void)snprintf(location, sizeof(location), "/api/v1/sessions/%s", json_string_value(json_object_get(session, "id")));
	web_set_header(q, "Location", location);
	return web_reply_json(q, 201, session);
}

int web_sessions_list(struct web_request *q)
{
	json_t *all;
	int r = daemon_session_list(web_daemon(q), &all);

	return r < 0 ? r : web_reply_page(q, all);
}

static int no_session(struct web_request *q, int r)
{
	return r == ERR_NOT_FOUND ? web_problem(q, 404, "not-found", "there is no debug session %.64s", web_param(q, "sid")) : r;
}

int web_session_get(struct web_request *q)
{
	json_t *session;
	int r = daemon_session_get(web_daemon(q), web_param(q, "sid"), &session);

	return r < 0 ? no_session(q, r) : web_reply_json(q, 200, session);
}

int web_session_delete(struct web_request *q)
{
	int r = daemon_session_end(web_daemon(q), web_param(q, "sid"));

	return r < 0 ? no_session(q, r) : web_reply_empty(q, 204);
}
