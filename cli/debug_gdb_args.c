/* Which gdb, and its command line: see debug_gdb.h. */
#include "cli/debug_gdb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "cli/debug_choose.h"
#include "cli/fail.h"
#include "cli/prog.h"

int debug_find_gdb(const char *name, const char *id, char **ret)
{
	const char *env = getenv("HERMIT_GDB");
	struct prog_fault fault;
	int r;

	if (!name)
		name = env && *env ? env : "gdb";
	r = prog_resolve(name, getenv("PATH"), NULL, ret, &fault);
	if (r >= 0)
		return 0;
	if (r == -ENOMEM)
		return fail_memory();
	fail(EXIT_INTERNAL, "there is no debugger: cannot start '%s'", name);
	if (strcmp(name, "gdb"))
		fail_cause("%s", fault.text);
	fail_cause("install gdb (12 or newer), or name one with --gdb or HERMIT_GDB");
	fail_cause("to attach from elsewhere: hermit replay --serve-only %s, and in any gdb: target remote 127.0.0.1:PORT", id);
	fail_cause("to see only the recorded output: hermit replay --autopilot %s", id);
	return EXIT_INTERNAL;
}

void debug_free_argv(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}

struct words {
	char **v; /* owned, NULL-terminated */
	size_t n;
	bool failed;
};

static void add_word(struct words *w, char *word)
{
	char **more = word ? reallocarray(w->v, w->n + 2, sizeof(*more)) : NULL;

	if (!more) {
		free(word);
		w->failed = true;
		return;
	}
	w->v = more;
	w->v[w->n++] = word;
	w->v[w->n] = NULL;
}

static void add_option(struct words *w, const char *option, char *value)
{
	add_word(w, os_strdup(option));
	add_word(w, value);
}

/* Before the user's init files, which may say otherwise: a recording's files are a stranger's, so nothing of theirs is executed in gdb. */
static const char *const early[] = {
	"set auto-load off",
};

/* After them: what the session cannot do without. Files of the program come from the recording, never from this machine. A search may take long, and
 * the stub knows no non-stop mode. Calls of functions are diversions, which end with a crash. */
static const char *const settings[] = {
	"set sysroot target:",
	"set remotetimeout 3600",
	"set non-stop off",
	"set unwindonsignal on",
};

int debug_gdb_argv(const struct debug_gdb *g, const char *dir, char ***ret)
{
	struct words w = { 0 };
	char **commands = NULL;
	size_t n = 0;
	int r = 0;

	add_word(&w, os_strdup(g->program));
	add_word(&w, os_strdup("-q"));
	for (size_t i = 0; i < ARRAY_SIZE(early); i++)
		add_option(&w, "-iex", os_strdup(early[i]));
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		add_option(&w, "-ex", os_strdup(settings[i]));
	add_option(&w, "-ex", os_asprintf("source %s/" DEBUG_SCRIPT_NAME, dir));
	add_option(&w, "-ex", os_asprintf("target remote %s/" DEBUG_SOCKET_NAME, dir));
	if (g->note)
		add_option(&w, "-ex", os_asprintf("echo %s\\n", g->note));
	for (size_t i = 0; g->commands && i < g->commands->n && r >= 0; i++)
		r = debug_split_commands(g->commands->v[i], &commands, &n);
	for (size_t i = 0; r >= 0 && i < n; i++)
		add_option(&w, "-ex", os_strdup(commands[i]));
	debug_free_argv(commands);
	if (r < 0 || w.failed) {
		debug_free_argv(w.v);
		return -ENOMEM;
	}
	*ret = w.v;
	return 0;
}
