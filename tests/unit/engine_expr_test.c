/* Conditions that run in the guest: random expressions against an interpreter, and the guest's registers at every step of the way. */
#include "engine/code.h"

#include <stdio.h>
#include <time.h>
#include "tests/unit/engine_machine.h"

enum { AT = M_CODE + 0x8000, LEN = 7 };
enum { HIDDEN = M_MEM + 0x3000, HIDDEN_LEN = 5 };

static const struct sys_mem code_mem = { .read = machine_read };

/* --- the interpreter --- */

enum verdict { V_FALSE, V_TRUE, V_UNDECIDED, V_FAULT, V_DIVIDE };

struct interp {
	const struct mstate *s;
	const uint8_t *code;
	uint64_t stack[64];
	unsigned depth;
	enum verdict error;
};

static uint64_t pop(struct interp *in)
{
	ck_assert_uint_gt(in->depth, 0);
	return in->stack[--in->depth];
}

static void push(struct interp *in, uint64_t v)
{
	ck_assert_uint_lt(in->depth, 64);
	in->stack[in->depth++] = v;
}

static uint64_t operand(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	while (n--)
		v = v * 256 + *p++;
	return v;
}

static uint64_t register_value(const struct mstate *s, uint64_t n)
{
	const struct user_regs_struct *r = &s->regs;
	const uint64_t v[] = { r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
			       r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip, r->eflags };

	return v[n];
}

static uint64_t load(struct interp *in, uint64_t addr, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		if (addr + i >= HIDDEN && addr + i < HIDDEN + HIDDEN_LEN) {
			in->error = V_UNDECIDED;
			return 0;
		}
	if (addr < M_MEM || addr > M_MEM + M_MEM_SIZE - n) {
		in->error = V_FAULT;
		return 0;
	}
	memcpy(&v, in->s->mem + (addr - M_MEM), n);
	return v;
}

static uint64_t divide(struct interp *in, uint8_t op, uint64_t a, uint64_t b)
{
	if (b == 0 || ((op == 5 || op == 7) && a == 1ull << 63 && b == UINT64_MAX)) {
		in->error = V_DIVIDE;
		return 0;
	}
	switch (op) {
	case 5:
		return (uint64_t)((int64_t)a / (int64_t)b);
	case 6:
		return a / b;
	case 7:
		return (uint64_t)((int64_t)a % (int64_t)b);
	default:
		return a % b;
	}
}

static uint64_t two(struct interp *in, uint8_t op, uint64_t a, uint64_t b)
{
	if (op >= 9 && op <= 0xb && b > 63) {
		in->error = V_UNDECIDED;
		return 0;
	}
	switch (op) {
	case 2:
		return a + b;
	case 3:
		return a - b;
	case 4:
		return a * b;
	case 9:
		return a << b;
	case 0xa:
		return (uint64_t)((int64_t)a >> b);
	case 0xb:
		return a >> b;
	case 0xf:
		return a & b;
	case 0x10:
		return a | b;
	case 0x11:
		return a ^ b;
	case 0x13:
		return a == b;
	case 0x14:
		return (int64_t)a < (int64_t)b;
	case 0x15:
		return a < b;
	default:
		return divide(in, op, a, b);
	}
}

static uint64_t extend(uint8_t op, uint64_t v, unsigned n)
{
	uint64_t mask = n >= 64 ? UINT64_MAX : (1ull << n) - 1;

	v &= mask;
	if (op == 0x16 && n < 64 && v >> (n - 1) & 1)
		v |= ~mask;
	return v;
}

static void shuffle(struct interp *in, uint8_t op, unsigned n)
{
	uint64_t c = op == 0x32 ? 0 : pop(in), b, a;

	if (op == 0x28) {
		push(in, c);
		push(in, c);
	} else if (op == 0x2b) {
		b = pop(in);
		push(in, c);
		push(in, b);
	} else if (op == 0x33) {
		b = pop(in);
		a = pop(in);
		push(in, c);
		push(in, a);
		push(in, b);
	} else if (op == 0x32) {
		push(in, in->stack[in->depth - 1 - n]);
	}
}

