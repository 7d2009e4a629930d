/* The stub as a client sees it: a process of its own serves the mock's history on a socket, the test talks to it. */
#include "tests/unit/gdbstub_mock.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include "base/json.h"
#include "base/os.h"
#include "tests/unit/store_help.h"

struct client {
	int fd;
	pid_t server;
	struct buf in, console, reply;
	bool acks;
	int *shared; /* what the server counted: breakpoints, diversions, conditions */
};

enum { SHARED_BREAKS, SHARED_DIVERSIONS, SHARED_CONDS, SHARED_N };

struct server_options {
	bool forever, lost, notes, nowhere;
	struct store_reader *reader;
};

/* Notes that a recording keeps: one of a web page, one that looks bad, then what the session leaves. */
static struct {
	struct stub_note n[4];
	char text[64], position[64];
	size_t count;
} kept = { .n = { { .event = 4, .text = "of the page" }, { .event = 9, .position = "no position", .text = "\033[31mred" } }, .count = 2 };

static int keep_note(void *ctx UNUSED, const struct stub_note *n, struct errinfo *ei)
{
	if (kept.count == 3)
		return errinfo_set(ei, ERR_LIMIT, "full");
	snprintf(kept.text, sizeof(kept.text), "%s", n->text);
	snprintf(kept.position, sizeof(kept.position), "%s", n->position);
	kept.n[kept.count++] = (struct stub_note){ .event = n->event, .text = kept.text, .position = kept.position };
	return 0;
}

static int show_notes(void *ctx UNUSED, stub_note_fn fn, void *fn_ctx, struct errinfo *ei UNUSED)
{
	int r = 0;

	for (size_t i = 0; i < kept.count && r >= 0; i++)
		r = fn(fn_ctx, &kept.n[i]);
	return r;
}

static void serve(int fd, const struct server_options *opt, int *shared)
{
	struct stub *s;
	static struct dbg d;
	int end;

	mock_init(&d);
	d.forever = opt->forever;
	d.lost = opt->lost;
	d.nowhere = opt->nowhere;
	d.reader = opt->reader;
	if (stub_new(opt->notes ? &(struct stub_options){ .note = keep_note, .notes = show_notes } : NULL, &s) < 0)
		_exit(99);
	d.tick = stub_tick;
	d.ctx = s;
	end = stub_serve(s, &d, fd, fd, NULL);
	shared[SHARED_BREAKS] = (int)mock_breaks(&d);
	shared[SHARED_DIVERSIONS] = (int)d.diversions;
	shared[SHARED_CONDS] = (int)d.conds;
	if (d.diverted)
		end = 98;
	stub_free(s);
	aspace_done(&d.as);
	_exit(end);
}

static struct client start(const struct server_options *opt)
{
	struct client c = { .acks = true };
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	c.shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(c.shared != MAP_FAILED);
	c.server = fork();
	ck_assert_int_ge(c.server, 0);
	if (!c.server) {
		close(fds[0]);
		serve(fds[1], opt, c.shared);
	}
	close(fds[1]);
	c.fd = fds[0];
	return c;
}

static void send_raw(struct client *c, const void *p, size_t n)
{
	ck_assert_int_eq(os_write_full(c->fd, p, n), 0);
}

static void send_packet(struct client *c, const char *body, size_t n)
{
	struct buf wire = { 0 };

	rsp_put_packet(&wire, body, n);
	send_raw(c, wire.data, wire.len);
	buf_done(&wire);
}

static void fill(struct client *c)
{
	struct pollfd pfd = { .fd = c->fd, .events = POLLIN };
	uint8_t chunk[65536];
	ssize_t n;

	ck_assert_msg(poll(&pfd, 1, 20000) == 1, "no answer");
	n = read(c->fd, chunk, sizeof(chunk));
	ck_assert_msg(n > 0, "the stub is gone");
	buf_put(&c->in, chunk, (size_t)n);
}

static void unhex(struct view *v, struct buf *out)
{
	ck_assert_int_eq(rsp_get_bytes(v, out), 0);
}

/* The next packet, console output set aside. Counts acknowledgements. */
static const char *receive(struct client *c)
{
	for (;;) {
		struct rsp_frame f;

		rsp_scan(c->in.data, c->in.len, 1u << 20, &f);
		ck_assert_int_ne(f.kind, RSP_BAD);
		ck_assert_int_ne(f.kind, RSP_NAK);
		if (f.kind == RSP_PACKET) {
			buf_clear(&c->reply);
			ck_assert_int_eq(rsp_unescape(&f.body, &c->reply), 0);
		}
		if (f.taken)
			memmove(c->in.data, c->in.data + f.taken, c->in.len - f.taken);
		c->in.len -= f.taken;
		if (f.kind == RSP_MORE) {
			fill(c);
			continue;
		}
		if (f.kind == RSP_ACK)
			continue;
		if (c->acks)
			(void)!send(c->fd, "+", 1, MSG_NOSIGNAL); /* the stub need not wait for it at the end */
		if (c->reply.len > 1 && c->reply.data[0] == 'O' && c->reply.data[1] != 'K') {
			struct view v = view_of(c->reply.data + 1, c->reply.len - 1);

			unhex(&v, &c->console);
			continue;
		}
		return buf_cstr(&c->reply);
	}
}

static const char *ask(struct client *c, const char *body)
{
	send_packet(c, body, strlen(body));
	return receive(c);
}

#define EXPECT(c, body, want) ck_assert_str_eq(ask(c, body), want)
#define EXPECT_PREFIX(c, body, want) \
	do { \
		const char *got_ = ask(c, body); \
		ck_assert_msg(str_has_prefix(got_, want), "%s: got %s, want %s...", body, got_, want); \
	} while (0)

