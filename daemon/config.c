/* hermitd.conf: one table of settings, for the file and the command line alike. See config.h and docs/man/hermitd.conf.5. */
#include "daemon/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/os.h"
#include "base/str.h"
#include "daemon/limits_priv.h"
#include "store/store.h"

enum setting_kind { SET_TEXT, SET_LIST, SET_BOOL, SET_COUNT, SET_SIZE, SET_SECONDS };

struct setting {
	const char *name;
	enum setting_kind kind;
	size_t off;
	uint64_t min, max; /* of numbers; 0 is always fine where it means "no limit" or "never" */
	bool zero;
};

#define AT(member) offsetof(struct daemon_config, member)

/* clang-format off */
static const struct setting settings[] = {
	{ "data_dir",        SET_TEXT,    AT(data_dir),        0, 0, false },
	{ "runtime_dir",     SET_TEXT,    AT(runtime_dir),     0, 0, false },
	{ "session_binary",  SET_TEXT,    AT(session_binary),  0, 0, false },
	{ "listen",          SET_LIST,    AT(listen),          0, 0, false },
	{ "hosts",           SET_LIST,    AT(hosts),           0, 0, false },
	{ "token_file",      SET_TEXT,    AT(token_file),      0, 0, false },
	{ "read_only",       SET_BOOL,    AT(read_only),       0, 0, false },
	{ "allow_start",     SET_BOOL,    AT(allow_start),     0, 0, false },
	{ "keep_running",    SET_BOOL,    AT(keep_running),    0, 0, false },
	{ "debuginfod",      SET_BOOL,    AT(debuginfod),      0, 0, false },
	{ "max_size",        SET_SIZE,    AT(max_size),        1, INT64_MAX, true },
	{ "max_age",         SET_SECONDS, AT(max_age_s),       1, INT64_MAX / 1000000000, true },
	{ "disk_floor",      SET_SIZE,    AT(disk_floor),      1, INT64_MAX, true },
	{ "scan_every",      SET_SECONDS, AT(scan_every_s),    1, INT64_MAX / 1000000000, true },
	{ "recorder_timeout", SET_SECONDS, AT(recorder_timeout_s), 2, 86400, false },
	{ "max_recordings",  SET_COUNT,   AT(max_recordings),  1, 1000, false },
	{ "max_sessions",    SET_COUNT,   AT(max_sessions),    1, 1000, false },
	{ "max_inspectors",  SET_COUNT,   AT(max_inspectors),  1, 64, false },
	{ "max_upload",      SET_SIZE,    AT(max_upload),      1, INT64_MAX, false },
	{ "max_connections", SET_COUNT,   AT(max_connections), 8, 65536, false },
};
/* clang-format on */

#define FIELD(c, s, type) ((type *)((char *)(c) + (s)->off))

void config_init(struct daemon_config *c)
{
	*c = (struct daemon_config){
		.allow_start = true,
		.disk_floor = 512ull << 20,
		.scan_every_s = 30ull * 86400,
		.recorder_timeout_s = 60,
		.max_recordings = 16,
		.max_sessions = 16,
		.max_inspectors = 4,
		.max_upload = 4ull << 30,
		.max_connections = 512,
	};
}

static void list_free(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}

void config_done(struct daemon_config *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		if (settings[i].kind == SET_TEXT)
			free(*FIELD(c, &settings[i], char *));
		else if (settings[i].kind == SET_LIST)
			list_free(*FIELD(c, &settings[i], char **));
	}
	*c = (struct daemon_config){ 0 };
}

/* --- values --- */

