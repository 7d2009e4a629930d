/* Presence of pages: see engine/present.h. Documentation/admin-guide/mm/pagemap.rst; frame numbers are hidden from
 * us, the upper bits are not. */
#include "engine/present.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define CHUNK 512u
#define BIT_PRESENT (1ull << 63)
#define BIT_SWAPPED (1ull << 62)
#define BIT_FILE (1ull << 61) /* or shared memory */

int eng_present_open(struct eng_task *t)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", t->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) /* killed: no memory any more (ESRCH since Linux 6.15, before that reading finds nothing) */
		return errno == ESRCH || errno == ENOENT ? ERR_GUEST_GONE : -errno;
	return fd;
}

static enum eng_page kind_of(uint64_t entry)
{
	if (!(entry & (BIT_PRESENT | BIT_SWAPPED)))
		return ENG_PAGE_ABSENT;
	return entry & BIT_FILE ? ENG_PAGE_FILE : ENG_PAGE_ANON;
}

int eng_present(int fd, uint64_t addr, size_t n, uint8_t *ret)
{
	uint64_t entry[CHUNK];

	while (n) {
		size_t want = MIN(n, (size_t)CHUNK);
		ssize_t got = pread(fd, entry, want * sizeof(entry[0]), (off_t)(addr / ENG_PAGE * sizeof(entry[0])));

		if (got < (ssize_t)sizeof(entry[0]))
			return got < 0 ? -errno : ERR_GUEST_GONE;
		want = (size_t)got / sizeof(entry[0]);
		for (size_t i = 0; i < want; i++)
			*ret++ = (uint8_t)kind_of(entry[i]);
		addr += want * ENG_PAGE;
		n -= want;
	}
	return 0;
}