static const char *monitor(struct client *c, const char *line)
{
	struct buf body = { 0 };
	const char *text;
	bool failed;

	buf_clear(&c->console);
	buf_printf(&body, "qRcmd,");
	rsp_put_hex(&body, line, strlen(line));
	(void)ask(c, buf_cstr(&body));
	buf_done(&body);
	text = buf_cstr(&c->console);
	failed = str_has_prefix(text, "error") || str_has_prefix(text, "{\"error");
	ck_assert_str_eq(buf_cstr(&c->reply), failed ? "E01" : "OK");
	return text;
}

static void hello(struct client *c, const char *features)
{
	struct buf body = { 0 };

	buf_printf(&body, "qSupported:%s", features);
	ck_assert_ptr_nonnull(strstr(ask(c, buf_cstr(&body)), "PacketSize=20000;"));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&c->reply), "ReverseStep+"));
	EXPECT(c, "QStartNoAckMode", "OK");
	c->acks = false;
	buf_done(&body);
}

#define GDB "multiprocess+;swbreak+;hwbreak+;error-message+;xmlRegisters=i386"

static struct client connect_gdb(void)
{
	struct client c = start(&(struct server_options){ 0 });

	hello(&c, GDB);
	return c;
}

static int server_end(struct client *c)
{
	int status;

	ck_assert_int_eq(waitpid(c->server, &status, 0), c->server);
	ck_assert_msg(WIFEXITED(status), "the server died: 0x%x", status);
	buf_done(&c->in);
	buf_done(&c->console);
	buf_done(&c->reply);
	return WEXITSTATUS(status);
}

static void finish(struct client *c)
{
	EXPECT(c, "D;3e8", "OK");
	close(c->fd);
	ck_assert_int_eq(server_end(c), STUB_DETACHED);
	ck_assert_int_eq(c->shared[SHARED_BREAKS], 0);
}

#define REGS_AT(rip) "06:0089000000000000;07:0088000000000000;10:" rip "10000000000000;"

START_TEST(connection)
{
	struct client c = start(&(struct server_options){ 0 });

	/* with acknowledgements, a bad checksum first */
	send_raw(&c, "$qC#00", 6);
	fill(&c);
	ck_assert_mem_eq(c.in.data, "-", 1);
	buf_clear(&c.in);
	EXPECT(&c, "qC", "QC3e8");
	send_raw(&c, "-", 1);
	ck_assert_str_eq(receive(&c), "QC3e8");
	hello(&c, GDB);
	EXPECT(&c, "qC", "QCp3e8.3e8");
	EXPECT(&c, "vMustReplyEmpty", "");
	EXPECT(&c, "qUnknown", "");
	EXPECT(&c, "qTStatus", "");
	EXPECT(&c, "qAttached:3e8", "1");
	EXPECT(&c, "?", "T05thread:p3e8.3e8;" REGS_AT("00"));
	EXPECT(&c, "vCont?", "vCont;c;C;s;S;t;r");
	/* nothing runs: no harm */
	send_raw(&c, "\003", 1);
	EXPECT(&c, "Hgp3e8.3e8", "OK");
	EXPECT_PREFIX(&c, "Hgp1.1", "E.");
	finish(&c);
}
END_TEST

START_TEST(repeated_hello)
{
	const char packet[] = "$qC#b4";
	struct client c = start(&(struct server_options){ 0 });
	char wire[3 * sizeof(packet)];

	/* in one piece, as somebody has who waited for the one before */
	snprintf(wire, sizeof(wire), "%s%s%s", packet, packet, packet);
	send_raw(&c, wire, strlen(wire));
	ck_assert_str_eq(receive(&c), "QC3e8");
	EXPECT(&c, "vMustReplyEmpty", "");
	/* later they are two questions */
	snprintf(wire, sizeof(wire), "%s%s", packet, packet);
	send_raw(&c, wire, strlen(wire));
	ck_assert_str_eq(receive(&c), "QC3e8");
	ck_assert_str_eq(receive(&c), "QC3e8");
	hello(&c, GDB);
	finish(&c);
}
END_TEST

START_TEST(steps_both_ways)
{
	struct client c = connect_gdb();

	EXPECT(&c, "vCont;s:p3e8.3e8;c:p3e8.-1", "T05thread:p3e8.3e8;" REGS_AT("04"));
	EXPECT(&c, "vCont;s:p3e8.3e8", "T05thread:p3e8.3e8;" REGS_AT("08"));
	EXPECT(&c, "Hcp3e8.0", "OK");
	EXPECT(&c, "bs", "T05thread:p3e8.3e8;" REGS_AT("04"));
	EXPECT(&c, "vCont;r1004,1010:p3e8.3e8;c:p3e8.-1", "T05thread:p3e8.3e8;" REGS_AT("10"));
	EXPECT(&c, "bc", "T05replaylog:begin;thread:p3e8.3e8;" REGS_AT("00"));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&c.console), "begins here"));
	EXPECT(&c, "bs", "T05replaylog:begin;thread:p3e8.3e8;" REGS_AT("00"));
	EXPECT(&c, "QPassSignals:1e;", "OK"); /* SIGUSR1 */
	buf_clear(&c.console);
	EXPECT(&c, "vCont;c:p3e8.-1", "T05replaylog:end;thread:p3e8.3e8;" REGS_AT("3c"));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&c.console), "exited with code 3"));
	EXPECT(&c, "c", "T05replaylog:end;thread:p3e8.3e8;" REGS_AT("3c"));
	EXPECT(&c, "QPassSignals:", "OK");
	EXPECT_PREFIX(&c, "bc", "T1ethread:p3e8.3e8;");
	EXPECT_PREFIX(&c, "c1000", "E.");
	EXPECT_PREFIX(&c, "vCont;q", "E.");
	EXPECT_PREFIX(&c, "vCont;r12:p3e8.3e8", "E.");
	finish(&c);
}
END_TEST

