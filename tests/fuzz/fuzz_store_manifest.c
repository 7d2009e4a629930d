/* manifest.json from the fuzzer's bytes: what is accepted must be the same after writing and reading it again. */
#include <stdlib.h>
#include "base/json.h"
#include "store/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *j = NULL, *once = NULL, *twice = NULL;
	struct manifest m, again;
	struct errinfo ei = { 0 };

	if (jsonx_parse((const char *)data, size, &j, &ei) < 0)
		return 0;
	if (manifest_from_json(j, &m, &ei) == 0) {
		if (manifest_to_json(&m, &once) < 0 || manifest_from_json(once, &again, &ei) < 0 || manifest_to_json(&again, &twice) < 0 ||
		    !json_equal(once, twice))
			abort();
		manifest_done(&m);
		manifest_done(&again);
	}
	json_decref(j);
	json_decref(once);
	json_decref(twice);
	return 0;
}
