/* See str.h. */
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct unit {
	const char *name;
	uint64_t factor;
};

#define NS_PER_S 1000000000ull

/* Bytes that no shell gives a meaning to. A word of these alone needs no quotes. */
static bool is_plain(unsigned char c)
{
	return isalnum(c) || (c && strchr("_-./,:=@%+^", c));
}

void buf_put_shell_quoted(struct buf *b, const char *s)
{
	size_t n = strlen(s), plain = 0;

	while (plain < n && is_plain((unsigned char)s[plain]))
		plain++;
	if (n > 0 && plain == n) {
		buf_put(b, s, n);
		return;
	}
	buf_put_u8(b, '\'');
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\'')
			buf_put(b, "'\\''", 4);
		else
			buf_put(b, &s[i], 1);
	}
	buf_put_u8(b, '\'');
}

void buf_put_shell_argv(struct buf *b, const char *const *argv)
{
	for (size_t i = 0; argv[i]; i++) {
		if (i > 0)
			buf_put_u8(b, ' ');
		buf_put_shell_quoted(b, argv[i]);
	}
}

/* value/factor with one decimal below ten: "9.9", "12", "999". */
static void put_scaled(struct buf *b, uint64_t value, uint64_t factor, const char *unit)
{
	uint64_t tenths = value / factor * 10 + value % factor * 10 / factor;

	if (tenths < 100 && factor > 1)
		buf_printf(b, "%llu.%llu %s", (unsigned long long)tenths / 10, (unsigned long long)tenths % 10, unit);
	else
		buf_printf(b, "%llu %s", (unsigned long long)tenths / 10, unit);
}

void buf_put_size(struct buf *b, uint64_t bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(names) && bytes >> (10 * i) >= 1000)
		i++;
	/* 1000 KiB is shown as 0.9 MiB */
	put_scaled(b, bytes, 1ull << (10 * i), names[i]);
}

void buf_put_duration(struct buf *b, uint64_t ns)
{
	uint64_t s = ns / NS_PER_S;

	if (ns < 1000)
		put_scaled(b, ns, 1, "ns");
	else if (ns < 1000000)
		put_scaled(b, ns, 1000, "us");
	else if (ns < NS_PER_S)
		put_scaled(b, ns, 1000000, "ms");
	else if (s < 60)
		put_scaled(b, ns, NS_PER_S, "s");
	else if (s < 3600)
		buf_printf(b, "%llu min %llu s", (unsigned long long)s / 60, (unsigned long long)s % 60);
	else
		buf_printf(b, "%llu h %llu min", (unsigned long long)s / 3600, (unsigned long long)s / 60 % 60);
}

void buf_put_rfc3339(struct buf *b, uint64_t wall_ns)
{
	time_t t = (time_t)(MIN(wall_ns / NS_PER_S, (uint64_t)253402300799)); /* the end of 9999 */
	struct tm tm;

	if (gmtime_r(&t, &tm))
		buf_printf(b, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			   tm.tm_sec, (int)(wall_ns % NS_PER_S / 1000000));
}

void buf_put_printable(struct buf *b, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '\n')
			buf_put(b, "\\n", 2);
		else if (c == '\t')
			buf_put(b, "\\t", 2);
		else if (c < 0x20 || c == 0x7f)
			buf_printf(b, "\\x%02x", c);
		else
			buf_put(b, s, 1);
	}
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* Digits at *s into *ret, *s moves behind them. */
static int take_digits(const char **s, unsigned base, uint64_t *ret)
{
	const char *p = *s;
	uint64_t v = 0;

	for (; digit_value(*p) < (int)base; p++) {
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) || __builtin_add_overflow(v, (uint64_t)digit_value(*p), &v))
			return -ERANGE;
	}
	if (p == *s)
		return -EINVAL;
	*s = p;
	*ret = v;
	return 0;
}

int str_parse_u64(const char *s, uint64_t *ret)
{
	unsigned base = s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 16 : 10;
	uint64_t v;
	int r;

	if (base == 16)
		s += 2;
	r = take_digits(&s, base, &v);
	if (r < 0)
		return r;
	if (*s != '\0')
		return -EINVAL;
	*ret = v;
	return 0;
}

int str_parse_i64(const char *s, int64_t *ret)
{
	bool negative = *s == '-';
	uint64_t v;
	int r = str_parse_u64(s + negative, &v);

	if (r < 0)
		return r;
	if (v > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*ret = negative ? (int64_t)(0 - v) : (int64_t)v;
	return 0;
}

static const struct unit *find_unit(const struct unit *units, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcasecmp(units[i].name, name) == 0)
			return &units[i];
	}
	return NULL;
}

