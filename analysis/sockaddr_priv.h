/* Socket addresses as people write them: 127.0.0.1:80, [::1]:80, unix:/run/x, unix:@name. */
#ifndef ANALYSIS_SOCKADDR_PRIV_H
#define ANALYSIS_SOCKADDR_PRIV_H

#include <stddef.h>

/* Owned. NULL for families without such a form, nonsense, and without memory. */
char *sockaddr_text(const void *addr, size_t n);

#endif
