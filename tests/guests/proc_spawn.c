/* posix_spawn with file actions and attributes, popen, system. Deterministic. */
#include "guest.h"
#include <spawn.h>

int main(void)
{
	extern char **environ;
	char *argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			 (char *)(uintptr_t) "cat <&7; echo to nowhere >&2; exit 6", NULL };
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t none;
	char line[128];
	FILE *f;
	pid_t p;
	int r;

	CK(setenv("PATH", "/usr/bin:/bin", 1));
	scratch();
	put_file("in", "from the file\n", 0600);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 7, "in", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&at);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&at, &none);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	r = posix_spawn(&p, "/bin/sh", &fa, &at, argv, environ);
	CHECK(r == 0);
	say("spawned: %s\n", wait_str(reap(p)));
	r = posix_spawnp(&p, "no-such-program-here", NULL, NULL, argv, environ);
	say("spawn of nothing: %s\n", err_name(r));
	f = popen("echo popen; echo lines; exit 2", "r");
	CHECK(f);
	while (fgets(line, sizeof(line), f))
		say("line: %s", line);
	say("pclose: %s\n", wait_str(pclose(f)));
	say("system: %s\n", wait_str(system("exit 9")));
	say("system: %s\n", wait_str(system("kill -9 $$")));
	done();
	return 0;
}
