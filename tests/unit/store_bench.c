/* What the store costs: ns per event written and read, sealing in MB/s by preset, blobs, commit.
 *
 *     store_bench [DIR [EVENTS]]     default: a directory in /tmp, 1000000 events
 *
 * All figures are of CPU time. Events are like those of a compiler run: reads of 4 KiB of text, stat buffers, paths, unused argument registers full of old pointers.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/os.h"
#include "store/event_priv.h"
#include "store/limits_priv.h"
#include "store/maintain.h"
#include "store/reader.h"
#include "store/source_priv.h"
#include "store/writer.h"
#include "store/xz_priv.h"

#define TRY(expr) \
	do { \
		int try_r_ = (int)(expr); \
		if (try_r_ < 0) { \
			fprintf(stderr, "store_bench: %s: %s\n", #expr, err_str(try_r_)); \
			exit(1); \
		} \
	} while (0)

static uint64_t state = 88172645463325252u;

static uint64_t rnd(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 8) % n;
}

static char text[1 << 20];

static void make_text(void)
{
	static const char *const words[] = { "static ", "int ", "return ", "struct ", "if (", ") {\n\t", "x->", "buffer", " = ", "0;\n", "}\n", "const " };
	size_t n = 0;

	while (n + 20 < sizeof(text)) {
		const char *w = words[rnd(ARRAY_SIZE(words))];

		memcpy(text + n, w, strlen(w));
		n += strlen(w);
		if (rnd(5) == 0)
			text[n++] = (char)('a' + rnd(26));
	}
}

struct sample {
	struct event ev;
	struct effect effects[2];
	uint8_t stat[144];
	char path[64];
};

/* Call number n: 40 % read with data, 25 % stat, 20 % open with a path, the rest without effects. */
static void make(struct sample *s, uint64_t n)
{
	uint64_t what = rnd(100);
	struct event *ev = &s->ev;

	*ev = (struct event){ .kind = EVENT_SYSCALL, .thread = 1 + (uint32_t)rnd(3), .time_ns = n * 4000 + rnd(3000), .text = "",
			      .rip = 0x7f1234500000 + rnd(40) * 1234, .regs_hash = rnd(UINT64_MAX), .effects = s->effects };
	for (int i = 0; i < 6; i++)
		ev->args[i] = rnd(3) ? rnd(5000) : 0x7ffe12340000 + rnd(64) * 16;
	ev->n_effects = what < 85;
	s->effects[0] = (struct effect){ .kind = EFFECT_MEM, .addr = 0x7ffe12340000 + rnd(64) * 64, .name = "" };
	if (what < 40) {
		ev->sysno = 0;
		s->effects[0].len = rnd(4) ? 4096 : rnd(4096);
		s->effects[0].data = text + rnd(sizeof(text) - 4096);
	} else if (what < 65) {
		ev->sysno = 5;
		memset(s->stat, 0, sizeof(s->stat));
		for (int i = 0; i < 8; i++)
			s->stat[i * 17] = (uint8_t)rnd(256);
		s->effects[0].len = sizeof(s->stat);
		s->effects[0].data = s->stat;
	} else if (what < 85) {
		ev->sysno = 257;
		s->effects[0].kind = EFFECT_INPUT;
		s->effects[0].len = (uint64_t)snprintf(s->path, sizeof(s->path), "/usr/include/x86_64-linux-gnu/bits/%llx.h",
							(unsigned long long)rnd(5000)) + 1;
		s->effects[0].data = s->path;
	} else {
		ev->sysno = (uint32_t)rnd(300);
	}
	ev->result = (int64_t)s->effects[0].len;
}

static struct sample *samples;
#define SAMPLES 4096u

/* CPU time of this process, user and system: the machine may be busy with other things. */
static uint64_t cpu_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static double per(uint64_t t0, uint64_t n)
{
	return (double)(cpu_ns() - t0) / (double)n;
}

/* event_put_data_fn */
static int no_data(UNUSED void *ctx, UNUSED const void *p, UNUSED size_t n, uint64_t *ret_off)
{
	*ret_off = 1 << 20;
	return 0;
}

