/* Finds the function of a packet, and what packet functions share: errors, thread ids, numbers of signals. Also the packets about the
 * connection itself. */
#include "gdbstub/stub_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static const struct packet {
	const char *name;
	bool exact;
	int (*fn)(struct stub *s, struct view *v);
} packets[] = {
#define PACKET(name, exact, fn) { name, exact, stub_##fn },
#include "gdbstub/packets.def"
#undef PACKET
};

static const struct packet *find_packet(const struct view *v)
{
	const struct packet *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
		size_t n = strlen(packets[i].name);

		if (n <= best_len || n > view_left(v) || memcmp(v->p, packets[i].name, n) != 0 || (packets[i].exact && n != view_left(v)))
			continue;
		best = &packets[i];
		best_len = n;
	}
	return best;
}

void stub_packet(struct stub *s)
{
	struct view v = view_of(s->request.data, s->request.len);
	const struct packet *p = find_packet(&v);
	int r;

	if (!p)
		return; /* an empty reply: not known */
	v.p += strlen(p->name);
	if (dbg_lost(s->d)) {
		const char *still[] = { "qSupported", "QStartNoAckMode", "D", "k", "vKill", "vMustReplyEmpty", "H", "qRcmd," };
		bool allowed = false;

		for (size_t i = 0; i < ARRAY_SIZE(still); i++)
			allowed = allowed || strcmp(p->name, still[i]) == 0;
		if (!allowed) {
			stub_refuse(s, ERR_GUEST_GONE, "the replay broke: this session can only be ended");
			return;
		}
	}
	r = p->fn(s, &v);
	if (r < 0) {
		buf_clear(&s->reply);
		stub_refuse(s, r, r == ERR_NOT_FOUND ? "there is nothing of that kind at this position" : err_str(r));
	}
}

int stub_refuse(struct stub *s, int r, const char *text)
{
	int number = r > -255 && r < 0 ? -r : 1;

	buf_clear(&s->reply);
	if (s->c.error_text) {
		buf_printf(&s->reply, "E.");
		rsp_put_text(&s->reply, text);
	} else {
		buf_printf(&s->reply, "E%02x", number);
	}
	return 0;
}

int stub_refuse_loud(struct stub *s, int r, const char *text)
{
	bool error_text = s->c.error_text;

	s->c.error_text = error_text || !s->c.lldb;
	stub_refuse(s, r, text);
	s->c.error_text = error_text;
	return 0;
}

void stub_puts(struct stub *s, const char *text)
{
	buf_put(&s->reply, text, strlen(text));
}

/* --- threads --- */

/* "-1", or a number in hex. */
static int get_id(struct view *v, int64_t *ret)
{
	uint64_t n;

	if (rsp_get_word(v, "-1")) {
		*ret = -1;
		return 0;
	}
	if (rsp_get_hex(v, &n) < 0 || n > INT32_MAX)
		return ERR_PROTOCOL;
	*ret = (int64_t)n;
	return 0;
}

int stub_get_tid(struct stub *s, struct view *v, pid_t *ret)
{
	int64_t pid = 0, tid = -1;
	int r;

	if (rsp_get_char(v, 'p')) {
		r = get_id(v, &pid);
		if (r >= 0 && rsp_get_char(v, '.'))
			r = get_id(v, &tid);
	} else {
		r = get_id(v, &tid);
	}
	if (r < 0)
		return r;
	if (pid > 0 && pid != s->pid)
		return -ESRCH;
	*ret = (pid_t)tid;
	return 0;
}

void stub_put_tid(struct stub *s, struct buf *out, pid_t tid)
{
	if (s->c.multiprocess)
		buf_printf(out, "p%x.%x", (unsigned)s->pid, (unsigned)tid);
	else
		buf_printf(out, "%x", (unsigned)tid);
}

pid_t stub_current(struct stub *s)
{
	pid_t tid = dbg_current(s->d);

	return tid > 0 ? tid : s->last_tid > 0 ? s->last_tid : s->pid;
}

pid_t stub_general(struct stub *s, struct view *v)
{
	static const char suffix[] = ";thread:";
	pid_t tid = 0;

	for (const uint8_t *p = v->p; s->c.thread_suffix && p + sizeof(suffix) - 1 <= v->end; p++) {
		struct view id = { p, v->end };

		if (!rsp_get_word(&id, suffix))
			continue;
		v->end = p;
		if (stub_get_tid(s, &id, &tid) == 0 && tid > 0)
			return tid;
		break;
	}
	return s->c.general > 0 ? s->c.general : stub_current(s);
}

/* --- signals --- */

/* gdb numbers signals its own way. Real-time ones: 33..63 from 45 on, 32 is 77, 64 is 78. */
static const uint8_t gdb_signals[32] = {
	[SIGHUP] = 1, [SIGINT] = 2, [SIGQUIT] = 3, [SIGILL] = 4, [SIGTRAP] = 5, [SIGABRT] = 6, [SIGFPE] = 8, [SIGKILL] = 9, [SIGBUS] = 10,
	[SIGSEGV] = 11, [SIGSYS] = 12, [SIGPIPE] = 13, [SIGALRM] = 14, [SIGTERM] = 15, [SIGURG] = 16, [SIGSTOP] = 17, [SIGTSTP] = 18,
	[SIGCONT] = 19, [SIGCHLD] = 20, [SIGTTIN] = 21, [SIGTTOU] = 22, [SIGIO] = 23, [SIGXCPU] = 24, [SIGXFSZ] = 25, [SIGVTALRM] = 26,
	[SIGPROF] = 27, [SIGWINCH] = 28, [SIGUSR1] = 30, [SIGUSR2] = 31, [SIGPWR] = 32,
};
#define GDB_UNKNOWN 143u

