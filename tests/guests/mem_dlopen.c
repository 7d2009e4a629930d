/* dlopen and dlclose of libraries, symbols looked up, code of a fresh mapping run. Output: addresses differ. */
#include "guest.h"
#include <dlfcn.h>
#include <link.h>

static int list(struct dl_phdr_info *info, size_t size UNUSED, void *n)
{
	++*(int *)n;
	say("object %s\n", info->dlpi_name[0] ? info->dlpi_name : "(program)");
	return 0;
}

int main(void)
{
	static const char *const libs[] = { "libm.so.6", "libz.so.1", "libresolv.so.2", "libno-such.so.9" };
	double (*cosine)(double);
	int n = 0;

	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < N_ELEMENTS(libs); i++) {
			void *h = dlopen(libs[i], RTLD_NOW);

			if (!h) {
				say("%s: not there\n", libs[i]);
				continue;
			}
			if (i == 0) {
				*(void **)&cosine = dlsym(h, "cos");
				say("cos(0.5) = %.17g by %p\n", cosine(0.5), dlsym(h, "cos"));
			}
			dlclose(h);
		}
	dl_iterate_phdr(list, &n);
	CHECK(n > 1);
	done();
	return 0;
}
