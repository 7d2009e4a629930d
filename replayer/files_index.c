/* See files_index_priv.h. Takes up events one by one; nothing here is trusted: numbers that do not fit are passed over. */
#define LOG_AREA "replayer.files"
#include "replayer/files_index_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/auxvec.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "base/os.h"
#include "base/str.h"

/* Limits of the index: some 150 MB when a recording fills all of them. */
#define STRING_BYTES_MAX (32u << 20)
#define STRINGS_MAX (1u << 18)
#define MAPS_MAX (1u << 18)
#define THREADS_MAX (1u << 19)
#define EXECS_MAX (1u << 18)
#define NAMES_MAX (1u << 20)
/* Generations of processes that are looked through, and free slots that are tried for a hash. */
#define PARENTS_MAX 1024
#define PROBES_MAX 16
/* Candidates that are looked at for one mapping or name. */
#define CHAIN_MAX 4096

/* --- tables --- */

static uint64_t mix(uint64_t h)
{
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	h = (h ^ h >> 29) * 0x9e3779b97f4a7c15ull;
	h ^= h >> 32;
	return h ? h : 1;
}

static uint64_t hash_text(const struct rep_files *f, const char *text)
{
	uint64_t h = f->seed;

	for (const char *p = text; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3ull ^ h >> 47;
	return mix(h);
}

static struct files_slot *slot_of(const struct files_table *t, uint64_t key)
{
	size_t i = key & (t->cap - 1);

	while (t->slot[i].key && t->slot[i].key != key)
		i = (i + 1) & (t->cap - 1);
	return &t->slot[i];
}

static uint32_t table_get(const struct files_table *t, uint64_t key)
{
	struct files_slot *s = t->cap ? slot_of(t, key) : NULL;

	return s && s->key ? s->value : FILES_NONE;
}

static bool table_put(struct files_table *t, uint64_t key, uint32_t value)
{
	struct files_table wider = { .cap = t->cap * 2 + !t->cap * 256, .n = t->n };
	struct files_slot *s;

	if (t->n * 2 >= t->cap) {
		wider.slot = os_calloc(wider.cap, sizeof(*wider.slot));
		if (!wider.slot)
			return false;
		for (size_t i = 0; i < t->cap; i++)
			if (t->slot[i].key)
				*slot_of(&wider, t->slot[i].key) = t->slot[i];
		free(t->slot);
		*t = wider;
	}
	s = slot_of(t, key);
	t->n += !s->key;
	*s = (struct files_slot){ key, value };
	return true;
}

/* Makes room for one more element of *array. */
static bool grow(void *array, size_t n, size_t *cap, size_t size, size_t max)
{
	void **p = array, *more;
	size_t want = *cap * 2 + 16;

	if (n < *cap)
		return true;
	more = n < max ? reallocarray(*p, want, size) : NULL;
	if (!more)
		return false;
	*p = more;
	*cap = want;
	return true;
}

/* --- strings --- */

static uint32_t add_string(struct rep_files *f, const char *text, uint64_t key)
{
	size_t n = strlen(text) + 1;
	char *copy;

	if (f->string_bytes + n > STRING_BYTES_MAX || !grow(&f->strings, f->n_strings, &f->cap_strings, sizeof(*f->strings), STRINGS_MAX))
		return FILES_NONE;
	copy = os_strdup(text);
	if (!copy || !table_put(&f->by_text, key, (uint32_t)f->n_strings)) {
		free(copy);
		return FILES_NONE;
	}
	f->string_bytes += n;
	f->strings[f->n_strings] = (struct files_string){ .text = copy, .last = FILES_NONE };
	return (uint32_t)f->n_strings++;
}

uint32_t files_string(struct rep_files *f, const char *text, bool add)
{
	uint64_t key = hash_text(f, text);

	for (unsigned i = 0; i < PROBES_MAX; i++, key = mix(key + 1)) {
		uint32_t at = table_get(&f->by_text, key);

		if (at == FILES_NONE)
			return add ? add_string(f, text, key) : FILES_NONE;
		if (!strcmp(f->strings[at].text, text))
			return at;
	}
	return FILES_NONE;
}

/* --- threads --- */

struct files_thread *files_thread(const struct rep_files *f, uint32_t number)
{
	size_t lo = 0, hi = f->n_threads;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->threads[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->n_threads && f->threads[lo].number == number ? &f->threads[lo] : NULL;
}

/* First thread of the process that the thread belongs to. */
static struct files_thread *leader_of(const struct rep_files *f, uint32_t number)
{
	struct files_thread *t = files_thread(f, number);

	return t && t->proc != t->number ? files_thread(f, t->proc) : t;
}

static struct files_thread *add_thread(struct rep_files *f, const struct files_thread *new)
{
	if (!new->number || (f->n_threads && f->threads[f->n_threads - 1].number >= new->number) ||
	    !grow(&f->threads, f->n_threads, &f->cap_threads, sizeof(*f->threads), THREADS_MAX))
		return NULL;
	f->threads[f->n_threads] = *new;
	return &f->threads[f->n_threads++];
}

uint32_t files_name(const struct rep_files *f, uint32_t thread, uint64_t events)
{
	const struct files_thread *t = files_thread(f, thread);
	uint32_t at = t ? t->last_name : FILES_NONE;

	while (at != FILES_NONE && f->names[at].event > events)
		at = f->names[at].prev;
	return at;
}

/* Names are cut as the kernel does. */
static void rename_thread(struct rep_files *f, struct files_thread *t, uint64_t event, const char *text, size_t n)
{
	struct files_name name = { .event = event, .prev = t->last_name };

	n = strnlen(text, MIN(n, sizeof(name.text) - 1));
	memcpy(name.text, text, n);
	if (t->last_name != FILES_NONE && !strcmp(f->names[t->last_name].text, name.text))
		return;
	if (!grow(&f->names, f->n_names, &f->cap_names, sizeof(*f->names), NAMES_MAX))
		return;
	t->last_name = (uint32_t)f->n_names;
	f->names[f->n_names++] = name;
}

/* --- maps --- */

static uint64_t path_key(uint32_t proc, uint32_t path)
{
	return ((uint64_t)proc << 32 | path) + 1;
}

static uint64_t content_key(uint32_t proc, uint64_t dev, uint64_t ino)
{
	return mix(mix(dev ^ proc) ^ ino);
}

static uint64_t blob_key(uint32_t proc, const struct blob_id *id)
{
	uint64_t w[2];

	memcpy(w, id->sha256, sizeof(w));
	return content_key(proc, w[0], w[1]);
}

static struct files_map *map_at(const struct rep_files *f, uint32_t i)
{
	return i == FILES_NONE ? NULL : &f->maps[i];
}

static struct files_map *append_map(struct rep_files *f, const struct files_map *new)
{
	uint32_t at = (uint32_t)f->n_maps;
	struct files_map *m;

	if (!grow(&f->maps, f->n_maps, &f->cap_maps, sizeof(*f->maps), MAPS_MAX))
		return NULL;
	m = &f->maps[at];
	*m = *new;
	m->prev = table_get(&f->by_path, path_key(m->proc, m->path));
	m->prev_any = f->strings[m->path].last;
	m->prev_content = FILES_NONE;
	if (!table_put(&f->by_path, path_key(m->proc, m->path), at))
		return NULL;
	f->strings[m->path].last = at;
	f->n_maps++;
	return m;
}

static void add_content(struct rep_files *f, const struct files_map *new)
{
	struct files_map *m = map_at(f, table_get(&f->by_path, path_key(new->proc, new->path)));
	uint64_t key = blob_key(new->proc, &new->blob);

	if (m && m->content && m->alias == new->alias && blob_id_equal(&m->blob, &new->blob)) {
		m->low = new->low < new->high && new->low != m->high ? new->low : m->low;
		m->high = new->high;
		return;
	}
	m = append_map(f, new);
	if (!m || m->alias)
		return;
	m->prev_content = table_get(&f->by_content, key);
	if (!table_put(&f->by_content, key, (uint32_t)(m - f->maps)))
		log_debug("no memory for the index of files");
}

static void add_object(struct rep_files *f, const struct files_map *new)
{
	struct files_map *m = map_at(f, table_get(&f->by_object, new->object));

	if (m && m->path == new->path)
		return;
	m = append_map(f, new);
	if (!m)
		return;
	m->prev_content = table_get(&f->by_object, new->object);
	if (!table_put(&f->by_object, new->object, (uint32_t)(m - f->maps)))
		log_debug("no memory for the index of files");
}

/* What is known by its place only ends where something else is put there. */
static void end_placed(struct rep_files *f, const struct files_thread *leader, uint64_t event, uint64_t low, uint64_t high)
{
	struct files_map *m = map_at(f, leader->placed);

	for (unsigned i = 0; m && i < PARENTS_MAX; i++, m = map_at(f, m->prev_content))
		if (!m->until && low < m->high && high > m->low)
			m->until = event;
}

static void add_placed(struct rep_files *f, struct files_thread *leader, const struct files_map *new)
{
	struct files_map *m = append_map(f, new);

	if (!m)
		return;
	m->prev_content = leader->placed;
	leader->placed = (uint32_t)(m - f->maps);
}

static void note_map(struct rep_files *f, struct files_thread *leader, uint64_t event, const struct effect *e)
{
	struct files_map m = { .event = event, .proc = leader->number, .low = e->addr, .high = e->addr + e->len, .object = e->object };

	end_placed(f, leader, event, m.low, m.high);
	if (!e->name[0] || e->name[0] == '[' || m.high < m.low)
		return;
	m.path = files_string(f, e->name, true);
	if (m.path == FILES_NONE)
		return;
	if (e->source == MAP_SOURCE_BLOB) {
		m.blob = e->blob;
		m.content = true;
		m.low = e->offset ? m.high : m.low; /* goes on with the load that is there */
		add_content(f, &m);
	} else if (e->source == MAP_SOURCE_SHARED && !(e->flags & MAP_F_PRIVATE) && m.object) {
		add_object(f, &m);
	} else {
		m.placed = true;
		add_placed(f, leader, &m);
	}
}

static void note_effects(struct rep_files *f, const struct event *ev)
{
	struct files_thread *leader = NULL;
	uint32_t of = 0;

	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		if (e->kind != EFFECT_MAP && e->kind != EFFECT_UNMAP)
			continue;
		if (!leader || of != e->thread)
			leader = leader_of(f, e->thread ? e->thread : ev->thread);
		of = e->thread;
		if (leader && e->kind == EFFECT_MAP)
			note_map(f, leader, ev->number, e);
		else if (leader)
			end_placed(f, leader, ev->number, e->addr, e->addr + e->len);
	}
}

/* --- programs, births, ends --- */

static uint32_t interp_path(struct rep_files *f, const struct event *ev, const struct files_image *im)
{
	uint64_t base = files_image_aux(im, AT_BASE);

	for (uint32_t i = 0; base && i < ev->n_effects; i++)
		if (ev->effects[i].kind == EFFECT_MAP && ev->effects[i].addr == base && ev->effects[i].name[0])
			return files_string(f, ev->effects[i].name, true);
	return FILES_NONE;
}

/* The path that the program was started by leads to what is mapped as its executable. */
static void alias_path(struct rep_files *f, const struct files_thread *leader, uint64_t event, const char *from, const struct blob_id *blob)
{
	struct files_map m = { .event = event, .proc = leader->number, .blob = *blob, .alias = true, .content = true };

	m.path = files_string(f, from, true);
	if (m.path != FILES_NONE)
		add_content(f, &m);
}

static const struct effect *mapped_as(const struct event *ev, const char *name)
{
	for (uint32_t i = 0; name && i < ev->n_effects; i++)
		if (ev->effects[i].kind == EFFECT_MAP && ev->effects[i].source == MAP_SOURCE_BLOB && !strcmp(ev->effects[i].name, name))
			return &ev->effects[i];
	return NULL;
}

static const char *text_of(const struct rep_files *f, uint32_t string)
{
	return string == FILES_NONE ? NULL : f->strings[string].text;
}

/* comm is the last part of what was executed: a script's own name, a link's own name. */
static void name_program(struct rep_files *f, struct files_thread *t, const struct event *ev, const struct files_image *im)
{
	const char *by = files_image_string(im, files_image_aux(im, AT_EXECFN));
	const struct effect *exe = mapped_as(ev, ev->text);
	const char *last = by ? by : ev->text;
	char path[FILES_PATH_MAX];

	if (by && exe && files_path_clean(text_of(f, t->cwd), by, path) && strcmp(path, ev->text))
		alias_path(f, t, ev->number, path, &exe->blob);
	last = strrchr(last, '/') ? strrchr(last, '/') + 1 : last;
	rename_thread(f, t, ev->number, last, strlen(last));
}

static struct files_thread *first_thread(struct rep_files *f, const struct event *ev)
{
	const struct manifest *m = store_reader_manifest(f->reader);

	return add_thread(f, &(struct files_thread){ .number = ev->thread, .proc = ev->thread, .pid = ev->pid, .tid = ev->tid,
						     .birth = ev->number, .last_name = FILES_NONE, .last_exec = FILES_NONE,
						     .placed = FILES_NONE, .cwd = m->cwd ? files_string(f, m->cwd, true) : FILES_NONE });
}

static void note_exec(struct rep_files *f, const struct event *ev)
{
	struct files_thread *t = files_thread(f, ev->thread);
	struct files_image im CLEANUP(files_image_done) = { 0 };
	struct files_exec *x;

	t = t ? t : first_thread(f, ev);
	if (!t)
		return;
	if (files_image_load(f->reader, ev, &im) < 0)
		log_debug("event %llu: no initial stack", (unsigned long long)ev->number);
	end_placed(f, t, ev->number, 0, UINT64_MAX);
	note_effects(f, ev);
	name_program(f, t, ev, &im);
	if (!grow(&f->execs, f->n_execs, &f->cap_execs, sizeof(*f->execs), EXECS_MAX))
		return;
	x = &f->execs[f->n_execs];
	*x = (struct files_exec){ .event = ev->number, .proc = t->number, .prev = t->last_exec, .exe = files_string(f, ev->text, true),
				  .cwd = t->cwd, .interp = interp_path(f, ev, &im), .sp = im.sp };
	for (uint32_t i = 0; i < ev->n_effects; i++)
		if (ev->effects[i].kind == EFFECT_MAP && ev->effects[i].flags & MAP_F_HEAP)
			x->brk = ev->effects[i].addr;
	t->last_exec = (uint32_t)f->n_execs++;
}

static bool is_thread(const struct event *ev)
{
	return (ev->sysno == SYS_clone && ev->args[0] & CLONE_THREAD) || (ev->sysno == SYS_clone3 && ev->args[2] & CLONE_THREAD);
}

static void note_birth(struct rep_files *f, const struct event *ev)
{
	const struct files_thread *parent = files_thread(f, ev->thread), *leader = leader_of(f, ev->thread);
	struct files_thread new = { .number = ev->child, .parent = ev->thread, .pid = ev->pid, .tid = ev->tid, .birth = ev->number,
				    .last_name = FILES_NONE, .last_exec = FILES_NONE, .placed = FILES_NONE, .cwd = FILES_NONE };
	uint32_t name = parent ? parent->last_name : FILES_NONE;
	struct files_thread *t;

	if (!leader)
		return;
	new.proc = is_thread(ev) ? leader->number : new.number;
	new.cwd = leader->cwd;
	t = add_thread(f, &new);
	if (t && name != FILES_NONE) {
		struct files_name inherited = f->names[name];

		rename_thread(f, t, ev->number, inherited.text, sizeof(inherited.text));
	}
}

/* --- calls --- */

/* The path or text that the call read at that address. */
static bool input(struct rep_files *f, const struct event *ev, uint64_t addr, char *ret, size_t cap, size_t *ret_len)
{
	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		if (e->kind != EFFECT_INPUT || e->addr != addr || e->thread)
			continue;
		*ret_len = MIN(e->len, (uint64_t)cap - 1);
		if (store_reader_data(f->reader, e, 0, ret, *ret_len, NULL) < 0)
			return false;
		ret[*ret_len] = '\0';
		return true;
	}
	return false;
}

