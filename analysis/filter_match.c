/* Filters at work: see filter.h. Whether a name fits a pattern is found out once for each name; process and thread ids become sets of threads the same way. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/filter_priv.h"
#include "base/os.h"

enum { NOT_KNOWN, FITS, FITS_NOT };

struct filter_run {
	const struct filter *f;
	uint8_t *name_fits[FILTER_TERMS_MAX]; /* of path terms, by name; owned */
	uint32_t n_names[FILTER_TERMS_MAX];
};

int filter_run_new(const struct filter *f, struct filter_run **ret)
{
	struct filter_run *r = os_calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->f = f;
	*ret = r;
	return 0;
}

void filter_run_free(struct filter_run *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < FILTER_TERMS_MAX; i++)
		free(r->name_fits[i]);
	free(r);
}

/* The usual way: on a mismatch the last * takes one more character. */
static bool glob_whole(const char *p, const char *s)
{
	const char *star = NULL, *retry = NULL;

	while (*s) {
		if (*p == '*') {
			star = p++;
			retry = s;
		} else if (*p == '?' || *p == *s) {
			p++;
			s++;
		} else if (star) {
			p = star + 1;
			s = ++retry;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

bool filter_glob(const char *pattern, const char *path)
{
	if (glob_whole(pattern, path))
		return true;
	if (*pattern == '/' || *pattern == '*')
		return false;
	while ((path = strchr(path, '/'))) {
		path++;
		if (glob_whole(pattern, path))
			return true;
	}
	return false;
}

/* --- terms --- */

static int name_fits(struct filter_run *r, size_t term, const struct evindex_view *v, uint32_t name)
{
	uint8_t *more;
	uint32_t n;

	if (!name || name > v->n_names)
		return false;
	if (name >= r->n_names[term]) {
		n = v->n_names + v->n_names / 2 + 64;
		more = realloc(r->name_fits[term], n);
		if (!more)
			return -ENOMEM;
		memset(more + r->n_names[term], NOT_KNOWN, n - r->n_names[term]);
		r->name_fits[term] = more;
		r->n_names[term] = n;
	}
	if (r->name_fits[term][name] == NOT_KNOWN)
		r->name_fits[term][name] = filter_glob(r->f->term[term].value, evindex_name(v, name)) ? FITS : FITS_NOT;
	return r->name_fits[term][name] == FITS;
}

static int match_path(struct filter_run *r, size_t term, const struct evindex_view *v, const struct evindex_record *rec)
{
	int fits = 0;

	if (rec->kind == EVENT_NOTE)
		return FILTER_NO;
	for (size_t i = 0; i < ARRAY_SIZE(rec->name) && fits == 0; i++)
		fits = name_fits(r, term, v, rec->name[i]);
	return fits;
}

static int match_fd(const struct filter_term *t, const struct evindex_record *rec)
{
	bool large = false;

	for (size_t i = 0; i < ARRAY_SIZE(rec->fd); i++) {
		if (rec->fd[i] >= 0 && filter_in_ranges(t, (uint64_t)rec->fd[i]))
			return FILTER_YES;
		large = large || rec->fd[i] == EVINDEX_LARGE_FD;
	}
	return large || (rec->bits & EVINDEX_MORE_FDS) ? FILTER_LINE : FILTER_NO;
}

static bool has_sysno(uint8_t kind)
{
	return kind == EVENT_SYSCALL || kind == EVENT_SYSCALL_ENTER || kind == EVENT_SYSCALL_EXIT || kind == EVENT_BIRTH || kind == EVENT_RESTART ||
	       kind == EVENT_EXEC;
}

static bool match_sysno(const struct filter_term *t, const struct evindex_record *rec)
{
	if (!has_sysno(rec->kind) || rec->sysno >= SYS_TABLE_MAX)
		return false;
	if (t->key == FILTER_CLASS)
		return sys_row(rec->sysno)->flags & t->mask;
	return t->syscalls[rec->sysno / 64] >> rec->sysno % 64 & 1;
}

static bool match_thread(const struct filter_term *t, const struct evindex_view *v, const struct evindex_record *rec)
{
	const struct evindex_thread *thread = t->key == FILTER_THREAD ? NULL : evindex_thread(v, rec->thread);

	if (t->key == FILTER_THREAD)
		return filter_in_ranges(t, rec->thread);
	return thread && filter_in_ranges(t, (uint64_t)(t->key == FILTER_PID ? thread->pid : thread->tid));
}

static bool match_duration(const struct filter_term *t, const struct evindex_view *v, uint64_t number, const struct evindex_record *rec)
{
	return rec->kind == EVENT_SYSCALL_EXIT && rec->partner && filter_in_ranges(t, evindex_duration(v, number));
}

static int match_term(struct filter_run *r, size_t term, const struct evindex_view *v, uint64_t number, const struct evindex_record *rec)
{
	const struct filter_term *t = &r->f->term[term];

	switch (t->key) {
	case FILTER_TEXT:
		return FILTER_LINE;
	case FILTER_SYSCALL:
	case FILTER_CLASS:
		return match_sysno(t, rec);
	case FILTER_THREAD:
	case FILTER_PID:
	case FILTER_TID:
		return match_thread(t, v, rec);
	case FILTER_FD:
		return match_fd(t, rec);
	case FILTER_PATH:
		return match_path(r, term, v, rec);
	case FILTER_ERRNO:
		return (rec->bits & EVINDEX_FAILED) && filter_in_ranges(t, (uint64_t)-rec->result);
	case FILTER_FAILED:
		return (rec->bits & EVINDEX_FAILED) != 0;
	case FILTER_SIGNAL:
		return rec->kind == EVENT_SIGNAL && filter_in_ranges(t, rec->sysno);
	case FILTER_KIND:
		return rec->kind < EVENT_MAX_ && (t->mask >> rec->kind & 1);
	case FILTER_TIME:
		return filter_in_ranges(t, rec->time_ns);
	case FILTER_NUMBER:
		return filter_in_ranges(t, number);
	case FILTER_DUR:
		return match_duration(t, v, number, rec);
	case FILTER_KEY_MAX_:
		break;
	}
	return FILTER_NO;
}

int filter_record(struct filter_run *r, const struct evindex_view *v, uint64_t number)
{
	const struct evindex_record *rec = evindex_at(v, number);
	int verdict = FILTER_YES;

	for (size_t i = 0; rec && i < r->f->n; i++) {
		int one = match_term(r, i, v, number, rec);

		if (one < 0)
			return one;
		if (one == FILTER_LINE)
			verdict = FILTER_LINE;
		else if ((one == FILTER_YES) == r->f->term[i].negated)
			return FILTER_NO;
	}
	return rec ? verdict : FILTER_NO;
}

/* --- lines --- */

static bool contains(const char *line, size_t n, const char *lower)
{
	size_t len = strlen(lower);

	for (size_t i = 0; i + len <= n; i++) {
		size_t k = 0;

		while (k < len && (char)tolower((unsigned char)line[i + k]) == lower[k])
			k++;
		if (k == len)
			return true;
	}
	return false;
}

/* Does the number at line[i] stand where descriptors do: as the first argument, in brackets (sets, fd=N), and of one that is too large for records: as any argument or result? */
static bool may_be_fd(const char *line, size_t i, bool brackets, bool large)
{
	if (brackets)
		return line[i - 1] != '=' || (i > 1 && line[i - 2] == 'd');
	return line[i - 1] == '(' || (large && line[i - 1] == ' ');
}

static bool shows_fd(const struct filter_term *t, const char *line, size_t n, bool large)
{
	bool brackets = false;

	for (size_t i = 0; i < n; i++) {
		uint64_t v = 0;
		size_t k = i;

		brackets = line[i] == '[' || (brackets && line[i] != ']');
		if (!isdigit((unsigned char)line[i]) || !i || isalnum((unsigned char)line[i - 1]))
			continue;
		while (k < n && isdigit((unsigned char)line[k]) && v < UINT32_MAX)
			v = v * 10 + (uint64_t)(line[k++] - '0');
		if (may_be_fd(line, i, brackets, large) && filter_in_ranges(t, v))
			return true;
		i = k - 1;
	}
	return false;
}

bool filter_line(const struct filter_run *r, const struct evindex_view *v, uint64_t number, const char *line, size_t n)
{
	const struct evindex_record *rec = evindex_at(v, number);

	for (size_t i = 0; rec && i < r->f->n; i++) {
		const struct filter_term *t = &r->f->term[i];
		bool fits;

		if (t->key == FILTER_TEXT)
			fits = contains(line, n, t->lower);
		else if (t->key == FILTER_FD)
			fits = match_fd(t, rec) == FILTER_YES || shows_fd(t, line, n, rec->fd[0] == EVINDEX_LARGE_FD || rec->fd[1] == EVINDEX_LARGE_FD);
		else
			continue; /* filter_record() has looked at it */
		if (fits == t->negated)
			return false;
	}
	return rec != NULL;
}
