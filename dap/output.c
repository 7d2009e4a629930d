/* What the recorded program printed, as output events: all up to where the session stands, each piece once. Going back sends nothing again.
 *
 *     index -> pieces (one for each event that printed) -> [place asked for] -> output events
 *
 * Stops do not wait for it: some of it is done when a stop comes, within STOP_NS, the rest while the session idles (output_tick()). An event that printed says which
 * line did if an inspector tells so in time; the reader of the editor shall not wait for that either. */
#define LOG_AREA "dap.output"
#include "dap/output_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/console.h"
#include "base/log.h"
#include "base/os.h"
#include "dap/places_priv.h"
#include "dap/sources_priv.h"

#define STOP_NS UINT64_C(60000000)
#define IDLE_NS UINT64_C(20000000)
#define IDLE_MS 15
#define INDEX_NS UINT64_C(10000000)
#define INDEX_MS 5
#define PIECES_MAX 4096u          /* of what is not sent yet: of more than that the last ones are shown */
#define BYTES_MAX (256u << 10)    /* the same, in bytes */
#define PIECE_BYTES_MAX (64u << 10) /* of one event */
#define EVENT_BYTES_MAX (16u << 10) /* of small pieces that are sent as one */
#define TEXT_MAX (64u << 10)
#define PLACES_MAX 32u            /* of the last pieces the place is asked for */
#define PATIENCE_NS UINT64_C(500000000)
#define PATIENCE_FIRST_NS UINT64_C(1500000000) /* the child has to start and to find symbols */
#define PATIENCE_MORE_NS UINT64_C(200000000)   /* after an answer: the next one is near, */
#define PATIENCE_MAX_NS UINT64_C(3000000000)   /* but not for ever */
#define MISSES_MAX 3u
#define ORIGINS_IDLE_MS 10000 /* so long nothing was printed: the child, a replay of its own, is not kept */

struct piece {
	uint64_t event, bytes;
	uint32_t thread;
	bool asked, answered;
	json_t *place; /* owned: members source, line, column of the output event; NULL = not known */
};

struct dap_output {
	enum { OF_PROCESS, OF_ALL, OF_NONE } which;
	uint64_t wanted; /* what was printed up to this event shall be sent */
	uint64_t seen;   /* events that pieces were made of */
	struct piece piece[PIECES_MAX];
	size_t first, n; /* a ring */
	uint64_t bytes, left_out;
	struct output_rest rest[2];
	struct origins *origins;
	bool no_origins, index_failed;
	unsigned misses;
	uint64_t asked_ns, patience_until; /* 0: nothing is asked */
	bool answered_once;
};

