/* See live.h. */
#include "store/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "base/os.h"
#include "store/store_priv.h"

/* Opens the lock of a recording that somebody holds. */
static int open_held_lock(const struct store *s, const struct store_id *id, int flags, int *ret_fd)
{
	char *dir CLEANUP(freep) = store_tmp_path(s, id);
	char *path CLEANUP(freep) = dir ? os_asprintf("%s/" NAME_LOCK, dir) : NULL;
	int fd CLEANUP(closep) = -1;
	int r = path ? os_open(path, flags | O_NOFOLLOW | O_NONBLOCK, 0) : -ENOMEM;

	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	fd = r;
	/* as the recorder holds it all the time, trying is no disturbance */
	r = fs_lock(fd, false, false);
	if (r != ERR_BUSY)
		return r < 0 ? r : -ESRCH;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

bool store_is_live(const struct store *s, const struct store_id *id)
{
	int fd CLEANUP(closep) = -1;

	return open_held_lock(s, id, O_RDONLY, &fd) == 0;
}

int store_ask(struct store *s, const struct store_id *id, const char *fmt, ...)
{
	int fd CLEANUP(closep) = -1;
	char line[STORE_ASK_MAX];
	va_list ap;
	int n, r;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || n >= (int)sizeof(line) - 1)
		return ERR_LIMIT;
	if (strchr(line, '\n'))
		return -EINVAL;
	line[n++] = '\n';
	r = open_held_lock(s, id, O_RDWR | O_APPEND, &fd);
	return r < 0 ? r : os_write_full(fd, line, (size_t)n);
}
