/* A pseudo terminal: window size, line discipline (echo, erase, ^C, ^D), raw mode, hang-up, SIGWINCH. Output: pts number differs. */
#include "guest.h"
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

static int master;

static void show_master(const char *what)
{
	char buf[256];
	ssize_t n = read(master, buf, sizeof(buf) - 1);

	if (n < 0) {
		show(what, n);
		return;
	}
	say("%s:", what);
	for (ssize_t i = 0; i < n; i++)
		say(buf[i] < ' ' || buf[i] > '~' ? " %02x" : " %c", (unsigned char)buf[i]);
	say("\n");
}

static void child(void)
{
	char line[64];
	struct winsize ws;
	struct termios t;
	ssize_t n;

	CK(ioctl(0, TIOCGWINSZ, &ws));
	dprintf(1, "%dx%d %s\n", ws.ws_row, ws.ws_col, isatty(0) ? "tty" : "no tty");
	n = CK(read(0, line, sizeof(line)));
	line[n] = '\0';
	dprintf(1, "got %d: %s", (int)n, line);
	n = read(0, line, sizeof(line));
	dprintf(1, "end %d\n", (int)n);
	CK(tcgetattr(0, &t));
	cfmakeraw(&t);
	CK(tcsetattr(0, TCSANOW, &t));
	dprintf(1, "raw");
	n = CK(read(0, line, 1));
	dprintf(1, "<%d>", line[0]);
	t.c_lflag |= ISIG;
	CK(tcsetattr(0, TCSANOW, &t));
	dprintf(1, "sig");
	for (;;)
		pause();
}

int main(void)
{
	struct winsize ws = { 33, 77, 0, 0 }, got;
	char name[64];
	pid_t p, fg;

	p = forkpty(&master, name, NULL, &ws);
	CHECK(p >= 0);
	if (p == 0)
		child();
	say("%s\n", name);
	show_master("size");
	CHECK(write(master, "helxx\x7f\x7flo\n", 10) == 10);
	msleep(20);
	show_master("line");
	CHECK(write(master, "\x04", 1) == 1);
	msleep(20);
	show_master("end of file");
	msleep(20);
	CHECK(write(master, "\x03", 1) == 1);
	msleep(20);
	show_master("raw");
	CK(ioctl(master, TIOCGWINSZ, &got));
	say("size %dx%d\n", got.ws_row, got.ws_col);
	got.ws_row = 50;
	CK(ioctl(master, TIOCSWINSZ, &got));
	CK(ioctl(master, TIOCGPGRP, &fg));
	say("foreground is the child: %d\n", fg == p);
	CHECK(write(master, "\x03", 1) == 1);
	say("child: %s\n", wait_str(reap(p)));
	show_master("after");
	show_master("after");
	done();
	return 0;
}
