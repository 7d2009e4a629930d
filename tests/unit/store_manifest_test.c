/* store/manifest: there and back, bytes that are no text, unknown members, damage. */
#include "store/manifest.h"

#include "base/json.h"
#include "store/manifest_priv.h"
#include "tests/unit/store_help.h"

#define SHA "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define ID "0123456789abcdef0123456789abcdef"

static char *text(const char *s)
{
	return os_strdup(s);
}

static void full(struct manifest *m)
{
	manifest_init(m);
	memcpy(m->id.hex, ID, 33);
	m->state = RECORDING_SEALED;
	m->compressed = true;
	m->label = text("my run");
	m->reason = text("none");
	m->argv = os_calloc(4, sizeof(char *));
	m->argv[0] = text("prog");
	m->argv[1] = text("");
	m->argv[2] = text("\xff\x01 not utf-8");
	m->envp = os_calloc(2, sizeof(char *));
	m->envp[0] = text("PATH=/bin");
	m->cwd = text("/home/\xc3\xa9");
	m->hermit_version = text("0.1.0");
	m->start_wall_ns = 1795969974766169263;
	m->duration_ns = 5;
	m->status = 256;
	m->events = 10;
	m->threads = 3;
	m->processes = 2;
	m->event_stream = (struct manifest_stream){ 1, 2, SHA };
	m->data_stream = (struct manifest_stream){ 3, 4, SHA };
	m->process = os_calloc(2, sizeof(*m->process));
	m->process[0] = (struct manifest_process){ 1, 0, 77, 0, 1, 9, 2, text("sh -c x"), text("/bin/sh") };
	m->process[1] = (struct manifest_process){ 3, 1, -5, -1, 4, 8, 1, NULL, text("\xfe") };
	m->cpu = json_pack("{s:s}", "vendor", "x");
	m->syscalls = json_pack("{s:{s:i}}", "read", "count", 7);
	m->warnings = json_pack("[s]", "careful");
	m->options = json_object();
	m->extra = json_pack("{s:[i,i]}", "future", 1, 2);
	m->blobs = os_calloc(2, sizeof(*m->blobs));
	OK(blob_id_parse(SHA, &m->blobs[0]));
	memset(&m->blobs[1], 7, sizeof(m->blobs[1]));
	m->n_blobs = 2;
}

static void same(const struct manifest *a, const struct manifest *b)
{
	ck_assert_str_eq(a->id.hex, b->id.hex);
	ck_assert_int_eq(a->state, b->state);
	ck_assert_int_eq(a->compressed, b->compressed);
	ck_assert_str_eq(a->label, b->label);
	ck_assert_str_eq(a->argv[1], b->argv[1]);
	ck_assert_str_eq(a->argv[2], b->argv[2]);
	ck_assert_ptr_null(a->argv[3]);
	ck_assert_str_eq(a->envp[0], b->envp[0]);
	ck_assert_str_eq(a->cwd, b->cwd);
	ck_assert_ptr_null(a->kernel);
	ck_assert_uint_eq(a->start_wall_ns, b->start_wall_ns);
	ck_assert_int_eq(a->status, b->status);
	ck_assert_uint_eq(a->data_stream.stored_bytes, b->data_stream.stored_bytes);
	ck_assert_str_eq(a->event_stream.sha256, b->event_stream.sha256);
	ck_assert_uint_eq(a->processes, b->processes);
	ck_assert_int_eq(a->process[1].pid, b->process[1].pid);
	ck_assert_ptr_null(a->process[1].command);
	ck_assert_str_eq(a->process[1].exe, b->process[1].exe);
	ck_assert(json_equal(a->cpu, b->cpu) && json_equal(a->syscalls, b->syscalls) && json_equal(a->extra, b->extra));
	ck_assert_uint_eq(a->n_blobs, b->n_blobs);
	ck_assert_mem_eq(a->blobs, b->blobs, 2 * sizeof(*a->blobs));
}

START_TEST(round_trip)
{
	struct manifest m, got;
	char *dir = help_tmp_dir();
	json_t *a, *b;

	full(&m);
	OK(manifest_save_at(dir, &m, true));
	OK(manifest_load_at(dir, &got, NULL));
	same(&got, &m);
	OK(manifest_to_json(&m, &a));
	OK(manifest_to_json(&got, &b));
	ck_assert(json_equal(a, b));
	json_decref(a);
	json_decref(b);
	manifest_done(&m);
	manifest_done(&got);
	help_remove(dir);
	free(dir);
}
END_TEST

/* Takes each member away, and gives it each other type: an error or a manifest, never more. Required ones must be errors. */
START_TEST(wrong_members)
{
	static const char *const required[] = { "format", "id", "state", "compressed", "status", "start_wall_ns",
						"events", "streams", "blobs" };
	json_t *whole, *values = json_pack("[n, b, i, i, s, [], {}, f, [i], {s:s}]", 1, -1, 5000000, "x", 2.5, 3, "hex", "0");
	struct manifest m;
	const char *key;
	json_t *value, *other;
	size_t i;

	full(&m);
	OK(manifest_to_json(&m, &whole));
	manifest_done(&m);
	json_object_foreach (whole, key, value) {
		json_t *copy = json_deep_copy(whole);
		struct errinfo ei = { 0 };
		int r;

		json_object_del(copy, key);
		r = manifest_from_json(copy, &m, &ei);
		for (i = 0; i < ARRAY_SIZE(required); i++)
			if (strcmp(required[i], key) == 0) {
				ck_assert_msg(r == ERR_CORRUPT, "%s missing: %d", key, r);
				ck_assert_ptr_nonnull(strstr(ei.text, key));
			}
		if (r == 0)
			manifest_done(&m);
		json_array_foreach (values, i, other) {
			json_object_set(copy, key, other);
			r = manifest_from_json(copy, &m, NULL);
			ck_assert(r == 0 || r == ERR_CORRUPT);
			if (r == 0)
				manifest_done(&m);
		}
		json_decref(copy);
	}
	json_decref(values);
	json_decref(whole);
}
END_TEST

