/* See fds.h. Processes share tables as the kernel does: a table belongs to as many threads as CLONE_FILES has made of its first one. What a call does to
 * its table is in `rules`; calls that are not there and give a new descriptor (SYS_F_NEWFD) make one of which only that is known.
 *
 * Nothing of it fails for being too much: tables beyond the limits are empty, descriptors beyond them unknown. */
#include "analysis/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include "analysis/idmap_priv.h"
#include "base/os.h"
#include "engine/syscall.h"

#define FD_MAX (1u << 16)       /* larger descriptors are not followed */
#define ENTRIES_MAX (4u << 20)  /* of all tables together */
#define PATH_KEPT 4096u
#define EFFECTS_SEARCHED 1024u
#define F_DUPFD_CLOEXEC_ 1030u
#define CLOSE_RANGE_UNSHARE_ 2u
#define CLOSE_RANGE_CLOEXEC_ 4u
#define CLOEXEC_ALWAYS (-2)
#define CLOEXEC_NEVER (-1)

struct table {
	uint32_t users;
	uint32_t n; /* entries allocated */
	struct fds_info *fd; /* owned */
};

struct dir {
	uint32_t users;
	uint32_t cwd; /* name */
};

struct thread {
	struct table *table; /* counted; NULL: empty */
	struct dir *dir;     /* counted; NULL: not known */
	struct fds_refs *pending; /* of the call that it is in; owned */
};

struct fds {
	struct names *names;
	struct idmap index; /* thread number -> place in thread[] */
	struct thread *thread;
	uint32_t n, cap;
	uint64_t entries;
	uint32_t cwd; /* of the first program */
	uint8_t rule[SYS_TABLE_MAX]; /* number of the call's rule, from 1 */
};

/* A call that ends, with all that its rule needs. */
struct ending {
	struct fds *f;
	struct store_reader *reader;
	const struct event *ev;
	struct thread *t;
	struct fds_refs *refs;
	const struct rule *rule;
};

struct rule {
	uint32_t nr;
	void (*apply)(const struct ending *e);
	const char *label;  /* name of the new descriptor when it has no path */
	uint8_t kind;       /* of it */
	int8_t flags_arg;   /* argument whose `bit` says close-on-exec */
	uint32_t bit;
};

/* --- tables --- */

static void table_put(struct fds *f, struct table *t)
{
	if (!t || --t->users)
		return;
	f->entries -= t->n;
	free(t->fd);
	free(t);
}

static void dir_put(struct dir *d)
{
	if (d && !--d->users)
		free(d);
}

static struct table *table_copy(struct fds *f, const struct table *from)
{
	struct table *t = from ? os_calloc(1, sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	t->users = 1;
	if (from->n && f->entries + from->n <= ENTRIES_MAX)
		t->fd = reallocarray(NULL, from->n, sizeof(*t->fd));
	if (t->fd) {
		memcpy(t->fd, from->fd, from->n * sizeof(*t->fd));
		t->n = from->n;
		f->entries += t->n;
	}
	return t;
}

/* The thread's own entry, made when it has none; NULL beyond the limits. */
static struct fds_info *entry(struct fds *f, struct thread *t, int fd)
{
	struct fds_info *more;
	uint32_t n;

	if (fd < 0 || (uint32_t)fd >= FD_MAX)
		return NULL;
	if (!t->table) {
		t->table = os_calloc(1, sizeof(*t->table));
		if (!t->table)
			return NULL;
		t->table->users = 1;
	}
	if ((uint32_t)fd >= t->table->n) {
		n = ALIGN_UP((uint32_t)fd + 1, 32u);
		if (f->entries + n - t->table->n > ENTRIES_MAX)
			return NULL;
		more = reallocarray(t->table->fd, n, sizeof(*more));
		if (!more)
			return NULL;
		memset(more + t->table->n, 0, (n - t->table->n) * sizeof(*more));
		f->entries += n - t->table->n;
		t->table->fd = more;
		t->table->n = n;
	}
	return &t->table->fd[fd];
}

static struct fds_info look(const struct thread *t, int fd)
{
	const struct table *table = t->table;

