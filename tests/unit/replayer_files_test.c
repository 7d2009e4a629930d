/* The index of a recording's files and names: recordings are written here event by event, so what must come out is known. */
#include "tests/unit/store_help.h"

#include <linux/auxvec.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include "replayer/files_priv.h"

#define STACK_LOW 0x7ffe0000ull
#define STACK_END 0x7fff0000ull
#define SP 0x7ffef000ull
#define EXE 0x400000ull
#define LIB 0x70000000ull
#define INTERP 0x60000000ull
#define BRK 0x1000000ull

struct made {
	struct help_store store;
	struct store_writer *w;
	struct manifest m;
	struct store_reader *reader;
	struct rep_files *files;
	struct aspace as;
	uint64_t n; /* events written */
};

static void begin(struct made *t)
{
	*t = (struct made){ .store = help_open() };
	help_manifest(&t->m);
	free(t->m.cwd);
	t->m.cwd = strdup("/home/me");
	OK(store_writer_new(t->store.s, &t->m, &t->w, NULL));
	aspace_init(&t->as);
}

static void add(struct made *t, struct event ev)
{
	ev.text = ev.text ? ev.text : "";
	OK(store_writer_event(t->w, &ev));
	t->n++;
}

static void ready(struct made *t)
{
	struct store_id id = *store_writer_id(t->w);

	add(t, (struct event){ .kind = EVENT_END });
	OK(store_writer_commit(t->w, &t->m, NULL));
	store_writer_free(t->w);
	OK(store_reader_open(t->store.s, &id, &t->reader, NULL));
	OK(rep_files_new(t->reader, &t->files, NULL));
}

static void end(struct made *t)
{
	rep_files_free(t->files);
	store_reader_free(t->reader);
	aspace_done(&t->as);
	manifest_done(&t->m);
	help_close(&t->store);
}

static struct effect blob_map(struct made *t, const char *name, const char *content, uint64_t addr, uint64_t offset, uint32_t prot)
{
	struct effect e = { .kind = EFFECT_MAP, .source = MAP_SOURCE_BLOB, .addr = addr, .len = 4096, .prot = prot, .offset = offset, .name = name };

	OK(store_blob_add(t->store.s, content, strlen(content), &e.blob));
	return e;
}

/* The session's model, as replayer/effects.c keeps it. */
static void model(struct made *t, const struct effect *e, uint32_t flags)
{
	struct mapping m = { .start = e->addr, .end = e->addr + e->len, .prot = e->prot, .flags = flags, .offset = e->offset };

	m.object = flags & ASPACE_SHARED ? e->object : 0;
	if (e->source == MAP_SOURCE_BLOB) {
		memcpy(&m.dev, e->blob.sha256, 8);
		memcpy(&m.ino, e->blob.sha256 + 8, 8);
	}
	OK(aspace_map(&t->as, &m));
}

struct stack {
	uint8_t bytes[4096];
	size_t n;
};

static void push(struct stack *s, uint64_t v)
{
	memcpy(s->bytes + s->n, &v, 8);
	s->n += 8;
}

/* argv { "prog", "a b" }, one variable, auxv; started as `by`. */
static void make_stack(struct stack *s, const char *by)
{
	*s = (struct stack){ .n = 0 };
	push(s, 2);
	push(s, SP + 512);
	push(s, SP + 520);
	push(s, 0);
	push(s, SP + 600);
	push(s, 0);
	push(s, AT_BASE);
	push(s, INTERP);
	push(s, AT_UID);
	push(s, 1234);
	push(s, AT_EXECFN);
	push(s, SP + 700);
	push(s, AT_NULL);
	push(s, 0);
	memcpy(s->bytes + 600, "HOME=/home/me", 14);
	memcpy(s->bytes + 700, by, strlen(by) + 1);
	s->n = 4096;
}

