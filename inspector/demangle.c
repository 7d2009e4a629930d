/* Names as people wrote them. libiberty knows C++ and both manglings of Rust; what neither knows (C, Go) is left as it is. */
#include "inspector/inspect_priv.h"

#include <stdlib.h>
#include <string.h>
#include <libiberty/demangle.h>

/* libiberty would take any word for something of Java, Ada or D: only what begins as these two do is given to it. */
static bool is_mangled(const char *s)
{
	if (s[0] == '_' && (s[1] == 'Z' || s[1] == 'R'))
		return true;
	return !strncmp(s, "__Z", 3) || !strncmp(s, "_GLOBAL_", 8);
}

char *demangle_name(const char *symbol)
{
	size_t len = strnlen(symbol, INSPECT_NAME_MAX + 1);

	if (len > INSPECT_NAME_MAX || !is_mangled(symbol))
		return NULL;
	return cplus_demangle(symbol, DMGL_AUTO | DMGL_ANSI);
}
