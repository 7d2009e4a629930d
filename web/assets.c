/* The files of the page (web/ui), built in by tools/ui-embed; while somebody works on them they are read from HERMIT_UI_DIR. */
#include "web/server_priv.h"

#include <errno.h>
#include <string.h>
#include "base/os.h"
#include "web/text_priv.h"

#define DEVELOPMENT_BYTES_MAX (16u << 20)

struct asset {
	const char *path, *type, *etag;
	const unsigned char *data;
	size_t len;
	const unsigned char *gz; /* NULL: not worth it */
	size_t gz_len;
};

#include "web/assets.inc"

static const char *path_of(const struct web_request *q)
{
	return q->url.n_segments == 0 ? "/index.html" : q->url.path;
}

/* What is served is what stands in the table, so no path leads out of it. */
static const struct asset *find(const struct web_request *q)
{
	for (const struct asset *a = assets; a->path; a++) {
		if (strcmp(a->path, path_of(q)) == 0)
			return a;
	}
	return NULL;
}

bool assets_have(struct web_request *q)
{
	return find(q) != NULL;
}

/* The file as it is on the disk now. */
static int reply_from_disk(struct web_request *q, const struct asset *a)
{
	char *path CLEANUP(freep) = os_asprintf("%s%s", q->web->ui_dir, a->path), *text CLEANUP(freep) = NULL;
	struct buf b CLEANUP(buf_done) = { 0 };
	size_t n = 0;
	int r = path ? os_read_file(path, DEVELOPMENT_BYTES_MAX, &text, &n) : -ENOMEM;

	if (r < 0)
		return r;
	buf_put(&b, text, n);
	return web_reply_buf(q, 200, a->type, &b);
}

int assets_reply(struct web_request *q)
{
	const struct asset *a = find(q);
	struct MHD_Response *r;
	bool gz;

	if (!a)
		return ERR_NOT_FOUND;
	if (q->web->ui_dir)
		return reply_from_disk(q, a);
	gz = a->gz && text_accepts_coding(web_header(q, "Accept-Encoding"), "gzip");
	/* names do not change with the content: browsers ask each time, and mostly get 304 */
	q->no_cache = true;
	web_etag(q, false, "%s%s", a->etag, gz ? "-gz" : "");
	web_set_header(q, "Vary", "Accept-Encoding");
	if (web_not_modified(q))
		return web_replied(q);
	if (gz)
		web_set_header(q, "Content-Encoding", "gzip");
	web_set_header(q, "Content-Type", a->type);
	r = MHD_create_response_from_buffer(gz ? a->gz_len : a->len, (void *)(gz ? a->gz : a->data), MHD_RESPMEM_PERSISTENT);
	return reply_response(q, 200, r, gz ? a->gz_len : a->len);
}
