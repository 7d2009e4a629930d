/* Makes one family of commands from its .def file: includer sets FAMILY (name of the finder), FAMILY_CALL (name of the system call),
 * FAMILY_FLAGS, FAMILY_DEF (the file) and HEAD (its common first arguments). No include guard: included once for each family.
 *
 * The .def file's rows are CMD(NAME, value, class, flags, result, arguments...), and for ioctls
 *     IOC(NAME, flags, argument)   the number is the header's
 *     IOG(NAME, flags)             direction and size of the argument are those in the number
 * A value that occurs twice is a duplicate case label, a name that occurs twice a duplicate enumerator: both do not compile.
 * (No macro here may hand a NAME on to another: most of them are macros themselves and would be expanded.) */

/* clang-format off */
const struct sys_command *FAMILY(uint32_t value)
{
	enum {
#define CMD(cname, ...) FAMILY_INDEX_##cname,
#define IOC(cname, ...) FAMILY_INDEX_##cname,
#define IOG(cname, ...) FAMILY_INDEX_##cname,
#include FAMILY_DEF
#undef CMD
#undef IOC
#undef IOG
	};
	static const struct sys_command commands[] = {
#define CMD(cname, cvalue, cls, flags, ret, ...) \
	[FAMILY_INDEX_##cname] = { #cname, (cvalue), SYS_ROW_(FAMILY_CALL, cls, (FAMILY_FLAGS) | (flags), ret, __VA_ARGS__) },
#define IOC(cname, flags, ...) \
	[FAMILY_INDEX_##cname] = { #cname, (cname), SYS_ROW_(FAMILY_CALL, EMULATE, (FAMILY_FLAGS) | (flags), INT, HEAD, __VA_ARGS__) },
#define IOG(cname, flags) \
	[FAMILY_INDEX_##cname] = { #cname, (cname), SYS_ROW_(FAMILY_CALL, EMULATE, (FAMILY_FLAGS) | (flags), INT, HEAD, A_IOC_(cname)) },
#include FAMILY_DEF
#undef CMD
#undef IOC
#undef IOG
	};

	switch (value) {
#define CMD(cname, cvalue, ...) \
	case (cvalue): \
		return &commands[FAMILY_INDEX_##cname];
#define IOC(cname, ...) \
	case (cname): \
		return &commands[FAMILY_INDEX_##cname];
#define IOG(cname, ...) \
	case (cname): \
		return &commands[FAMILY_INDEX_##cname];
#include FAMILY_DEF
#undef CMD
#undef IOC
#undef IOG
	default:
		return NULL;
	}
}
/* clang-format on */
#undef FAMILY
#undef FAMILY_CALL
#undef FAMILY_FLAGS
#undef FAMILY_DEF
#undef HEAD