static void add_exec(struct made *t, uint32_t thread, const char *exe, const char *content, const char *by)
{
	struct user_regs_struct regs = { .rip = EXE, .rsp = SP };
	struct stack s;
	struct effect e[] = {
		blob_map(t, exe, content, EXE, 0, PROT_READ | PROT_EXEC),
		blob_map(t, "/usr/lib/ld-9.so", "the interpreter", INTERP, 0, PROT_READ | PROT_EXEC),
		{ .kind = EFFECT_MAP, .addr = STACK_LOW, .len = STACK_END - STACK_LOW, .prot = PROT_READ | PROT_WRITE,
		  .flags = MAP_F_STACK | MAP_F_GROWSDOWN, .name = "[stack]" },
		{ .kind = EFFECT_MEM, .addr = SP, .len = sizeof(s.bytes), .data = s.bytes, .name = "" },
		{ .kind = EFFECT_REGS, .len = sizeof(regs), .data = &regs, .name = "" },
	};

	make_stack(&s, by);
	model(t, &e[0], 0);
	model(t, &e[1], 0);
	model(t, &e[2], ASPACE_ANON | ASPACE_GROWSDOWN);
	add(t, (struct event){ .kind = EVENT_EXEC, .thread = thread, .pid = 99 + (int)thread, .tid = 99 + (int)thread, .text = exe,
			       .blob = "prog\0a b", .blob_len = 9, .effects = e, .n_effects = ARRAY_SIZE(e) });
}

static void add_call(struct made *t, uint32_t thread, uint32_t nr, uint64_t a0, uint64_t a1, int64_t result, const char *text, uint64_t at)
{
	struct effect e = { .kind = EFFECT_INPUT, .addr = at, .len = text ? strlen(text) + 1 : 0, .data = text, .name = "" };

	add(t, (struct event){ .kind = EVENT_SYSCALL, .thread = thread, .sysno = nr, .args = { a0, a1 }, .result = result, .effects = &e,
			       .n_effects = text ? 1 : 0 });
}

static void add_map(struct made *t, uint32_t thread, int fd, const struct effect *e)
{
	struct effect copy = *e;

	add(t, (struct event){ .kind = EVENT_SYSCALL, .thread = thread, .sysno = SYS_mmap, .args = { 0, 4096, 0, 0, (uint64_t)fd },
			       .result = (int64_t)e->addr, .effects = &copy, .n_effects = 1 });
}

static void add_birth(struct made *t, uint32_t thread, uint32_t child, int pid, int tid, uint64_t flags)
{
	add(t, (struct event){ .kind = EVENT_BIRTH, .thread = thread, .sysno = SYS_clone, .args = { flags }, .child = child, .pid = pid, .tid = tid });
}

static void opens_as(struct made *t, const struct rep_files_view *v, const char *path, const char *want)
{
	char got[100] = "";
	int fd = -1, r = rep_files_open(t->files, v, path, &fd);

	if (!want) {
		ck_assert_msg(r == ERR_NOT_FOUND && fd == -1, "%s: %d", path, r);
		return;
	}
	ck_assert_msg(r == 0, "%s: %s", path, err_str(r));
	OK(os_pread_full(fd, got, sizeof(got) - 1, 0));
	ck_assert_str_eq(got, want);
	close(fd);
}

static const char *proc(struct made *t, const struct rep_files_view *v, const char *name)
{
	static struct buf b;

	buf_clear(&b);
	ck_assert_msg(rep_files_proc(t->files, v, name, &b) == 0, "%s", name);
	return buf_cstr(&b);
}

/* --- files --- */