static enum verdict interpret(const struct mstate *s, const uint8_t *code)
{
	struct interp in = { .s = s, .code = code, .error = V_TRUE };
	unsigned pc = 0;

	while (in.error == V_TRUE) {
		uint8_t op = code[pc++];

		if (op == 0x27)
			return pop(&in) ? V_TRUE : V_FALSE;
		if (op >= 0x22 && op <= 0x25) {
			push(&in, operand(code + pc, 1u << (op - 0x22)));
			pc += 1u << (op - 0x22);
		} else if (op == 0x26) {
			push(&in, register_value(s, operand(code + pc, 2)));
			pc += 2;
		} else if (op == 0x20 || op == 0x21) {
			pc = op == 0x21 || pop(&in) ? (unsigned)operand(code + pc, 2) : pc + 2;
		} else if (op == 0x16 || op == 0x2a) {
			push(&in, extend(op, pop(&in), code[pc++]));
		} else if (op >= 0x17 && op <= 0x1a) {
			push(&in, load(&in, pop(&in), 1u << (op - 0x17)));
		} else if (op == 0x0e) {
			push(&in, !pop(&in));
		} else if (op == 0x12) {
			push(&in, ~pop(&in));
		} else if (op == 0x28 || op == 0x29 || op == 0x2b || op == 0x32 || op == 0x33) {
			shuffle(&in, op, code[pc]);
			pc += op == 0x32;
		} else {
			uint64_t b = pop(&in), a = pop(&in);

			push(&in, two(&in, op, a, b));
		}
	}
	return in.error;
}

/* --- random expressions --- */

struct writer {
	uint64_t *seed;
	uint8_t code[CODE_EXPR_BYTES_MAX];
	unsigned n, depth;
	unsigned floor; /* values below are a branch's surroundings */
};

static unsigned below(struct writer *w, unsigned n)
{
	return (unsigned)(m_random(w->seed) % n);
}

static void put(struct writer *w, uint8_t op, uint64_t v, unsigned n)
{
	w->code[w->n++] = op;
	while (n--)
		w->code[w->n++] = (uint8_t)(v >> 8 * n);
}

static void put_value(struct writer *w)
{
	static const uint64_t special[] = { 0, 1, 63, 64, 127, 128, 255, 0x7fffffff, 0x80000000, 0xffffffff, 0xffffffff80000000, 1ull << 63, UINT64_MAX };
	unsigned kind = below(w, 8);

	if (kind < 3)
		put(w, 0x26, below(w, 18), 2);
	else if (kind == 3)
		put(w, 0x25, special[below(w, ARRAY_SIZE(special))], 8);
	else
		put(w, (uint8_t)(0x22 + kind % 4), m_random(w->seed), 1u << kind % 4);
	w->depth++;
}

/* Mostly addresses that are there; some that are not, some hidden ones. */
static void put_ref(struct writer *w)
{
	uint64_t addr = M_MEM + m_random(w->seed) % (M_MEM_SIZE - 8);

	if (below(w, 12) == 0)
		addr = HIDDEN - 8 + below(w, 20);
	if (below(w, 40) == 0)
		addr = below(w, 2) ? M_MEM - 4096 : 1ull << 62;
	put(w, 0x25, addr, 8);
	put(w, (uint8_t)(0x17 + below(w, 4)), 0, 0);
	w->depth++;
}

static void put_random(struct writer *w, unsigned levels);

/* One of two that leave one value each: if (top) a else b. */
static void put_branch(struct writer *w, unsigned levels)
{
	unsigned jump, skip, depth, floor = w->floor;

	put(w, 0x20, 0, 2);
	jump = w->n;
	depth = w->floor = --w->depth;
	put_value(w);
	put_random(w, levels);
	while (w->depth > depth + 1) {
		put(w, 0x29, 0, 0);
		w->depth--;
	}
	put(w, 0x21, 0, 2);
	skip = w->n;
	if (below(w, 2))
		put(w, 0x02, 0, 0); /* nobody comes here */
	w->code[jump - 2] = (uint8_t)(w->n >> 8);
	w->code[jump - 1] = (uint8_t)w->n;
	w->depth = depth;
	put_value(w);
	if (below(w, 3) == 0) {
		put(w, 0x27, 0, 0); /* ends in the middle */
	} else {
		put_random(w, levels);
		while (w->depth > depth + 1) {
			put(w, 0x29, 0, 0);
			w->depth--;
		}
	}
	w->depth = depth + 1;
	w->floor = floor;
	w->code[skip - 2] = (uint8_t)(w->n >> 8);
	w->code[skip - 1] = (uint8_t)w->n;
}

