/* Label and keep mark of a recording, and what its last verification found.
 *
 * They change while recorder, sealer or verifier hold the recording's lock and its manifest, for minutes or days. So they are files of their own
 * beside the manifest, each replaced atomically inside of the open directory, which may be moved meanwhile (tmp/ID -> ID).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/os.h"
#include "store/annotate_priv.h"
#include "store/limits_priv.h"
#include "store/maintain.h"
#include "store/store_priv.h"

bool store_label_valid(const char *label)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_string(label); /* NULL: not UTF-8 */
	size_t n = strlen(label);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)label[i] < 0x20 || label[i] == 0x7f || label[i] == '/')
			return false;
	return j && n > 0 && n <= LABEL_BYTES_MAX;
}

int annotation_load(const char *dir, const char *name, size_t max, json_t **ret, struct errinfo *ei)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", dir, name);
	struct errinfo why = { 0 };
	int r = path ? jsonx_load_file(path, max, ret, &why) : -ENOMEM;

	/* that there is none is no news */
	if (r < 0 && r != -ENOENT && ei)
		*ei = why;
	return r;
}

int annotation_save(const char *dir, const char *name, const json_t *j, size_t max)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", dir, name);
	char *text CLEANUP(freep) = NULL;
	size_t len;
	int r = path ? jsonx_dump(j, JSON_COMPACT, &text, &len) : -ENOMEM;

	if (r == 0 && len > max)
		r = ERR_LIMIT;
	return r == 0 ? os_write_file_atomic(path, text, len, 0600) : r;
}

static int set_text(char **field, const char *text)
{
	char *copy = text ? os_strdup(text) : NULL;

	if (text && !copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

int annotations_apply(const char *dir, struct manifest *m)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	const char *text = NULL;
	int r;

	if (m->options && jsonx_get_str(m->options, "source", &text) == 0 && set_text(&m->source, text) < 0)
		return -ENOMEM;
	r = annotation_load(dir, NAME_ANNOTATIONS, ANNOTATION_BYTES_MAX, &j, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (jsonx_get_bool(j, "keep", &m->keep) < 0)
		m->keep = false;
	if (jsonx_get_str(j, "source", &text) == 0 && set_text(&m->source, text) < 0)
		return -ENOMEM;
	r = jsonx_get_str(j, "label", &text);
	if (r == ERR_CORRUPT || !json_object_get(j, "label"))
		return 0;
	return set_text(&m->label, r == 0 && store_label_valid(text) ? text : NULL);
}

int annotations_begin(const char *dir, const char *source)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_pack("{s:s}", "source", source);

	return j ? annotation_save(dir, NAME_ANNOTATIONS, j, ANNOTATION_BYTES_MAX) : -ENOMEM;
}

int verified_load(const char *dir, uint64_t *ret_when_ns, char **ret_error)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	const char *error = NULL;
	uint64_t when;
	int r = annotation_load(dir, NAME_VERIFIED, ANNOTATION_BYTES_MAX, &j, NULL);

	if (r == 0)
		r = jsonx_get_u64(j, "when_ns", &when);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	if (jsonx_get_str(j, "error", &error) == 0) {
		*ret_error = os_strdup(error);
		if (!*ret_error)
			return -ENOMEM;
	} else {
		*ret_error = NULL;
	}
	*ret_when_ns = when;
	return 0;
}

static int open_dir(struct store *s, const struct store_id *id)
{
	for (int tries = 0;; tries++) {
		char *dir CLEANUP(freep) = NULL;
		int r = store_path(s, id, &dir);

		if (r == 0)
			r = os_open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		if (r == -ENOENT && tries < 5) /* moved meanwhile */
			continue;
		return r == -ENOENT ? ERR_NOT_FOUND : r;
	}
}

int recording_in_dir(struct store *s, const struct store_id *id, bool lock, recording_dir_fn fn, void *ctx)
{
	int fd CLEANUP(closep) = open_dir(s, id);
	char *dir CLEANUP(freep) = fd < 0 ? NULL : os_asprintf("/proc/self/fd/%d", fd);
	char *still CLEANUP(freep) = NULL;
	int r = fd < 0 ? fd : !dir ? -ENOMEM : lock ? fs_lock(fd, true, true) : 0;

	if (r >= 0)
		r = fn(ctx, dir);
	/* nobody reaches the directory any more: it is being removed */
	if (r >= 0 && lock && store_path(s, id, &still) == ERR_NOT_FOUND)
		r = ERR_NOT_FOUND;
	return r;
}

struct wanted {
	const char *label;
	int keep;
};

static int set_annotations(void *ctx, const char *dir)
{
	const struct wanted *w = ctx;
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int r = annotation_load(dir, NAME_ANNOTATIONS, ANNOTATION_BYTES_MAX, &j, NULL);

	if (r < 0 || !json_is_object(j)) {
		jsonx_unrefp(&j);
		j = json_object();
	}
	if (!j || r == -ENOMEM)
		return -ENOMEM;
	r = w->keep < 0 ? 0 : jsonx_set_bool(j, "keep", w->keep);
	if (r == 0 && w->label)
		r = jsonx_set_new(j, "label", *w->label ? json_string(w->label) : json_null());
	return r == 0 ? annotation_save(dir, NAME_ANNOTATIONS, j, ANNOTATION_BYTES_MAX) : r;
}

int store_annotate(struct store *s, const struct store_id *id, const char *label, int keep, struct errinfo *ei)
{
	struct wanted w = { label, keep };
	int r;

	if (label && *label && !store_label_valid(label))
		return errinfo_set(ei, -EINVAL, "a label has 1 to %d bytes, neither '/' nor control characters", LABEL_BYTES_MAX);
	r = recording_in_dir(s, id, true, set_annotations, &w);
	return r < 0 ? errinfo_set_r(ei, r, "annotate recording %s", id->hex) : 0;
}

static int save_verified(void *ctx, const char *dir)
{
	return annotation_save(dir, NAME_VERIFIED, ctx, ANNOTATION_BYTES_MAX);
}

int store_note_verified(struct store *s, const struct store_id *id, const char *error, struct errinfo *ei)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object();
	int r = j ? jsonx_set_u64(j, "when_ns", os_wall_ns()) : -ENOMEM;

	if (r == 0)
		r = jsonx_set_new(j, "error", jsonx_text(error));
	if (r == 0)
		r = recording_in_dir(s, id, false, save_verified, j);
	return r < 0 ? errinfo_set_r(ei, r, "note the verification of recording %s", id->hex) : 0;
}
