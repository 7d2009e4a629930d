/*
 * Double-checked locking that stores the pointer before what it points to is complete: who does not lock sees half
 * of it.
 */
#include "chaos.h"

struct config {
	unsigned long value, check;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct config *volatile instance;

static struct config *get(void)
{
	if (!instance) {
		pthread_mutex_lock(&lock);
		if (!instance) {
			instance = calloc(1, sizeof(*instance));
			CHECK(instance);
			instance->value = burn(7, 200);
			instance->check = instance->value + 1;
		}
		pthread_mutex_unlock(&lock);
	}
	return instance;
}

static void *user(void *arg)
{
	struct config *c;

	work(2000 + 1000 * (unsigned long)(intptr_t)arg);
	c = get();
	if (c->check != c->value + 1 || c->value == 0)
		bug("the configuration is used before it is complete");
	return NULL;
}

int main(void)
{
	in_threads(3, user);
	return 0;
}
