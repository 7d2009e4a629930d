/* See build.h. The only file that is compiled anew when date or commit have changed. */
#include "base/build.h"

#include "base/build_info.h"

const char *build_version(void)
{
	return HERMIT_VERSION;
}

const char *build_date(void)
{
	return BUILD_DATE;
}

const char *build_commit(void)
{
	return BUILD_COMMIT;
}