START_TEST(breakpoints)
{
	struct client c = connect_gdb();

	EXPECT(&c, "Z0,1014,1", "OK");
	EXPECT(&c, "Z0,1014,1", "OK");
	EXPECT(&c, "vCont;c", "T05swbreak:;thread:p3e8.3e8;" REGS_AT("14"));
	EXPECT(&c, "z0,1014,1", "OK");
	EXPECT(&c, "z0,1014,1", "OK");
	EXPECT(&c, "Z1,1018,1", "OK");
	EXPECT(&c, "vCont;c", "T05hwbreak:;thread:p3e8.3e8;" REGS_AT("18"));
	EXPECT(&c, "z1,1018,1", "OK");
	/* state 35 writes again to where state 3 did */
	EXPECT(&c, "Z2,3003,1", "OK");
	EXPECT(&c, "QPassSignals:1e", "OK");
	EXPECT(&c, "vCont;c", "T05watch:3003;thread:p3e8.3e8;" REGS_AT("10"));
	EXPECT(&c, "bc", "T05watch:3003;thread:p3e8.3e8;" REGS_AT("0c"));
	EXPECT(&c, "bc", "T05watch:3003;thread:p3e8.3e8;" REGS_AT("0c"));
	EXPECT(&c, "z2,3003,1", "OK");
	EXPECT(&c, "Z4,3004,4", "OK");
	EXPECT(&c, "vCont;c", "T05awatch:3004;thread:p3e8.3e8;" REGS_AT("14"));
	EXPECT(&c, "Z5,3004,4", "");
	EXPECT_PREFIX(&c, "Z2,3004,0", "E.");
	EXPECT_PREFIX(&c, "Z2,ffffffffffffffff,2", "E.");
	EXPECT_PREFIX(&c, "Z0,1014", "E.");
	finish(&c);
}
END_TEST

START_TEST(conditions)
{
	struct client c = connect_gdb();

	/* rax == 36: reg 0, const8 36, equal, end. Every 16th state is at 1010: 4, 20, 36. */
	EXPECT(&c, "QPassSignals:1e", "OK");
	EXPECT(&c, "Z0,1010,1;X7,26000022241327", "OK");
	EXPECT(&c, "vCont;c", "T05swbreak:;thread:p3e8.3e8;" REGS_AT("10"));
	EXPECT_PREFIX(&c, "p0", "2400000000000000");
	/* the new condition replaces the old one; any of two is enough */
	EXPECT(&c, "Z0,1010,1;X7,26000022141327X3,220127", "OK");
	EXPECT(&c, "bc", "T05swbreak:;thread:p3e8.3e8;" REGS_AT("10"));
	EXPECT_PREFIX(&c, "p0", "1400000000000000");
	/* one that cannot be evaluated stops */
	EXPECT(&c, "Z0,1010,1;X4,22001727", "OK");
	EXPECT(&c, "bc", "T05swbreak:;thread:p3e8.3e8;" REGS_AT("10"));
	EXPECT_PREFIX(&c, "p0", "0400000000000000");
	EXPECT_PREFIX(&c, "Z0,1010,1;X7,26", "E.");
	EXPECT_PREFIX(&c, "Z0,1010,1;Xfffff,26", "E.");
	EXPECT_PREFIX(&c, "Z0,1010,1;Y", "E.");
	EXPECT(&c, "D", "OK");
	close(c.fd);
	ck_assert_int_eq(server_end(&c), STUB_DETACHED);
	ck_assert_int_eq(c.shared[SHARED_CONDS], 5);
}
END_TEST

START_TEST(calls_and_signals)
{
	struct client c = connect_gdb();

	EXPECT(&c, "QCatchSyscalls:1;27;0", "OK");
	EXPECT_PREFIX(&c, "vCont;c", "T05syscall_entry:27;thread:p3e8.3e8;");
	EXPECT_PREFIX(&c, "vCont;c", "T05syscall_return:27;thread:p3e8.3e8;");
	EXPECT_PREFIX(&c, "bc", "T05syscall_entry:27;thread:p3e8.3e8;");
	EXPECT(&c, "QCatchSyscalls:0", "OK");
	EXPECT_PREFIX(&c, "vCont;c", "T1ethread:p3e8.3e8;"); /* SIGUSR1 in gdb's numbers */
	EXPECT_PREFIX(&c, "vCont;C1e:p3e8.3e8", "T05replaylog:end;");
	EXPECT_PREFIX(&c, "QCatchSyscalls:2", "E.");
	EXPECT_PREFIX(&c, "QCatchSyscalls:1;zz", "E.");
	EXPECT_PREFIX(&c, "QPassSignals:zz", "E.");
	finish(&c);
}
END_TEST

