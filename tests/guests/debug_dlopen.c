/* Loads a library and unloads it. For tests/debug/sessions. flags: -ldl */
#include <dlfcn.h>
#include "guest.h"

volatile double result;

__attribute__((noinline)) void loaded(void)
{
	result += 1;
}

__attribute__((noinline)) void unloaded(void)
{
	result += 1;
}

int main(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW); /* the dlopen */
	double (*f)(double);

	if (!library)
		return 1;
	*(void **)&f = dlsym(library, "cbrt");
	result = f(27.0); /* the call */
	loaded();
	dlclose(library);
	unloaded();
	say("%d\n", (int)result);
	return 0;
}
