/* 5 MB to standard output and some to standard error, in large writes that a pipe takes in parts. Deterministic. */
#include "guest.h"

int main(void)
{
	enum { PIECE = 200000, PIECES = 25 };
	static char buf[PIECE];
	unsigned x = 1;

	for (int i = 0; i < PIECES; i++) {
		size_t left = PIECE;

		for (int k = 0; k < PIECE; k++) {
			x = x * 1664525 + 1013904223;
			buf[k] = k % 80 == 79 ? '\n' : (char)('!' + (x >> 24) % 90);
		}
		while (left > 0) {
			ssize_t n = CK(write(1, buf + PIECE - left, left));

			left -= (size_t)n;
		}
		if (i % 5 == 0)
			dprintf(2, "piece %d\n", i);
	}
	return 0;
}
