/* Memory after fork is private to each side; the file offset is shared. Deterministic. */
#include "guest.h"

static int data = 1;

int main(void)
{
	int local = 2;
	int *heap = malloc(sizeof(*heap));
	char c;
	int fd;
	pid_t p;

	scratch();
	put_file("f", "abcdef", 0600);
	fd = CK(open("f", O_RDONLY));
	*heap = 3;
	p = xfork();
	if (p == 0) {
		data += 10;
		local += 10;
		*heap += 10;
		CHECK(read(fd, &c, 1) == 1);
		say("child %d %d %d read %c\n", data, local, *heap, c);
		_exit(0);
	}
	say("%s\n", wait_str(reap(p)));
	CHECK(read(fd, &c, 1) == 1);
	say("parent %d %d %d read %c\n", data, local, *heap, c);
	free(heap);
	done();
	return 0;
}
