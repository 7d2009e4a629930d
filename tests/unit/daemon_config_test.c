/* daemon/config: the file, single settings, what the environment decides. */
#include "daemon/config.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "daemon/limits_priv.h"
#include "tests/unit/store_help.h"

static char *tmp;

static void begin(struct daemon_config *c)
{
	tmp = help_tmp_dir();
	config_init(c);
	(void)setenv("XDG_RUNTIME_DIR", tmp, 1);
	(void)setenv("HERMIT_DATA_DIR", tmp, 1);
	OK(config_set(c, "session_binary", "/bin/sh", NULL));
}

static void end(struct daemon_config *c)
{
	config_done(c);
	help_remove(tmp);
	free(tmp);
}

static int load(struct daemon_config *c, const char *text, size_t n, struct errinfo *ei)
{
	char *path = os_asprintf("%s/conf", tmp);
	int r;

	help_spill(path, text, n);
	r = config_load(c, path, ei);
	free(path);
	return r;
}

START_TEST(file)
{
	static const char text[] = "# comment\r\n; other\n[hermitd]\n\n  data_dir=/a b \nlisten = 127.0.0.1:0, [::1]:9\nlisten=unix:/x\n"
				   "read_only = yes\nallow_start=off\nmax_size = 10G\nmax_age=30d\nscan_every = 0\nmax_sessions = 3\n"
				   "hosts = a.example b\ndisk_floor = 1.5K\nmax_upload=1";
	struct daemon_config c;

	begin(&c);
	OK(load(&c, text, strlen(text), NULL));
	ck_assert_str_eq(c.data_dir, "/a b");
	ck_assert_str_eq(c.listen[0], "127.0.0.1:0");
	ck_assert_str_eq(c.listen[1], "[::1]:9");
	ck_assert_str_eq(c.listen[2], "unix:/x");
	ck_assert_ptr_null(c.listen[3]);
	ck_assert_str_eq(c.hosts[1], "b");
	ck_assert(c.read_only && !c.allow_start);
	ck_assert_uint_eq(c.max_size, 10ull << 30);
	ck_assert_uint_eq(c.max_age_s, 30 * 86400);
	ck_assert_uint_eq(c.scan_every_s, 0);
	ck_assert_uint_eq(c.max_sessions, 3);
	ck_assert_uint_eq(c.disk_floor, 1536);
	ck_assert_uint_eq(c.max_upload, 1);
	/* the command line begins a list anew */
	OK(config_set(&c, "listen", "", NULL));
	OK(config_set(&c, "listen", "127.0.0.1:1", NULL));
	ck_assert_str_eq(c.listen[0], "127.0.0.1:1");
	ck_assert_ptr_null(c.listen[1]);
	end(&c);
}
END_TEST