static void put_random(struct writer *w, unsigned levels)
{
	static const uint8_t binary[] = { 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xf, 0x10, 0x11, 0x13, 0x14, 0x15 };

	for (unsigned i = below(w, 8); i-- && w->n < 120;) {
		unsigned kind = below(w, 16), mine = w->depth - w->floor;

		if (kind < 3 && w->depth < 12) {
			put_value(w);
		} else if (kind < 5 && w->depth < 12) {
			put_ref(w);
		} else if (kind < 10 && mine >= 2) {
			uint8_t op = binary[below(w, ARRAY_SIZE(binary))];

			if (op >= 9 && op <= 0xb && below(w, 4)) { /* counts within bounds are few by chance */
				put(w, 0x22, 63, 1);
				put(w, 0xf, 0, 0);
			}
			put(w, op, 0, 0);
			w->depth--;
		} else if (kind == 10) {
			put(w, below(w, 2) ? 0x0e : 0x12, 0, 0);
		} else if (kind == 11) {
			put(w, below(w, 2) ? 0x16 : 0x2a, 1 + below(w, 64), 1);
		} else if (kind == 12 && mine >= 3) {
			put(w, below(w, 2) ? 0x33 : 0x2b, 0, 0);
		} else if (kind == 13 && w->depth < 12) {
			if (below(w, 2))
				put(w, 0x28, 0, 0);
			else
				put(w, 0x32, below(w, w->depth), 1);
			w->depth++;
		} else if (kind == 14 && mine >= 2) {
			put(w, 0x29, 0, 0);
			w->depth--;
		} else if (kind == 15 && levels && mine >= 2) {
			put_branch(w, levels - 1);
		}
	}
}

static void write_expression(struct writer *w)
{
	w->n = w->depth = w->floor = 0;
	put_value(w);
	put_value(w);
	put_random(w, 2);
	put_random(w, 2);
	put(w, 0x27, 0, 0);
}

/* --- running them --- */

struct fixture {
	struct machine m;
	uint64_t seed;
	struct mstate start, now;
	struct code_plan p;
	struct code_tramp t;
	unsigned seen[5];
};

static void put_code(struct fixture *f)
{
	uint8_t jump[CODE_JUMP_LEN];

	memcpy(m_at(M_TRAMP), f->t.bytes, f->t.n);
	code_jump(&f->p, &f->t, jump);
	memcpy(m_at(AT), jump, sizeof(jump));
}

static void begin(struct fixture *f)
{
	machine_start(&f->m);
	machine_get(&f->m, &f->start);
	machine_fill_vectors(&f->start, &f->seed);
	memcpy(m_at(AT), "\x48\x8d\x9b\x01\x00\x00\x00\xcc", 8); /* lea rbx, [rbx + 1]; int3 */
	ck_assert(code_plan_single(&code_mem, AT, &f->p));
	f->start.regs.orig_rax = UINT64_MAX;
}

static void randomize(struct fixture *f)
{
	static const uint32_t flags = 0x8d5 | 0x400; /* CF PF AF ZF SF OF DF */

	for (unsigned i = 0; i < 16; i++)
		*machine_gpr(&f->start.regs, i) = m_random(&f->seed) >> m_random(&f->seed) % 64;
	f->start.regs.rsp = M_STACK + 0x1000;
	f->start.regs.rip = AT;
	f->start.regs.eflags = 0x202 | (m_random(&f->seed) & flags);
	for (unsigned i = 0; i < M_MEM_SIZE; i += 8) {
		uint64_t v = m_random(&f->seed) >> m_random(&f->seed) % 64;

		memcpy(f->start.mem + i, &v, 8);
	}
}

