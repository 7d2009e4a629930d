/* Named limits of inspector/: recordings, requests and debugging information come from strangers. */
#ifndef INSPECTOR_LIMITS_PRIV_H
#define INSPECTOR_LIMITS_PRIV_H

#define INSPECT_LINE_MAX (64u << 10)      /* bytes of a request */
#define INSPECT_QUEUE_MAX 64u             /* requests that wait */
#define INSPECT_FRAMES_MAX 256u
#define INSPECT_INLINES_MAX 64u           /* inlined calls of one frame */
#define INSPECT_ARGS_MAX 32u              /* arguments of one frame */
#define INSPECT_STRING_MAX 64u            /* bytes of a string that an argument points to */
#define INSPECT_NAME_MAX 2048u            /* bytes of a name of a function */
#define INSPECT_MEMORY_MAX (64u << 10)    /* bytes of one answer */
#define INSPECT_MAPS_MAX 65536u           /* mappings that are shown */
#define INSPECT_THREADS_MAX 4096u         /* threads that are shown */
#define INSPECT_FILES_MAX 512u            /* files with symbols that are kept open */
#define INSPECT_CUS_MAX 200000u           /* units of one file that are looked through */
#define INSPECT_RANGES_MAX 2000000u       /* their ranges of addresses */
#define INSPECT_SYMBOLS_MAX (16u << 20)    /* symbols of one file */
#define INSPECT_DEPTH_MAX 64u             /* nesting of scopes, types */
#define INSPECT_SOURCE_MAX (16u << 20)    /* bytes of a source file */
#define INSPECT_SOURCE_LINES_MAX 20000u   /* lines of one answer */
#define INSPECT_SOURCE_LINE_MAX 4096u     /* bytes of a line that are shown */
#define INSPECT_DEBUG_FILE_MAX (8ull << 30)
#define INSPECT_CPU_S 30                  /* processor time that reading debugging information may take for one request */
#define INSPECT_DATA_BYTES (4ull << 30)   /* memory meanwhile */
#define INSPECT_OPS_MAX 4096u             /* operations of one DWARF expression */
#define INSPECT_STACK_MAX 64u             /* and their stack */

#endif