static int set_text(char **field, const char *value)
{
	char *copy = *value ? os_strdup(value) : NULL;

	if (*value && !copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

/* Takes over word, on failure too. */
static int list_add(char ***field, char *word)
{
	size_t n = 0;
	char **v;

	while (*field && (*field)[n])
		n++;
	v = word && n < CONFIG_LIST_MAX ? os_calloc(n + 2, sizeof(*v)) : NULL;
	if (!v) {
		free(word);
		return n < CONFIG_LIST_MAX ? -ENOMEM : ERR_LIMIT;
	}
	if (n)
		memcpy(v, *field, n * sizeof(*v));
	v[n] = word;
	free(*field);
	*field = v;
	return 0;
}

/* Words between blanks and commas are added; none at all empties the list. */
static int set_list(char ***field, const char *value)
{
	static const char between[] = " \t,";
	const char *p = value + strspn(value, between);
	int r = 0;

	if (!*p) {
		list_free(*field);
		*field = NULL;
	}
	while (*p && r == 0) {
		size_t n = strcspn(p, between);

		r = list_add(field, os_asprintf("%.*s", (int)n, p));
		p += n;
		p += strspn(p, between);
	}
	return r;
}

static int set_bool(bool *field, const char *value)
{
	static const char *const words[2][4] = { { "no", "false", "off", "0" }, { "yes", "true", "on", "1" } };

	for (int v = 0; v < 2; v++)
		for (size_t i = 0; i < ARRAY_SIZE(words[v]); i++)
			if (strcmp(value, words[v][i]) == 0) {
				*field = v;
				return 0;
			}
	return -EINVAL;
}

static int set_number(const struct setting *s, uint64_t *field, const char *value)
{
	uint64_t v = 0;
	int r;

	if (s->kind == SET_COUNT)
		r = str_parse_u64(value, &v);
	else if (s->kind == SET_SIZE)
		r = str_parse_size(value, &v);
	else
		r = str_parse_duration(value, &v);
	if (r == 0 && s->kind == SET_SECONDS) /* half a second is not "no limit" */
		v = v / 1000000000 + (v % 1000000000 != 0);
	if (r == 0 && (v < s->min || v > s->max) && !(v == 0 && s->zero))
		r = -ERANGE;
	if (r == 0)
		*field = v;
	return r;
}

static int set_value(struct daemon_config *c, const struct setting *s, const char *value)
{
	switch (s->kind) {
	case SET_TEXT:
		return set_text(FIELD(c, s, char *), value);
	case SET_LIST:
		return set_list(FIELD(c, s, char **), value);
	case SET_BOOL:
		return set_bool(FIELD(c, s, bool), value);
	default:
		return set_number(s, FIELD(c, s, uint64_t), value);
	}
}

static int bad_value(const struct setting *s, const char *value, int r, struct errinfo *ei)
{
	static const char *const wanted[] = {
		[SET_TEXT] = "text", [SET_LIST] = "a list", [SET_BOOL] = "yes or no", [SET_COUNT] = "a number",
		[SET_SIZE] = "a size as 10G", [SET_SECONDS] = "a time as 30d, 12h or 90s",
	};

	if (r == -ERANGE && s->max < INT64_MAX / 1000000000)
		return errinfo_set(ei, -EINVAL, "%s = %.100s: must be %llu to %llu", s->name, value, (unsigned long long)s->min,
				   (unsigned long long)s->max);
	if (r == -EINVAL || r == -ERANGE)
		return errinfo_set(ei, -EINVAL, "%s = %.100s: wants %s", s->name, value, wanted[s->kind]);
	return errinfo_set_r(ei, r, "%s", s->name);
}

int config_set(struct daemon_config *c, const char *name, const char *value, struct errinfo *ei)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		int r;

		if (strcmp(settings[i].name, name) != 0)
			continue;
		r = set_value(c, &settings[i], value);
		return r < 0 ? bad_value(&settings[i], value, r, ei) : 0;
	}
	return errinfo_set(ei, -EINVAL, "there is no setting %.100s", name);
}

/* --- the file --- */

static char *trim(char *s)
{
	size_t n;

	s += strspn(s, " \t\r");
	n = strlen(s);
	while (n && strchr(" \t\r", s[n - 1]))
		s[--n] = '\0';
	return s;
}

static int take_line(struct daemon_config *c, char *line, struct errinfo *ei)
{
	char *name = trim(line), *value;

	if (*name == '\0' || *name == '#' || *name == ';' || *name == '[')
		return 0;
	value = strchr(name, '=');
	if (!value)
		return errinfo_set(ei, -EINVAL, "\"%.100s\" is no \"name = value\"", name);
	*value++ = '\0';
	return config_set(c, trim(name), trim(value), ei);
}

int config_load(struct daemon_config *c, const char *path, struct errinfo *ei)
{
	char *text CLEANUP(freep) = NULL;
	unsigned number = 0;
	size_t len;
	int r = os_read_file(path, CONFIG_BYTES_MAX, &text, &len);

	if (r < 0)
		return errinfo_set_r(ei, r, "read %s", path);
	if (strlen(text) != len)
		return errinfo_set(ei, -EINVAL, "%s: holds a NUL byte: no text", path);
	for (char *line = text, *next; line; line = next) {
		struct errinfo why = { 0 };

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		r = take_line(c, line, &why);
		if (r < 0)
			return errinfo_set(ei, r, "%s:%u: %s", path, number, why.text);
	}
	return 0;
}

/* --- what the environment decides --- */

static int make_absolute(char **path)
{
	char here[OS_PATH_BYTES], *whole;

	if (!*path || **path == '/')
		return 0;
	if (!getcwd(here, sizeof(here)))
		return -errno;
	whole = os_asprintf("%s/%s", here, *path);
	if (!whole)
		return -ENOMEM;
	free(*path);
	*path = whole;
	return 0;
}

static int finish_data_dir(struct daemon_config *c, struct errinfo *ei)
{
	int r = c->data_dir ? 0 : store_default_dir(NULL, &c->data_dir);

	if (r < 0)
		return errinfo_set(ei, r, "no data_dir: neither the configuration nor HOME tells one");
	r = make_absolute(&c->data_dir);
	return r < 0 ? errinfo_set_r(ei, r, "data_dir %s", c->data_dir) : 0;
}

