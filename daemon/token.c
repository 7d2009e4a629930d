/* See token.h. */
#include "daemon/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "base/os.h"
#include "daemon/limits_priv.h"

int token_random(char ret[TOKEN_HEX_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t b[(TOKEN_HEX_BYTES - 1) / 2];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		return -EIO;
	for (size_t i = 0; i < sizeof(b); i++) {
		ret[2 * i] = digits[b[i] >> 4];
		ret[2 * i + 1] = digits[b[i] & 15];
	}
	ret[TOKEN_HEX_BYTES - 1] = '\0';
	return 0;
}

bool token_equal(const char *secret, const char *given)
{
	size_t n = secret ? strlen(secret) : 0, m = given ? strlen(given) : 0;
	unsigned differ = n != m || n == 0;

	/* as long as what was given, whatever the secret is */
	for (size_t i = 0; i < m; i++)
		differ |= (unsigned)((unsigned char)given[i] ^ (unsigned char)(n ? secret[i % n] : 0));
	return differ == 0;
}

/* The file appears whole or not at all: two daemons that start at once agree on one token. */
static int make_file(const char *path)
{
	char *tmp CLEANUP(freep) = os_asprintf("%s.new.%d", path, (int)getpid());
	char text[TOKEN_HEX_BYTES + 1];
	int fd CLEANUP(closep) = -1;
	int r = tmp ? token_random(text) : -ENOMEM;

	if (r < 0)
		return r;
	text[TOKEN_HEX_BYTES - 1] = '\n';
	r = os_open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (r < 0)
		return r;
	fd = r;
	r = os_write_full(fd, text, TOKEN_HEX_BYTES);
	if (r == 0 && link(tmp, path) < 0 && errno != EEXIST)
		r = -errno;
	(void)!os_unlink(tmp);
	return r;
}

static int open_file(const char *path)
{
	int r = os_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	if (r != -ENOENT)
		return r;
	r = make_file(path);
	return r < 0 ? r : os_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
}

static int check_file(int fd, const char *path, struct errinfo *ei)
{
	struct stat st;
	int r = os_fstat(fd, &st);

	if (r < 0)
		return errinfo_set_r(ei, r, "token file %s", path);
	if (!S_ISREG(st.st_mode))
		return errinfo_set(ei, -EINVAL, "token file %s is no regular file", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return errinfo_set(ei, -EPERM, "token file %s belongs to another user (%u)", path, st.st_uid);
	if (st.st_mode & 077)
		return errinfo_set(ei, -EPERM, "token file %s is open to other users: chmod 600 it and change the token", path);
	return 0;
}

int token_load(const char *path, char **ret, struct errinfo *ei)
{
	char text[TOKEN_BYTES_MAX + 3];
	int fd CLEANUP(closep) = -1;
	ssize_t got;
	size_t n;
	int r = open_file(path);

	if (r < 0)
		return errinfo_set_r(ei, r, "token file %s", path);
	fd = r;
	r = check_file(fd, path, ei);
	if (r < 0)
		return r;
	got = os_read_full(fd, text, sizeof(text) - 1);
	if (got < 0)
		return errinfo_set_r(ei, (int)got, "token file %s", path);
	n = (size_t)got;
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r' || text[n - 1] == ' '))
		n--;
	text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return errinfo_set(ei, -EINVAL, "token file %s: the token has other bytes than printable ASCII", path);
	if (n < TOKEN_BYTES_MIN || n > TOKEN_BYTES_MAX)
		return errinfo_set(ei, -EINVAL, "token file %s: a token has %d to %d bytes", path, TOKEN_BYTES_MIN, TOKEN_BYTES_MAX);
	*ret = os_strdup(text);
	return *ret ? 0 : errinfo_set_r(ei, -ENOMEM, "token file %s", path);
}
