/* POST /recordings: what is to be recorded, from JSON. Nothing of it is interpreted by a shell. */
#include "web/server_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"
#include "store/maintain.h"
#include "web/recording_priv.h"

#define ARGS_MAX 65536u
#define VARIABLES_MAX 4096u /* each is looked for among those before */

/* With base_env "minimal": what programs need to work at all. */
static const char *const minimal[] = { "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "TZ" };

enum base_env { BASE_HOST, BASE_MINIMAL, BASE_EMPTY, BASE_MAX_ };
static const char *const base_names[] = { [BASE_HOST] = "host", [BASE_MINIMAL] = "minimal", [BASE_EMPTY] = "empty" };

struct start {
	char **argv, **env; /* NULL-terminated; the arrays are owned, strings of env too */
	size_t n_env;
	const char *cwd;
	json_t *options;    /* owned */
};

static void start_done(struct start *s)
{
	for (size_t i = 0; i < s->n_env; i++)
		free(s->env[i]);
	free(s->env);
	free(s->argv);
	json_decref(s->options);
}

static int bad(struct web_request *q, const char *what)
{
	q->error = web_problem(q, 400, "bad-request", "%s", what);
	return -EINVAL;
}

static int parse_argv(struct web_request *q, const json_t *body, struct start *s)
{
	json_t *argv = json_object_get(body, "argv");
	size_t n = json_array_size(argv);

	if (!json_is_array(argv) || n == 0 || n > ARGS_MAX)
		return bad(q, "argv must be a list with the program and its arguments");
	s->argv = os_calloc(n + 1, sizeof(*s->argv));
	if (!s->argv)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		s->argv[i] = (char *)json_string_value(json_array_get(argv, i));
		if (!s->argv[i])
			return bad(q, "argv must be a list of texts");
	}
	return s->argv[0][0] ? 0 : bad(q, "argv must begin with a program");
}

/* Takes text. Replaces a variable of that name. */
static int put_variable(struct start *s, char *text)
{
	const size_t n = text ? (size_t)(strchrnul(text, '=') - text) + 1 : 0;

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_env; i++) {
		if (strncmp(s->env[i], text, n) == 0) {
			free(s->env[i]);
			s->env[i] = text;
			return 0;
		}
	}
	s->env[s->n_env++] = text;
	return 0;
}

/* Variables that steer hermit itself are not the program's. */
static int put_base(struct start *s, enum base_env base)
{
	int r = 0;

	for (size_t i = 0; base == BASE_HOST && environ[i] && r == 0; i++) {
		if (!str_has_prefix(environ[i], "HERMIT_"))
			r = put_variable(s, os_strdup(environ[i]));
	}
	for (size_t i = 0; base == BASE_MINIMAL && i < ARRAY_SIZE(minimal) && r == 0; i++) {
		const char *v = getenv(minimal[i]);

		if (v)
			r = put_variable(s, os_asprintf("%s=%s", minimal[i], v));
	}
	return r;
}

static int parse_env(struct web_request *q, const json_t *body, struct start *s)
{
	json_t *env = json_object_get(body, "env"), *value;
	const char *name = "host";
	size_t base = 0, host = 0;
	const char *key;
	int r = jsonx_get_str(body, "base_env", &name);

	while (base < BASE_MAX_ && strcmp(base_names[base], name) != 0)
		base++;
	if ((r < 0 && r != -ENOENT) || base == BASE_MAX_)
		return bad(q, "base_env is one of host, minimal, empty");
	if (env && !json_is_null(env) && !json_is_object(env))
		return bad(q, "env must be an object of texts");
	if (json_object_size(env) > VARIABLES_MAX)
		return bad(q, "env has too many variables");
	while (environ[host])
		host++;
	s->env = os_calloc(host + ARRAY_SIZE(minimal) + json_object_size(env) + 1, sizeof(*s->env));
	if (!s->env)
		return -ENOMEM;
	r = put_base(s, (enum base_env)base);
	json_object_foreach (env, key, value) {
		if (!json_is_string(value) || !*key || strchr(key, '='))
			return bad(q, "env must be an object of texts, and names have no =");
		if (r == 0)
			r = put_variable(s, os_asprintf("%s=%s", key, json_string_value(value)));
	}
	return r;
}