static void bench_codec(uint64_t n)
{
	struct event_memory *mem;
	struct event ev;
	struct buf b;
	uint64_t t, decoded = 0, rounds = 0;
	struct view v;

	buf_init(&b);
	t = cpu_ns();
	for (uint64_t i = 0; i < n; i++) {
		if (b.len > FRAME_TARGET)
			buf_clear(&b);
		TRY(event_encode_at(&samples[i % SAMPLES].ev, 0, INLINE_MAX, no_data, NULL, &b));
	}
	printf("encode             %8.0f ns/event\n", per(t, n));
	buf_clear(&b);
	for (uint64_t i = 0; i < SAMPLES; i++)
		TRY(event_encode_at(&samples[i].ev, 0, INLINE_MAX, no_data, NULL, &b));
	TRY(event_memory_new(&mem));
	t = cpu_ns();
	for (; decoded < n; rounds++)
		for (v = view_of(b.data, b.len); view_left(&v); decoded++)
			TRY(event_decode_at(&v, 0, mem, &ev));
	printf("decode             %8.0f ns/event\n", per(t, decoded));
	event_memory_free(mem);
	buf_done(&b);
}

static struct store_id bench_write(struct store *s, uint64_t n, bool with_data)
{
	struct store_writer *w;
	struct manifest m;
	struct store_id id;
	uint64_t t, bytes;

	manifest_init(&m);
	m.start_wall_ns = os_wall_ns();
	TRY(store_writer_new(s, &m, &w, NULL));
	id = *store_writer_id(w);
	t = cpu_ns();
	for (uint64_t i = 0; i < n; i++) {
		struct event ev = samples[i % SAMPLES].ev;

		ev.time_ns = i * 4000;
		if (!with_data && ev.sysno == 0)
			ev.n_effects = 0;
		TRY(store_writer_event(w, &ev));
	}
	bytes = store_writer_bytes(w);
	printf("write%s  %8.0f ns/event   %.0f bytes/event, %.0f MB/s\n", with_data ? ", with data " : ", small     ", per(t, n),
	       (double)bytes / (double)n, (double)bytes / (per(t, 1) / 1e9) / 1e6);
	TRY(store_writer_event(w, &(struct event){ .kind = EVENT_END, .time_ns = n * 4000 }));
	m.state = RECORDING_COMPLETE;
	t = cpu_ns();
	TRY(store_writer_commit(w, &m, NULL));
	printf("commit             %8.2f ms\n", per(t, 1) / 1e6);
	store_writer_free(w);
	manifest_done(&m);
	return id;
}

static void bench_read(struct store *s, const struct store_id *id, const char *what)
{
	struct store_reader *rd;
	const struct event *ev;
	uint64_t t, n = 0, count;
	uint8_t data[4096];
	int r;

	TRY(store_reader_open(s, id, &rd, NULL));
	t = cpu_ns();
	while ((r = store_reader_next(rd, &ev, NULL)) > 0)
		n++;
	TRY(r);
	printf("read, %-12s %8.0f ns/event\n", what, per(t, n));
	TRY(store_reader_seek(rd, 1, NULL));
	t = cpu_ns();
	while ((r = store_reader_next(rd, &ev, NULL)) > 0)
		for (uint32_t i = 0; i < ev->n_effects; i++)
			TRY(store_reader_data(rd, &ev->effects[i], 0, data, MIN(ev->effects[i].len, sizeof(data)), NULL));
	printf("  with its data    %8.0f ns/event\n", per(t, n));
	TRY(store_reader_count(rd, &count, NULL));
	t = cpu_ns();
	for (int i = 0; i < 200; i++)
		TRY(store_reader_seek(rd, rnd(count) + 1, NULL));
	printf("  seek             %8.0f us\n", per(t, 200) / 1e3);
	store_reader_free(rd);
}

static uint64_t packed_bytes;

static int count_sink(UNUSED void *ctx, UNUSED const void *p, size_t n)
{
	packed_bytes += n;
	return 0;
}

