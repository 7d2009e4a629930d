/* Where trampolines lie: in a gap of the guest's address space within reach of a jump, mapped for the time of one search.
 *
 * A jump that covers several instructions must not be entered in the middle, but jumps through pointers do it: the targets
 * of a switch may be four bytes apart, and a handler may have pushed such an address. Nobody can find them all. So the
 * place is chosen such that those bytes of the jump's offset at which a covered instruction begins are no instruction in
 * 64-bit mode: whoever comes there gets SIGILL, and is sent on to the copy of the instruction that was meant. */
#include "replayer/site_priv.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define REACH_WINDOWS 0x78u /* of 16 MiB on either side, with some to spare */
#define GAP_MARGIN (64u << 10)
#define LOWEST (16ull << 20)
#define HIGHEST 0x7ffffffff000ull

/* Opcodes that are invalid in 64-bit mode by their first byte (Intel SDM vol. 2, appendix A), without those that later
 * processors use as prefixes. */
static const uint8_t no_insn[] = { 0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x82, 0x9a, 0xce, 0xd4, 0xd6, 0xea };

/* Does a covered instruction begin at byte k (1..4) of the jump? */
static bool begins(const struct code_plan *plan, unsigned k)
{
	for (unsigned i = 1; i < plan->n; i++)
		if (plan->off[i] == k)
			return true;
	return false;
}

/* May that byte of the jump be this? */
static bool allowed(const struct code_plan *plan, unsigned k, uint8_t byte)
{
	return !begins(plan, k) || memchr(no_insn, byte, sizeof(no_insn));
}

bool rep_room_fits(const struct rep_site *site)
{
	int32_t offset = (int32_t)(site->entry - (site->at + CODE_JUMP_LEN));
	uint8_t bytes[CODE_JUMP_LEN] = { 0xe9 };

	memcpy(bytes + 1, &offset, sizeof(offset));
	for (unsigned k = 1; k < CODE_JUMP_LEN; k++)
		if (!allowed(&site->plan, k, bytes[k]))
			return false;
	return true;
}

static bool is_free(const struct aspace *as, uint64_t room)
{
	const struct mapping *above = aspace_next(as, room - GAP_MARGIN);
	uint64_t end = room + REP_ROOM + GAP_MARGIN;

	if (room < LOWEST || end > HIGHEST)
		return false;
	/* a stack may grow down into the gap below it */
	return !above || (above->flags & ASPACE_GROWSDOWN ? above->start >= end + (1ull << 30) : above->start >= end);
}

/* 1: mapped, with the trampoline's entry at that offset from the end of the jump. 0: not possible there. */
static int try_offset(struct rep_site *site, int32_t offset)
{
	const int prot = PROT_READ | PROT_WRITE | PROT_EXEC, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	uint64_t entry = site->at + CODE_JUMP_LEN + (uint64_t)(int64_t)offset, room = (entry - CODE_TRAMP_ENTRY) & ~4095ull;
	int64_t result;
	int r;

	if (!is_free(&site->t->t.mm->as, room))
		return 0;
	r = rep_remote_quiet(site->t, SYS_mmap, (uint64_t[6]){ room, REP_ROOM, (uint64_t)prot, (uint64_t)flags, UINT64_MAX, 0 }, &result);
	if (r < 0 || result < 0)
		return MIN(r, 0);
	site->room = (uint64_t)result;
	site->entry = entry;
	return site->room == room ? 1 : ERR_GUEST;
}

/* All offsets whose highest byte is `high`, in steps of 64 KiB from the near end on. */
static int try_window(struct rep_site *site, uint8_t high)
{
	const struct code_plan *plan = &site->plan;
	uint32_t low = (begins(plan, 1) ? no_insn[0] : 0) | (uint32_t)(begins(plan, 2) ? no_insn[0] : 0) << 8;
	int r = 0;

	for (unsigned i = 0; i < 256 && r == 0; i++) {
		uint8_t middle = (uint8_t)(high & 0x80 ? 255 - i : i);

		if (allowed(plan, 3, middle))
			r = try_offset(site, (int32_t)((uint32_t)high << 24 | (uint32_t)middle << 16 | low));
	}
	return r;
}

/* Near ones first: code may refer to what is far on the other side. */
int rep_room_map(struct rep_site *site)
{
	int r = 0;

	for (unsigned i = 0; i < REACH_WINDOWS && r == 0; i++)
		for (unsigned negative = 0; negative < 2 && r == 0; negative++) {
			uint8_t high = (uint8_t)(negative ? 255 - i : i);

			if (allowed(&site->plan, 4, high))
				r = try_window(site, high);
		}
	return r;
}
