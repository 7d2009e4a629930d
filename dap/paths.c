/* See paths_priv.h. */
#include "dap/paths_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "base/os.h"
#include "base/str.h"

/* --- maps --- */

void path_map_done(struct path_map *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].from);
		free(m->v[i].to);
	}
	free(m->v);
	*m = (struct path_map){ 0 };
}

/* Bytes without the slashes at the end. */
static size_t bare_length(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return n;
}

static char *bare(const char *path)
{
	return os_asprintf("%.*s", (int)bare_length(path), path);
}

/* Where a rule of that length goes: behind the longer ones. */
static int insert(struct path_map *m, char *from, char *to)
{
	struct path_rule *v = m->n < PATH_RULES_MAX ? reallocarray(m->v, m->n + 1, sizeof(*v)) : NULL;
	size_t at = 0;

	if (!v)
		return m->n < PATH_RULES_MAX ? -ENOMEM : ERR_LIMIT;
	m->v = v;
	while (at < m->n && strlen(v[at].from) >= strlen(from))
		at++;
	memmove(v + at + 1, v + at, (m->n - at) * sizeof(*v));
	v[at] = (struct path_rule){ from, to };
	m->n++;
	return 0;
}

int path_map_add(struct path_map *m, const char *from, const char *to)
{
	char *f CLEANUP(freep) = bare(from), *t CLEANUP(freep) = bare(to);
	int r;

	if (!f || !t)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->v[i].from, f)) {
			free(m->v[i].to);
			m->v[i].to = TAKE(t);
			return 0;
		}
	r = insert(m, f, t);
	if (r < 0)
		return r;
	(void)TAKE(f);
	(void)TAKE(t);
	return 0;
}

/* Bytes of path that the prefix stands for; 0: it is none of it. */
static size_t prefix_length(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	if (!n || strncmp(path, prefix, n) != 0)
		return 0;
	return prefix[n - 1] == '/' || path[n] == '/' || !path[n] ? n : 0;
}

void path_map_remove(struct path_map *m, const char *path)
{
	size_t i = 0;

	while (i < m->n && !prefix_length(path, m->v[i].from))
		i++;
	if (i == m->n)
		return;
	free(m->v[i].from);
	free(m->v[i].to);
	memmove(m->v + i, m->v + i + 1, (m->n - i - 1) * sizeof(*m->v));
	m->n--;
}

char *path_map_apply(const struct path_map *m, const char *path)
{
	for (size_t i = 0; i < m->n; i++) {
		size_t n = prefix_length(path, m->v[i].from);
		const char *to = m->v[i].to, *rest = path + n;

		if (!n)
			continue;
		while (*rest == '/')
			rest++;
		return os_asprintf("%s%s%s", to, *rest && to[strlen(to) - 1] != '/' ? "/" : "", rest);
	}
	return NULL;
}

/* --- sourceMap --- */

static bool is_path(const char *s)
{
	size_t n = 0;

	for (; s && s[n]; n++)
		if (iscntrl((unsigned char)s[n]))
			return false;
	return n > 0 && n < PATH_BYTES_MAX;
}

static char *absolute(const char *path)
{
	char *cwd CLEANUP(freep) = path[0] == '/' ? NULL : getcwd(NULL, 0);

	return cwd ? os_asprintf("%s/%s", cwd, path) : os_strdup(path);
}

static int add_checked(struct path_map *m, const char *from, const char *to, struct errinfo *ei)
{
	char *local CLEANUP(freep) = NULL;
	int r;

	if (!is_path(from) || !is_path(to))
		return errinfo_set(ei, -EINVAL, "sourceMap: each rule wants a recorded and a local folder, as {\"/build/src\": \"/home/me/src\"}");
	local = absolute(to);
	r = local ? path_map_add(m, from, local) : -ENOMEM;
	return r == ERR_LIMIT ? errinfo_set(ei, -EINVAL, "sourceMap: more than %u rules", PATH_RULES_MAX) : r;
}

static int parse_list(const json_t *list, struct path_map *m, struct errinfo *ei)
{
	const json_t *e;
	size_t i;
	int r = 0;

	json_array_foreach(list, i, e) {
		const json_t *from = json_is_array(e) ? json_array_get(e, 0) : json_object_get(e, "from");
		const json_t *to = json_is_array(e) ? json_array_get(e, 1) : json_object_get(e, "to");

		r = add_checked(m, json_string_value(from), json_string_value(to), ei);
		if (r < 0)
			break;
	}
	return r;
}

