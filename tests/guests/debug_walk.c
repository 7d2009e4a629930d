/* For tests/debug/random_walk.py: visits places in an order that it notes, with everything between them that a debugger
 * has to get across. What the next and the last visit of a place is follows from `visits` and `notes`, and the next
 * write of `watched` from its value. flags: -O2 -no-pie
 */
#include <setjmp.h>
#include <sys/time.h>
#include "guest.h"

#define N_PLACES 8
#define MOST     100000

uint64_t visits;      /* how many there have been */
uint64_t watched;     /* what visits was after the last visit of an even place */
uint8_t notes[MOST];  /* which place each visit was of */

/* A visit is counted by the first instruction of a place. */
#define PLACE(n, more)                                                                                               \
	__asm__(".pushsection .text\n.globl place_" #n "\n.type place_" #n ",@function\nplace_" #n ":\n"             \
		"incq visits(%rip)\n" more "ret\n.size place_" #n ", .-place_" #n "\n.popsection\n");                 \
	void place_##n(void);
#define WRITES(n) "mov visits(%rip), %rax\n.globl write_" #n "\nwrite_" #n ":\nmov %rax, watched(%rip)\nxor %eax, %eax\n"

PLACE(0, WRITES(0))
PLACE(1, "")
PLACE(2, "push %rcx\n" WRITES(2) "pop %rcx\n")
PLACE(3, "nop\n")
PLACE(4, WRITES(4))
PLACE(5, "test %rax, %rax\n")
PLACE(6, "cld\n" WRITES(6))
PLACE(7, "mov $40, %ecx\nspin_7: dec %ecx\njnz spin_7\n")

static void (*const places[N_PLACES])(void) = {place_0, place_1, place_2, place_3, place_4, place_5, place_6, place_7};
static uint64_t state = 88172645463325252u;
static volatile sig_atomic_t ticks;
static jmp_buf back;
static int pipes[2];

static unsigned roll(unsigned below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state % below);
}

static void visit(unsigned n)
{
	notes[visits % MOST] = (uint8_t)n;
	places[n]();
}

/* Visits nothing: it comes at any time. */
static void on_alarm(int signo UNUSED)
{
	ticks++;
}

static void on_user(int signo)
{
	visit(roll(N_PLACES));
	if (signo == SIGUSR2)
		longjmp(back, 1);
}

static void compute(void)
{
	static volatile double sum;
	static uint32_t cells[64];

	for (unsigned i = 0; i < 200 + roll(200); i++) {
		cells[i % 64] = cells[(i * 7) % 64] * 1664525u + i;
		sum += cells[i % 64] / 3.0;
	}
}

static void call(void)
{
	struct timespec now;
	char text[64] = "x";
	void *p;

	switch (roll(6)) {
	case 0:
		syscall(SYS_getpid);
		break;
	case 1:
		write_all(pipes[1], text, 1 + roll(60));
		if (read(pipes[0], text, sizeof(text)) < 0)
			_exit(3);
		break;
	case 2:
		clock_gettime(CLOCK_MONOTONIC, &now);
		break;
	case 3:
		p = mmap(NULL, 4 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(p, (int)roll(256), 3 << 12);
		munmap(p, 4 << 12);
		break;
	case 4:
		free(malloc(1 + roll(5000)));
		break;
	default:
		sched_yield();
	}
}

static void child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		visit(0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void something(void)
{
	switch (roll(40)) {
	case 0:
		if (setjmp(back) == 0)
			raise(SIGUSR2);
		break;
	case 1:
		raise(SIGUSR1);
		break;
	case 2:
		if (roll(10) == 0)
			child();
		break;
	case 3 ... 14:
		call();
		break;
	case 15 ... 25:
		compute();
		break;
	default:
		visit(roll(N_PLACES));
	}
}

int main(int argc, char **argv)
{
	struct sigaction alarmed = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct sigaction user = {.sa_handler = on_user, .sa_flags = SA_NODEFER};
	struct itimerval every = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 2000;

	if (pipe(pipes) != 0)
		return 1;
	sigaction(SIGALRM, &alarmed, NULL);
	sigaction(SIGUSR1, &user, NULL);
	sigaction(SIGUSR2, &user, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned i = 0; i < rounds && visits < MOST - 2; i++)
		something();
	setitimer(ITIMER_REAL, &never, NULL);
	say("visits %lu\n", (unsigned long)visits);
	say("ok\n");
	return 0;
}
