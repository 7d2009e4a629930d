/* Terminal ioctls on a pty: TCGETS family, TIOCOUTQ, TIOCSTI, packet mode, locking, names, TIOCGPTPEER. Output: numbers differ. */
#include "guest.h"
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

int main(void)
{
	int m, s, n = -1, on = 1;
	struct termios t;
	char buf[64];

	m = CK(posix_openpt(O_RDWR | O_NOCTTY));
	CK(grantpt(m));
	CK(ioctl(m, TIOCGPTN, &n));
	say("number %d name %s\n", n, ptsname(m));
	CK(ioctl(m, TIOCGPTLCK, &n));
	say("locked %d\n", n);
	show("open while locked", open(ptsname(m), O_RDWR | O_NOCTTY));
	CK(unlockpt(m));
	s = ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	show("peer", s < 0 ? -1 : 0);
	if (s < 0)
		s = CK(open(ptsname(m), O_RDWR | O_NOCTTY));
	CK(tcgetattr(s, &t));
	say("flags %#x %#x %#x %#x speed %u\n", t.c_iflag, t.c_oflag, t.c_cflag, t.c_lflag, cfgetospeed(&t));
	t.c_lflag &= (tcflag_t) ~(ECHO | ICANON);
	t.c_cc[VMIN] = 0;
	t.c_cc[VTIME] = 1;
	CK(tcsetattr(s, TCSADRAIN, &t));
	show("read with VTIME", read(s, buf, 8));
	CHECK(write(m, "abc", 3) == 3);
	CK(ioctl(s, FIONREAD, &n));
	say("waiting %d\n", n);
	CK(tcflush(s, TCIFLUSH));
	CK(ioctl(s, TIOCINQ, &n));
	say("flushed %d\n", n);
	CK(ioctl(m, TIOCPKT, &on));
	CHECK(write(s, "out", 3) == 3);
	show("packet", read(m, buf, 8));
	say("%d %.3s\n", buf[0], buf + 1);
	CK(ioctl(s, TIOCOUTQ, &n));
	say("out queue %d\n", n);
	show("session", tcgetsid(s));
	show("foreground", tcgetpgrp(s));
	show("TIOCSTI", ioctl(s, TIOCSTI, "x") >= -1);
	show("TIOCEXCL", ioctl(s, TIOCEXCL));
	show("TIOCNXCL", ioctl(s, TIOCNXCL));
	show("TCSBRK", tcsendbreak(s, 0));
	show("TIOCGETD", ioctl(s, TIOCGETD, &n));
	show("TCGETS2", ioctl(s, 0x802c542a, (char[64]){ 0 }));
	show("TIOCGSERIAL", ioctl(s, TIOCGSERIAL, (char[128]){ 0 }));
	show("stdin", ioctl(0, TCGETS, &t));
	close(s);
	show("read after close", read(m, buf, 8));
	done();
	return 0;
}
