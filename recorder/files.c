/* What is known about guest descriptors, on demand: regular files (their mappings must follow writes), hermit's own stdout and stderr (echo on
 * replay), and /proc files that would show hermit. */
#define LOG_AREA "recorder.files"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"

struct rec_files *rec_files_new(void)
{
	struct rec_files *f = calloc(1, sizeof(*f));

	if (f)
		f->refs = 1;
	return f;
}

struct rec_files *rec_files_copy(const struct rec_files *f)
{
	struct rec_files *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	memcpy(copy, f, sizeof(*copy));
	copy->refs = 1;
	return copy;
}

struct rec_files *rec_files_ref(struct rec_files *f)
{
	f->refs++;
	return f;
}

void rec_files_unref(struct rec_files *f)
{
	if (f && --f->refs == 0)
		free(f);
}

void rec_fd_forget(struct rec_files *f, int fd)
{
	if (fd >= 0 && fd < FILES_MAX)
		f->fd[fd].cls = FD_UNKNOWN;
}

void rec_fd_forget_all(struct rec_files *f)
{
	for (int i = 0; i < FILES_MAX; i++)
		f->fd[i].cls = FD_UNKNOWN;
}

static bool same_file(struct rec_task *t, int fd, int ours)
{
	return syscall(SYS_kcmp, getpid(), t->t.tid, KCMP_FILE, ours, fd) == 0;
}

/* Is it the file that hermit's stdout or stderr is? Same open file first; where both are the same file, kcmp decides. */
static uint8_t echo_of(struct rec_task *t, int fd, const struct stat *st)
{
	const struct rec *rec = t->rec;
	bool out = rec->stdio[1].ino == st->st_ino && rec->stdio[1].dev == st->st_dev;
	bool err = rec->stdio[2].ino == st->st_ino && rec->stdio[2].dev == st->st_dev;

	if (!out && !err)
		return 0;
	if (S_ISCHR(st->st_mode) && major(st->st_rdev) == 1) { /* /dev/null: the one hermit was given, not the guest's own */
		if (out && same_file(t, fd, rec->opt->stdout_fd))
			return EVENT_F_STDOUT;
		return err && same_file(t, fd, rec->opt->stderr_fd) ? EVENT_F_STDERR : 0;
	}
	if (out && err && same_file(t, fd, rec->opt->stderr_fd) && !same_file(t, fd, rec->opt->stdout_fd))
		return EVENT_F_STDERR;
	return out ? EVENT_F_STDOUT : EVENT_F_STDERR;
}

/* Files of /proc that must not be taken as they are. The task and process of .../mem go to *ret. */
static enum fd_class proc_class(const char *proc_fd, struct fd_info *ret)
{
	char path[64];
	ssize_t n = readlink(proc_fd, path, sizeof(path) - 1);

	if (n < 0)
		return FD_REGULAR;
	path[n] = '\0';
	if (strncmp(path, "/proc/", 6))
		return FD_REGULAR;
	if (n > 7 && !strcmp(path + n - 7, "/status"))
		return FD_PROC_STATUS;
	if (n > 4 && !strcmp(path + n - 4, "/mem")) {
		const char *task = strstr(path, "/task/");

		ret->dev = strtoull(path + 6, NULL, 10);
		ret->ino = task ? strtoull(task + 6, NULL, 10) : ret->dev;
		return FD_PROC_MEM;
	}
	return FD_REGULAR;
}

static void classify(struct rec_task *t, int fd, struct fd_info *ret)
{
	char path[48];
	struct stat st;

	*ret = (struct fd_info){ .cls = FD_OTHER };
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->t.tid, fd);
	if (stat(path, &st) < 0)
		return;
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	ret->echo = echo_of(t, fd, &st);
	if (S_ISREG(st.st_mode))
		ret->cls = major(st.st_dev) == 0 && st.st_size == 0 ? proc_class(path, ret) : FD_REGULAR;
}

const struct fd_info *rec_fd(struct rec_task *t, int fd)
{
	static const struct fd_info none = { .cls = FD_OTHER };
	struct fd_info *fi;

	if (fd < 0)
		return &none;
	if (fd >= FILES_MAX) {
		fi = &t->high_fd;
		classify(t, fd, fi);
		return fi;
	}
	fi = &t->files->fd[fd];
	if (fi->cls == FD_UNKNOWN)
		classify(t, fd, fi);
	return fi;
}

uint32_t rec_echo(struct rec_task *t, int fd)
{
	return rec_fd(t, fd)->echo;
}

/* --- after calls --- */

