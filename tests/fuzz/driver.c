/* Runs a fuzzer without libFuzzer, as make check does: over the files of its corpus, every one with each bit flipped and cut at each length, and
 * over random bytes from a fixed seed.
 *
 *     fuzz_NAME [FILE...]     default: $srcdir/tests/fuzz/corpus/NAME/ (all files)
 *
 * With clang the same source links libFuzzer instead: clang -fsanitize=fuzzer,address -I. tests/fuzz/fuzz_NAME.c SOURCES. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX 4096u
#define RANDOM_RUNS 20000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* From the heap and exactly as long, so that sanitizers see a byte too many. */
static void run(const uint8_t *data, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	if (!copy)
		abort();
	memcpy(copy, data, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
}

static int run_file(const char *path)
{
	uint8_t data[INPUT_MAX];
	FILE *f = fopen(path, "rb");
	size_t n;

	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	for (size_t cut = 0; cut <= n; cut++)
		run(data, cut);
	for (size_t bit = 0; bit < n * 8; bit++) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		run(data, n);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	return 0;
}

static int run_corpus(const char *program)
{
	const char *name = strstr(program, "fuzz_"), *srcdir = getenv("srcdir");
	char path[4096];
	struct dirent *e;
	int failed = 0;
	DIR *dir;

	for (const char *later = name; later; later = strstr(later + 1, "fuzz_"))
		name = later;
	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".", name ? name + 5 : program);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		char file[4096 + 256];

		if (e->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		failed |= run_file(file);
	}
	if (dir)
		closedir(dir);
	return failed;
}

static void run_random(void)
{
	uint8_t data[512];
	uint64_t state = 88172645463325252ull;

	for (unsigned int i = 0; i < RANDOM_RUNS; i++) {
		for (size_t k = 0; k < sizeof(data); k++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			data[k] = (uint8_t)(state & 0x300 ? state : 0);
		}
		run(data, state % sizeof(data));
	}
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= run_file(argv[i]);
	if (argc > 1)
		return failed;
	failed = run_corpus(argv[0]);
	run_random();
	return failed;
}
