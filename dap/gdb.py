# All of gdb's Python that hermit-dap uses. dap/python.c calls the functions below by tell(FUNCTION(...)), which prints what they return as a line of JSON.
#
# Log points: $_hermit_log(N) as argument of a dprintf. gdb evaluates it where the guest stands, also inside of steps; it prints a line of JSON and fails
# never (an error of a dprintf leaves gdb 13.1 with a guest that neither runs nor stops). dap/logpoints.c reads the lines.
# C++ exceptions: $_hermit_type(KIND, REGEX) for conditions, and exception(KIND), which tells type and message. gdb's own $_exception wants libstdc++'s
# debugging information for types of the library, and gdb 13.1 crashes when a catchpoint is deleted whose library is gone.
import glob
import itertools
import json
import os
import re
import sys
import time
import gdb


def tell(value):
    # what is no text of the program's has surrogates, which are no JSON for others
    gdb.write(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n")


# --- printers ---


class NoShell(gdb.Function):
    """gdb 14 has a function of that name. Names and macros of a recording's debugging information are expressions that pass no guard."""

    def invoke(self, *args):
        raise gdb.GdbError("$_shell would run commands of this machine")


def add_printers():
    """Those of libstdc++ and of Rust (one toolchain) as installed on this machine, for all files: gdb would look for them beside the files of the recording,
    which are a stranger's."""
    sys.path[:0] = glob.glob("/usr/share/gcc*/python")
    try:
        from libstdcxx.v6 import register_libstdcxx_printers
        register_libstdcxx_printers(None)
    except Exception as e:
        gdb.write("libstdc++: %s\n" % e, gdb.STDLOG)
    found = glob.glob("/usr/lib/rustlib/etc/gdb_lookup.py") + sorted(glob.glob(os.path.expanduser("~/.rustup/toolchains/*/lib/rustlib/etc/gdb_lookup.py")))
    if not found:
        return
    sys.path[:0] = [os.path.dirname(found[0])]
    try:
        import gdb_lookup
    except Exception as e:
        gdb.write("Rust: %s\n" % e, gdb.STDLOG)
        return

    def rust_printer(value):
        # it fails for types of other languages
        try:
            return gdb_lookup.printer(value) if gdb.selected_frame().language() == "rust" else None
        except Exception:
            return None
    gdb.pretty_printers.append(rust_printer)


# --- threads and variables ---


def threads():
    """Number, name and tid. gdb's machine interface reads the registers of all threads to tell their frames too, which takes milliseconds for each."""
    return [[t.global_num, t.name or "", t.ptid[1] or t.ptid[2]] for t in gdb.selected_inferior().threads() if t.is_valid()]


def describe(symbol, hexadecimal):
    try:
        value = symbol.value()
        text = value.format_string(format="x") if hexadecimal else value.format_string()
        return [symbol.name, str(value.type), text, int(value.address or 0)]
    except Exception as e:
        address = symbol.value().address if "max-value" in str(e) else None
        return [symbol.name, str(symbol.type), "<error: %s>" % e, int(address or 0)]


def variables_of_file(hexadecimal, most):
    """The global ones of the frame's source: name, type, text, address. gdb's machine interface only knows those of all files."""
    symtab = gdb.selected_frame().find_sal().symtab
    blocks = (symtab.static_block(), symtab.global_block()) if symtab else ()
    found = (symbol for block in blocks for symbol in block if symbol.is_variable)
    return [describe(symbol, hexadecimal) for symbol in itertools.islice(found, most)]


# --- log points ---


class HermitLog(gdb.Function):
    """Print the message of a log point of hermit-dap."""

    MOST = 4096  # characters of one value
    POSITIONS_SECONDS = 20  # that may go into finding out where lines are

    def __init__(self):
        super().__init__("_hermit_log")
        self.points = {}

    def define(self, number, text):
        point = json.loads(bytes.fromhex(text).decode())
        self.points[number] = dict(point, spent=0)

    def string(self, value):
        try:
            return value.string(errors="replace", length=-1)[:self.MOST]
        except gdb.error:
            return value.format_string()

    def format(self, expression, how):
        try:
            value = gdb.parse_and_eval(expression)
            if how == "s":
                return self.string(value)
            if how:
                return value.format_string(format=how)
            kind = value.type.strip_typedefs()
            chars = kind.code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_ARRAY) and kind.target().strip_typedefs().sizeof == 1
            # text without its address in front
            if chars and kind.target().strip_typedefs().code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR) and int(value.address or 1):
                return value.format_string(address=False) or value.format_string()
            return value.format_string()
        except (gdb.error, RuntimeError, ValueError, TypeError, UnicodeError) as e:
            return "<%s>" % e

    def where(self, point):
        began = time.monotonic()
        try:
            told = json.loads(gdb.execute("monitor hermit where --json", to_string=True))
        except (gdb.error, ValueError):
            return {}
        point["spent"] += time.monotonic() - began
        return {"position": told.get("position"), "event": told.get("event")}

    def line(self, number, point):
        text = "".join(p if isinstance(p, str) else self.format(p["e"], p["f"])[:self.MOST] for p in point["parts"])
        line = {"n": number, "t": text}
        if point["positions"] and point["spent"] < self.POSITIONS_SECONDS:
            line.update(self.where(point))
        return line

    def invoke(self, number):
        point = self.points.get(int(number))
        if point:
            gdb.write("\x01hermit-log" + json.dumps(self.line(int(number), point)) + "\n")
            gdb.flush()
        return 0


