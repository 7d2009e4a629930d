/* Small printers: numbers, names, strings, structures and vectors at an address. */
#include "engine/print_priv.h"

#include <stdio.h>

#define STRUCT_MAX 512u        /* bytes of the largest plain structure (USER_FPREGS) */
#define WHOLE_MAX (128u << 10) /* bytes of a list of records or of a set */

enum form { FORM_NONE, FORM_ONE, FORM_ALL };

static const struct {
	enum form form;
	uint16_t size;
	void (*print)(struct printer *p, struct data d);
} types[SYS_STRUCT_MAX_] = {
#define STRUCT(name, decoder, bytes) [SYS_STRUCT_##name] = { FORM_ONE, bytes, print_##decoder },
#define NUMBERS(name, decoder, bytes) [SYS_STRUCT_##name] = { FORM_ALL, bytes, print_##decoder },
#define WHOLE(name, decoder) [SYS_STRUCT_##name] = { FORM_ALL, 1, print_##decoder },
#include "engine/structs.def"
#undef STRUCT
#undef NUMBERS
#undef WHOLE
};

void print_addr(struct printer *p, uint64_t addr)
{
	if (addr)
		buf_printf(p->out, "%#lx", addr);
	else
		buf_put(p->out, "NULL", 4);
}

void print_hex(struct printer *p, uint64_t v)
{
	buf_printf(p->out, "%#lx", v);
}

void print_flags(struct printer *p, enum sys_names table, uint64_t v)
{
	sys_names_put_flags(p->out, table, v);
}

void print_enum(struct printer *p, enum sys_names table, uint64_t v)
{
	const char *name = sys_name_of(table, v);

	if (name)
		buf_printf(p->out, "%s", name);
	else
		print_hex(p, v);
}

void print_mode(struct printer *p, uint32_t mode)
{
	const char *type = sys_name_of(SYS_NAMES_MODE_TYPE, mode & 0170000);

	buf_printf(p->out, "%s%s", type ? type : "", type ? "|" : "");
	if (!type && mode & 0170000)
		buf_printf(p->out, "%#o|", mode & 0170000);
	for (uint32_t bit = 04000; bit > 0400; bit >>= 1)
		if (mode & bit)
			buf_printf(p->out, "%s|", sys_name_of(SYS_NAMES_MODE_TYPE, bit));
	buf_printf(p->out, "%#03o", mode & 0777);
}

/* The kernel's encoding for user space: low 8 bits of minor, 12 of major, the other 12 and 20 bits above. */
void print_dev(struct printer *p, uint64_t dev)
{
	buf_printf(p->out, "makedev(%#lx, %#lx)", (dev >> 8 & 0xfff) | (dev >> 32 & ~0xffful), (dev & 0xff) | (dev >> 12 & 0xffffff00));
}

void print_id(struct printer *p, uint32_t id)
{
	if (id == UINT32_MAX)
		buf_put(p->out, "-1", 2);
	else
		buf_printf(p->out, "%u", id);
}

void print_dirfd(struct printer *p, int32_t fd)
{
	if (fd == -100)
		buf_put(p->out, "AT_FDCWD", 8);
	else
		buf_printf(p->out, "%d", fd);
}

static void put_escaped(struct buf *out, uint8_t c, bool digit_follows)
{
	static const char escapes[256] = { ['"'] = '"', ['\\'] = '\\', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't', ['\v'] = 'v' };

	if (escapes[c])
		buf_printf(out, "\\%c", escapes[c]);
	else if (c >= 0x20 && c < 0x7f)
		buf_put_u8(out, c);
	else
		buf_printf(out, digit_follows ? "\\%03o" : "\\%o", c);
}

void print_quoted(struct printer *p, const uint8_t *s, size_t n)
{
	buf_put_u8(p->out, '"');
	for (size_t i = 0; i < n; i++)
		put_escaped(p->out, s[i], i + 1 < n && s[i + 1] >= '0' && s[i + 1] <= '9');
	buf_put_u8(p->out, '"');
}

void print_text(struct printer *p, const uint8_t *s, size_t max)
{
	print_quoted(p, s, strnlen((const char *)s, max));
}

/* As many of the n bytes as there are; a recording may keep only the first ones. */
static size_t read_prefix(const struct sys_mem *mem, uint64_t addr, uint8_t *to, size_t n)
{
	size_t got = 0;

	if (sys_mem_read(mem, addr, to, n) >= 0)
		return n;
	for (size_t step = 64; step; step = step == 64 ? 1 : 0)
		while (got + step <= n && sys_mem_read(mem, addr + got, to + got, step) >= 0)
			got += step;
	return got;
}

/* Reads into the scratch buffer; *ret is what could be read. */
static bool read_scratch(struct printer *p, uint64_t addr, uint64_t n, struct data *ret)
{
	uint8_t *to;

	buf_clear(&p->scratch);
	if (!n) {
		*ret = (struct data){ (const uint8_t *)"", 0 };
		return true;
	}
	to = buf_extend(&p->scratch, n);
	if (!to)
		return false;
	ret->p = to;
	ret->n = read_prefix(p->mem, addr, to, n);
	return ret->n > 0;
}

