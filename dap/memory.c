/* The requests readMemory and writeMemory, and reading for others. Memory shows the program's own bytes: no breakpoint is ever written to it. */
#include "dap/sources_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <nettle/base64.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

/* --- addresses --- */

int memory_address(struct dap *d, const char *reference, int64_t offset, uint64_t *ret)
{
	uint64_t addr;

	if (str_parse_u64(reference, &addr) < 0)
		return errinfo_set(&d->ei, -EINVAL, "memoryReference: %.80s is no address", reference);
	if (offset < 0 ? addr < -(uint64_t)offset : addr + (uint64_t)offset < addr)
		return errinfo_set(&d->ei, -EINVAL, "offset: 0x%" PRIx64 "%+" PRId64 " is outside of memory", addr, offset);
	*ret = addr + (uint64_t)offset;
	return 0;
}

/* --- reading --- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int put_hex(const char *hex, struct buf *out)
{
	for (; hex[0] && hex[1]; hex += 2) {
		int high = hex_digit(hex[0]), low = hex_digit(hex[1]);

		if (high < 0 || low < 0)
			return ERR_PROTOCOL;
		buf_put_u8(out, (uint8_t)(high << 4 | low));
	}
	return buf_error(out);
}

/* gdb gives what it can read of the beginning, or of the end: only the first helps. */
static int read_piece(struct dap *d, uint64_t addr, uint64_t len, struct buf *out)
{
	json_t *values CLEANUP(jsonx_unrefp) = NULL;
	struct errinfo ei = { 0 };
	const json_t *piece;
	const char *hex;
	int r = mi_command(d->mi, &values, &ei, "-data-read-memory-bytes 0x%" PRIx64 " %" PRIu64, addr, len);

	if (r == -EREMOTEIO)
		return 0;
	if (r < 0)
		return r;
	piece = json_array_get(json_object_get(values, "memory"), 0);
	hex = mi_str(piece, "contents");
	return hex && mi_addr(piece, "begin") == addr ? put_hex(hex, out) : 0;
}

/* One piece of at most MEMORY_CHUNK. gdb (13.1, when it looks for the edge of what can be read) counts a byte behind the edge as read. */
static int read_chunk(struct dap *d, uint64_t addr, uint64_t len, struct buf *out)
{
	struct buf last CLEANUP(buf_done) = { 0 };
	size_t had = out->len, got;
	int r = read_piece(d, addr, len, out);

	got = out->len - had;
	if (r < 0 || !got || got == len)
		return r;
	r = read_piece(d, addr + got - 1, 1, &last);
	if (r == 0 && !last.len)
		out->len--;
	return r;
}

int memory_read(struct dap *d, uint64_t addr, uint64_t len, struct buf *out)
{
	uint64_t room = UINT64_MAX - addr;

	len = len ? MIN(len - 1, room) + 1 : 0;
	while (len) {
		uint64_t n = MIN(len, (uint64_t)MEMORY_CHUNK);
		size_t had = out->len;
		int r = d->cancelled ? ERR_INTERRUPTED : read_chunk(d, addr, n, out);

		if (r < 0)
			return r;
		if (out->len - had != n)
			break;
		addr += n;
		len -= n;
	}
	return 0;
}

/* --- mappings --- */

