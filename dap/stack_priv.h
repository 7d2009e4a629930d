/* What stack.c, threads.c, vars.c, values.c, lists.c, varobj.c, registers.c, ask.c, eval.c and complete.c share: references that clients hold, and questions to gdb in a frame. */
#ifndef DAP_STACK_PRIV_H
#define DAP_STACK_PRIV_H

#include "dap/parts_priv.h"

enum ref_kind {
	REF_LOCALS,    /* scopes of a frame: arguments and locals, */
	REF_GLOBALS,
	REF_REGISTERS,
	REF_RETURNED,
	REF_GROUP,     /* of registers: from is its number */
	REF_VALUE,     /* children of a value */
};

/* What a variablesReference stands for. */
struct ref {
	enum ref_kind kind;
	int thread, level;
	char *expr;    /* owned: an expression for it in the frame; NULL = it has none */
	char *varobj;  /* owned: gdb's variable object, made when it is needed; NULL = not yet */
	char *type;    /* owned, may be NULL */
	bool ours;     /* the variable object is to be deleted; others go with their parent */
	bool dynamic;  /* a pretty printer makes its children, */
	bool map;      /* in pairs of key and value */
	bool hex;      /* its varobj shows numbers in hex */
	int64_t from;  /* REF_VALUE: index of the first child that it shows */
	int64_t elements; /* of an array, as far as known; -1 = not known */
};

/* Frames of one answer: ids are consecutive. */
struct frame_page {
	int thread;
	int64_t low, n, first_id;
};

struct dap_stack {
	struct frame_page *pages; /* owned */
	size_t n_pages, cap_pages;
	int64_t next_frame;
	struct ref **refs; /* owned */
	size_t n_refs, cap_refs;
	int64_t first_ref;
	json_t *threads;   /* owned: as the client was told last; NULL = never */
	bool threads_old;  /* the guest has run since */
	json_t *registers; /* owned: names; NULL = not asked yet */
	json_t *libraries; /* owned: gdb's list, asked for once a stop; NULL = not yet */
	json_t *listed;    /* owned: the variables of the frame that was looked at last */
	int listed_thread, listed_level;
	bool listed_hex;
	uint64_t varobjs;  /* that were made, for names */
	/* after a finish */
	char *returned;    /* owned: gdb's name of the value ("$1"); NULL = none */
	int returned_thread;
};

/* --- stack.c --- */

/* Copies the strings of r. */
int stack_ref_new(struct dap *d, const struct ref *r, int64_t *ret) MUST_CHECK;
/* -ENOENT with d->ei. Borrowed until the guest runs. */
int stack_ref(struct dap *d, int64_t id, struct ref **ret) MUST_CHECK;
/* Between these gdb calls no function of the guest, whatever it evaluates. */
void stack_quiet(struct dap *d);
void stack_loud(struct dap *d);
/* Numbers are shown in hex between these, if hex. */
void stack_hex(struct dap *d, bool hex);
void stack_plain(struct dap *d, bool hex);

/* --- values.c: pure --- */

/* A value, to be made a Variable or the answer of evaluate. */
struct value {
	const char *name, *text, *type; /* type and text may be NULL */
	const char *expr;               /* NULL = none */
	const char *kind, *visibility;  /* of the presentationHint; NULL = none */
	const char *const *attributes;  /* NULL-terminated; NULL = none */
	int64_t ref, indexed, named;    /* 0 = none */
	uint64_t memory;                /* 0 = none */
	int64_t location;               /* of the code that it names, for `locations`; 0 = none */
};

/* The Variable (or, with the member "result" instead of "name" and "value", the answer of evaluate): new reference, NULL when out of memory. */
json_t *value_variable(const struct value *v);
int value_result(const struct value *v, json_t *body) MUST_CHECK;

/* It has children. text NULL: not known, a structure then. */
bool value_expands(const char *type, const char *text);
/* How many elements the text or the type tells of; -1 = nothing. */
int64_t value_elements(const char *type, const char *text);
/* The address that a pointer or reference holds; 0 = it is none. */
uint64_t value_pointer(const char *type, const char *text);
/* The function that a pointer to one holds; 0 = it is none. */
uint64_t value_function(const char *type, const char *text);
/* gdb's words for what it does not read whole. */
bool value_too_large(const char *text);
/* No value: optimised out, another error. */
bool value_missing(const char *text);
/* The expression of a child; name as gdb gives it. False: there is none. */
bool value_child_expr(struct buf *b, const char *parent, const char *parent_type, const char *name, const char *child_type);
/* An element of an array, or of a container that has operator[]. */
void value_element_expr(struct buf *b, const char *parent, int64_t i);
/* Cuts what is longer than n bytes, between characters: what is cut off is told by "..." */
void value_cut(struct buf *b, size_t n);

/* --- ask.c: what gdb knows of an expression in a frame; expressions were checked before --- */

/* Its text. format: 0 or a letter of gdb's print; full: as long as it is, within limits. -EREMOTEIO: ei has gdb's words. */
int ask_text(struct dap *d, int thread, int level, const char *expr, char format, bool full, struct buf *ret, struct errinfo *ei) MUST_CHECK;
int ask_type(struct dap *d, int thread, int level, const char *expr, struct buf *ret, struct errinfo *ei) MUST_CHECK;
/* What is shown of an object that is too large to be read whole. */
void ask_large(struct dap *d, int thread, int level, const char *expr, const char *type, bool full, struct buf *ret);
/* What a command of gdb's console prints, without the last line break. */
int ask_console(struct dap *d, int thread, int level, const char *command, struct buf *ret, struct errinfo *ei) MUST_CHECK;
/* The addresses of expressions, as far as they have any (0 else): one question if all have. */
void ask_addresses(struct dap *d, int thread, int level, const char *const *exprs, size_t n, uint64_t *ret);

/* --- lists.c: arguments and locals, globals, what a function returned: appended to ret --- */
int list_frame(struct dap *d, const struct ref *ref, bool hex, json_t *ret) MUST_CHECK;
/* Does a frame have a variable of that name: 1, 0. */
int list_has(struct dap *d, int thread, int level, const char *name) MUST_CHECK;
int list_globals(struct dap *d, const struct ref *ref, bool hex, json_t *ret) MUST_CHECK;
int list_returned(struct dap *d, const struct ref *ref, bool hex, json_t *ret) MUST_CHECK;
/* Adds the reference and the counts to v if it has children. v->text is its text in gdb's words. */
int list_children(struct dap *d, const struct ref *in, struct value *v, const char *varobj, bool hex) MUST_CHECK;
/* Adds what v->text leads to: memory, unless it is known already, and code. */
void list_leads(struct dap *d, struct value *v);

/* --- registers.c --- */
/* The general ones and the groups of the others; those of a group. They are shown in hex always. */
int registers_groups(struct dap *d, const struct ref *ref, bool hex, json_t *ret) MUST_CHECK;
int registers_list(struct dap *d, const struct ref *ref, bool hex, json_t *ret) MUST_CHECK;

/* --- varobj.c: children of values --- */
struct range {
	int64_t start, count; /* count 0 = all that is sensible */
	bool named, indexed;  /* only those; both false = all */
};
int varobj_children(struct dap *d, struct ref *ref, const struct range *range, bool hex, json_t *ret) MUST_CHECK;

#endif
