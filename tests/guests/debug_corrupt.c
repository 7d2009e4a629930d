/* A stray write changes a record long before that is noticed. For tests/debug/sessions. */
#include "guest.h"

enum { N = 64, ROUNDS = 2000 };

struct record {
	char name[16];
	unsigned magic;
	long sum;
};

struct record *records;
volatile unsigned rounds_done, checking;

static void add(struct record *r, long value)
{
	r->sum += value;
}

/* Copies one byte too many when the name fills its field: that byte is of the magic number. */
static void rename_record(struct record *r, const char *name)
{
	size_t n = strlen(name) + 1;

	for (size_t i = 0; i < n; i++)
		((volatile char *)r)[offsetof(struct record, name) + i] = name[i]; /* the culprit */
}

static void check(const struct record *r)
{
	if (r->magic != 0x4d414749)
		abort(); /* noticed here */
}

int main(void)
{
	char name[32];

	records = calloc(N, sizeof(*records));
	for (int i = 0; i < N; i++)
		records[i].magic = 0x4d414749;
	for (int i = 0; i < ROUNDS; i++) {
		add(&records[i * 7 % N], i);
		snprintf(name, sizeof(name), i == 700 ? "sixteen-letters!" : "r%d", i);
		rename_record(&records[i * 5 % N], name);
		rounds_done++;
	}
	for (; checking < N; checking++)
		check(&records[checking]);
	say("not noticed\n");
	return 1;
}
