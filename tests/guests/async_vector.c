/*
 * Eight threads compute with wide registers ("avx2", "avx512"; "sse2" needs nothing) and hold their state in them
 * only; each result must be that of a run without anybody else. Output: sums, deterministic.
 */
#include "async.h"
#include <immintrin.h>

enum { N = 8, ROUNDS = 24000000 };

static uint64_t fold(const void *v, size_t n)
{
	return hash(v, n);
}

/* Four chains, so that several registers are alive; xorshift in each lane. */
#define CHAINS(T, set1, xor, sll, srl)                                                                                 \
	T v[4] = { set1(seed + 1), set1(seed * 3 + 7), set1(seed * 5 + 11), set1(seed * 7 + 13) };                     \
	for (long i = 0; i < rounds; i++) {                                                                            \
		for (int k = 0; k < 4; k++) {                                                                          \
			v[k] = xor(v[k], sll(v[k], 13));                                                               \
			v[k] = xor(v[k], srl(v[k], 7));                                                                \
			v[k] = xor(v[k], sll(v[k], 17));                                                               \
		}                                                                                                      \
		v[i & 3] = xor(v[i & 3], v[(i + 1) & 3]);                                                              \
	}                                                                                                              \
	return fold(v, sizeof(v))

__attribute__((optimize("O3"))) static uint64_t run_sse2(long long seed, long rounds)
{
	CHAINS(__m128i, _mm_set1_epi64x, _mm_xor_si128, _mm_slli_epi64, _mm_srli_epi64);
}

__attribute__((target("avx2"), optimize("O3"))) static uint64_t run_avx2(long long seed, long rounds)
{
	CHAINS(__m256i, _mm256_set1_epi64x, _mm256_xor_si256, _mm256_slli_epi64, _mm256_srli_epi64);
}

/* Which lanes take part is in a mask register. */
__attribute__((target("avx512f"), optimize("O3"))) static uint64_t run_avx512(long long seed, long rounds)
{
	__m512i a = _mm512_set1_epi64(seed + 1), b = _mm512_set1_epi64(seed * 3 + 7), v[2];
	__mmask8 m = 0x5a;

	for (long i = 0; i < 2 * rounds; i++) {
		a = _mm512_xor_si512(a, _mm512_slli_epi64(a, 13));
		b = _mm512_mask_add_epi64(b, m, b, a);
		a = _mm512_xor_si512(a, _mm512_srli_epi64(a, 7));
		m = _mm512_cmpgt_epi64_mask(a, b);
		b = _mm512_ror_epi64(b, 9);
	}
	v[0] = a;
	v[1] = b;
	return fold(v, sizeof(v));
}

static uint64_t (*run)(long long seed, long rounds);
static uint64_t result[N];

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;

	result[me] = run(me / 2, ROUNDS / 8);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "sse2";

	__builtin_cpu_init();
	if (!strcmp(what, "avx512")) {
		if (!__builtin_cpu_supports("avx512f"))
			skip("no AVX-512 here");
		run = run_avx512;
	} else if (!strcmp(what, "avx2")) {
		if (!__builtin_cpu_supports("avx2"))
			skip("no AVX2 here");
		run = run_avx2;
	} else {
		run = run_sse2;
	}
	in_threads(N, body);
	for (int i = 0; i < N; i += 2) {
		CHECK(result[i] == result[i + 1]);
		say("%s %d: %lx\n", what, i / 2, (unsigned long)result[i]);
	}
	CHECK(result[0] == run(0, ROUNDS / 8));
	done();
	return 0;
}
