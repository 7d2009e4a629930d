/* daemon/inspectors: warm children, answers to the right client, children that die, hang, talk nonsense. */
#include "daemon/inspectors_priv.h"

#include <errno.h>
#include "daemon/limits_priv.h"
#include "tests/unit/daemon_help.h"

/* Each answer has the pid of the child and what was asked. */
#define FAKE \
	"[ \"$1 $2 $3 $5\" = 'session inspect --data-dir --fd' ] || exit 9\n" \
	"while read -r line <&3; do\n" \
	"id=$(printf %s \"$line\" | sed 's/.*\"id\": *\\([0-9]*\\).*/\\1/')\n" \
	"case $line in\n" \
	"*'\"stack\"'*) echo \"{\\\"id\\\":$id,\\\"progress\\\":{\\\"event\\\":1}}\" >&3\n" \
	"  echo \"{\\\"id\\\":$id,\\\"result\\\":{\\\"pid\\\":$$,\\\"id\\\":$id}}\" >&3;;\n" \
	"*'\"slow\"'*) sleep 0.3; echo \"{\\\"id\\\":$id,\\\"result\\\":{\\\"pid\\\":$$}}\" >&3;;\n" \
	"*'\"bad\"'*) echo \"{\\\"id\\\":$id,\\\"error\\\":{\\\"code\\\":-4097,\\\"text\\\":\\\"it diverged\\\"}}\" >&3;;\n" \
	"*'\"worse\"'*) echo \"{\\\"id\\\":$id,\\\"error\\\":{\\\"code\\\":5}}\" >&3;;\n" \
	"*'\"die\"'*) kill -SEGV $$;;\n" \
	"*'\"leave\"'*) echo 'hermit: no such event' >&2; exit 4;;\n" \
	"*'\"last\"'*) echo \"{\\\"id\\\":$id,\\\"result\\\":{\\\"pid\\\":$$}}\" >&3; exit 4;;\n" \
	"*'\"babble\"'*) echo nonsense >&3; echo '{\"id\":99999,\"result\":{}}' >&3; echo '[]' >&3\n" \
	"  echo \"{\\\"id\\\":$id,\\\"result\\\":{\\\"pid\\\":$$}}\" >&3;;\n" \
	"*'\"flood\"'*) head -c 70000000 /dev/zero | tr '\\0' x >&3;;\n" \
	"*'\"cancel\"'*) t=$(printf %s \"$line\" | sed 's/.*\"request\": *\\([0-9]*\\).*/\\1/')\n" \
	"  [ -e \"$4/deaf\" ] || echo \"{\\\"id\\\":$t,\\\"error\\\":{\\\"code\\\":-4111,\\\"text\\\":\\\"cancelled\\\"}}\" >&3;;\n" \
	"esac\ndone\n"

static struct store_id ids[4];

static void begin(struct help_daemon *hd)
{
	help_daemon_begin(hd, FAKE);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		memset(ids[i].hex, "0123"[i], STORE_ID_LEN);
	hd->cfg.max_inspectors = 2;
	OK(inspectors_new(&hd->d, &hd->d.inspectors));
	help_daemon_run(hd);
}

static void end(struct help_daemon *hd)
{
	help_daemon_stop(hd);
	inspectors_free(hd->d.inspectors);
	help_daemon_end(hd);
}

/* The pid of the child that answered. */
static int ask(struct help_daemon *hd, size_t n, const char *op, int timeout_ms, json_int_t *pid, struct errinfo *ei)
{
	json_t *q = json_pack("{s:s}", "op", op), *result;
	int r = daemon_inspect(&hd->d, &ids[n], q, timeout_ms, &result, ei);

	if (r == 0) {
		*pid = json_integer_value(json_object_get(result, "pid"));
		json_decref(result);
	}
	/* the request is as it was */
	ck_assert_uint_eq(json_object_size(q), 1);
	json_decref(q);
	return r;
}

