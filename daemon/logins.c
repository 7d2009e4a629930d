/* Links that log a browser in: each works once, for a minute. Only `hermit open`, which has proved who it is, gets one. */
#include "daemon/logins_priv.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "daemon/limits_priv.h"
#include "daemon/token.h"

struct login {
	char token[TOKEN_HEX_BYTES]; /* "" = free */
	uint64_t until_ns;
};

struct logins {
	pthread_mutex_t lock;
	struct login slot[LOGINS_MAX];
};

int logins_new(struct daemon *d UNUSED, struct logins **ret)
{
	struct logins *l = os_calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	pthread_mutex_init(&l->lock, NULL);
	*ret = l;
	return 0;
}

void logins_free(struct logins *l)
{
	if (!l)
		return;
	pthread_mutex_destroy(&l->lock);
	free(l);
}

int logins_add(struct logins *l, uint64_t now_ns, char ret[65])
{
	struct login fresh = { .until_ns = now_ns + LOGIN_LIFE_NS };
	struct login *oldest = &l->slot[0];
	int r = token_random(fresh.token);

	if (r < 0)
		return r;
	pthread_mutex_lock(&l->lock);
	for (size_t i = 1; i < LOGINS_MAX; i++)
		if (l->slot[i].until_ns < oldest->until_ns)
			oldest = &l->slot[i];
	*oldest = fresh;
	pthread_mutex_unlock(&l->lock);
	memcpy(ret, fresh.token, sizeof(fresh.token));
	return 0;
}

bool logins_take(struct logins *l, uint64_t now_ns, const char *token)
{
	bool found = false;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < LOGINS_MAX; i++) {
		bool same = token_equal(l->slot[i].token, token);

		if (!same && l->slot[i].until_ns > now_ns)
			continue;
		found |= same && l->slot[i].until_ns > now_ns;
		l->slot[i] = (struct login){ 0 };
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}

int daemon_login_new(struct daemon *d, char ret[65])
{
	return logins_add(d->logins, os_mono_ns(), ret);
}

bool daemon_login_use(struct daemon *d, const char *token)
{
	return logins_take(d->logins, os_mono_ns(), token);
}