/* "  0x1000  0x2000  0x1000  0x0  r-xp   /path"; older gdbs print no permissions. */
static bool parse_mapping(const char *line, struct mapping *m)
{
	uint64_t size;
	char perms[8];
	int n = 0, path = 0;

	if (sscanf(line, " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 "%n", &m->start, &m->end, &size, &m->offset, &n) != 4)
		return false;
	line += n;
	if (sscanf(line, " %7s %n", perms, &path) == 1 && strspn(perms, "rwxps-") == strlen(perms))
		line += path;
	line += strspn(line, " ");
	snprintf(m->path, sizeof(m->path), "%s", line);
	return true;
}

int memory_each_mapping(struct dap *d, int (*fn)(void *ctx, const struct mapping *m), void *ctx)
{
	struct buf text CLEANUP(buf_done) = { 0 };
	char *save = NULL, *line;
	struct mapping m;
	int r = mi_console(d->mi, &text, &d->ei, "info proc mappings");

	if (r < 0)
		return r;
	buf_put_u8(&text, 0);
	if (buf_error(&text))
		return -ENOMEM;
	for (line = strtok_r((char *)text.data, "\n", &save); line && r == 0; line = strtok_r(NULL, "\n", &save))
		if (parse_mapping(line, &m))
			r = fn(ctx, &m);
	return r;
}

struct gap {
	uint64_t addr, end;
};

static int find_end(void *ctx, const struct mapping *m)
{
	struct gap *g = ctx;

	if (m->start <= g->addr || m->start >= g->end)
		return 0;
	g->end = m->start;
	return 1;
}

/* Bytes from addr on, at most len, that cannot be read. */
static uint64_t gap_at(struct dap *d, uint64_t addr, uint64_t len)
{
	struct gap g = { addr, len > UINT64_MAX - addr ? UINT64_MAX : addr + len };
	struct errinfo kept = d->ei;

	if (memory_each_mapping(d, find_end, &g) < 0)
		d->ei = kept;
	return g.end - addr;
}

/* --- what is looked at --- */

void memory_forget(struct dap_sources *s)
{
	while (s->n_views)
		freep(&s->view[--s->n_views].reference);
}

static struct memory_view *find_view(struct dap_sources *s, const char *reference)
{
	for (size_t i = 0; i < s->n_views; i++)
		if (strcmp(s->view[i].reference, reference) == 0)
			return &s->view[i];
	return NULL;
}

/* One that is not noted is not told of changes: no more than that. */
static void note_view(struct dap *d, const char *reference, int64_t offset, int64_t count)
{
	struct dap_sources *s = d->sources;
	struct memory_view *v = find_view(s, reference);
	char *copy;

	if (v) {
		v->from = MIN(v->from, offset);
		v->to = MAX(v->to, offset + count);
	} else if (d->client.memory_event && s->n_views < MEMORY_VIEWS_MAX && (copy = os_strdup(reference))) {
		s->view[s->n_views++] = (struct memory_view){ .reference = copy, .from = offset, .to = offset + count };
	}
}

/* A view that is still there reads again, and is noted again. */
void memory_tell(struct dap *d)
{
	struct dap_sources *s = d->sources;

	for (size_t i = 0; i < s->n_views; i++) {
		const struct memory_view *v = &s->view[i];

		dap_event(d, "memory", json_pack("{so sI sI}", "memoryReference", jsonx_text(v->reference), "offset", (json_int_t)v->from, "count", (json_int_t)(v->to - v->from)));
	}
	memory_forget(s);
}

/* --- requests --- */

struct read_args {
	const char *reference;
	int64_t offset, count;
};

static const struct arg read_table[] = {
	ARG(STR, struct read_args, reference, "memoryReference", .required = true),
	ARG(INT, struct read_args, offset, "offset"),
	ARG(INT, struct read_args, count, "count", .required = true),
	{ 0 },
};

static int set_data(json_t *body, const struct buf *data)
{
	size_t n = BASE64_ENCODE_RAW_LENGTH(data->len);
	char *text CLEANUP(freep) = os_malloc(n + 1);

	if (!text)
		return -ENOMEM;
	base64_encode_raw(text, data->len, data->data);
	text[n] = '\0';
	return jsonx_set_str(body, "data", text);
}

static int set_address(json_t *body, uint64_t addr)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, addr);
	return jsonx_set_str(body, "address", text);
}

static int read_memory(struct dap *d, const void *args, json_t *body)
{
	const struct read_args *a = args;
	struct buf data CLEANUP(buf_done) = { 0 };
	uint64_t addr, left;
	int r = memory_address(d, a->reference, a->offset, &addr);

	if (r < 0)
		return r;
	if (a->count < 0)
		return errinfo_set(&d->ei, -EINVAL, "count: %" PRId64 " is negative", a->count);
	if (a->count > (int64_t)MEMORY_READ_MAX)
		return errinfo_set(&d->ei, -EINVAL, "count: %" PRId64 " bytes are too many, at most %u can be read at once", a->count, MEMORY_READ_MAX);
	r = memory_read(d, addr, (uint64_t)a->count, &data);
	if (r == 0)
		note_view(d, a->reference, a->offset, a->count);
	if (r == 0)
		r = set_address(body, addr);
	if (r == 0 && data.len)
		r = set_data(body, &data);
	left = (uint64_t)a->count - data.len;
	if (r < 0 || !left)
		return r;
	return jsonx_set_u64(body, "unreadableBytes", gap_at(d, addr + data.len, left));
}

DAP_METHOD(read_memory, read_table, struct read_args);

static int write_memory(struct dap *d, const void *args, json_t *body)
{
	(void)args;
	(void)body;
	return dap_refuse_write(d, "writing memory");
}

DAP_METHOD_PLAIN(write_memory);
