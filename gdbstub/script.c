/* hermit.gdb as a string: gdbstub/script.inc is made of it by the Makefile. */
#include "gdbstub/gdbstub.h"

static const char script[] =
#include "gdbstub/script.inc"
	;

const char *stub_gdb_script(void)
{
	return script;
}
