/* Can this machine replay the recording? Checked before anything runs. */
#define LOG_AREA "replayer.machine"
#include "replayer/rep_priv.h"

#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* Features that programs use without asking the kernel. */
static const struct feature {
	const char *leaf;
	uint32_t nr, sub;
	uint8_t reg, bit; /* reg: 0 eax 1 ebx 2 ecx 3 edx */
	const char *name;
} features[] = {
	{ "1", 1, 0, 2, 0, "sse3" }, { "1", 1, 0, 2, 1, "pclmulqdq" }, { "1", 1, 0, 2, 9, "ssse3" }, { "1", 1, 0, 2, 12, "fma" },
	{ "1", 1, 0, 2, 13, "cx16" }, { "1", 1, 0, 2, 19, "sse4_1" }, { "1", 1, 0, 2, 20, "sse4_2" }, { "1", 1, 0, 2, 22, "movbe" },
	{ "1", 1, 0, 2, 23, "popcnt" }, { "1", 1, 0, 2, 25, "aes" }, { "1", 1, 0, 2, 26, "xsave" }, { "1", 1, 0, 2, 27, "osxsave" },
	{ "1", 1, 0, 2, 28, "avx" }, { "1", 1, 0, 2, 29, "f16c" },
	{ "7", 7, 0, 1, 0, "fsgsbase" }, { "7", 7, 0, 1, 3, "bmi1" }, { "7", 7, 0, 1, 5, "avx2" }, { "7", 7, 0, 1, 8, "bmi2" },
	{ "7", 7, 0, 1, 9, "erms" }, { "7", 7, 0, 1, 16, "avx512f" }, { "7", 7, 0, 1, 17, "avx512dq" }, { "7", 7, 0, 1, 19, "adx" },
	{ "7", 7, 0, 1, 21, "avx512ifma" }, { "7", 7, 0, 1, 23, "clflushopt" }, { "7", 7, 0, 1, 24, "clwb" }, { "7", 7, 0, 1, 28, "avx512cd" },
	{ "7", 7, 0, 1, 29, "sha_ni" }, { "7", 7, 0, 1, 30, "avx512bw" }, { "7", 7, 0, 1, 31, "avx512vl" },
	{ "7", 7, 0, 2, 1, "avx512vbmi" }, { "7", 7, 0, 2, 3, "pku" }, { "7", 7, 0, 2, 4, "ospke" }, { "7", 7, 0, 2, 6, "avx512_vbmi2" },
	{ "7", 7, 0, 2, 8, "gfni" }, { "7", 7, 0, 2, 9, "vaes" }, { "7", 7, 0, 2, 10, "vpclmulqdq" }, { "7", 7, 0, 2, 11, "avx512_vnni" },
	{ "7", 7, 0, 2, 12, "avx512_bitalg" }, { "7", 7, 0, 2, 14, "avx512_vpopcntdq" }, { "7", 7, 0, 2, 22, "rdpid" },
	{ "7", 7, 0, 2, 27, "movdiri" }, { "7", 7, 0, 2, 28, "movdir64b" },
	{ "7", 7, 0, 3, 22, "amx_bf16" }, { "7", 7, 0, 3, 23, "avx512_fp16" }, { "7", 7, 0, 3, 24, "amx_tile" }, { "7", 7, 0, 3, 25, "amx_int8" },
	{ "7.1", 7, 1, 0, 4, "avx_vnni" }, { "7.1", 7, 1, 0, 5, "avx512_bf16" },
	{ "d.1", 0xd, 1, 0, 1, "xsavec" }, { "d.1", 0xd, 1, 0, 2, "xgetbv1" },
	{ "80000001", 0x80000001, 0, 2, 5, "lzcnt" },
};

static uint32_t recorded_word(const struct manifest *m, const struct feature *f)
{
	json_t *words = json_object_get(json_object_get(m->cpu, "features"), f->leaf);

	return (uint32_t)json_integer_value(json_array_get(words, f->reg));
}

static bool here(const struct feature *f)
{
	uint32_t v[4];

	if (f->nr < 0x80000000 && f->nr > (uint32_t)__get_cpuid_max(0, NULL))
		return false;
	__cpuid_count(f->nr, f->sub, v[0], v[1], v[2], v[3]);
	return v[f->reg] >> f->bit & 1;
}

static int check_features(struct rep_session *s, struct errinfo *ei)
{
	char missing[512] = "";
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		const struct feature *f = &features[i];

		if (!(recorded_word(s->manifest, f) >> f->bit & 1) || here(f) || n + 24 > sizeof(missing))
			continue;
		n += (size_t)snprintf(missing + n, sizeof(missing) - n, "%s%s", n ? " " : "", f->name);
	}
	if (!n)
		return 0;
	return errinfo_set(ei, ERR_UNSUPPORTED_CPU,
			   "the recorded program could use CPU features that this machine lacks: %s (recorded on %s; record with --cpu-profile "
			   "x86-64-v2 or x86-64-v3 to replay on older CPUs)",
			   missing, s->manifest->cpu_model ? s->manifest->cpu_model : "another CPU");
}

static int check_blobs(struct rep_session *s, struct errinfo *ei)
{
	for (size_t i = 0; i < s->manifest->n_blobs; i++) {
		char hex[65];
		int fd, r = store_blob_open(store_reader_store(s->reader), &s->manifest->blobs[i], &fd);

		if (r >= 0) {
			close(fd);
			continue;
		}
		blob_id_hex(&s->manifest->blobs[i], hex);
		return errinfo_set_r(ei, r, "blob %s of this recording", hex);
	}
	return 0;
}

int rep_check_machine(struct rep_session *s, struct errinfo *ei)
{
	int r;

	/* Where it was not trapped the program saw the CPU itself: so it must here. */
	s->cpuid_faulting = json_is_true(json_object_get(s->manifest->cpu, "cpuid_faulting")) && eng_traps_have_cpuid();
	r = check_features(s, ei);
	return r < 0 ? r : check_blobs(s, ei);
}
