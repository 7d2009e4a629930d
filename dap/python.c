/* gdb's Python: see parts_priv.h. What runs there stands in gdb.py, which each gdb reads when it has started, from a file of ours without a name: on its command
 * line that much would take it a second. */
#define LOG_AREA "dap.python"
#include "dap/parts_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"

static const char script[] =
#include "dap/gdb.inc"
	;

static int script_file(void)
{
	int fd = memfd_create("hermit-gdb.py", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : os_pwrite_full(fd, script, sizeof(script) - 1, 0);

	if (fd >= 0 && r < 0)
		closep(&fd);
	return r < 0 ? r : fd;
}

int python_setup(struct dap *d)
{
	int fd CLEANUP(closep) = script_file();
	struct errinfo why = { 0 };
	int r = fd;

	d->python = false;
	if (r < 0)
		return errinfo_set_r(&d->ei, r, "make a file for gdb");
	r = mi_console(d->mi, NULL, &why, "python exec(open('/proc/%d/fd/%d').read())", (int)getpid(), fd);
	if (r < 0 && r != -EREMOTEIO)
		return errinfo_set(&d->ei, r, "%s", why.text);
	if (r < 0)
		log_debug("gdb.py: %s", why.text);
	d->python = r >= 0;
	return 0;
}

int python_check(struct dap *d)
{
	return d->python ? 0 : errinfo_set(&d->ei, -EREMOTEIO, "this needs a gdb with Python");
}

int python_ask(struct dap *d, int thread, int level, json_t **ret, struct errinfo *ei, const char *fmt, ...)
{
	struct buf out CLEANUP(buf_done) = { 0 };
	char *call CLEANUP(freep) = NULL;
	va_list ap;
	int r = python_check(d);

	if (r < 0)
		return errinfo_set(ei, r, "this gdb has no Python");
	va_start(ap, fmt);
	if (vasprintf(&call, fmt, ap) < 0) {
		call = NULL; /* undefined then */
		r = -ENOMEM;
	}
	va_end(ap);
	if (r >= 0)
		r = mi_console_in(d->mi, thread, level, &out, ei, "python tell(%s)", call);
	return r < 0 ? r : jsonx_parse((const char *)out.data, out.len, ret, ei);
}
