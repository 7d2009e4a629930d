/* The smallest C program. Deterministic. */
#include <stdio.h>

int main(void)
{
	puts("hello, world");
	puts("ok");
	return 0;
}
