/* Sockets: addresses, messages, control data, options, interface requests. */
#include "engine/print_priv.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#define PUT(p, ...) buf_printf((p)->out, __VA_ARGS__)

#define SOCKADDR_MAX 128u /* sizeof(struct sockaddr_storage) */
#define CONTROL_MAX 1024u
#define FDS_SHOWN 64u

static uint16_t port_at(struct data d, size_t at)
{
	return ntohs(u16_at(d, at));
}

static void print_unix(struct printer *p, struct data d)
{
	struct data path = data_from(d, 2);

	if (!path.n)
		return;
	PUT(p, ", sun_path=");
	if (path.p[0]) {
		print_text(p, path.p, path.n);
	} else {
		PUT(p, "@");
		print_quoted(p, path.p + 1, path.n - 1);
	}
}

static void print_inet(struct printer *p, struct data d)
{
	char text[INET_ADDRSTRLEN];
	uint32_t addr = u32_at(d, 4);

	PUT(p, ", sin_port=htons(%u), sin_addr=inet_addr(\"%s\")", port_at(d, 2), inet_ntop(AF_INET, &addr, text, sizeof(text)));
}

static void print_inet6(struct printer *p, struct data d)
{
	char text[INET6_ADDRSTRLEN];
	uint64_t addr[2] = { u64_at(d, 8), u64_at(d, 16) };

	PUT(p, ", sin6_port=htons(%u), sin6_flowinfo=htonl(%u), inet_pton(AF_INET6, \"%s\", &sin6_addr), sin6_scope_id=%u", port_at(d, 2),
	    ntohl(u32_at(d, 4)), inet_ntop(AF_INET6, addr, text, sizeof(text)), u32_at(d, 24));
}

static void print_address(struct printer *p, struct data d)
{
	PUT(p, "{sa_family=");
	print_enum(p, SYS_NAMES_SOCK_FAMILY, u16_at(d, 0));
	switch (u16_at(d, 0)) {
	case AF_UNIX:
		print_unix(p, d);
		break;
	case AF_INET:
		print_inet(p, d);
		break;
	case AF_INET6:
		print_inet6(p, d);
		break;
	case AF_NETLINK:
		PUT(p, ", nl_pid=%u, nl_groups=%08x", u32_at(d, 4), u32_at(d, 8));
		break;
	default:
		if (d.n > 2) {
			PUT(p, ", sa_data=");
			print_quoted(p, d.p + 2, d.n - 2);
		}
	}
	PUT(p, "}");
}

void print_sockaddr(struct printer *p, uint64_t addr, uint64_t len)
{
	uint8_t bytes[SOCKADDR_MAX];
	size_t n = MIN(len, (uint64_t)sizeof(bytes));

	if (addr && n >= 2 && sys_mem_read(p->mem, addr, bytes, n) >= 0)
		print_address(p, (struct data){ bytes, n });
	else
		print_addr(p, addr);
}

static void print_control_data(struct printer *p, uint32_t level, uint32_t type, struct data d)
{
	PUT(p, ", cmsg_data=");
	if (level == SOL_SOCKET && type == SCM_RIGHTS)
		print_ints(p, (struct data){ d.p, MIN(d.n, FDS_SHOWN * sizeof(int)) });
	else if (level == SOL_SOCKET && type == 2) /* SCM_CREDENTIALS */
		PUT(p, "{pid=%d, uid=%u, gid=%u}", i32_at(d, 0), u32_at(d, 4), u32_at(d, 8));
	else
		print_raw(p, d);
}

static void print_control(struct printer *p, uint64_t addr, uint64_t len)
{
	uint8_t bytes[CONTROL_MAX];
	struct data all = { bytes, MIN(len, (uint64_t)sizeof(bytes)) };

	if (!addr || sys_mem_read(p->mem, addr, bytes, all.n) < 0) {
		print_addr(p, addr);
		return;
	}
	PUT(p, "[");
	for (size_t at = 0, i = 0; at + 16 <= all.n && print_next(p, i); i++) {
		struct data d = data_from(all, at);
		uint64_t n = u64_at(d, 0);

		if (n < 16 || n > d.n) {
			PUT(p, "...");
			break;
		}
		PUT(p, "{cmsg_len=%lu, cmsg_level=", n);
		print_enum(p, SYS_NAMES_SOCK_LEVEL, u32_at(d, 8));
		PUT(p, ", cmsg_type=");
		print_enum(p, u32_at(d, 8) == SOL_SOCKET ? SYS_NAMES_SCM : SYS_NAMES_NONE, u32_at(d, 12));
		print_control_data(p, u32_at(d, 8), u32_at(d, 12), (struct data){ d.p + 16, n - 16 });
		PUT(p, "}");
		at += ALIGN_UP(n, 8);
	}
	PUT(p, "]");
}

