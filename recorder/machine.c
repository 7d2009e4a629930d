/* Facts about the machine and the run for the manifest, and the CPUID that guests see. */
#include "recorder/rec_priv.h"

#include <cpuid.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"

/* --- CPUID --- */

/* Bits taken away from one register of one leaf. */
struct cpuid_mask {
	uint32_t leaf, sub;
	uint32_t clear[4]; /* eax ebx ecx edx */
};

#define B(n) (1u << (n))

/* Results that differ from run to run: RDRAND, RDSEED, transactional memory (aborts at random), user-mode waits. */
static const struct cpuid_mask never[] = {
	{ 1, 0, { 0, 0, B(30), 0 } },
	{ 7, 0, { 0, B(4) | B(11) | B(18), B(5), B(11) } },
};

/* x86-64-v3: no AVX-512, AMX, VNNI, SHA, VAES, GFNI; XCR0 of x87, SSE, AVX. */
static const struct cpuid_mask beyond_v3[] = {
	{ 7, 0, { 0, B(16) | B(17) | B(21) | B(26) | B(27) | B(28) | B(29) | B(30) | B(31), B(1) | B(6) | B(8) | B(9) | B(10) | B(11) | B(12) | B(14),
		  B(2) | B(3) | B(8) | B(22) | B(23) | B(24) | B(25) } },
	{ 7, 1, { B(4) | B(5) | B(21) | B(23), 0, 0, B(4) | B(5) | B(10) | B(19) } },
	{ 0xd, 0, { ~7u, 0, 0, ~0u } },
};

/* x86-64-v2: up to SSE4.2. */
static const struct cpuid_mask beyond_v2[] = {
	{ 1, 0, { 0, 0, B(12) | B(22) | B(26) | B(27) | B(28) | B(29), 0 } },
	{ 7, 0, { 0, B(3) | B(5) | B(8), 0, 0 } },
	{ 0x80000001, 0, { 0, 0, B(5), 0 } },
	{ 0xd, 0, { ~0u, ~0u, ~0u, ~0u } },
	{ 0xd, 1, { ~0u, ~0u, ~0u, ~0u } },
};

static void apply(const struct cpuid_mask *m, size_t n, uint32_t leaf, uint32_t sub, uint32_t v[4])
{
	for (size_t i = 0; i < n; i++)
		for (int r = 0; m[i].leaf == leaf && m[i].sub == sub && r < 4; r++)
			v[r] &= ~m[i].clear[r];
}

void rec_cpuid(struct rec *rec, uint32_t leaf, uint32_t sub, uint32_t ret[4])
{
	bool has_sub = leaf == 7 || leaf == 0xd;

	eng_traps_cpuid(&rec->traps, leaf, sub, ret);
	if (!has_sub)
		sub = 0;
	apply(never, ARRAY_SIZE(never), leaf, sub, ret);
	if (rec->opt->cpu_profile == REC_CPU_V3 || rec->opt->cpu_profile == REC_CPU_V2)
		apply(beyond_v3, ARRAY_SIZE(beyond_v3), leaf, sub, ret);
	if (rec->opt->cpu_profile == REC_CPU_V2)
		apply(beyond_v2, ARRAY_SIZE(beyond_v2), leaf, sub, ret);
}

/* The feature words that decide whether another CPU can replay this. */
static json_t *feature_words(struct rec *rec)
{
	static const struct {
		const char *name;
		uint32_t leaf, sub;
	} leaves[] = { { "1", 1, 0 }, { "7", 7, 0 }, { "7.1", 7, 1 }, { "d.1", 0xd, 1 }, { "80000001", 0x80000001, 0 } };
	json_t *o = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++) {
		uint32_t v[4];

		if (rec->cpuid_faulting)
			rec_cpuid(rec, leaves[i].leaf, leaves[i].sub, v);
		else
			__cpuid_count(leaves[i].leaf, leaves[i].sub, v[0], v[1], v[2], v[3]);
		json_object_set_new(o, leaves[i].name,
				    json_pack("[IIII]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2], (json_int_t)v[3]));
	}
	return o;
}

static char *cpu_brand(void)
{
	uint32_t v[12] = { 0 };
	char text[49];
	const char *p = text;

	for (uint32_t i = 0; i < 3; i++)
		__cpuid(0x80000002 + i, v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]);
	memcpy(text, v, 48);
	text[48] = '\0';
	while (*p == ' ')
		p++;
	return os_strdup(p);
}

static uint64_t xcr0(void)
{
	uint32_t lo, hi;

	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return lo | (uint64_t)hi << 32;
}

static const char *profile_name(enum rec_cpu_profile p)
{
	static const char *const names[REC_CPU_MAX_] = { [REC_CPU_HOST] = "host", [REC_CPU_V2] = "x86-64-v2", [REC_CPU_V3] = "x86-64-v3" };

	return names[p];
}

static json_t *cpu_facts(struct rec *rec)
{
	char xcr[24];

	snprintf(xcr, sizeof(xcr), "0x%lx", xcr0());
	return json_pack("{so ss sb ss si si}", "features", feature_words(rec), "xcr0", xcr, "cpuid_faulting", rec->cpuid_faulting,
			 "cpu_profile", profile_name(rec->opt->cpu_profile), "pinned_cpu", rec->cpu, "cpu_count",
			 CPU_COUNT(&rec->affinity));
}

/* --- the rest --- */

static char **copy_strings(char *const *v)
{
	size_t n = 0;
	char **copy;

	while (v[n])
		n++;
	copy = os_calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = os_strdup(v[i]);
		if (!copy[i])
			return NULL; /* the manifest owns nothing yet: a leak in an already failing start */
	}
	return copy;
}

static char *user_name(void)
{
	const struct passwd *pw = getpwuid(geteuid());

	return pw ? os_strdup(pw->pw_name) : os_asprintf("%u", geteuid());
}

int rec_machine_facts(struct rec *rec)
{
	struct manifest *m = &rec->manifest;
	const struct rec_options *o = rec->opt;
	struct utsname u;

	m->major = MANIFEST_FORMAT_MAJOR;
	m->minor = MANIFEST_FORMAT_MINOR;
	m->state = RECORDING_OPEN;
	m->status = -1;
	m->label = o->label ? os_strdup(o->label) : NULL;
	m->argv = copy_strings(o->argv);
	m->envp = copy_strings(o->envp);
	m->cwd = o->workdir ? realpath(o->workdir, NULL) : getcwd(NULL, 0);
	m->hermit_version = os_strdup(o->version ? o->version : "");
	m->user = user_name();
	m->cpu_model = cpu_brand();
	if (uname(&u) == 0) {
		m->hostname = os_strdup(u.nodename);
		m->kernel = os_asprintf("%s %s %s", u.sysname, u.release, u.version);
	}
	m->start_wall_ns = os_wall_ns();
	rec->cpuid_faulting = eng_traps_have_cpuid();
	m->cpu = cpu_facts(rec);
	m->syscalls = json_object();
	m->warnings = json_array();
	m->options = json_pack("{sI sI}", "checksum_every", (json_int_t)o->checksum_every, "timeslice_ns", (json_int_t)o->timeslice_ns);
	if (o->chaos && m->options)
		json_object_set_new(m->options, "chaos_seed", json_sprintf("%" PRIu64, o->chaos_seed));
	if (o->source && m->options)
		json_object_set_new(m->options, "source", json_string(o->source));
	if (!m->argv || !m->envp || !m->cpu || !m->syscalls || !m->warnings || !m->options)
		return -ENOMEM;
	return 0;
}
