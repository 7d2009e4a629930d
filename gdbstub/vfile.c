/* vFile: files of the recorded machine, as far as the recording has them, and the recorded process's part of /proc. Nothing of this machine. */
#include "gdbstub/stub_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/os.h"

/* The protocol's numbers: those of Linux for all that can happen here, but for the long name. */
#define FILEIO_UNKNOWN 9999

static int fail(struct stub *s, int r)
{
	static const int same[] = { EPERM, ENOENT, EINTR, EIO, EBADF, EACCES, EFAULT, EBUSY, EEXIST, ENODEV, ENOTDIR, EISDIR, EINVAL, ENFILE, EMFILE,
				    EFBIG, ENOSPC, ESPIPE, EROFS };
	int number = r == -ENAMETOOLONG ? 91 : r == ERR_NOT_FOUND || r == ERR_MISSING_BLOB ? ENOENT : FILEIO_UNKNOWN;

	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		if (r == -same[i])
			number = same[i];
	buf_clear(&s->reply);
	buf_printf(&s->reply, "F-1,%x", number);
	return 0;
}

/* A path in hex, up to the separator or the end. */
static int get_path(struct view *v, struct buf *ret)
{
	struct view hex = rsp_get_until(v, ',');
	int r = rsp_get_bytes(&hex, ret);

	if (r < 0)
		return r;
	if (ret->len >= STUB_PATH_MAX)
		return -ENAMETOOLONG;
	return memchr(ret->data, 0, ret->len) ? -ENOENT : buf_error(ret);
}

/* What of /proc/PID the path names, for our process; NULL: it is another path; "" : another process. */
static const char *proc_name(struct stub *s, const char *path)
{
	struct view v = view_of(path, strlen(path)), pid;
	char number[16];

	if (!rsp_get_word(&v, "/proc/"))
		return NULL;
	pid = rsp_get_until(&v, '/');
	snprintf(number, sizeof(number), "%d", s->pid);
	if (!rsp_is(&pid, number) && !rsp_is(&pid, "self"))
		return "";
	return (const char *)v.p;
}

static int open_file(struct stub *s, const char *path, struct stub_file *f)
{
	const char *proc = proc_name(s, path);

	*f = (struct stub_file){ .used = true, .fd = -1 };
	if (!proc)
		return dbg_file_open(s->d, path, &f->fd);
	if (!*proc)
		return -ENOENT;
	if (strcmp(proc, "exe") == 0)
		return dbg_file_open(s->d, dbg_exe(s->d), &f->fd);
	return dbg_proc_file(s->d, proc, &f->text);
}

static void close_file(struct stub_file *f)
{
	closep(&f->fd);
	buf_done(&f->text);
	*f = (struct stub_file){ .fd = -1 };
}

void stub_files_clear(struct stub *s)
{
	for (size_t i = 0; i < STUB_FILES_MAX; i++)
		if (s->files[i].used)
			close_file(&s->files[i]);
}

static int get_file(struct stub *s, struct view *v, struct stub_file **ret)
{
	uint64_t n;

	if (rsp_get_hex(v, &n) < 0)
		return -EINVAL;
	if (n >= STUB_FILES_MAX || !s->files[n].used)
		return -EBADF;
	*ret = &s->files[n];
	return 0;
}

/* Mount namespaces are those of the recorded process, whichever is asked for. */
int stub_file_setfs(struct stub *s, struct view *v)
{
	(void)v;
	stub_puts(s, "F0");
	return 0;
}

int stub_file_open(struct stub *s, struct view *v)
{
	struct buf path CLEANUP(buf_done) = { 0 };
	uint64_t flags, mode;
	size_t i = 0;
	int r = get_path(v, &path);

	if (r < 0)
		return fail(s, r);
	if (rsp_get_hex(v, &flags) < 0 || !rsp_get_char(v, ',') || rsp_get_hex(v, &mode) < 0)
		return fail(s, -EINVAL);
	if (flags & 3)
		return fail(s, -EACCES);
	while (i < STUB_FILES_MAX && s->files[i].used)
		i++;
	if (i == STUB_FILES_MAX)
		return fail(s, -EMFILE);
	r = open_file(s, buf_cstr(&path), &s->files[i]);
	if (r < 0) {
		close_file(&s->files[i]);
		return fail(s, r);
	}
	buf_printf(&s->reply, "F%x", (unsigned)i);
	return 0;
}

