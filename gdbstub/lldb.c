/* Packets that only lldb sends. Naming one of them tells its dialect: no text in errors, `x` without a mark before the bytes. */
#include "gdbstub/stub_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

int stub_lldb_suffix(struct stub *s, struct view *v)
{
	(void)v;
	s->c.lldb = s->c.thread_suffix = true;
	stub_puts(s, "OK");
	return 0;
}

int stub_lldb_list(struct stub *s, struct view *v)
{
	(void)v;
	s->c.lldb = s->c.list_threads = true;
	stub_puts(s, "OK");
	return 0;
}

static void put_triple(struct stub *s)
{
	static const char triple[] = "x86_64-unknown-linux-gnu";

	stub_puts(s, "triple:");
	rsp_put_hex(&s->reply, triple, strlen(triple));
	stub_puts(s, ";ptrsize:8;endian:little;ostype:linux;");
}

int stub_lldb_host(struct stub *s, struct view *v)
{
	(void)v;
	s->c.lldb = true;
	put_triple(s);
	stub_puts(s, "vendor:unknown;");
	return 0;
}

int stub_lldb_process(struct stub *s, struct view *v)
{
	(void)v;
	s->c.lldb = true;
	buf_printf(&s->reply, "pid:%x;", (unsigned)s->pid);
	put_triple(s);
	return 0;
}

/* The mapping at an address, or the hole. */
int stub_lldb_region(struct stub *s, struct view *v)
{
	const struct mapping *m;
	uint64_t addr;
	int r = rsp_get_hex(v, &addr);

	if (r < 0 || view_left(v))
		return ERR_PROTOCOL;
	m = aspace_next(dbg_aspace(s->d), addr);
	if (!m || m->start > addr) {
		buf_printf(&s->reply, "start:%" PRIx64 ";size:%" PRIx64 ";", addr, m ? m->start - addr : -addr);
		return 0;
	}
	buf_printf(&s->reply, "start:%" PRIx64 ";size:%" PRIx64 ";permissions:%s%s%s;", m->start, m->end - m->start, m->prot & PROT_READ ? "r" : "",
		   m->prot & PROT_WRITE ? "w" : "", m->prot & PROT_EXEC ? "x" : "");
	return 0;
}

int stub_lldb_stop_info(struct stub *s, struct view *v)
{
	struct dbg_stop stop = { .kind = DBG_STOP_SEEK };
	struct dbg_stop last = s->last;
	pid_t tid, general = s->c.general, last_tid = s->last_tid;
	int r = stub_get_tid(s, v, &tid);

	if (r < 0)
		return r;
	if (tid <= 0)
		return -ESRCH;
	stop.tid = tid;
	s->last_tid = tid == last.tid ? tid : 0;
	stub_stopped(s, tid == last.tid ? &last : &stop);
	s->last = last;
	s->c.general = general;
	s->last_tid = last_tid;
	return 0;
}
