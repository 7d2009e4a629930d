/* What the files of gdbstub/ share: the stub, its client, and the helpers of packet functions. */
#ifndef GDBSTUB_STUB_PRIV_H
#define GDBSTUB_STUB_PRIV_H

#include <jansson.h>
#include "gdbstub/agent_priv.h"
#include "gdbstub/gdbstub.h"
#include "gdbstub/regs_priv.h"
#include "gdbstub/rsp_priv.h"

/* Longest packet that a client may send and we do: qSupported says so. */
#define STUB_PACKET_MAX 0x20000u
/* Bytes of memory or of files in one reply: twice as many characters, or escapes, still fit. */
#define STUB_DATA_MAX (STUB_PACKET_MAX / 2 - 64)
#define STUB_BREAKS_MAX 16384u
#define STUB_CONDITIONS_MAX 65536u /* bytes of code of one breakpoint */
#define STUB_FILES_MAX 64u
#define STUB_BOOKMARKS_MAX 1000u
#define STUB_BOOKMARK_NAME_MAX 64u
#define STUB_PATH_MAX 4096u
#define STUB_LIBRARIES_MAX 4096u
#define STUB_CALLS_MAX 512u /* bits of dbg_resume.catch_calls */

/* What this client said about itself, and its selections. All zero for a new one. */
struct stub_client {
	bool no_ack, multiprocess, swbreak, hwbreak, error_text, binary_upload;
	bool lldb;           /* speaks lldb's dialect */
	bool thread_suffix;  /* lldb: ";thread:ID;" at the end of packets about registers */
	bool list_threads;   /* lldb: all threads in stop replies */
	pid_t general;       /* Hg: thread of g, p, ...; 0 = the current one */
	pid_t resume;        /* Hc: thread of s, c, bs, bc; 0 = the current one */
	uint64_t pass_signals; /* bit signo-1: delivered without a stop */
	bool catch_calls;
	uint64_t calls[STUB_CALLS_MAX / 64];
	uint64_t tls_modid;  /* address of _thread_db_link_map_l_tls_modid in the guest, 0 = not known */
};

struct stub_break {
	unsigned type;       /* of Z: 0 software, 1 hardware, 2 write, 3 read, 4 access */
	uint64_t addr, len;
	unsigned id;         /* of dbg_break_add() */
	struct buf code;     /* conditions: u32 length and bytecode, each; any true one makes the hit count */
	struct stub *stub;
};

struct stub_file {
	bool used;
	int fd;              /* a recorded file, or -1: text */
	struct buf text;
};

/* Where the next resume goes instead of running (monitor hermit arm). */
enum stub_place_kind { PLACE_NONE, PLACE_POS, PLACE_BEGIN, PLACE_END, PLACE_TIME, PLACE_WRITE };
struct stub_place {
	enum stub_place_kind kind;
	struct dbg_pos pos;
	uint64_t time_ns;
	uint64_t addr, len;  /* WRITE */
};

struct stub_bookmark {
	char name[STUB_BOOKMARK_NAME_MAX + 1];
	struct dbg_pos pos;
};

/* Calls of functions from gdb: see divert.c. */
enum stub_divert { DIVERT_NONE, DIVERT_SET, DIVERT_RAN, DIVERT_OVER };

struct stub {
	struct stub_options opt;
	struct dbg *d;       /* while a client is served */
	int in_fd, out_fd;   /* borrowed; -1 = no client */
	struct buf in;       /* bytes received, not yet used */
	struct buf request;  /* body of the packet in work, unescaped */
	struct buf reply;    /* body of the answer */
	struct buf sent;     /* the last packet on the wire, for '-' */
	struct buf cache;    /* qXfer object that is read in pieces */
	char cache_name[64];
	uint64_t cache_moves;
	bool no_reply;
	bool gone, interrupted;
	uint64_t late_ns;    /* when an interrupt has come while nothing ran; 0 = none */
	bool talking;        /* O packets are allowed now */
	int end;             /* enum stub_end, -1 = goes on */
	struct stub_client c;
	pid_t pid;
	pid_t last_tid;      /* of the last stop */
	struct dbg_stop last;
	struct stub_break **breaks; /* owned, each too: conditions point to them */
	size_t n_breaks, cap_breaks;
	struct stub_file files[STUB_FILES_MAX];
	struct stub_place armed;
	struct stub_bookmark *bookmarks;
	size_t n_bookmarks;
	unsigned n_checkpoints;
	uint64_t run_since_ns, told_ns;
	uint64_t give_up_ns; /* what goes on is interrupted then, as by the client; 0 = not */
	enum stub_divert divert;
	unsigned divert_calls;               /* siginfo reads: calls that may have begun */
	pid_t divert_tid;
	struct user_regs_struct divert_regs; /* of divert_tid before the first write */
	struct buf divert_xstate;
	uint64_t divert_result;              /* rax when the last call ended */
	struct regs_layout layout;
	struct buf xstate;   /* scratch */
};