static int load_changed(const char *from, const char *to, struct errinfo *ei)
{
	struct manifest m;
	char *dir = help_tmp_dir(), *path = os_asprintf("%s/manifest.json", dir), *all;
	struct buf out;
	size_t n, at;
	int r;

	full(&m);
	OK(manifest_save_at(dir, &m, true));
	manifest_done(&m);
	all = help_slurp(path, &n);
	for (at = 0; at < n && strncmp(all + at, from, strlen(from)) != 0;)
		at++;
	ck_assert_msg(at < n, "%s", from);
	buf_init(&out);
	buf_put(&out, all, at);
	buf_put(&out, to, strlen(to));
	buf_put(&out, all + at + strlen(from), n - at - strlen(from));
	help_spill(path, out.data, out.len);
	r = manifest_load_at(dir, &m, ei);
	if (r == 0)
		manifest_done(&m);
	buf_done(&out);
	free(all);
	free(path);
	help_remove(dir);
	free(dir);
	return r;
}

START_TEST(refused)
{
	struct errinfo ei = { 0 };

	FAILS(ERR_NEWER_FORMAT, load_changed("\"major\": 1", "\"major\": 2", &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "2.2"));
	OK(load_changed("\"minor\": 2", "\"minor\": 7", NULL));
	ei = (struct errinfo){ 0 };
	FAILS(ERR_CORRUPT, load_changed("\"sealed\"", "\"melted\"", &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "manifest.json"));
	ck_assert_ptr_nonnull(strstr(ei.text, "state"));
	FAILS(ERR_CORRUPT, load_changed("\"sealed\"", "\"complete\"", NULL)); /* but compressed */
	FAILS(ERR_CORRUPT, load_changed(ID, "0123456789ABCDEF0123456789abcdef", NULL));
	FAILS(ERR_CORRUPT, load_changed(ID, "../../../../../../../../etc/cron", NULL));
	FAILS(ERR_CORRUPT, load_changed("\"" ID "\"", "\"0123\"", NULL));
	FAILS(ERR_CORRUPT, load_changed(SHA, "0011", NULL));
	FAILS(ERR_CORRUPT, load_changed("\"processes\": 2", "\"processes\": 3", NULL));
	FAILS(ERR_CORRUPT, load_changed("\"events\": 10", "\"events\": -1", NULL));
	FAILS(ERR_CORRUPT, load_changed("\"events\": 10", "\"events\": 10.0", NULL));
	FAILS(ERR_CORRUPT, load_changed("\"events\": 10", "\"events\": 99999999999999999999", NULL));
	FAILS(ERR_CORRUPT, load_changed("\"prog\"", "\"pr\\u0000og\"", NULL));
	FAILS(ERR_CORRUPT, load_changed("\"ff01206e6f74", "\"ff01006e6f74", NULL)); /* NUL in hex */
	FAILS(ERR_CORRUPT, load_changed("\"ff01206e6f74", "\"fF01206e6f74", NULL));
	FAILS(ERR_CORRUPT, load_changed("\"ff01206e6f74", "\"f01206e6f74", NULL));
	FAILS(ERR_CORRUPT, load_changed("\"label\"", "\"label\": \"x\", \"label\"", NULL)); /* twice */
	FAILS(ERR_CORRUPT, load_changed("\"thread\": 3", "\"thread\": 4294967296", NULL));
}
END_TEST

/* Every cut and every flipped bit of the text: an error or a manifest. */
START_TEST(flips_and_cuts)
{
	struct manifest m;
	json_t *j;
	char *all;
	size_t n;

	full(&m);
	OK(manifest_to_json(&m, &j));
	manifest_done(&m);
	OK(jsonx_dump(j, JSON_COMPACT, &all, &n));
	json_decref(j);
	for (size_t cut = 0; cut < n; cut++)
		FAILS(ERR_CORRUPT, jsonx_parse(all, cut, &j, NULL));
	for (size_t bit = 0; bit < n * 8; bit++) {
		all[bit / 8] ^= (char)(1 << bit % 8);
		if (jsonx_parse(all, n, &j, NULL) == 0) {
			int r = manifest_from_json(j, &m, NULL);

			ck_assert(r == 0 || r == ERR_CORRUPT || r == ERR_NEWER_FORMAT);
			if (r == 0)
				manifest_done(&m);
			json_decref(j);
		}
		all[bit / 8] ^= (char)(1 << bit % 8);
	}
	free(all);
}
END_TEST

START_TEST(states)
{
	ck_assert_str_eq(recording_state_name(RECORDING_OPEN), "recording");
	ck_assert_str_eq(recording_state_name(RECORDING_STATE_MAX_), "?");
}
END_TEST

HELP_MAIN("store_manifest",
	  { round_trip, 0 }, { wrong_members, 0 }, { refused, 0 }, { flips_and_cuts, 0 }, { states, 0 })
