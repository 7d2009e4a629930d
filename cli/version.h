/* What this hermit is. */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#include <stdio.h>

/* Prints "hermit 0.1.0 (2026-11-29, gabc123def456)"; "unknown" stands for a commit that the build could not tell. */
void version_print(FILE *f);

#endif
