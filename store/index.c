/* See index_priv.h. */
#include "store/index_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "base/crc32c.h"
#include "base/os.h"
#include "store/limits_priv.h"
#include "store/store_priv.h"

static int check_head(const struct index_head *h, const struct store_id *id, size_t len)
{
	uint8_t want[16];

	store_id_bytes(id, want);
	if (memcmp(h->magic, INDEX_MAGIC, sizeof(h->magic)) != 0 || h->major != FORMAT_MAJOR ||
	    h->crc != crc32c(0, h, offsetof(struct index_head, crc)) || memcmp(h->id, want, sizeof(want)) != 0)
		return -EINVAL;
	if (h->n_events > FRAMES_MAX || h->n_data > FRAMES_MAX ||
	    len - sizeof(*h) != (h->n_events + h->n_data) * sizeof(struct index_entry))
		return -EINVAL;
	return 0;
}

int index_load(const char *dir, const struct store_id *id, struct stream *events, struct stream *data)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" NAME_INDEX, dir);
	char *text CLEANUP(freep) = NULL;
	const struct index_entry *entries;
	struct index_head h;
	size_t len;
	int r = path ? os_read_regular(path, sizeof(h) + 2ull * FRAMES_MAX * sizeof(*entries), &text, &len) : -ENOMEM;

	if (r < 0)
		return r;
	if (len < sizeof(h))
		return -EINVAL;
	memcpy(&h, text, sizeof(h));
	r = check_head(&h, id, len);
	if (r < 0)
		return r;
	/* the head has a multiple of 8 bytes and malloc aligns: entries can be used where they are */
	entries = (const struct index_entry *)(const void *)(text + sizeof(h));
	if (h.entries_crc != crc32c(0, entries, len - sizeof(h)))
		return -EINVAL;
	r = stream_use_index(events, entries, h.n_events);
	if (r == 0)
		r = stream_use_index(data, entries + h.n_events, h.n_data);
	return r;
}

int index_save(const char *dir, const char *name, const struct store_id *id, const struct stream *events,
	       const struct stream *data)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", dir, name);
	int fd CLEANUP(closep) = -1;
	struct index_head h = { .major = FORMAT_MAJOR, .minor = FORMAT_MINOR, .n_events = events->n, .n_data = data->n,
				.events_len = events->scan_off, .data_len = data->scan_off };
	int r = path ? os_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -ENOMEM;

	if (r < 0)
		return r;
	fd = r;
	memcpy(h.magic, INDEX_MAGIC, sizeof(h.magic));
	store_id_bytes(id, h.id);
	h.entries_crc = crc32c(0, events->entries, events->n * sizeof(struct index_entry));
	h.entries_crc = crc32c(h.entries_crc, data->entries, data->n * sizeof(struct index_entry));
	h.crc = crc32c(0, &h, offsetof(struct index_head, crc));
	r = os_write_full(fd, &h, sizeof(h));
	if (r == 0 && events->n)
		r = os_write_full(fd, events->entries, events->n * sizeof(struct index_entry));
	if (r == 0 && data->n)
		r = os_write_full(fd, data->entries, data->n * sizeof(struct index_entry));
	return r < 0 ? r : os_fsync(fd);
}
