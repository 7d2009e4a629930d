/* Tracing processes that run already: ATTACH, SEIZE, INTERRUPT, LISTEN, group-stops, DETACH; who may; ends of tracers. */
#include "ptrace.h"

/* A grandchild that is no child of ours (its parent waits for it and tells its status). */
struct far {
	pid_t pid, parent;
	int in[2], out[2];
};

static void far_body(struct far *f)
{
	char c;

	for (;;) {
		ssize_t n = read(f->in[0], &c, 1);

		if (n == 0)
			_exit(21);
		if (n == 1)
			CHECK(write(f->out[1], &c, 1) == 1);
	}
}

static void far_start(struct far *f)
{
	CK(pipe2(f->in, 0));
	CK(pipe2(f->out, 0));
	f->parent = xfork();
	if (f->parent == 0) {
		pid_t p = xfork();
		int st;

		if (p == 0) {
			close(f->in[1]);
			far_body(f);
		}
		close(f->in[1]);
		close(f->in[0]);
		CHECK(write(f->out[1], &p, sizeof(p)) == sizeof(p));
		st = reap(p);
		_exit(WIFEXITED(st) ? WEXITSTATUS(st) : 100 + WTERMSIG(st));
	}
	close(f->in[0]);
	read_whole(f->out[0], &f->pid, sizeof(f->pid));
	wait_state(f->pid, 'S');
}

static char echo_byte(struct far *f, char c)
{
	char r = 0;

	CHECK(write(f->in[1], &c, 1) == 1);
	CHECK(read(f->out[0], &r, 1) == 1);
	return r;
}

static void far_end(struct far *f)
{
	close(f->in[1]);
	close(f->out[0]);
	close(f->out[1]);
	say("its parent: %s\n", wait_str(reap(f->parent)));
}

static void attach(void)
{
	struct user_regs_struct r;
	struct far f;

	far_start(&f);
	say("echo %c\n", echo_byte(&f, 'a'));
	show("no tracer", tracer_pid(f.pid));
	wait_state(f.pid, 'S');
	CK(ptrace(PTRACE_ATTACH, f.pid, NULL, NULL));
	await("attached", f.pid);
	say("traced by us: %d\n", tracer_pid(f.pid) == getpid());
	r = regs_of(f.pid);
	say("in read: %d\n", r.orig_rax == SYS_read);
	show("attach twice", ptrace(PTRACE_ATTACH, f.pid, NULL, NULL));
	CK(ptrace(PTRACE_CONT, f.pid, NULL, NULL));
	say("echo %c\n", echo_byte(&f, 'b'));
	show("request while it runs", ptrace(PTRACE_GETREGS, f.pid, NULL, &r));
	CK(kill(f.pid, SIGSTOP));
	await("stopped", f.pid);
	CK(ptrace(PTRACE_DETACH, f.pid, NULL, NULL));
	say("echo %c\n", echo_byte(&f, 'c'));
	show("no tracer", tracer_pid(f.pid));
	far_end(&f);
}

static void seize(void)
{
	struct far f;
	siginfo_t si;

	far_start(&f);
	CK(ptrace(PTRACE_SEIZE, f.pid, NULL, (void *)PTRACE_O_TRACESYSGOOD));
	say("echo %c\n", echo_byte(&f, 'd'));
	wait_state(f.pid, 'S');
	CK(ptrace(PTRACE_INTERRUPT, f.pid, NULL, NULL));
	await("interrupted", f.pid);
	CK(ptrace(PTRACE_GETSIGINFO, f.pid, NULL, &si));
	say("code %#x\n", si.si_code);
	CK(ptrace(PTRACE_SYSCALL, f.pid, NULL, NULL)); /* the read is made again */
	await("seized", f.pid);
	say("call %lld\n", regs_of(f.pid).orig_rax);
	CK(ptrace(PTRACE_CONT, f.pid, NULL, NULL));
	CK(kill(f.pid, SIGTSTP));
	await("seized", f.pid);
	CK(ptrace(PTRACE_CONT, f.pid, NULL, (void *)SIGTSTP));
	await("seized", f.pid); /* group-stop */
	CK(ptrace(PTRACE_LISTEN, f.pid, NULL, NULL));
	show("listening", waitpid(f.pid, NULL, WNOHANG | __WALL));
	CK(kill(f.pid, SIGCONT));
	await("seized", f.pid); /* end of the group-stop */
	CK(ptrace(PTRACE_CONT, f.pid, NULL, NULL));
	await("seized", f.pid); /* the signal itself */
	CK(ptrace(PTRACE_CONT, f.pid, NULL, NULL));
	say("echo %c\n", echo_byte(&f, 'e'));
	close(f.in[1]);
	await("seized", f.pid); /* its end is told to us first */
	f.in[1] = CK(open("/dev/null", O_RDONLY));
	far_end(&f);
}

static void stopped_before(void)
{
	pid_t p = xfork();
	int st;

	if (p == 0) {
		raise(SIGSTOP);
		_exit(31);
	}
	CHECK(waitpid(p, &st, WUNTRACED) == p);
	say("natively %s\n", stop_str(st));
	CK(ptrace(PTRACE_SEIZE, p, NULL, NULL));
	await("seized", p);
	CK(ptrace(PTRACE_LISTEN, p, NULL, NULL));
	CK(kill(p, SIGCONT));
	await("seized", p);
	CK(ptrace(PTRACE_DETACH, p, NULL, NULL));
	await("child", p);
}

static void who_may(void)
{
	pid_t p = xfork();

	if (p == 0) {
		show("itself", ptrace(PTRACE_ATTACH, getpid(), NULL, NULL));
		CK(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		show("traceme twice", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		_exit(0);
	}
	await("child", p);
	show("nobody", ptrace(PTRACE_ATTACH, 0x7ffffffe, NULL, NULL));
	show("not traced", ptrace(PTRACE_CONT, getpid(), NULL, NULL));
	show("bad request", ptrace((enum __ptrace_request)0x777, getpid(), NULL, NULL));
}

static void tracer_ends(bool exitkill)
{
	pid_t p, tracer;
	int fd[2];
	char c;

	CK(pipe2(fd, 0));
	p = xfork();
	if (p == 0) {
		close(fd[1]);
		CHECK(read(fd[0], &c, 1) == 0);
		_exit(41);
	}
	close(fd[0]);
	tracer = xfork();
	if (tracer == 0) {
		close(fd[1]);
		CK(ptrace(PTRACE_SEIZE, p, NULL, (void *)(exitkill ? PTRACE_O_EXITKILL : 0ul)));
		CK(ptrace(PTRACE_INTERRUPT, p, NULL, NULL));
		CHECK(WIFSTOPPED(reap(p)));
		_exit(0);
	}
	await("tracer", tracer);
	close(fd[1]);
	await(exitkill ? "tracee, killed with it" : "tracee", p);
}

int main(void)
{
	attach();
	seize();
	stopped_before();
	who_may();
	tracer_ends(false);
	tracer_ends(true);
	done();
	return 0;
}
