/* See touched.h. What a call does with a descriptor or a path is in the table `roles`. */
#include "analysis/touched.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include "analysis/grow_priv.h"
#include "analysis/limits.h"
#include "analysis/sockaddr_priv.h"
#include "base/os.h"

/* What a call does with something. */
enum role { ROLE_NONE, ROLE_READ, ROLE_WRITE, ROLE_STAT, ROLE_MAP, ROLE_OPEN };
/* Where the address in the call's second argument belongs to. */
enum address { ADDRESS_NONE, ADDRESS_CONNECT, ADDRESS_BIND, ADDRESS_ACCEPT, ADDRESS_LOCAL, ADDRESS_PEER, ADDRESS_TO, ADDRESS_FROM };

static const struct roles {
	uint8_t fd[2];     /* of the first two descriptors among the arguments */
	uint8_t path;
	uint8_t address;
	bool message;      /* the result is a number of messages, not of bytes */
} roles[] = {
	[SYS_read] = { .fd = { ROLE_READ } },
	[SYS_pread64] = { .fd = { ROLE_READ } },
	[SYS_readv] = { .fd = { ROLE_READ } },
	[SYS_preadv] = { .fd = { ROLE_READ } },
	[SYS_preadv2] = { .fd = { ROLE_READ } },
	[SYS_getdents] = { .fd = { ROLE_READ } },
	[SYS_getdents64] = { .fd = { ROLE_READ } },
	[SYS_write] = { .fd = { ROLE_WRITE } },
	[SYS_pwrite64] = { .fd = { ROLE_WRITE } },
	[SYS_writev] = { .fd = { ROLE_WRITE } },
	[SYS_pwritev] = { .fd = { ROLE_WRITE } },
	[SYS_pwritev2] = { .fd = { ROLE_WRITE } },
	[SYS_vmsplice] = { .fd = { ROLE_WRITE } },
	[SYS_sendfile] = { .fd = { ROLE_WRITE, ROLE_READ } },
	[SYS_splice] = { .fd = { ROLE_READ, ROLE_WRITE } },
	[SYS_tee] = { .fd = { ROLE_READ, ROLE_WRITE } },
	[SYS_copy_file_range] = { .fd = { ROLE_READ, ROLE_WRITE } },
	[SYS_sendto] = { .fd = { ROLE_WRITE }, .address = ADDRESS_TO },
	[SYS_sendmsg] = { .fd = { ROLE_WRITE } },
	[SYS_sendmmsg] = { .fd = { ROLE_WRITE }, .message = true },
	[SYS_recvfrom] = { .fd = { ROLE_READ }, .address = ADDRESS_FROM },
	[SYS_recvmsg] = { .fd = { ROLE_READ } },
	[SYS_recvmmsg] = { .fd = { ROLE_READ }, .message = true },
	[SYS_fstat] = { .fd = { ROLE_STAT } },
	[SYS_mmap] = { .fd = { ROLE_MAP } },
	[SYS_stat] = { .path = ROLE_STAT },
	[SYS_lstat] = { .path = ROLE_STAT },
	[SYS_newfstatat] = { .path = ROLE_STAT },
	[SYS_statx] = { .path = ROLE_STAT },
	[SYS_access] = { .path = ROLE_STAT },
	[SYS_faccessat] = { .path = ROLE_STAT },
	[SYS_faccessat2] = { .path = ROLE_STAT },
	[SYS_readlink] = { .path = ROLE_STAT },
	[SYS_readlinkat] = { .path = ROLE_STAT },
	[SYS_open] = { .path = ROLE_OPEN },
	[SYS_openat] = { .path = ROLE_OPEN },
	[SYS_openat2] = { .path = ROLE_OPEN },
	[SYS_creat] = { .path = ROLE_OPEN },
	[SYS_connect] = { .address = ADDRESS_CONNECT },
	[SYS_bind] = { .address = ADDRESS_BIND },
	[SYS_accept] = { .address = ADDRESS_ACCEPT },
	[SYS_accept4] = { .address = ADDRESS_ACCEPT },
	[SYS_getsockname] = { .address = ADDRESS_LOCAL },
	[SYS_getpeername] = { .address = ADDRESS_PEER },
};

/* --- keys to indices --- */

struct place {
	uint64_t key; /* 0 = free */
	uint32_t at;
};

struct places {
	struct place *slot; /* owned */
	uint32_t n, n_slots;
};

static struct place *place_of(const struct places *p, uint64_t key)
{
	uint64_t h = key * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i;

