/* What the values of terms mean. Names come from the tables of engine/ and store/. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "analysis/filter_priv.h"
#include "base/os.h"
#include "base/str.h"
#include "engine/sysprint.h"

#define SIGNAL_MAX 64
#define ERRNO_MAX 600

typedef int (*item_fn)(struct filter_term *t, const char *item, char text[160]);

static int why(char text[160], const char *fmt, ...) PRINTF_LIKE(2, 3);
static int why(char text[160], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, 160, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

bool filter_in_ranges(const struct filter_term *t, uint64_t v)
{
	for (size_t i = 0; i < t->n_ranges; i++)
		if (v >= t->range[i].lo && v <= t->range[i].hi)
			return true;
	return false;
}

static int add_range(struct filter_term *t, uint64_t lo, uint64_t hi)
{
	struct filter_range *more;

	if (t->n_ranges >= FILTER_RANGES_MAX)
		return -E2BIG;
	more = reallocarray(t->range, t->n_ranges + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	t->range = more;
	t->range[t->n_ranges++] = (struct filter_range){ lo, hi };
	return 0;
}

/* Calls fn for each item of a list with commas. */
static int each_item(struct filter_term *t, item_fn fn, char text[160])
{
	const char *s = t->value;
	char item[64];
	int r;

	for (;; s++) {
		size_t n = strcspn(s, ",");

		if (!n)
			return why(text, "a value is missing");
		if (n >= sizeof(item))
			return why(text, "'%.40s...' is too long", s);
		memcpy(item, s, n);
		item[n] = '\0';
		r = fn(t, item, text);
		if (r == -E2BIG)
			return why(text, "the list is too long");
		if (r < 0)
			return r;
		s += n;
		if (!*s)
			return 0;
	}
}

/* "a..b", "a..", "..b" or "a" into its halves; a half that is not there is "". False: it is no range. */
static bool split(const char *s, char lo[64], char hi[64])
{
	const char *dots = strstr(s, "..");

	if (strlen(s) >= 64)
		return false;
	snprintf(lo, 64, "%.*s", dots ? (int)(dots - s) : 63, s);
	snprintf(hi, 64, "%s", dots ? dots + 2 : s);
	return !dots || *lo || *hi;
}

static int item_number(struct filter_term *t, const char *item, char text[160])
{
	char lo[64], hi[64];
	uint64_t a = 0, b = UINT64_MAX;

	if (!split(item, lo, hi) || (*lo && str_parse_u64(lo, &a) < 0) || (*hi && str_parse_u64(hi, &b) < 0))
		return why(text, "'%.60s' is no number", item);
	if (a > b)
		return why(text, "'%.60s' begins behind its end", item);
	return add_range(t, a, b);
}

static int value_numbers(struct filter_term *t, char text[160])
{
	return each_item(t, item_number, text);
}

static const char *without_hash(const char *s)
{
	return *s == '#' ? s + 1 : s;
}

static int value_event_number(struct filter_term *t, char text[160])
{
	char lo[64], hi[64];
	uint64_t a = 0, b = UINT64_MAX;

	if (!split(without_hash(t->value), lo, hi) || (*lo && str_parse_u64(lo, &a) < 0) || (*hi && str_parse_u64(without_hash(hi), &b) < 0))
		return why(text, "'%.60s' is no event number or range", t->value);
	return a > b ? why(text, "'%.60s' begins behind its end", t->value) : add_range(t, a, b);
}

static int value_time(struct filter_term *t, char text[160])
{
	char lo[64], hi[64];
	uint64_t a = 0, b = UINT64_MAX;

	if (!strstr(t->value, "..") || !split(t->value, lo, hi) || (*lo && str_parse_duration(lo, &a) < 0) || (*hi && str_parse_duration(hi, &b) < 0))
		return why(text, "'%.60s' is no range of times like 1.2s..1.5s or ..10ms", t->value);
	return a > b ? why(text, "'%.60s' begins behind its end", t->value) : add_range(t, a, b);
}

static int value_duration(struct filter_term *t, char text[160])
{
	const char *s = t->value;
	bool less = *s == '<', more = *s == '>';
	uint64_t v;

	if (strstr(s, ".."))
		return value_time(t, text);
	s += less || more;
	s += (less || more) && *s == '=';
	if (str_parse_duration(s, &v) < 0)
		return why(text, "'%.60s' is no duration like >1ms", t->value);
	return less ? add_range(t, 0, v) : add_range(t, v, UINT64_MAX);
}

static int item_syscall(struct filter_term *t, const char *item, char text[160])
{
	bool found = false;

	for (uint32_t nr = 0; nr < SYS_TABLE_MAX; nr++) {
		const char *name = sys_row(nr)->name;

		if (*name == '?' || !filter_glob(item, name))
			continue;
		t->syscalls[nr / 64] |= 1ull << nr % 64;
		found = true;
	}
	return found ? 0 : why(text, "there is no system call '%.60s'", item);
}