/* --- stub.c --- */

/* Sends a packet now. Errors show as s->gone. */
void stub_send(struct stub *s, const void *body, size_t n);
/* Text on the client's console, only while s->talking. */
void stub_console(struct stub *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* From here on guests run for the client: interrupts count, O packets may be sent. */
void stub_run_begin(struct stub *s);
/* The client's user had interrupted it before it began, or between it and the run before. Asked once. */
bool stub_run_unwanted(struct stub *s);
void stub_run_end(struct stub *s);

/* --- packets.c --- */

/* Carries out the packet in s->request: fills s->reply, or sets s->no_reply. */
void stub_packet(struct stub *s);
/* Makes the reply an error: with the text when the client shows it, else a number. Returns 0: for the end of packet functions. */
int stub_refuse(struct stub *s, int r, const char *text);
/* The same for packets where every gdb shows the text. */
int stub_refuse_loud(struct stub *s, int r, const char *text);
void stub_puts(struct stub *s, const char *text);
/* A packet's thread id; 0 = any, -1 = all. ERR_PROTOCOL; -ESRCH: of another process. */
int stub_get_tid(struct stub *s, struct view *v, pid_t *ret) MUST_CHECK;
void stub_put_tid(struct stub *s, struct buf *out, pid_t tid);
/* The threads selected by Hg and Hc; lldb's suffix in v wins (and is cut off). */
pid_t stub_general(struct stub *s, struct view *v);
pid_t stub_current(struct stub *s);
/* Signal numbers: gdb has its own. 0 = none. */
unsigned stub_signal_to_gdb(int signo);
int stub_signal_from_gdb(uint64_t n);

/* One function a packet, listed in packets.def: v is what follows the name. Negative: the reply is an error. */
#define PACKET(name, exact, fn) int stub_##fn(struct stub *s, struct view *v);
#include "gdbstub/packets.def"
#undef PACKET

/* --- breaks.c --- */

void stub_breaks_clear(struct stub *s);
const struct stub_break *stub_break_find(const struct stub *s, unsigned id);

/* --- resume.c --- */

/* Remembers the stop and makes the reply. */
void stub_stopped(struct stub *s, const struct dbg_stop *stop);
/* The guest was moved by a monitor command: the client's selections start anew. */
void stub_moved(struct stub *s, const struct dbg_stop *stop);
int stub_go(struct stub *s, const struct stub_place *p, struct dbg_stop *ret, struct errinfo *ei) MUST_CHECK;

/* --- divert.c --- */

/* Before a write of memory (regs false; to addr) or registers of tid. 1: it may be written, 0: refused, the reply is made. */
int stub_divert_write(struct stub *s, pid_t tid, bool regs, uint64_t addr);
/* After a run. */
void stub_divert_ran(struct stub *s);
/* After a write of registers: is the call over? */
void stub_divert_check(struct stub *s);
void stub_divert_siginfo(struct stub *s);
/* Before anything that shows the guest's memory from addr on; 0 = anywhere. */
void stub_divert_read(struct stub *s, uint64_t addr); /* 0: something else than memory */
/* Before running. true: the copy runs. */
bool stub_divert_resume(struct stub *s, bool backwards);
void stub_divert_drop(struct stub *s, const char *why); /* why NULL: says nothing */

/* --- regio.c, threads.c --- */

/* Fills s->xstate; nothing known of it = empty. */
int stub_xstate(struct stub *s, pid_t tid) MUST_CHECK;
/* qXfer:threads and the list of lldb's stop replies. */
int stub_put_threads_xml(struct stub *s, struct buf *out) MUST_CHECK;
void stub_put_thread_list(struct stub *s, char sep, struct buf *out);

/* --- files, lists, texts --- */

void stub_files_clear(struct stub *s);
int stub_svr4(struct stub *s, uint64_t start, uint64_t prev, struct buf *out) MUST_CHECK; /* library-list-svr4 */
/* Appends & < > " as entities, control bytes as dots. */
void stub_put_xml(struct buf *out, const char *text);
/* The line of a monitor command: its answer as text for the console, also of an error, whose number it returns. */
int stub_monitor(struct stub *s, char *line, struct buf *out);
/* "exited with code 1", "was killed by signal 11" */
void stub_put_status(struct buf *out, int status);

#endif
