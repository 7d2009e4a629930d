/* A child that computes for long, and one that writes into its parent; a buffer on a stack that has grown. For tests/debug/family.py.
 * flags: -O1 -no-pie -fno-optimize-sibling-calls */
#include <sys/uio.h>
#include "guest.h"

volatile long written = 1;
volatile unsigned long sum;
volatile int sink;

__attribute__((noinline)) void buffer_is(volatile char *p)
{
	__asm__ volatile("" ::"r"(p) : "memory");
}

__attribute__((noinline)) int deep(int n, int with_buffer)
{
	volatile char frame[1024];
	volatile char buffer[200];

	frame[0] = (char)n;
	if (n)
		return deep(n - 1, with_buffer) + frame[0];
	if (!with_buffer)
		return frame[0];
	buffer[100] = 0;
	buffer_is(buffer);
	sink = deep(300, 0); /* grows on, from a page that is watched */
	buffer[100] = 7;
	return buffer[100];
}

static void compute(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		sum += i;
	_exit(0);
}

static void write_to_parent(void)
{
	long value = 5;
	struct iovec from = {&value, sizeof(value)}, to = {(void *)&written, sizeof(written)};

	_exit(process_vm_writev(getppid(), &from, 1, &to, 1, 0) == sizeof(value) ? 0 : 1);
}

int main(void)
{
	int status;

	if (fork() == 0)
		compute(2000000000ul); /* some 0.5 s at least on any machine */
	wait(&status);
	if (fork() == 0)
		write_to_parent();
	wait(&status);
	sink = deep(1000, 1);
	return status != 0 || written != 5;
}