START_TEST(memory)
{
	struct client c = connect_gdb();

	EXPECT(&c, "m1000,4", "90909090");
	EXPECT(&c, "m3ffe,10", "0000");
	EXPECT_PREFIX(&c, "m5000,10", "E.");
	EXPECT(&c, "m1000,0", "");
	EXPECT(&c, "x1000,4", ""); /* binary-upload was not said */
	EXPECT(&c, "QPassSignals:1e", "OK");
	EXPECT_PREFIX(&c, "vCont;c", "T05replaylog:end;");
	EXPECT(&c, "m301c,6", "3d3e3f200000");
	/* bytes 5..7 of the second round */
	send_packet(&c, "qSearch:memory:3000;1000;\x26\x27", 27);
	ck_assert_str_eq(receive(&c), "1,3005");
	send_packet(&c, "qSearch:memory:3006;1000;\x26\x27", 27);
	ck_assert_str_eq(receive(&c), "0");
	send_packet(&c, "qSearch:memory:0;ffffffffffffffff;\x26\x27", 36);
	ck_assert_str_eq(receive(&c), "1,3005");
	/* what compare-sections gives: CRC of 4 bytes 0x90 */
	EXPECT(&c, "qCRC:1000,4", "Cd0ea3e20");
	EXPECT_PREFIX(&c, "qCRC:5000,4", "E.");
	finish(&c);
}
END_TEST

START_TEST(binary_reads)
{
	struct client c = start(&(struct server_options){ 0 });

	hello(&c, GDB ";binary-upload+");
	ck_assert_ptr_nonnull(strstr(ask(&c, "qSupported:"), ";binary-upload+"));
	EXPECT(&c, "x1000,3", "b\x90\x90\x90");
	EXPECT(&c, "x1000,0", "b");
	finish(&c);
	c = start(&(struct server_options){ 0 });
	EXPECT(&c, "QThreadSuffixSupported", "OK");
	EXPECT(&c, "x0,0", "OK");
	EXPECT(&c, "x1000,3", "\x90\x90\x90");
	EXPECT(&c, "p0;thread:3e8;", "0000000000000000");
	EXPECT(&c, "m5000,3", "E0e");
	EXPECT_PREFIX(&c, "qMemoryRegionInfo:1800", "start:1000;size:3000;permissions:rx;");
	EXPECT_PREFIX(&c, "qMemoryRegionInfo:4800", "start:4800;size:3800;");
	finish(&c);
}
END_TEST

START_TEST(writes_are_refused)
{
	struct client c = connect_gdb();

	EXPECT_PREFIX(&c, "P0=0100000000000000", "E.a recording cannot be changed");
	EXPECT_PREFIX(&c, "M3000,1:ff", "E.a recording cannot be changed");
	EXPECT_PREFIX(&c, "X3000,1:a", "E.a recording cannot be changed");
	EXPECT(&c, "X3000,0:", "OK"); /* is X known? */
	/* no change is no change */
	EXPECT(&c, "P0=0000000000000000", "OK");
	EXPECT(&c, "M3000,1:00", "OK");
	EXPECT_PREFIX(&c, "P0=01", "E.");
	EXPECT_PREFIX(&c, "Pffff=01", "E.");
	/* looking at siginfo allows no `set var` */
	EXPECT_PREFIX(&c, "qXfer:siginfo:read::0,80", "E.");
	EXPECT_PREFIX(&c, "X3000,1:a", "E.a recording cannot be changed");
	EXPECT(&c, "m3000,1", "00");
	EXPECT(&c, "D", "OK");
	close(c.fd);
	ck_assert_int_eq(server_end(&c), STUB_DETACHED);
	ck_assert_int_eq(c.shared[SHARED_DIVERSIONS], 0);
}
END_TEST

/* What gdb 13 sends for `call f(21)`, with the dummy breakpoint at 1010. */
START_TEST(function_calls)
{
	struct client c = connect_gdb();
	static const char push[] = "X87f8,8:\x10\x10\0\0\0\0\0";

	EXPECT_PREFIX(&c, "qXfer:siginfo:read::0,80", "E.");
	EXPECT(&c, "P5=1500000000000000", "OK");
	send_packet(&c, push, sizeof(push));
	ck_assert_str_eq(receive(&c), "OK");
	EXPECT(&c, "P7=f887000000000000", "OK");
	EXPECT(&c, "P10=0020000000000000", "OK");
	EXPECT(&c, "Z0,1010,1", "OK");
	EXPECT_PREFIX(&c, "vCont;c:p3e8.3e8", "T05swbreak:;thread:p3e8.3e8;");
	EXPECT(&c, "p0", "2a00000000000000");
	EXPECT(&c, "m3040,1", "77");
	/* puts back what it had */
	EXPECT(&c, "P0=0000000000000000", "OK");
	EXPECT(&c, "P5=0700000000000000", "OK");
	EXPECT(&c, "m3040,1", "77");
	EXPECT(&c, "P10=0010000000000000", "OK");
	/* over: memory is what it was, and nothing can be written */
	EXPECT(&c, "m3040,1", "00");
	EXPECT_PREFIX(&c, "P0=0100000000000000", "E.");
	EXPECT(&c, "z0,1010,1", "OK");
	EXPECT_PREFIX(&c, "vCont;s:p3e8.3e8", "T05thread:p3e8.3e8;");
	EXPECT(&c, "p0", "0100000000000000");
	/* changes without a call are dropped at the next step */
	(void)ask(&c, "qXfer:siginfo:read::0,80");
	EXPECT(&c, "P0=6300000000000000", "OK");
	EXPECT_PREFIX(&c, "vCont;s:p3e8.3e8", "T05thread:p3e8.3e8;");
	EXPECT(&c, "p0", "0200000000000000");
	ck_assert_ptr_nonnull(strstr(buf_cstr(&c.console), "dropped"));
	/* and going back in the middle of a call ends it */
	(void)ask(&c, "qXfer:siginfo:read::0,80");
	EXPECT(&c, "P10=0020000000000000", "OK");
	EXPECT_PREFIX(&c, "bs", "T05thread:p3e8.3e8;");
	EXPECT(&c, "p0", "0100000000000000");
	finish(&c);
	ck_assert_int_eq(c.shared[SHARED_DIVERSIONS], 3);
}
END_TEST