START_TEST(warm)
{
	struct help_daemon hd;
	json_int_t a, b, again;

	begin(&hd);
	OK(ask(&hd, 0, "stack", 10000, &a, NULL));
	OK(ask(&hd, 0, "babble", 10000, &again, NULL));
	ck_assert_int_eq(a, again);
	OK(ask(&hd, 1, "stack", 10000, &b, NULL));
	ck_assert_int_ne(a, b);
	ck_assert_uint_eq(inspectors_count(hd.d.inspectors), 2);
	/* 0 is the one that was used last: 1 goes */
	OK(ask(&hd, 0, "stack", 10000, &again, NULL));
	OK(ask(&hd, 2, "stack", 10000, &again, NULL));
	ck_assert_uint_eq(inspectors_count(hd.d.inspectors), 2);
	OK(ask(&hd, 0, "stack", 10000, &again, NULL));
	ck_assert_int_eq(a, again);
	OK(ask(&hd, 1, "stack", 10000, &again, NULL));
	ck_assert_int_ne(b, again);
	end(&hd);
}
END_TEST

START_TEST(errors)
{
	struct errinfo ei = { 0 };
	struct help_daemon hd;
	json_int_t a, b;

	begin(&hd);
	OK(ask(&hd, 0, "stack", 10000, &a, NULL));
	FAILS(ERR_DIVERGED, ask(&hd, 0, "bad", 10000, &b, &ei));
	ck_assert_str_eq(ei.text, "it diverged");
	FAILS(ERR_PROTOCOL, ask(&hd, 0, "worse", 10000, &b, NULL));
	OK(ask(&hd, 0, "stack", 10000, &b, NULL));
	ck_assert_int_eq(a, b);
	ei = (struct errinfo){ 0 };
	FAILS(ERR_GUEST_GONE, ask(&hd, 0, "die", 10000, &b, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "SIGSEGV"));
	OK(ask(&hd, 0, "stack", 10000, &b, NULL));
	ck_assert_int_ne(a, b);
	ei = (struct errinfo){ 0 };
	FAILS(ERR_GUEST_GONE, ask(&hd, 0, "leave", 10000, &b, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "no such event"));
	OK(ask(&hd, 0, "last", 10000, &b, NULL));
	while (inspectors_count(hd.d.inspectors))
		usleep(1000);
	FAILS(ERR_LIMIT, ask(&hd, 0, "flood", 20000, &b, NULL));
	OK(ask(&hd, 0, "stack", 10000, &b, NULL));
	end(&hd);
}
END_TEST

/* A search that takes too long is cancelled, its child stays. */
START_TEST(timeout)
{
	struct errinfo ei = { 0 };
	struct help_daemon hd;
	json_int_t a, b;

	begin(&hd);
	OK(ask(&hd, 0, "stack", 10000, &a, NULL));
	FAILS(ERR_TIMEOUT, ask(&hd, 0, "silent", 200, &b, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "ask again"));
	OK(ask(&hd, 0, "stack", 10000, &b, NULL));
	ck_assert_int_eq(a, b);
	end(&hd);
}
END_TEST

struct sweep {
	struct inspectors *pool;
	uint64_t after;
	const struct store_id *forget;
};

static int do_sweep(void *ctx)
{
	struct sweep *s = ctx;

	if (s->forget)
		inspectors_forget(s->pool, s->forget);
	else
		inspectors_sweep(s->pool, os_mono_ns() + s->after);
	return 0;
}