static void forget_changed(struct rec_task *t, int64_t result)
{
	const uint64_t *a = t->outs.call.args;

	switch (t->outs.call.nr) {
	case SYS_close:
		rec_fd_forget(t->files, (int)a[0]);
		break;
	case SYS_dup2:
	case SYS_dup3:
		rec_fd_forget(t->files, (int)a[1]);
		break;
	default: /* close_range, unshare, recvmsg with descriptors: rare */
		rec_fd_forget_all(t->files);
	}
	if (result >= 0 && (t->outs.res.row->flags & SYS_F_NEWFD))
		rec_fd_forget(t->files, (int)result);
}

/* Position of a descriptor of the guest, from /proc/PID/fdinfo. */
uint64_t rec_file_position(struct rec_task *t, int fd)
{
	char path[48], text[64] = "";
	ssize_t n;
	int f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", t->t.tid, fd);
	f = open(path, O_RDONLY | O_CLOEXEC);
	if (f < 0)
		return 0;
	n = read(f, text, sizeof(text) - 1);
	close(f);
	return n > 5 && !strncmp(text, "pos:", 4) ? strtoull(text + 4, NULL, 10) : 0;
}

struct rec_task *rec_fd_memory_owner(struct rec_task *t, int fd)
{
	const struct fd_info *fi = rec_fd(t, fd);
	struct rec_task *owner = fi->cls == FD_PROC_MEM ? rec_task_find(t->rec, (pid_t)fi->ino) : NULL;

	/* the file outlives the thread that it names */
	for (struct rec_task *o = t->rec->tasks; o && !owner && fi->cls == FD_PROC_MEM; o = o->next)
		if (o->t.tgid == (pid_t)fi->dev)
			owner = o;
	return owner;
}

/* A guest wrote to the memory of a guest through /proc/PID/mem. */
static int memory_written(struct rec_task *t, int64_t result)
{
	const uint64_t *a = t->outs.call.args;
	struct rec_task *owner = rec_fd_memory_owner(t, (int)a[0]);
	bool positioned = t->outs.call.nr == SYS_pwrite64 || t->outs.call.nr == SYS_pwritev || t->outs.call.nr == SYS_pwritev2;
	uint64_t at = positioned ? a[3] : rec_file_position(t, (int)a[0]) - (uint64_t)result;
	uint32_t from = t->rec->fx.n;

	if (!owner)
		return 0;
	fx_memory(&t->rec->fx, &owner->t, EFFECT_MEM, at, (uint64_t)result);
	while (from < t->rec->fx.n)
		t->rec->fx.e[from++].thread = owner->num;
	return 0;
}

/* Where in a file a call has written. */
struct written {
	int fd;
	uint64_t off, len;
};

/* Positions do not matter then, not even those that a call is given. */
static bool appends(struct rec_task *t)
{
	const uint64_t *a = t->outs.call.args;
	char path[48], text[64] = "";
	const char *p;
	ssize_t n;
	int f;

	if (t->outs.call.nr == SYS_pwritev2 && a[5] & RWF_APPEND)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", t->t.tid, (int)a[0]);
	f = open(path, O_RDONLY | O_CLOEXEC);
	if (f < 0)
		return false;
	n = read(f, text, sizeof(text) - 1);
	close(f);
	p = n > 0 ? strstr(text, "flags:") : NULL;
	return p && strtoull(p + 6, NULL, 8) & O_APPEND;
}

static struct written where_written(struct rec_task *t, int64_t result)
{
	const uint64_t *a = t->outs.call.args;
	struct written w = { .fd = (int)a[0], .len = (uint64_t)result };

	switch (t->outs.call.nr) {
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
		if (appends(t))
			break; /* somewhere at the end */
		/* -1: pwritev2 at the file's position */
		w.off = a[3] == UINT64_MAX ? rec_file_position(t, w.fd) - w.len : a[3];
		return w;
	case SYS_write:
	case SYS_writev:
	case SYS_sendfile:
		w.off = rec_file_position(t, w.fd) - w.len;
		return w;
	case SYS_copy_file_range:
	case SYS_splice:
		w.fd = (int)a[2];
		break;
	}
	w.len = UINT64_MAX / 2; /* truncation, allocation: all of it */
	return w;
}