	return table && fd >= 0 && (uint32_t)fd < table->n ? table->fd[fd] : (struct fds_info){ 0 };
}

static void set(const struct ending *e, int fd, const struct fds_info *info)
{
	struct fds_info *to = entry(e->f, e->t, fd);

	if (to)
		*to = *info;
}

static void forget(const struct ending *e, int fd)
{
	if (fd >= 0 && e->t->table && (uint32_t)fd < e->t->table->n)
		e->t->table->fd[fd] = (struct fds_info){ 0 };
}

/* --- threads --- */

static int thread_of(struct fds *f, uint32_t number, struct thread **ret)
{
	uint32_t *at = idmap_find(&f->index, number);
	struct thread *more;
	uint32_t cap;
	int r;

	if (at) {
		*ret = &f->thread[*at];
		return 0;
	}
	if (f->n == f->cap) {
		cap = f->cap ? f->cap * 2 : 16;
		more = reallocarray(f->thread, cap, sizeof(*more));
		if (!more)
			return -ENOMEM;
		f->thread = more;
		f->cap = cap;
	}
	r = idmap_put(&f->index, number, f->n);
	if (r < 0)
		return r;
	f->thread[f->n] = (struct thread){ 0 };
	*ret = &f->thread[f->n++];
	return 0;
}

static void thread_clear(struct fds *f, struct thread *t)
{
	table_put(f, t->table);
	dir_put(t->dir);
	free(t->pending);
	*t = (struct thread){ 0 };
}

static void set_cwd(struct thread *t, uint32_t cwd)
{
	if (!t->dir) {
		t->dir = os_calloc(1, sizeof(*t->dir));
		if (!t->dir)
			return;
		t->dir->users = 1;
	}
	t->dir->cwd = cwd;
}

/* --- memory of the event --- */

/* Bytes at addr that the effects of a kind show, at most n; 0 when they show none. */
static size_t shown(struct store_reader *reader, const struct event *ev, enum effect_kind kind, uint64_t addr, void *buf, size_t n)
{
	uint32_t count = MIN(ev->n_effects, EFFECTS_SEARCHED);

	for (uint32_t i = 0; addr && i < count; i++) {
		const struct effect *e = &ev->effects[i];
		uint64_t off = addr - e->addr;

		if (e->kind != kind || (e->thread && e->thread != ev->thread) || addr < e->addr || off >= e->len)
			continue;
		n = (size_t)MIN((uint64_t)n, e->len - off);
		return store_reader_data(reader, e, off, buf, n, NULL) < 0 ? 0 : n;
	}
	return 0;
}

static uint32_t add_joined(struct fds *f, uint32_t base, const char *path, size_t n)
{
	const char *dir = names_get(f->names, base);
	char whole[2 * PATH_KEPT + 2];
	int len;

	if (!n)
		return 0;
	while (n > 2 && path[0] == '.' && path[1] == '/' && *path != '/') {
		path += 2;
		n -= 2;
	}
	if (*path == '/' || !dir)
		return names_add(f->names, path, n);
	if (n == 1 && *path == '.')
		return base;
	len = snprintf(whole, sizeof(whole), "%.*s%s%.*s", (int)PATH_KEPT, dir, dir[strlen(dir) - 1] == '/' ? "" : "/", (int)n, path);
	return names_add(f->names, whole, (size_t)len);
}

/* The path argument at addr; base: name of the directory that it is relative to. */
static uint32_t path_at(struct fds *f, struct store_reader *reader, const struct event *ev, uint64_t addr, uint32_t base)
{
	char path[PATH_KEPT];
	size_t n = shown(reader, ev, EFFECT_INPUT, addr, path, sizeof(path));

	return add_joined(f, base, path, strnlen(path, n));
}

/* --- what a call refers to --- */

static void add_fd(struct fds_refs *refs, int fd, struct fds_info info)
{
	for (int i = 0; i < FDS_REFS; i++) {
		if (refs->fd[i].fd == fd)
			return;
		if (refs->fd[i].fd < 0) {
			refs->fd[i].fd = fd;
			refs->fd[i].info = info;
			return;
		}
	}
	refs->more = true;
}

static void refs_init(struct fds_refs *refs)
{
	*refs = (struct fds_refs){ 0 };
	for (int i = 0; i < FDS_REFS; i++)
		refs->fd[i].fd = -1;
}

static bool many_fds(uint32_t nr)
{
	return nr == SYS_poll || nr == SYS_ppoll || nr == SYS_select || nr == SYS_pselect6 || nr == SYS_close_range;
}

static void refs_of_entry(struct fds *f, struct store_reader *reader, const struct event *ev, const struct thread *t, struct fds_refs *refs)
{
	const struct sys_row *row = sys_row(ev->sysno);
	uint32_t cwd = t->dir ? t->dir->cwd : 0, base = cwd;
	int paths = 0;

	refs->call = true;
	refs->sysno = ev->sysno;
	memcpy(refs->args, ev->args, sizeof(refs->args));
	refs->more = many_fds(ev->sysno);
	for (unsigned i = 0; i < row->nargs; i++) {
		int fd = (int)ev->args[i];

		if (row->arg[i].kind == SYS_ARG_DIRFD && fd == AT_FDCWD)
			base = cwd;
		else if (row->arg[i].kind == SYS_ARG_DIRFD)
			base = look(t, fd).name;
		if ((row->arg[i].kind == SYS_ARG_DIRFD || row->arg[i].kind == SYS_ARG_FD) && fd >= 0)
			add_fd(refs, fd, look(t, fd));
		if (row->arg[i].kind == SYS_ARG_PATH && paths < FDS_REFS)
			refs->path[paths++] = path_at(f, reader, ev, ev->args[i], base);
	}
}

/* --- what calls do --- */

static bool wants_cloexec(const struct ending *e)
{
	const struct rule *r = e->rule;

	return r->flags_arg == CLOEXEC_ALWAYS || (r->flags_arg >= 0 && (e->refs->args[r->flags_arg] & r->bit));
}

static void new_fd(const struct ending *e, int fd, uint32_t name, unsigned which)
{
	struct fds_info info = { .object = e->ev->number * 2 + which, .name = name, .kind = e->rule->kind, .cloexec = wants_cloexec(e) };

	if (!info.name && e->rule->label)
		info.name = names_add(e->f->names, e->rule->label, strlen(e->rule->label));
	set(e, fd, &info);
	add_fd(e->refs, fd, info);
}

static void do_open(const struct ending *e)
{
	new_fd(e, (int)e->refs->result, e->refs->path[0], 0);
}

static void do_openat2(const struct ending *e)
{
	struct fds_info *info;
	uint64_t flags = 0;

	do_open(e);
	info = entry(e->f, e->t, (int)e->refs->result);
	if (info && shown(e->reader, e->ev, EFFECT_INPUT, e->refs->args[2], &flags, sizeof(flags)) == sizeof(flags))
		info->cloexec = (flags & O_CLOEXEC) != 0;
}

static void do_pair(const struct ending *e)
{
	int fd[2];

	if (shown(e->reader, e->ev, EFFECT_MEM, e->refs->args[e->refs->sysno == SYS_socketpair ? 3 : 0], fd, sizeof(fd)) < sizeof(fd))
		return;
	new_fd(e, fd[0], 0, 0);
	new_fd(e, fd[1], 0, 1);
}

static void do_dup(const struct ending *e)
{
	struct fds_info info = e->refs->fd[0].fd < 0 ? (struct fds_info){ 0 } : look(e->t, (int)e->refs->args[0]);

	/* dup2() of a descriptor to itself changes nothing */
	if (e->refs->result == (int)e->refs->args[0])
		return;
	info.cloexec = wants_cloexec(e);
	set(e, (int)e->refs->result, &info);
	for (int i = 1; i < FDS_REFS; i++)
		if (e->refs->fd[i].fd == (int)e->refs->result)
			e->refs->fd[i].info = info;
	add_fd(e->refs, (int)e->refs->result, info);
}

static void do_close(const struct ending *e)
{
	forget(e, (int)e->refs->args[0]);
}

static void unshare_table(const struct ending *e)
{
	struct table *own;

	if (!e->t->table || e->t->table->users == 1)
		return;
	own = table_copy(e->f, e->t->table);
	table_put(e->f, e->t->table);
	e->t->table = own;
}

static void do_close_range(const struct ending *e)
{
	uint64_t first = (uint32_t)e->refs->args[0], last = (uint32_t)e->refs->args[1];

	if (e->refs->args[2] & CLOSE_RANGE_UNSHARE_)
		unshare_table(e);
	for (uint64_t i = first; e->t->table && i <= last && i < e->t->table->n; i++)
		if (e->refs->args[2] & CLOSE_RANGE_CLOEXEC_)
			e->t->table->fd[i].cloexec = true;
		else
			forget(e, (int)i);
}

static void do_fcntl(const struct ending *e)
{
	uint32_t command = (uint32_t)e->refs->args[1];
	struct fds_info info = look(e->t, (int)e->refs->args[0]);

	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC_) {
		info.cloexec = command == F_DUPFD_CLOEXEC_;
		set(e, (int)e->refs->result, &info);
		add_fd(e->refs, (int)e->refs->result, info);
	} else if (command == F_SETFD) {
		info.cloexec = e->refs->args[2] & FD_CLOEXEC;
		set(e, (int)e->refs->args[0], &info);
	}
}

