/* Limits of the HTTP server: everything that a client can make us keep or wait for has one. */
#ifndef WEB_LIMITS_PRIV_H
#define WEB_LIMITS_PRIV_H

/* Request line and headers of a request: more is 431. MHD keeps all of a request in one pool; what does not fit in there it answers itself, with a line of
 * HTML, so there is room for more than is taken. */
#define WEB_HEAD_BYTES_MAX (32u << 10)
#define WEB_POOL_BYTES (2 * WEB_HEAD_BYTES_MAX)
/* Segments of a path, parameters of a query (more is 400). */
#define URL_SEGMENTS_MAX 16
#define URL_PAIRS_MAX 64
/* Body of a request that is JSON, and its nesting. */
#define WEB_BODY_MAX (4u << 20)
/* What is read and dropped of a body that is refused, so that the client sees the refusal and not a reset. */
#define WEB_SWALLOW_MAX (8u << 20)
/* Headers that a handler may add to its reply. */
#define WEB_HEADERS_MAX 16
/* Text of a header that we make. */
#define WEB_HEADER_BYTES 512
/* Readers of recordings open at once; a request that has one already may get more (up to twice as many in all), so that nobody waits for himself. */
#define WEB_READERS_MAX 16
/* Readers of answers that are written while the client takes them, or for which much is read: those take none of those above. */
#define WEB_LONG_READERS_MAX 16
#define WEB_READERS_PER_REQUEST 4
#define WEB_READER_IDLE_NS (5ull * 1000000000)
#define WEB_READER_WAIT_MS 20000
/* Stores kept open between requests. */
#define WEB_STORES_MAX 16
/* Unpacked blocks of sealed recordings, for all readers together: in a file, and where that cannot be, in memory. */
#define WEB_BLOCKS_FILE_BYTES (256u << 20)
#define WEB_BLOCKS_BYTES (32u << 20)
/* Sessions of browsers (cookies); the one unused for longest goes when there are more. */
#define WEB_COOKIES_MAX 64
#define WEB_COOKIE_IDLE_NS (24ull * 3600 * 1000000000)
#define WEB_COOKIE_LIFE_NS (7ull * 24 * 3600 * 1000000000)
/* Pages of the list of recordings that are kept as text (of at most some hundred kB each). */
#define WEB_PAGES_MAX 16
/* Exports that are kept as files, and for how long after their last use. */
#define WEB_EXPORTS_MAX 4
#define WEB_EXPORT_IDLE_NS (60ull * 1000000000)

/* How long a client may take: for its request line and headers, for a byte more of idle time, for the body, for taking the reply (and for each
 * piece of a stream). Bodies and replies get a second more for each so many bytes. */
#define WEB_HEAD_NS (15ull * 1000000000)
#define WEB_IDLE_NS (60ull * 1000000000)
#define WEB_BODY_NS (30ull * 1000000000)
#define WEB_REPLY_NS (60ull * 1000000000)
#define WEB_SLOWEST_BYTES (32u << 10)
/* The same to MHD, which counts since the last byte. */
#define WEB_IDLE_S 75

/* Stack of a connection's thread. Sanitizers and debug builds need more than the 64 KiB that handlers use. */
#define WEB_STACK_BYTES (512u << 10)
/* Connections above the configured number that get an answer (503) instead of waiting. */
#define WEB_EXCESS_MAX 16
#define WEB_LISTENERS_MAX 16
/* Live streams look this often whether they shall end, and say something at least this often. */
#define WEB_SSE_SLICE_MS 1000
#define WEB_SSE_PING_NS (15ull * 1000000000)

#endif
