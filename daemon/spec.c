/* See spec.h. */
#include "daemon/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/json.h"
#include "base/os.h"
#include "daemon/limits_priv.h"

/* --- to the file --- */

/* "No limit" is the largest number in C, and null here. */
static json_t *limit_to_json(rlim_t v)
{
	return v == RLIM_INFINITY || v > INT64_MAX ? json_null() : json_integer((json_int_t)v);
}

static json_t *limits_to_json(const struct rlimit *v)
{
	json_t *a = json_array();

	for (int i = 0; a && i < RLIM_NLIMITS; i++)
		if (json_array_append_new(a, json_pack("[oo]", limit_to_json(v[i].rlim_cur), limit_to_json(v[i].rlim_max))) < 0) {
			json_decref(a);
			return NULL;
		}
	return a;
}

static int to_json(const struct daemon_record *rec, json_t **ret)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object();
	int r = jsonx_set_new(j, "argv", jsonx_strings(rec->argv));

	if (r == 0 && rec->envp)
		r = jsonx_set_new(j, "env", jsonx_strings(rec->envp));
	if (r == 0 && rec->cwd)
		r = jsonx_set_new(j, "cwd", jsonx_bytes(rec->cwd));
	if (r == 0 && rec->umask != (mode_t)-1)
		r = jsonx_set_u64(j, "umask", rec->umask & 0777);
	if (r == 0 && rec->limits)
		r = jsonx_set_new(j, "limits", limits_to_json(rec->limits));
	if (r == 0 && rec->options)
		r = jsonx_set_new(j, "options", json_incref(rec->options));
	if (r == 0)
		*ret = TAKE(j);
	return r;
}

int spec_new(const struct daemon_record *rec, int *ret_fd)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	char *text CLEANUP(freep) = NULL;
	int fd CLEANUP(closep) = -1;
	size_t n;
	int r = to_json(rec, &j);

	if (r == 0)
		r = jsonx_dump(j, JSON_COMPACT, &text, &n);
	if (r == 0 && n > SPEC_BYTES_MAX)
		r = ERR_LIMIT;
	if (r < 0)
		return r;
	fd = memfd_create("hermit-record", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = os_write_full(fd, text, n);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* --- from the file --- */

static int limit_from_json(const json_t *j, rlim_t *ret)
{
	if (json_is_null(j)) {
		*ret = RLIM_INFINITY;
		return 0;
	}
	if (!json_is_integer(j) || json_integer_value(j) < 0)
		return ERR_CORRUPT;
	*ret = (rlim_t)json_integer_value(j);
	return 0;
}

static int limits_from_json(const json_t *a, struct record_spec *ret)
{
	int r = json_array_size(a) == RLIM_NLIMITS ? 0 : ERR_CORRUPT;

	for (size_t i = 0; i < RLIM_NLIMITS && r == 0; i++) {
		const json_t *pair = json_array_get(a, i);

		r = json_array_size(pair) == 2 ? limit_from_json(json_array_get(pair, 0), &ret->limits[i].rlim_cur) : ERR_CORRUPT;
		if (r == 0)
			r = limit_from_json(json_array_get(pair, 1), &ret->limits[i].rlim_max);
	}
	ret->has_limits = r == 0;
	return r;
}

static int missing_is_fine(int r)
{
	return r == -ENOENT ? 0 : r;
}

static int from_json(const json_t *j, struct record_spec *ret)
{
	const json_t *env = json_object_get(j, "env"), *cwd = json_object_get(j, "cwd");
	json_t *limits = NULL, *options = NULL;
	uint64_t mask = (mode_t)-1;
	int r = jsonx_strings_value(json_object_get(j, "argv"), SPEC_STRINGS_MAX, &ret->argv);

	if (r == 0 && !ret->argv[0])
		r = ERR_CORRUPT;
	if (r == 0 && env)
		r = jsonx_strings_value(env, SPEC_STRINGS_MAX, &ret->env);
	if (r == 0 && cwd)
		r = jsonx_bytes_value(cwd, &ret->cwd);
	if (r == 0)
		r = missing_is_fine(jsonx_get_u64(j, "umask", &mask));
	if (r == 0)
		r = missing_is_fine(jsonx_get_array(j, "limits", &limits));
	if (r == 0 && limits)
		r = limits_from_json(limits, ret);
	if (r == 0)
		r = missing_is_fine(jsonx_get_object(j, "options", &options));
	if (r < 0)
		return r;
	ret->umask = (mode_t)mask;
	ret->options = options ? json_incref(options) : json_object();
	return ret->options ? 0 : -ENOMEM;
}

int spec_load(int fd, struct record_spec *ret, struct errinfo *ei)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	char *text CLEANUP(freep) = NULL;
	struct stat st;
	ssize_t n;
	int r = os_fstat(fd, &st);

	*ret = (struct record_spec){ 0 };
	/* a pipe would let its writer hold us up */
	if (r == 0 && !S_ISREG(st.st_mode))
		r = ERR_CORRUPT;
	if (r == 0 && st.st_size > (off_t)SPEC_BYTES_MAX)
		r = ERR_LIMIT;
	if (r == 0) {
		text = os_malloc((size_t)st.st_size + 1);
		r = text ? 0 : -ENOMEM;
	}
	if (r < 0)
		return errinfo_set_r(ei, r, "read the specification");
	n = os_pread_full(fd, text, (size_t)st.st_size, 0);
	if (n < 0)
		return errinfo_set_r(ei, (int)n, "read the specification");
	r = jsonx_parse(text, (size_t)n, &j, ei);
	if (r == 0)
		r = from_json(j, ret);
	return r < 0 ? errinfo_set_r(ei, r, "the specification of the recording") : 0;
}

void spec_done(struct record_spec *s)
{
	jsonx_strings_free(s->argv);
	jsonx_strings_free(s->env);
	free(s->cwd);
	json_decref(s->options);
	*s = (struct record_spec){ 0 };
}
