/* hermit version, and the line of hermit --version. */
#include "cli/version.h"

#include <jansson.h>
#include <lzma.h>
#include <seccomp.h>
#include "base/build.h"
#include "cli/cmd.h"
#include "store/manifest.h"

void version_print(FILE *f)
{
	const char *commit = build_commit();

	fprintf(f, "hermit %s (%s, %s)\n", build_version(), build_date(), *commit ? commit : "unknown");
}

static int run(const struct cmd_call *call UNUSED)
{
	const struct scmp_version *sc = seccomp_version();

	version_print(stdout);
	printf("recording format: %d.%d\n", MANIFEST_FORMAT_MAJOR, MANIFEST_FORMAT_MINOR);
#ifdef __clang__
	printf("compiler: clang %s\n", __clang_version__);
#else
	printf("compiler: gcc %s\n", __VERSION__);
#endif
	printf("libraries: jansson %s, liblzma %s, libseccomp %u.%u.%u\n", JANSSON_VERSION, lzma_version_string(), sc->major,
	       sc->minor, sc->micro);
	return 0;
}

const struct cmd cmd_version = {
	.name = "version",
	.summary = "Print the version and how it was built",
	.usage = "",
	.about = "Prints the version, the date and commit of the build, the version of the recording format and the libraries used. "
		 "'hermit --version' prints only the first line.",
	.example = "    hermit version\n",
	.run = run,
};
