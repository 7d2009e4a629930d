/* splice from a pipe, tee and copy_file_range straight to standard output: what the user saw must be replayed. Deterministic. */
#include "guest.h"

int main(void)
{
	int p[2], in;

	scratch();
	put_file("in", "copied by copy_file_range\n", 0600);
	in = CK(open("in", O_RDONLY));
	CK(pipe(p));
	CHECK(write(p[1], "spliced to stdout\n", 18) == 18);
	if (splice(p[0], NULL, 1, NULL, 18, 0) < 0) {
		char buf[18];

		show("splice", -1);
		CHECK(read(p[0], buf, 18) == 18);
	}
	CHECK(write(p[1], "teed to stdout\n", 15) == 15);
	if (tee(p[0], 1, 15, 0) < 0)
		say("tee: stdout is no pipe\n");
	if (copy_file_range(in, NULL, 1, NULL, 100, 0) < 0)
		say("copy_file_range: stdout is no file\n");
	done();
	return 0;
}
