/* The index behind files_priv.h: arrays in the order of events, linked backwards by what they are about. */
#ifndef REPLAYER_FILES_INDEX_PRIV_H
#define REPLAYER_FILES_INDEX_PRIV_H

#include "replayer/files_priv.h"

#define FILES_NONE UINT32_MAX
#define FILES_OPENS 256u /* descriptors whose paths are remembered, the newest */

/* Open addressing; key 0 = free. */
struct files_table {
	struct files_slot {
		uint64_t key;
		uint32_t value;
	} *slot;
	size_t n, cap;
};

struct files_string {
	char *text;     /* owned */
	uint32_t last;  /* newest file of that path in any process */
};

/* A path showed this content from that event on. */
struct files_map {
	uint64_t event, until; /* until: placed ones that were unmapped or covered then, 0 = they were not */
	uint32_t proc, path;
	uint32_t prev;         /* of the same path in the same process */
	uint32_t prev_any;     /* ... in any process */
	uint32_t prev_content; /* of the same content in the same process */
	bool placed;           /* known by its place only: views of shared objects, what was too large to be stored */
	bool alias;            /* another path that led there: opened by it, not shown for it */
	bool content;          /* blob is there */
	uint64_t low, high;    /* last load: from the mapping of offset 0 on */
	uint64_t object;       /* of a shared one */
	struct blob_id blob;
};

struct files_thread {
	uint32_t number, proc, parent; /* proc: its process's first thread; parent: who made it, 0 = nobody */
	int32_t pid, tid;
	uint64_t birth, end;  /* events; end 0 = not seen */
	uint32_t last_name, last_exec; /* exec: of a process's first thread only */
	uint32_t placed;      /* the process's newest placed map */
	uint32_t cwd;         /* string, at the end of the index; FILES_NONE = not known */
	int32_t map_fd;       /* of the mmap that it is in */
};

struct files_exec {
	uint64_t event;
	uint32_t proc, prev, exe, cwd;
	uint32_t interp;      /* path of the mapping at AT_BASE */
	uint64_t sp, brk;     /* brk: where the heap begins, 0 = not known */
};

struct files_name {
	uint64_t event;
	uint32_t prev;
	char text[16];
};

struct rep_files {
	struct store_reader *reader;
	uint64_t seen;           /* events taken up */
	uint64_t seed;
	bool ended;              /* at the end, or at what cannot be read */
	size_t string_bytes;
	struct files_table by_text, by_path, by_content, by_object;
	struct files_string *strings;
	struct files_map *maps;
	struct files_thread *threads; /* by number, ascending */
	struct files_exec *execs;
	struct files_name *names;
	size_t n_strings, n_maps, n_threads, n_execs, n_names;
	size_t cap_strings, cap_maps, cap_threads, cap_execs, cap_names;
	struct files_open {
		uint32_t proc, thread;
		int32_t fd; /* -1: its call has not returned */
	} opens[FILES_OPENS]; /* ring; proc 0 = free */
	char open_path[FILES_OPENS][512];
	unsigned next_open;
	char answer[16];
};

/* A program's initial stack as recorded. */
struct files_image {
	uint8_t *stack; /* owned */
	uint64_t sp;
	size_t len;
	size_t env;     /* place of the pointers to the environment */
	size_t n_env;
	size_t auxv, auxv_len;
};

/* Takes up events until so many are. */
void files_reach(struct rep_files *f, uint64_t events);
/* NULL: not seen. */
struct files_thread *files_thread(const struct rep_files *f, uint32_t number);
/* Number of that string; FILES_NONE: it is not there, and adding was not asked for or not possible. */
uint32_t files_string(struct rep_files *f, const char *text, bool add);
/* Newest file of that path in the process, or what its parents had when it was born; then in any process. NULL: none until then. */
const struct files_map *files_find(struct rep_files *f, const struct rep_files_view *v, const char *path);
/* What the mapping shows, of that process or inherited. */
const struct files_map *files_of_mapping(const struct rep_files *f, const struct rep_files_view *v, const struct mapping *m);
/* The program of the process. */
const struct files_exec *files_exec(const struct rep_files *f, const struct rep_files_view *v);
/* Name of the thread at that event, FILES_NONE = none. */
uint32_t files_name(const struct rep_files *f, uint32_t thread, uint64_t events);

/* --- files_image.c --- */
/* The stack in the EXEC event ev, which r (or a reader of the same recording) gave last. */
int files_image_load(struct store_reader *r, const struct event *ev, struct files_image *ret) MUST_CHECK;
void files_image_done(struct files_image *im); /* for CLEANUP too */
/* Value of an entry of the auxiliary vector, 0 = none. */
uint64_t files_image_aux(const struct files_image *im, uint64_t type);
/* The string at a guest address within the stack; NULL: there is none. */
const char *files_image_string(const struct files_image *im, uint64_t addr);

/* --- files_path.c --- */
#define FILES_PATH_MAX 4096
/* Absolute and without //, /. and /.. (as text: links are not known). cwd may be NULL. False: cannot be told, or too long. */
bool files_path_clean(const char *cwd, const char *path, char ret[FILES_PATH_MAX]);
/* Of an ELF file: its interpreter. False: none. */
bool files_path_interp(int fd, char ret[FILES_PATH_MAX]);
/* /proc/PID/NAME, also with task/TID: *ret_pid 0 = self. The rest behind PID/ (or task/TID/), NULL: it is no such path. */
const char *files_path_proc(const char *path, uint64_t *ret_pid);
/* Is it the comm of a thread? Then *ret_tid is whose, 0 = of the caller. */
bool files_path_comm(const char *path, uint64_t *ret_tid);

#endif