static void forget_fd(struct rep_files *f, uint32_t proc, int32_t fd)
{
	for (unsigned i = 0; i < FILES_OPENS; i++)
		if (f->opens[i].fd == fd && f->opens[i].proc == proc)
			f->opens[i].proc = 0;
}

/* Newest descriptor of that number (fd -1: a call of that thread that has not returned). */
static struct files_open *open_of(struct rep_files *f, uint32_t proc, int32_t fd, uint32_t thread)
{
	for (unsigned i = 1; i <= FILES_OPENS; i++) {
		struct files_open *o = &f->opens[(f->next_open - i) % FILES_OPENS];

		if (o->proc == proc && o->fd == fd && (fd >= 0 || o->thread == thread))
			return o;
	}
	return NULL;
}

static void opened(struct rep_files *f, const struct event *ev, const struct files_thread *t, const struct files_thread *leader, bool at)
{
	unsigned slot = f->next_open % FILES_OPENS;
	int32_t fd = ev->kind == EVENT_SYSCALL_ENTER ? -1 : (int32_t)ev->result;
	const char *cwd = at && (int32_t)ev->args[0] != AT_FDCWD ? NULL : text_of(f, leader->cwd);
	char path[sizeof(f->open_path[0])], clean[FILES_PATH_MAX];
	size_t n;

	if (ev->kind != EVENT_SYSCALL_ENTER && ev->result < 0)
		return;
	if (fd >= 0)
		forget_fd(f, leader->number, fd);
	if (!input(f, ev, ev->args[at], path, sizeof(path), &n) || strlen(path) + 1 == sizeof(path) || !files_path_clean(cwd, path, clean) ||
	    strlen(clean) >= sizeof(path))
		return;
	memcpy(f->open_path[slot], clean, strlen(clean) + 1);
	f->opens[slot] = (struct files_open){ .proc = leader->number, .thread = t->number, .fd = fd };
	f->next_open++;
}

