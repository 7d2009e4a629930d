/* Arrays that grow with what a recording has. */
#ifndef ANALYSIS_GROW_PRIV_H
#define ANALYSIS_GROW_PRIV_H

#include "base/macros.h"

/* Room for element `at` of an owned array of *cap elements: its new place, NULL when there is no memory (the array stays). New elements are zero. */
void *grow(void *array, uint32_t *cap, uint32_t at, size_t size);

#endif
