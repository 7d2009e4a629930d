/* See grow_priv.h. */
#include "analysis/grow_priv.h"

#include <stdlib.h>
#include <string.h>

void *grow(void *array, uint32_t *cap, uint32_t at, size_t size)
{
	uint32_t n = *cap;
	uint8_t *more;

	if (at < n)
		return array;
	n = MAX(at + 16, n * 2);
	more = reallocarray(array, n, size);
	if (!more)
		return NULL;
	memset(more + *cap * size, 0, (n - *cap) * size);
	*cap = n;
	return more;
}