/* Members of options that the recorder knows, and of the body that it takes as options. */
static int parse_options(struct web_request *q, const json_t *body, struct start *s)
{
	json_t *options = json_object_get(body, "options");
	const char *label = NULL;
	bool keep = false;
	int r;

	if (options && !json_is_null(options) && !json_is_object(options))
		return bad(q, "options must be an object");
	s->options = json_is_object(options) ? json_deep_copy(options) : json_object();
	if (!s->options)
		return -ENOMEM;
	r = jsonx_get_str(body, "label", &label);
	if ((r < 0 && r != -ENOENT) || (label && *label && !store_label_valid(label)))
		return bad(q, "a label has 1 to 100 bytes, no slash and no control characters");
	if (label && *label && jsonx_set_str(s->options, "label", label) < 0)
		return -ENOMEM;
	r = jsonx_get_bool(body, "keep", &keep);
	if (r < 0 && r != -ENOENT)
		return bad(q, "keep must be true or false");
	return keep ? jsonx_set_bool(s->options, "keep", true) : 0;
}

static int parse_cwd(struct web_request *q, const json_t *body, struct start *s)
{
	int r = jsonx_get_str(body, "cwd", &s->cwd);

	if (r == -ENOENT)
		s->cwd = getenv("HOME") ? getenv("HOME") : "/";
	else if (r < 0 || s->cwd[0] != '/')
		return bad(q, "cwd must be an absolute path");
	return 0;
}

static int check_names(struct web_request *q, const json_t *body)
{
	static const char *const known[] = { "argv", "cwd", "env", "base_env", "label", "keep", "options" };
	json_t *value;
	const char *key;

	json_object_foreach ((json_t *)body, key, value) {
		size_t i = 0;

		while (i < ARRAY_SIZE(known) && strcmp(known[i], key) != 0)
			i++;
		if (i == ARRAY_SIZE(known))
			return bad(q, "known are argv, cwd, env, base_env, label, keep, options");
	}
	return 0;
}

int web_recordings_post(struct web_request *q)
{
	struct start s CLEANUP(start_done) = { 0 };
	struct daemon_record rec = { .cwd_fd = -1, .fds = { -1, -1, -1 }, .umask = (mode_t)-1, .source = "http" };
	char location[sizeof(WEB_API_PREFIX) + STORE_ID_LEN + 16];
	json_t *body = NULL;
	struct store_id id;
	int r;

	if (!q->web->cfg->allow_start)
		return web_problem(q, 403, "forbidden", "this server starts no programs (allow_start)");
	if (web_body_json(q, &body) < 0)
		return web_replied(q);
	r = check_names(q, body);
	if (r == 0)
		r = parse_argv(q, body, &s);
	if (r == 0)
		r = parse_cwd(q, body, &s);
	if (r == 0)
		r = parse_env(q, body, &s);
	if (r == 0)
		r = parse_options(q, body, &s);
	if (r < 0)
		return q->replied ? 0 : r;
	rec.argv = s.argv;
	rec.envp = s.env;
	rec.cwd = s.cwd;
	rec.options = s.options;
	r = daemon_record_start(q->web->daemon, &rec, &id, &q->ei);
	/* of a program that is not there the address is not at fault */
	if (r == -ENOENT || r == -EACCES || r == -ENOEXEC || r == -ENOTDIR)
		return web_problem(q, 400, "bad-request", "%s", q->ei.text[0] ? q->ei.text : err_str(r));
	if (r < 0)
		return r;
	daemon_refresh(q->web->daemon);
	(void)snprintf(location, sizeof(location), WEB_API_PREFIX "/recordings/%s", id.hex);
	web_set_header(q, "Location", location);
	return recording_reply(q, 201, &id);
}
