/* The process's threads, and places of thread-local variables. */
#include "gdbstub/stub_priv.h"

#include <errno.h>
#include <string.h>

/* The thread that the packet goes on with: alive, and valid until the session moves. -ESRCH: none lives by that id. */
static int get_thread(struct stub *s, struct view *v, const struct dbg_thread **ret)
{
	const struct dbg_thread *t;
	size_t n;
	pid_t tid;
	int r = stub_get_tid(s, v, &tid);

	if (r >= 0)
		r = dbg_threads(s->d, &t, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (t[i].tid == tid) {
			*ret = &t[i];
			return 0;
		}
	return -ESRCH;
}

int stub_alive(struct stub *s, struct view *v)
{
	const struct dbg_thread *t;
	int r = get_thread(s, v, &t);

	if (r >= 0)
		stub_puts(s, "OK");
	return r;
}

/* Ids that fit into a packet; gdb 13 asks by qXfer:threads, which comes in pieces. */
void stub_put_thread_list(struct stub *s, char sep, struct buf *out)
{
	const struct dbg_thread *t;
	size_t n = 0;

	if (dbg_threads(s->d, &t, &n) < 0 || !n) {
		stub_put_tid(s, out, stub_current(s)); /* a process without threads is nothing that gdb can show */
		return;
	}
	for (size_t i = 0; i < n && out->len < STUB_PACKET_MAX - 64; i++) {
		if (i > 0)
			buf_put_u8(out, (uint8_t)sep);
		stub_put_tid(s, out, t[i].tid);
	}
}

int stub_threads_first(struct stub *s, struct view *v)
{
	(void)v;
	stub_puts(s, "m");
	stub_put_thread_list(s, ',', &s->reply);
	return 0;
}

int stub_threads_next(struct stub *s, struct view *v)
{
	(void)v;
	stub_puts(s, "l");
	return 0;
}

int stub_thread_extra(struct stub *s, struct view *v)
{
	struct buf text CLEANUP(buf_done) = { 0 };
	const struct dbg_thread *t;
	int r = get_thread(s, v, &t);

	if (r < 0)
		return r;
	buf_printf(&text, "%.16s%s", t->name, t->in_call ? " (in a system call)" : "");
	rsp_put_hex(&s->reply, text.data, text.len);
	return 0;
}

int stub_put_threads_xml(struct stub *s, struct buf *out)
{
	const struct dbg_thread *t;
	size_t n = 0;
	int r = dbg_threads(s->d, &t, &n);

	if (r < 0)
		return r;
	buf_printf(out, "<?xml version=\"1.0\"?><threads>");
	for (size_t i = 0; i < n; i++) {
		char name[17] = { 0 };

		memcpy(name, t[i].name, 16);
		buf_printf(out, "<thread id=\"");
		stub_put_tid(s, out, t[i].tid);
		buf_printf(out, "\" core=\"0\"");
		if (name[0]) {
			buf_printf(out, " name=\"");
			stub_put_xml(out, name);
			buf_printf(out, "\"");
		}
		buf_printf(out, "/>");
	}
	if (!n) {
		buf_printf(out, "<thread id=\"");
		stub_put_tid(s, out, stub_current(s));
		buf_printf(out, "\"/>");
	}
	buf_printf(out, "</threads>");
	return buf_error(out);
}

/* --- thread-local variables ---
 *
 * glibc keeps a module's number in its link map, at an offset that it exports for libthread_db: a descriptor { size in bits, elements, offset }.
 * The address of that descriptor is asked of gdb, who has the symbols. */

#define MODID_SYMBOL "_thread_db_link_map_l_tls_modid"
#define TCB_DTV 8       /* tcbhead_t.dtv */
#define DTV_ENTRY 16    /* dtv_t: pointer, what to free */
#define DTV_UNSET UINT64_MAX
#define MODULES_MAX 65536u

int stub_symbol(struct stub *s, struct view *v)
{
	struct view value = rsp_get_until(v, ':');
	struct buf name CLEANUP(buf_done) = { 0 };
	uint64_t addr = 0;
	bool found = rsp_get_hex(&value, &addr) >= 0;
	int r = rsp_get_bytes(v, &name);

	if (r < 0)
		return r;
	if (name.len) {
		if (strcmp(buf_cstr(&name), MODID_SYMBOL) == 0)
			s->c.tls_modid = found ? addr : 0;
		stub_puts(s, "OK");
		return 0;
	}
	stub_puts(s, "qSymbol:");
	rsp_put_hex(&s->reply, MODID_SYMBOL, strlen(MODID_SYMBOL));
	return 0;
}

static int read_word(struct stub *s, uint64_t addr, uint64_t *ret)
{
	return dbg_read(s->d, addr, ret, 8) == 8 ? 0 : -EFAULT;
}

/* Number of the module whose link map is at lm; the program alone (static) has none and is number 1. */
static int module_number(struct stub *s, uint64_t lm, uint64_t *ret)
{
	uint32_t desc[3];

	*ret = 1;
	if (!lm)
		return 0;
	if (!s->c.tls_modid)
		return -ENOENT;
	if (dbg_read(s->d, s->c.tls_modid, desc, sizeof(desc)) != sizeof(desc) || desc[0] != 64 || desc[1] != 1 || desc[2] > 4096)
		return -ENOENT;
	return read_word(s, lm + desc[2], ret);
}

/* "THREAD,OFFSET,LINKMAP" */
int stub_tls(struct stub *s, struct view *v)
{
	struct user_regs_struct u;
	uint64_t offset, lm, number, dtv, base;
	pid_t tid;
	int r = stub_get_tid(s, v, &tid);

	if (r < 0 || !rsp_get_char(v, ',') || rsp_get_hex(v, &offset) < 0 || !rsp_get_char(v, ',') || rsp_get_hex(v, &lm) < 0)
		return ERR_PROTOCOL;
	r = module_number(s, lm, &number);
	if (r == -ENOENT)
		return 0; /* an empty reply: not possible here */
	if (r >= 0 && (!number || number > MODULES_MAX))
		r = -ENXIO;
	if (r >= 0)
		r = dbg_regs(s->d, tid, &u);
	if (r >= 0)
		r = read_word(s, u.fs_base + TCB_DTV, &dtv);
	if (r >= 0)
		r = read_word(s, dtv + number * DTV_ENTRY, &base);
	if (r < 0)
		return r;
	if (base == DTV_UNSET || !base)
		return stub_refuse(s, -ENXIO, "the thread has not used its variables of that library yet");
	buf_printf(&s->reply, "%llx", (unsigned long long)(base + offset));
	return 0;
}
