/* See sockaddr_priv.h. */
#include "analysis/sockaddr_priv.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "base/os.h"

static char *unix_text(const char *path, size_t n)
{
	if (!n)
		return os_strdup("unix:");
	if (!*path) /* abstract: all bytes count */
		return os_asprintf("unix:@%.*s", (int)strnlen(path + 1, n - 1), path + 1);
	return os_asprintf("unix:%.*s", (int)strnlen(path, n), path);
}

char *sockaddr_text(const void *addr, size_t n)
{
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in6 in6;
	struct sockaddr_in in;
	sa_family_t family;

	if (n < sizeof(family))
		return NULL;
	memcpy(&family, addr, sizeof(family));
	if (family == AF_UNIX)
		return unix_text((const char *)addr + sizeof(family), n - sizeof(family));
	if (family == AF_INET && n >= sizeof(in)) {
		memcpy(&in, addr, sizeof(in));
		return os_asprintf("%s:%u", inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text)), ntohs(in.sin_port));
	}
	if (family == AF_INET6 && n >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		memcpy(&in6, addr, offsetof(struct sockaddr_in6, sin6_scope_id));
		return os_asprintf("[%s]:%u", inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof(text)), ntohs(in6.sin6_port));
	}
	return NULL;
}
