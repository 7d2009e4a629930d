/* A pipeline of five processes made by hand, 1 MB through it. Deterministic. */
#include "guest.h"

int main(void)
{
	enum { STAGES = 5, TOTAL = 1 << 20 };
	pid_t p[STAGES];
	int in = -1, fd[2];
	size_t total = 0;
	uint64_t h = 0;
	char buf[4096];
	ssize_t n;

	for (int i = 0; i < STAGES; i++) {
		CK(pipe2(fd, O_CLOEXEC));
		p[i] = xfork();
		if (p[i] == 0) {
			if (i == 0) {
				for (size_t done_ = 0; done_ < TOTAL; done_ += sizeof(buf)) {
					memset(buf, (int)(done_ >> 12) & 0x3f, sizeof(buf));
					write_all(fd[1], buf, sizeof(buf));
				}
				_exit(0);
			}
			while ((n = read(in, buf, sizeof(buf))) > 0) {
				for (ssize_t k = 0; k < n; k++)
					buf[k]++;
				write_all(fd[1], buf, (size_t)n);
			}
			_exit(i);
		}
		close(fd[1]);
		if (in >= 0)
			close(in);
		in = fd[0];
	}
	while ((n = read(in, buf, sizeof(buf))) > 0) {
		for (ssize_t k = 0; k < n; k++)
			h = h * 31 + (unsigned char)buf[k];
		total += (size_t)n;
	}
	for (int i = 0; i < STAGES; i++)
		say("stage %d: %s\n", i, wait_str(reap(p[i])));
	say("%zu bytes, hash %016llx\n", total, (unsigned long long)h);
	done();
	return 0;
}
