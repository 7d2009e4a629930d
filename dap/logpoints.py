# Log points of hermit-dap: a function for conditions of breakpoints. gdb evaluates it where the guest stands, also inside of steps; it prints a line of
# JSON and is false, so that nothing stops. dap/logpoints.c reads the lines.
import json
import time
import gdb


class HermitLog(gdb.Function):
    """Print the message of a log point of hermit-dap."""

    MOST = 4096  # characters of one value
    POSITIONS_SECONDS = 20  # that may go into finding out where lines are

    def __init__(self):
        super().__init__("_hermit_log")
        self.points = {}

    def define(self, number, text):
        point = json.loads(bytes.fromhex(text).decode())
        self.points[number] = dict(point, count=0, spent=0)

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
        if not point:
            return 0
        point["count"] += 1
        gdb.write("\x01hermit-log" + json.dumps(self.line(int(number), point)) + "\n")
        gdb.flush()
        return int(bool(point["limit"]) and point["count"] >= point["limit"])


hermit_log = HermitLog()
