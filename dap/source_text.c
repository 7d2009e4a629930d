/* The request `source`: texts of what the client cannot open by itself. */
#include "dap/sources_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/os.h"
#include "base/str.h"

/* Reads a whole text. ERR_LIMIT; -EILSEQ: it holds NULs. */
static int read_text(int fd, struct buf *ret)
{
	struct stat st;
	ssize_t n;
	void *p;
	int r = os_fstat(fd, &st);

	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > (off_t)SOURCE_BYTES_MAX)
		return ERR_LIMIT;
	p = buf_extend(ret, (size_t)st.st_size);
	n = p ? os_pread_full(fd, p, (size_t)st.st_size, 0) : -ENOMEM;
	if (n < 0)
		return (int)n;
	ret->len = (size_t)n;
	return memchr(ret->data, 0, ret->len) ? -EILSEQ : 0;
}

/* From the recording: it keeps files that were mapped, so sources only of programs that map theirs. gdb writes them to a file of ours without a name. */
static int from_recording(struct dap *d, const char *path, struct buf *ret)
{
	int fd CLEANUP(closep) = memfd_create("hermit-source", MFD_CLOEXEC);
	struct errinfo ei = { 0 };
	int r;

	if (fd < 0)
		return -errno;
	if (path[0] != '/' || strpbrk(path, "\"\\\n"))
		return -ENOENT;
	r = mi_console(d->mi, NULL, &ei, "remote get \"%s\" /proc/%d/fd/%d", path, (int)getpid(), fd);
	return r < 0 ? r : read_text(fd, ret);
}

static int from_disk(const char *path, struct buf *ret)
{
	int fd CLEANUP(closep) = path[0] == '/' ? os_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) : -ENOENT;

	return fd < 0 ? fd : read_text(fd, ret);
}

/* Where sources of some origins are to be had: by the beginning of the recorded name. */
static const struct {
	const char *prefix, *hint;
} origins[] = {
	{ "/rustc/", "This is Rust's own library: `rustup component add rust-src` puts it below `rustc --print sysroot`/lib/rustlib/src/rust." },
	{ "./", "Its name is relative, as in packages of distributions: `apt source PACKAGE` or its like gives the sources." },
	{ "../", "Its name is relative, as in packages of distributions: `apt source PACKAGE` or its like gives the sources." },
};

/* The folder that a user would map: of a relative name all of it. */
static char *folder_of(const char *path)
{
	const char *base = path_base(path);

	if (path[0] == '.')
		return os_strdup(".");
	return base > path + 1 ? os_asprintf("%.*s", (int)(base - path - 1), path) : os_strdup(path);
}

/* The name before the sourceMap was applied; owned. */
static char *recorded_name(const struct path_map *m, const char *path)
{
	struct path_map back CLEANUP(path_map_done) = { 0 };
	char *name = NULL;

	for (size_t i = 0; i < m->n; i++)
		if (path_map_add(&back, m->v[i].to, m->v[i].from) < 0)
			return NULL;
	name = path_map_apply(&back, path);
	return name ? name : os_strdup(path);
}

/* What a user reads in place of a source: where it is expected, and how to say where it is. */
static int explain(struct dap *d, const char *known, struct buf *b)
{
	char *path CLEANUP(freep) = recorded_name(&d->sources->map, known);
	char *folder CLEANUP(freep) = path ? folder_of(path) : NULL;

	if (!folder)
		return -ENOMEM;
	buf_printf(b, "This source file is not on this machine, and the recording does not hold it.\n\nThe debugging information names it\n    %s\n", path);
	if (strcmp(path, known) != 0)
		buf_printf(b, "which by the sourceMap of this session is\n    %s\n", known);
	for (size_t i = 0; i < ARRAY_SIZE(origins); i++)
		if (str_has_prefix(path, origins[i].prefix))
			buf_printf(b, "%s\n", origins[i].hint);
	buf_printf(b, "\nIf you have the sources in another folder, add to the launch configuration\n"
		      "    \"sourceMap\": { \"%s\": \"/folder/here\" }\n"
		      "and start the session again; a shorter beginning of the name serves more files. For this session, in the debug console:\n"
		      "    set substitute-path %s /folder/here\n\n"
		      "Machine code, registers, memory and all of going back and forth work without sources.\n",
		   folder, folder);
	return buf_error(b);
}

static int of_file(struct dap *d, const char *path, bool served, struct buf *ret)
{
	int r = from_disk(path, ret);

	if (r == -ENOENT || r == -ENOTDIR) {
		buf_clear(ret);
		r = from_recording(d, path, ret);
	}
	if (r == ERR_LIMIT)
		return errinfo_set(&d->ei, r, "%s is larger than %u MiB", path, SOURCE_BYTES_MAX >> 20);
	if (r == -EILSEQ)
		return errinfo_set(&d->ei, r, "%s is no text", path);
	if (r == ERR_INTERRUPTED || r == ERR_GUEST_GONE)
		return r;
	if (r < 0 && !served)
		return errinfo_set_r(&d->ei, r, "read %s", path);
	if (r < 0) {
		buf_clear(ret);
		return explain(d, path, ret);
	}
	return 0;
}

struct source_args {
	json_t *source;
	int64_t reference;
};

static const struct arg source_table[] = {
	ARG(OBJECT, struct source_args, source, "source"),
	ARG(INT, struct source_args, reference, "sourceReference"),
	{ 0 },
};

/* gdb has a source of that name: nothing else of this machine is read. */
static int must_be_source(struct dap *d, const char *path)
{
	int r = sources_expand(d, path);

	return r == -ENOENT ? errinfo_set(&d->ei, r, "%s is no source file of this program", path) : r;
}

static int text_of(struct dap *d, const struct source_args *a, struct buf *ret, const char **ret_type)
{
	int64_t reference = json_integer_value(json_object_get(a->source, "sourceReference"));
	const struct listing *l;
	char *path CLEANUP(freep) = NULL;
	const char *known;
	int r;

	reference = reference > 0 ? reference : a->reference;
	r = listing_get(d, reference, &l);
	if (r < 0)
		return r == -ENOENT ? errinfo_set(&d->ei, r, "this code cannot be read any more") : r;
	known = sources_known(d, reference);
	*ret_type = l ? "text/x-asm" : NULL;
	if (l) {
		buf_put(ret, l->text.data, l->text.len);
		return 0;
	}
	if (known)
		return of_file(d, known, true, ret);
	if (reference > 0)
		return errinfo_set(&d->ei, -ENOENT, reference % 2 ? "this listing is kept no longer: select the frame again"
								    : "no source has that sourceReference");
	r = sources_to_gdb(d, a->source, &path);
	if (r == 0)
		r = must_be_source(d, path);
	return r < 0 ? r : of_file(d, path, false, ret);
}

static int source(struct dap *d, const void *args, json_t *body)
{
	struct buf text CLEANUP(buf_done) = { 0 };
	const char *type;
	int r = text_of(d, args, &text, &type);

	if (r == 0)
		r = buf_error(&text);
	if (r < 0)
		return r;
	r = jsonx_set_new(body, "content", jsonx_string_lossy((const char *)text.data, text.len));
	return r < 0 || !type ? r : jsonx_set_str(body, "mimeType", type);
}

DAP_METHOD(source, source_table, struct source_args);
