/* Request exceptionInfo: what the last stop was about - the signal with its cause, or the C++ exception with its type and message. */
#include "dap/except_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

/* signo 0: of any signal. */
static const struct {
	int signo, code;
	const char *text;
} codes[] = {
	{ 0, SI_USER, "sent by kill()" },
	{ 0, SI_KERNEL, "sent by the kernel" },
	{ 0, SI_QUEUE, "sent by sigqueue()" },
	{ 0, SI_TIMER, "a timer has expired" },
	{ 0, SI_MESGQ, "a message queue has changed" },
	{ 0, SI_ASYNCIO, "asynchronous input or output has ended" },
	{ 0, SI_SIGIO, "a descriptor became ready" },
	{ 0, SI_TKILL, "sent by tgkill() (raise, abort, pthread_kill)" },
	{ SIGSEGV, SEGV_MAPERR, "nothing is mapped at the address" },
	{ SIGSEGV, SEGV_ACCERR, "the mapping at the address does not allow it" },
	{ SIGSEGV, 4, "forbidden by a protection key" },
	{ SIGBUS, BUS_ADRALN, "the address is not aligned" },
	{ SIGBUS, BUS_ADRERR, "the address is behind the end of the mapped file" },
	{ SIGBUS, BUS_OBJERR, "an error of the device behind the mapping" },
	{ SIGFPE, FPE_INTDIV, "integer division by zero, or its result does not fit" },
	{ SIGFPE, FPE_INTOVF, "integer overflow" },
	{ SIGFPE, FPE_FLTDIV, "floating-point division by zero" },
	{ SIGFPE, FPE_FLTOVF, "floating-point overflow" },
	{ SIGFPE, FPE_FLTUND, "floating-point underflow" },
	{ SIGFPE, FPE_FLTRES, "inexact floating-point result" },
	{ SIGFPE, FPE_FLTINV, "invalid floating-point operation" },
	{ SIGILL, ILL_ILLOPC, "the processor does not know the instruction" },
	{ SIGILL, ILL_ILLOPN, "an operand of the instruction is not allowed" },
	{ SIGILL, ILL_PRVOPC, "the instruction is for the kernel only" },
	{ SIGCHLD, CLD_EXITED, "a child has exited" },
	{ SIGCHLD, CLD_KILLED, "a child was killed" },
	{ SIGCHLD, CLD_DUMPED, "a child was killed, with a core" },
	{ SIGCHLD, CLD_STOPPED, "a child was stopped" },
	{ SIGCHLD, CLD_CONTINUED, "a child goes on" },
	{ SIGSYS, 1, "the program's seccomp filter forbids the system call" },
};

const char *siginfo_code(int signo, int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].code == code && (codes[i].signo == signo || (!codes[i].signo && (code <= 0 || code == SI_KERNEL))))
			return codes[i].text;
	return "";
}

/* --- signals --- */

static int number_of(struct dap *d, const char *member, int64_t *ret)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	char *text CLEANUP(freep) = NULL;
	int r;

	buf_printf(&b, "(long) $_siginfo.%s", member);
	r = except_value(d, buf_cstr(&b), &text);
	*ret = r >= 0 && *text ? strtoll(text, NULL, 10) : -1;
	return r;
}

static bool is_fault(int signo)
{
	return signo == SIGSEGV || signo == SIGBUS || signo == SIGILL || signo == SIGFPE;
}

/* "nothing is mapped at the address 0x0", "sent by kill() from process 12". */
static int put_cause(struct dap *d, struct buf *b)
{
	int64_t signo, code, more = -1;
	const char *text;
	int r = number_of(d, "si_signo", &signo);

	if (r >= 0)
		r = number_of(d, "si_code", &code);
	if (r < 0 || signo <= 0)
		return r;
	text = siginfo_code((int)signo, (int)code);
	buf_printf(b, "%s", text);
	if (!*text)
		buf_printf(b, "si_code %" PRId64, code);
	if (is_fault((int)signo) && code > 0 && code != SI_KERNEL) {
		r = number_of(d, "_sifields._sigfault.si_addr", &more);
		buf_printf(b, ": 0x%" PRIx64, (uint64_t)more);
	} else if (code <= 0 || signo == SIGCHLD) {
		r = number_of(d, "_sifields._kill.si_pid", &more);
		if (r >= 0 && more > 0)
			buf_printf(b, ", process %" PRId64, more);
	}
	return r;
}

