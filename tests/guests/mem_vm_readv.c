/* process_vm_readv and process_vm_writev between parent and child, several pieces, partial transfers, errors. Output: may be refused. */
#include "guest.h"
#include <sys/uio.h>

static char area[8192] = "parent's memory";

int main(void)
{
	struct gate go, ready;
	char buf[32] = "", *edge;
	struct iovec l[2], r[3];
	ssize_t n;
	pid_t p;

	gate_init(&go);
	gate_init(&ready);
	edge = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(edge != MAP_FAILED);
	CK(munmap(edge + 4096, 4096));
	p = xfork();
	if (p == 0) {
		strcpy(area, "child's memory");
		strcpy(area + 100, "second");
		gate_open(&ready);
		gate_wait(&go);
		say("child: %s %s\n", area, area + 100);
		_exit(0);
	}
	gate_wait(&ready);
	l[0] = (struct iovec){ buf, 10 };
	l[1] = (struct iovec){ buf + 10, 20 };
	r[0] = (struct iovec){ area, 14 };
	r[1] = (struct iovec){ area + 100, 6 };
	n = process_vm_readv(p, l, 2, r, 2, 0);
	show("readv", n);
	if (n > 0)
		say("%s\n", buf);
	strcpy(buf, "CHANGEDagain");
	l[0] = (struct iovec){ buf, 12 };
	r[0] = (struct iovec){ area, 7 };
	r[1] = (struct iovec){ area + 100, 5 };
	show("writev", process_vm_writev(p, l, 1, r, 2, 0));
	r[0] = (struct iovec){ edge + 4090, 12 };
	show("partial", process_vm_readv(p, l, 1, r, 1, 0));
	r[0] = (struct iovec){ (void *)8, 12 };
	show("bad remote", process_vm_readv(p, l, 1, r, 1, 0));
	show("no such process", process_vm_readv(0x7ffffffe, l, 1, r, 1, 0));
	show("bad flags", process_vm_readv(p, l, 1, r, 1, 5));
	gate_open(&go);
	say("%s\n", wait_str(reap(p)));
	r[0] = (struct iovec){ area, 7 };
	n = process_vm_readv(getpid(), l, 1, r, 1, 0);
	show("self", n);
	say("%.7s\n", buf);
	done();
	return 0;
}
