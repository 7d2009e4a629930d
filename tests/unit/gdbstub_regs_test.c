/* Registers: numbers that gdb expects in replies, values at their places, and that what is set is got back. */
#include "gdbstub/regs_priv.h"

#include <string.h>
#include "tests/unit/test.h"

static json_t *cpu_of(const char *xcr0, unsigned avx, unsigned avx512, unsigned pku)
{
	return json_pack("{s:{s:[iiii] s:[iiii]} s:s}", "features", "1", 0, 0, avx << 28, 0, "7", 0, avx512 << 16, pku << 4, 0, "xcr0", xcr0);
}

static unsigned count(struct regs_layout *l, json_t *cpu)
{
	regs_layout_init(l, cpu);
	json_decref(cpu);
	return l->n;
}

/* The number of a register in the XML, -1: not there. */
static int number_of(const struct regs_layout *l, const char *name)
{
	struct buf xml = { 0 }, want = { 0 };
	const char *at;
	int n = -1;

	regs_put_xml(l, &xml);
	buf_printf(&want, "<reg name=\"%s\" ", name);
	at = strstr(buf_cstr(&xml), buf_cstr(&want));
	if (at)
		n = (int)strtol(strstr(at, "regnum=\"") + 8, NULL, 10);
	buf_done(&xml);
	buf_done(&want);
	return n;
}

START_TEST(sets)
{
	struct regs_layout l, all;

	ck_assert_uint_eq(count(&l, cpu_of("0x3", 0, 0, 0)), 60);
	ck_assert_int_eq(number_of(&l, "rbp"), REGS_RBP);
	ck_assert_int_eq(number_of(&l, "rsp"), REGS_RSP);
	ck_assert_int_eq(number_of(&l, "rip"), REGS_RIP);
	ck_assert_int_eq(number_of(&l, "xmm15"), 55);
	ck_assert_int_eq(number_of(&l, "orig_rax"), 57);
	ck_assert_int_eq(number_of(&l, "gs_base"), 59);
	ck_assert_int_eq(number_of(&l, "ymm0h"), -1);
	regs_layout_init(&all, NULL);
	if (!(all.have & 4))
		return; /* this machine has no AVX: nor can it show it */
	ck_assert_uint_eq(count(&l, cpu_of("0x7", 1, 0, 0)), 76);
	ck_assert_int_eq(number_of(&l, "ymm15h"), 75);
	/* on, but hidden from the program */
	ck_assert_uint_eq(count(&l, cpu_of("0x7", 0, 0, 0)), 60);
	if ((all.have & 0xe0) != 0xe0)
		return;
	ck_assert_uint_eq(count(&l, cpu_of("0xe7", 1, 1, 0)), 76 + 16 + 16 + 8 + 32);
	ck_assert_int_eq(number_of(&l, "zmm31h"), (int)l.n - 1);
	ck_assert_int_eq(number_of(&l, "k0"), 76 + 32);
	ck_assert_int_eq(number_of(&l, "pkru"), -1);
}
END_TEST

START_TEST(places)
{
	struct regs_layout l;
	struct user_regs_struct u = { .rax = 0x1122334455667788, .eflags = 0x246, .fs_base = 42, .orig_rax = 9, .cs = 0x33 };
	struct buf x = { 0 };
	uint8_t v[REGS_BYTES_MAX], image[576] = { 0 };
	uint64_t used = 3;
	uint32_t word;

	regs_layout_init(&l, NULL);
	memcpy(image, "\x7f\x03\x00\x38\x80", 5); /* top 7, physical register 7 in use */
	memcpy(image + 32, "\x00\x00\x00\x00\x00\x00\x00\x80\xff\x3f", 10); /* st0 = 1.0 */
	image[160 + 16 * 15] = 0xab;
	memcpy(image + 512, &used, 8);
	buf_put(&x, image, sizeof(image));
	regs_get(&l, 0, &u, &x, v);
	ck_assert_mem_eq(v, &u.rax, 8);
	regs_get(&l, 17, &u, &x, v);
	ck_assert_mem_eq(v, "\x46\x02\0\0", 4);
	regs_get(&l, 18, &u, &x, v);
	ck_assert_mem_eq(v, "\x33\0\0\0", 4);
	regs_get(&l, 24, &u, &x, v);
	ck_assert_mem_eq(v, image + 32, 10);
	regs_get(&l, 34, &u, &x, v); /* ftag: valid for 7, empty for others */
	memcpy(&word, v, 4);
	ck_assert_uint_eq(word, 0x3fff);
	regs_get(&l, 55, &u, &x, v);
	ck_assert_uint_eq(v[0], 0xab);
	regs_get(&l, 57, &u, &x, v);
	ck_assert_uint_eq(v[0], 9);
	regs_get(&l, 58, &u, &x, v);
	ck_assert_uint_eq(v[0], 42);
	ck_assert_uint_eq(regs_size(&l, 24), 10);
	ck_assert_uint_eq(regs_size(&l, 40), 16);
	ck_assert_uint_eq(regs_size(&l, l.n), 0);
	ck_assert_uint_eq(regs_size(&l, UINT32_MAX), 0);
	/* nothing known: the initial state */
	buf_clear(&x);
	regs_get(&l, 32, &u, &x, v);
	ck_assert_mem_eq(v, "\x7f\x03\0\0", 4);
	regs_get(&l, 56, &u, &x, v);
	ck_assert_mem_eq(v, "\x80\x1f\0\0", 4);
	buf_done(&x);
}
END_TEST

START_TEST(set_is_got)
{
	struct regs_layout l;
	struct user_regs_struct u = { 0 };
	struct buf x = { 0 };
	uint8_t v[REGS_BYTES_MAX], w[REGS_BYTES_MAX];

	regs_layout_init(&l, NULL);
	for (unsigned n = 0; n < l.n; n++) {
		size_t size = regs_size(&l, n);

		ck_assert_uint_gt(size, 0);
		if (n >= 32 && n <= 39)
			continue; /* x87 control words have fewer bits */
		memset(v, (int)(n * 3 + 1), sizeof(v));
		regs_set(&l, n, &u, &x, v);
		regs_get(&l, n, &u, &x, w);
		ck_assert_msg(memcmp(v, w, size) == 0, "register %u", n);
	}
	/* none overwrote another */
	for (unsigned n = 0; n < l.n; n++) {
		if (n >= 32 && n <= 39)
			continue;
		memset(v, (int)(n * 3 + 1), sizeof(v));
		regs_get(&l, n, &u, &x, w);
		ck_assert_msg(memcmp(v, w, regs_size(&l, n)) == 0, "register %u changed later", n);
	}
	buf_done(&x);
}
END_TEST

TEST_MAIN("gdbstub_regs", sets, places, set_is_got)
