/* A program linked to fixed addresses. Output: the stack's address differs.
 * flags: -no-pie -fno-pie
 */
#include "guest.h"

static int data;

int main(void)
{
	int local;

	say("no pie, main below 4 GB %d, data %p, stack %p\n", (uintptr_t)main < 1ul << 32, (void *)&data, (void *)&local);
	done();
	return 0;
}