START_TEST(sweep)
{
	struct help_daemon hd;
	struct sweep s;
	json_int_t a;
	char *deaf;

	begin(&hd);
	s = (struct sweep){ hd.d.inspectors, INSPECT_IDLE_NS - 5000000000ull, NULL };
	OK(ask(&hd, 0, "stack", 10000, &a, NULL));
	OK(loop_call(hd.d.loop, do_sweep, &s));
	ck_assert_uint_eq(inspectors_count(hd.d.inspectors), 1);
	s.after = INSPECT_IDLE_NS + 1;
	OK(loop_call(hd.d.loop, do_sweep, &s));
	ck_assert_uint_eq(inspectors_count(hd.d.inspectors), 0);
	/* one that does not react */
	deaf = os_asprintf("%s/deaf", hd.h.dir);
	help_spill(deaf, "", 0);
	FAILS(ERR_TIMEOUT, ask(&hd, 0, "silent", 100, &a, NULL));
	s.after = INSPECT_CANCEL_NS - 5000000000ull;
	OK(loop_call(hd.d.loop, do_sweep, &s));
	ck_assert_uint_eq(inspectors_count(hd.d.inspectors), 1);
	s.after = INSPECT_CANCEL_NS + 1;
	OK(loop_call(hd.d.loop, do_sweep, &s));
	ck_assert_uint_eq(inspectors_count(hd.d.inspectors), 0);
	OK(ask(&hd, 0, "stack", 10000, &a, NULL));
	s.forget = &ids[1];
	OK(loop_call(hd.d.loop, do_sweep, &s));
	ck_assert_uint_eq(inspectors_count(hd.d.inspectors), 1);
	s.forget = &ids[0];
	OK(loop_call(hd.d.loop, do_sweep, &s));
	ck_assert_uint_eq(inspectors_count(hd.d.inspectors), 0);
	free(deaf);
	end(&hd);
}
END_TEST

struct client {
	struct help_daemon *hd;
	size_t which;
	const char *op;
	int timeout_ms, r;
	json_int_t pid;
	struct errinfo ei;
};

static void *client(void *arg)
{
	struct client *c = arg;

	c->r = ask(c->hd, c->which, c->op, c->timeout_ms, &c->pid, &c->ei);
	return NULL;
}

/* More clients and recordings than inspectors: everybody gets an answer. */
START_TEST(many)
{
	struct client c[12];
	pthread_t t[ARRAY_SIZE(c)];
	struct help_daemon hd;

	begin(&hd);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		c[i] = (struct client){ .hd = &hd, .which = i % 4, .op = i & 1 ? "slow" : "stack", .timeout_ms = 20000 };
		ck_assert_int_eq(pthread_create(&t[i], NULL, client, &c[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		pthread_join(t[i], NULL);
		ck_assert_msg(c[i].r == 0, "%zu: %d %s", i, c[i].r, c[i].ei.text);
		ck_assert_int_gt(c[i].pid, 0);
	}
	ck_assert_uint_eq(inspectors_count(hd.d.inspectors), 2);
	end(&hd);
}
END_TEST

START_TEST(all_at_work)
{
	struct client c[3];
	pthread_t t[3];
	struct help_daemon hd;

	begin(&hd);
	for (size_t i = 0; i < 3; i++) {
		c[i] = (struct client){ .hd = &hd, .which = i, .op = "silent", .timeout_ms = i < 2 ? 3000 : 200 };
		ck_assert_int_eq(pthread_create(&t[i], NULL, client, &c[i]), 0);
		usleep(200000);
	}
	pthread_join(t[2], NULL);
	ck_assert_int_eq(c[2].r, ERR_BUSY);
	ck_assert_ptr_nonnull(strstr(c[2].ei.text, "all 2 inspectors are at work"));
	/* the end of the daemon does not wait for them */
	help_daemon_stop(&hd);
	inspectors_free(hd.d.inspectors);
	for (size_t i = 0; i < 2; i++) {
		pthread_join(t[i], NULL);
		ck_assert_int_eq(c[i].r, ERR_INTERRUPTED);
	}
	help_daemon_end(&hd);
}
END_TEST

START_TEST(no_program)
{
	struct errinfo ei = { 0 };
	struct help_daemon hd;
	json_int_t a;

	begin(&hd);
	ck_assert_int_eq(unlink(hd.script), 0);
	FAILS(-ENOENT, ask(&hd, 0, "stack", 1000, &a, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "start an inspector"));
	ck_assert_uint_eq(inspectors_count(hd.d.inspectors), 0);
	end(&hd);
}
END_TEST

TEST_MAIN("daemon_inspectors", warm, errors, timeout, sweep, many, all_at_work, no_program)