static void do_ioctl(const struct ending *e)
{
	struct fds_info info = look(e->t, (int)e->refs->args[0]);
	uint32_t request = (uint32_t)e->refs->args[1];

	if (request != FIOCLEX && request != FIONCLEX)
		return;
	info.cloexec = request == FIOCLEX;
	set(e, (int)e->refs->args[0], &info);
}

static void do_chdir(const struct ending *e)
{
	set_cwd(e->t, e->refs->sysno == SYS_fchdir ? look(e->t, (int)e->refs->args[0]).name : e->refs->path[0]);
}

static void do_unshare(const struct ending *e)
{
	struct dir *shared = e->t->dir;

	if (e->refs->args[0] & CLONE_FILES)
		unshare_table(e);
	if (!(e->refs->args[0] & CLONE_FS) || !shared || shared->users == 1)
		return;
	e->t->dir = NULL;
	set_cwd(e->t, shared->cwd);
	dir_put(shared);
}

static const struct rule rules[] = {
	{ SYS_open, do_open, NULL, FDS_FILE, 1, O_CLOEXEC },
	{ SYS_openat, do_open, NULL, FDS_FILE, 2, O_CLOEXEC },
	{ SYS_openat2, do_openat2, NULL, FDS_FILE, CLOEXEC_NEVER, 0 },
	{ SYS_creat, do_open, NULL, FDS_FILE, CLOEXEC_NEVER, 0 },
	{ SYS_open_by_handle_at, do_open, "[file by handle]", FDS_FILE, 2, O_CLOEXEC },
	{ 428 /* open_tree */, do_open, NULL, FDS_FILE, 2, O_CLOEXEC },
	{ SYS_memfd_create, do_open, "[memfd]", FDS_OTHER, 1, 1 },
	{ SYS_socket, do_open, "[socket]", FDS_SOCKET, 1, O_CLOEXEC },
	{ SYS_accept, do_open, "[socket]", FDS_SOCKET, CLOEXEC_NEVER, 0 },
	{ SYS_accept4, do_open, "[socket]", FDS_SOCKET, 3, O_CLOEXEC },
	{ SYS_socketpair, do_pair, "[socket]", FDS_SOCKET, 1, O_CLOEXEC },
	{ SYS_pipe, do_pair, "[pipe]", FDS_PIPE, CLOEXEC_NEVER, 0 },
	{ SYS_pipe2, do_pair, "[pipe]", FDS_PIPE, 1, O_CLOEXEC },
	{ SYS_epoll_create, do_open, "[epoll]", FDS_OTHER, CLOEXEC_NEVER, 0 },
	{ SYS_epoll_create1, do_open, "[epoll]", FDS_OTHER, 0, O_CLOEXEC },
	{ SYS_eventfd, do_open, "[eventfd]", FDS_OTHER, CLOEXEC_NEVER, 0 },
	{ SYS_eventfd2, do_open, "[eventfd]", FDS_OTHER, 1, O_CLOEXEC },
	{ SYS_timerfd_create, do_open, "[timerfd]", FDS_OTHER, 1, O_CLOEXEC },
	{ SYS_signalfd, do_open, "[signalfd]", FDS_OTHER, CLOEXEC_NEVER, 0 },
	{ SYS_signalfd4, do_open, "[signalfd]", FDS_OTHER, 3, O_CLOEXEC },
	{ SYS_inotify_init, do_open, "[inotify]", FDS_OTHER, CLOEXEC_NEVER, 0 },
	{ SYS_inotify_init1, do_open, "[inotify]", FDS_OTHER, 0, O_CLOEXEC },
	{ SYS_fanotify_init, do_open, "[fanotify]", FDS_OTHER, 0, 1 },
	{ SYS_perf_event_open, do_open, "[perf event]", FDS_OTHER, 4, 8 },
	{ SYS_mq_open, do_open, "[message queue]", FDS_OTHER, 1, O_CLOEXEC },
	{ 434 /* pidfd_open */, do_open, "[pidfd]", FDS_OTHER, CLOEXEC_ALWAYS, 0 },
	{ 438 /* pidfd_getfd */, do_open, NULL, FDS_UNKNOWN, CLOEXEC_ALWAYS, 0 },
	{ SYS_dup, do_dup, NULL, 0, CLOEXEC_NEVER, 0 },
	{ SYS_dup2, do_dup, NULL, 0, CLOEXEC_NEVER, 0 },
	{ SYS_dup3, do_dup, NULL, 0, 2, O_CLOEXEC },
	{ SYS_close, do_close, NULL, 0, CLOEXEC_NEVER, 0 },
	{ 436 /* close_range */, do_close_range, NULL, 0, CLOEXEC_NEVER, 0 },
	{ SYS_fcntl, do_fcntl, NULL, 0, CLOEXEC_NEVER, 0 },
	{ SYS_ioctl, do_ioctl, NULL, 0, CLOEXEC_NEVER, 0 },
	{ SYS_chdir, do_chdir, NULL, 0, CLOEXEC_NEVER, 0 },
	{ SYS_fchdir, do_chdir, NULL, 0, CLOEXEC_NEVER, 0 },
	{ SYS_unshare, do_unshare, NULL, 0, CLOEXEC_NEVER, 0 },
};

