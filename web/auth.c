/* Tokens and cookies. A browser shows a one-time token once (/login) and has a cookie from then on; cookies are random, kept in memory alone, and end
 * with the daemon. Cookies do not know ports: the port is in the name, so that two daemons on one host do not take each other's away. */
#include "web/server_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/os.h"
#include "daemon/token.h"
#include "web/text_priv.h"

#define BEARER "Bearer "

struct cookie {
	char value[TOKEN_HEX_BYTES]; /* "" = free */
	uint64_t made_ns, used_ns;
};

struct web_cookies {
	pthread_mutex_t lock;
	struct cookie cookie[WEB_COOKIES_MAX];
};

int auth_init(struct web *w, struct errinfo *ei)
{
	char *path CLEANUP(freep) = w->cfg->token_file ? os_strdup(w->cfg->token_file) : os_asprintf("%s/token", w->cfg->runtime_dir);
	char random[TOKEN_HEX_BYTES];
	int r = path ? token_load(path, &w->token, ei) : -ENOMEM;

	if (r < 0)
		return r;
	r = token_random(random);
	if (r < 0)
		return errinfo_set_r(ei, r, "draw random bytes");
	(void)snprintf(w->boot, sizeof(w->boot), "%.16s", random);
	w->cookies = os_calloc(1, sizeof(*w->cookies));
	if (!w->cookies)
		return -ENOMEM;
	pthread_mutex_init(&w->cookies->lock, NULL);
	return 0;
}

void auth_done(struct web *w)
{
	free(w->token);
	if (w->cookies)
		pthread_mutex_destroy(&w->cookies->lock);
	free(w->cookies);
	w->cookies = NULL;
	w->token = NULL;
}

static bool expired(const struct cookie *c, uint64_t now)
{
	return !c->value[0] || now - c->made_ns > WEB_COOKIE_LIFE_NS || now - c->used_ns > WEB_COOKIE_IDLE_NS;
}

static bool cookie_good(struct web_cookies *cs, const char *value)
{
	uint64_t now = os_mono_ns();
	bool good = false;

	pthread_mutex_lock(&cs->lock);
	/* all are compared, whichever it is */
	for (size_t i = 0; i < WEB_COOKIES_MAX; i++) {
		struct cookie *c = &cs->cookie[i];

		if (expired(c, now)) {
			c->value[0] = '\0';
		} else if (token_equal(c->value, value)) {
			c->used_ns = now;
			good = true;
		}
	}
	pthread_mutex_unlock(&cs->lock);
	return good;
}

static int cookie_new(struct web_cookies *cs, char ret[TOKEN_HEX_BYTES])
{
	struct cookie *oldest = &cs->cookie[0];
	int r = token_random(ret);

	if (r < 0)
		return r;
	pthread_mutex_lock(&cs->lock);
	for (size_t i = 1; i < WEB_COOKIES_MAX && oldest->value[0]; i++) {
		if (!cs->cookie[i].value[0] || cs->cookie[i].used_ns < oldest->used_ns)
			oldest = &cs->cookie[i];
	}
	memcpy(oldest->value, ret, TOKEN_HEX_BYTES);
	oldest->made_ns = oldest->used_ns = os_mono_ns();
	pthread_mutex_unlock(&cs->lock);
	return 0;
}

static bool get_cookie(struct web_request *q, char ret[TOKEN_HEX_BYTES])
{
	return q->web->cookie_name[0] && text_cookie(web_header(q, "Cookie"), q->web->cookie_name, ret, TOKEN_HEX_BYTES) && ret[0];
}

bool auth_ok(struct web_request *q)
{
	const char *header = web_header(q, "Authorization");
	char value[TOKEN_HEX_BYTES];

	if (header)
		return strncasecmp(header, BEARER, strlen(BEARER)) == 0 && token_equal(q->web->token, header + strlen(BEARER));
	q->by_cookie = get_cookie(q, value) && cookie_good(q->web->cookies, value);
	return q->by_cookie;
}

/* Secure would keep it from the plain HTTP of the loopback address; a proxy with TLS in front may add it. */
static void set_cookie(struct web_request *q, const char *value, const char *more)
{
	char text[WEB_HEADER_BYTES];

	(void)snprintf(text, sizeof(text), "%s=%s; HttpOnly; SameSite=Strict; Path=/%s", q->web->cookie_name, value, more);
	web_set_header(q, "Set-Cookie", text);
}

/* The fragment of the link ("#/r/ID") is kept by the browser across the redirection. */
int web_login_get(struct web_request *q)
{
	const char *token = web_query(q, "token");
	char value[TOKEN_HEX_BYTES];
	int r;

	if (!q->web->cookie_name[0])
		return web_problem(q, 409, "conflict", "nobody has to log in on a unix socket");
	if (!token)
		return web_problem(q, 400, "bad-request", "a link to log in has a token: 'hermit open' prints one");
	if (q->head || !daemon_login_use(q->web->daemon, token))
		return web_problem(q, 403, "forbidden", "this link has been used or is too old: 'hermit open' prints a new one");
	r = cookie_new(q->web->cookies, value);
	if (r < 0)
		return r;
	set_cookie(q, value, "");
	web_set_header(q, "Location", "/");
	return web_reply_empty(q, 303);
}

int web_logout_post(struct web_request *q)
{
	struct web_cookies *cs = q->web->cookies;
	char value[TOKEN_HEX_BYTES];

	if (get_cookie(q, value)) {
		pthread_mutex_lock(&cs->lock);
		for (size_t i = 0; i < WEB_COOKIES_MAX; i++) {
			if (token_equal(cs->cookie[i].value, value))
				cs->cookie[i].value[0] = '\0';
		}
		pthread_mutex_unlock(&cs->lock);
	}
	set_cookie(q, "", "; Max-Age=0");
	return web_reply_empty(q, 204);
}