START_TEST(contents_of_paths)
{
	struct rep_files_view v = { .process = 1 };
	struct made t;

	begin(&t);
	add_exec(&t, 1, "/usr/bin/prog-1.2", "the program", "bin/prog");                              /* 1 */
	add_call(&t, 1, SYS_openat, (uint64_t)AT_FDCWD, 64, 3, "lib/x.so", 64);                       /* 2 */
	add_map(&t, 1, 3, &(struct effect[]){ blob_map(&t, "/opt/x.so.1", "one", LIB, 0, 1) }[0]);    /* 3 */
	add_call(&t, 1, SYS_close, 3, 0, 0, NULL, 0);                                                 /* 4 */
	add_map(&t, 1, 3, &(struct effect[]){ blob_map(&t, "/memfd:y", "y", LIB, 0, 1) }[0]);         /* 5 */
	add_map(&t, 1, 4, &(struct effect[]){ blob_map(&t, "/opt/x.so.1", "two", LIB, 0, 1) }[0]);    /* 6 */
	add_map(&t, 1, 4, &(struct effect[]){ blob_map(&t, "/opt/x.so.1", "one", LIB, 0, 1) }[0]);    /* 7 */
	add_map(&t, 1, 4, &(struct effect[]){ blob_map(&t, "/usr/lib/z.so", "zet", LIB, 0, 1) }[0]);  /* 8 */
	ready(&t);
	v.events = 2;
	opens_as(&t, &v, "/opt/x.so.1", NULL);
	opens_as(&t, &v, "/usr/bin/prog-1.2", "the program");
	opens_as(&t, &v, "/home/me/bin/prog", "the program");
	opens_as(&t, &v, "bin/prog", "the program");
	opens_as(&t, &v, "/proc/self/exe", "the program");
	opens_as(&t, &v, "/proc/100/task/100/exe", "the program");
	opens_as(&t, &v, "/proc/100/root/usr//bin/../bin/./prog-1.2", "the program");
	opens_as(&t, &v, "/proc/7/exe", NULL);
	opens_as(&t, &v, "/proc/self/maps", NULL);
	opens_as(&t, &v, "/etc/passwd", NULL);
	v.events = 8;
	opens_as(&t, &v, "/opt/x.so.1", "one");
	opens_as(&t, &v, "/lib/z.so", "zet");
	v.events = 6;
	opens_as(&t, &v, "/opt/x.so.1", "two");
	opens_as(&t, &v, "/lib/z.so", NULL);
	v.events = 3;
	opens_as(&t, &v, "/opt/x.so.1", "one");
	opens_as(&t, &v, "/home/me/lib/x.so", "one");
	v.events = 5; /* the descriptor's number, not its file */
	opens_as(&t, &v, "/home/me/lib/x.so", "one");
	end(&t);
}
END_TEST

/* Each process has its own idea of a path, from its birth on its parent's. */
START_TEST(contents_of_processes)
{
	struct rep_files_view v = { .process = 2 };
	struct made t;

	begin(&t);
	add_exec(&t, 1, "/bin/a", "a", "/bin/a");                                            /* 1 */
	add_map(&t, 1, 9, &(struct effect[]){ blob_map(&t, "/l", "old", LIB, 0, 1) }[0]);    /* 2 */
	add_birth(&t, 1, 2, 101, 101, 0);                                                    /* 3 */
	add_map(&t, 1, 9, &(struct effect[]){ blob_map(&t, "/l", "new", LIB, 0, 1) }[0]);    /* 4 */
	add_exec(&t, 2, "/bin/b", "b", "/bin/b");                                            /* 5 */
	ready(&t);
	v.events = 4;
	opens_as(&t, &v, "/l", "old");
	ck_assert_str_eq(rep_files_exe(t.files, &v), "/bin/a");
	v.events = 5;
	ck_assert_str_eq(rep_files_exe(t.files, &v), "/bin/b");
	opens_as(&t, &v, "/proc/100/exe", "a");
	opens_as(&t, &v, "/proc/self/exe", "b");
	v.process = 1;
	opens_as(&t, &v, "/l", "new");
	v.process = 77;
	ck_assert_str_eq(rep_files_exe(t.files, &v), "");
	end(&t);
}
END_TEST

/* --- names --- */

static void is_named(struct made *t, uint32_t thread, uint64_t events, const char *want)
{
	ck_assert_str_eq(rep_files_thread_name(t->files, thread, events), want);
}

START_TEST(thread_names)
{
	struct made t;

	begin(&t);
	add_exec(&t, 1, "/usr/bin/python3.11", "py", "/home/me/a-script-with-a-long-name.py");   /* 1 */
	add_birth(&t, 1, 2, 100, 102, CLONE_THREAD);                                             /* 2 */
	add_call(&t, 2, SYS_prctl, PR_SET_NAME, 64, 0, "worker", 64);                            /* 3 */
	add_call(&t, 1, SYS_openat, (uint64_t)AT_FDCWD, 64, 5, "/proc/self/task/102/comm", 64);  /* 4 */
	add_call(&t, 1, SYS_write, 5, 80, 5, "other\n", 80);                                     /* 5 */
	add_call(&t, 1, SYS_close, 5, 0, 0, NULL, 0);                                            /* 6 */
	add_call(&t, 1, SYS_write, 5, 80, 5, "GET /", 80);                                       /* 7 */
	ready(&t);
	is_named(&t, 1, 0, "");
	is_named(&t, 1, 7, "a-script-with-a");
	is_named(&t, 2, 7, "other");
	is_named(&t, 2, 4, "worker");
	is_named(&t, 2, 2, "a-script-with-a");
	is_named(&t, 2, 1, "");
	is_named(&t, 3, 7, "");
	end(&t);
}
END_TEST

