/* Source files of this machine, as far as the recording's debugging information names them: nothing else is read. */
#include "inspector/inspect_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/md5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"

#define SOURCES_MAX 65536u

/* One that a unit names. */
struct source {
	char *path; /* owned */
	bool has_md5;
	uint8_t md5[16];
};

/* clang-format off */
static const struct { const char *suffix, *language; } languages[] = {
	{ ".c", "c" }, { ".h", "c" }, { ".cc", "cpp" }, { ".cpp", "cpp" }, { ".cxx", "cpp" }, { ".C", "cpp" }, { ".hh", "cpp" }, { ".hpp", "cpp" },
	{ ".tcc", "cpp" }, { ".rs", "rust" }, { ".go", "go" }, { ".S", "asm" }, { ".s", "asm" }, { ".py", "python" }, { ".java", "java" },
	{ ".js", "javascript" }, { ".d", "d" }, { ".zig", "zig" }, { ".f90", "fortran" }, { ".adb", "ada" }, { ".pas", "pascal" }, { ".y", "c" },
	{ ".l", "c" }, { ".inc", "c" }, { ".def", "c" },
};
/* clang-format on */

static const char *language_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(languages); i++)
		if (!strcmp(dot, languages[i].suffix))
			return languages[i].language;
	/* headers of C++ have no suffix */
	return dot && !strchr(dot, '/') ? "text" : strstr(path, "/c++/") ? "cpp" : "text";
}

/* --- which may be read --- */

/* Where it is on this machine; owned. */
static char *local_path(const struct inspector *in, const char *path)
{
	const char *map = in->opt->source_map;
	const char *eq = map ? strchr(map, '=') : NULL;
	size_t n = eq ? (size_t)(eq - map) : 0;

	if (eq && n && !strncmp(path, map, n) && (path[n] == '/' || path[n - 1 + (n == 0)] == '/' || !path[n]))
		return os_asprintf("%s%s", eq + 1, path + n);
	return os_strdup(path);
}

static const struct source *noted(const struct inspector *in, const char *path)
{
	for (size_t i = 0; i < in->n_sources; i++)
		if (!strcmp(in->sources[i].path, path))
			return &in->sources[i];
	return NULL;
}

static bool is_readable(const struct inspector *in, const char *path)
{
	char *local CLEANUP(freep) = path[0] == '/' ? local_path(in, path) : NULL;

	return local && debuginfo_regular(local) && access(local, R_OK) == 0;
}

bool source_note(struct inspector *in, Dwarf_Die *cu, const char *path)
{
	struct source *v;

	if (!noted(in, path)) {
		v = in->n_sources < SOURCES_MAX ? reallocarray(in->sources, in->n_sources + 1, sizeof(*v)) : NULL;
		if (!v)
			return false;
		in->sources = v;
		v += in->n_sources;
		v->path = os_strdup(path);
		if (!v->path)
			return false;
		v->has_md5 = symbols_source_md5(cu, path, v->md5);
		in->n_sources++;
	}
	return is_readable(in, path);
}

void source_done(struct inspector *in)
{
	for (size_t i = 0; i < in->n_sources; i++)
		free(in->sources[i].path);
	free(in->sources);
}

struct search {
	struct inspector *in;
	const char *path;
};

static bool is_wanted(void *ctx, Dwarf_Die *cu, const char *path)
{
	struct search *s = ctx;

	if (strcmp(path, s->path) != 0)
		return false;
	source_note(s->in, cu, path);
	return true;
}

/* No frame has named it yet: does a line table of what is mapped at the place (the end, when none is given)? */
static int look_for(struct inspector *in, const struct request *q, struct errinfo *ei)
{
	struct search s = { .in = in, .path = q->path };
	struct place p;
	int r = 0;

	if (!in->dbg || q->event)
		r = position_go(in, q, &p, ei);
	if (r < 0)
		return r;
	guard_begin(in);
	r = modules_update(in);
	for (size_t i = 0; r == 0 && i < in->n_files; i++)
		if (in->files[i]->mod && symbols_each_source(in->files[i], is_wanted, &s))
			r = 1;
	guard_end();
	if (r == 0)
		return errinfo_set(ei, ERR_NOT_FOUND, "no debugging information of this recording names that source file");
	return MIN(r, 0);
}