static enum code_where rescue(struct fixture *f, struct mstate *s)
{
	return code_tramp_rescue(&f->p, &f->t, m_at(M_DATA), &s->regs);
}

static void expect_start(struct fixture *f, const char *where)
{
	const char *what;

	f->now.signo = f->start.signo;
	f->now.fault = f->start.fault;
	what = machine_differs(&f->start, &f->now);
	ck_assert_msg(!what, "%s: %s differs: flags %llx/%llx rax %llx/%llx", where, what, f->start.regs.eflags, f->now.regs.eflags,
		      f->start.regs.rax, f->now.regs.rax);
}

static void build(struct fixture *f, const struct writer *w)
{
	struct code_expr e;

	ck_assert_int_eq(code_expr_compile(w->code, w->n, &e), 0);
	ck_assert_int_eq(code_tramp_build_expr(&f->p, M_TRAMP, M_DATA, &e, &(struct code_hidden){ HIDDEN, HIDDEN_LEN }, 1, &f->t), 0);
	put_code(f);
}

static void run_one(struct fixture *f, const struct writer *w)
{
	static const int signals[] = { SIGTRAP, SIGTRAP, SIGTRAP, SIGSEGV, SIGFPE };
	enum verdict want = interpret(&f->start, w->code);
	uint64_t rip;

	build(f, w);
	machine_set(&f->m, &f->start);
	machine_run(&f->m, &f->now);
	rip = f->now.regs.rip;
	f->seen[want]++;
	ck_assert_msg(f->now.signo == signals[want], "signal %d at %llx, verdict %d", f->now.signo, f->now.regs.rip, want);
	if (want == V_FALSE) {
		ck_assert_uint_eq(rip, AT + LEN + 1);
		ck_assert_int_eq(rescue(f, &f->now), CODE_OUTSIDE);
		f->now.regs.rip = AT;
		f->now.regs.rbx--;
		expect_start(f, "false");
		return;
	}
	ck_assert_int_eq(rescue(f, &f->now), want == V_TRUE ? CODE_MATCHED : CODE_AT);
	expect_start(f, want == V_TRUE ? "true" : want == V_UNDECIDED ? "undecided" : "fault");
	if (want == V_TRUE)
		ck_assert_uint_eq(rip, f->t.match + 1);
	if (want == V_UNDECIDED)
		ck_assert_uint_eq(rip, f->t.undecided + 1);
	if (want <= V_UNDECIDED)
		ck_assert_uint_eq(code_tramp_origin(&f->p, &f->t, rip), AT);
	/* on behind it */
	f->now.regs.rip = f->t.copy[0];
	machine_set(&f->m, &f->now);
	machine_run(&f->m, &f->now);
	ck_assert_uint_eq(f->now.regs.rip, AT + LEN + 1);
	ck_assert_uint_eq(f->now.regs.rbx, f->start.regs.rbx + 1);
}

START_TEST(random_expressions)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct writer w = { .seed = &f->seed };

	f->seed = 20;
	begin(f);
	for (unsigned i = 0; i < 12000; i++) {
		if (i % 8 == 0)
			randomize(f);
		write_expression(&w);
		run_one(f, &w);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(f->seen); i++)
		ck_assert_msg(f->seen[i] > 100, "verdict %u: %u", i, f->seen[i]);
	machine_stop(&f->m);
	free(f);
}
END_TEST

/* Wherever in the trampoline it is interrupted, the guest's registers are known. */
START_TEST(every_step)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct writer w = { .seed = &f->seed };

	f->seed = 9;
	begin(f);
	for (unsigned i = 0; i < 300; i++) {
		enum code_where where = CODE_AT;
		unsigned steps = 0;

		randomize(f);
		write_expression(&w);
		build(f, &w);
		machine_set(&f->m, &f->start);
		ck_assert_int_eq(machine_go(&f->m, true), SIGTRAP); /* the jump */
		for (; where == CODE_AT; steps++) {
			uint64_t rip;
			int signo;

			machine_get(&f->m, &f->now);
			rip = f->now.regs.rip;
			where = rescue(f, &f->now);
			ck_assert_msg(where == CODE_AT || where == CODE_MATCHED || (where == CODE_BEHIND && rip == f->t.copy[0]), "%d", where);
			expect_start(f, "step");
			signo = machine_go(&f->m, true);
			if (signo != SIGTRAP || rip == f->t.undecided || rip == f->t.match)
				break;
		}
		ck_assert_uint_gt(steps, 6);
		if (where == CODE_BEHIND) {
			machine_get(&f->m, &f->now);
			ck_assert_int_eq(rescue(f, &f->now), CODE_BEHIND);
			ck_assert_uint_eq(f->now.regs.rip, AT + LEN);
		}
	}
	machine_stop(&f->m);
	free(f);
}
END_TEST