int output_new(struct dap_output **ret)
{
	*ret = os_calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static struct piece *piece_at(struct dap_output *o, size_t i)
{
	return &o->piece[(o->first + i) % PIECES_MAX];
}

static void drop_first(struct dap_output *o)
{
	struct piece *p = piece_at(o, 0);

	if (p->asked && !p->answered && o->origins)
		origins_cancel(o->origins, p->event);
	o->bytes -= p->bytes;
	jsonx_unrefp(&p->place);
	*p = (struct piece){ 0 };
	o->first = (o->first + 1) % PIECES_MAX;
	o->n--;
}

static void end_origins(struct dap_output *o)
{
	origins_free(o->origins);
	o->origins = NULL;
	o->no_origins = true;
	o->patience_until = 0;
}

void output_free(struct dap_output *o)
{
	if (!o)
		return;
	end_origins(o);
	while (o->n)
		drop_first(o);
	free(o);
}

/* --- which process --- */

static int take_program(struct dap *d, const struct manifest *m)
{
	for (uint64_t i = 0; i < m->processes && !d->program; i++) {
		if (m->process[i].pid != d->pid || !m->process[i].exe)
			continue;
		d->program = os_strdup(m->process[i].exe);
		if (!d->program)
			return -ENOMEM;
	}
	return 0;
}

int output_setup(struct dap *d)
{
	struct dap_output *o = d->output;
	const char *which = json_string_value(json_object_get(d->launch, "output"));
	struct recorded *rec;
	int r;

	o->which = which && strcmp(which, "all") == 0 ? OF_ALL : which && strcmp(which, "none") == 0 ? OF_NONE : OF_PROCESS;
	if (!d->recording) {
		o->which = OF_NONE;
		return 0;
	}
	r = recorded_get(d, &rec);
	if (r < 0) {
		/* what the server replays can be debugged all the same */
		log_debug("no output: %s", d->ei.text);
		d->ei = (struct errinfo){ 0 };
		o->which = OF_NONE;
		return 0;
	}
	return take_program(d, store_reader_manifest(rec->reader));
}

/* --- pieces --- */

static void add_piece(struct dap_output *o, uint64_t event, const struct evindex_record *rec)
{
	uint64_t bytes = rec->result > 0 ? MIN((uint64_t)rec->result, (uint64_t)PIECE_BYTES_MAX) : 0;

	if (!bytes)
		return;
	while (o->n == PIECES_MAX || (o->n && o->bytes + bytes > BYTES_MAX)) {
		o->left_out += piece_at(o, 0)->bytes;
		drop_first(o);
	}
	*piece_at(o, o->n++) = (struct piece){ .event = event, .bytes = bytes, .thread = rec->thread };
	o->bytes += bytes;
}

/* Pieces of what the index has by then. */
static int gather(struct dap *d, uint64_t deadline_ns, struct errinfo *ei)
{
	struct evindex_view v CLEANUP(evindex_release) = { 0 };
	struct dap_output *o = d->output;
	struct recorded *rec;
	int r = recorded_get(d, &rec);

	if (r >= 0)
		r = recorded_extend(rec, o->wanted, deadline_ns, ei);
	if (r < 0)
		return r;
	evindex_view(rec->evindex, &v);
	for (; o->seen < MIN(o->wanted, v.n); o->seen++) {
		const struct evindex_record *at = &v.record[o->seen];

		if ((at->flags & (EVENT_F_STDOUT | EVENT_F_STDERR)) && (o->which == OF_ALL || recorded_ours(d, &v, at->thread)))
			add_piece(o, o->seen + 1, at);
	}
	if (rec->complete && o->wanted > v.n)
		o->wanted = o->seen;
	return 0;
}

/* --- places --- */

/* Members of the output event: new reference, NULL when there is no source (or no memory). */
static json_t *place_of(struct dap *d, const json_t *frame)
{
	const char *file = frame ? json_string_value(json_object_get(frame, "file")) : NULL;
	/* the inspector tells names as they were recorded */
	char *mapped CLEANUP(freep) = file ? path_map_apply(&d->sources->map, file) : NULL;

	if (!file)
		return NULL;
	return json_pack("{so sI}", "source", sources_of(d, file, mapped ? mapped : file), "line",
			 (json_int_t)sources_line_out(d, json_integer_value(json_object_get(frame, "line"))));
}

static void take_answer(void *ctx, uint64_t event, const json_t *frames)
{
	struct dap *d = ctx;
	struct dap_output *o = d->output;

	o->misses = 0;
	o->answered_once = true;
	if (o->patience_until)
		o->patience_until = MAX(o->patience_until, MIN(dap_now_ns() + PATIENCE_MORE_NS, o->asked_ns + PATIENCE_MAX_NS));
	for (size_t i = 0; i < o->n; i++) {
		struct piece *p = piece_at(o, i);

		if (p->event != event || p->answered)
			continue;
		p->answered = true;
		p->place = place_of(d, origins_choose(frames, d->program));
	}
}

static void ask_places(struct dap *d)
{
	struct dap_output *o = d->output;
	size_t from = o->n > PLACES_MAX ? o->n - PLACES_MAX : 0;
	bool fresh = false;
	int r = 0;

	if (o->no_origins || !o->n)
		return;
	if (!o->origins)
		r = origins_new(d, &o->origins);
	for (size_t i = from; i < o->n && r >= 0; i++) {
		struct piece *p = piece_at(o, i);

		if (p->asked)
			continue;
		r = origins_ask(o->origins, p->event, p->thread);
		p->asked = fresh = r >= 0;
	}
	if (fresh && !o->patience_until) {
		o->asked_ns = dap_now_ns();
		o->patience_until = o->asked_ns + (o->answered_once ? PATIENCE_NS : PATIENCE_FIRST_NS);
	}
	if (r < 0) {
		log_debug("no places of output: %s", err_str(r));
		end_origins(o);
	}
}

/* May the first piece be sent, as far as its place is concerned? */
static bool is_ready(struct dap_output *o)
{
	const struct piece *p = piece_at(o, 0);

	return !o->origins || !p->asked || p->answered;
}

/* What was asked and has not been answered is not waited for any more. The child goes on from where it is when it is asked again, so it may be faster the next time. */
static void give_up(struct dap_output *o)
{
	bool missed = false;

	for (size_t i = 0; i < o->n; i++) {
		struct piece *p = piece_at(o, i);

		if (!p->asked || p->answered)
			continue;
		origins_cancel(o->origins, p->event);
		p->answered = missed = true;
	}
	o->patience_until = 0;
	if (missed && ++o->misses == MISSES_MAX)
		end_origins(o);
}

static void take_places(struct dap *d)
{
	struct dap_output *o = d->output;

	if (!o->origins)
		return;
	if (origins_read(o->origins, take_answer, d) < 0) {
		log_debug("the inspector has ended");
		end_origins(o);
	} else if (o->patience_until && dap_now_ns() >= o->patience_until) {
		give_up(o);
	}
}

/* --- sending --- */

static void send_event(struct dap *d, bool err, json_t *text, const json_t *place)
{
	json_t *body = json_pack("{ss so}", "category", err ? "stderr" : "stdout", "output", text);

	if (body && place && json_is_object(json_object_get(place, "source")) && json_object_update(body, (json_t *)(uintptr_t)place) < 0)
		jsonx_unrefp(&body);
	dap_event(d, "output", body);
}

/* Reads a piece behind what b has. 1: it is of the other stream, or has a place of its own: b stays. */
static int read_piece(struct recorded *rec, const struct piece *p, unsigned *streams, struct buf *b, struct errinfo *ei)
{
	struct buf got CLEANUP(buf_done) = { 0 };
	struct console_chunk c;
	int r = console_read(rec->reader, p->event, 0, PIECE_BYTES_MAX, &c, &got, ei);

	if (r < 0)
		return r;
	if (*streams && *streams != (unsigned)c.stream)
		return 1;
	*streams = c.stream;
	buf_put(b, got.data, got.len);
	if (c.bytes > got.len)
		buf_printf(b, "\n[%" PRIu64 " bytes more are not shown]\n", c.bytes - got.len);
	return buf_error(b);
}

/* The first piece, and those behind it that go into the same event. */
static int send_first(struct dap *d, struct recorded *rec, struct errinfo *ei)
{
	struct dap_output *o = d->output;
	json_t *place CLEANUP(jsonx_unrefp) = TAKE(piece_at(o, 0)->place);
	struct buf b CLEANUP(buf_done) = { 0 };
	unsigned streams = 0;
	int r;

	do {
		r = read_piece(rec, piece_at(o, 0), &streams, &b, ei);
		if (r != 0)
			break;
		drop_first(o);
	} while (o->n && !place && !piece_at(o, 0)->place && is_ready(o) && b.len < EVENT_BYTES_MAX);
	if (r < 0)
		drop_first(o);
	if (b.len)
		send_event(d, streams == CONSOLE_ERR, output_string(&o->rest[streams == CONSOLE_ERR], b.data, b.len, false), place);
	return MIN(r, 0);
}

/* A character that was cut off by the end of the program. */
static void send_rests(struct dap *d)
{
	struct dap_output *o = d->output;

	for (int i = 0; i < 2; i++)
		if (o->rest[i].n)
			send_event(d, i, output_string(&o->rest[i], "", 0, true), NULL);
}

static int send_ready(struct dap *d, uint64_t deadline_ns, struct errinfo *ei)
{
	struct dap_output *o = d->output;
	struct recorded *rec;
	int r = recorded_get(d, &rec);

	if (r >= 0 && o->left_out && o->n && is_ready(o)) {
		dap_say(d, "console", "[%" PRIu64 " bytes of the program's output before this are not shown]\n", o->left_out);
		o->left_out = 0;
	}
	while (r >= 0 && o->n && is_ready(o) && os_mono_ns() < deadline_ns)
		r = send_first(d, rec, ei);
	if (!o->n)
		o->patience_until = 0;
	if (r >= 0 && !o->n && run_where(d)->at_end)
		send_rests(d);
	return r;
}

static void work(struct dap *d, uint64_t ns)
{
	uint64_t deadline = os_mono_ns() + ns;
	struct errinfo ei = { 0 };
	int r = gather(d, deadline, &ei);

	if (r >= 0) {
		ask_places(d);
		take_places(d);
		r = send_ready(d, deadline, &ei);
	}
	if (r < 0) {
		dap_say(d, "console", "hermit-dap: the program's output cannot be shown: %s\n", ei.text[0] ? ei.text : err_str(r));
		d->output->which = OF_NONE;
	}
}

void output_upto(struct dap *d, uint64_t event)
{
	struct dap_output *o = d->output;

	if (o->which == OF_NONE || event <= o->wanted)
		return;
	o->wanted = event;
	work(d, STOP_NS);
}

static bool has_work(const struct dap *d)
{
	const struct dap_output *o = d->output;

	return o->which != OF_NONE && (o->n || o->seen < o->wanted);
}

/* The index of all events is made while nothing else is to be done, so that a timeline comes at once. */
static bool can_index(const struct dap *d)
{
	const struct recorded *rec = d->places->recorded;

	return rec && !rec->complete && !d->output->index_failed;
}

int output_timeout(const struct dap *d)
{
	if (d->state < DAP_STOPPED || d->state >= DAP_ENDED)
		return -1;
	return has_work(d) ? IDLE_MS : can_index(d) ? INDEX_MS : d->output->origins ? ORIGINS_IDLE_MS : -1;
}

void output_tick(struct dap *d)
{
	struct dap_output *o = d->output;
	struct errinfo ei = { 0 };

	if (d->state < DAP_STOPPED || d->state >= DAP_ENDED)
		return;
	if (has_work(d)) {
		work(d, IDLE_NS);
	} else if (can_index(d)) {
		struct recorded *rec = d->places->recorded;

		o->index_failed = recorded_extend(rec, UINT64_MAX, os_mono_ns() + INDEX_NS, &ei) < 0;
		if (rec->complete)
			evindex_trim(rec->evindex);
	} else if (o->origins && dap_now_ns() - o->asked_ns >= ORIGINS_IDLE_MS * UINT64_C(1000000)) {
		origins_free(o->origins);
		o->origins = NULL;
		o->answered_once = false;
	}
}

/* --- all of it, for people --- */

/* The last bytes printed up to there: pieces of events backwards, until there are enough. */
static uint64_t begin_of_text(const struct dap *d, const struct evindex_view *v, uint64_t upto)
{
	uint64_t bytes = 0, first = upto + 1;

	for (uint64_t n = upto; n > 0 && bytes < TEXT_MAX; n--) {
		const struct evindex_record *at = &v->record[n - 1];

		if (!(at->flags & (EVENT_F_STDOUT | EVENT_F_STDERR)) || at->result <= 0 || !recorded_ours(d, v, at->thread))
			continue;
		bytes += (uint64_t)at->result;
		first = n;
	}
	return first;
}

int output_text(struct dap *d, struct buf *out)
{
	struct evindex_view v CLEANUP(evindex_release) = { 0 };
	uint64_t upto = run_where(d)->event;
	struct recorded *rec;
	int r;

	if (!d->recording)
		return mi_console(d->mi, out, &d->ei, "monitor hermit output");
	r = recorded_get(d, &rec);
	if (r >= 0)
		r = recorded_index(d, rec, upto);
	if (r < 0)
		return r;
	evindex_view(rec->evindex, &v);
	upto = MIN(upto, v.n);
	for (uint64_t n = begin_of_text(d, &v, upto); n <= upto && r >= 0; n++) {
		const struct evindex_record *at = &v.record[n - 1];
		unsigned streams = 0;

		if ((at->flags & (EVENT_F_STDOUT | EVENT_F_STDERR)) && at->result > 0 && recorded_ours(d, &v, at->thread))
			r = read_piece(rec, &(struct piece){ .event = n }, &streams, out, &d->ei);
	}
	return r;
}
