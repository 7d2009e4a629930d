/* Ends by an unhandled SIGTERM sent by its child. Deterministic. */
#include "guest.h"

int main(void)
{
	if (xfork() == 0) {
		wait_state(getppid(), 'S');
		CK(kill(getppid(), SIGTERM));
		_exit(0);
	}
	say("waits for the end\n");
	for (;;)
		pause();
}
