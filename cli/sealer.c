/* See sealer.h. The program is executed anew, so that nothing of the recording session (memory, handlers, CPU pinning) lives on in it. */
#define LOG_AREA "cli.sealer"
#include "cli/sealer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "cli/stores.h"

/* All CPUs again: the recorder pins itself to one. The kernel cuts the mask to what is allowed. */
static void unpin(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

static void reset_signals(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t none;

	sigemptyset(&sa.sa_mask);
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &sa, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the grandchild: everything that could tie it to the caller's terminal, pipes or scheduling. Failures make it less polite, not wrong. */
static void detach(void)
{
	const struct sched_param zero = { 0 };
	int fd = open("/dev/null", O_RDWR);

	reset_signals();
	if (chdir("/"))
		log_debug("chdir /: %s", strerror(errno));
	for (int i = 0; fd >= 0 && i <= STDERR_FILENO; i++)
		dup2(fd, i);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	unpin();
	setpriority(PRIO_PROCESS, 0, 19);
	sched_setscheduler(0, SCHED_IDLE, &zero);
}

void sealer_start(struct store *s, const struct store_id *id)
{
	char *dir CLEANUP(freep) = stores_abs_dir(s);
	char *option CLEANUP(freep) = dir ? os_asprintf("--data-dir=%s", dir) : NULL;
	pid_t child;

	if (!option)
		return;
	fflush(NULL);
	child = fork();
	if (child < 0) {
		log_info("start sealing of %s: %s", id->hex, strerror(errno));
		return;
	}
	if (child) {
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		return;
	}
	/* forked twice: the sealer belongs to init at once, not to whoever waits for our children */
	setsid();
	if (fork())
		_exit(0);
	detach();
	/* it would empty the log file that this process writes */
	unsetenv("HERMIT_LOG_FILE");
	unsetenv("HERMIT_LOG");
	execl("/proc/self/exe", "hermit", "--log=off", "record", "seal", "--quiet", option, id->hex, (char *)NULL);
	_exit(127);
}
