/* Children that crash in many ways; the parent prints how they died. Deterministic. */
#include "guest.h"
#include <sys/resource.h>

int main(void)
{
	static const char *const how[] = { "segv", "abort", "fpe", "ill", "trap", "bus", "term", "kill", "stack",
					   "sys", "exit" };
	struct rlimit no_core = { 0, 0 };

	CK(setrlimit(RLIMIT_CORE, &no_core));
	scratch();
	for (size_t i = 0; i < N_ELEMENTS(how); i++) {
		pid_t p = xfork();

		if (p == 0) {
			volatile int zero = 0;
			char *m;
			int fd;

			switch (i) {
			case 0:
				*(volatile int *)8 = 1;
				break;
			case 1:
				abort();
			case 2:
				zero = 1 / zero;
				break;
			case 3:
				__asm__ volatile("ud2");
				break;
			case 4:
				__asm__ volatile("int3");
				break;
			case 5:
				fd = open("f", O_RDWR | O_CREAT, 0600);
				m = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
				zero = *(volatile char *)m;
				break;
			case 6:
				raise(SIGTERM);
				break;
			case 7:
				raise(SIGKILL);
				break;
			case 8:
				__asm__ volatile("mov $16, %%rsp; push %%rax" ::
							 : "memory");
				break;
			case 9:
				raise(SIGSYS);
				break;
			default:
				_exit(200);
			}
			_exit(99);
		}
		say("%s: %s\n", how[i], wait_str(reap(p)));
	}
	done();
	return 0;
}