/* Whoever steps through it does not show in the flags. */
START_TEST(trap_flag)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct writer w = { .seed = &f->seed };
	unsigned steps = 0;

	f->seed = 2;
	begin(f);
	randomize(f);
	put(&w, 0x26, 17, 2);
	put(&w, 0x23, 0x100, 2);
	put(&w, 0x0f, 0, 0);
	put(&w, 0x27, 0, 0);
	build(f, &w);
	machine_set(&f->m, &f->start);
	do {
		ck_assert_int_eq(machine_go(&f->m, true), SIGTRAP);
		machine_get(&f->m, &f->now);
		ck_assert_uint_ne(f->now.regs.rip, f->t.match);
	} while (f->now.regs.rip != f->t.copy[0] && steps++ < 100);
	ck_assert_uint_eq(f->now.regs.rip, f->t.copy[0]);
	machine_stop(&f->m);
	free(f);
}
END_TEST

/* --- what is refused --- */

static int compile(const char *code, size_t n)
{
	struct code_expr e;

	return code_expr_compile((const uint8_t *)code, n, &e);
}
#define COMPILE(s) compile(s, sizeof(s) - 1)

START_TEST(refused)
{
	static uint8_t long_one[CODE_EXPR_BYTES_MAX + 2];

	ck_assert_int_eq(COMPILE("\x22\x01\x27"), 0);
	ck_assert_int_eq(COMPILE(""), -ENOTSUP);
	ck_assert_int_eq(COMPILE("\x27"), -ENOTSUP);                             /* no value */
	ck_assert_int_eq(COMPILE("\x22\x01"), -ENOTSUP);                         /* no end */
	ck_assert_int_eq(COMPILE("\x22"), -ENOTSUP);                             /* cut */
	ck_assert_int_eq(COMPILE("\x25\x01\x02\x03\x04\x05\x06\x07\x27"), -ENOTSUP);
	ck_assert_int_eq(COMPILE("\x22\x01\x02\x27"), -ENOTSUP);                 /* too few for add */
	ck_assert_int_eq(COMPILE("\x22\x01\x2b\x27"), -ENOTSUP);
	ck_assert_int_eq(COMPILE("\x22\x01\x28\x33\x27"), -ENOTSUP);
	ck_assert_int_eq(COMPILE("\x22\x01\x32\x01\x27"), -ENOTSUP);             /* picks below the bottom */
	ck_assert_int_eq(COMPILE("\x22\x01\x32\x00\x27"), 0);
	ck_assert_int_eq(COMPILE("\x26\x00\x11\x27"), 0);                        /* flags */
	ck_assert_int_eq(COMPILE("\x26\x00\x12\x27"), -ENOTSUP);                 /* cs */
	ck_assert_int_eq(COMPILE("\x26\x01\x00\x27"), -ENOTSUP);
	ck_assert_int_eq(COMPILE("\x22\x01\x1b\x27"), -ENOTSUP);                 /* float */
	ck_assert_int_eq(COMPILE("\x2c\x00\x01\x27"), -ENOTSUP);                 /* trace state variable */
	ck_assert_int_eq(COMPILE("\x22\x01\x0d\x08\x27"), -ENOTSUP);             /* trace */
	ck_assert_int_eq(COMPILE("\xff\x27"), -ENOTSUP);
	ck_assert_int_eq(COMPILE("\x22\x01\x16\x00\x27"), -ENOTSUP);
	ck_assert_int_eq(COMPILE("\x22\x01\x21\x00\x00\x27"), -ENOTSUP);         /* backwards */
	ck_assert_int_eq(COMPILE("\x22\x01\x21\x00\x02\x27"), -ENOTSUP);         /* to itself */
	ck_assert_int_eq(COMPILE("\x22\x01\x21\x00\x06\x27"), -ENOTSUP);         /* behind the end */
	ck_assert_int_eq(COMPILE("\x22\x01\x21\xff\xff\x27"), -ENOTSUP);
	ck_assert_int_eq(COMPILE("\x22\x01\x21\x00\x06\x22\x27\x27"), -ENOTSUP); /* into an operand */
	ck_assert_int_eq(COMPILE("\x22\x01\x28\x20\x00\x08\x22\x01\x27"), -ENOTSUP); /* two depths at one place */
	ck_assert_int_eq(COMPILE("\x22\x01\x28\x20\x00\x07\x0e\x27"), 0);
	/* too many values, operations, bytes */
	memset(long_one, 0x28, sizeof(long_one));
	memcpy(long_one, "\x22\x01", 2);
	long_one[2 + CODE_EXPR_DEPTH_MAX] = 0x27;
	ck_assert_int_eq(compile((char *)long_one, 3 + CODE_EXPR_DEPTH_MAX), -ENOTSUP);
	long_one[1 + CODE_EXPR_DEPTH_MAX] = 0x27;
	ck_assert_int_eq(compile((char *)long_one, 2 + CODE_EXPR_DEPTH_MAX), 0);
	memset(long_one, 0x0e, sizeof(long_one));
	memcpy(long_one, "\x22\x01", 2);
	long_one[CODE_EXPR_OPS_MAX] = 0x27;
	ck_assert_int_eq(compile((char *)long_one, CODE_EXPR_OPS_MAX + 1), 0);
	long_one[CODE_EXPR_OPS_MAX] = 0x0e;
	long_one[CODE_EXPR_OPS_MAX + 1] = 0x27;
	ck_assert_int_eq(compile((char *)long_one, CODE_EXPR_OPS_MAX + 2), -ENOTSUP);
	ck_assert_int_eq(compile((char *)long_one, sizeof(long_one)), -ENOTSUP);
}
END_TEST

