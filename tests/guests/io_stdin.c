/* Standard input consumed in odd pieces, by stdio and read, to its end. Deterministic (feed it something). */
#include "guest.h"

int main(void)
{
	char line[100], c;
	int n = 0;

	say("size of first piece %zd\n", read(0, line, 3));
	while (read(0, &c, 1) == 1 && c != '\n')
		n++;
	say("%d more on that line\n", n);
	while (fgets(line, sizeof(line), stdin))
		say("line: %s", line);
	say("end of file %d\n", feof(stdin) != 0);
	show("read at the end", read(0, &c, 1));
	done();
	return 0;
}
