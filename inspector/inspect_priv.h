/* The inspector's parts. One struct inspector per process; requests come one after the other. */
#ifndef INSPECTOR_INSPECT_PRIV_H
#define INSPECTOR_INSPECT_PRIV_H

#include <elfutils/libdwfl.h>
#include <jansson.h>
#include "inspector/inspector.h"
#include "inspector/limits_priv.h"
#include "replayer/debug.h"

/* --- request.c: what is asked (pure) --- */

enum request_op { OP_STACK, OP_REGISTERS, OP_MAPS, OP_THREADS, OP_MEMORY, OP_SOURCE, OP_CANCEL, OP_MAX_ };

struct request {
	uint64_t id;
	enum request_op op;
	uint64_t event;      /* 0 = none given */
	bool after;
	uint32_t thread;     /* number in the recording, 0 = none given */
	pid_t pid;           /* 0 = none given */
	uint64_t addr, len;  /* MEMORY */
	char path[4096];     /* SOURCE */
	uint64_t line, context;
	bool has_target;     /* CANCEL: which one */
	uint64_t target;
};

/* One line. The id is set whenever it could be read. -EINVAL, ERR_LIMIT, ERR_CORRUPT with ei. */
int request_parse(const char *line, size_t len, struct request *ret, struct errinfo *ei) MUST_CHECK;

/* --- the process --- */

struct symfile;

/* Where a file of the recording is mapped. */
struct module {
	uint64_t start, end, bias;  /* address = address in the file + bias */
	const char *path;           /* borrowed from the file */
	struct symfile *file;
	bool code;
};

/* threads.c: to which process threads belong, as far as the events were read. */
struct thread_table {
	struct thread_entry { pid_t pid, tid; } *v; /* by number, owned */
	size_t n;
	uint64_t next;               /* event to read next, 0 = none was */
	struct store_reader *reader; /* of its own */
};

struct inspector {
	struct store *store;                 /* borrowed */
	const struct inspector_options *opt; /* borrowed */
	struct store_reader *reader;
	uint64_t events;                     /* of the recording */
	struct dbg *dbg;                     /* NULL = none yet */
	pid_t pid;                           /* of it */
	bool stands;                         /* it stands where position.c went last: */
	uint64_t stand_event, stand_moves;
	bool stand_after;
	struct thread_table threads;
	/* modules.c: what is mapped at this position */
	struct module *modules;              /* by address, owned */
	size_t n_modules;
	uint64_t modules_moves;              /* dbg_moves() that they are good for */
	bool modules_valid;
	struct symfile **files;              /* owned */
	size_t n_files;
	uint64_t uses;                       /* counts, to know which was used last */
	const char *busy_with;               /* file whose debugging information is read, for guard.c */
	/* source.c: files that frames named */
	struct source *sources;              /* owned */
	size_t n_sources;
	int request_fd;                      /* of the request that is worked at, for guard.c */
	uint64_t request_id;
	/* Called now and then while something takes long; true: it is to end. */
	bool (*interrupted)(void *ctx, const struct dbg_progress *p);
	void *ctx;
};

/* --- position.c --- */

/* What a request is about: the session stands there. */
struct place {
	uint64_t event;
	bool after;
	uint32_t thread;
	pid_t tid, pid;
};

void position_done(struct inspector *in);
/* Goes where q says. ERR_NOT_FOUND: no such event, thread, process; ERR_INTERRUPTED; ERR_DIVERGED. */
int position_go(struct inspector *in, const struct request *q, struct place *ret, struct errinfo *ei) MUST_CHECK;
/* Members that all answers have. */
int position_put(const struct place *p, json_t *result) MUST_CHECK;

/* --- threads.c --- */

void thread_table_done(struct thread_table *t);
/* The process of a thread that an event up to `event` has. ERR_NOT_FOUND. */
int thread_table_find(struct inspector *in, uint32_t thread, uint64_t event, pid_t *ret_pid, struct errinfo *ei) MUST_CHECK;
/* The thread of an event. */
int thread_of_event(struct inspector *in, uint64_t event, uint32_t *ret, struct errinfo *ei) MUST_CHECK;