static void mapped(struct rep_files *f, const struct event *ev, const struct files_thread *leader, int32_t fd)
{
	const struct files_open *o = fd >= 0 ? open_of(f, leader->number, fd, 0) : NULL;
	const char *path = o ? f->open_path[o - f->opens] : NULL;

	for (uint32_t i = 0; o && i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		if (e->kind == EFFECT_MAP && e->source == MAP_SOURCE_BLOB && strcmp(path, e->name))
			alias_path(f, leader, ev->number, path, &e->blob);
	}
}

/* Writes to a thread's comm. */
static void wrote(struct rep_files *f, const struct event *ev, const struct files_thread *t, const struct files_thread *leader)
{
	const struct files_open *o = open_of(f, leader->number, (int32_t)ev->args[0], 0);
	struct files_thread *to = NULL;
	uint64_t tid;
	char text[64];
	size_t n;

	if (!o || !files_path_comm(f->open_path[o - f->opens], &tid) || !input(f, ev, ev->args[1], text, sizeof(text), &n))
		return;
	if (!tid)
		to = files_thread(f, str_has_prefix(f->open_path[o - f->opens], "/proc/self/") ? leader->number : t->number);
	for (size_t i = f->n_threads, tries = CHAIN_MAX; tid && !to && i-- > 0 && tries; tries--)
		if (f->threads[i].proc == leader->number && (uint64_t)f->threads[i].tid == tid && !f->threads[i].end)
			to = &f->threads[i];
	if (to)
		rename_thread(f, to, ev->number, text, MIN(n, strcspn(text, "\n")));
}