/* f(text): gdb reads siginfo for f, calls malloc(), writes the text, calls f; shows what f returned. */
START_TEST(nested_calls)
{
	struct client c = connect_gdb();
	static const char push[] = "X87f8,8:\x10\x10\0\0\0\0\0", text[] = "X3200,3:ab\0", other[] = "X3200,3:cd\0";

	EXPECT(&c, "Z0,1010,1", "OK");
	(void)ask(&c, "qXfer:siginfo:read::0,80");
	(void)ask(&c, "qXfer:siginfo:read::0,80");
	for (int i = 0; i < 2; i++) {
		EXPECT(&c, "P5=0019000000000000", "OK"); /* the result will be 3200 */
		EXPECT(&c, "P28=22222222222222222222222222222222", "OK");
		send_packet(&c, push, sizeof(push));
		ck_assert_str_eq(receive(&c), "OK");
		EXPECT(&c, "P7=f887000000000000", "OK");
		EXPECT(&c, "P10=0020000000000000", "OK");
		EXPECT_PREFIX(&c, "vCont;c:p3e8.3e8", "T05swbreak:;");
		EXPECT(&c, "P0=0000000000000000", "OK");
		EXPECT(&c, "P5=0700000000000000", "OK");
		EXPECT(&c, "P10=0010000000000000", "OK");
		/* general registers are as before, vector registers come last */
		EXPECT(&c, "P28=11111111111111111111111111111111", "OK");
		send_packet(&c, i ? other : text, sizeof(text) - 1);
		ck_assert_str_eq(receive(&c), i ? "E.a recording cannot be changed; only calls of functions (call f(x)) can write, to a copy that is "
						  "dropped afterwards" : "OK");
	}
	EXPECT(&c, "m3200,3", "616200");
	EXPECT(&c, "m3040,1", "00"); /* not a result: the recording's again */
	EXPECT(&c, "m3200,3", "000000");
	finish(&c);
	ck_assert_int_eq(c.shared[SHARED_DIVERSIONS], 1);
}
END_TEST

START_TEST(threads)
{
	struct client c = connect_gdb();

	EXPECT(&c, "qfThreadInfo", "mp3e8.3e8");
	EXPECT(&c, "qsThreadInfo", "l");
	EXPECT_PREFIX(&c, "Tp3e8.3e9", "E.");
	EXPECT(&c, "Z0,1020,1", "OK");
	EXPECT_PREFIX(&c, "vCont;c", "T05swbreak:;");
	EXPECT(&c, "qfThreadInfo", "mp3e8.3e8,p3e8.3e9");
	EXPECT(&c, "Tp3e8.3e9", "OK");
	EXPECT(&c, "qXfer:threads:read::0,1000",
	       "l<?xml version=\"1.0\"?><threads><thread id=\"p3e8.3e8\" core=\"0\" name=\"main\"/>"
	       "<thread id=\"p3e8.3e9\" core=\"0\" name=\"wor&lt;er\"/></threads>");
	EXPECT(&c, "qThreadExtraInfo,p3e8.3e9", "776f723c65722028696e20612073797374656d2063616c6c29");
	EXPECT(&c, "Hgp3e8.3e9", "OK");
	EXPECT(&c, "p10", "8010000000000000");
	EXPECT(&c, "Hgp3e8.3e8", "OK");
	EXPECT(&c, "p10", "2010000000000000");
	/* TLS: the block of module 1 is what the table at fs:8 says; nothing there */
	EXPECT_PREFIX(&c, "qGetTLSAddr:p3e8.3e8,10,0", "E.");
	EXPECT(&c, "qGetTLSAddr:p3e8.3e8,10,1234", "");
	EXPECT(&c, "qSymbol::", "qSymbol:5f7468726561645f64625f6c696e6b5f6d61705f6c5f746c735f6d6f646964");
	EXPECT(&c, "qSymbol:3000:5f7468726561645f64625f6c696e6b5f6d61705f6c5f746c735f6d6f646964", "OK");
	finish(&c);
}
END_TEST

START_TEST(objects)
{
	struct client c = connect_gdb();
	char whole[65536];
	size_t n = 0;

	EXPECT(&c, "qXfer:exec-file:read:3e8:0,1000", "l/bin/mock");
	EXPECT(&c, "qXfer:exec-file:read:3e8:5,3", "mmoc");
	EXPECT(&c, "qXfer:exec-file:read:3e8:fff,3", "l");
	EXPECT_PREFIX(&c, "qXfer:exec-file:read:1:0,1000", "E.");
	EXPECT_PREFIX(&c, "qXfer:features:read:other.xml:0,1000", "E.");
	EXPECT(&c, "qXfer:nothing:read::0,1000", "");
	EXPECT(&c, "qXfer:auxv:write::0:00", "");
	EXPECT_PREFIX(&c, "qXfer:features:read:target.xml:0", "E.");
	EXPECT_PREFIX(&c, "qXfer:libraries-svr4:read::0,1000", "E.");
	EXPECT(&c, "qXfer:libraries-svr4:read:start=fff0;prev=0;:0,1000", "l<library-list-svr4 version=\"1.0\"></library-list-svr4>");
	for (;;) {
		char body[80];
		const char *piece;

		snprintf(body, sizeof(body), "qXfer:features:read:target.xml:%zx,3f0", n);
		piece = ask(&c, body);
		ck_assert_uint_lt(n + c.reply.len, sizeof(whole));
		memcpy(whole + n, piece + 1, c.reply.len);
		n += c.reply.len - 1;
		if (piece[0] == 'l')
			break;
	}
	ck_assert_ptr_nonnull(strstr(whole, "<reg name=\"gs_base\""));
	ck_assert_str_eq(whole + n - 9, "</target>");
	finish(&c);
}
END_TEST

