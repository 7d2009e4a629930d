/*
 * Rare ioctls whose effects do not follow from their number: memory written past the size that the number says, through
 * pointers inside the structure, or by numbers without size bits. Output: what the kernel and file system say.
 */
#include "guest.h"
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/nsfs.h>
#include <linux/random.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

struct procmap_query_ {
	uint64_t size, query_flags, query_addr, vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};

struct pm_scan_arg_ {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask,
		category_anyof_mask, return_mask;
};

static void result(const char *what, int r, const void *buf, size_t n)
{
	say("%s: %s, hash %016llx\n", what, r < 0 ? err_name(errno) : "done", (unsigned long long)hash(buf, n));
}

int main(void)
{
	static char buf[8192], name[256];
	struct fiemap *fm = (struct fiemap *)(void *)buf;
	struct procmap_query_ q = { .size = sizeof(q) };
	struct pm_scan_arg_ scan = { .size = sizeof(scan) };
	uint64_t regions[30] = { 0 };
	struct ifconf ifc = { .ifc_len = sizeof(buf), .ifc_buf = buf };
	struct ifreq ifr = { 0 };
	uint32_t ethtool[64] = { 0x0000000a }; /* ETHTOOL_GLINK */
	int fd, s, n = 0, block = 0;
	long flags = -1;

	scratch();
	fd = CK(open("f", O_RDWR | O_CREAT, 0600));
	for (int i = 0; i < 5; i++)
		CHECK(pwrite(fd, "extent", 6, i * 100000) == 6);
	CK(fsync(fd));
	fm->fm_length = ~0ull;
	fm->fm_extent_count = 20;
	n = ioctl(fd, FS_IOC_FIEMAP, fm);
	say("fiemap: %u extents\n", n < 0 ? 0 : fm->fm_mapped_extents);
	result("FS_IOC_FIEMAP", n, buf, sizeof(buf));
	result("FIBMAP", ioctl(fd, FIBMAP, &block), &block, sizeof(block));
	result("FS_IOC_GETFLAGS", ioctl(fd, FS_IOC_GETFLAGS, &flags), &flags, sizeof(flags));
	result("FS_IOC_GETVERSION", ioctl(fd, FS_IOC_GETVERSION, &flags), &flags, sizeof(flags));
	result("FS_IOC_FSGETXATTR", ioctl(fd, FS_IOC_FSGETXATTR, buf), buf, 28);
	result("FICLONE", ioctl(fd, FICLONE, fd), buf, 1);
	fd = CK(open("/dev/urandom", O_RDONLY));
	result("RNDGETENTCNT", ioctl(fd, RNDGETENTCNT, &n), &n, sizeof(n));
	fd = open("/proc/self/ns/user", O_RDONLY);
	if (fd >= 0) {
		n = ioctl(fd, NS_GET_NSTYPE);
		show("NS_GET_NSTYPE", n);
		result("NS_GET_OWNER_UID", ioctl(fd, NS_GET_OWNER_UID, &n), &n, sizeof(n));
	}
	fd = CK(open("/proc/self/maps", O_RDONLY));
	q.query_flags = 0x10; /* covering or next */
	q.vma_name_size = sizeof(name);
	q.vma_name_addr = (uintptr_t)name;
	n = ioctl(fd, _IOWR('f', 17, struct procmap_query_), &q);
	result("PROCMAP_QUERY", n, &q, sizeof(q));
	say("name %s\n", name);
	fd = CK(open("/proc/self/pagemap", O_RDONLY));
	scan.start = (uintptr_t)buf & ~4095ul;
	scan.end = scan.start + 3 * 4096;
	scan.vec = (uintptr_t)regions;
	scan.vec_len = 10;
	scan.category_mask = scan.return_mask = 1 << 3; /* present */
	n = ioctl(fd, _IOWR('f', 16, struct pm_scan_arg_), &scan);
	result("PAGEMAP_SCAN", n, &regions, sizeof(regions));
	s = CK(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	n = ioctl(s, SIOCGIFCONF, &ifc);
	say("SIOCGIFCONF length %d\n", ifc.ifc_len);
	result("SIOCGIFCONF", n, buf, sizeof(buf));
	strcpy(ifr.ifr_name, "lo");
	result("SIOCGIFINDEX", ioctl(s, SIOCGIFINDEX, &ifr), &ifr, sizeof(ifr));
	result("SIOCGIFFLAGS", ioctl(s, SIOCGIFFLAGS, &ifr), &ifr, sizeof(ifr));
	result("SIOCGIFADDR", ioctl(s, SIOCGIFADDR, &ifr), &ifr, sizeof(ifr));
	result("SIOCGIFMTU", ioctl(s, SIOCGIFMTU, &ifr), &ifr, sizeof(ifr));
	ifr.ifr_data = (char *)ethtool;
	result("SIOCETHTOOL", ioctl(s, 0x8946, &ifr), ethtool, sizeof(ethtool));
	done();
	return 0;
}
