/* The fuzzer's bytes as bodies of packets, one a line, to a stub over the mock: no crash, replies within bounds. */
#include <stdlib.h>
#include <string.h>
#include "tests/unit/gdbstub_mock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void packet(struct stub *s, const uint8_t *p, size_t n)
{
	/* commands need a recording; their words are taken apart all the same */
	if (n >= 6 && memcmp(p, "qRcmd,", 6) == 0)
		return;
	buf_clear(&s->request);
	buf_clear(&s->reply);
	buf_put(&s->request, p, n);
	s->no_reply = false;
	stub_packet(s);
	if (s->reply.len > STUB_PACKET_MAX + 64)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dbg d;
	struct stub *s;

	mock_init(&d);
	if (stub_new(NULL, &s) < 0)
		abort();
	s->d = &d;
	s->pid = MOCK_PID;
	s->end = -1;
	s->gone = true; /* nobody is there to be told */
	s->last = (struct dbg_stop){ .kind = DBG_STOP_SEEK, .tid = MOCK_TID };
	regs_layout_init(&s->layout, NULL);
	while (size) {
		const uint8_t *nl = memchr(data, '\n', size);
		size_t n = nl ? (size_t)(nl - data) : size;

		packet(s, data, n);
		size -= nl ? n + 1 : n;
		data += nl ? n + 1 : n;
	}
	stub_divert_drop(s, NULL);
	stub_breaks_clear(s);
	stub_files_clear(s);
	if (mock_breaks(&d) || d.diverted)
		abort();
	stub_free(s);
	aspace_done(&d.as);
	return 0;
}
