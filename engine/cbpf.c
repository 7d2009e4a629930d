/* Classic BPF for seccomp filters. Programs only jump forwards, so they end. */
#include "engine/cbpf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool known_alu(uint16_t code)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
	case BPF_SUB:
	case BPF_MUL:
	case BPF_DIV:
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
	case BPF_LSH:
	case BPF_RSH:
	case BPF_NEG:
		return true;
	}
	return false;
}

static bool good_jump(const struct sock_filter *f, unsigned left)
{
	switch (BPF_OP(f->code)) {
	case BPF_JA:
		return f->k < left;
	case BPF_JEQ:
	case BPF_JGT:
	case BPF_JGE:
	case BPF_JSET:
		return f->jt < left && f->jf < left;
	}
	return false;
}

static bool good_load(const struct sock_filter *f)
{
	switch (f->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		return f->k % 4 == 0 && f->k < sizeof(struct seccomp_data);
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_W | BPF_LEN:
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
		return true;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
		return f->k < BPF_MEMWORDS;
	}
	return false;
}

static bool good(const struct sock_filter *f, unsigned left)
{
	switch (BPF_CLASS(f->code)) {
	case BPF_LD:
	case BPF_LDX:
		return good_load(f);
	case BPF_ST:
	case BPF_STX:
		return f->k < BPF_MEMWORDS;
	case BPF_ALU:
		return known_alu(f->code) && (f->code != (BPF_ALU | BPF_DIV | BPF_K) || f->k);
	case BPF_JMP:
		return good_jump(f, left);
	case BPF_RET:
		return BPF_RVAL(f->code) == BPF_K || BPF_RVAL(f->code) == BPF_A;
	default:
		return BPF_MISCOP(f->code) == BPF_TAX || BPF_MISCOP(f->code) == BPF_TXA;
	}
}

/* Each word of scratch memory is stored on every way to where it is loaded. */
static bool loads_follow_stores(const struct sock_filter *code, unsigned n)
{
	uint16_t stored = 0; /* on all ways to the present instruction */
	uint16_t *at = malloc(n * sizeof(*at));
	bool good_so_far = at != NULL;

	for (unsigned i = 0; i < n && at; i++)
		at[i] = UINT16_MAX;
	for (unsigned i = 0; i < n && good_so_far; i++) {
		const struct sock_filter *f = &code[i];

		stored &= at[i];
		switch (BPF_CLASS(f->code)) {
		case BPF_ST:
		case BPF_STX:
			stored |= (uint16_t)(1u << f->k);
			break;
		case BPF_LD:
		case BPF_LDX:
			if (BPF_MODE(f->code) == BPF_MEM)
				good_so_far = stored >> f->k & 1;
			break;
		case BPF_JMP:
			if (BPF_OP(f->code) == BPF_JA) {
				at[i + 1 + f->k] &= stored;
			} else {
				at[i + 1 + f->jt] &= stored;
				at[i + 1 + f->jf] &= stored;
			}
			stored = UINT16_MAX;
		}
	}
	free(at);
	return good_so_far;
}

int cbpf_check(const struct sock_filter *code, unsigned n)
{
	if (!n || n > BPF_MAXINSNS || BPF_CLASS(code[n - 1].code) != BPF_RET)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++)
		if (!good(&code[i], n - i - 1))
			return -EINVAL;
	return loads_follow_stores(code, n) ? 0 : -EINVAL;
}

static uint32_t alu(uint16_t code, uint32_t a, uint32_t v)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return a + v;
	case BPF_SUB:
		return a - v;
	case BPF_MUL:
		return a * v;
	case BPF_DIV:
		return v ? a / v : 0;
	case BPF_AND:
		return a & v;
	case BPF_OR:
		return a | v;
	case BPF_XOR:
		return a ^ v;
	case BPF_LSH:
		return v < 32 ? a << v : 0;
	case BPF_RSH:
		return v < 32 ? a >> v : 0;
	default: /* NEG */
		return -a;
	}
}

static bool jump_taken(uint16_t code, uint32_t a, uint32_t v)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == v;
	case BPF_JGT:
		return a > v;
	case BPF_JGE:
		return a >= v;
	default: /* JSET */
		return a & v;
	}
}

static uint32_t load(const struct sock_filter *f, const uint32_t *mem, const struct seccomp_data *data)
{
	uint32_t v;

	switch (BPF_MODE(f->code)) {
	case BPF_ABS:
		memcpy(&v, (const char *)data + f->k, sizeof(v));
		return v;
	case BPF_LEN:
		return sizeof(*data);
	case BPF_MEM:
		return mem[f->k];
	default:
		return f->k;
	}
}

uint32_t cbpf_run(const struct sock_filter *code, const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, mem[BPF_MEMWORDS] = { 0 };

	for (const struct sock_filter *f = code;; f++) {
		uint32_t v = BPF_SRC(f->code) == BPF_X ? x : f->k;

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
			a = load(f, mem, data);
			break;
		case BPF_LDX:
			x = load(f, mem, data);
			break;
		case BPF_ST:
			mem[f->k] = a;
			break;
		case BPF_STX:
			mem[f->k] = x;
			break;
		case BPF_ALU:
			a = alu(f->code, a, v);
			break;
		case BPF_JMP:
			if (BPF_OP(f->code) == BPF_JA)
				f += f->k;
			else
				f += jump_taken(f->code, a, v) ? f->jt : f->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(f->code) == BPF_A ? a : f->k;
		default:
			if (BPF_MISCOP(f->code) == BPF_TAX)
				x = a;
			else
				a = x;
		}
	}
}