void print_bytes(struct printer *p, uint64_t addr, uint64_t n)
{
	struct data d;

	if (!addr || !read_scratch(p, addr, MIN(n, (uint64_t)p->string_max), &d)) {
		print_addr(p, addr);
		return;
	}
	print_quoted(p, d.p, d.n);
	if (d.n < n)
		buf_put(p->out, "...", 3);
}

void print_string(struct printer *p, uint64_t addr, size_t max)
{
	size_t n = addr ? sys_string_length(p->mem, addr, max + 1) : 0;
	struct data d;

	if (!n || !read_scratch(p, addr, n, &d)) {
		print_addr(p, addr);
		return;
	}
	if (!d.p[d.n - 1]) {
		print_quoted(p, d.p, d.n - 1);
	} else {
		print_quoted(p, d.p, MIN(d.n, max));
		buf_put(p->out, "...", 3);
	}
}

bool print_next(struct printer *p, uint64_t i)
{
	if (i)
		buf_put(p->out, ", ", 2);
	if (i < p->array_max)
		return true;
	buf_put(p->out, "...", 3);
	return false;
}

static void print_whole(struct printer *p, enum sys_struct type, uint64_t addr, uint64_t n)
{
	struct data d;

	p->addr = addr;
	if (addr && read_scratch(p, addr, MIN(n, (uint64_t)WHOLE_MAX), &d))
		types[type].print(p, d);
	else
		print_addr(p, addr);
}

void print_struct_at(struct printer *p, enum sys_struct type, uint64_t addr, uint64_t size)
{
	uint8_t bytes[STRUCT_MAX];
	size_t n = MIN(size, (uint64_t)sizeof(bytes));

	if (types[type].form == FORM_ALL) {
		print_whole(p, type, addr, size);
		return;
	}
	if (addr && types[type].form != FORM_NONE)
		n = read_prefix(p->mem, addr, bytes, n);
	if (!addr || !n || types[type].form == FORM_NONE) {
		print_addr(p, addr);
		return;
	}
	p->addr = addr;
	types[type].print(p, (struct data){ bytes, n });
}

uint64_t print_struct_size(enum sys_struct type)
{
	return types[type].form == FORM_ONE ? types[type].size : 0;
}

void print_vector_at(struct printer *p, enum sys_struct type, uint64_t addr, uint64_t n)
{
	uint64_t size = types[type].size;
	uint8_t first;

	if (types[type].form != FORM_ONE) {
		print_struct_at(p, type, addr, n);
		return;
	}
	if (!addr || (n && sys_mem_read(p->mem, addr, &first, 1) < 0)) {
		print_addr(p, addr);
		return;
	}
	buf_put_u8(p->out, '[');
	for (uint64_t i = 0; i < n / size && print_next(p, i); i++) {
		if (sys_mem_read(p->mem, addr + i * size, &first, 1) < 0) {
			buf_put(p->out, "...", 3);
			break;
		}
		print_struct_at(p, type, addr + i * size, size);
	}
	buf_put_u8(p->out, ']');
}

void print_iov(struct printer *p, uint64_t addr, uint64_t count, bool data, uint64_t bytes)
{
	struct iovec64 v;

	if (!addr || (count && sys_mem_read(p->entry, addr, &v, sizeof(v)) < 0)) {
		print_addr(p, addr);
		return;
	}
	buf_put_u8(p->out, '[');
	for (uint64_t i = 0; i < count && print_next(p, i); i++) {
		if (sys_mem_read(p->entry, addr + i * sizeof(v), &v, sizeof(v)) < 0) {
			buf_put(p->out, "...", 3);
			break;
		}
		buf_put(p->out, "{iov_base=", 10);
		if (data)
			print_bytes(p, v.base, MIN(v.len, bytes));
		else
			print_addr(p, v.base);
		buf_printf(p->out, ", iov_len=%lu}", v.len);
		bytes -= MIN(v.len, bytes);
	}
	buf_put_u8(p->out, ']');
}

void print_raw(struct printer *p, struct data d)
{
	print_quoted(p, d.p, MIN(d.n, p->string_max));
	if (d.n > p->string_max)
		buf_put(p->out, "...", 3);
}

/* Numbers of one width; how: printf format of one, in brackets all together. */
#define PRINT_NUMBERS(decoder, type, format) \
	void print_##decoder(struct printer *p, struct data d) \
	{ \
		buf_put_u8(p->out, '['); \
		for (size_t i = 0; i < d.n / sizeof(type) && print_next(p, i); i++) \
			buf_printf(p->out, format, (type)data_uint(d, i * sizeof(type), sizeof(type))); \
		buf_put_u8(p->out, ']'); \
	}
PRINT_NUMBERS(ints, int32_t, "%d")
PRINT_NUMBERS(fds, int32_t, "%d")
PRINT_NUMBERS(uints, uint32_t, "%u")
PRINT_NUMBERS(hex32s, uint32_t, "%#x")
PRINT_NUMBERS(u16s, uint16_t, "%u")
PRINT_NUMBERS(longs, int64_t, "%ld")
PRINT_NUMBERS(u64s, uint64_t, "%lu")
PRINT_NUMBERS(hex64s, uint64_t, "%#lx")

void print_name16(struct printer *p, struct data d)
{
	print_text(p, d.p, d.n);
}

void print_iovec(struct printer *p, struct data d)
{
	buf_printf(p->out, "{iov_base=%#lx, iov_len=%lu}", u64_at(d, 0), u64_at(d, 8));
}
