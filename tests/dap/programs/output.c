/* Lines on both streams, at different times and places. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0) /* the write */
		_exit(1);
}

static void middle(void)
{
}

int main(void)
{
	put(1, "first line\n"); /* first */
	put(2, "an error\n"); /* second */
	middle(); /* the middle */
	put(1, "half ");
	put(1, "and half\n");
	put(1, "\xffno text\xc3\n"); /* bytes that are no text */
	return 0; /* the end */
}
