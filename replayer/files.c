/* See files_priv.h: answers from the index, in the form that /proc has. */
#include "replayer/files_index_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/auxvec.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/str.h"

#define DELETED " (deleted)"

/* --- files --- */

static int open_map(struct rep_files *f, const struct files_map *m, int *ret_fd)
{
	return store_blob_open(store_reader_store(f->reader), &m->blob, ret_fd);
}

/* The file of that path, also where one of the usual links between directories leads. */
static const struct files_map *find_linked(struct rep_files *f, const struct rep_files_view *v, const char *path)
{
	static const char *const moved[] = { "/bin/", "/lib/", "/lib32/", "/lib64/", "/libx32/", "/sbin/" };
	const struct files_map *m = files_find(f, v, path);
	char other[FILES_PATH_MAX + sizeof(DELETED)];

	for (size_t i = 0; !m && i < ARRAY_SIZE(moved); i++) {
		if (str_has_prefix(path, moved[i]) && snprintf(other, sizeof(other), "/usr%s", path) < FILES_PATH_MAX)
			m = files_find(f, v, other);
		else if (str_has_prefix(path, "/usr/") && str_has_prefix(path + 4, moved[i]))
			m = files_find(f, v, path + 4);
	}
	if (m)
		return m;
	(void)snprintf(other, sizeof(other), "%s%s", path, DELETED);
	return files_find(f, v, other);
}

/* The interpreter is mapped by exec under its own name, while the program names a link. */
static int open_interp(struct rep_files *f, const struct rep_files_view *v, const char *path, int *ret_fd)
{
	const struct files_exec *x = files_exec(f, v);
	const struct files_map *m = x && x->exe != FILES_NONE ? files_find(f, v, f->strings[x->exe].text) : NULL;
	char interp[FILES_PATH_MAX], clean[FILES_PATH_MAX];
	int exe CLEANUP(closep) = -1;

	if (!m || x->interp == FILES_NONE || open_map(f, m, &exe) < 0)
		return ERR_NOT_FOUND;
	if (!files_path_interp(exe, interp) || !files_path_clean(NULL, interp, clean) || strcmp(clean, path))
		return ERR_NOT_FOUND;
	m = files_find(f, v, f->strings[x->interp].text);
	return m ? open_map(f, m, ret_fd) : ERR_NOT_FOUND;
}

/* Newest living process of that id. */
static uint32_t process_of_pid(const struct rep_files *f, const struct rep_files_view *v, uint64_t pid)
{
	for (size_t i = f->n_threads; i-- > 0;) {
		const struct files_thread *t = &f->threads[i];

		if ((uint64_t)t->pid == pid && t->birth <= v->events && (!t->end || t->end > v->events))
			return t->proc;
	}
	return 0;
}

int rep_files_open(struct rep_files *f, const struct rep_files_view *v, const char *path, int *ret_fd)
{
	struct rep_files_view at = *v;
	const struct files_exec *x;
	const struct files_map *m;
	char clean[FILES_PATH_MAX];
	const char *rest;
	uint64_t pid;

	files_reach(f, v->events);
	x = files_exec(f, v);
	for (int i = 0; i < 8 && (rest = files_path_proc(path, &pid)); i++) {
		if (pid && !(at.process = process_of_pid(f, v, pid)))
			return ERR_NOT_FOUND;
		if (!strcmp(rest, "exe"))
			path = rep_files_exe(f, &at);
		else if (str_has_prefix(rest, "root/"))
			path = rest + 4;
		else
			return ERR_NOT_FOUND;
	}
	if (!files_path_clean(x && x->cwd != FILES_NONE ? f->strings[x->cwd].text : NULL, path, clean))
		return ERR_NOT_FOUND;
	m = find_linked(f, &at, clean);
	return m ? open_map(f, m, ret_fd) : open_interp(f, &at, clean, ret_fd);
}

/* --- names --- */

const char *rep_files_exe(struct rep_files *f, const struct rep_files_view *v)
{
	const struct files_exec *x;

	files_reach(f, v->events);
	x = files_exec(f, v);
	return x && x->exe != FILES_NONE ? f->strings[x->exe].text : "";
}

const char *rep_files_thread_name(struct rep_files *f, uint32_t thread, uint64_t events)
{
	uint32_t at;

	files_reach(f, events);
	at = files_name(f, thread, events);
	memcpy(f->answer, at == FILES_NONE ? "" : f->names[at].text, at == FILES_NONE ? 1 : sizeof(f->answer));
	return f->answer;
}

