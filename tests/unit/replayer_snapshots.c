/* Replays a recording with snapshots taken and restored all the time: tests/run --snapshots calls it for each case.
 *
 * usage: replayer_snapshots STORE ID [SAMPLES [SEED]]
 *
 * First the recording is replayed as it is, and at SAMPLES places (and as many chosen ones) a fingerprint of the whole tree is kept: registers
 * and vector registers of threads, all memory, the output so far. Then again, and at each place there may be a snapshot, sometimes after a
 * few single steps into computation; some live at a time. After some more events one of them is restored. Fingerprints must be
 * those of the first pass always, divergence is an error as ever, and when all is freed no process and no descriptor may be left. */
#include "replayer/rep_priv.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"

#define ALIVE 4
#define HUGE_MAPPING (1ull << 30)

struct place {
	uint64_t event, hash;
	bool seen;
};

struct alive {
	struct rep_snapshot *snap;
	uint64_t event, hash; /* hash: in the middle, when it is taken there */
	char *written; /* owned: the output so far */
	size_t written_len;
};

struct run {
	struct store_reader *reader;
	struct rep_session *s;
	struct errinfo ei;
	int out;
	struct place *places;
	size_t n_places;
	struct alive alive[ALIVE];
	unsigned seed;
	uint64_t n_taken, n_middle, n_restored, bytes;
	struct times {
		uint64_t best, worst;
	} take_ns, restore_ns;
};

NORETURN static void die(struct run *u, int r, const char *what)
{
	struct buf text CLEANUP(buf_done) = { 0 };

	if (u->s && r == ERR_DIVERGED)
		rep_session_report(u->s, &text);
	fprintf(stderr, "replayer_snapshots: %s: %s (%s)\n%s", what, err_str(r), u->ei.text, buf_cstr(&text));
	exit(1);
}

static void need(struct run *u, int r, const char *what)
{
	if (r < 0)
		die(u, r, what);
}

static uint64_t draw(struct run *u, uint64_t below)
{
	return below ? ((uint64_t)rand_r(&u->seed) << 20 ^ (uint64_t)rand_r(&u->seed)) % below : 0;
}

/* --- fingerprints --- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9fb21c651e98df25ULL;
	return h ^ h >> 29;
}

/* Without pages that nobody has touched or that cannot be read, so that it does not matter whether they are there. */
static uint64_t hash_mapping(struct rep_task *t, const struct mapping *m, uint64_t h)
{
	enum { CHUNK = 1 << 18 };
	static uint8_t chunk[CHUNK];
	static const uint8_t zeros[ENG_PAGE];

	for (uint64_t at = m->start; at < m->end;) {
		ssize_t n = eng_read_some(&t->t, at, chunk, MIN(m->end - at, (uint64_t)CHUNK));

		if (n < (ssize_t)ENG_PAGE) {
			at += ENG_PAGE;
			continue;
		}
		n -= n % ENG_PAGE;
		for (ssize_t i = 0; i < n; i += ENG_PAGE)
			if (memcmp(chunk + i, zeros, ENG_PAGE) != 0)
				h = mix(mix(h, at + (uint64_t)i), eng_hash(chunk + i, ENG_PAGE));
		at += (uint64_t)n;
	}
	return h;
}

static uint64_t hash_memory(struct rep_task *t, uint64_t h)
{
	const struct aspace *as = &t->t.mm->as;

	for (size_t i = 0; i < as->n; i++) {
		const struct mapping *m = &as->m[i];

		h = mix(mix(mix(h, m->start), m->end), m->prot | (uint64_t)m->flags << 32);
		if (m->prot && !(m->flags & (ASPACE_VDSO | ASPACE_HERMIT)) && m->end - m->start <= HUGE_MAPPING)
			h = hash_mapping(t, m, h);
	}
	return h;
}

/* In a call registers may be those of one of ours. */
static uint64_t hash_registers(struct run *u, struct rep_task *t, uint64_t h)
{
	enum { FXSAVE_ST = 32, HEADER = 512, EXTENDED = 576 };
	uint8_t x[ENG_XSTATE_MAX];
	struct user_regs_struct *r, copy;
	size_t n;

	need(u, eng_regs(&t->t, &r), "registers");
	copy = *r;
	copy.orig_rax = 0;
	if (!t->in_call)
		h = mix(h, eng_hash(&copy, sizeof(copy)));
	need(u, eng_xstate(&t->t, x, sizeof(x), &n), "vector registers");
	return mix(mix(h, eng_hash(x + FXSAVE_ST, HEADER - FXSAVE_ST)), eng_hash(x + EXTENDED, n - EXTENDED));
}

