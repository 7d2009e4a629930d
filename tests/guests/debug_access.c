/* Words that only single instructions touch, which no jump of ours can replace: returns. And a function to be called by a debugger.
 * flags: -O0 */
#include <stdio.h>

void callee(void);

__asm__(".pushsection .text\n"
	".globl callee\n"
	".type callee, @function\n"
	"callee:\n"
	"	incq calls(%rip)\n"
	".globl callee_ret\n"
	"callee_ret:\n"
	"	ret\n"
	".size callee, .-callee\n"
	".popsection\n");

unsigned long calls;

int spoil(void)
{
	calls = 99;
	return *(volatile int *)8;
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		callee();
	printf("%lu\n", calls);
	return 0;
}