/* The file that a path leads to, as the guest sees it, in ret_path (PATH_MAX + 64) a name for it. */
static bool guest_file(struct rec_task *t, int dirfd, uint64_t addr, char *ret_path, struct stat *ret)
{
	char name[PATH_MAX];
	ssize_t n = addr ? eng_read_some(&t->t, addr, name, sizeof(name)) : 0;

	if (addr && (n <= 0 || !memchr(name, 0, (size_t)n)))
		return false;
	if (!addr || !*name)
		snprintf(ret_path, PATH_MAX + 64, "/proc/%d/fd/%d", t->t.tid, dirfd);
	else if (*name == '/')
		snprintf(ret_path, PATH_MAX + 64, "/proc/%d/root%s", t->t.tid, name);
	else if (dirfd == AT_FDCWD)
		snprintf(ret_path, PATH_MAX + 64, "/proc/%d/cwd/%s", t->t.tid, name);
	else
		snprintf(ret_path, PATH_MAX + 64, "/proc/%d/fd/%d/%s", t->t.tid, dirfd, name);
	return stat(ret_path, ret) == 0;
}

static int path_truncated(struct rec_task *t)
{
	char path[PATH_MAX + 64];
	struct stat st;

	return guest_file(t, AT_FDCWD, t->outs.call.args[0], path, &st) ? rec_inode_changed(t, &st, path, 0, UINT64_MAX / 2) : 0;
}

/* That a file's time has changed is how changes from outside are found. */
static void times_set(struct rec_task *t)
{
	const uint64_t *a = t->outs.call.args;
	bool at = t->outs.call.nr == SYS_futimesat || t->outs.call.nr == SYS_utimensat;
	char path[PATH_MAX + 64];
	struct stat st;

	if (t->rec->n_mapped && guest_file(t, at ? (int)a[0] : AT_FDCWD, a[at], path, &st))
		rec_mapped_touched(t->rec, &st);
}

static int file_written(struct rec_task *t, int64_t result)
{
	const struct fd_info *fi;
	struct written w;

	if (t->outs.call.nr == SYS_truncate)
		return path_truncated(t);
	fi = rec_fd(t, (int)t->outs.call.args[0]);
	if (fi->cls == FD_PROC_MEM)
		return memory_written(t, result);
	if (t->outs.call.nr != SYS_copy_file_range && t->outs.call.nr != SYS_splice &&
	    (fi->cls != FD_REGULAR || !rec_maybe_mapped(t->rec, fi->dev, fi->ino)))
		return 0; /* the usual case, without more questions to the kernel */
	w = where_written(t, result);
	return rec_file_changed(t, w.fd, w.off, w.len);
}

static int opened(struct rec_task *t, int64_t fd)
{
	const uint64_t *a = t->outs.call.args;
	uint32_t nr = t->outs.call.nr;
	uint64_t flags = nr == SYS_open ? a[1] : nr == SYS_openat ? a[2] : nr == SYS_creat ? O_TRUNC : 0;

	if (nr == SYS_openat2 && eng_read(&t->t, a[2], &flags, sizeof(flags)) < 0)
		flags = 0;
	return flags & O_TRUNC ? rec_file_changed(t, (int)fd, 0, UINT64_MAX / 2) : 0;
}

static bool opens(uint32_t nr)
{
	return nr == SYS_open || nr == SYS_openat || nr == SYS_openat2 || nr == SYS_creat;
}

static bool read_again(struct rec_task *t, int in, uint8_t *p, size_t n)
{
	char path[48];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->t.tid, in);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	got = pread(fd, p, n, (off_t)t->saved_pos);
	close(fd);
	return got == (ssize_t)n;
}

/* Bytes that went to stdout inside the kernel, from where they came from. */
static int moved_to_stdout(struct rec_task *t, int64_t result)
{
	const uint64_t *a = t->outs.call.args;
	uint32_t nr = t->outs.call.nr;
	int out = nr == SYS_sendfile ? (int)a[0] : nr == SYS_tee ? (int)a[1] : (int)a[2];
	int in = nr == SYS_sendfile ? (int)a[1] : (int)a[0];
	uint32_t echo = rec_echo(t, out);
	size_t n = (size_t)result;
	uint8_t *p;
	bool found;

	if (!echo)
		return 0;
	p = fx_alloc(&t->rec->fx, n);
	if (!p)
		return -ENOMEM;
	found = rec_fd(t, in)->cls == FD_REGULAR ? read_again(t, in, p, n) : t->peeked.len >= n;
	if (found) {
		struct effect *e = fx_add(&t->rec->fx, EFFECT_OUTPUT);

		if (t->peeked.len >= n)
			memcpy(p, t->peeked.data, n);
		e->len = n;
		e->data = p;
		t->call_flags |= echo;
	} else {
		rec_warn(t->rec, "output that %s moved inside the kernel is not shown on replay", t->outs.res.row->name);
	}
	return 0;
}

static bool moves_inside(uint32_t nr)
{
	return nr == SYS_sendfile || nr == SYS_copy_file_range || nr == SYS_splice || nr == SYS_tee;
}

