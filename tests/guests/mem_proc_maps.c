/* /proc/self/maps, smaps_rollup, statm: own mappings are listed as they are; nothing foreign is named. Output: addresses differ. */
#include "guest.h"

static int here;

int main(void)
{
	static const char *const files[] = { "/proc/self/smaps_rollup", "/proc/self/statm", "/proc/self/limits" };
	char line[512], *stack = line, *heap = malloc(100);
	bool saw_stack = false, saw_data = false, saw_heap = false;
	FILE *f = fopen("/proc/self/maps", "re");

	CHECK(f && heap);
	while (fgets(line, sizeof(line), f)) {
		unsigned long a, b;

		CHECK(sscanf(line, "%lx-%lx", &a, &b) == 2);
		saw_stack |= (uintptr_t)stack >= a && (uintptr_t)stack < b;
		saw_heap |= (uintptr_t)heap >= a && (uintptr_t)heap < b;
		saw_data |= (uintptr_t)&here >= a && (uintptr_t)&here < b;
		say("%s", line);
	}
	fclose(f);
	CHECK(saw_stack && saw_data && saw_heap);
	for (size_t i = 0; i < N_ELEMENTS(files); i++) {
		f = fopen(files[i], "re");
		if (!f)
			continue;
		while (fgets(line, sizeof(line), f))
			say("%s", line);
		fclose(f);
	}
	free(heap);
	done();
	return 0;
}