static int value_syscall(struct filter_term *t, char text[160])
{
	return each_item(t, item_syscall, text);
}

static int item_errno(struct filter_term *t, const char *item, char text[160])
{
	uint64_t v;

	if (str_parse_u64(item, &v) == 0 && v > 0 && v < 4096)
		return add_range(t, v, v);
	for (int e = 1; e < ERRNO_MAX; e++) {
		const char *name = sysprint_errno(e);

		if (name && strcasecmp(name, item) == 0)
			return add_range(t, (uint64_t)e, (uint64_t)e);
	}
	return why(text, "there is no error '%.60s'", item);
}

static int value_errno(struct filter_term *t, char text[160])
{
	return each_item(t, item_errno, text);
}

static int item_signal(struct filter_term *t, const char *item, char text[160])
{
	uint64_t v;
	char name[24];

	if (str_parse_u64(item, &v) == 0 && v > 0 && v <= SIGNAL_MAX)
		return add_range(t, v, v);
	for (int s = 1; s <= SIGNAL_MAX; s++) {
		const char *full = sysprint_signal(s, name);

		if (strcasecmp(full, item) == 0 || (str_has_prefix(full, "SIG") && strcasecmp(full + 3, item) == 0))
			return add_range(t, (uint64_t)s, (uint64_t)s);
	}
	return why(text, "there is no signal '%.60s'", item);
}

static int value_signal(struct filter_term *t, char text[160])
{
	return each_item(t, item_signal, text);
}

#define CALL_KINDS (1u << EVENT_SYSCALL | 1u << EVENT_SYSCALL_ENTER | 1u << EVENT_SYSCALL_EXIT | 1u << EVENT_BIRTH)

static int item_kind(struct filter_term *t, const char *item, char text[160])
{
	if (strcmp(item, "call") == 0) {
		t->mask |= CALL_KINDS;
		return 0;
	}
	for (int k = 1; k < EVENT_MAX_; k++)
		if (strcmp(event_kind_name((enum event_kind)k), item) == 0) {
			t->mask |= 1u << k;
			return 0;
		}
	return why(text, "there is no kind of events '%.60s'", item);
}

static int value_kind(struct filter_term *t, char text[160])
{
	return each_item(t, item_kind, text);
}

static int item_class(struct filter_term *t, const char *item, char text[160])
{
	static const struct {
		const char *name;
		uint32_t flags;
	} classes[] = { { "file", SYS_F_FILE },	    { "net", SYS_F_NET },   { "proc", SYS_F_PROC }, { "mem", SYS_F_MEM },
			{ "signal", SYS_F_SIGNAL }, { "time", SYS_F_TIME }, { "ipc", SYS_F_IPC },   { "desc", SYS_F_DESC } };

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (strcmp(classes[i].name, item) == 0) {
			t->mask |= classes[i].flags;
			return 0;
		}
	return why(text, "there is no class '%.60s': file, net, proc, mem, signal, time, ipc, desc", item);
}

static int value_class(struct filter_term *t, char text[160])
{
	return each_item(t, item_class, text);
}

static int value_failed(struct filter_term *t, char text[160])
{
	static const char *const yes[] = { "", "failed", "1", "true", "yes" }, *const no[] = { "0", "false", "no" };

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		if (strcmp(t->value, yes[i]) == 0)
			return 0;
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		if (strcmp(t->value, no[i]) == 0) {
			t->negated = !t->negated;
			return 0;
		}
	return why(text, "'failed' takes no value '%.60s'", t->value);
}

static int value_text(struct filter_term *t, char text[160])
{
	if (!*t->value)
		return why(text, "the text is empty");
	t->lower = os_strdup(t->value);
	for (char *s = t->lower; s && *s; s++)
		*s = (char)((unsigned char)*s < 0x80 ? tolower((unsigned char)*s) : *s);
	return t->lower ? 0 : -ENOMEM;
}

static int value_path(struct filter_term *t, char text[160])
{
	return *t->value ? 0 : why(text, "the path is empty");
}

int filter_value(struct filter_term *t, char text[160])
{
	static int (*const values[FILTER_KEY_MAX_])(struct filter_term *t, char text[160]) = {
		[FILTER_TEXT] = value_text,	  [FILTER_SYSCALL] = value_syscall,    [FILTER_THREAD] = value_numbers, [FILTER_PID] = value_numbers,
		[FILTER_TID] = value_numbers,	  [FILTER_FD] = value_numbers,	       [FILTER_PATH] = value_path,	[FILTER_ERRNO] = value_errno,
		[FILTER_FAILED] = value_failed,	  [FILTER_SIGNAL] = value_signal,      [FILTER_KIND] = value_kind,	[FILTER_TIME] = value_time,
		[FILTER_NUMBER] = value_event_number, [FILTER_DUR] = value_duration,   [FILTER_CLASS] = value_class,
	};

	return values[t->key](t, text);
}