static void note_entry(struct rep_files *f, const struct event *ev, struct files_thread *t, struct files_thread *leader)
{
	char text[FILES_PATH_MAX], clean[FILES_PATH_MAX];
	size_t n;

	switch (ev->sysno) {
	case SYS_open:
	case SYS_openat:
	case SYS_openat2:
		opened(f, ev, t, leader, ev->sysno != SYS_open);
		break;
	case SYS_close:
		forget_fd(f, leader->number, (int32_t)ev->args[0]);
		break;
	case SYS_write:
		wrote(f, ev, t, leader);
		break;
	case SYS_prctl:
		if ((int)ev->args[0] == PR_SET_NAME && input(f, ev, ev->args[1], text, 17, &n))
			rename_thread(f, t, ev->number, text, n);
		break;
	case SYS_mmap:
		t->map_fd = (int32_t)ev->args[4];
		break;
	case SYS_chdir:
		if (ev->result == 0 && input(f, ev, ev->args[0], text, sizeof(text), &n))
			leader->cwd = files_path_clean(text_of(f, leader->cwd), text, clean) ? files_string(f, clean, true) : FILES_NONE;
		break;
	case SYS_fchdir:
		if (ev->result == 0)
			leader->cwd = FILES_NONE;
		break;
	}
}

static void note_return(struct rep_files *f, const struct event *ev, struct files_thread *t, struct files_thread *leader)
{
	struct files_exec *x = leader->last_exec == FILES_NONE ? NULL : &f->execs[leader->last_exec];
	struct files_open *o;

	switch (ev->sysno) {
	case SYS_open:
	case SYS_openat:
	case SYS_openat2:
		o = ev->kind == EVENT_SYSCALL_EXIT ? open_of(f, leader->number, -1, t->number) : NULL;
		if (!o)
			break;
		o->proc = 0;
		if (ev->result < 0)
			break;
		forget_fd(f, leader->number, (int32_t)ev->result);
		*o = (struct files_open){ .proc = leader->number, .thread = t->number, .fd = (int32_t)ev->result };
		break;
	case SYS_mmap:
		mapped(f, ev, leader, t->map_fd);
		break;
	case SYS_brk:
		if (x && !x->brk && ev->result > 0)
			x->brk = ALIGN_UP((uint64_t)ev->result, 4096ull);
		break;
	}
}

