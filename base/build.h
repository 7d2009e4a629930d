/* Which build this is. */
#ifndef BASE_BUILD_H
#define BASE_BUILD_H

/* All static. "0.1.0" */
const char *build_version(void);
/* "2026-11-29" */
const char *build_date(void);
/* "gabc123def456"; "" when the build could not tell. */
const char *build_commit(void);

#endif