unsigned stub_signal_to_gdb(int signo)
{
	if (signo > 0 && signo < 32)
		return gdb_signals[signo] ? gdb_signals[signo] : GDB_UNKNOWN;
	if (signo == 32 || signo == 64)
		return signo == 32 ? 77 : 78;
	return signo > 32 && signo < 64 ? (unsigned)signo + 12 : GDB_UNKNOWN;
}

int stub_signal_from_gdb(uint64_t n)
{
	for (int i = 1; i <= 64; i++)
		if (stub_signal_to_gdb(i) == n && n != GDB_UNKNOWN)
			return i;
	return 0;
}

/* A set of signals: hex numbers of gdb's between semicolons. */
static int get_signals(struct view *v, uint64_t *ret)
{
	uint64_t set = 0;

	while (view_left(v)) {
		struct view item = rsp_get_until(v, ';');
		uint64_t n;
		int signo;

		if (!view_left(&item))
			continue;
		if (rsp_get_hex(&item, &n) < 0 || view_left(&item))
			return ERR_PROTOCOL;
		signo = stub_signal_from_gdb(n);
		if (signo)
			set |= 1ull << (signo - 1);
	}
	*ret = set;
	return 0;
}

int stub_pass_signals(struct stub *s, struct view *v)
{
	int r = get_signals(v, &s->c.pass_signals);

	if (r < 0)
		return r;
	stub_puts(s, "OK");
	return 0;
}

/* Which signals the program may get has been decided. */
int stub_program_signals(struct stub *s, struct view *v)
{
	uint64_t set;
	int r = get_signals(v, &set);

	if (r < 0)
		return r;
	stub_puts(s, "OK");
	return 0;
}

/* --- the connection --- */

static const struct {
	const char *name;
	size_t offset;
} client_features[] = {
	{ "multiprocess+", offsetof(struct stub_client, multiprocess) },
	{ "swbreak+", offsetof(struct stub_client, swbreak) },
	{ "hwbreak+", offsetof(struct stub_client, hwbreak) },
	{ "error-message+", offsetof(struct stub_client, error_text) },
	{ "binary-upload+", offsetof(struct stub_client, binary_upload) },
};

int stub_supported(struct stub *s, struct view *v)
{
	(void)rsp_get_char(v, ':');
	while (view_left(v)) {
		struct view item = rsp_get_until(v, ';');

		for (size_t i = 0; i < ARRAY_SIZE(client_features); i++)
			if (rsp_is(&item, client_features[i].name))
				*((bool *)((char *)&s->c + client_features[i].offset)) = true;
	}
	buf_printf(&s->reply,
		   "PacketSize=%x;QStartNoAckMode+;qXfer:features:read+;qXfer:auxv:read+;qXfer:exec-file:read+;qXfer:threads:read+;"
		   "qXfer:siginfo:read+;qXfer:libraries-svr4:read+;augmented-libraries-svr4-read+;multiprocess+;swbreak+;hwbreak+;"
		   "ConditionalBreakpoints+;vContSupported+;QPassSignals+;QProgramSignals+;QCatchSyscalls+;ReverseContinue+;ReverseStep+",
		   STUB_PACKET_MAX);
	/* features that only those know who named them */
	if (s->c.error_text)
		stub_puts(s, ";error-message+");
	if (s->c.binary_upload)
		stub_puts(s, ";binary-upload+");
	return 0;
}

int stub_no_ack(struct stub *s, struct view *v)
{
	(void)v;
	s->c.no_ack = true;
	stub_puts(s, "OK");
	return 0;
}

int stub_empty(struct stub *s, struct view *v)
{
	(void)s;
	(void)v;
	return 0;
}

int stub_extended(struct stub *s, struct view *v)
{
	(void)v;
	stub_puts(s, "OK");
	return 0;
}

int stub_attached(struct stub *s, struct view *v)
{
	(void)v;
	stub_puts(s, "1");
	return 0;
}

/* ";PID", or nothing: this process. */
static int get_our_pid(struct stub *s, struct view *v)
{
	uint64_t pid = (uint64_t)s->pid;

	if (rsp_get_char(v, ';') && rsp_get_hex(v, &pid) < 0)
		return ERR_PROTOCOL;
	return view_left(v) ? ERR_PROTOCOL : pid == (uint64_t)s->pid ? 0 : -ESRCH;
}

int stub_detach(struct stub *s, struct view *v)
{
	int r = get_our_pid(s, v);

	if (r < 0)
		return r;
	stub_puts(s, "OK");
	s->end = STUB_DETACHED;
	return 0;
}

int stub_kill(struct stub *s, struct view *v)
{
	(void)v;
	s->no_reply = true;
	s->end = STUB_KILLED;
	return 0;
}

int stub_vkill(struct stub *s, struct view *v)
{
	int r = get_our_pid(s, v);

	if (r < 0)
		return r;
	stub_puts(s, "OK");
	s->end = STUB_KILLED;
	return 0;
}

int stub_select(struct stub *s, struct view *v)
{
	uint8_t op;
	pid_t tid;
	int r = view_get_u8(v, &op);

	if (r >= 0)
		r = stub_get_tid(s, v, &tid);
	if (r < 0)
		return r;
	if (op == 'g')
		s->c.general = MAX(tid, 0);
	else if (op == 'c')
		s->c.resume = MAX(tid, 0);
	else
		return 0;
	stub_puts(s, "OK");
	return 0;
}

int stub_current_thread(struct stub *s, struct view *v)
{
	(void)v;
	stub_puts(s, "QC");
	stub_put_tid(s, &s->reply, stub_current(s));
	return 0;
}