START_TEST(files)
{
	struct client c = connect_gdb();

	EXPECT(&c, "vFile:setfs:0", "F0");
	EXPECT(&c, "vFile:open:2f62696e2f6d6f636b,0,0", "F0"); /* /bin/mock */
	EXPECT(&c, "vFile:pread:0,100,0", "F7;ELF}*#$");
	EXPECT(&c, "vFile:pread:0,100,3", "F4;}*#$");
	EXPECT(&c, "vFile:pread:0,100,7", "F0;");
	EXPECT_PREFIX(&c, "vFile:fstat:0", "F40;");
	ck_assert_uint_eq(c.reply.len, 4 + 64);
	ck_assert_uint_eq(c.reply.data[4 + 28 + 7], 7);
	/* nothing of this machine: /etc/passwd, /proc/1/maps */
	EXPECT(&c, "vFile:open:2f6574632f706173737764,0,0", "F-1,2");
	EXPECT(&c, "vFile:open:2f70726f632f312f6d617073,0,0", "F-1,2");
	EXPECT(&c, "vFile:open:2f62696e2f6d6f636b,1,0", "F-1,d");
	EXPECT(&c, "vFile:open:2f70726f632f313030302f636f6d6d,0,0", "F1"); /* /proc/1000/comm */
	EXPECT(&c, "vFile:pread:1,100,0", "F5;mock\n");
	EXPECT(&c, "vFile:close:1", "F0");
	EXPECT(&c, "vFile:pread:1,100,0", "F-1,9");
	EXPECT(&c, "vFile:close:40", "F-1,9");
	EXPECT(&c, "vFile:readlink:2f70726f632f313030302f657865", "F9;/bin/mock");
	EXPECT(&c, "vFile:readlink:2f62696e2f6d6f636b", "F-1,2");
	EXPECT(&c, "vFile:pwrite:0,0,aa", "F-1,d");
	EXPECT(&c, "vFile:unlink:2f62696e2f6d6f636b", "F-1,d");
	for (int i = 1; i < (int)STUB_FILES_MAX; i++)
		EXPECT_PREFIX(&c, "vFile:open:2f70726f632f73656c662f636f6d6d,0,0", "F");
	EXPECT(&c, "vFile:open:2f70726f632f73656c662f636f6d6d,0,0", "F-1,18");
	finish(&c);
}
END_TEST

static double now(void)
{
	return (double)os_mono_ns() / 1e9;
}

START_TEST(interrupt)
{
	struct client c = start(&(struct server_options){ .forever = true });
	double t;

	hello(&c, GDB);
	send_packet(&c, "vCont;c", 7);
	usleep(100000);
	t = now();
	send_raw(&c, "\003", 1);
	ck_assert_msg(str_has_prefix(receive(&c), "T02thread:p3e8.3e8;"), "%s", buf_cstr(&c.reply));
	ck_assert_double_lt(now() - t, 1);
	/* one that was sent right with the packet */
	send_raw(&c, "$bc#c5\003", 7);
	ck_assert(str_has_prefix(receive(&c), "T02"));
	finish(&c);
}
END_TEST

START_TEST(progress)
{
	struct client c = start(&(struct server_options){ .forever = true });

	hello(&c, GDB);
	send_packet(&c, "bc", 2);
	usleep(3300000);
	send_raw(&c, "\003", 1);
	receive(&c);
	ck_assert_ptr_nonnull(strstr(buf_cstr(&c.console), "[running: event 1 of 2]"));
	finish(&c);
}
END_TEST

START_TEST(client_vanishes)
{
	for (int i = 0; i < 2; i++) {
		struct client c = start(&(struct server_options){ .forever = true });
		double t;

		hello(&c, GDB);
		EXPECT(&c, "Z0,1010,1", "OK");
		if (i)
			send_packet(&c, "vCont;c", 7);
		usleep(50000);
		t = now();
		close(c.fd);
		ck_assert_int_eq(server_end(&c), STUB_GONE);
		ck_assert_double_lt(now() - t, 1);
		ck_assert_int_eq(c.shared[SHARED_BREAKS], 0);
	}
}
END_TEST

START_TEST(endings)
{
	struct client c = connect_gdb();

	EXPECT_PREFIX(&c, "vKill;3e9", "E.");
	EXPECT_PREFIX(&c, "vKill;zz", "E.");
	EXPECT_PREFIX(&c, "D;1", "E.");
	EXPECT(&c, "k1", "");
	EXPECT(&c, "vKill;3e8", "OK");
	ck_assert_int_eq(server_end(&c), STUB_KILLED);
	c = connect_gdb();
	send_packet(&c, "k", 1);
	ck_assert_int_eq(server_end(&c), STUB_KILLED);
	c = connect_gdb();
	monitor(&c, "exit");
	ck_assert_int_eq(server_end(&c), STUB_KILLED);
	/* a replay that broke: can be asked, can be ended */
	c = start(&(struct server_options){ .lost = true });
	hello(&c, GDB);
	EXPECT_PREFIX(&c, "g", "E.the replay broke");
	EXPECT_PREFIX(&c, "vCont;c", "E.the replay broke");
	ck_assert(str_has_prefix(monitor(&c, "hermit where"), "error: the replay broke"));
	finish(&c);
}
END_TEST

