/*
 * Preemption as Go does it: a monitor sends SIGURG at more than 100 Hz to threads that run tasks; the handler
 * switches to another task on a stack of its own, a task goes on when it is switched to. Output: the order, which
 * differs.
 */
#include "async.h"

enum { WORKERS = 2, TASKS = 6, STACK = 65536, WORK = 4000000 };

/* Each worker has its tasks; "current" runs, the others wait at the place where they were preempted. */
struct task {
	ucontext_t context;
	char *stack;
	uint64_t sum;
	bool ended;
};

static struct worker {
	struct task task[TASKS];
	ucontext_t back;
	int current;
	unsigned long switches;
	uint64_t order;
	pthread_t thread;
} worker[WORKERS];

static _Thread_local struct worker *self;
static _Thread_local volatile bool may_switch;
static atomic_int running = WORKERS;

static int another(struct worker *w)
{
	for (int i = 1; i <= TASKS; i++)
		if (!w->task[(w->current + i) % TASKS].ended)
			return (w->current + i) % TASKS;
	return -1;
}

/* A task that starts has the signal unblocked by its context; one that goes on returns from its handler. */
static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	struct worker *w = self;
	int from, to;

	if (!w || !may_switch)
		return;
	from = w->current;
	to = another(w);
	if (to < 0 || to == from)
		return;
	w->switches++;
	w->order = mix(w->order, (uint64_t)to);
	w->current = to;
	may_switch = false; /* swapcontext unblocks the signal before it is through */
	CK(swapcontext(&w->task[from].context, &w->task[to].context));
	may_switch = true;
}

static void task_main(int n)
{
	struct worker *w = self;
	struct task *t = &w->task[n];

	may_switch = true;
	t->sum = burn((uint64_t)n, WORK);
	may_switch = false;
	t->ended = true;
}

static void *body(void *arg)
{
	struct worker *w = &worker[(intptr_t)arg];
	sigset_t urg;

	sigemptyset(&urg);
	sigaddset(&urg, SIGURG);
	self = w;
	for (int i = 0; i < TASKS; i++) {
		struct task *t = &w->task[i];

		CK(getcontext(&t->context));
		t->stack = malloc(STACK);
		CHECK(t->stack);
		t->context.uc_stack = (stack_t){ .ss_sp = t->stack, .ss_size = STACK };
		t->context.uc_link = &w->back;
		makecontext(&t->context, (void (*)(void))(uintptr_t)task_main, 1, i);
	}
	while ((w->current = another(w)) >= 0)
		CK(swapcontext(&w->back, &w->task[w->current].context));
	running--;
	pthread_sigmask(SIG_BLOCK, &urg, NULL);
	while (running)
		sched_yield();
	return NULL;
}

int main(void)
{
	sigset_t urg;
	uint64_t sum = 0, expected = 0;

	sigemptyset(&urg);
	sigaddset(&urg, SIGURG);
	on_signal(SIGURG, handler, SA_RESTART);
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&worker[i].thread, NULL, body, (void *)(intptr_t)i) == 0);
	CHECK(pthread_sigmask(SIG_BLOCK, &urg, NULL) == 0);
	while (running) {
		msleep(2);
		for (int i = 0; i < WORKERS; i++)
			CHECK(pthread_kill(worker[i].thread, SIGURG) == 0);
	}
	for (int i = 0; i < WORKERS; i++) {
		CHECK(pthread_join(worker[i].thread, NULL) == 0);
		for (int k = 0; k < TASKS; k++)
			sum = mix(sum, worker[i].task[k].sum), expected = mix(expected, burn((uint64_t)k, WORK));
		say("worker %d: %lu switches, order %lx\n", i, worker[i].switches, (unsigned long)worker[i].order);
	}
	CHECK(sum == expected);
	done();
	return 0;
}