static void note_call(struct rep_files *f, const struct event *ev)
{
	struct files_thread *t = files_thread(f, ev->thread), *leader = leader_of(f, ev->thread);

	if (!t || !leader)
		return;
	if (ev->kind != EVENT_SYSCALL_EXIT)
		note_entry(f, ev, t, leader);
	note_effects(f, ev);
	if (ev->kind != EVENT_SYSCALL_ENTER)
		note_return(f, ev, t, leader);
}

/* --- the walk --- */

static void note(struct rep_files *f, const struct event *ev)
{
	struct files_thread *t;

	f->seen = ev->number;
	switch (ev->kind) {
	case EVENT_EXEC:
		note_exec(f, ev);
		break;
	case EVENT_BIRTH:
		note_birth(f, ev);
		note_effects(f, ev);
		break;
	case EVENT_EXIT:
		t = files_thread(f, ev->thread);
		if (t && !t->end)
			t->end = ev->number;
		break;
	case EVENT_SYSCALL:
	case EVENT_SYSCALL_ENTER:
	case EVENT_SYSCALL_EXIT:
		note_call(f, ev);
		break;
	default:
		note_effects(f, ev);
	}
}

void rep_files_saw(struct rep_files *f, const struct event *ev)
{
	if (ev->number == f->seen + 1)
		note(f, ev);
}