/* --- /proc --- */

START_TEST(maps_lines)
{
	struct rep_files_view v = { .process = 1 };
	struct effect data, shared = { .kind = EFFECT_MAP, .source = MAP_SOURCE_SHARED, .object = 5, .addr = LIB + 0x10000, .len = 4096,
				       .prot = 3, .name = "/dev/shm/s" };
	struct effect heap = { .kind = EFFECT_MAP, .addr = BRK, .len = 0x21000, .prot = 3, .name = "" };
	struct effect anon = { .kind = EFFECT_MAP, .addr = LIB + 0x20000, .len = 4096, .prot = 0, .name = "" };
	struct made t;

	begin(&t);
	add_exec(&t, 1, "/bin/p q", "p", "/bin/p q");
	data = blob_map(&t, "/bin/p q", "p", EXE + 4096, 4096, PROT_READ | PROT_WRITE);
	model(&t, &data, 0);
	add_map(&t, 1, -1, &data);
	add_call(&t, 1, SYS_brk, 0, 0, BRK, NULL, 0);
	model(&t, &heap, ASPACE_ANON);
	add_map(&t, 1, -1, &shared);
	model(&t, &shared, ASPACE_SHARED);
	model(&t, &anon, ASPACE_ANON);
	anon.addr += 4096;
	model(&t, &anon, ASPACE_ANON); /* one line with its neighbour */
	ready(&t);
	v.events = 4;
	v.as = &t.as;
	v.sp = STACK_LOW - 0x1234;
	ck_assert_str_eq(proc(&t, &v, "maps") + 0,
			 proc(&t, &v, "task/100/maps"));
	{
		const char *got = proc(&t, &v, "maps");
		unsigned long long lo, hi, off, ino;
		char perms[8], dev[8], name[64];
		static const struct {
			uint64_t lo, hi, off;
			const char *perms, *name;
		} want[] = {
			{ EXE, EXE + 4096, 0, "r-xp", "/bin/p q" },
			{ EXE + 4096, EXE + 8192, 4096, "rw-p", "/bin/p q" },
			{ BRK, BRK + 0x21000, 0, "rw-p", "[heap]" },
			{ INTERP, INTERP + 4096, 0, "r-xp", "/usr/lib/ld-9.so" },
			{ LIB + 0x10000, LIB + 0x11000, 0, "rw-s", "/dev/shm/s" },
			{ LIB + 0x20000, LIB + 0x22000, 0, "---p", "" },
			{ STACK_LOW - 0x2000, STACK_END, 0, "rw-p", "[stack]" },
		};

		for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
			int n = 0;

			ck_assert_int_eq(sscanf(got, "%llx-%llx %7s %llx %7s %llu %n", &lo, &hi, perms, &off, dev, &ino, &n), 6);
			n = (int)(strchr(got, '\n') - got);
			snprintf(name, sizeof(name), "%.*s", n > 73 ? n - 73 : 0, got + MIN(n, 73));
			ck_assert_uint_eq(lo, want[i].lo);
			ck_assert_uint_eq(hi, want[i].hi);
			ck_assert_uint_eq(off, want[i].off);
			ck_assert_str_eq(perms, want[i].perms);
			ck_assert_str_eq(name, want[i].name);
			ck_assert_int_eq(ino != 0, name[0] == '/');
			got += n + 1;
		}
		ck_assert_str_eq(got, "");
	}
	v.as = NULL;
	ck_assert_int_eq(rep_files_proc(t.files, &v, "maps", &(struct buf){ 0 }), ERR_NOT_FOUND);
	end(&t);
}
END_TEST

static bool sleeps(void *ctx UNUSED, uint32_t thread)
{
	return thread == 2;
}