/* Calls with a new descriptor that have no rule. */
static const struct rule rule_other = { 0, do_open, NULL, FDS_UNKNOWN, CLOEXEC_NEVER, 0 };

static void end_call(struct fds *f, struct store_reader *reader, const struct event *ev, struct thread *t, struct fds_refs *refs)
{
	struct ending e = { .f = f, .reader = reader, .ev = ev, .t = t, .refs = refs };
	uint32_t rule = refs->sysno < SYS_TABLE_MAX ? f->rule[refs->sysno] : 0;

	refs->ended = true;
	refs->result = ev->result;
	if (ev->result < 0 && refs->sysno != SYS_close) /* a close() that fails has closed, but for EBADF */
		return;
	if (rule)
		e.rule = &rules[rule - 1];
	else if (sys_row(refs->sysno)->flags & SYS_F_NEWFD)
		e.rule = &rule_other;
	if (e.rule)
		e.rule->apply(&e);
}

/* --- events --- */

static int on_enter(struct fds *f, struct store_reader *reader, const struct event *ev, struct fds_refs *ret)
{
	struct thread *t;
	int r = thread_of(f, ev->thread, &t);

	if (r < 0)
		return r;
	refs_of_entry(f, reader, ev, t, ret);
	if (!t->pending)
		t->pending = os_malloc(sizeof(*t->pending));
	if (!t->pending)
		return -ENOMEM;
	*t->pending = *ret;
	return 0;
}