/* From a stranger: whatever compiles can be built. */
START_TEST(garbage)
{
	struct code_plan p = { .at = 0x500000000000, .n = 1, .len = 7, .bytes = "\x48\x8d\x9b\x01\x00\x00\x00" };
	struct code_tramp *t = malloc(sizeof(*t));
	uint8_t bytes[64];
	struct code_expr e;
	struct code_hidden many[CODE_HIDDEN_MAX];
	uint64_t seed = 1;
	unsigned good = 0;

	for (unsigned i = 0; i < 300000; i++) {
		unsigned n = 2 + (unsigned)(m_random(&seed) % 40);

		for (unsigned k = 0; k < n; k++)
			bytes[k] = (uint8_t)(m_random(&seed) % (k % 3 ? 0x34 : 256));
		bytes[0] = 0x22;
		bytes[n - 1] = 0x27;
		if (code_expr_compile(bytes, n, &e) < 0)
			continue;
		good++;
		ck_assert_int_eq(code_tramp_build_expr(&p, p.at + 0x10000, p.at + 0x20000, &e, &(struct code_hidden){ p.at, 5 }, i % 2, t), 0);
		ck_assert_uint_le(t->n, CODE_TRAMP_MAX);
	}
	ck_assert_uint_gt(good, 100);
	/* the longest code there is */
	e = (struct code_expr){ .n = CODE_EXPR_OPS_MAX, .wants_flags = true };
	for (unsigned i = 0; i < CODE_EXPR_OPS_MAX; i++)
		e.op[i] = (struct code_expr_op){ .op = i == 0 ? 0x25 : i + 1 == CODE_EXPR_OPS_MAX ? 0x27 : 0x1a, .depth = i > 0, .value = 1ull << 50 };
	ck_assert_int_eq(code_tramp_build_expr(&p, p.at + 0x10000, p.at + 0x20000, &e, &(struct code_hidden){ p.at, 1ull << 40 }, 1, t), 0);
	ck_assert_uint_le(t->n, CODE_TRAMP_MAX);
	/* and with more than one range */
	for (unsigned i = 0; i < CODE_HIDDEN_MAX; i++)
		many[i] = (struct code_hidden){ p.at + i * 100000000000ull, 1ull << 33 };
	ck_assert_int_eq(code_tramp_build_expr(&p, p.at + 0x10000, p.at + 0x20000, &e, many, 2, t), -ERANGE);
	e.n = 10;
	e.op[9].op = 0x27;
	ck_assert_int_eq(code_tramp_build_expr(&p, p.at + 0x10000, p.at + 0x20000, &e, many, CODE_HIDDEN_MAX, t), 0);
	ck_assert_int_eq(code_tramp_build_expr(&p, p.at + 0x10000, p.at + 0x20000, &e, many, CODE_HIDDEN_MAX + 1, t), -ERANGE);
	e.n = CODE_EXPR_OPS_MAX;
	e.op[9].op = 0x1a;
	ck_assert_int_eq(code_tramp_build_expr(&p, p.at + 0x100000000, p.at + 0x20000, &e, &(struct code_hidden){ p.at, 5 }, 1, t), -ERANGE);
	ck_assert_int_eq(code_tramp_build_expr(&p, p.at + 0x10000, p.at + 0x100000000, &e, &(struct code_hidden){ p.at, 5 }, 1, t), -ERANGE);
	free(t);
}
END_TEST

