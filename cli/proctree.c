/* See proctree.h. Children hang in lists by index; the walk goes down at most TREE_DEPTH_MAX levels and visits each process
 * once, whatever the parent numbers say. */
#include "cli/proctree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "cli/text.h"

#define TREE_DEPTH_MAX 64
#define NONE SIZE_MAX

struct node {
	uint32_t thread;
	size_t index;           /* in the manifest's array; nodes are sorted by thread for lookups */
};

struct tree {
	struct buf *out;
	const struct manifest_process *p;
	size_t n;
	struct node *by_thread;
	size_t *first, *last, *next; /* children of a process, by index */
	bool *done;
	bool lines;
};

static int compare_nodes(const void *pa, const void *pb)
{
	const struct node *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static size_t find(const struct tree *t, uint32_t thread)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->by_thread[mid].thread < thread)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->n && t->by_thread[lo].thread == thread ? t->by_thread[lo].index : NONE;
}

static void link_children(struct tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->first[i] = t->last[i] = t->next[i] = NONE;
	for (size_t i = 0; i < t->n; i++) {
		size_t parent = t->p[i].parent ? find(t, t->p[i].parent) : NONE;

		if (parent == NONE || parent == i)
			continue;
		if (t->first[parent] == NONE)
			t->first[parent] = i;
		else
			t->next[t->last[parent]] = i;
		t->last[parent] = i;
	}
}

static void put_process(struct tree *t, const struct manifest_process *p)
{
	struct buf *out = t->out;

	buf_printf(out, "%d ", p->pid);
	text_safe(out, p->command ? p->command : p->exe ? p->exe : "?");
	buf_printf(out, "  (");
	if (p->status == -1)
		buf_printf(out, "still running");
	else
		text_status(out, p->status);
	if (p->threads > 1)
		buf_printf(out, ", %u threads", p->threads);
	buf_printf(out, ", events %" PRIu64 "-%" PRIu64 ")\n", p->first_event, p->last_event);
}

/* prefix: what stands before the children's own branch; it grows by one level and shrinks again. */
static void put_subtree(struct tree *t, size_t i, struct buf *prefix, const char *branch, unsigned depth)
{
	size_t length = prefix->len;

	t->done[i] = true;
	buf_printf(t->out, "  %s%s", buf_cstr(prefix), branch);
	put_process(t, &t->p[i]);
	if (*branch)
		buf_printf(prefix, "%s", t->next[i] == NONE ? "   " : t->lines ? "│  " : "|  ");
	for (size_t c = t->first[i]; c != NONE; c = t->next[c]) {
		bool end = t->next[c] == NONE;

		if (t->done[c])
			continue;
		if (depth == TREE_DEPTH_MAX) {
			/* it will be a root below */
			buf_printf(t->out, "  %s... %d\n", buf_cstr(prefix), t->p[c].pid);
			continue;
		}
		put_subtree(t, c, prefix, t->lines ? end ? "└─ " : "├─ " : end ? "`- " : "|- ", depth + 1);
	}
	prefix->len = length;
}

static int put_tree(struct tree *t)
{
	struct buf prefix CLEANUP(buf_done) = { 0 };

	for (size_t i = 0; i < t->n; i++)
		t->by_thread[i] = (struct node){ t->p[i].thread, i };
	qsort(t->by_thread, t->n, sizeof(*t->by_thread), compare_nodes);
	link_children(t);
	for (size_t i = 0; i < t->n; i++)
		if (!t->p[i].parent || find(t, t->p[i].parent) == NONE)
			put_subtree(t, i, &prefix, "", 0);
	/* what is left lies too deep or hangs in a cycle */
	for (size_t i = 0; i < t->n; i++)
		if (!t->done[i])
			put_subtree(t, i, &prefix, "", 0);
	return buf_error(t->out) ? buf_error(t->out) : buf_error(&prefix);
}

int proctree_put(struct buf *out, const struct manifest_process *p, size_t n, bool lines)
{
	struct tree t = {
		.out = out, .p = p, .n = n, .lines = lines,
		.by_thread = os_calloc(n, sizeof(*t.by_thread)), .done = os_calloc(n, sizeof(*t.done)),
		.first = os_calloc(n, sizeof(*t.first)), .last = os_calloc(n, sizeof(*t.last)),
		.next = os_calloc(n, sizeof(*t.next)),
	};
	int r = -ENOMEM;

	if (!n)
		r = 0;
	else if (t.by_thread && t.done && t.first && t.last && t.next)
		r = put_tree(&t);
	free(t.by_thread);
	free(t.done);
	free(t.first);
	free(t.last);
	free(t.next);
	return r;
}
