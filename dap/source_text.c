/* The request `source`: texts of what the client cannot open by itself. */
#include "dap/sources_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/os.h"

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

static void put_rules(const struct path_map *m, struct buf *b)
{
	if (!m->n)
		buf_printf(b, "No sourceMap is set now.\n");
	for (size_t i = 0; i < m->n; i++)
		buf_printf(b, "%s%s\n        -> %s\n", i ? "" : "The sourceMap of this session:\n", m->v[i].from, m->v[i].to);
}

/* What a user reads in place of a source: where it is expected, and how to say where it is. */
static void explain(struct dap *d, const char *path, struct buf *b)
{
	const char *base = path_base(path);
	int n = base > path + 1 ? (int)(base - path - 1) : (int)strlen(path);
	bool relative = path[0] != '/';

	buf_printf(b, "This source file is not on this machine, and the recording does not hold it.\n\n"
		      "The debugging information names it\n    %s\n\n", path);
	if (relative)
		buf_printf(b, "which is relative: the program was built with its folders mapped away.\n\n");
	buf_printf(b, "If you have the sources in another folder, add to the launch configuration\n"
		      "    \"sourceMap\": { \"%.*s\": \"/folder/here\" }\n"
		      "and start the session again. A shorter prefix serves more files. Or, for now, in the debug console:\n"
		      "    set substitute-path %.*s /folder/here\n\n", relative && path[0] == '.' ? 1 : n, path, relative && path[0] == '.' ? 1 : n, path);
	put_rules(&d->sources->map, b);
	buf_printf(b, "\nMachine code, registers, memory and all of going back and forth work without sources.\n");
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
		explain(d, path, ret);
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
	struct buf q CLEANUP(buf_done) = { 0 };
	struct errinfo ei = { 0 };
	int r;

	mi_quote(&q, path);
	r = buf_error(&q) ? -ENOMEM : mi_command(d->mi, NULL, &ei, "-symbol-list-lines %s", buf_cstr(&q));
	return r == -EREMOTEIO ? errinfo_set(&d->ei, -ENOENT, "%s is no source file of this program", path) : r;
}

static int text_of(struct dap *d, const struct source_args *a, struct buf *ret, const char **ret_type)
{
	int64_t reference = json_integer_value(json_object_get(a->source, "sourceReference"));
	const struct listing *l;
	char *path CLEANUP(freep) = NULL;
	const char *known;
	int r;

	reference = reference > 0 ? reference : a->reference;
	l = listing_get(d, reference);
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