	if (!p->n_slots)
		return NULL;
	for (i = (uint32_t)(h >> 32) & (p->n_slots - 1); p->slot[i].key && p->slot[i].key != key; i = (i + 1) & (p->n_slots - 1))
		;
	return &p->slot[i];
}

static bool places_add(struct places *p, uint64_t key, uint32_t at)
{
	struct place *q;

	if (p->n * 2 >= p->n_slots) {
		struct places more = { .n = p->n, .n_slots = p->n_slots ? p->n_slots * 2 : 64 };

		more.slot = os_calloc(more.n_slots, sizeof(*more.slot));
		if (!more.slot)
			return false;
		for (uint32_t i = 0; i < p->n_slots; i++)
			if (p->slot[i].key)
				*place_of(&more, p->slot[i].key) = p->slot[i];
		free(p->slot);
		*p = more;
	}
	q = place_of(p, key);
	*q = (struct place){ key, at };
	p->n++;
	return true;
}

/* --- */

struct touched {
	struct fds *fds;
	struct names *names;
	struct touched_file *file;
	struct touched_socket *socket;
	struct places file_at, socket_at;
	uint32_t n_files, cap_files, n_sockets, cap_sockets;
	bool incomplete;
};

int touched_new(const char *cwd, struct names *names, struct touched **ret)
{
	struct touched *t = os_calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->names = names;
	r = fds_new(cwd, names, &t->fds);
	if (r < 0) {
		free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void touched_free(struct touched *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n_files; i++)
		free(t->file[i].errors.v);
	for (uint32_t i = 0; i < t->n_sockets; i++) {
		free(t->socket[i].local);
		free(t->socket[i].peer);
		free(t->socket[i].errors.v);
	}
	free(t->file);
	free(t->socket);
	free(t->file_at.slot);
	free(t->socket_at.slot);
	fds_free(t->fds);
	free(t);
}

static struct touched_file *file_of(struct touched *t, uint32_t name, const struct event *ev)
{
	struct place *p = place_of(&t->file_at, name);
	struct touched_file *more;

	if (!name)
		return NULL;
	if (p && p->key) {
		t->file[p->at].last_event = ev->number;
		return &t->file[p->at];
	}
	more = t->n_files < TOUCHED_FILES_MAX ? grow(t->file, &t->cap_files, t->n_files, sizeof(*more)) : NULL;
	t->file = more ? more : t->file;
	if (!more || !places_add(&t->file_at, name, t->n_files)) {
		t->incomplete = true;
		return NULL;
	}
	more[t->n_files] = (struct touched_file){ .name = name, .first_event = ev->number, .last_event = ev->number };
	return &more[t->n_files++];
}

static struct touched_socket *find_socket(struct touched *t, uint64_t object)
{
	struct place *p = object ? place_of(&t->socket_at, object) : NULL;

	return p && p->key ? &t->socket[p->at] : NULL;
}

static struct touched_socket *add_socket(struct touched *t, const struct event *ev, uint64_t object, int fd, int family, int type, enum touched_how how)
{
	struct touched_socket *more = find_socket(t, object);

	if (more || !object)
		return more;
	more = t->n_sockets < TOUCHED_SOCKETS_MAX ? grow(t->socket, &t->cap_sockets, t->n_sockets, sizeof(*more)) : NULL;
	t->socket = more ? more : t->socket;
	if (!more || !places_add(&t->socket_at, object, t->n_sockets)) {
		t->incomplete = true;
		return NULL;
	}
	more[t->n_sockets] = (struct touched_socket){ .object = object, .family = family, .how = how, .first_event = ev->number, .last_event = ev->number,
						      .thread = ev->thread, .fd = fd };
	more[t->n_sockets].type = type < 0 ? -1 : type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
	return &more[t->n_sockets++];
}

static void failed(struct touched *t, struct errno_counts *e, int64_t result)
{
	if (result < 0 && result > -4096 && !errno_counts_add(e, (uint32_t)-result, TOUCHED_ERRNOS_MAX))
		t->incomplete = true;
}

/* --- files --- */

static void use_file(struct touched *t, uint32_t name, enum role role, const struct event *ev, int64_t result)
{
	struct touched_file *f = file_of(t, name, ev);
	bool ok = result >= 0 || result <= -4096;
	uint64_t bytes = result > 0 ? (uint64_t)result : 0;

	if (!f)
		return;
	if (!ok) {
		f->failed++;
		failed(t, &f->errors, result);
	}
	switch (role) {
	case ROLE_READ:
		f->reads++;
		f->bytes_read += bytes;
		break;
	case ROLE_WRITE:
		f->writes++;
		f->bytes_written += bytes;
		break;
	case ROLE_STAT:
		f->stats++;
		break;
	case ROLE_MAP:
		f->mapped += ok;
		break;
	case ROLE_OPEN:
		f->opens += ok;
		break;
	case ROLE_NONE:
		break;
	}
}

/* --- sockets --- */

static void use_socket(struct touched *t, const struct fds_info *info, enum role role, const struct event *ev, int64_t result, bool message)
{
	struct touched_socket *s = find_socket(t, info->object);
	uint64_t bytes = result > 0 && !message ? (uint64_t)result : 0;

	if (!s)
		return;
	s->last_event = ev->number;
	failed(t, &s->errors, result);
	if (role == ROLE_READ) {
		s->receives += message && result > 0 ? (uint64_t)result : 1;
		s->bytes_received += bytes;
	} else if (role == ROLE_WRITE) {
		s->sends += message && result > 0 ? (uint64_t)result : 1;
		s->bytes_sent += bytes;
	}
}

static void set_text(char **at, char *text)
{
	if (!text)
		return;
	free(*at);
	*at = text;
}

/* The address that a call gave (INPUT) or got (MEM): its length is the argument itself, or where that points to. */
static char *address_at(struct store_reader *r, const struct event *ev, enum effect_kind kind, uint64_t addr, uint64_t len)
{
	uint8_t bytes[sizeof(struct sockaddr_un)];
	uint32_t n = (uint32_t)len;

	if (!addr)
		return NULL;
	if (kind == EFFECT_MEM && calls_memory(r, ev, EFFECT_MEM, len, &n, sizeof(n)) < sizeof(n))
		n = sizeof(bytes); /* only what was written counts */
	n = (uint32_t)calls_memory(r, ev, kind, addr, bytes, MIN(n, (uint32_t)sizeof(bytes)));
	return sockaddr_text(bytes, n);
}

/* What a call says of addresses when it begins. */
static void addresses_given(struct touched *t, struct store_reader *r, const struct event *ev, const struct fds_refs *refs)
{
	const struct roles *role = &roles[refs->sysno];
	struct touched_socket *s = find_socket(t, refs->fd[0].info.object);

	if (!s || ev->kind == EVENT_SYSCALL_EXIT)
		return;
	if (role->address == ADDRESS_CONNECT) {
		s->how = TOUCHED_CONNECT;
		set_text(&s->peer, address_at(r, ev, EFFECT_INPUT, ev->args[1], ev->args[2]));
	} else if (role->address == ADDRESS_BIND) {
		s->how = s->how == TOUCHED_SOCKET ? TOUCHED_BIND : s->how;
		set_text(&s->local, address_at(r, ev, EFFECT_INPUT, ev->args[1], ev->args[2]));
	} else if (role->address == ADDRESS_TO && !s->peer) {
		set_text(&s->peer, address_at(r, ev, EFFECT_INPUT, ev->args[4], ev->args[5]));
	}
}

static void accepted(struct touched *t, struct store_reader *r, const struct event *ev, const struct fds_refs *refs)
{
	const struct touched_socket *from = find_socket(t, refs->fd[0].info.object);
	int family = from ? from->family : -1, type = from ? from->type : -1;
	struct touched_socket *s = add_socket(t, ev, refs->fd[1].info.object, refs->fd[1].fd, family, type, TOUCHED_ACCEPT);

	if (!s)
		return;
	from = find_socket(t, refs->fd[0].info.object); /* they may have moved */
	if (from && from->local)
		set_text(&s->local, os_strdup(from->local));
	set_text(&s->peer, address_at(r, ev, EFFECT_MEM, refs->args[1], refs->args[2]));
}

static void addresses_got(struct touched *t, struct store_reader *r, const struct event *ev, const struct fds_refs *refs)
{
	struct touched_socket *s = find_socket(t, refs->fd[0].info.object);
	enum address a = roles[refs->sysno].address;

	if (a != ADDRESS_NONE && refs->result < 0 && s) {
		if (a != ADDRESS_TO && a != ADDRESS_FROM) /* counted as traffic */
			failed(t, &s->errors, refs->result);
		s->last_event = ev->number;
		return;
	}
	if (a == ADDRESS_ACCEPT)
		accepted(t, r, ev, refs);
	else if (s && a == ADDRESS_LOCAL)
		set_text(&s->local, address_at(r, ev, EFFECT_MEM, refs->args[1], refs->args[2]));
	else if (s && a == ADDRESS_PEER)
		set_text(&s->peer, address_at(r, ev, EFFECT_MEM, refs->args[1], refs->args[2]));
	else if (s && a == ADDRESS_FROM && !s->peer)
		set_text(&s->peer, address_at(r, ev, EFFECT_MEM, refs->args[4], refs->args[5]));
}

static void made(struct touched *t, const struct event *ev, const struct fds_refs *refs)
{
	if (refs->result < 0)
		return;
	if (refs->sysno == SYS_socket)
		add_socket(t, ev, refs->fd[0].info.object, refs->fd[0].fd, (int)refs->args[0], (int)refs->args[1], TOUCHED_SOCKET);
	if (refs->sysno == SYS_socketpair)
		for (int i = 0; i < 2; i++)
			add_socket(t, ev, refs->fd[i].info.object, refs->fd[i].fd, (int)refs->args[0], (int)refs->args[1], TOUCHED_PAIR);
}

/* --- */

static void ended(struct touched *t, struct store_reader *r, const struct event *ev, const struct fds_refs *refs)
{
	const struct roles *role = &roles[refs->sysno];
	bool fd_path = role->path && !refs->path[0]; /* fstat in disguise: newfstatat(fd, "", ...) */

	for (int i = 0; i < FDS_REFS; i++) {
		const struct fds_info *info = &refs->fd[i].info;
		enum role what = fd_path && i == 0 ? role->path : role->fd[i];

		if (refs->fd[i].fd < 0 || what == ROLE_NONE)
			continue;
		if (info->kind == FDS_FILE)
			use_file(t, info->name, what, ev, refs->result);
		else if (info->kind == FDS_SOCKET)
			use_socket(t, info, what, ev, refs->result, role->message);
	}
	made(t, ev, refs);
	if (role->address)
		addresses_got(t, r, ev, refs);
}

void touched_see(struct touched *t, struct store_reader *r, const struct event *ev)
{
	struct fds_refs refs = { 0 };

	if (fds_event(t->fds, r, ev, &refs) < 0) {
		t->incomplete = true;
		return;
	}
	if (ev->kind == EVENT_EXEC)
		use_file(t, names_add(t->names, ev->text, strlen(ev->text)), ROLE_MAP, ev, 0);
	if (!refs.call)
		return;
	if (refs.ended)
		for (int i = 0; i < FDS_REFS; i++)
			use_file(t, refs.path[i], refs.sysno < ARRAY_SIZE(roles) ? roles[refs.sysno].path : ROLE_NONE, ev, refs.result);
	if (refs.sysno >= ARRAY_SIZE(roles))
		return;
	if (roles[refs.sysno].address)
		addresses_given(t, r, ev, &refs);
	if (refs.ended)
		ended(t, r, ev, &refs);
}

uint32_t touched_files(const struct touched *t)
{
	return t->n_files;
}

const struct touched_file *touched_file(const struct touched *t, uint32_t i)
{
	return &t->file[i];
}

uint32_t touched_sockets(const struct touched *t)
{
	return t->n_sockets;
}

const struct touched_socket *touched_socket(const struct touched *t, uint32_t i)
{
	return &t->socket[i];
}

bool touched_complete(const struct touched *t)
{
	return !t->incomplete && !t->names->full;
}

/* --- names --- */

static const char *number(int v, char buf[16])
{
	(void)snprintf(buf, 16, "%d", v);
	return buf;
}

const char *touched_family(int family, char buf[16])
{
	static const char *const names[] = { [AF_UNIX] = "AF_UNIX", [AF_INET] = "AF_INET", [AF_INET6] = "AF_INET6", [AF_NETLINK] = "AF_NETLINK",
					     [AF_PACKET] = "AF_PACKET", [AF_ALG] = "AF_ALG", [AF_VSOCK] = "AF_VSOCK", [AF_BLUETOOTH] = "AF_BLUETOOTH" };

	return family >= 0 && family < (int)ARRAY_SIZE(names) && names[family] ? names[family] : number(family, buf);
}

const char *touched_type(int type, char buf[16])
{
	static const char *const names[] = { [SOCK_STREAM] = "SOCK_STREAM", [SOCK_DGRAM] = "SOCK_DGRAM", [SOCK_RAW] = "SOCK_RAW",
					     [SOCK_SEQPACKET] = "SOCK_SEQPACKET" };

	return type >= 0 && type < (int)ARRAY_SIZE(names) && names[type] ? names[type] : number(type, buf);
}

const char *touched_how_name(enum touched_how how)
{
	static const char *const names[] = { "socket", "connect", "accept", "bind", "pair" };

	return names[how];
}