static bool first_of_memory(struct rep_session *s, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		if (s->tasks[i] && s->tasks[i]->t.mm == s->tasks[num]->t.mm)
			return false;
	return true;
}

static uint64_t fingerprint(struct run *u)
{
	struct rep_session *s = u->s;
	uint64_t h = mix(1, s->event);

	for (uint32_t i = 0; i < s->cap_tasks; i++) {
		struct rep_task *t = s->tasks[i];

		if (!t)
			continue;
		h = mix(mix(h, i), t->in_call);
		h = hash_registers(u, t, h);
		if (first_of_memory(s, i))
			h = hash_memory(t, h);
	}
	return h;
}

/* --- places --- */

static int by_event(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->event < y->event ? -1 : x->event > y->event;
}

static void choose_places(struct run *u, uint64_t total, uint64_t samples)
{
	u->places = calloc(2 * samples + 1, sizeof(*u->places));
	must(u->places);
	for (uint64_t i = 0; i < samples; i++) {
		u->places[u->n_places++].event = 1 + total * i / samples;
		u->places[u->n_places++].event = 1 + draw(u, total);
	}
	qsort(u->places, u->n_places, sizeof(*u->places), by_event);
}

static struct place *place_of(struct run *u, uint64_t event)
{
	const struct place key = { .event = event };

	return bsearch(&key, u->places, u->n_places, sizeof(key), by_event);
}

/* --- sessions --- */

static void open_session(struct run *u)
{
	const struct rep_options opt = { .stdout_fd = u->out, .stderr_fd = u->out, .check = true };

	need(u, store_reader_seek(u->reader, 1, &u->ei), "seek");
	need(u, ftruncate(u->out, 0), "empty the output");
	lseek(u->out, 0, SEEK_SET);
	need(u, rep_session_new(u->reader, &opt, &u->s, &u->ei), "start the replay");
}

static size_t count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void close_session(struct run *u)
{
	rep_session_free(u->s);
	u->s = NULL;
	if (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 || errno != ECHILD)
		die(u, -EBUSY, "a process is left");
}

static void check_place(struct run *u)
{
	struct place *p = place_of(u, u->s->event);
	uint64_t h;

	if (!p)
		return;
	h = fingerprint(u);
	if (p->seen && p->hash != h) {
		fprintf(stderr, "at event %" PRIu64 "\n", u->s->event);
		die(u, ERR_DIVERGED, "not the state of the first pass");
	}
	p->seen = true;
	p->hash = h;
}

/* 1, 0 at the end. */
static int step(struct run *u)
{
	int r = rep_session_step(u->s, &u->ei);

	need(u, r, "replay");
	if (r > 0)
		check_place(u);
	return r;
}

/* --- snapshots --- */

/* The one before anything is there costs nothing. */
static void note(struct times *t, uint64_t ns)
{
	t->best = t->best ? MIN(t->best, ns) : ns;
	t->worst = MAX(t->worst, ns);
}

static char *output(struct run *u, size_t *ret_len)
{
	off_t n = lseek(u->out, 0, SEEK_END);
	char *p = malloc((size_t)n + 1);

	must(p && os_pread_full(u->out, p, (size_t)n, 0) == n);
	*ret_len = (size_t)n;
	return p;
}

/* Instructions that single steps do not end behind, or show to the program. */
static bool steps_badly(const uint8_t *b)
{
	return (b[0] == 0x0f && (b[1] == 0x05 || b[1] == 0x34 || b[1] == 0x31 || b[1] == 0xa2 || b[1] == 0x01)) || b[0] == 0x9c || b[0] == 0xcd ||
	       b[0] == 0xcc || b[0] == 0x8e || b[0] == 0x17;
}

/* Some instructions into what leads to the next event, if it is a call. */
static void into_the_middle(struct run *u)
{
	const struct event *ev;
	struct user_regs_struct *r;
	struct rep_task *t;
	struct eng_stop st;
	uint8_t b[2];
	int64_t result;

	if (store_reader_peek(u->reader, &ev, &u->ei) <= 0 || (ev->kind != EVENT_SYSCALL && ev->kind != EVENT_SYSCALL_ENTER))
		return;
	t = rep_task(u->s, ev->thread);
	if (!t || t->in_call)
		return;
	if (t->place == REP_ENTRY)
		need(u, rep_remote_quiet(t, SYS_getpid, (uint64_t[6]){ 0 }, &result), "leave the call");
	for (uint64_t n = 1 + draw(u, 300); n; n--) {
		need(u, eng_regs(&t->t, &r), "registers");
		if (eng_read(&t->t, r->rip, b, sizeof(b)) < 0 || steps_badly(b))
			break;
		need(u, rep_step(t, &st), "step");
		if (st.kind != ENG_STOP_SIGNAL || st.signo != SIGTRAP)
			break;
	}
	u->n_middle++;
}

