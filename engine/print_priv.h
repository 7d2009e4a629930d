/* What the printing files share: the state of one print, and small printers of numbers, strings and names.
 *
 * print_<decoder>() shows one structure of structs.def: p is the state, d its bytes as far as they could be read.
 * Fields beyond the end read as zero: a recording may hold less than the structure.
 */
#ifndef ENGINE_PRINT_PRIV_H
#define ENGINE_PRINT_PRIV_H

#include <string.h>
#include "engine/guestmem_priv.h"
#include "engine/sysnames_priv.h"
#include "engine/sysprint.h"

struct printer {
	struct buf *out;
	const struct sys_call *call;
	const struct sys_resolved *res;
	const struct sys_row *row;
	const struct sys_mem *entry, *exit;
	const struct sys_mem *mem; /* entry or exit: where the bytes being printed are */
	bool at_exit;              /* it is exit */
	uint64_t addr;             /* of the structure being printed */
	bool has_result;
	int64_t result;
	uint32_t string_max, array_max;
	struct buf scratch; /* for whole buffers */
	struct sysprint_parts *parts; /* may be NULL */
};

/* Bytes of a structure. */
struct data {
	const uint8_t *p;
	size_t n;
};

static inline uint64_t data_uint(struct data d, size_t at, size_t size)
{
	uint64_t v = 0;

	if (at <= d.n && size <= d.n - at)
		memcpy(&v, d.p + at, size);
	return v;
}

static inline uint64_t u64_at(struct data d, size_t at)
{
	return data_uint(d, at, 8);
}

static inline uint32_t u32_at(struct data d, size_t at)
{
	return (uint32_t)data_uint(d, at, 4);
}

static inline int32_t i32_at(struct data d, size_t at)
{
	return (int32_t)u32_at(d, at);
}

static inline uint16_t u16_at(struct data d, size_t at)
{
	return (uint16_t)data_uint(d, at, 2);
}

/* The rest of d from `at`. */
static inline struct data data_from(struct data d, size_t at)
{
	at = MIN(at, d.n);
	return (struct data){ d.p + at, d.n - at };
}

/* print_base.c */
void print_addr(struct printer *p, uint64_t addr);                       /* NULL, 0x7ffe... */
void print_hex(struct printer *p, uint64_t v);                           /* 0, 0x10 */
void print_flags(struct printer *p, enum sys_names table, uint64_t v);   /* A|B|0x4 */
void print_enum(struct printer *p, enum sys_names table, uint64_t v);    /* A, or the number in hex */
void print_mode(struct printer *p, uint32_t mode);                       /* S_IFREG|0644 */
void print_dev(struct printer *p, uint64_t dev);                         /* makedev(0x88, 0x1) */
void print_id(struct printer *p, uint32_t id);                           /* user or group; -1 */
void print_dirfd(struct printer *p, int32_t fd);                         /* AT_FDCWD */
void print_quoted(struct printer *p, const uint8_t *s, size_t n);        /* "abc\n" */
void print_text(struct printer *p, const uint8_t *s, size_t max);        /* "abc": up to NUL */
/* n bytes at addr in p->mem, at most string_max of them: "abc"...; the address when they cannot be read. */
void print_bytes(struct printer *p, uint64_t addr, uint64_t n);
/* The string at addr in p->mem, at most max characters. */
void print_string(struct printer *p, uint64_t addr, size_t max);
/* One structure of a type at addr: {...}, or the address. size: bytes there, may be smaller or larger than the type. */
void print_struct_at(struct printer *p, enum sys_struct type, uint64_t addr, uint64_t size);
/* Size of one; 0 when it is no structure. */
uint64_t print_struct_size(enum sys_struct type);
/* n bytes at addr as a vector of structures: [{...}, {...}]. */
void print_vector_at(struct printer *p, enum sys_struct type, uint64_t addr, uint64_t n);
void print_sigset_bits(struct printer *p, uint64_t set); /* [INT CHLD], ~[KILL] */
void print_signal(struct printer *p, int signo);
/* Comma-separated elements: call before each one; false when array_max is reached ("..." was printed). */
bool print_next(struct printer *p, uint64_t i);

/* print_net.c */
void print_sockaddr(struct printer *p, uint64_t addr, uint64_t len);
void print_msghdr(struct printer *p, uint64_t addr, bool received, uint64_t bytes);
void print_mmsg(struct printer *p, uint64_t addr, uint64_t count, bool received);
void print_option_name(struct printer *p);
void print_option_value(struct printer *p, uint64_t addr, uint64_t len);
/* print_base.c: iovecs at addr. bytes: how many of the first ones hold data, in order; data false: only the addresses. */
void print_iov(struct printer *p, uint64_t addr, uint64_t count, bool data, uint64_t bytes);
/* print_signal.c: what is inside the braces, from si_code on. */
void print_siginfo_fields(struct printer *p, struct data d);

#define STRUCT(name, decoder, size) void print_##decoder(struct printer *p, struct data d);
#define NUMBERS(name, decoder, size) void print_##decoder(struct printer *p, struct data d);
#define WHOLE(name, decoder) void print_##decoder(struct printer *p, struct data d);
#include "engine/structs.def"
#undef STRUCT
#undef NUMBERS
#undef WHOLE

#endif