/* --- modules.c: files of the recording, and where they are mapped --- */

/* One ELF file with its debugging information; addresses are the file's own. */
struct symfile {
	char *path;           /* as the recorded program saw it */
	uint64_t dev, ino, object;
	uint64_t used;
	Dwfl *dwfl;           /* NULL: no ELF file for us */
	Dwfl_Module *mod;
	struct inspector *in;
	bool checked;         /* its DWARF may be used */
	bool bad;             /* ... must not be */
	/* units by address, for those that .debug_aranges does not name; sorted */
	struct unit_range { uint64_t start, end; Dwarf_Off die; } *units;
	size_t n_units;
	bool scanned;
	struct sym_entry *syms; /* symindex.c */
	size_t n_syms;
	bool sym_built;
};

/* Takes the descriptor (-1 = none); a file that is no ELF file of ours has no names. path is copied. */
int symfile_new(struct inspector *in, const char *path, int fd, struct symfile **ret) MUST_CHECK;
void symfile_free(struct symfile *f);
/* Brings in->modules up to the present position. */
int modules_update(struct inspector *in) MUST_CHECK;
void modules_done(struct inspector *in);
/* NULL: nothing of a file lies there. */
const struct module *modules_find(struct inspector *in, uint64_t addr);
/* May code run there (of a file or not)? */
bool modules_executable(struct inspector *in, uint64_t addr);
/* The file's debugging information, NULL = none. Its addresses are the file's. */
Dwarf *symfile_dwarf(struct symfile *f);

/* --- debuginfo.c: separate debugging information --- */

/* The callback of libdwfl. */
int debuginfo_find(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base, const char *file, const char *link, GElf_Word crc, char **ret);
/* Would libdw open other things than regular files on its own account for this? */
bool debuginfo_safe(Dwarf *dw);
/* The same for the file behind a unit of split DWARF. */
bool debuginfo_split_safe(Dwarf_Die *skeleton);
bool debuginfo_regular(const char *path);

/* --- demangle.c (pure) --- */

/* As people read it, without arguments; NULL: it is no mangled name. Owned by the caller. */
char *demangle_name(const char *symbol);

/* --- symbols.c: names and lines of addresses --- */

/* symindex.c */
struct symbol {
	const char *name;   /* borrowed from the file, NULL = none */
	uint64_t offset;    /* of the address from it */
	bool function;
};
/* addr is the file's. */
void symbols_lookup(struct symfile *f, uint64_t addr, struct symbol *ret);

struct scope_chain {
	Dwarf_Die cu;       /* for line numbers */
	Dwarf_Die unit;     /* that the scopes are in */
	Dwarf_Die scope[INSPECT_DEPTH_MAX]; /* from the function inwards: subprogram, inlined_subroutine and lexical_block */
	unsigned n;
};
/* false: there is no debugging information for it. n may be 0: only lines are known. */
bool symbols_scopes(struct symfile *f, uint64_t addr, struct scope_chain *ret);
/* Name of a function's DIE; owned, NULL = none. linkage: as the linker calls it (owned), may be NULL. */
char *symbols_die_name(Dwarf_Die *die, char **ret_linkage);

struct line_info {
	char *file;         /* owned, NULL = none */
	int line, column;   /* 0 = not known */
};
void line_info_done(struct line_info *l);
void symbols_line(struct scope_chain *c, uint64_t addr, struct line_info *ret);
/* Where an inlined function was called. */
void symbols_call_line(struct scope_chain *c, Dwarf_Die *inlined, struct line_info *ret);
/* "function+12" for an address, NULL = not known; owned. */
char *symbols_text(struct inspector *in, uint64_t addr);
/* Absolute, without "./": as the compiler found the file that it calls name (NULL gives NULL); owned. */
char *symbols_source_path(Dwarf_Die *cu, const char *name);
/* Calls fn with the paths of all source files of f until it returns true. */
bool symbols_each_source(struct symfile *f, bool (*fn)(void *ctx, Dwarf_Die *cu, const char *path), void *ctx);
/* srcsum.c: the checksum that the unit has for a source file. */
bool symbols_source_md5(Dwarf_Die *cu, const char *path, uint8_t md5[16]);

