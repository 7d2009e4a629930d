/* hermit doctor: tries what hermit needs, on this machine, as this user, and says what is lost without it.
 *
 * Each check really does the thing (probe.c); reading a setting only explains a failure. One row of `checks` is one line. */
#include <string.h>
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/js.h"
#include "cli/probe.h"
#include "cli/stores.h"
#include "cli/term.h"
#include "cli/text.h"

struct values {
	const char *data_dir;
	bool json;
};

/* clang-format off */
static const struct {
	const char *name;
	bool required;     /* recording is impossible without it */
	void (*probe)(const struct probe_env *env, struct probe_result *ret);
	const char *lost;  /* what is lost without it */
	const char *advice;
} checks[] = {
	{ "kernel", true, probe_kernel, "hermit needs Linux 5.11 or newer", "run it on a newer kernel" },
	{ "ptrace", true, probe_ptrace, "nothing can be recorded or replayed",
	  "in containers allow it: --cap-add=SYS_PTRACE, or a seccomp profile that lets ptrace through" },
	{ "yama", true, probe_yama, "nothing can be recorded or replayed",
	  "sysctl kernel.yama.ptrace_scope=1 (3 can only be changed by a reboot)" },
	{ "seccomp", true, probe_seccomp, "nothing can be recorded or replayed: system calls are found by a seccomp filter",
	  "use a kernel with CONFIG_SECCOMP_FILTER, in containers a profile that allows seccomp()" },
	{ "guest memory", true, probe_memory, "the memory of guests cannot be written",
	  "boot without proc_mem.restrict_write and proc_mem.force_override=never" },
	{ "store", true, probe_store, "there is no place for recordings", "choose a writable directory with --data-dir" },
	{ "tsc trap", false, probe_tsc, "programs that read the time stamp counter themselves can differ in replay", NULL },
	{ "cpuid faulting", false, probe_cpuid,
	  "programs see the CPU as it is: recordings replay only on CPUs with the same features, programs that use RDRAND or RDSEED diverge, and --cpu-profile has no effect", NULL },
	{ "pagemap scan", false, probe_pagemap,
	  "places where threads are preempted are told by hashing more memory, and in large programs not proved "
	  "(docs/ASYNC.md); Linux 6.7 has it", NULL },
	{ "kcmp", false, probe_kcmp, "shared descriptors are told apart by less exact means; needs CONFIG_KCMP", NULL },
	{ "pmu", false, probe_pmu, "nothing: hermit works without performance counters", NULL },
	{ "user namespaces", false, probe_userns, "nothing for record and replay: they work without namespaces", NULL },
	{ "cpus", false, probe_cpus, "", NULL },
	{ "cpu", false, probe_cpu_level, "", NULL },
};
/* clang-format on */

static void print_result(size_t i, const struct probe_result *res)
{
	const enum term_style style = res->ok ? TERM_GREEN : checks[i].required ? TERM_RED : TERM_YELLOW;
	unsigned width = term_help_width();
	const unsigned indent = 26;

	printf("%s%-8s%s %-16s ", term_style(TERM_OUT, style), res->ok ? "ok" : "missing", term_style(TERM_OUT, TERM_PLAIN),
	       checks[i].name);
	text_wrap(stdout, res->text, indent, width);
	if (res->ok)
		return;
	printf("%*s", (int)indent, "");
	printf("lost: ");
	text_wrap(stdout, checks[i].lost, indent, width - 6);
	if (!checks[i].advice)
		return;
	printf("%*sto do: ", (int)indent, "");
	text_wrap(stdout, checks[i].advice, indent, width - 7);
}

static json_t *result_json(size_t i, const struct probe_result *res)
{
	struct js j CLEANUP(js_done) = { 0 };

	js_init(&j);
	js_str(&j, "name", checks[i].name);
	js_bool(&j, "ok", res->ok);
	js_bool(&j, "required", checks[i].required);
	js_str(&j, "text", res->text);
	js_str(&j, "lost", res->ok ? NULL : checks[i].lost);
	js_str(&j, "advice", res->ok ? NULL : checks[i].advice);
	return js_steal(&j);
}

static int print_json(bool possible, json_t *list)
{
	struct js j CLEANUP(js_done) = { 0 };
	json_t *v;
	int r;

	js_init(&j);
	js_bool(&j, "possible", possible);
	js_take(&j, "checks", list);
	v = js_steal(&j);
	r = js_print(stdout, v);
	json_decref(v);
	return r < 0 ? fail_memory() : 0;
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	const struct probe_env env = { .data_dir = v->data_dir };
	json_t *list = v->json ? json_array() : NULL;
	bool possible = true;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		struct probe_result res = { 0 };

		checks[i].probe(&env, &res);
		possible = possible && (res.ok || !checks[i].required);
		if (!v->json)
			print_result(i, &res);
		else if (json_array_append_new(list, result_json(i, &res)))
			r = fail_memory();
	}
	if (v->json)
		r = print_json(possible, list);
	else
		printf("\n%s\n", possible ? "hermit can record and replay on this machine." :
					    "hermit cannot record on this machine: see the lines marked missing.");
	return r ? r : !possible;
}

/* clang-format off */
static const struct opt opts[] = {
	{ .kind = OPT_FLAG, .name = "json", .offset = offsetof(struct values, json), .help = "Print one JSON object" },
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_doctor = {
	.name = "doctor",
	.summary = "Tell what this machine offers, and what is lost without the rest",
	.usage = "[OPTIONS]",
	.about = "Tries everything that hermit can make use of, here and as this user: one line each, 'ok' or 'missing' with what is "
		 "lost and what can be done. Exits with 1 if recording is impossible.",
	.example = "    hermit doctor\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.run = run,
};
