/* #! scripts: argument passing, a script as interpreter of a script, nesting limit, missing interpreter. Deterministic. */
#include "guest.h"

static void run(const char *path)
{
	pid_t p = xfork();

	if (p == 0) {
		execl(path, path, "one", "two words", (char *)NULL);
		say("%s: %s\n", path, err_name(errno));
		_exit(1);
	}
	say("%s: %s\n", path, wait_str(reap(p)));
}

int main(void)
{
	char name[16], text[64];

	scratch();
	put_file("plain", "#!/bin/sh\necho \"plain: $0 $# $1 $2\"\nexit 3\n", 0755);
	put_file("arg", "#!/bin/sh -e\necho \"arg: $# $-\"\nfalse\necho not reached\n", 0755);
	put_file("s1", "#!./plain\n", 0755);
	put_file("s2", "#!./s1 extra\n", 0755);
	put_file("missing", "#!/no/such/interpreter\n", 0755);
	put_file("empty", "#!\n", 0755);
	put_file("noexec", "#!/bin/sh\n", 0644);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "n%d", i + 1);
		if (i)
			snprintf(text, sizeof(text), "#!./n%d\n", i);
		else
			snprintf(text, sizeof(text), "#!/bin/echo\n");
		put_file(name, text, 0755);
	}
	run("./plain");
	run("./arg");
	run("./s1");
	run("./s2");
	run("./missing");
	run("./empty");
	run("./noexec");
	run("./n3");
	run("./n8");
	done();
	return 0;
}