static void take(struct run *u)
{
	struct alive *a = &u->alive[draw(u, ALIVE)];
	uint64_t began;

	rep_snapshot_free(u->s, a->snap);
	a->snap = NULL;
	free(a->written);
	if (draw(u, 2))
		into_the_middle(u);
	began = os_mono_ns();
	need(u, rep_snapshot_take(u->s, &a->snap, &u->ei), "take");
	if (u->s->event)
		note(&u->take_ns, os_mono_ns() - began);
	u->n_taken++;
	a->event = u->s->event;
	a->written = output(u, &a->written_len);
	a->hash = fingerprint(u);
}

static void restore(struct run *u)
{
	struct alive *a = &u->alive[draw(u, ALIVE)];
	uint64_t began;

	if (!a->snap)
		return;
	u->bytes = MAX(u->bytes, rep_snapshot_bytes(a->snap));
	began = os_mono_ns();
	need(u, rep_snapshot_restore(u->s, a->snap, &u->ei), "restore");
	if (u->s->event)
		note(&u->restore_ns, os_mono_ns() - began);
	u->n_restored++;
	/* It may be earlier or later than where we were. */
	need(u, ftruncate(u->out, 0), "take output back");
	lseek(u->out, 0, SEEK_SET);
	need(u, os_write_full(u->out, a->written, a->written_len), "take output back");
	if (u->s->event != a->event || fingerprint(u) != a->hash)
		die(u, ERR_DIVERGED, "restored, but not what it was");
}

static void with_snapshots(struct run *u)
{
	uint64_t restores = u->n_places + 1, ahead = 0;
	int more;

	open_session(u);
	take(u); /* before anything is there */
	for (;;) {
		more = step(u);
		if (more && place_of(u, u->s->event) && draw(u, 3)) {
			take(u);
			ahead = 1 + draw(u, 1 + u->s->total / u->n_places * 2);
		}
		if (restores && (!more || (ahead && !--ahead))) {
			restores--;
			restore(u);
			more = 1;
		}
		if (!more)
			break;
	}
	for (size_t i = 0; i < ALIVE - 1; i++) /* one is left to the session */
		rep_snapshot_free(u->s, u->alive[i].snap);
	close_session(u);
	for (size_t i = 0; i < ALIVE; i++)
		free(u->alive[i].written);
}

static void both_passes(struct run *u)
{
	size_t n1, n2, fds = count_fds();
	char *first, *second;

	open_session(u);
	while (step(u))
		;
	close_session(u);
	first = output(u, &n1);
	with_snapshots(u);
	second = output(u, &n2);
	if (n1 != n2 || memcmp(first, second, n1))
		die(u, ERR_DIVERGED, "the output differs");
	if (count_fds() != fds)
		die(u, -EBUSY, "descriptors are left");
	free(first);
	free(second);
}

int main(int argc, char **argv)
{
	struct run u = { .out = memfd_create("output", MFD_CLOEXEC) };
	struct store *store;
	struct store_id id;

	if (argc < 3) {
		fprintf(stderr, "usage: replayer_snapshots STORE ID [SAMPLES [SEED]]\n");
		return 2;
	}
	u.seed = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 1;
	need(&u, store_open(argv[1], false, &store, &u.ei), "open the store");
	need(&u, store_resolve(store, argv[2], &id, &u.ei), "find the recording");
	need(&u, store_reader_open(store, &id, &u.reader, &u.ei), "open the recording");
	choose_places(&u, MAX(store_reader_manifest(u.reader)->events, (uint64_t)1), argc > 3 ? strtoull(argv[3], NULL, 10) : 10);
	both_passes(&u);
	printf("%" PRIu64 " snapshots (%" PRIu64 " in the middle), %" PRIu64 " to %" PRIu64 " us; %" PRIu64 " restores, %" PRIu64 " to %" PRIu64
	       " us; up to %" PRIu64 " KiB\n",
	       u.n_taken, u.n_middle, u.take_ns.best / 1000, u.take_ns.worst / 1000, u.n_restored, u.restore_ns.best / 1000,
	       u.restore_ns.worst / 1000, u.bytes / 1024);
	store_reader_free(u.reader);
	store_free(store);
	free(u.places);
	return 0;
}
