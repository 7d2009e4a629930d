/* What sources.c, source_text.c, source_lines.c, modules.c, memory.c, disasm.c and listing.c share.
 *
 * The client's names of files and gdb's: sourceMap is gdb's `set substitute-path`, so gdb's full names are those of this machine already, and what a user
 * types in the console means the same. What is left to do is spelling (links, "..", URIs), and files that are not here: those have a sourceReference,
 * under which a text is served. */
#ifndef DAP_SOURCES_PRIV_H
#define DAP_SOURCES_PRIV_H

#include "analysis/names.h"
#include "dap/parts_priv.h"
#include "dap/paths_priv.h"

/* Places that others handed out, listings of machine code and bytes of them, tables of lines that are kept. */
#define LOCATIONS_MAX 16384u
#define LISTINGS_MAX 2048u
#define LISTINGS_BYTES_MAX (8u << 20)
#define LINE_TABLES_MAX 32u
/* A source file that is served. */
#define SOURCE_BYTES_MAX (8u << 20)
/* Sources that one loadedSources lists, and events of one library. */
#define LOADED_SOURCES_MAX 20000u
#define LOADED_EVENTS_MAX 500u
#define MODULES_MAX 4096u
/* Bytes of one readMemory; those that gdb is asked for at once. */
#define MEMORY_READ_MAX (8u << 20)
#define MEMORY_CHUNK (256u << 10)
/* Memory that is looked at: more than a client has views of. */
#define MEMORY_VIEWS_MAX 16u
/* Instructions of one disassemble, and how far from the place it may begin. */
#define DISASM_COUNT_MAX 20000
#define DISASM_OFFSET_MAX 100000

/* The lines of a source that have code. */
struct line_table {
	char *path; /* owned; NULL = free */
	unsigned generation;
	int64_t *line; /* owned, ascending */
	size_t n;
};

/* Machine code as text, for clients that show none by themselves. Line i (from 0) is that of the instruction at addr[i]. */
#define LISTING_CODE 16u
struct listing {
	uint32_t id;    /* 0 = free */
	unsigned generation;
	uint64_t from;  /* the address that it was made for */
	uint8_t code[LISTING_CODE]; /* what was there */
	char *name;     /* owned */
	uint64_t *addr; /* owned; 0: a line of text; NULL: nobody has asked for the text yet */
	size_t n;
	struct buf text;
};

/* Memory that the client has read since the last stop: it may be looking at it. */
struct memory_view {
	char *reference; /* owned, as the client writes it */
	int64_t from, to; /* offsets */
};

struct dap_sources {
	struct path_map map;   /* sourceMap */
	struct path_map spelt; /* real folders, as the client spells them */
	uint64_t recorded_ns;  /* wall time of the recording's start, 0 = not known */

	/* files that are not here: number in shown = sourceReference / 2 */
	struct names shown, known; /* as the client sees them; as gdb names them */
	uint32_t *known_of;        /* owned; [number in shown - 1] = number in known */
	uint32_t known_cap;

	uint64_t *location; /* owned: addresses, looked up when somebody asks; [i] has the id first_location + i */
	size_t n_locations, locations_cap;
	int64_t first_location;

	struct line_table table[LINE_TABLES_MAX];
	unsigned next_table;

	struct listing listing[LISTINGS_MAX];
	uint32_t last_listing; /* id */
	size_t listing_bytes;

	unsigned generation; /* libraries came or went so often */
	bool listed;         /* the client has asked for loadedSources and is told of new ones */
	json_t *fresh;       /* owned array: libraries that came since then, NULL = none */

	struct memory_view view[MEMORY_VIEWS_MAX];
	size_t n_views;
};

/* Source of a text that is served; presentationHint and origin may be NULL. */
json_t *sources_served(const char *name, int64_t reference, const char *hint, const char *origin);
/* gdb's name of the file that a sourceReference stands for; NULL: it is none of a file. */
const char *sources_known(const struct dap *d, int64_t reference);
/* Has gdb read all units that the source (gdb's name) is part of. -ENOENT (d->ei is left alone): it knows no such source. */
int sources_expand(struct dap *d, const char *path) MUST_CHECK;
/* Appends a regular expression of gdb's old kind, that of `maintenance` commands, for names with this end. */
void sources_put_regex(struct buf *b, const char *end);
/* After a stop: tells of the sources of new libraries. */
int sources_tell_fresh(struct dap *d) MUST_CHECK;
/* Modules: a library came or went. */
void modules_record(struct dap *d, const struct mi_record *rec);

/* --- memory.c --- */

/* The address of a memoryReference with an offset. -EINVAL with what is wrong in d->ei. */
int memory_address(struct dap *d, const char *reference, int64_t offset, uint64_t *ret) MUST_CHECK;
/* Appends what can be read from addr on, up to len bytes or the first gap. 0 also when that is nothing. */
int memory_read(struct dap *d, uint64_t addr, uint64_t len, struct buf *out) MUST_CHECK;

/* After a stop: tells the client that what it has read may have changed. */
void memory_tell(struct dap *d);
void memory_forget(struct dap_sources *s);

struct mapping {
	uint64_t start, end, offset;
	char path[PATH_BYTES_MAX]; /* "" = none */
};
/* Calls fn for each mapping of the process, in order, until it returns other than 0, which is given back. */
int memory_each_mapping(struct dap *d, int (*fn)(void *ctx, const struct mapping *m), void *ctx) MUST_CHECK;

/* --- disasm.c --- */

struct insn {
	uint64_t addr;
	uint32_t size;
	bool valid;
	json_t *mi;    /* owned: gdb's tuple, NULL when not valid */
	json_t *group; /* owned: file, fullname, line; NULL = no source */
};

struct insns {
	struct insn *v; /* owned */
	size_t n, cap;
};

void insns_done(struct insns *list); /* for CLEANUP too */
/* Decodes `before` instructions in front of addr and `after` from there on: exactly so many, those that cannot be read are not valid. */
int disasm_around(struct dap *d, uint64_t addr, size_t before, size_t after, struct insns *ret) MUST_CHECK;
/* Start of the function that holds addr, 0 = not known. *ret_name (may be NULL): owned, NULL when there is none. */
int disasm_function(struct dap *d, uint64_t addr, uint64_t *ret_start, char **ret_name) MUST_CHECK;

/* --- listing.c --- */

/* The listing that holds addr, made when there is none, and the line (from 1). -ENOENT: nothing can be read there. */
int listing_of(struct dap *d, uint64_t addr, const struct listing **ret, int64_t *ret_line) MUST_CHECK;
/* The same without asking gdb for more than a few bytes: a new one is made when it is read. func: of the frame. */
int listing_later(struct dap *d, uint64_t addr, const char *func, const struct listing **ret, int64_t *ret_line) MUST_CHECK;
/* *ret NULL: there is none, or it was dropped for newer ones. */
int listing_get(struct dap *d, int64_t reference, const struct listing **ret) MUST_CHECK;
int64_t listing_reference(const struct listing *l);
void listings_free(struct dap_sources *s);

#endif
