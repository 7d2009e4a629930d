/* An archive as import walks over it: heads, pax headers, sizes. The members' content is passed over.
 * First byte: 1 = mend the heads' checksums, so that what is behind them is met. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/os.h"
#include "store/tar_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mend(uint8_t *p, size_t n)
{
	for (; n >= TAR_BLOCK; p += TAR_BLOCK, n -= TAR_BLOCK) {
		unsigned sum = 0;

		if (memcmp(p + 257, "ustar", 5) != 0)
			continue;
		memset(p + 148, ' ', 8);
		for (unsigned i = 0; i < TAR_BLOCK; i++)
			sum += p[i];
		(void)snprintf((char *)p + 148, 8, "%06o", sum);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	uint8_t *copy = malloc(size + 1);
	struct tar_member t;
	struct errinfo ei = { 0 };

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (!copy || fd < 0)
		abort();
	if (size)
		memcpy(copy, data + 1, size - 1);
	if (size && data[0] == 1)
		mend(copy, size - 1);
	if (size) {
		if (os_ftruncate(fd, 0) < 0 || os_pwrite_full(fd, copy, size - 1, 0) < 0 || lseek(fd, 0, SEEK_SET) != 0)
			abort();
		for (int i = 0; i < 100 && tar_next(fd, &t, &ei) > 0; i++) {
			if (memchr(t.name, 0, sizeof(t.name)) == NULL || t.size > UINT64_C(1) << 52)
				abort();
			if (lseek(fd, (off_t)(t.size + tar_padding(t.size)), SEEK_CUR) < 0)
				break;
		}
	}
	free(copy);
	return 0;
}
