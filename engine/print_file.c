/* Structures of files and file systems. */
#include "engine/print_priv.h"

#define PUT(p, ...) buf_printf((p)->out, __VA_ARGS__)

void print_stat(struct printer *p, struct data d)
{
	uint32_t mode = u32_at(d, 24);
	bool device = (mode & 0170000) == 0020000 || (mode & 0170000) == 0060000;

	PUT(p, "{st_mode=");
	print_mode(p, mode);
	if (device) {
		PUT(p, ", st_rdev=");
		print_dev(p, u64_at(d, 40));
	} else {
		PUT(p, ", st_size=%ld", (int64_t)u64_at(d, 48));
	}
	PUT(p, ", ...}");
}

void print_statfs(struct printer *p, struct data d)
{
	PUT(p, "{f_type=");
	print_enum(p, SYS_NAMES_FS_MAGIC, u64_at(d, 0));
	PUT(p, ", f_bsize=%lu, f_blocks=%lu, f_bfree=%lu, f_bavail=%lu, f_files=%lu, f_ffree=%lu, f_fsid={val=[%#x, %#x]}", u64_at(d, 8),
	    u64_at(d, 16), u64_at(d, 24), u64_at(d, 32), u64_at(d, 40), u64_at(d, 48), u32_at(d, 56), u32_at(d, 60));
	PUT(p, ", f_namelen=%lu, f_frsize=%lu, f_flags=", u64_at(d, 64), u64_at(d, 72));
	print_flags(p, SYS_NAMES_ST_FLAGS, u64_at(d, 80));
	PUT(p, "}");
}

void print_statx(struct printer *p, struct data d)
{
	PUT(p, "{stx_mask=");
	print_flags(p, SYS_NAMES_STATX_MASK, u32_at(d, 0));
	PUT(p, ", stx_attributes=");
	print_flags(p, SYS_NAMES_STATX_ATTR, u64_at(d, 8));
	PUT(p, ", stx_mode=");
	print_mode(p, u16_at(d, 28));
	PUT(p, ", stx_size=%lu, ...}", u64_at(d, 40));
}

void print_flock(struct printer *p, struct data d)
{
	PUT(p, "{l_type=");
	print_enum(p, SYS_NAMES_LOCK_TYPE, u16_at(d, 0));
	PUT(p, ", l_whence=");
	print_enum(p, SYS_NAMES_SEEK, u16_at(d, 2));
	PUT(p, ", l_start=%ld, l_len=%ld", (int64_t)u64_at(d, 8), (int64_t)u64_at(d, 16));
	if (p->row->arg[2].dir == SYS_INOUT && p->at_exit)
		PUT(p, ", l_pid=%d", i32_at(d, 24));
	PUT(p, "}");
}

void print_f_owner(struct printer *p, struct data d)
{
	PUT(p, "{type=");
	print_enum(p, SYS_NAMES_F_OWNER_TYPE, u32_at(d, 0));
	PUT(p, ", pid=%d}", i32_at(d, 4));
}

void print_open_how(struct printer *p, struct data d)
{
	PUT(p, "{flags=");
	print_flags(p, SYS_NAMES_OPEN, u64_at(d, 0));
	if (u64_at(d, 8))
		PUT(p, ", mode=%#03lo", u64_at(d, 8));
	PUT(p, ", resolve=");
	print_flags(p, SYS_NAMES_RESOLVE, u64_at(d, 16));
	PUT(p, "}");
}

void print_mount_attr(struct printer *p, struct data d)
{
	PUT(p, "{attr_set=");
	print_flags(p, SYS_NAMES_MOUNT_ATTR, u64_at(d, 0));
	PUT(p, ", attr_clr=");
	print_flags(p, SYS_NAMES_MOUNT_ATTR, u64_at(d, 8));
	PUT(p, ", propagation=");
	print_flags(p, SYS_NAMES_MOUNT, u64_at(d, 16));
	PUT(p, ", userns_fd=%lu}", u64_at(d, 24));
}

/* Records of getdents() are too many to list: their number. Length of a record: u16 behind inode and offset in both kinds. */
static void count_records(struct printer *p, struct data d)
{
	unsigned int n = 0;

	for (size_t at = 0; at + 19 <= d.n; n++) {
		uint16_t len = u16_at(d, at + 16);

		if (len < 19)
			break;
		at += len;
	}
	print_addr(p, p->addr);
	PUT(p, " /* %u entr%s */", n, n == 1 ? "y" : "ies");
}

void print_dirent(struct printer *p, struct data d)
{
	count_records(p, d);
}

void print_dirent64(struct printer *p, struct data d)
{
	count_records(p, d);
}
