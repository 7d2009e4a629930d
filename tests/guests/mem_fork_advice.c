/* MADV_DONTFORK and MADV_WIPEONFORK: what a child finds; posix_madvise. Deterministic. */
#include "guest.h"

int main(void)
{
	char *gone = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *wiped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char vec[1];
	pid_t p;

	CHECK(gone != MAP_FAILED && wiped != MAP_FAILED);
	memset(gone, 1, 8192);
	memset(wiped, 2, 8192);
	CK(madvise(gone, 4096, MADV_DONTFORK));
	CK(madvise(wiped, 4096, MADV_WIPEONFORK));
	p = xfork();
	if (p == 0) {
		show("child: first mapping", mincore(gone, 4096, vec));
		say("child: %d | %d %d\n", gone[4096], wiped[0], wiped[4096]);
		wiped[0] = 9;
		if (xfork() == 0) {
			say("grandchild: %d\n", wiped[0]);
			_exit(0);
		}
		CHECK(wait(NULL) > 0);
		*(volatile char *)gone = 1;
		_exit(0);
	}
	say("%s\n", wait_str(reap(p)));
	say("parent: %d %d\n", gone[0], wiped[0]);
	CK(madvise(gone, 4096, MADV_DOFORK));
	CK(madvise(wiped, 4096, MADV_KEEPONFORK));
	p = xfork();
	if (p == 0) {
		say("child: %d %d\n", gone[0], wiped[0]);
		_exit(0);
	}
	say("%s\n", wait_str(reap(p)));
	done();
	return 0;
}