START_TEST(bad_lines)
{
	static const struct {
		const char *line, *error;
	} cases[] = {
		{ "nonsense", "conf:2: \"nonsense\" is no \"name = value\"" },
		{ "maxsize = 3", "conf:2: there is no setting maxsize" },
		{ "= 3", "conf:2: there is no setting " },
		{ "read_only = maybe", "conf:2: read_only = maybe: wants yes or no" },
		{ "max_size = lots", "conf:2: max_size = lots: wants a size as 10G" },
		{ "max_size = -1", "conf:2: max_size = -1: wants a size as 10G" },
		{ "max_size = 99999999T", "conf:2: max_size = 99999999T: wants a size as 10G" },
		{ "max_age = 3 moons", "conf:2: max_age = 3 moons: wants a time as 30d, 12h or 90s" },
		{ "max_sessions = 0", "conf:2: max_sessions = 0: must be 1 to 1000" },
		{ "max_inspectors = 65", "conf:2: max_inspectors = 65: must be 1 to 64" },
		{ "max_upload = 0", "conf:2: max_upload = 0: wants a size as 10G" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = os_asprintf("# 1\n%s\n", cases[i].line);
		struct errinfo ei = { 0 };
		struct daemon_config c;

		begin(&c);
		FAILS(-EINVAL, load(&c, text, strlen(text), &ei));
		ck_assert_msg(strstr(ei.text, cases[i].error), "%s: %s", cases[i].line, ei.text);
		free(text);
		end(&c);
	}
}
END_TEST

START_TEST(bad_files)
{
	char many[(CONFIG_LIST_MAX + 1) * 2 + 20] = "hosts = ";
	struct errinfo ei = { 0 };
	struct daemon_config c;

	begin(&c);
	FAILS(-ENOENT, config_load(&c, "/does/not/exist", &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "/does/not/exist"));
	FAILS(-EINVAL, load(&c, "read_only = yes\0\n", 17, NULL));
	for (size_t i = 0; i < (CONFIG_LIST_MAX + 1); i++)
		memcpy(many + strlen(many), "h ", 3);
	FAILS(ERR_LIMIT, load(&c, many, strlen(many), NULL));
	end(&c);
}
END_TEST

START_TEST(finish)
{
	struct daemon_config c;
	struct stat st;

	begin(&c);
	OK(config_set(&c, "token_file", "tok", NULL));
	OK(config_finish(&c, NULL));
	ck_assert_str_eq(c.data_dir, tmp);
	ck_assert_int_eq(c.token_file[0], '/');
	ck_assert_str_eq(c.listen[0], "127.0.0.1:7777");
	ck_assert_ptr_null(c.listen[1]);
	ck_assert_int_eq(stat(c.runtime_dir, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0700);
	ck_assert_ptr_nonnull(strstr(c.runtime_dir, "/hermit"));
	end(&c);
}
END_TEST

/* A directory that others may enter, a link, a file: nothing that secrets go to. */
START_TEST(runtime_dir)
{
	struct errinfo ei = { 0 };
	struct daemon_config c;
	char *dir, *other;

	begin(&c);
	dir = os_asprintf("%s/hermit", tmp);
	other = os_asprintf("%s/other", tmp);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	ck_assert_int_eq(chmod(dir, 0750), 0);
	FAILS(-EPERM, config_finish(&c, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "0700"));
	ck_assert_int_eq(rename(dir, other), 0);
	ck_assert_int_eq(chmod(other, 0700), 0);
	ck_assert_int_eq(symlink(other, dir), 0);
	FAILS(-ENOTDIR, config_finish(&c, NULL));
	ck_assert_int_eq(unlink(dir), 0);
	help_spill(dir, "", 0);
	FAILS(-ENOTDIR, config_finish(&c, NULL));
	ck_assert_int_eq(unlink(dir), 0);
	OK(config_finish(&c, NULL));
	free(dir);
	free(other);
	end(&c);
}
END_TEST

START_TEST(checks)
{
	static const struct {
		const char *name, *value;
		int r;
	} cases[] = {
		{ "listen", "7777", -EINVAL },
		{ "listen", "localhost:7777", -EINVAL },
		{ "listen", "127.0.0.1:", -EINVAL },
		{ "listen", "127.0.0.1:65536", -EINVAL },
		{ "listen", "127.0.0.1:0x10000", -EINVAL },
		{ "listen", "::1:80", -EINVAL },
		{ "listen", "[127.0.0.1]:80", -EINVAL },
		{ "listen", "[::1]:80", 0 },
		{ "listen", "0.0.0.0:0", 0 },
		{ "listen", "unix:rel", -EINVAL },
		{ "listen", "unix:/run/x", 0 },
		{ "listen", "unix:/0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678",
		  -EINVAL },
		{ "hosts", "a\"b", -EINVAL },
		{ "hosts", "host.example:80", 0 },
		{ "session_binary", "/does/not/exist", -EACCES },
		{ "session_binary", "/etc", -EACCES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct errinfo ei = { 0 };
		struct daemon_config c;

		begin(&c);
		OK(config_set(&c, cases[i].name, cases[i].value, NULL));
		ck_assert_msg(config_finish(&c, &ei) == cases[i].r, "%s %s: %s", cases[i].name, cases[i].value, ei.text);
		ck_assert_int_eq(ei.text[0] != 0, cases[i].r < 0);
		end(&c);
	}
}
END_TEST

TEST_MAIN("daemon_config", file, bad_lines, bad_files, finish, runtime_dir, checks)
