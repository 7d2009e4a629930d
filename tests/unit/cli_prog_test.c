/* cli/prog: which program is found, and what is said of those that cannot run. */
#include "cli/prog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/unit/test.h"

static char dir[64];

static void make(const char *name, const char *content, mode_t mode)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(content, f);
	fclose(f);
	ck_assert_int_eq(chmod(path, mode), 0);
}

static void make_dir(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

/* A directory with programs of every sort. */
static void set_up(void)
{
	char long_line[600] = "#!/bin/sh ";

	snprintf(dir, sizeof(dir), "/tmp/cli_prog_test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	make("script", "#!/bin/sh\necho\n", 0755);
	make("spaced", "#! \t/bin/sh -e\n", 0755);
	make("plain", "echo\n", 0755);
	make("noexec", "#!/bin/sh\n", 0644);
	make("empty", "#!\n", 0755);
	make("blank", "#!   \t\n", 0755);
	make("missing", "#!/no/such/interpreter -x\n", 0755);
	make("dos", "#!/bin/sh\r\n", 0755);
	make("todir", "#!/tmp\n", 0755);
	make("elf32", "\177ELF\001\001\001......................................................", 0755);
	make_dir("folder");
	make_dir("bin");
	make("bin/script", "#!/bin/sh\n", 0755);
	make("bin/tool", "#!/bin/sh\n", 0755);
	memset(long_line + 10, 'x', 500);
	make("long", long_line, 0755);
}

static void tear_down(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

struct answer {
	struct prog_fault fault;
	char *path;
	int r;
};

static struct answer ask(const char *name, const char *path_var)
{
	struct answer a = { 0 };

	a.r = prog_resolve(name, path_var, dir, &a.path, &a.fault);
	return a;
}

START_TEST(by_path)
{
	static const char *const good[] = { "./script", "./spaced", "./plain", "./long", "bin/tool", "/bin/sh" };

	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct answer a = ask(good[i], NULL);

		ck_assert_msg(a.r == 0, "%s: %s", good[i], a.fault.text);
		ck_assert_str_eq(a.path, good[i]);
		free(a.path);
	}
	tear_down();
}
END_TEST

START_TEST(by_search)
{
	struct answer a;

	set_up();
	a = ask("sh", "/no/such/dir:/bin:/usr/bin");
	ck_assert_str_eq(a.path, "/bin/sh");
	free(a.path);
	a = ask("sh", NULL);
	ck_assert_str_eq(a.path, "/bin/sh");
	free(a.path);
	/* relative directories are those of the working directory; an empty one is that itself */
	a = ask("tool", "bin");
	ck_assert_str_eq(a.path, "bin/tool");
	free(a.path);
	a = ask("script", ":bin");
	ck_assert_str_eq(a.path, "./script");
	free(a.path);
	/* folders and files that cannot be executed are passed over */
	a = ask("folder", ".:/bin");
	ck_assert_int_eq(a.r, -ENOENT);
	a = ask("noexec", ".");
	ck_assert_int_eq(a.fault.code, EXIT_NOT_EXECUTABLE);
	tear_down();
}
END_TEST

START_TEST(faults)
{
	static const struct {
		const char *name;
		enum exit_code code;
		const char *text[2];
	} cases[] = {
		{ "./nothing", EXIT_NOT_FOUND, { "does not exist or is not accessible", "Check the path" } },
		{ "./script/x", EXIT_NOT_FOUND, { "does not exist or is not accessible", "Not a directory" } },
		{ "nothing", EXIT_NOT_FOUND, { "Could not resolve program 'nothing' in the guest PATH", "(/bin)" } },
		{ "", EXIT_NOT_FOUND, { "empty", "" } },
		{ "./noexec", EXIT_NOT_EXECUTABLE, { "is not executable", "chmod +x ./noexec" } },
		{ "./folder", EXIT_NOT_EXECUTABLE, { "is a directory", "executable file" } },
		{ "/dev/null", EXIT_NOT_EXECUTABLE, { "no regular file", "" } },
		{ "./empty", EXIT_NOT_EXECUTABLE, { "has an empty shebang interpreter", "" } },
		{ "./blank", EXIT_NOT_EXECUTABLE, { "has an empty shebang interpreter", "" } },
		{ "./missing", EXIT_NOT_EXECUTABLE, { "uses shebang interpreter '/no/such/interpreter', which does not exist", "#! line" } },
		{ "./dos", EXIT_NOT_EXECUTABLE, { "/bin/sh\\x0d", "does not exist" } },
		{ "./todir", EXIT_NOT_EXECUTABLE, { "which is not executable", "#! line" } },
		{ "./elf32", EXIT_NOT_EXECUTABLE, { "is not made for x86-64", "ELF class 1" } },
	};

	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct answer a = ask(cases[i].name, "/bin");

		ck_assert_msg(a.r < 0, "%s was found", cases[i].name);
		ck_assert_msg(a.fault.code == cases[i].code, "%s: %d", cases[i].name, a.fault.code);
		for (int t = 0; t < 2; t++)
			ck_assert_msg(strstr(a.fault.text, cases[i].text[t]), "%s: %s", cases[i].name, a.fault.text);
	}
	tear_down();
}
END_TEST

START_TEST(script_chain)
{
	char text[200];
	struct answer a;

	/* s1 is interpreted by /bin/sh, s2 by s1, ...: five scripts are followed, as by the kernel */
	set_up();
	make("s1", "#!/bin/sh\n", 0755);
	for (int i = 2; i <= 6; i++) {
		char name[8];

		snprintf(name, sizeof(name), "s%d", i);
		snprintf(text, sizeof(text), "#!%s/s%d\n", dir, i - 1);
		make(name, text, 0755);
	}
	a = ask("./s5", NULL);
	ck_assert_msg(a.r == 0, "%s", a.fault.text);
	free(a.path);
	a = ask("./s6", NULL);
	ck_assert_int_eq(a.r, -ENOEXEC);
	tear_down();
}
END_TEST

START_TEST(no_workdir)
{
	struct prog_fault fault;
	char *path = NULL;

	ck_assert_int_lt(prog_resolve("sh", NULL, "/no/such/dir", &path, &fault), 0);
	ck_assert_int_eq(fault.code, EXIT_INTERNAL);
	ck_assert_ptr_nonnull(strstr(fault.text, "/no/such/dir"));
	ck_assert_ptr_null(path);
}
END_TEST

TEST_MAIN("cli_prog", by_path, by_search, faults, script_chain, no_workdir)