/* --- maps --- */

struct line {
	struct mapping m;
	const char *name; /* NULL = none */
};

static const char *anonymous_name(const struct files_exec *x, const struct mapping *m, uint64_t heap_end)
{
	if (m->flags & ASPACE_SHARED)
		return "/dev/zero" DELETED;
	if (x && m->flags & ASPACE_GROWSDOWN && x->sp >= m->start && x->sp < m->end)
		return "[stack]";
	return x && x->brk && m->start >= x->brk && m->start < heap_end ? "[heap]" : NULL;
}

/* The model has a mapping for each call, the kernel makes one of neighbours. Not so of a file's parts, which mostly differ in what
 * the model does not know (whether they were ever writable). */
static bool joins(const struct line *a, const struct line *b)
{
	return a->m.end == b->m.start && a->m.prot == b->m.prot && a->m.flags == b->m.flags && a->m.flags & ASPACE_ANON &&
	       !(a->m.flags & ASPACE_SHARED) && a->name == b->name;
}

/* What strangers called a file must not end the line. */
static void put_name(struct buf *out, const char *name)
{
	for (const char *p = name; *p; p++) {
		if (*p == '\n')
			buf_printf(out, "\\012");
		else
			buf_put_u8(out, (uint8_t)*p);
	}
}

/* Devices and inodes are made up: equal for equal content, zero only for what belongs to no file. */
static void put_line(struct buf *out, const struct line *l)
{
	const struct mapping *m = &l->m;
	size_t begin = out->len;
	uint64_t ino = m->object ? m->object : m->ino || m->dev ? (m->ino & 0x7fffffff) | 1 : m->flags & ASPACE_ANON ? 0 : 1;

	buf_printf(out, "%08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 " %s %" PRIu64 " ", m->start, m->end, m->prot & PROT_READ ? 'r' : '-',
		   m->prot & PROT_WRITE ? 'w' : '-', m->prot & PROT_EXEC ? 'x' : '-', m->flags & ASPACE_SHARED ? 's' : 'p',
		   m->flags & ASPACE_ANON ? 0 : m->offset, ino ? "00:01" : "00:00", ino);
	if (l->name) {
		while (out->len - begin < 73 && !buf_error(out))
			buf_put_u8(out, ' ');
		put_name(out, l->name);
	}
	buf_put_u8(out, '\n');
}

static struct line line_of(struct rep_files *f, const struct rep_files_view *v, const struct files_exec *x, const struct mapping *m,
			   uint64_t *heap_end)
{
	const struct files_map *file = files_of_mapping(f, v, m);
	struct line l = { .m = *m, .name = file ? f->strings[file->path].text : NULL };

	if (x && x->brk && m->flags & ASPACE_ANON && !(m->flags & ASPACE_SHARED) && m->start == MAX(*heap_end, x->brk))
		*heap_end = m->end;
	if (!file && (m->flags & ASPACE_ANON || m->object))
		l.name = anonymous_name(x, m, *heap_end);
	return l;
}

static int put_maps(struct rep_files *f, const struct rep_files_view *v, uint32_t thread UNUSED, struct buf *out)
{
	const struct files_exec *x = files_exec(f, v);
	struct line last = { 0 };
	uint64_t heap_end = 0, below = 0;

	if (!v->as)
		return ERR_NOT_FOUND;
	for (size_t i = 0; i < v->as->n; i++) {
		struct line l = line_of(f, v, x, &v->as->m[i], &heap_end);

		if (l.m.flags & (ASPACE_VDSO | ASPACE_HERMIT))
			continue;
		if (l.name && !strcmp(l.name, "[stack]") && v->sp >= below && v->sp < l.m.start)
			l.m.start = ALIGN_DOWN(v->sp, 4096ull);
		below = l.m.end;
		if (last.m.end && joins(&last, &l)) {
			last.m.end = l.m.end;
			continue;
		}
		if (last.m.end)
			put_line(out, &last);
		last = l;
	}
	if (last.m.end)
		put_line(out, &last);
	return 0;
}

/* --- what the exec left --- */

