/* See text_priv.h. */
#include "web/text_priv.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "base/str.h"

#define REQUEST_ID_MAX 64

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* Digits at *s as a number, saturating. False: there are none. */
static bool get_number(const char **s, uint64_t *ret)
{
	const char *p = *s;
	uint64_t v = 0;

	for (; isdigit((unsigned char)*p); p++) {
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			v = UINT64_MAX;
	}
	if (p == *s)
		return false;
	*s = p;
	*ret = v;
	return true;
}

int text_range(const char *header, uint64_t n, uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t first = 0, last = UINT64_MAX;
	bool has_first, has_last;
	const char *s = header;

	if (!s || strncasecmp(s, "bytes=", 6) != 0)
		return 0;
	s = skip_blanks(s + 6);
	has_first = get_number(&s, &first);
	if (*s++ != '-')
		return 0;
	has_last = get_number(&s, &last);
	if (*skip_blanks(s) || (!has_first && !has_last) || (has_first && has_last && last < first))
		return 0;
	if (!has_first) { /* the last so many */
		if (last == 0 || n == 0)
			return ERR_LIMIT;
		first = last < n ? n - last : 0;
		last = n - 1;
	}
	if (first >= n)
		return ERR_LIMIT;
	*ret_first = first;
	*ret_last = MIN(last, n - 1);
	return 1;
}

bool text_etag_match(const char *list, const char *etag, bool strong)
{
	const size_t len = strlen(etag);
	const char *s = skip_blanks(list);

	if (strcmp(s, "*") == 0)
		return true;
	while (*s) {
		bool weak = strncmp(s, "W/", 2) == 0;
		const char *tag = weak ? s + 2 : s, *end;

		if (*tag != '"')
			return false;
		end = strchr(tag + 1, '"');
		if (!end)
			return false;
		if ((size_t)(end + 1 - tag) == len && memcmp(tag, etag, len) == 0 && !(weak && strong))
			return true;
		s = skip_blanks(end + 1);
		if (*s == ',')
			s = skip_blanks(s + 1);
	}
	return false;
}

/* The next element of a list "a;q=0.5, b": its name and its quality in thousandths. False at the end. */
static bool next_element(const char **s, const char **ret_name, size_t *ret_len, unsigned *ret_q)
{
	const char *p = *s + strspn(*s, " \t,"), *end = p + strcspn(p, ",");
	const char *q = p;

	if (!*p)
		return false;
	*ret_name = p;
	*ret_len = strcspn(p, ";, \t");
	*ret_q = 1000;
	while ((q = memchr(q, ';', (size_t)(end - q)))) {
		q = skip_blanks(q + 1);
		if (strncasecmp(q, "q=", 2) == 0) {
			unsigned scale = 1000;

			q += 2;
			*ret_q = *q == '1' ? 1000 : 0;
			if (isdigit((unsigned char)*q) && q[1] == '.') {
				for (q += 2; isdigit((unsigned char)*q) && scale > 1 && *ret_q < 1000; q++)
					*ret_q += (scale /= 10) * (unsigned)(*q - '0');
			}
			break;
		}
	}
	*s = end;
	return true;
}

/* How well a range of types fits: 3 the type, 2 "text" + "/" + "*", 1 anything, 0 not at all. */
static int fits(const char *range, size_t n, const char *type)
{
	const size_t major = strcspn(type, "/") + 1, len = strcspn(type, ";");

	if (n == len && strncasecmp(range, type, n) == 0)
		return 3;
	if (n == major + 1 && range[major] == '*' && strncasecmp(range, type, major) == 0)
		return 2;
	return n == 3 && memcmp(range, "*/*", 3) == 0;
}

static unsigned quality(const char *header, const char *type)
{
	const char *s = header, *name;
	unsigned best_q = 0, q;
	int best = 0;
	size_t n;

	while (next_element(&s, &name, &n, &q)) {
		int f = fits(name, n, type);

		if (f > best) {
			best = f;
			best_q = q;
		}
	}
	return best_q;
}

int text_accept(const char *header, const char *const *types)
{
	unsigned best_q = 0;
	int best = -1;

	if (!header || !*skip_blanks(header))
		return 0;
	for (int i = 0; types[i]; i++) {
		unsigned q = quality(header, types[i]);

		if (q > best_q) {
			best_q = q;
			best = i;
		}
	}
	return best;
}

bool text_accepts_coding(const char *header, const char *coding)
{
	const char *s = header, *name;
	unsigned q;
	size_t n;

	while (s && next_element(&s, &name, &n, &q)) {
		if (n == strlen(coding) && strncasecmp(name, coding, n) == 0)
			return q > 0;
	}
	return false;
}

bool text_is_type(const char *header, const char *type)
{
	const size_t n = strlen(type);

	return header && strncasecmp(header, type, n) == 0 && strchr("; \t", header[n]) != NULL;
}

bool text_cookie(const char *header, const char *name, char *ret, size_t size)
{
	const size_t n = strlen(name);
	const char *s = header;

	while (s && *s) {
		size_t len = strcspn(s, ";");

		if (len > n && memcmp(s, name, n) == 0 && s[n] == '=') {
			len -= n + 1;
			if (len >= size)
				return false;
			memcpy(ret, s + n + 1, len);
			ret[len] = '\0';
			return true;
		}
		s += len;
		s += strspn(s, "; \t");
	}
	return false;
}

/* Length of the name in "name:port" or "[v6]:port"; 0: the rest is no port. */
static size_t host_len(const char *host)
{
	const size_t n = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	const char *port;

	if (host[0] == '[' && n > strlen(host))
		return 0;
	port = host + n;
	if (*port == ':') {
		port++;
		port += strspn(port, "0123456789");
	}
	return *port ? 0 : n;
}

bool text_host_allowed(const char *header, const char *const *names)
{
	const size_t n = host_len(header);

	for (size_t i = 0; n && names[i]; i++) {
		if (strlen(names[i]) == n && strncasecmp(names[i], header, n) == 0)
			return true;
	}
	return false;
}

bool text_same_origin(const char *origin, const char *host)
{
	const char *s = strncasecmp(origin, "http://", 7) == 0 ? origin + 7 : strncasecmp(origin, "https://", 8) == 0 ? origin + 8 : NULL;

	return s && strcasecmp(s, host) == 0;
}

bool text_is_request_id(const char *s)
{
	const size_t n = strlen(s);

	return n > 0 && n <= REQUEST_ID_MAX &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == n;
}

void text_put_filename(struct buf *b, const char *s)
{
	buf_printf(b, "filename=\"");
	for (const char *p = s; *p; p++)
		buf_put_u8(b, isalnum((unsigned char)*p) || strchr("-_.", *p) ? (uint8_t)*p : '_');
	buf_printf(b, "\"; filename*=UTF-8''");
	buf_put_percent(b, s);
}
