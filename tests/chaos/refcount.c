/* Two owners drop a reference counter that is not atomic: both may take themselves for the last, or neither. */
#include "chaos.h"

enum { OBJECTS = 8 };

static struct object {
	volatile int refs, freed;
} object[OBJECTS];

static void drop(struct object *o)
{
	int left = o->refs;

	left--;
	work(30);
	o->refs = left;
	if (left == 0) {
		work(30);
		o->freed++;
	}
}

static void *owner(void *arg)
{
	for (int i = 0; i < OBJECTS; i++) {
		work(2000 + 1000 * (unsigned long)(intptr_t)arg);
		drop(&object[i]);
	}
	return NULL;
}

int main(void)
{
	for (int i = 0; i < OBJECTS; i++)
		object[i].refs = 2;
	in_threads(2, owner);
	for (int i = 0; i < OBJECTS; i++)
		if (object[i].freed != 1)
			bug("object %d was freed %d times", i, object[i].freed);
	return 0;
}