/* The EXEC event of the process, with its initial stack if that is there. */
static int exec_event(struct rep_files *f, const struct rep_files_view *v, const struct event **ret, struct files_image *im)
{
	const struct files_exec *x = files_exec(f, v);
	int r = x ? store_reader_seek(f->reader, x->event, NULL) : ERR_NOT_FOUND;

	if (r >= 0)
		r = store_reader_next(f->reader, ret, NULL) > 0 ? 0 : ERR_NOT_FOUND;
	if (r >= 0 && im)
		r = files_image_load(f->reader, *ret, im) < 0 ? ERR_NOT_FOUND : 0;
	return r < 0 ? ERR_NOT_FOUND : 0;
}

static int put_auxv(struct rep_files *f, const struct rep_files_view *v, uint32_t thread UNUSED, struct buf *out)
{
	struct files_image im CLEANUP(files_image_done) = { 0 };
	const struct event *ev;
	int r = exec_event(f, v, &ev, &im);

	if (r >= 0)
		buf_put(out, im.stack + im.auxv, im.auxv_len);
	return r;
}

static int put_cmdline(struct rep_files *f, const struct rep_files_view *v, uint32_t thread UNUSED, struct buf *out)
{
	const struct event *ev;
	int r = exec_event(f, v, &ev, NULL);

	if (r >= 0 && ev->kind == EVENT_EXEC)
		buf_put(out, ev->blob, ev->blob_len);
	return r;
}

static int put_environ(struct rep_files *f, const struct rep_files_view *v, uint32_t thread UNUSED, struct buf *out)
{
	struct files_image im CLEANUP(files_image_done) = { 0 };
	const struct event *ev;
	int r = exec_event(f, v, &ev, &im);
	size_t start = out->len;

	for (size_t i = 0; r >= 0 && i < im.n_env; i++) {
		uint64_t addr;
		const char *s;

		memcpy(&addr, im.stack + im.env + i * sizeof(addr), sizeof(addr));
		s = files_image_string(&im, addr);
		/* strings lie behind each other in real ones; many pointers to one string make no large answer */
		if (s && out->len - start < im.len)
			buf_put(out, s, strlen(s) + 1);
	}
	return r;
}

static int put_exe(struct rep_files *f, const struct rep_files_view *v, uint32_t thread UNUSED, struct buf *out)
{
	const char *exe = rep_files_exe(f, v);

	buf_printf(out, "%s", exe);
	return *exe ? 0 : ERR_NOT_FOUND;
}

static int put_cwd(struct rep_files *f, const struct rep_files_view *v, uint32_t thread UNUSED, struct buf *out)
{
	const struct files_exec *x = files_exec(f, v);

	if (!x || x->cwd == FILES_NONE)
		return ERR_NOT_FOUND;
	buf_printf(out, "%s", f->strings[x->cwd].text);
	return 0;
}

static const char *name_of(struct rep_files *f, const struct rep_files_view *v, uint32_t thread)
{
	return rep_files_thread_name(f, thread, v->events);
}

static int put_comm(struct rep_files *f, const struct rep_files_view *v, uint32_t thread, struct buf *out)
{
	buf_printf(out, "%s\n", name_of(f, v, thread));
	return 0;
}

/* --- status --- */

static bool lives(const struct files_thread *t, uint64_t events)
{
	return t->birth <= events && (!t->end || t->end > events);
}

static unsigned count_threads(const struct rep_files *f, const struct rep_files_view *v)
{
	unsigned n = 0;

	for (size_t i = 0; i < f->n_threads; i++)
		n += f->threads[i].proc == v->process && lives(&f->threads[i], v->events);
	return n;
}

/* Orphans go to init; the parent of the first process was not recorded. */
static int parent_pid(const struct rep_files *f, const struct rep_files_view *v)
{
	const struct files_thread *t = files_thread(f, v->process), *p = t ? files_thread(f, t->parent) : NULL;

	for (size_t i = 0; p && i < f->n_threads; i++)
		if (f->threads[i].proc == p->proc && lives(&f->threads[i], v->events))
			return f->threads[i].pid;
	return t && !t->parent ? 0 : 1;
}

static uint64_t mapped_bytes(const struct rep_files_view *v)
{
	uint64_t n = 0;

	for (size_t i = 0; v->as && i < v->as->n; i++)
		if (!(v->as->m[i].flags & (ASPACE_VDSO | ASPACE_HERMIT)))
			n += v->as->m[i].end - v->as->m[i].start;
	return n;
}

