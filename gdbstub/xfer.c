/* qXfer: objects that are read in pieces. Each is made as a whole and kept while its pieces are read and the session does not move. */
#include "gdbstub/stub_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void stub_put_xml(struct buf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		switch (*p) {
		case '&':
			buf_printf(out, "&amp;");
			break;
		case '<':
			buf_printf(out, "&lt;");
			break;
		case '>':
			buf_printf(out, "&gt;");
			break;
		case '"':
			buf_printf(out, "&quot;");
			break;
		case '\'':
			buf_printf(out, "&apos;");
			break;
		default: /* names from the guest need not be UTF-8, the parser wants it */
			buf_put_u8(out, (uint8_t)*p < 0x20 || (uint8_t)*p >= 0x7f ? '?' : (uint8_t)*p);
		}
	}
}

static int make_features(struct stub *s, const struct view *annex, struct buf *out)
{
	if (!rsp_is(annex, "target.xml"))
		return -ENOENT;
	regs_put_xml(&s->layout, out);
	return 0;
}

static int make_auxv(struct stub *s, const struct view *annex, struct buf *out)
{
	(void)annex;
	return dbg_proc_file(s->d, "auxv", out);
}

static int make_exec_file(struct stub *s, const struct view *annex, struct buf *out)
{
	struct view v = *annex;
	const char *exe = dbg_exe(s->d);
	uint64_t pid = (uint64_t)s->pid;

	if (view_left(&v) && rsp_get_hex(&v, &pid) < 0)
		return ERR_PROTOCOL;
	if (pid != (uint64_t)s->pid || !exe || !exe[0])
		return -ENOENT;
	buf_put(out, exe, strlen(exe));
	return 0;
}

static int make_threads(struct stub *s, const struct view *annex, struct buf *out)
{
	(void)annex;
	return stub_put_threads_xml(s, out);
}

static int make_siginfo(struct stub *s, const struct view *annex, struct buf *out)
{
	siginfo_t info;
	int r = dbg_siginfo(s->d, stub_general(s, &(struct view){ 0 }), &info);

	(void)annex;
	stub_divert_siginfo(s);
	if (r >= 0)
		buf_put(out, &info, sizeof(info));
	return r;
}

/* "start=ADDR;prev=ADDR": only the list from there on, or nothing: all. */
static int make_libraries(struct stub *s, const struct view *annex, struct buf *out)
{
	struct view v = *annex;
	uint64_t start = 0, prev = 0;

	while (view_left(&v)) {
		struct view item = rsp_get_until(&v, ';');
		uint64_t *to = rsp_get_word(&item, "start=") ? &start : rsp_get_word(&item, "prev=") ? &prev : NULL;

		if (to && rsp_get_hex(&item, to) < 0)
			return ERR_PROTOCOL;
	}
	stub_divert_read(s);
	return stub_svr4(s, start, prev, out);
}

static const struct object {
	const char *name;
	int (*make)(struct stub *s, const struct view *annex, struct buf *out);
} objects[] = {
	{ "features", make_features },
	{ "auxv", make_auxv },
	{ "exec-file", make_exec_file },
	{ "threads", make_threads },
	{ "siginfo", make_siginfo },
	{ "libraries-svr4", make_libraries },
};

/* Fills the cache with the object, unless it holds it and a later piece is asked for. */
static int make(struct stub *s, const struct object *o, const struct view *annex, uint64_t offset)
{
	char name[sizeof(s->cache_name)];
	int n = snprintf(name, sizeof(name), "%s:%.*s", o->name, (int)MIN(view_left(annex), (size_t)4096), (const char *)annex->p);
	int r;

	if (offset && n > 0 && (size_t)n < sizeof(name) && !strcmp(name, s->cache_name) && s->cache_moves == dbg_moves(s->d))
		return 0;
	s->cache_name[0] = '\0';
	buf_clear(&s->cache);
	r = o->make(s, annex, &s->cache);
	if (r >= 0)
		r = buf_error(&s->cache);
	if (r < 0)
		return r;
	if (n > 0 && (size_t)n < sizeof(name))
		memcpy(s->cache_name, name, (size_t)n + 1);
	s->cache_moves = dbg_moves(s->d);
	return 0;
}

/* "OBJECT:read:ANNEX:OFFSET,LENGTH" */
int stub_xfer(struct stub *s, struct view *v)
{
	struct view name = rsp_get_until(v, ':'), op = rsp_get_until(v, ':'), annex = rsp_get_until(v, ':');
	const struct object *o = NULL;
	uint64_t offset, len;
	size_t n;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		if (rsp_is(&name, objects[i].name))
			o = &objects[i];
	if (!o || !rsp_is(&op, "read"))
		return 0;
	if (rsp_get_hex(v, &offset) < 0 || !rsp_get_char(v, ',') || rsp_get_hex(v, &len) < 0)
		return ERR_PROTOCOL;
	r = make(s, o, &annex, offset);
	if (r < 0)
		return r == -ENOENT ? stub_refuse(s, 0, "there is no such object") : r;
	offset = MIN(offset, (uint64_t)s->cache.len);
	len = MIN(len, (uint64_t)STUB_DATA_MAX);
	n = (size_t)MIN(len, s->cache.len - offset);
	stub_puts(s, offset + n < s->cache.len ? "m" : "l");
	buf_put(&s->reply, s->cache.data + offset, n);
	return 0;
}