int stub_file_close(struct stub *s, struct view *v)
{
	struct stub_file *f;
	int r = get_file(s, v, &f);

	if (r < 0)
		return fail(s, r);
	close_file(f);
	stub_puts(s, "F0");
	return 0;
}

static ssize_t read_at(struct stub_file *f, void *p, size_t n, uint64_t offset)
{
	if (f->fd >= 0)
		return offset > INT64_MAX ? 0 : os_pread_full(f->fd, p, n, (off_t)offset);
	if (offset >= f->text.len)
		return 0;
	n = MIN(n, f->text.len - (size_t)offset);
	memcpy(p, f->text.data + offset, n);
	return (ssize_t)n;
}

/* "FD,COUNT,OFFSET" */
int stub_file_pread(struct stub *s, struct view *v)
{
	struct stub_file *f;
	uint64_t count, offset;
	uint8_t *data CLEANUP(freep) = NULL;
	ssize_t n;
	int r = get_file(s, v, &f);

	if (r < 0)
		return fail(s, r);
	if (!rsp_get_char(v, ',') || rsp_get_hex(v, &count) < 0 || !rsp_get_char(v, ',') || rsp_get_hex(v, &offset) < 0)
		return fail(s, -EINVAL);
	count = MIN(count, (uint64_t)STUB_DATA_MAX);
	data = os_malloc((size_t)count + 1);
	if (!data)
		return fail(s, -ENOMEM);
	n = read_at(f, data, (size_t)count, offset);
	if (n < 0)
		return fail(s, (int)n);
	buf_printf(&s->reply, "F%zx;", (size_t)n);
	buf_put(&s->reply, data, (size_t)n);
	return 0;
}

int stub_file_denied(struct stub *s, struct view *v)
{
	(void)v;
	return fail(s, -EACCES);
}

static void put_be(struct buf *out, uint64_t v, unsigned bytes)
{
	while (bytes--)
		buf_put_u8(out, (uint8_t)(v >> 8 * bytes));
}

/* The protocol's struct stat: big-endian, 64 bytes. */
int stub_file_fstat(struct stub *s, struct view *v)
{
	struct stat st = { .st_mode = S_IFREG | 0444, .st_nlink = 1 };
	struct stub_file *f;
	int r = get_file(s, v, &f);

	if (r < 0)
		return fail(s, r);
	if (f->fd >= 0)
		r = os_fstat(f->fd, &st);
	else
		st.st_size = (off_t)f->text.len;
	if (r < 0)
		return fail(s, r);
	buf_printf(&s->reply, "F40;");
	put_be(&s->reply, 0, 4); /* device, inode: of the store, no business of the client's */
	put_be(&s->reply, 0, 4);
	put_be(&s->reply, S_IFREG | 0444, 4);
	put_be(&s->reply, 1, 4);
	put_be(&s->reply, 0, 4);
	put_be(&s->reply, 0, 4);
	put_be(&s->reply, 0, 4);
	put_be(&s->reply, (uint64_t)st.st_size, 8);
	put_be(&s->reply, 4096, 8);
	put_be(&s->reply, ((uint64_t)st.st_size + 511) / 512, 8);
	for (int i = 0; i < 3; i++)
		put_be(&s->reply, 0, 4);
	return 0;
}

int stub_file_readlink(struct stub *s, struct view *v)
{
	struct buf path CLEANUP(buf_done) = { 0 };
	const char *proc, *exe = dbg_exe(s->d);
	int r = get_path(v, &path);

	if (r < 0)
		return fail(s, r);
	proc = proc_name(s, buf_cstr(&path));
	if (!proc || strcmp(proc, "exe") != 0 || !exe || !exe[0])
		return fail(s, proc && *proc ? -EINVAL : -ENOENT);
	buf_printf(&s->reply, "F%zx;%s", strlen(exe), exe);
	return 0;
}