void files_reach(struct rep_files *f, uint64_t events)
{
	const struct event *ev;

	if (f->ended || f->seen >= events)
		return;
	f->ended = store_reader_seek(f->reader, f->seen + 1, NULL) < 0;
	while (!f->ended && f->seen < events) {
		f->ended = store_reader_next(f->reader, &ev, NULL) <= 0;
		if (!f->ended)
			note(f, ev);
	}
}

/* --- questions --- */

/* Walks from a process to the one that made it, with the number of events that counts there. */
static const struct files_thread *ancestor(const struct rep_files *f, const struct files_thread *t, uint64_t *events)
{
	*events = MIN(*events, t->birth);
	return t->parent ? leader_of(f, t->parent) : NULL;
}

const struct files_map *files_find(struct rep_files *f, const struct rep_files_view *v, const char *path)
{
	uint32_t string = files_string(f, path, false);
	const struct files_thread *t = leader_of(f, v->process);
	const struct files_map *m;
	uint64_t events = v->events;

	if (string == FILES_NONE)
		return NULL;
	for (unsigned i = 0; t && i < PARENTS_MAX; i++, t = ancestor(f, t, &events))
		for (m = map_at(f, table_get(&f->by_path, path_key(t->number, string))); m; m = map_at(f, m->prev))
			if (m->event <= events && m->content)
				return m;
	for (m = map_at(f, f->strings[string].last); m; m = map_at(f, m->prev_any))
		if (m->event <= v->events && m->content)
			return m;
	return NULL;
}

