/* stat, lstat, fstat, newfstatat, statx, statfs, fstatfs, ustat-free. Output: inodes, devices and times differ. */
#include "guest.h"
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

static void show_stat(const char *what, const struct stat *s)
{
	say("%s: dev %u:%u ino %lu mode %o links %lu uid %d size %ld blocks %ld mtime %ld.%09ld ctime %ld.%09ld\n", what,
	    major(s->st_dev), minor(s->st_dev), (unsigned long)s->st_ino, s->st_mode, (unsigned long)s->st_nlink,
	    (int)s->st_uid, (long)s->st_size, (long)s->st_blocks, (long)s->st_mtim.tv_sec, s->st_mtim.tv_nsec,
	    (long)s->st_ctim.tv_sec, s->st_ctim.tv_nsec);
}

int main(void)
{
	struct statfs sf;
	struct statvfs sv;
	struct statx x;
	struct stat st;

	scratch();
	put_file("f", "0123456789", 0640);
	CK(symlink("f", "l"));
	CK(stat("f", &st));
	show_stat("stat", &st);
	CK(lstat("l", &st));
	show_stat("lstat", &st);
	CK(fstat(0, &st));
	show_stat("fstat of stdin", &st);
	CK(fstatat(AT_FDCWD, "l", &st, AT_SYMLINK_NOFOLLOW));
	show_stat("fstatat", &st);
	CK(stat("/proc/self", &st));
	show_stat("/proc/self", &st);
	CK(stat("/dev/null", &st));
	say("/dev/null is %u:%u\n", major(st.st_rdev), minor(st.st_rdev));
	memset(&x, 0, sizeof(x));
	show("statx", statx(AT_FDCWD, "f", 0, STATX_BASIC_STATS | STATX_BTIME | 0x1000, &x));
	say("mask %#x size %llu btime %lld.%09u mount %llu\n", x.stx_mask, (unsigned long long)x.stx_size,
	    (long long)x.stx_btime.tv_sec, x.stx_btime.tv_nsec, (unsigned long long)x.__spare3[0]);
	show("statx empty path", statx(0, "", AT_EMPTY_PATH, STATX_TYPE, &x));
	show("statx bad mask", statx(AT_FDCWD, "f", 0, 0x80000000, &x));
	CK(statfs(".", &sf));
	say("statfs: type %#lx bsize %ld free %lu files %lu name %ld\n", (long)sf.f_type, (long)sf.f_bsize,
	    (unsigned long)sf.f_bfree, (unsigned long)sf.f_ffree, (long)sf.f_namelen);
	CK(fstatfs(0, &sf));
	say("fstatfs of stdin: type %#lx\n", (long)sf.f_type);
	CK(statvfs("/proc", &sv));
	say("statvfs /proc: flags %#lx\n", sv.f_flag);
	show("stat missing", stat("missing", &st));
	show("stat bad buffer", stat("f", (struct stat *)8));
	show("fstat bad fd", fstat(99, &st));
	done();
	return 0;
}