/* NUMBER[.DIGITS]UNIT in the unit's parts. Decimals beyond the ninth are dropped. */
static int parse_with_unit(const char *s, const struct unit *units, size_t n_units, uint64_t *ret)
{
	uint64_t whole, fraction = 0, scale = 1, value;
	const struct unit *u;
	int r = take_digits(&s, 10, &whole);

	if (r < 0)
		return r;
	if (*s == '.') {
		s++;
		if (digit_value(*s) > 9)
			return -EINVAL;
		for (; digit_value(*s) <= 9; s++) {
			if (scale == 1000000000)
				continue;
			fraction = fraction * 10 + (uint64_t)digit_value(*s);
			scale *= 10;
		}
	}
	u = find_unit(units, n_units, s);
	if (!u)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, u->factor, &value))
		return -ERANGE;
	/* 128 bits: fraction < 10^9 times a factor of up to 2^42 */
	fraction = (uint64_t)((unsigned __int128)fraction * u->factor / scale);
	if (__builtin_add_overflow(value, fraction, &value))
		return -ERANGE;
	*ret = value;
	return 0;
}

int str_parse_size(const char *s, uint64_t *ret)
{
	static const struct unit units[] = {
		{ "", 1 }, { "B", 1 },
		{ "K", 1ull << 10 }, { "KB", 1ull << 10 }, { "KiB", 1ull << 10 },
		{ "M", 1ull << 20 }, { "MB", 1ull << 20 }, { "MiB", 1ull << 20 },
		{ "G", 1ull << 30 }, { "GB", 1ull << 30 }, { "GiB", 1ull << 30 },
		{ "T", 1ull << 40 }, { "TB", 1ull << 40 }, { "TiB", 1ull << 40 },
	};

	return parse_with_unit(s, units, ARRAY_SIZE(units), ret);
}

int str_parse_duration(const char *s, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{ "", NS_PER_S }, { "s", NS_PER_S }, { "sec", NS_PER_S },
		{ "ms", 1000000 }, { "us", 1000 }, { "ns", 1 },
		{ "m", 60 * NS_PER_S }, { "min", 60 * NS_PER_S },
		{ "h", 3600 * NS_PER_S }, { "d", 86400 * NS_PER_S },
	};

	return parse_with_unit(s, units, ARRAY_SIZE(units), ret_ns);
}

bool str_has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

uint64_t str_hash(uint64_t h, const void *p, size_t n)
{
	const uint8_t *at = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ at[i]) * UINT64_C(0x100000001b3);
	return h;
}

static bool is_formula(const char *s, size_t n)
{
	return n && *s && strchr("=+-@\t\r\n", *s) && !(n > 1 && *s == '-' && s[1] >= '0' && s[1] <= '9');
}

void buf_put_csv(struct buf *b, const char *s, size_t n)
{
	bool formula = is_formula(s, n), quote = formula;

	for (size_t i = 0; i < n && !quote; i++)
		quote = strchr(",\"\r\n", s[i]);
	if (!quote) {
		buf_put(b, s, n);
		return;
	}
	buf_put_u8(b, '"');
	if (formula)
		buf_put_u8(b, '\'');
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"')
			buf_put_u8(b, '"');
		buf_put_u8(b, (uint8_t)s[i]);
	}
	buf_put_u8(b, '"');
}

void buf_put_percent(struct buf *b, const char *s)
{
	for (; *s; s++) {
		if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || strchr("-._~", *s))
			buf_put(b, s, 1);
		else
			buf_printf(b, "%%%02X", (unsigned char)*s);
	}
}

unsigned str_utf8(const char *s)
{
	const uint8_t *p = (const uint8_t *)s;
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
	uint32_t c;

	if (n < 2)
		return n;
	c = p[0] & (0xffu >> (n + 1));
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

/* Length of a character that may go to a terminal as it is; 0 for control characters (C0, DEL, C1), bidirectional overrides and broken UTF-8. */
static unsigned printable(const char *s)
{
	const uint8_t *p = (const uint8_t *)s;
	unsigned n = str_utf8(s);

	if (n == 1)
		return *p >= 0x20 && *p != 0x7f;
	if (n == 2 && p[0] == 0xc2 && p[1] < 0xa0)
		return 0;
	/* U+200E..U+200F, U+2028..U+202E, U+2066..U+2069 reorder or break the line */
	if (n == 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae)))
		return 0;
	if (n == 3 && p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)
		return 0;
	return n;
}

void buf_put_safe(struct buf *b, const char *s)
{
	unsigned n;

	for (; *s; s += n ? n : 1) {
		n = printable(s);
		if (n)
			buf_put(b, s, n);
		else
			buf_printf(b, "\\x%02x", (uint8_t)*s);
	}
}
