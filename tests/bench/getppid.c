/* Microbenchmark: argv[1] getppid calls; what a traced system call costs is (wall - native wall) / calls. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (long n = argc > 1 ? strtol(argv[1], NULL, 10) : 100000; n > 0; n--)
		syscall(SYS_getppid);
	return 0;
}
