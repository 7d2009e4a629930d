/* See guestenv.h. Later words win over earlier ones and over the base; the order of the base is kept, because programs like env(1)
 * print it. */
#include "cli/guestenv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"

const char *const guestenv_base_names[] = { "host", "minimal", "empty", NULL };

static const char *const minimal[] = {
	"HOSTNAME=hermetic-container.local",
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/root",
	NULL,
};

/* They tell this hermit what to do; a guest sees them only when asked for with -e. */
static const char *const ours[] = { "HERMIT_LOG", "HERMIT_LOG_FILE", "HERMIT_DATA_DIR", "HERMIT_FAULT" };

/* Length of the name in "NAME=VALUE" or "NAME". */
static size_t name_len(const char *word)
{
	return (size_t)(strchrnul(word, '=') - word);
}

static bool is_ours(const char *word)
{
	size_t n = name_len(word);

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (strlen(ours[i]) == n && !strncmp(ours[i], word, n))
			return true;
	return false;
}

/* Sets a variable in env, which has room. Takes a copy of word. */
static int put(char **env, const char *word)
{
	size_t n = name_len(word), i;
	char *copy = os_strdup(word);

	if (!copy)
		return -ENOMEM;
	for (i = 0; env[i]; i++)
		if (!strncmp(env[i], word, n) && env[i][n] == '=')
			break;
	free(env[i]);
	env[i] = copy;
	return 0;
}

static const char *find(char *const *env, const char *name, size_t n)
{
	for (; env && *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=')
			return *env;
	return NULL;
}

static int put_word(char **env, char *const *host, const char *word, struct errinfo *ei)
{
	size_t n = name_len(word);
	const char *found;

	if (!n)
		return errinfo_set(ei, -EINVAL, "'%s' is no environment variable: NAME or NAME=VALUE is needed", word);
	if (word[n])
		return put(env, word);
	found = find(host, word, n);
	if (!found)
		return errinfo_set(ei, -ENOENT,
				   "Attempt to pass through env var %s, but it is not set in the host environment", word);
	return put(env, found);
}

static size_t count(const char *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	return n;
}

int guestenv_new(enum guestenv_base base, char *const *host, const struct opt_list *words, char ***ret, struct errinfo *ei)
{
	const char *const *from[GUESTENV_MAX_] = {
		[GUESTENV_HOST] = (const char *const *)host, [GUESTENV_MINIMAL] = minimal, [GUESTENV_EMPTY] = NULL,
	};
	char **env CLEANUP(guestenv_freep) = NULL;
	size_t n = 0;
	int r;

	env = os_calloc(count(from[base]) + words->n + 1, sizeof(*env));
	if (!env)
		return -ENOMEM;
	/* no put() here: a host environment may hold a name twice, or words without '=', and is passed on as it is */
	for (size_t i = 0; from[base] && from[base][i]; i++) {
		if (is_ours(from[base][i]))
			continue;
		env[n] = os_strdup(from[base][i]);
		if (!env[n++])
			return -ENOMEM;
	}
	for (size_t i = 0; i < words->n; i++) {
		r = put_word(env, host, words->v[i], ei);
		if (r < 0)
			return r;
	}
	*ret = TAKE(env);
	return 0;
}

void guestenv_free(char **env)
{
	for (size_t i = 0; env && env[i]; i++)
		free(env[i]);
	free(env);
}

void guestenv_freep(char ***env)
{
	guestenv_free(*env);
}

const char *guestenv_get(char *const *env, const char *name)
{
	const char *found = find(env, name, strlen(name));

	return found ? found + strlen(name) + 1 : NULL;
}