# --- C++ exceptions ---


class HermitType(gdb.Function):
    """Does the type of the C++ exception at hand match a regular expression?"""

    def __init__(self):
        super().__init__("_hermit_type")

    def invoke(self, kind, pattern):
        try:
            name = exception_type(exception_place(kind.string())[1])
        except (gdb.error, gdb.MemoryError, ValueError):
            return 1  # not known: the user shall see it
        return int(re.search(pattern.string(), name) is not None)


def word(address):
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(address, 8)), "little")


def text(address):
    data = bytes(gdb.selected_inferior().read_memory(address, 1))
    while data[-1] and len(data) < 4096:
        data += bytes(gdb.selected_inferior().read_memory(address + len(data), 1))
    return data.rstrip(b"\0").decode(errors="replace")


def register(name):
    return int(gdb.selected_frame().read_register(name)) & (1 << 64) - 1


def exception_place(kind):
    """Addresses of the exception and of its typeinfo, at the entry of __cxa_throw or __cxa_begin_catch."""
    at = register("rdi")
    if kind == "throw":
        return at, register("rsi")
    if kind != "catch" or word(at) >> 8 != int.from_bytes(b"GNUCC++", "big"):
        raise ValueError("not known")
    if word(at) & 1:  # of rethrow_exception(): the first member leads to the exception, in front of which is its own head
        at = word(at - 80) - 32
    return at + 32, word(at - 80)


def exception_type(info):
    name = text(word(info + 8)).lstrip("*")
    told = gdb.execute("demangle -l c++ -- _ZTI" + name, to_string=True).strip()
    return told[len("typeinfo for "):] if told.startswith("typeinfo for ") else name


def is_std_exception(info):
    """Along first bases; those of several bases at other offsets are left out."""
    for _ in range(64):
        if text(word(info + 8)) == "St9exception":
            return True
        symbol = gdb.execute("info symbol 0x%x" % word(info), to_string=True)
        if "__si_class_type_info" in symbol:
            info = word(info + 16)
        elif "__vmi_class_type_info" in symbol and word(info + 32) >> 8 == 0:
            info = word(info + 24)
        else:
            return False
    return False


def exception(kind):
    """Type and message, as far as they can be known. what() is called in a copy of the process that is thrown away."""
    told = {}
    try:
        place, info = exception_place(kind)
        told["type"] = exception_type(info)
        if is_std_exception(info):
            gdb.execute("set language c")
            what = gdb.parse_and_eval("((char *(*)(void *)) (*(void ***) 0x%x)[2])((void *) 0x%x)" % (place, place))
            told["what"] = text(int(what) & (1 << 64) - 1)
    except (gdb.error, gdb.MemoryError, ValueError):
        pass
    finally:
        gdb.execute("set language auto")
    return told


log_points = HermitLog()
HermitType()
NoShell("_shell")
add_printers()