/* Replay gives output as one stream, in the order in which it was written. In a file it may lie otherwise. */
static void check_output_order(struct rec_task *t, int64_t result)
{
	const uint64_t *a = t->outs.call.args;
	int fd = (int)a[0];

	switch (t->outs.call.nr) {
	case SYS_lseek:
		if (a[2] != SEEK_SET)
			return;
		break;
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_ftruncate:
	case SYS_fallocate:
		break;
	case SYS_open:
	case SYS_openat:
	case SYS_creat:
		fd = (int)result;
		if (t->outs.call.nr != SYS_creat && (a[t->outs.call.nr == SYS_openat ? 2 : 1] & (O_APPEND | O_ACCMODE)) != O_WRONLY)
			return;
		break;
	default:
		return;
	}
	if (rec_fd(t, fd)->cls == FD_REGULAR && rec_echo(t, fd))
		rec_warn(t->rec, "the guest writes its output file not only from start to end: replay prints what was written in the order of writing");
}

static void written(struct rec_task *t, int64_t result)
{
	uint32_t echo = rec_echo(t, (int)t->outs.call.args[0]);

	t->call_flags |= echo;
	if (echo)
		rec_output(t, (uint64_t)result);
}

int rec_files_after(struct rec_task *t, int64_t result)
{
	uint32_t flags = t->outs.res.row->flags;
	uint32_t nr = t->outs.call.nr;
	int r = 0;

	if (flags & SYS_F_CLOSE)
		forget_changed(t, result);
	else if (result >= 0 && (flags & SYS_F_NEWFD))
		rec_fd_forget(t->files, (int)result);
	if (result > 0 && moves_inside(nr))
		r = moved_to_stdout(t, result);
	else if (result > 0 && (flags & SYS_F_WRITES))
		written(t, result);
	if (r < 0 || result < 0)
		return r;
	check_output_order(t, result);
	if (nr == SYS_utimensat || nr == SYS_utimes || nr == SYS_utime || nr == SYS_futimesat)
		times_set(t);
	if (opens(nr))
		return opened(t, result);
	return flags & SYS_F_FILEMOD ? file_written(t, result) : 0;
}

/* --- /proc/PID/status --- */

/* Overwrites the value of one field with "0" and blanks: the length must not change. */
static bool zero_field(char *text, const char *field)
{
	char *p = strstr(text, field);

	if (!p)
		return false;
	p += strlen(field);
	if (*p < '1' || *p > '9')
		return false;
	*p++ = '0';
	while (*p >= '0' && *p <= '9')
		*p++ = ' ';
	return true;
}

/* The guest that traces it, if any, in the place of hermit. The number must not be longer. */
static bool set_tracer(struct rec_task *t, char *text)
{
	const char *pid = strstr(text, "\nPid:\t");
	struct rec_task *of = pid ? rec_task_find(t->rec, (pid_t)strtol(pid + 6, NULL, 10)) : NULL;
	pid_t tracer = of ? rec_trace_tracer(of) : 0;
	char number[16], *p = strstr(text, "TracerPid:\t");
	bool changed = zero_field(text, "TracerPid:\t");
	int n = snprintf(number, sizeof(number), "%d", (int)tracer);

	if (!tracer || !changed)
		return changed;
	p += strlen("TracerPid:\t");
	if (strspn(p, "0 ") >= (size_t)n)
		memcpy(p, number, (size_t)n);
	return true;
}

static void set_cpus(const struct rec_task *t, char *text)
{
	char want[32], *p = strstr(text, "Cpus_allowed:\t"), *q;
	uint64_t mask = 0;

	if (!p)
		return;
	p += strlen("Cpus_allowed:\t");
	q = p + strcspn(p, "\n");
	for (int i = 0; i < 64; i++)
		mask |= (uint64_t)!!CPU_ISSET(i, &t->proc->affinity) << i;
	snprintf(want, sizeof(want), "%0*lx", (int)(q - p), mask);
	if (strlen(want) == (size_t)(q - p) && !memchr(p, 0x2c, (size_t)(q - p)))
		memcpy(p, want, strlen(want));
}

int rec_proc_status_fix(struct rec_task *t, uint64_t addr, uint64_t len)
{
	char text[8192];
	bool changed;

	if (!len || len >= sizeof(text) || eng_read(&t->t, addr, text, len) < 0)
		return 0;
	text[len] = '\0';
	changed = set_tracer(t, text);
	changed |= zero_field(text, "\nSeccomp:\t");
	changed |= zero_field(text, "\nSeccomp_filters:\t");
	if (!t->proc->no_new_privs)
		changed |= zero_field(text, "\nNoNewPrivs:\t");
	set_cpus(t, text);
	return changed ? eng_write(&t->t, addr, text, len) : 0;
}