/* Where the control socket and the token lie: must be a directory of ours that nobody else may enter, or a stranger put it there. */
static int finish_runtime_dir(struct daemon_config *c, struct errinfo *ei)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	struct stat st;
	int r;

	if (!c->runtime_dir)
		c->runtime_dir = xdg && *xdg == '/' ? os_asprintf("%s/hermit", xdg) : os_asprintf("/tmp/hermit-%u", getuid());
	r = c->runtime_dir ? make_absolute(&c->runtime_dir) : -ENOMEM;
	if (r < 0)
		return errinfo_set_r(ei, r, "runtime_dir");
	r = os_mkdir(c->runtime_dir, 0700);
	if (r < 0 && r != -EEXIST)
		return errinfo_set_r(ei, r, "make runtime_dir %s", c->runtime_dir);
	if (lstat(c->runtime_dir, &st) < 0)
		return errinfo_set_r(ei, -errno, "runtime_dir %s", c->runtime_dir);
	if (!S_ISDIR(st.st_mode))
		return errinfo_set(ei, -ENOTDIR, "runtime_dir %s is no directory", c->runtime_dir);
	if (st.st_uid != geteuid())
		return errinfo_set(ei, -EPERM, "runtime_dir %s belongs to another user (%u)", c->runtime_dir, st.st_uid);
	if (st.st_mode & 077)
		return errinfo_set(ei, -EPERM, "runtime_dir %s is open to other users: it must have mode 0700", c->runtime_dir);
	return 0;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* hermit in the directory of the running program; NULL. */
static char *beside_us(void)
{
	char self[OS_PATH_BYTES];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *path;

	self[MAX(n, (ssize_t)0)] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	path = os_asprintf("%s/hermit", self);
	if (path && is_program(path))
		return path;
	free(path);
	return NULL;
}

static char *in_path(void)
{
	const char *p = getenv("PATH");

	while (p && *p) {
		size_t n = strcspn(p, ":");
		char *path = n && *p == '/' ? os_asprintf("%.*s/hermit", (int)n, p) : NULL;

		if (path && is_program(path))
			return path;
		free(path);
		p += n;
		p += *p == ':';
	}
	return NULL;
}

static int finish_binary(struct daemon_config *c, struct errinfo *ei)
{
	int r;

	if (!c->session_binary)
		c->session_binary = beside_us();
	if (!c->session_binary)
		c->session_binary = in_path();
	if (!c->session_binary)
		return errinfo_set(ei, -ENOENT, "the program hermit is neither beside hermitd nor in PATH: set session_binary");
	r = make_absolute(&c->session_binary);
	if (r < 0)
		return errinfo_set_r(ei, r, "session_binary");
	if (!is_program(c->session_binary))
		return errinfo_set(ei, -EACCES, "session_binary %s is no program that may be run", c->session_binary);
	return 0;
}

/* --- addresses --- */

static bool good_host(const char *host, size_t n)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr addr;
	bool v6 = n >= 2 && host[0] == '[' && host[n - 1] == ']';

	if (v6) {
		host++;
		n -= 2;
	}
	if (n == 0 || n >= sizeof(text))
		return false;
	memcpy(text, host, n);
	text[n] = '\0';
	return inet_pton(v6 ? AF_INET6 : AF_INET, text, &addr) == 1;
}

static int check_listen(const char *address, struct errinfo *ei)
{
	const char *colon = strrchr(address, ':');
	uint64_t port;

	if (str_has_prefix(address, "unix:")) {
		const char *path = address + strlen("unix:");

		if (*path != '/' || strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
			return errinfo_set(ei, -EINVAL, "listen %.200s: wants unix:/PATH of at most %zu bytes", address,
					   sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
		return 0;
	}
	if (!colon || !good_host(address, (size_t)(colon - address)) || str_parse_u64(colon + 1, &port) < 0 || port > 65535)
		return errinfo_set(ei, -EINVAL, "listen %.200s: wants ADDRESS:PORT (127.0.0.1:7777, [::1]:7777) or unix:/PATH", address);
	return 0;
}

static int finish_lists(struct daemon_config *c, struct errinfo *ei)
{
	int r = c->listen ? 0 : set_list(&c->listen, "127.0.0.1:7777");

	if (r < 0)
		return errinfo_set_r(ei, r, "listen");
	for (size_t i = 0; c->listen[i] && r == 0; i++)
		r = check_listen(c->listen[i], ei);
	for (size_t i = 0; c->hosts && c->hosts[i] && r == 0; i++)
		if (strspn(c->hosts[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]") != strlen(c->hosts[i]))
			r = errinfo_set(ei, -EINVAL, "hosts: \"%.100s\" is no host name", c->hosts[i]);
	return r;
}

int config_finish(struct daemon_config *c, struct errinfo *ei)
{
	int r = finish_data_dir(c, ei);

	if (r == 0)
		r = finish_runtime_dir(c, ei);
	if (r == 0)
		r = finish_binary(c, ei);
	if (r == 0)
		r = finish_lists(c, ei);
	if (r == 0 && c->token_file && make_absolute(&c->token_file) < 0)
		r = errinfo_set(ei, -ENOMEM, "token_file");
	return r;
}
