/* Filters of strangers: any text is parsed or refused with a place inside of it; what is parsed reads the same when its chips are put together again, and runs over records. */
#include <string.h>
#include "analysis/filter.h"
#include "base/os.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct filter_error *err, const char *text)
{
	must(err->offset <= strlen(text) && err->length <= strlen(text) - err->offset);
	must(err->text[0]);
}

/* Builds the filter anew from what was understood of it. */
static void check_chips(const struct filter *f, const char *text)
{
	struct buf a CLEANUP(buf_done) = { 0 }, b CLEANUP(buf_done) = { 0 };
	struct filter *g CLEANUP(filter_freep) = NULL;
	struct filter_chip c;
	bool negated = false;

	must(filter_parse("", &g, NULL) == 0);
	for (size_t i = 0; filter_chip(f, i, &c); i++) {
		must(c.offset + c.length <= strlen(text));
		negated = negated || c.negated;
		must(filter_add(g, *c.key ? c.key : NULL, c.value, NULL) == 0);
	}
	filter_put_key(f, &a);
	filter_put_key(g, &b);
	must(negated || strcmp(buf_cstr(&a), buf_cstr(&b)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text CLEANUP(freep) = strndup((const char *)data, size);
	struct filter *f CLEANUP(filter_freep) = NULL, *copy CLEANUP(filter_freep) = NULL;
	struct filter_error err = { 0 };

	if (!text)
		return 0;
	if (filter_parse(text, &f, &err) < 0) {
		check_error(&err, text);
		return 0;
	}
	check_chips(f, text);
	must(filter_copy(f, &copy) == 0);
	must(filter_terms(copy) == filter_terms(f));
	return 0;
}
