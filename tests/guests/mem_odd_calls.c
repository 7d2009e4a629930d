/* Rare memory calls: remap_file_pages, mseal, memfd_secret, map_shadow_stack, mbind, get_mempolicy, move_pages, cachestat,
 * process_madvise. Output: depends on the kernel; each may be refused. */
#include "guest.h"

int main(void)
{
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *s;
	unsigned long mask[16] = { 0 };
	struct {
		uint64_t off, len;
	} range = { 0, 0 };
	uint64_t cs[5] = { 0 };
	void *page = p;
	int status = -77, mode = -1, fd;

	CHECK(p != MAP_FAILED);
	p[0] = 1;
	scratch();
	put_file("f", "contents", 0600);
	fd = CK(open("f", O_RDWR | O_CLOEXEC));
	s = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(s != MAP_FAILED);
	show("remap_file_pages", syscall(SYS_remap_file_pages, s + 4096, 4096, 0, 0, 0));
	say("%.8s\n", s);
	show("mbind", syscall(SYS_mbind, p, 8192, 0, NULL, 0, 0));
	show("get_mempolicy", syscall(SYS_get_mempolicy, &mode, mask, 1024, p, 2));
	say("mode %d mask %lx\n", mode, mask[0]);
	show("move_pages", syscall(SYS_move_pages, 0, 1, &page, NULL, &status, 0));
	say("node %d\n", status);
	show("migrate_pages", syscall(SYS_migrate_pages, 0, 0, NULL, NULL));
	show("cachestat", syscall(451, fd, &range, cs, 0));
	say("cached %llu\n", (unsigned long long)cs[0]);
	show("memfd_secret", syscall(447, 0) < 0 ? -1 : 0);
	show("map_shadow_stack", syscall(453, 0, 4096, 0) < 0 ? -1 : 0);
	show("process_madvise bad fd", syscall(440, -1, NULL, 0, 0, 0));
	show("mseal", syscall(462, p + 4096, 4096, 0));
	show("unmap it", munmap(p + 4096, 4096));
	show("write protect it", mprotect(p + 4096, 4096, PROT_READ));
	done();
	return 0;
}