START_TEST(monitor_places)
{
	struct client c = connect_gdb();

	ck_assert_ptr_nonnull(strstr(monitor(&c, "hermit help"), "monitor hermit last-write ADDR LEN"));
	ck_assert(str_has_prefix(monitor(&c, "hermit where"), "position 0: 0 of "));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&c.console), "exited with code 3"));
	/* arm: gdb steps and is elsewhere */
	ck_assert_str_eq(monitor(&c, "hermit arm 3+2"), "");
	EXPECT(&c, "vCont;s:p3e8.3e8", "T05thread:p3e8.3e8;" REGS_AT("28"));
	ck_assert_ptr_nonnull(strstr(monitor(&c, "hermit where --json"), "\"position\":\"3+2\""));
	ck_assert_str_eq(monitor(&c, "hermit bookmark here"), "here is position 3+2\n");
	/* another thread: signal 0, so that gdb does not see a trap that nobody set */
	ck_assert_str_eq(monitor(&c, "hermit arm 5"), "");
	EXPECT_PREFIX(&c, "vCont;s:p3e8.3e8", "T00thread:p3e8.3e9;");
	ck_assert_str_eq(monitor(&c, "hermit arm start"), "");
	EXPECT_PREFIX(&c, "bs", "T00thread:p3e8.3e8;");
	ck_assert_str_eq(monitor(&c, "hermit arm here"), "");
	EXPECT(&c, "bc", "T00thread:p3e8.3e8;" REGS_AT("28"));
	/* last-write comes back, arm last-write goes */
	ck_assert_str_eq(monitor(&c, "hermit last-write 0x3003 2"), "last written right after position 0+4\n");
	ck_assert(str_has_prefix(monitor(&c, "hermit where"), "position 3+2:"));
	ck_assert_str_eq(monitor(&c, "hermit last-write 0x3103 2"), "nothing recorded has written there before\n");
	ck_assert_str_eq(monitor(&c, "hermit arm last-write 0x3003 1"), "");
	EXPECT(&c, "vCont;s:p3e8.3e8", "T05thread:p3e8.3e8;" REGS_AT("0c"));
	ck_assert(str_has_prefix(monitor(&c, "hermit goto 20ms"), "now at position 2+4\n"));
	ck_assert_str_eq(monitor(&c, "hermit checkpoint"), "checkpoint-1 is position 2+4\n");
	ck_assert_ptr_nonnull(strstr(monitor(&c, "hermit bookmarks"), "checkpoint-1         2+4\n"));
	ck_assert_str_eq(monitor(&c, "hermit bookmarks --json"),
			 "{\"bookmarks\":[{\"name\":\"here\",\"position\":\"3+2\"},{\"name\":\"checkpoint-1\",\"position\":\"2+4\"}]}\n");
	ck_assert(str_has_prefix(monitor(&c, "hermit goto nowhere"), "error: nowhere is no position"));
	ck_assert(str_has_prefix(monitor(&c, "hermit goto nowhere --json"), "{\"error\":"));
	ck_assert(str_has_prefix(monitor(&c, "hermit goto 1000"), "error: "));
	ck_assert(str_has_prefix(monitor(&c, "hermit bookmark 1x"), "error: "));
	ck_assert(str_has_prefix(monitor(&c, "hermit bookmark \033[31m"), "error: "));
	ck_assert(str_has_prefix(monitor(&c, "hermit last-write 5"), "error: usage"));
	ck_assert(str_has_prefix(monitor(&c, "hermit frobnicate"), "error: there is no command"));
	finish(&c);
}
END_TEST

START_TEST(monitor_where_within)
{
	struct client c = start(&(struct server_options){ .nowhere = true });

	hello(&c, GDB);
	ck_assert(str_has_prefix(monitor(&c, "hermit where"), "error: the position was asked for"));
	ck_assert_str_eq(monitor(&c, "hermit where brief"), "0 of 0 events, 0 ns after the start (start of the process)\n"
							    "process 1000 /bin/mock, thread 1000\nin the recording it exited with code 3\n");
	ck_assert_str_eq(monitor(&c, "hermit where brief --json"),
			 "{\"event\":0,\"events\":0,\"time_ns\":0,\"pid\":1000,\"thread\":1000,\"status\":768,\"over\":false,\"at_start\":true,"
			 "\"at_end\":false,\"diverted\":false}\n");
	ck_assert(str_has_prefix(monitor(&c, "hermit where 10ms"), "0 of 0 events"));
	ck_assert(str_has_prefix(monitor(&c, "hermit where 3s"), "error: the position was asked for"));
	ck_assert(str_has_prefix(monitor(&c, "hermit where exactly"), "error: usage: monitor hermit where [brief|TIME]"));
	finish(&c);
}
END_TEST

/* A recording of 20 calls that write to stdout. */
static struct store_id record(struct store *s)
{
	struct store_writer *w;
	struct manifest m;
	struct store_id id;

