/* unshare of files and working directory between threads and vforked children; namespaces mostly refused. Deterministic. */
#include "guest.h"
#include <pthread.h>

static void *body(void *arg)
{
	CK(unshare(CLONE_FILES | CLONE_FS));
	close(50);
	CK(chdir("/"));
	CK(dup2(1, 60));
	return arg;
}

int main(void)
{
	char cwd[PATH_MAX];
	pthread_t t;

	CK(chdir("/usr"));
	CK(dup2(0, 50));
	CHECK(pthread_create(&t, NULL, body, NULL) == 0 && pthread_join(t, NULL) == 0);
	show("fd 50", fcntl(50, F_GETFD));
	show("fd 60", fcntl(60, F_GETFD));
	CHECK(getcwd(cwd, sizeof(cwd)));
	say("cwd %s\n", cwd);
	show("unshare nothing", unshare(0));
	show("unshare bad flag", unshare(1));
	show("unshare sysv", unshare(CLONE_SYSVSEM));
	show("setns bad fd", setns(99, 0));
	show("setns of a file", setns(0, CLONE_NEWNS));
	done();
	return 0;
}