/* --- expr.c: DWARF expressions (pure but for memory) --- */

#define UNWIND_REGS 17 /* numbers of DWARF: rax rdx rcx rbx rsi rdi rbp rsp r8-r15, return address */
enum { UNWIND_RBP = 6, UNWIND_RSP = 7, UNWIND_RA = 16 };

struct unwind_regs {
	uint64_t v[UNWIND_REGS];
	uint32_t known; /* bit n: register n */
};

struct expr_context {
	const struct unwind_regs *regs;
	bool (*read)(void *ctx, uint64_t addr, void *buf, size_t n);
	void *ctx;
	uint64_t bias;       /* of addresses in the file */
	bool has_cfa, has_frame_base;
	uint64_t cfa, frame_base;
};

enum expr_kind { EXPR_MEMORY, EXPR_REGISTER, EXPR_VALUE, EXPR_BLOCK };

struct expr_result {
	enum expr_kind kind;
	uint64_t v;          /* address, number of the register, value */
	const Dwarf_Op *op;  /* BLOCK: DW_OP_implicit_value */
};

/* ERR_NOT_FOUND: what it needs is not known (or it is empty); ERR_CORRUPT; ERR_LIMIT. */
int expr_run(const struct expr_context *x, const Dwarf_Op *ops, size_t n, struct expr_result *ret) MUST_CHECK;

/* --- unwind.c --- */

struct unwind_frame {
	struct unwind_regs regs;
	uint64_t pc;
	bool exact;    /* the instruction at pc is the next one; else pc is behind a call */
	bool signal;   /* the kernel put it there to run a handler */
	bool has_cfa;
	uint64_t cfa;
	const char *guess; /* how the caller was found without call frame information, NULL = it was not needed. Static */
};

/* Of the thread's registers. */
void unwind_first(const struct user_regs_struct *u, struct unwind_frame *ret);
/* Fills in what f lacks (cfa, signal), and its caller in *ret. 1: there is one; 0: f is the outermost, *ret_note is NULL, or says why nothing more is known. */
int unwind_next(struct inspector *in, struct unwind_frame *f, struct unwind_frame *ret, const char **ret_note) MUST_CHECK;

/* --- args.c --- */

/* Arguments of the function (a subprogram or inlined_subroutine) as an array; NULL = out of memory. */
json_t *args_of(struct inspector *in, const struct module *m, struct scope_chain *c, unsigned scope, const struct unwind_frame *f, uint64_t addr);

/* --- answers: new references; NULL is never given with 0 --- */

int answer_stack(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei) MUST_CHECK;
int answer_registers(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei) MUST_CHECK;
int answer_maps(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei) MUST_CHECK;
int answer_threads(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei) MUST_CHECK;
int answer_memory(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei) MUST_CHECK;
int answer_source(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei) MUST_CHECK;

/* --- source.c --- */

/* A unit names this file: it may be asked for. false: it is not there to be read. */
bool source_note(struct inspector *in, Dwarf_Die *cu, const char *path);
void source_done(struct inspector *in);

/* --- regs.c --- */

/* Registers as an array (docs/HTTP.md); NULL = out of memory. cpu: the manifest's object or NULL. */
json_t *regs_list(struct inspector *in, const struct user_regs_struct *u, const void *xstate, size_t xstate_len, const json_t *cpu);

/* --- guard.c: while debugging information is read, time and memory are bounded, and a crash says what it was about --- */

void guard_begin(struct inspector *in);
void guard_end(void);

#endif
