/* Netlink: links and addresses as `ip` asks for them; getifaddrs, if_nameindex. Output: counters differ. */
#include "guest.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

int main(void)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg i;
	} req = { .h = { .nlmsg_len = sizeof(req), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };
	struct sockaddr_nl a = { .nl_family = AF_NETLINK };
	static char buf[16384] __attribute__((aligned(8)));
	struct ifaddrs *list;
	struct if_nameindex *names;
	socklen_t len = sizeof(a);
	bool more = true;
	int s;

	s = CK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
	CK(bind(s, (struct sockaddr *)&a, sizeof(a)));
	CK(getsockname(s, (struct sockaddr *)&a, &len));
	say("port id is pid %d (%u)\n", a.nl_pid == (unsigned)getpid(), a.nl_pid);
	CHECK(send(s, &req, sizeof(req), 0) == sizeof(req));
	while (more) {
		ssize_t n = CK(recv(s, buf, sizeof(buf), 0));

		say("%zd bytes, hash %016llx\n", n, (unsigned long long)hash(buf, (size_t)n));
		for (struct nlmsghdr *h = (struct nlmsghdr *)(void *)buf; NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
				more = false;
			if (h->nlmsg_type == RTM_NEWLINK)
				say("link %d\n", ((struct ifinfomsg *)NLMSG_DATA(h))->ifi_index);
		}
	}
	CK(getifaddrs(&list));
	for (struct ifaddrs *i = list; i; i = i->ifa_next)
		say("%s family %d flags %#x\n", i->ifa_name, i->ifa_addr ? i->ifa_addr->sa_family : 0, i->ifa_flags);
	freeifaddrs(list);
	names = if_nameindex();
	for (int i = 0; names && names[i].if_index; i++)
		say("%u %s\n", names[i].if_index, names[i].if_name);
	if_freenameindex(names);
	done();
	return 0;
}
