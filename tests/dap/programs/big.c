/* Values too large to show at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000000 };

static int numbers[N];
static char text[N + 1];

struct row {
	int key;
	char name[12];
};

int main(void)
{
	struct row rows[200];
	double matrix[4][3];
	int *where = &numbers[5];
	const char *words[] = { "alpha", "beta", "gamma", NULL };

	for (int i = 0; i < N; i++) {
		numbers[i] = i * 3;
		text[i] = (char)('a' + i % 26);
	}
	for (int i = 0; i < 200; i++) {
		rows[i].key = i;
		snprintf(rows[i].name, sizeof(rows[i].name), "row %d", i);
	}
	for (int i = 0; i < 12; i++)
		matrix[i / 3][i % 3] = i / 2.0;
	printf("%d %zu %d %s %g\n", *where, strlen(text), rows[199].key, words[1], matrix[3][2]); /* all is made */
	return 0;
}
