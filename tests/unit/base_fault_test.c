/* base/fault: the plan in HERMIT_FAULT decides which hit fails. */
#include "base/fault.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include "tests/unit/test.h"

static void plan(const char *text)
{
	ck_assert_int_eq(text ? setenv("HERMIT_FAULT", text, 1) : unsetenv("HERMIT_FAULT"), 0);
	fault_reload();
}

START_TEST(off)
{
	plan(NULL);
	ck_assert(!FAULT_HIT(store_write));
	plan("");
	ck_assert(!FAULT_HIT(store_write));
}
END_TEST

START_TEST(each_and_nth)
{
	plan("store_write");
	ck_assert(FAULT_HIT(store_write));
	ck_assert(FAULT_HIT(store_write));
	ck_assert(!FAULT_HIT(store_commit));
	plan("store_write:2");
	ck_assert(!FAULT_HIT(store_write));
	ck_assert(FAULT_HIT(store_write));
	ck_assert(!FAULT_HIT(store_write));
}
END_TEST

/* Wait status of a child that hits store_commit twice under the plan. */
static int child_status(const char *text)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		close(2);
		setenv("HERMIT_FAULT", text, 1);
		fault_reload();
		(void)FAULT_HIT(store_commit);
		(void)FAULT_HIT(store_commit);
		_exit(7);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

START_TEST(kills)
{
	ck_assert_int_eq(WTERMSIG(child_status("store_commit:2:kill")), SIGKILL);
	ck_assert_int_eq(WTERMSIG(child_status("store_commit:kill")), SIGKILL);
	ck_assert_int_eq(WEXITSTATUS(child_status("store_commit:3:kill")), 7);
}
END_TEST

START_TEST(bad_plans)
{
	static const char *const bad[] = { "nonsense", "store_commit:", "store_commit:0", "store_commit:x", "store_commit:1:2" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(WEXITSTATUS(child_status(bad[i])), 125);
}
END_TEST

START_TEST(names)
{
	for (int i = 0; i < FAULT_MAX_; i++) {
		ck_assert_uint_gt(strlen(fault_name(i)), 0);
		ck_assert_uint_gt(strlen(fault_text(i)), 0);
	}
	ck_assert_str_eq(fault_name(FAULT_MAX_), "?");
}
END_TEST

TEST_MAIN("fault", off, each_and_nth, kills, bad_plans, names)