/* bytes: transferred, for received messages; lengths that a receiver stored are after =>. */
void print_msghdr(struct printer *p, uint64_t addr, bool received, uint64_t bytes)
{
	struct msghdr64 h, before;

	if (!addr || sys_mem_read(p->mem, addr, &h, sizeof(h)) < 0) {
		print_addr(p, addr);
		return;
	}
	if (!received || sys_mem_read(p->entry, addr, &before, sizeof(before)) < 0)
		before = h;
	PUT(p, "{msg_name=");
	print_sockaddr(p, h.name, h.namelen > 0 ? MIN((uint32_t)h.namelen, (uint32_t)MAX(before.namelen, 0)) : 0);
	PUT(p, ", msg_namelen=%d", before.namelen);
	if (h.namelen != before.namelen)
		PUT(p, " => %d", h.namelen);
	PUT(p, ", msg_iov=");
	print_iov(p, h.iov, h.iovlen, true, bytes);
	PUT(p, ", msg_iovlen=%lu", h.iovlen);
	if (h.control && h.controllen) {
		PUT(p, ", msg_control=");
		print_control(p, h.control, MIN(h.controllen, before.controllen));
	}
	PUT(p, ", msg_controllen=%lu, msg_flags=", h.controllen);
	print_flags(p, SYS_NAMES_MSG, h.flags);
	PUT(p, "}");
}

void print_mmsg(struct printer *p, uint64_t addr, uint64_t count, bool received)
{
	struct mmsghdr64 m;

	if (!addr || (count && sys_mem_read(p->mem, addr, &m, sizeof(m)) < 0)) {
		print_addr(p, addr);
		return;
	}
	PUT(p, "[");
	for (uint64_t i = 0; i < count && print_next(p, i); i++) {
		if (sys_mem_read(p->mem, addr + i * sizeof(m), &m, sizeof(m)) < 0) {
			PUT(p, "...");
			break;
		}
		PUT(p, "{msg_hdr=");
		print_msghdr(p, addr + i * sizeof(m), received, received ? m.len : UINT64_MAX);
		if (p->has_result && (int64_t)i < p->result &&
		    sys_mem_read(p->exit, addr + i * sizeof(m) + offsetof(struct mmsghdr64, len), &m.len, sizeof(m.len)) >= 0)
			PUT(p, ", msg_len=%u", m.len);
		PUT(p, "}");
	}
	PUT(p, "]");
}

static enum sys_names option_names(uint32_t level)
{
	static const struct {
		uint16_t level;
		uint8_t names;
	} levels[] = { { 0, SYS_NAMES_SO_IP },	   { 1, SYS_NAMES_SO },		{ 6, SYS_NAMES_SO_TCP },     { 17, SYS_NAMES_SO_UDP },
		       { 41, SYS_NAMES_SO_IPV6 }, { 263, SYS_NAMES_SO_PACKET }, { 270, SYS_NAMES_SO_NETLINK } };

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (levels[i].level == level)
			return (enum sys_names)levels[i].names;
	return SYS_NAMES_NONE;
}

void print_option_name(struct printer *p)
{
	print_enum(p, option_names((uint32_t)p->call->args[1]), (uint32_t)p->call->args[2]);
}

/* Options whose value is no plain number. */
void print_option_value(struct printer *p, uint64_t addr, uint64_t len)
{
	uint32_t level = (uint32_t)p->call->args[1], option = (uint32_t)p->call->args[2];

	if (level == SOL_SOCKET && option == SO_LINGER && len == 8) {
		int32_t v[2];

		if (sys_mem_read(p->mem, addr, v, sizeof(v)) >= 0) {
			PUT(p, "{l_onoff=%d, l_linger=%d}", v[0], v[1]);
			return;
		}
	}
	if (level == SOL_SOCKET && (option == 20 || option == 21) && len == 16) /* SO_RCVTIMEO, SO_SNDTIMEO */
		print_struct_at(p, SYS_STRUCT_TIMEVAL, addr, len);
	else if (level == SOL_SOCKET && option == SO_PEERCRED && len == 12)
		print_struct_at(p, SYS_STRUCT_UCRED, addr, len);
	else if (len == 4)
		print_struct_at(p, SYS_STRUCT_INT, addr, len);
	else
		print_bytes(p, addr, len);
}

void print_ifreq(struct printer *p, struct data d)
{
	PUT(p, "{ifr_name=");
	print_text(p, d.p, MIN(d.n, (size_t)16));
	PUT(p, ", ...}");
}
