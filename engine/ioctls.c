/* The ioctl family: requests by number, and the outputs that some of them reach through addresses inside their structures.
 * A file of its own because of the kernel headers: they do not mix with those of libc. */
#include "engine/syscall_priv.h"

#include <stdio.h>
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <linux/auto_fs.h>
#include <linux/blkpg.h>
#include <linux/blkzoned.h>
#include <linux/btrfs.h>
#include <linux/cdrom.h>
#include <linux/dma-buf.h>
#include <linux/fb.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <linux/fuse.h>
#include <linux/hdreg.h>
#include <linux/hidraw.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/input.h>
#include <linux/kd.h>
#include <linux/loop.h>
#include <linux/msdos_fs.h>
#include <linux/mtio.h>
#include <linux/nbd.h>
#include <linux/net_tstamp.h>
#include <linux/nsfs.h>
#include <linux/perf_event.h>
#include <linux/ppp-ioctl.h>
#include <linux/random.h>
#include <linux/rtc.h>
#include <linux/seccomp.h>
#include <linux/serial.h>
#include <linux/sockios.h>
#include <linux/types.h>
#include <linux/uinput.h>
#include <linux/usbdevice_fs.h>
#include <linux/videodev2.h>
#include <linux/vt.h>
#include <linux/watchdog.h>
#include <linux/wireless.h>
#include <scsi/sg.h>
#include <sound/asound.h>

/* The argument as the number describes it. Drivers store into it with errors, too. */
#define A_IOC_(value) \
	{ _IOC_SIZE(value) ? SYS_ARG_BUF : SYS_ARG_HEX, \
	  _IOC_DIR(value) == _IOC_READ                   ? SYS_OUT : \
	  _IOC_DIR(value) == _IOC_WRITE                  ? SYS_IN : \
	  _IOC_DIR(value) == (_IOC_READ | _IOC_WRITE)    ? SYS_INOUT : \
							   SYS_NONE, \
	  _IOC_SIZE(value) ? SYS_LEN_FIXED : SYS_LEN_NONE, 0, _IOC_SIZE(value), 0, true, "argp" }

#define HEAD_ A_FD("fd"), A_COMMAND("request")

#define FAMILY sys_ioctl_find
#define FAMILY_CALL "ioctl"
#define FAMILY_FLAGS SYS_F_DESC
#define FAMILY_DEF "engine/ioctls.def"
#define HEAD HEAD_
#include "engine/family.def"

void sys_ioctl_guess(uint32_t request, struct sys_resolved *ret)
{
	static const char *const dirs[] = { "_IOC_NONE", "_IOC_WRITE", "_IOC_READ", "_IOC_READ|_IOC_WRITE" };
	const struct sys_row row = SYS_ROW_("ioctl", EMULATE, SYS_F_DESC | SYS_F_BLOCK, INT, HEAD_, A_IOC_(request));

	ret->own = row;
	ret->row = &ret->own;
	/* Without size nothing is known; structures that go both ways often have a tail or pointers that the size does not count. */
	ret->unknown = !_IOC_SIZE(request) || _IOC_DIR(request) == _IOC_NONE || _IOC_DIR(request) == (_IOC_READ | _IOC_WRITE);
	snprintf(ret->command_buf, sizeof(ret->command_buf), "_IOC(%s, %#x, %#x, %#x)", dirs[_IOC_DIR(request)], _IOC_TYPE(request),
		 _IOC_NR(request), _IOC_SIZE(request));
	ret->command = ret->command_buf;
}

/* Does the structure hold something that could be an address of the guest's? Then the kernel may write there. */
static bool holds_pointer(const struct sys_mem *mem, uint64_t addr, size_t size)
{
	uint64_t word[64];
	uint8_t byte;

	for (size_t at = 0; at + sizeof(word[0]) <= size; at += sizeof(word)) {
		size_t n = MIN(sizeof(word), (size - at) & ~(sizeof(word[0]) - 1));

		if (mem->read(mem->ctx, addr + at, word, n) < 0)
			return false;
		for (size_t i = 0; i < n / sizeof(word[0]); i++)
			if (word[i] >= 0x10000 && word[i] < SYS_USER_END && mem->read(mem->ctx, word[i], &byte, 1) >= 0)
				return true;
	}
	return false;
}

static int ifconf_outs(struct sys_outs *o, const struct sys_mem *mem, uint64_t addr)
{
	struct {
		int32_t len, pad;
		uint64_t buf;
	} ifc;
	struct sys_slot s = { .arg = 2, .nested = 1, .len = SYS_LEN_PTR, .dir = SYS_OUT, .size = 1, .len_addr = addr };

	if (mem->read(mem->ctx, addr, &ifc, sizeof(ifc)) < 0 || ifc.len <= 0)
		return 0;
	s.addr = ifc.buf;
	s.max = (uint64_t)ifc.len;
	return sys_outs_add(o, &s);
}

/* The extents follow the head; those found before an error are stored, and so is their number. */
static int fiemap_outs(struct sys_outs *o, const struct sys_mem *mem, uint64_t addr)
{
	struct fiemap head;
	struct sys_slot s = { .arg = 2, .nested = 1, .len = SYS_LEN_PTR, .dir = SYS_OUT, .on_error = true,
			      .size = sizeof(struct fiemap_extent) };

	if (mem->read(mem->ctx, addr, &head, sizeof(head)) < 0)
		return 0;
	s.addr = addr + sizeof(head);
	s.max = (uint64_t)head.fm_extent_count * sizeof(struct fiemap_extent);
	s.len_addr = addr + offsetof(struct fiemap, fm_mapped_extents);
	return sys_outs_add(o, &s);
}

static int dedupe_outs(struct sys_outs *o, const struct sys_mem *mem, uint64_t addr)
{
	struct file_dedupe_range head;
	struct sys_slot s = { .arg = 2, .nested = 1, .len = SYS_LEN_FIXED, .dir = SYS_INOUT };

	if (mem->read(mem->ctx, addr, &head, sizeof(head)) < 0)
		return 0;
	s.addr = addr + sizeof(head);
	s.max = (uint64_t)head.dest_count * sizeof(struct file_dedupe_range_info);
	return sys_outs_add(o, &s);
}

int sys_ioctl_outs(struct sys_outs *o, const struct sys_mem *mem)
{
	const struct sys_arg *a = &o->res.row->arg[2];
	uint64_t addr = o->call.args[2];

	switch ((uint32_t)o->call.args[1]) {
	case SIOCGIFCONF:
		return ifconf_outs(o, mem, addr);
	case FS_IOC_FIEMAP:
		return fiemap_outs(o, mem, addr);
	case FIDEDUPERANGE:
		return dedupe_outs(o, mem, addr);
	default:
		if (o->res.row == &o->res.own && a->dir == SYS_IN && holds_pointer(mem, addr, a->size))
			o->res.unknown = true;
		return 0;
	}
}