/* --- reading --- */

/* *ret is NUL-terminated. */
static int read_source(const char *path, char **ret, size_t *ret_len, struct stat *st, struct errinfo *ei)
{
	int fd CLEANUP(closep) = -1;
	char *text CLEANUP(freep) = NULL;
	ssize_t n;

	if (!debuginfo_regular(path))
		return errinfo_set(ei, ERR_NOT_FOUND, "the source file is not on this machine");
	fd = os_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0 || os_fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
		return errinfo_set(ei, ERR_NOT_FOUND, "the source file cannot be read");
	if ((uint64_t)st->st_size > INSPECT_SOURCE_MAX)
		return errinfo_set(ei, ERR_LIMIT, "the source file is larger than %u MiB", INSPECT_SOURCE_MAX >> 20);
	text = os_malloc((size_t)st->st_size + 1);
	if (!text)
		return -ENOMEM;
	n = os_read_full(fd, text, (size_t)st->st_size);
	if (n < 0)
		return errinfo_set_r(ei, (int)n, "read the source file");
	text[n] = '\0';
	if (memchr(text, '\0', (size_t)n))
		return errinfo_set(ei, ERR_NOT_FOUND, "the source file is no text");
	*ret = TAKE(text);
	*ret_len = (size_t)n;
	return 0;
}

static json_t *lines_of(const char *text, size_t len, uint64_t first, uint64_t last)
{
	json_t *list CLEANUP(jsonx_unrefp) = json_array();
	const char *p = text, *end = text + len;

	for (uint64_t line = 1; p < end && line <= last; line++) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((eol ? eol : end) - p);

		if (line >= first && json_array_append_new(list, jsonx_string_lossy(p, MIN(n, (size_t)INSPECT_SOURCE_LINE_MAX))) < 0)
			return NULL;
		p += n + 1;
	}
	return TAKE(list);
}

/* Is it what was compiled? By its checksum, if the compiler left one; false also when it was changed after the recording began; null: there is nothing
 * to tell by. */
static json_t *verdict(const struct inspector *in, const struct source *s, const char *text, size_t len, const struct stat *st)
{
	uint64_t changed = (uint64_t)st->st_mtim.tv_sec * 1000000000ull + (uint64_t)st->st_mtim.tv_nsec;
	uint64_t began = in->reader ? store_reader_manifest(in->reader)->start_wall_ns : 0;
	uint8_t digest[MD5_DIGEST_SIZE];
	struct md5_ctx md5;

	if (s && s->has_md5) {
		md5_init(&md5);
		md5_update(&md5, len, (const uint8_t *)text);
		md5_digest(&md5, sizeof(digest), digest);
		return json_boolean(!memcmp(digest, s->md5, sizeof(digest)));
	}
	return began && changed > began ? json_false() : json_null();
}

int answer_source(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei)
{
	json_t *result CLEANUP(jsonx_unrefp) = json_object();
	char *local CLEANUP(freep) = NULL, *text CLEANUP(freep) = NULL;
	uint64_t first = 1, last = INSPECT_SOURCE_LINES_MAX;
	struct stat st;
	size_t len = 0;
	int r = noted(in, q->path) ? 0 : look_for(in, q, ei);

	if (r < 0)
		return r;
	if (q->path[0] != '/')
		return errinfo_set(ei, ERR_NOT_FOUND, "where the source file is, is not known");
	local = local_path(in, q->path);
	r = local ? read_source(local, &text, &len, &st, ei) : -ENOMEM;
	if (r < 0)
		return r;
	if (q->line) {
		first = q->line > q->context ? q->line - q->context : 1;
		last = MIN(q->line + q->context, first + INSPECT_SOURCE_LINES_MAX - 1);
	}
	if (jsonx_set_new(result, "path", jsonx_string_lossy(q->path, strlen(q->path))) < 0 || jsonx_set_u64(result, "first", first) < 0 ||
	    jsonx_set_new(result, "lines", lines_of(text, len, first, last)) < 0 || jsonx_set_str(result, "language", language_of(q->path)) < 0 ||
	    jsonx_set_new(result, "verified", verdict(in, noted(in, q->path), text, len, &st)) < 0)
		return -ENOMEM;
	*ret = TAKE(result);
	return 0;
}
