/* Placeholder until the commands are written: says its version. */
#include <stdio.h>

int main(void)
{
	printf("hermit %s\n", HERMIT_VERSION);
	return 0;
}
