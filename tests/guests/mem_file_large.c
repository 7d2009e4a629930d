/* A large file mapped shared and, another one, privately: content in many places, sparse parts, stores. Deterministic. */
#include "guest.h"
#include <sys/mman.h>

enum { MIB = 1 << 20, SIZE = 40 * MIB, STEP = 3 * MIB + 4099 };

static uint64_t sum(const unsigned char *p)
{
	uint64_t s = 0;

	for (size_t i = 0; i < SIZE; i += 4096 / 4)
		s = s * 31 + p[i] + p[i + 5];
	return s;
}

static int make(const char *name)
{
	int fd = CK(open(name, O_RDWR | O_CREAT | O_TRUNC, 0600));

	CK(ftruncate(fd, SIZE));
	for (off_t at = 0; at < SIZE - 4096; at += STEP)
		CHECK(pwrite(fd, name, strlen(name), at) > 0);
	return fd;
}

int main(void)
{
	static const char *const names[] = { "large-shared", "large-private" };

	for (int i = 0; i < 2; i++) {
		int fd = make(names[i]);
		unsigned char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, i ? MAP_PRIVATE : MAP_SHARED, fd, 0);

		CHECK(p != MAP_FAILED);
		say("%s: %llx\n", names[i], (unsigned long long)sum(p));
		for (size_t at = 0; at < SIZE; at += STEP / 2)
			p[at] ^= 0x55;
		say("%s stored: %llx\n", names[i], (unsigned long long)sum(p));
		CK(munmap(p, SIZE));
		p = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
		CHECK(p != MAP_FAILED);
		say("%s again: %llx\n", names[i], (unsigned long long)sum(p));
		CK(munmap(p, SIZE));
		CK(unlink(names[i]));
	}
	done();
	return 0;
}