static bool shows(const struct files_map *m, const struct mapping *p)
{
	uint64_t w[2];

	memcpy(w, m->blob.sha256, sizeof(w));
	return w[0] == p->dev && w[1] == p->ino;
}

/* Of several copies of one file the one that was loaded there. */
static const struct files_map *of_content(const struct rep_files *f, const struct files_thread *t, const struct mapping *p, uint64_t events)
{
	const struct files_map *newest = NULL, *m = map_at(f, table_get(&f->by_content, content_key(t->number, p->dev, p->ino)));

	for (unsigned i = 0; m && i < CHAIN_MAX; i++, m = map_at(f, m->prev_content)) {
		if (m->event > events || !shows(m, p))
			continue;
		if (p->start >= m->low && p->start < m->high)
			return m;
		newest = newest ? newest : m;
	}
	return newest;
}

static const struct files_map *of_place(const struct rep_files *f, const struct files_thread *t, const struct mapping *p, uint64_t events)
{
	const struct files_map *m = map_at(f, t->placed);

	for (unsigned i = 0; m && i < CHAIN_MAX; i++, m = map_at(f, m->prev_content))
		if (m->event <= events && (!m->until || m->until > events) && p->start >= m->low && p->start < m->high)
			return m;
	return NULL;
}

const struct files_map *files_of_mapping(const struct rep_files *f, const struct rep_files_view *v, const struct mapping *p)
{
	const struct files_thread *t = leader_of(f, v->process);
	const struct files_map *m;
	uint64_t events = v->events;

	if (p->object) {
		m = map_at(f, table_get(&f->by_object, p->object));
		for (unsigned i = 0; m && m->event > events; i++)
			m = i < CHAIN_MAX ? map_at(f, m->prev_content) : NULL;
		return m;
	}
	for (unsigned i = 0; t && i < PARENTS_MAX; i++, t = ancestor(f, t, &events)) {
		m = p->dev || p->ino ? of_content(f, t, p, events) : of_place(f, t, p, events);
		if (m)
			return m;
	}
	return NULL;
}

const struct files_exec *files_exec(const struct rep_files *f, const struct rep_files_view *v)
{
	const struct files_thread *t = leader_of(f, v->process);
	uint64_t events = v->events;

	for (unsigned i = 0; t && i < PARENTS_MAX; i++, t = ancestor(f, t, &events))
		for (uint32_t at = t->last_exec; at != FILES_NONE; at = f->execs[at].prev)
			if (f->execs[at].event <= events)
				return &f->execs[at];
	return NULL;
}

/* --- life --- */

int rep_files_new(const struct store_reader *r, struct rep_files **ret, struct errinfo *ei)
{
	struct rep_files *f = os_calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return errinfo_set_r(ei, -ENOMEM, "index the files of the recording");
	if (getrandom(&f->seed, sizeof(f->seed), GRND_NONBLOCK) < 0)
		f->seed = os_mono_ns();
	rc = store_reader_open(store_reader_store(r), &store_reader_manifest(r)->id, &f->reader, ei);
	if (rc < 0) {
		rep_files_free(f);
		return rc;
	}
	*ret = f;
	return 0;
}

void rep_files_free(struct rep_files *f)
{
	if (!f)
		return;
	store_reader_free(f->reader);
	for (size_t i = 0; i < f->n_strings; i++)
		free(f->strings[i].text);
	free(f->strings);
	free(f->maps);
	free(f->threads);
	free(f->execs);
	free(f->names);
	free(f->by_text.slot);
	free(f->by_path.slot);
	free(f->by_content.slot);
	free(f->by_object.slot);
	free(f);
}
