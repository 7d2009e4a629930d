/* Rare but harmless calls: keys, quota, landlock, name_to_handle, listmount, statmount, lsm list, syslog, process_mrelease. Output: depends. */
#include "guest.h"
#include <linux/landlock.h>

int main(void)
{
	struct {
		unsigned bytes;
		int type;
		unsigned char handle[128];
	} fh = { .bytes = 128 };
	struct {
		uint64_t size, mnt, param, mnt_ns;
	} mreq = { 24, ~0ull, 0, 0 };
	char buf[512] = "";
	uint64_t ids[64] = { 0 };
	uint32_t size = sizeof(buf);
	int mount_id = 0;
	long key;

	show("landlock version", syscall(444, NULL, 0, 1));
	key = syscall(SYS_add_key, "user", "hermit-guest", "payload", 7, -2 /* process keyring */);
	show("add_key", key < 0 ? key : 0);
	if (key >= 0) {
		show("keyctl read", syscall(SYS_keyctl, 11, key, buf, sizeof(buf)));
		say("%.7s\n", buf);
		show("keyctl describe", syscall(SYS_keyctl, 6, key, buf, sizeof(buf)) > 0);
		say("%s\n", buf);
	}
	show("request_key", syscall(SYS_request_key, "user", "no-such-key", NULL, 0));
	show("quotactl", syscall(SYS_quotactl, 0x80000000, NULL, 0, NULL) >= -1);
	show("name_to_handle_at", syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &fh, &mount_id, 0));
	say("mount %d bytes %u type %d\n", mount_id, fh.bytes, fh.type);
	show("listmount", syscall(458, &mreq, ids, 64, 0) >= -1);
	say("first mount %llu\n", (unsigned long long)ids[0]);
	show("lsm_list_modules", syscall(461, ids, &size, 0) >= -1);
	show("syslog size", syscall(SYS_syslog, 10, NULL, 0) >= -1);
	show("process_mrelease", syscall(448, -1, 0));
	show("fanotify_init", syscall(SYS_fanotify_init, 0, 0) >= -1);
	show("mount_setattr", syscall(442, -1, "", 0, NULL, 0));
	show("open_tree", syscall(428, AT_FDCWD, "/", 0) >= -1);
	show("fsopen", syscall(430, "nothing", 0));
	show("swapon", syscall(SYS_swapon, "/none", 0));
	show("sethostname same", syscall(SYS_sethostname, bad_address, 5));
	show("vhangup", geteuid() ? syscall(SYS_vhangup) : -1);
	show("acct", geteuid() ? syscall(SYS_acct, NULL) : -1);
	show("reboot", geteuid() ? syscall(SYS_reboot, 0, 0, 0, NULL) : -1);
	show("pivot_root", syscall(SYS_pivot_root, "/none", "/none"));
	show("iopl", geteuid() ? syscall(SYS_iopl, 3) : -1);
	done();
	return 0;
}