static int on_call(struct fds *f, struct store_reader *reader, const struct event *ev, struct fds_refs *ret)
{
	struct thread *t;
	int r = thread_of(f, ev->thread, &t);

	if (r < 0)
		return r;
	refs_of_entry(f, reader, ev, t, ret);
	end_call(f, reader, ev, t, ret);
	return 0;
}

static int on_exit_half(struct fds *f, struct store_reader *reader, const struct event *ev, struct fds_refs *ret)
{
	struct thread *t;
	int r = thread_of(f, ev->thread, &t);

	if (r < 0)
		return r;
	ret->call = true;
	ret->sysno = ev->sysno;
	if (t->pending && t->pending->sysno == ev->sysno)
		*ret = *t->pending;
	free(TAKE(t->pending));
	end_call(f, reader, ev, t, ret);
	return 0;
}

static uint64_t clone_flags(struct store_reader *reader, const struct event *ev)
{
	uint64_t flags = 0;

	if (ev->sysno == SYS_clone)
		return ev->args[0];
	if (ev->sysno == 435 /* clone3 */ && shown(reader, ev, EFFECT_INPUT, ev->args[0], &flags, sizeof(flags)) == sizeof(flags))
		return flags;
	return 0;
}

static int on_birth(struct fds *f, struct store_reader *reader, const struct event *ev, struct fds_refs *ret)
{
	uint64_t flags = clone_flags(reader, ev);
	struct thread *parent, *child;
	int r = on_enter(f, reader, ev, ret);

	if (r >= 0)
		r = thread_of(f, ev->child, &child);
	if (r >= 0)
		r = thread_of(f, ev->thread, &parent); /* the array may have moved */
	if (r < 0 || parent == child)
		return r;
	thread_clear(f, child);
	if (!(flags & CLONE_FILES)) {
		child->table = table_copy(f, parent->table);
	} else if (entry(f, parent, 0)) { /* there is a table to share now */
		child->table = parent->table;
		child->table->users++;
	}
	if (!(flags & CLONE_FS)) {
		set_cwd(child, parent->dir ? parent->dir->cwd : 0);
	} else if (parent->dir) {
		child->dir = parent->dir;
		child->dir->users++;
	}
	return 0;
}