START_TEST(proc_texts)
{
	struct rep_files_view v = { .process = 1, .in_call = sleeps };
	struct buf b CLEANUP(buf_done) = { 0 };
	uint64_t aux[2];
	struct made t;

	begin(&t);
	add_exec(&t, 1, "/bin/prog", "p", "./prog");                 /* 1 */
	add_birth(&t, 1, 2, 100, 102, CLONE_THREAD);                 /* 2 */
	add_birth(&t, 1, 3, 103, 103, 0);                            /* 3 */
	add(&t, (struct event){ .kind = EVENT_EXIT, .thread = 2 });  /* 4 */
	ready(&t);
	v.events = 3;
	ck_assert_str_eq(proc(&t, &v, "comm"), "prog\n");
	ck_assert_str_eq(proc(&t, &v, "exe"), "/bin/prog");
	ck_assert_str_eq(proc(&t, &v, "cwd"), "/home/me");
	ck_assert_str_eq(proc(&t, &v, "environ"), "HOME=/home/me");
	ck_assert_mem_eq(proc(&t, &v, "cmdline"), "prog\0a b", 9);
	ck_assert_ptr_nonnull(strstr(proc(&t, &v, "status"), "Tgid:\t100\nNgid:\t0\nPid:\t100\nPPid:\t0\n"));
	ck_assert_ptr_nonnull(strstr(proc(&t, &v, "status"), "Uid:\t1234\t0\t0\t0\n"));
	ck_assert_ptr_nonnull(strstr(proc(&t, &v, "status"), "Threads:\t2\n"));
	ck_assert_ptr_nonnull(strstr(proc(&t, &v, "task/102/status"), "State:\tS (sleeping)\nTgid:\t100\nNgid:\t0\nPid:\t102\n"));
	ck_assert_ptr_nonnull(strstr(proc(&t, &v, "stat"), "100 (prog) R 0 "));
	OK(rep_files_proc(t.files, &v, "auxv", &b));
	ck_assert_uint_eq(b.len, 4 * 16);
	memcpy(aux, b.data + 16, 16);
	ck_assert_uint_eq(aux[0], AT_UID);
	ck_assert_uint_eq(aux[1], 1234);
	v.events = 4;
	FAILS(ERR_NOT_FOUND, rep_files_proc(t.files, &v, "task/102/status", &b));
	ck_assert_ptr_nonnull(strstr(proc(&t, &v, "status"), "Threads:\t1\n"));
	v.process = 3;
	ck_assert_ptr_nonnull(strstr(proc(&t, &v, "status"), "Pid:\t103\nPPid:\t100\n"));
	ck_assert_str_eq(proc(&t, &v, "comm"), "prog\n");
	FAILS(ERR_NOT_FOUND, rep_files_proc(t.files, &v, "task//comm", &b));
	FAILS(ERR_NOT_FOUND, rep_files_proc(t.files, &v, "mem", &b));
	FAILS(ERR_NOT_FOUND, rep_files_proc(t.files, &v, "task/999/comm", &b));
	end(&t);
}
END_TEST

/* Any events in any order: no crash, whatever is asked. Seen by the replay's reader first, or not. */
START_TEST(random_recordings)
{
	static const char *const names[] = { "maps", "status", "auxv", "environ", "cmdline", "stat", "comm", "exe", "task/5/comm" };
	struct rep_files_view v = { 0 };
	struct buf b CLEANUP(buf_done) = { 0 };
	struct help_store h = help_open();
	struct store_id id = help_record(h.s, (uint64_t)_i + 1, 400);
	struct store_reader *r;
	const struct event *ev;
	struct rep_files *f;
	struct aspace as;
	int fd;

	OK(store_reader_open(h.s, &id, &r, NULL));
	OK(rep_files_new(r, &f, NULL));
	aspace_init(&as);
	OK(aspace_map(&as, &(struct mapping){ .start = 0, .end = 1ull << 46, .dev = 0x0101010101010101, .ino = 0x0101010101010101 }));
	v.as = &as;
	while (_i % 2 && store_reader_next(r, &ev, NULL) > 0)
		rep_files_saw(f, ev);
	for (v.events = 0; v.events <= 400; v.events += 40)
		for (v.process = 0; v.process < 60; v.process += 3)
			for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
				buf_clear(&b);
				if (rep_files_proc(f, &v, names[i], &b) == 0 && rep_files_open(f, &v, "/proc/self/exe", &fd) == 0)
					close(fd);
				ck_assert_uint_lt(b.len, 1 << 20);
				ck_assert_uint_lt(strlen(rep_files_thread_name(f, v.process, v.events)), 16);
			}
	aspace_done(&as);
	rep_files_free(f);
	store_reader_free(r);
	help_close(&h);
}
END_TEST

HELP_MAIN("replayer_files", { contents_of_paths, 0 }, { contents_of_processes, 0 }, { thread_names, 0 }, { maps_lines, 0 }, { proc_texts, 0 },
	  { random_recordings, 40 })
