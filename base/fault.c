/* See fault.h. The state is process-wide because fault points sit where no handle reaches. */
#include "base/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/str.h"

enum fault_state fault_state = FAULT_STATE_UNREAD;

static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	enum fault which;
	uint64_t nth; /* 0 = each */
	bool kill;
	uint64_t hits;
} fault_plan;

static const struct {
	const char *name, *text;
} fault_rows[FAULT_MAX_] = {
#define FAULT(name, text) [FAULT_##name] = { #name, text },
#include "base/faults.def"
#undef FAULT
};

const char *fault_name(enum fault f)
{
	return (unsigned)f < FAULT_MAX_ ? fault_rows[f].name : "?";
}

const char *fault_text(enum fault f)
{
	return (unsigned)f < FAULT_MAX_ ? fault_rows[f].text : "?";
}

static NORETURN void bad_plan(const char *text)
{
	dprintf(2, "hermit: HERMIT_FAULT=%s is not NAME[:N][:kill] with a name of base/faults.def\n", text);
	_exit(125);
}

static bool find_fault(const char *name, size_t n, enum fault *ret)
{
	for (int i = 0; i < FAULT_MAX_; i++) {
		if (strlen(fault_rows[i].name) == n && memcmp(fault_rows[i].name, name, n) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* NAME[:N][:kill] */
static void parse_plan(const char *text)
{
	const char *s = text;
	size_t n = strcspn(s, ":");

	fault_plan.nth = 0;
	fault_plan.kill = false;
	fault_plan.hits = 0;
	if (!find_fault(s, n, &fault_plan.which))
		bad_plan(text);
	for (s += n; *s == ':'; s += n) {
		char part[24] = "";

		s++;
		n = strcspn(s, ":");
		if (n >= sizeof(part))
			bad_plan(text);
		memcpy(part, s, n);
		if (strcmp(part, "kill") == 0)
			fault_plan.kill = true;
		else if (fault_plan.nth != 0 || str_parse_u64(part, &fault_plan.nth) < 0 || fault_plan.nth == 0)
			bad_plan(text);
	}
}

static void load_plan(void)
{
	const char *text = getenv("HERMIT_FAULT");

	if (text && *text)
		parse_plan(text);
	fault_state = text && *text ? FAULT_STATE_ON : FAULT_STATE_OFF;
}

void fault_reload(void)
{
	(void)pthread_mutex_lock(&fault_lock);
	load_plan();
	(void)pthread_mutex_unlock(&fault_lock);
}

bool fault_hit(enum fault f)
{
	bool hit = false;

	(void)pthread_mutex_lock(&fault_lock);
	if (fault_state == FAULT_STATE_UNREAD)
		load_plan();
	if (fault_state == FAULT_STATE_ON && fault_plan.which == f) {
		fault_plan.hits++;
		hit = fault_plan.nth == 0 || fault_plan.hits == fault_plan.nth;
	}
	if (hit && fault_plan.kill)
		(void)kill(getpid(), SIGKILL);
	(void)pthread_mutex_unlock(&fault_lock);
	return hit;
}