/* --- cost --- */

/* As gdb compiles `i == 1000000` of a local int: a loop counts it up, and the condition is false until then. */
START_TEST(false_hits)
{
	enum { PASSES = 1000000 };
	static const uint8_t cond[] = "\x26\x00\x06\x22\x10\x02\x22\xec\x16\x08\x02\x19\x16\x20\x24\x00\x0f\x42\x40\x13\x27";
	static const uint8_t loop[] = "\x83\x45\xfc\x01\x90\x81\x7d\xfc\x41\x42\x0f\x00\x75\xf2\xcc"; /* AT: add [rbp-4], 1; nop; cmp; jne AT; int3 */
	struct fixture *f = calloc(1, sizeof(*f));
	struct timespec a, b;
	struct code_expr e;
	uint32_t i;
	double plain;

	f->seed = 1;
	begin(f);
	memset(f->start.mem, 0, 64);
	f->start.regs.rbp = M_MEM + 8; /* i at rbp - 4 */
	f->start.regs.rip = AT;
	f->start.regs.eflags = 0x202;
	memcpy(m_at(AT), loop, sizeof(loop) - 1);
	machine_set(&f->m, &f->start);
	clock_gettime(CLOCK_MONOTONIC, &a);
	machine_run(&f->m, &f->now);
	clock_gettime(CLOCK_MONOTONIC, &b);
	plain = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
	ck_assert(code_plan(&code_mem, AT, &f->p));
	ck_assert_int_eq(code_expr_compile(cond, sizeof(cond) - 1, &e), 0);
	ck_assert_int_eq(code_tramp_build_expr(&f->p, M_TRAMP, M_DATA, &e, &(struct code_hidden){ AT, CODE_JUMP_LEN }, 1, &f->t), 0);
	put_code(f);
	machine_set(&f->m, &f->start);
	clock_gettime(CLOCK_MONOTONIC, &a);
	machine_run(&f->m, &f->now);
	clock_gettime(CLOCK_MONOTONIC, &b);
	ck_assert_uint_eq(f->now.regs.rip, f->t.match + 1);
	memcpy(&i, f->now.mem + 4, 4);
	ck_assert_uint_eq(i, PASSES);
	plain = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec) - plain) / PASSES;
	printf("a condition that is false: %.1f ns\n", plain);
	ck_assert_msg(plain < 1000, "%g ns", plain);
	machine_stop(&f->m);
	free(f);
}
END_TEST

TEST_MAIN("engine_expr", random_expressions, every_step, trap_flag, refused, garbage, false_hits)