/* The program's descriptors are its own from here on, and those to be closed are. */
static void after_exec(struct fds *f, struct thread *t)
{
	struct ending e = { .f = f, .t = t };

	free(TAKE(t->pending));
	unshare_table(&e);
	for (uint32_t i = 0; t->table && i < t->table->n; i++)
		if (t->table->fd[i].cloexec)
			t->table->fd[i] = (struct fds_info){ 0 };
}

static int on_exec(struct fds *f, const struct event *ev)
{
	bool first = f->n == 0;
	struct thread *t, *caller;
	int r = thread_of(f, ev->thread, &t);

	if (r >= 0 && ev->child)
		r = thread_of(f, ev->child, &caller);
	if (r >= 0)
		r = thread_of(f, ev->thread, &t);
	if (r < 0)
		return r;
	if (ev->child && caller != t) { /* called by a thread that takes over the number of the first one */
		thread_clear(f, t);
		*t = *caller;
		*caller = (struct thread){ 0 };
	}
	if (first)
		set_cwd(t, f->cwd);
	after_exec(f, t);
	return 0;
}

static int on_thread_end(struct fds *f, const struct event *ev)
{
	uint32_t *at = idmap_find(&f->index, ev->thread);

	if (at)
		thread_clear(f, &f->thread[*at]);
	return 0;
}

int fds_event(struct fds *f, struct store_reader *reader, const struct event *ev, struct fds_refs *ret)
{
	refs_init(ret);
	if (!ev->thread)
		return 0;
	switch (ev->kind) {
	case EVENT_SYSCALL:
		return on_call(f, reader, ev, ret);
	case EVENT_SYSCALL_ENTER:
		return on_enter(f, reader, ev, ret);
	case EVENT_SYSCALL_EXIT:
		return on_exit_half(f, reader, ev, ret);
	case EVENT_BIRTH:
		return ev->child ? on_birth(f, reader, ev, ret) : 0;
	case EVENT_EXEC:
		return on_exec(f, ev);
	case EVENT_EXIT:
		return on_thread_end(f, ev);
	default:
		return 0;
	}
}

struct fds_info fds_get(const struct fds *f, uint32_t thread, int fd)
{
	uint32_t *at = idmap_find(&f->index, thread);

	return at ? look(&f->thread[*at], fd) : (struct fds_info){ 0 };
}

int fds_new(const char *cwd, struct names *names, struct fds **ret)
{
	struct fds *f = os_calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->names = names;
	f->cwd = cwd ? names_add(names, cwd, strlen(cwd)) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].nr < SYS_TABLE_MAX)
			f->rule[rules[i].nr] = (uint8_t)(i + 1);
	*ret = f;
	return 0;
}

void fds_free(struct fds *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->n; i++)
		thread_clear(f, &f->thread[i]);
	free(f->thread);
	idmap_done(&f->index);
	free(f);
}

void fds_freep(struct fds **f)
{
	fds_free(*f);
}