static char state_of(const struct files_thread *t, const struct rep_files_view *v)
{
	if (!lives(t, v->events))
		return 'Z';
	return v->in_call && v->in_call(v->ctx, t->number) ? 'S' : 'R';
}

static int put_status(struct rep_files *f, const struct rep_files_view *v, uint32_t thread, struct buf *out)
{
	static const char *const states[] = { ['R'] = "running", ['S'] = "sleeping", ['Z'] = "zombie" };
	struct files_image im CLEANUP(files_image_done) = { 0 };
	const struct files_thread *t = files_thread(f, thread);
	const struct event *ev;
	char state;

	if (!t)
		return ERR_NOT_FOUND;
	state = state_of(t, v);
	buf_printf(out, "Name:\t");
	buf_put_printable(out, name_of(f, v, thread));
	buf_printf(out, "\nState:\t%c (%s)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n", state, states[(int)state], t->pid, t->tid,
		   parent_pid(f, v));
	if (exec_event(f, v, &ev, &im) >= 0) /* as they were at the exec */
		for (unsigned i = 0; i < 2; i++) {
			uint64_t real = files_image_aux(&im, i ? AT_GID : AT_UID), effective = files_image_aux(&im, i ? AT_EGID : AT_EUID);

			buf_printf(out, "%cid:\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", i ? 'G' : 'U', real, effective, effective,
				   effective);
		}
	if (v->as)
		buf_printf(out, "VmSize:\t%8" PRIu64 " kB\n", mapped_bytes(v) / 1024);
	buf_printf(out, "Threads:\t%u\n", count_threads(f, v));
	return 0;
}

/* The fields up to num_threads are known; starttime and what follows is zero but for vsize, startstack and exit_signal. */
static int put_stat(struct rep_files *f, const struct rep_files_view *v, uint32_t thread, struct buf *out)
{
	enum { PARENT = 4, THREADS = 20, SIZE = 23, STACK = 28, SIGNAL = 38, LAST = 52 };
	const struct files_thread *t = files_thread(f, thread);
	const struct files_exec *x = files_exec(f, v);

	if (!t)
		return ERR_NOT_FOUND;
	buf_printf(out, "%d (", t->tid);
	buf_put_printable(out, name_of(f, v, thread));
	buf_printf(out, ") %c", state_of(t, v));
	for (int i = PARENT; i <= LAST; i++) {
		uint64_t n = i == PARENT ? (uint64_t)parent_pid(f, v) : i == THREADS ? count_threads(f, v) : i == SIZE ? mapped_bytes(v) :
			     i == STACK ? (x ? x->sp : 0) : i == SIGNAL ? SIGCHLD : 0;

		buf_printf(out, " %" PRIu64, n);
	}
	buf_put_u8(out, '\n');
	return 0;
}

/* --- /proc --- */

static const struct answer {
	const char *name;
	int (*put)(struct rep_files *f, const struct rep_files_view *v, uint32_t thread, struct buf *out);
} answers[] = {
	{ "auxv", put_auxv },	{ "cmdline", put_cmdline }, { "comm", put_comm }, { "cwd", put_cwd },	    { "environ", put_environ },
	{ "exe", put_exe },	{ "maps", put_maps },	    { "stat", put_stat }, { "status", put_status },
};

/* "task/TID/": which of the living threads. */
static uint32_t thread_of(const struct rep_files *f, const struct rep_files_view *v, const char **name)
{
	char *end;
	unsigned long long tid;

	if (!str_has_prefix(*name, "task/"))
		return v->process;
	tid = strtoull(*name + 5, &end, 10);
	if (*end != '/')
		return 0;
	*name = end + 1;
	for (size_t i = f->n_threads; i-- > 0;)
		if (f->threads[i].proc == v->process && (unsigned long long)f->threads[i].tid == tid && lives(&f->threads[i], v->events))
			return f->threads[i].number;
	return 0;
}

int rep_files_proc(struct rep_files *f, const struct rep_files_view *v, const char *name, struct buf *out)
{
	uint32_t thread;

	files_reach(f, v->events);
	thread = thread_of(f, v, &name);
	for (size_t i = 0; thread && i < ARRAY_SIZE(answers); i++)
		if (!strcmp(name, answers[i].name)) {
			int r = answers[i].put(f, v, thread, out);

			return r < 0 ? r : buf_error(out);
		}
	return ERR_NOT_FOUND;
}
