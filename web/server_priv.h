/* The server inside: listeners, connections, requests. A request lives in the thread of its connection; what threads share is in struct web. */
#ifndef WEB_SERVER_PRIV_H
#define WEB_SERVER_PRIV_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include "web/http_priv.h"
#include "web/limits_priv.h"
#include "web/route_priv.h"
#include "web/url_priv.h"
#include "web/web.h"

/* One address that is listened on. */
struct listener {
	struct web *web;
	struct MHD_Daemon *mhd; /* NULL = stopped */
	int fd;                 /* of MHD, ours again after it is quiesced; -1 */
	bool local;             /* a unix socket: who connects is known */
	char *url;              /* "http://127.0.0.1:7777", "unix:PATH" */
	char *path;             /* of the unix socket, removed at the end; NULL */
	bool loopback;
};

/* A client. A thread looks from time to time who has had long enough (conn.c). */
struct conn {
	struct conn *next, *prev;
	struct listener *listener;
	int fd;                        /* of MHD, valid while the connection is in the list */
	_Atomic uint64_t deadline_ns;  /* 0 = none */
	bool excess;                   /* one too many: is told so */
};

struct conns {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct conn *first;
	_Atomic size_t n;
	bool stop;
	pthread_t watch;
	bool watching;
};

/* What /metrics tells of the server. */
struct web_counters {
	_Atomic uint64_t requests[6]; /* by the first digit of the status */
	_Atomic uint64_t bytes_out, bytes_in, active, streams, refused, timeouts;
	_Atomic uint64_t time_ns;     /* of all requests (until the reply begins) */
	_Atomic uint64_t bucket[8];   /* requests by duration */
};

struct web_readers; /* readers.c */
struct web_cookies; /* auth.c */
struct web_exports; /* api_transfer.c */
struct web_pages;   /* api_list.c */

struct web {
	struct daemon *daemon;
	const struct daemon_config *cfg;
	struct listener listener[WEB_LISTENERS_MAX];
	size_t n_listeners;
	const char **hosts;   /* allowed in Host: NULL-terminated, strings of cfg or constants */
	char *token;
	char cookie_name[32];
	char boot[17];        /* random, of this run: prefix of request ids, part of event ids */
	_Atomic uint64_t next_request;
	struct conns conns;
	struct web_counters counters;
	struct web_readers *readers;
	struct web_cookies *cookies;
	struct web_exports *exports;
	struct web_pages *pages;
	struct digests *digests;          /* analysis/digest.h */
	struct searches *searches;        /* analysis/search.h */
	struct web_diffs *diffs;          /* diffs.c */
	struct answers *answers;          /* web/answers_priv.h */
	struct coverage_cache *coverage;  /* analysis/coverage.h */
	const char *ui_dir;   /* files of the page from there (development), NULL = those built in */
	_Atomic bool stopping;
	pthread_mutex_t edit; /* held from the look at If-Match to the change of a recording */
};

/* Why a request is refused before its handler is asked: answered when its body has been read (or is too long for that). */
struct refusal {
	unsigned status; /* 0 = none */
	const char *code;
	char detail[160];
	char header[32], value[64]; /* one more header, or "" */
};

struct stream; /* reply.c */

struct web_request {
	struct web *web;
	struct conn *conn;
	struct MHD_Connection *mhd;
	struct url url;
	int url_error;
	const struct route *route; /* NULL: a file of the page, or refused */
	unsigned method;
	bool head, begun, replied, by_cookie;
	uint64_t start_ns, body_len, body_announced;
	char id[72];
	struct refusal refusal;
	struct buf body;
	int body_fd;
	int body_error;
	json_t *json;
	struct store *store;
	struct errinfo ei;
	int error;                 /* a helper failed without having replied */
	struct store_reader *reader[WEB_READERS_PER_REQUEST];
	struct stream *stream;
	char etag[WEB_HEADER_BYTES]; /* with its quotes, "" = none */
	int form; /* which of those a resource has was chosen by web_accept() */
	bool immutable, no_cache;
	size_t n_headers;
	struct {
		char name[40];
		char value[WEB_HEADER_BYTES];
	} header[WEB_HEADERS_MAX];
	unsigned status;
	uint64_t reply_bytes;
};

/* conn.c */
int conns_init(struct conns *cs, struct web *w) MUST_CHECK;
void conns_done(struct conns *cs); /* ends the thread */
/* -ENOMEM */
int conn_new(struct listener *l, int fd, struct conn **ret) MUST_CHECK;
void conn_free(struct conn *c);
/* Deadline so far from now; 0 = none. */
void conn_deadline(struct conn *c, uint64_t ns);
/* Cuts all connections. */
void conns_cut(struct conns *cs);

/* request.c */
struct web_request *request_new(struct web *w, struct MHD_Connection *c, struct conn *conn, const char *target);
void request_free(struct web_request *q);
/* Finds the route and checks who asks and how (guard.c); sets q->refusal, or nothing. */
void request_begin(struct web_request *q, const char *method);
/* Takes a piece of the body. */
void request_body(struct web_request *q, const void *p, size_t n);
/* Runs the handler and sees to it that something has been replied. */
int request_run(struct web_request *q);
int request_open_upload(struct web_request *q) MUST_CHECK;

/* guard.c: who may. */
void guard_check(struct web_request *q);
void refuse(struct web_request *q, unsigned status, const char *code, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* auth.c */
int auth_init(struct web *w, struct errinfo *ei) MUST_CHECK;
void auth_done(struct web *w);
/* Does the request show the token, or a cookie that is good? */
bool auth_ok(struct web_request *q);

/* reply.c */
int reply_response(struct web_request *q, unsigned status, struct MHD_Response *r, uint64_t bytes) MUST_CHECK;
void stream_request_gone(struct web_request *q);
/* The connection has been closed by the other side. sse: also when it only says nothing more. */
bool conn_gone(const struct conn *c, bool sse);

/* problem.c */
/* A negative result of a handler as a problem. */
void problem_error(struct web_request *q, int r);

/* readers.c */
int readers_new(struct web *w, struct web_readers **ret) MUST_CHECK;
void readers_free(struct web_readers *p);
/* Closes what nobody has used for a while; all: whatever is not in use. */
void readers_trim(struct web_readers *p, bool all);
/* Nobody gets these readers any more: the recording has gone, or is written anew. */
void readers_forget(struct web_readers *p, const struct store_id *id);
/* The request's readers are used for long from now on. False: too many are. */
bool readers_long(struct web_request *q);
/* Gives back all that the request has. */
void readers_put_all(struct web_request *q);
/* Stores for requests. */
int readers_store_get(struct web_readers *p, struct store **ret, struct errinfo *ei) MUST_CHECK;
void readers_store_put(struct web_readers *p, struct store *s);

/* api_list.c */
int pages_new(struct web_pages **ret) MUST_CHECK;
void pages_free(struct web_pages *p);

/* assets.c */
/* Answers with the file of the page of that path; ERR_NOT_FOUND: there is none. */
int assets_reply(struct web_request *q) MUST_CHECK;
bool assets_have(struct web_request *q);

/* metrics.c */
void counters_request(struct web *w, unsigned status, uint64_t duration_ns);
void counters_print(struct web *w, struct buf *out);

#endif
