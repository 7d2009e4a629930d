/* The initial stack of a program, put together from an EXEC event: argc, argv, environment, auxiliary vector, strings. */
#include "replayer/files_index_priv.h"

#include <errno.h>
#include <linux/auxvec.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

/* Kernels allow 6 MiB of arguments and environment. */
#define STACK_MAX (8u << 20)

static uint64_t word(const struct files_image *im, size_t at)
{
	uint64_t v = 0;

	if (im->len >= sizeof(v) && at <= im->len - sizeof(v))
		memcpy(&v, im->stack + at, sizeof(v));
	return v;
}

static int stack_pointer(struct store_reader *r, const struct event *ev, uint64_t *ret)
{
	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];
		struct user_regs_struct regs;

		if (e->kind != EFFECT_REGS || e->len != sizeof(regs))
			continue;
		*ret = 0;
		if (store_reader_data(r, e, 0, &regs, sizeof(regs), NULL) == 0)
			*ret = regs.rsp;
		return *ret ? 0 : ERR_CORRUPT;
	}
	return ERR_NOT_FOUND;
}

/* Memory that the event writes from sp on, without gaps from the first piece to the last; zero in between. */
static int copy_stack(struct store_reader *r, const struct event *ev, struct files_image *im)
{
	uint64_t end = im->sp;

	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		if (e->kind == EFFECT_MEM && e->addr + e->len > end && e->addr + e->len <= im->sp + STACK_MAX && e->addr < im->sp + STACK_MAX)
			end = e->addr + e->len;
	}
	im->len = end - im->sp;
	im->stack = calloc(1, im->len + 1); /* strings end within it */
	if (!im->stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];
		uint64_t low = MAX(e->addr, im->sp), high = MIN(e->addr + e->len, end);

		if (e->kind != EFFECT_MEM || low >= high)
			continue;
		if (store_reader_data(r, e, low - e->addr, im->stack + (low - im->sp), high - low, NULL) < 0)
			return ERR_CORRUPT;
	}
	return 0;
}

static int find_parts(struct files_image *im)
{
	uint64_t argc = word(im, 0);
	size_t at;

	if (argc > im->len / 8)
		return ERR_CORRUPT;
	im->env = at = (size_t)(argc + 2) * 8;
	for (; at + 8 <= im->len && word(im, at); at += 8)
		im->n_env++;
	im->auxv = at + 8;
	for (at = im->auxv; at + 16 <= im->len && word(im, at) != AT_NULL; at += 16)
		;
	if (at + 16 > im->len)
		return ERR_CORRUPT;
	im->auxv_len = at + 16 - im->auxv;
	return 0;
}

int files_image_load(struct store_reader *r, const struct event *ev, struct files_image *ret)
{
	struct files_image im CLEANUP(files_image_done) = { 0 };
	int rc = stack_pointer(r, ev, &im.sp);

	if (rc >= 0 && im.sp > UINT64_MAX - STACK_MAX)
		rc = ERR_CORRUPT;
	if (rc >= 0)
		rc = copy_stack(r, ev, &im);
	if (rc >= 0)
		rc = find_parts(&im);
	if (rc < 0)
		return rc;
	*ret = im;
	im.stack = NULL;
	return 0;
}

void files_image_done(struct files_image *im)
{
	free(im->stack);
	*im = (struct files_image){ 0 };
}

uint64_t files_image_aux(const struct files_image *im, uint64_t type)
{
	for (size_t at = im->auxv; at < im->auxv + im->auxv_len; at += 16)
		if (word(im, at) == type)
			return word(im, at + 8);
	return 0;
}

const char *files_image_string(const struct files_image *im, uint64_t addr)
{
	if (addr < im->sp || addr - im->sp >= im->len)
		return NULL;
	return (const char *)im->stack + (addr - im->sp);
}