/* Does the recording say that this signal ended the process? */
static bool ends_process(struct dap *d, const char *name)
{
	int64_t status = run_where(d)->status;
	const char *killer = status >= 0 && (status & 0x7f) ? sigabbrev_np((int)(status & 0x7f)) : NULL;

	return killer && str_has_prefix(name, "SIG") && strcmp(name + strlen("SIG"), killer) == 0;
}

static int put_signal(struct dap *d, const char *name, const char *meaning, json_t *body)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	json_t *details = json_pack("{ss}", "typeName", name);
	int r = details ? 0 : -ENOMEM;

	buf_printf(&b, "%s%s", meaning ? meaning : "signal", meaning ? "; " : ": ");
	if (r >= 0)
		r = put_cause(d, &b);
	if (r >= 0)
		r = jsonx_set_str(body, "exceptionId", name);
	if (r >= 0)
		r = jsonx_set_new(body, "description", jsonx_string_lossy(buf_cstr(&b), b.len));
	if (r >= 0)
		r = jsonx_set_str(body, "breakMode", ends_process(d, name) ? "unhandled" : "always");
	if (r >= 0)
		r = jsonx_set_new(details, "message", jsonx_string_lossy(buf_cstr(&b), b.len));
	if (r >= 0)
		r = jsonx_set_str(details, "evaluateName", "$_siginfo");
	if (r < 0) {
		json_decref(details);
		return r;
	}
	return jsonx_set_new(body, "details", details);
}

/* --- C++ exceptions and the rest --- */

static int put_exception(struct dap *d, const char *kind, json_t *body)
{
	json_t *thrown CLEANUP(jsonx_unrefp) = NULL, *details CLEANUP(jsonx_unrefp) = NULL;
	const char *type, *what;
	int r = except_thrown(d, kind, &thrown);

	if (r < 0)
		return r;
	type = mi_str(thrown, "type");
	what = mi_str(thrown, "what");
	details = json_pack("{ss* ss* ss*}", "fullTypeName", type, "typeName", type, "message", what);
	r = details ? jsonx_set_str(body, "exceptionId", type ? type : "C++ exception") : -ENOMEM;
	if (r >= 0 && what)
		r = jsonx_set_str(body, "description", what);
	return r >= 0 ? json_object_set(body, "details", details) : r;
}

/* A signal is about to be delivered that gdb has not told of. */
static int put_silent_signal(struct dap *d, json_t *body)
{
	struct buf name CLEANUP(buf_done) = { 0 };
	int64_t signo;
	int r = number_of(d, "si_signo", &signo);

	if (r < 0)
		return r;
	if (signo <= 0)
		return errinfo_set(&d->ei, -EINVAL, "the last stop was no exception");
	buf_printf(&name, "SIG%s", sigabbrev_np((int)signo) ?: "?");
	return put_signal(d, buf_cstr(&name), sigdescr_np((int)signo), body);
}

static int exception_info(struct dap *d, const void *args, json_t *body)
{
	struct except_stop s = except_last(d);
	const char *call = s.mi ? mi_str(s.mi, "syscall-name") : NULL;
	int r;

	(void)args;
	if (s.signal)
		return put_signal(d, mi_str(s.mi, "signal-name"), mi_str(s.mi, "signal-meaning"), body);
	if (!s.filter && s.exception)
		return put_silent_signal(d, body);
	if (!s.filter)
		return errinfo_set(&d->ei, -EINVAL, "the last stop was no exception");
	r = jsonx_set_str(body, "breakMode", "always");
	if (r >= 0 && s.cxx)
		return put_exception(d, s.filter, body);
	if (r >= 0)
		r = jsonx_set_str(body, "exceptionId", s.filter);
	return r >= 0 && call ? jsonx_set_str(body, "description", call) : r;
}
DAP_METHOD_PLAIN(exception_info);