int path_map_parse(const json_t *j, struct path_map *ret, struct errinfo *ei)
{
	struct path_map m CLEANUP(path_map_done) = { 0 };
	const char *key;
	json_t *value;
	int r = 0;

	if (json_is_array(j))
		r = parse_list(j, &m, ei);
	else if (j && !json_is_object(j) && !json_is_null(j))
		return errinfo_set(ei, -EINVAL, "sourceMap: must be an object or a list");
	json_object_foreach((json_t *)j, key, value) {
		r = add_checked(&m, key, json_string_value(value), ei);
		if (r < 0)
			break;
	}
	if (r < 0)
		return r;
	*ret = m;
	m = (struct path_map){ 0 };
	return 0;
}

/* --- spellings --- */

const char *path_plain(const char *name)
{
	static const char prefix[] = "target:";

	return str_has_prefix(name, prefix) ? name + sizeof(prefix) - 1 : name;
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Takes the last component off out, which holds no slash at its end. False: there is none that ".." could take. */
static bool drop_component(struct buf *out, size_t root)
{
	size_t n = out->len;

	while (n > root && out->data[n - 1] != '/')
		n--;
	if (out->len == root || (out->len - n == 2 && !memcmp(out->data + n, "..", 2)))
		return false;
	out->len = n > root ? n - 1 : root;
	return true;
}

char *path_normalise(const char *path)
{
	struct buf out CLEANUP(buf_done) = { 0 };
	size_t root = path[0] == '/';

	if (root)
		buf_put_u8(&out, '/');
	while (*path) {
		size_t n = strcspn(path, "/");
		bool here = n == 0 || (n == 1 && *path == '.');
		bool up = n == 2 && !memcmp(path, "..", 2);

		if (!here && !(up && (drop_component(&out, root) || root))) {
			if (out.len > root)
				buf_put_u8(&out, '/');
			buf_put(&out, path, n);
		}
		path += n;
		path += *path == '/';
	}
	if (!out.len)
		buf_put_u8(&out, '.');
	return buf_error(&out) ? NULL : os_strdup(buf_cstr(&out));
}

bool path_alias(const char *real, const char *alias, char **ret_from, char **ret_to)
{
	size_t r = strlen(real), a = strlen(alias);
	size_t cut_r = r, cut_a = a;
	char *from CLEANUP(freep) = NULL, *to CLEANUP(freep) = NULL;

	if (!strcmp(real, alias))
		return false;
	while (r && a && real[r - 1] == alias[a - 1]) {
		r--;
		a--;
		if (real[r] == '/') {
			cut_r = r;
			cut_a = a;
		}
	}
	/* a link that is the file itself, or in the root, tells nothing of folders */
	if (!real[cut_r] || !cut_r || !cut_a)
		return false;
	from = os_asprintf("%.*s", (int)cut_r, real);
	to = os_asprintf("%.*s", (int)cut_a, alias);
	if (!from || !to)
		return false;
	*ret_from = TAKE(from);
	*ret_to = TAKE(to);
	return true;
}

/* --- URIs --- */

/* RFC 3986: a scheme of at least two letters, so that C:\ is none. */
bool path_is_uri(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || (n && strchr("+-.", s[n]) && s[n]))
		n++;
	return n > 1 && isalpha((unsigned char)s[0]) && s[n] == ':' && s[n + 1] == '/';
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

char *path_from_uri(const char *uri)
{
	struct buf out CLEANUP(buf_done) = { 0 };
	const char *p = uri + 5;

	if (strncasecmp(uri, "file:", 5) != 0)
		return NULL;
	if (str_has_prefix(p, "//")) {
		size_t host = strcspn(p + 2, "/");

		if (host && !(host == 9 && !strncasecmp(p + 2, "localhost", 9)))
			return NULL;
		p += 2 + host;
	}
	for (; *p && *p != '?' && *p != '#'; p++) {
		int high = *p == '%' ? hex_digit(p[1]) : -1, low = high >= 0 ? hex_digit(p[2]) : -1;

		if (*p == '%' && (low < 0 || !(high * 16 + low)))
			return NULL;
		buf_put_u8(&out, *p == '%' ? (uint8_t)(high * 16 + low) : (uint8_t)*p);
		p += *p == '%' ? 2 : 0;
	}
	return buf_error(&out) || !out.len || out.data[0] != '/' ? NULL : os_strdup(buf_cstr(&out));
}

char *path_to_uri(const char *path)
{
	struct buf out CLEANUP(buf_done) = { 0 };

	buf_printf(&out, "file://");
	while (*path) {
		size_t n = strcspn(path, "/");
		char *part CLEANUP(freep) = os_asprintf("%.*s", (int)n, path);

		if (!part)
			return NULL;
		buf_put_percent(&out, part);
		path += n;
		if (*path == '/')
			buf_put_u8(&out, (uint8_t)*path++);
	}
	return buf_error(&out) ? NULL : os_strdup(buf_cstr(&out));
}
