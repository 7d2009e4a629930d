/* Calls, a loop, values that change: for scenarios of steps, breakpoints and variables. */
#include <stdio.h>
#include <string.h>

enum color { RED, GREEN = 5, BLUE };

struct point {
	int x, y;
	const char *name;
};

struct shape {
	struct point corners[3];
	enum color color;
	unsigned small : 3, wide : 9;
	double area;
	union {
		int number;
		char bytes[4];
	} both;
	struct shape *next;
};

static int total;
static int calls;
static struct shape shape = { .corners = { { 1, 2, "one" }, { 3, 4, "two" }, { 5, 6, NULL } }, .color = GREEN, .small = 5, .wide = 300, .area = 2.5 };

static int square(int n)
{
	int result = n * n; /* in square */

	calls++;
	return result; /* leaving square */
}

static void add(int n)
{
	total += square(n); /* in add */
} /* end of add */

static void change(struct point *p)
{
	p->x += 10; /* the change */
	p->name = "changed";
}

int main(int argc, char **argv)
{
	struct point p = { 1, 2, "start" }; /* first line */
	char text[32] = "hello \"world\"\n";
	int i;

	(void)argv;
	shape.next = &shape;
	for (i = 0; i < 10; i++)
		add(i); /* calling add */
	change(&p); /* after the loop */
	change(&p); /* again */
	strcpy(text, "bye"); /* the copy */
	shape.both.number = 0x41424344;
	printf("total %d, %d %s %s\n", total, p.x, p.name, text); /* the print */
	fprintf(stderr, "calls %d\n", calls);
	return argc > 100; /* last line */
}