/* Blocks of XZ_BLOCK_EVENTS of one journal file, at most 64 MiB of it. */
static void bench_presets(const char *dir, const char *name)
{
	char *path = os_asprintf("%s/%s", dir, name);
	uint8_t *p = os_malloc(64u << 20);
	int fd = os_open(path, O_RDONLY, 0);
	ssize_t n;

	TRY(fd);
	n = os_pread_full(fd, p, 64u << 20, 0);
	TRY(n);
	for (unsigned preset = 0; preset <= 3; preset++) {
		struct xz_encoder *xz;
		uint64_t t = cpu_ns();

		packed_bytes = 0;
		TRY(xz_encoder_new(preset, count_sink, NULL, &xz));
		for (ssize_t at = 0; at < n; at += XZ_BLOCK_EVENTS) {
			TRY(xz_encoder_put(xz, p + at, (size_t)MIN((ssize_t)XZ_BLOCK_EVENTS, n - at)));
			TRY(xz_encoder_end_block(xz));
		}
		TRY(xz_encoder_finish(xz));
		xz_encoder_free(xz);
		printf("xz -%u %-14s %7.1f MB/s   to %.1f %%\n", preset, name, (double)n / (per(t, 1) / 1e9) / 1e6,
		       100.0 * (double)packed_bytes / (double)n);
	}
	os_close(fd);
	free(p);
	free(path);
}

static void bench_seal(struct store *s, const struct store_id *id)
{
	uint64_t t, before, after, blobs;

	TRY(store_usage(s, id, &before, &blobs));
	t = cpu_ns();
	TRY(store_verify(s, id, NULL, NULL, NULL));
	printf("verify, raw        %8.0f MB/s\n", (double)before / (per(t, 1) / 1e9) / 1e6);
	t = cpu_ns();
	TRY(store_seal(s, id, NULL, NULL, NULL));
	TRY(store_usage(s, id, &after, &blobs));
	printf("seal               %8.1f MB/s   %.1f MB to %.1f MB\n", (double)before / (per(t, 1) / 1e9) / 1e6, (double)before / 1e6,
	       (double)after / 1e6);
	t = cpu_ns();
	TRY(store_verify(s, id, NULL, NULL, NULL));
	printf("verify, sealed     %8.0f MB/s of journal\n", (double)before / (per(t, 1) / 1e9) / 1e6);
}

static void bench_blobs(struct store *s)
{
	struct blob_id id;
	struct stat st;
	uint64_t t;
	int fd = os_open("/proc/self/exe", O_RDONLY, 0);

	TRY(fd);
	TRY(os_fstat(fd, &st));
	t = cpu_ns();
	TRY(store_blob_add_file(s, fd, &st, &id));
	printf("blob, new          %8.0f us for %.1f MB\n", per(t, 1) / 1e3, (double)st.st_size / 1e6);
	t = cpu_ns();
	for (int i = 0; i < 1000; i++)
		TRY(store_blob_add_file(s, fd, &st, &id));
	printf("blob, known        %8.1f us\n", per(t, 1000) / 1e3);
	os_close(fd);
}

int main(int argc, char **argv)
{
	char *dir = argc > 1 ? os_strdup(argv[1]) : os_asprintf("/tmp/store-bench.%d", (int)getpid());
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	struct store_id small, full;
	struct store *s;
	char *path;

	TRY(store_open(dir, true, &s, NULL));
	make_text();
	samples = os_calloc(SAMPLES, sizeof(*samples));
	for (uint64_t i = 0; i < SAMPLES; i++)
		make(&samples[i], i);
	bench_codec(n);
	small = bench_write(s, n, false);
	full = bench_write(s, n / 10, true);
	bench_read(s, &full, "raw");
	TRY(store_path(s, &full, &path));
	bench_presets(path, "events.journal");
	bench_presets(path, "data.journal");
	free(path);
	bench_seal(s, &full);
	bench_read(s, &full, "sealed");
	bench_blobs(s);
	TRY(store_remove(s, &small, NULL));
	TRY(store_remove(s, &full, NULL));
	store_free(s);
	free(samples);
	path = os_asprintf("rm -rf '%s'", dir);
	if (argc <= 1 && system(path) != 0)
		return 1;
	free(path);
	free(dir);
	return 0;
}
