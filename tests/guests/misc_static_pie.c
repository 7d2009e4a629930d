/* A static position-independent program. Output: addresses differ.
 * flags: -static-pie
 */
#include "guest.h"

static int data;

int main(void)
{
	say("static-pie, main at %p, data at %p\n", (void *)(uintptr_t)main, (void *)&data);
	done();
	return 0;
}