	help_manifest(&m);
	m.processes = 1;
	m.process = calloc(1, sizeof(*m.process));
	*m.process = (struct manifest_process){ .thread = 1, .pid = MOCK_PID, .status = 3 << 8, .command = strdup("mock 'a b'") };
	OK(store_writer_new(s, &m, &w, NULL));
	for (int i = 1; i <= 20; i++) {
		struct effect e = { .kind = EFFECT_INPUT, .addr = 0x3000, .len = 5, .data = "text\n", .name = "" };
		struct event ev = { .kind = EVENT_SYSCALL, .thread = 1, .time_ns = (uint64_t)i * 1000, .flags = EVENT_F_STDOUT, .sysno = 1,
				    .args = { 1, 0x3000, i == 2 ? 70 : 5 }, .result = i == 2 ? 70 : 5, .text = "", .effects = &e, .n_effects = 1 };

		OK(store_writer_event(w, &ev));
	}
	id = *store_writer_id(w);
	m.status = 3 << 8;
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	return id;
}

START_TEST(monitor_recording)
{
	struct help_store h = help_open();
	struct store_id id = record(h.s);
	struct store_reader *r;
	struct client c;
	const char *text;

	OK(store_reader_open(h.s, &id, &r, NULL));
	c = start(&(struct server_options){ .reader = r });
	hello(&c, GDB);
	text = monitor(&c, "hermit events 2-3");
	ck_assert_ptr_nonnull(strstr(text, "thread 1  syscall write = 70\n"));
	ck_assert_ptr_nonnull(strstr(text, "3    0.000003 s"));
	ck_assert_ptr_null(strstr(text, "4    0.000004 s"));
	text = monitor(&c, "hermit events 19- --json");
	ck_assert(str_has_prefix(text, "{\"events\":[{\"number\":19,\"kind\":\"syscall\","));
	ck_assert(str_has_prefix(monitor(&c, "hermit events 21"), "error: the recording has 20 events"));
	ck_assert(str_has_prefix(monitor(&c, "hermit events 3-2"), "error: "));
	text = monitor(&c, "hermit processes");
	ck_assert_msg(str_has_prefix(text, "* 1000 "), "%s", text);
	ck_assert_ptr_nonnull(strstr(text, "mock 'a b'  exited with code 3\n"));
	ck_assert_ptr_nonnull(strstr(monitor(&c, "hermit processes --json"), "\"pid\":1000,"));
	ck_assert_str_eq(monitor(&c, "hermit output"), "");
	monitor(&c, "hermit arm 3");
	EXPECT_PREFIX(&c, "vCont;s:p3e8.3e8", "T05");
	ck_assert_str_eq(monitor(&c, "hermit output"), "text\ntext\n[... 65 more bytes]\ntext\n");
	ck_assert_str_eq(monitor(&c, "hermit output --json"), "{\"output\":\"text\\ntext\\n[... 65 more bytes]\\ntext\\n\"}\n");
	finish(&c);
	store_reader_free(r);
	help_close(&h);
}
END_TEST

START_TEST(monitor_notes)
{
	struct client c = start(&(struct server_options){ .notes = true });

	hello(&c, GDB);
	ck_assert_str_eq(monitor(&c, "hermit bookmarks"), "of the page          3\n\\x1b[31mred          8\n");
	ck_assert_str_eq(monitor(&c, "hermit arm 3+2"), "");
	EXPECT(&c, "vCont;s:p3e8.3e8", "T05thread:p3e8.3e8;" REGS_AT("28"));
	ck_assert_str_eq(monitor(&c, "hermit bookmark why is  it zero?"), "noted at position 3+2\n");
	ck_assert_ptr_nonnull(strstr(monitor(&c, "hermit bookmarks"), "why is it zero?      3+2\n"));
	ck_assert_ptr_nonnull(strstr(monitor(&c, "hermit bookmarks --json"), "{\"name\":\"why is it zero?\",\"position\":\"3+2\",\"event\":3}]}"));
	ck_assert_str_eq(monitor(&c, "hermit bookmark more"), "error: full\n");
	finish(&c);
}
END_TEST

START_TEST(sockets)
{
	struct errinfo ei = { 0 };
	char *dir = help_tmp_dir(), *path = os_asprintf("%s/s", dir);
	uint16_t port;
	int fd, fd2;

	ck_assert_int_eq(stub_listen_host("0.0.0.0:0", &port, &fd, &ei), -EINVAL);
	ck_assert_int_eq(stub_listen_host("example.com:1", &port, &fd, NULL), -EINVAL);
	ck_assert_int_eq(stub_listen_host("localhost:70000", &port, &fd, NULL), -EINVAL);
	ck_assert_int_eq(stub_listen_host("localhost:", &port, &fd, NULL), -EINVAL);
	OK(stub_listen_host("localhost:0", &port, &fd, NULL));
	ck_assert_uint_ne(port, 0);
	ck_assert_int_eq(stub_listen_port(port, NULL, &fd2, NULL), -EADDRINUSE);
	ck_assert_int_eq(stub_accept(fd, 10, &fd2), ERR_TIMEOUT);
	close(fd);
	OK(stub_listen_unix(path, &fd, NULL));
	ck_assert_int_eq(stub_listen_unix(path, &fd2, NULL), -EADDRINUSE);
	close(fd);
	OK(stub_listen_unix(path, &fd, NULL)); /* a stale one */
	close(fd);
	ck_assert_ptr_nonnull(strstr(stub_gdb_script(), "define goto-event\n"));
	help_remove(dir);
	free(dir);
	free(path);
}
END_TEST

TEST_MAIN("gdbstub_stub", connection, repeated_hello, steps_both_ways, breakpoints, conditions, calls_and_signals, memory, binary_reads, writes_are_refused,
	  function_calls, nested_calls, threads, objects, files, interrupt, progress, client_vanishes, endings, monitor_places, monitor_where_within, monitor_recording,
	  monitor_notes, sockets)
