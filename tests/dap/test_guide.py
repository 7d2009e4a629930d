"""docs/DAP.md and the manual page name all there is: requests, capabilities, events, words, filters, arguments."""
import glob
import json
import os
import re

import client


def text_of(*path):
    with open(os.path.join(client.TOP, *path), encoding="utf-8") as f:
        return f.read()


def missing(words, text):
    return [w for w in words if not re.search(r"(?<![A-Za-z/-])%s(?![A-Za-z-])" % re.escape(w), text)]


def test_requests(t):
    guide = text_of("docs", "DAP.md")
    table = text_of("dap", "requests.def")
    own = re.findall(r'"(hermit/\w+)"', table)
    capabilities = t.client().capabilities
    offered = [name[len("supports"):] for name in capabilities if name.startswith("supports")]
    assert own and offered and not missing(own + offered, guide), missing(own + offered, guide)
    filters = ["`%s`" % f["filter"] for f in capabilities["exceptionBreakpointFilters"]]
    assert not [f for f in filters if f not in guide], (filters, "docs/DAP.md")


def test_events(_):
    sent = set()
    for path in glob.glob(os.path.join(client.TOP, "dap", "*.c")):
        sent.update(re.findall(r'dap_event\(d, "(\w+)"', text_of(path)))
    told = re.search(r"\*\*Events:\*\*(.*?)\n\n", text_of("docs", "DAP.md"), re.S).group(1)
    assert sent and not missing(sent, told), missing(sent, told)


def test_bodies(_):
    """Members that requests of our own take and give are in their row."""
    rows = {name: line for line in text_of("docs", "DAP.md").splitlines() if line.startswith("| `hermit/") for name in re.findall(r"`(hermit/\w+)`", line)}
    for name, definition in json.loads(text_of("tests", "dap", "hermit.schema.json"))["definitions"].items():
        request = "hermit/" + name[len("Hermit")].lower() + re.sub("(Request|Response)$", "", name[len("Hermit") + 1:])
        for part in ("arguments", "body"):
            members = definition.get("properties", {}).get(part, {}).get("properties", {})
            for member in set(members) - {"singleThread", "text" if name == "HermitLogAllRequest" else "", "process"}:
                assert "`%s" % member in rows[request], "%s of %s is not in docs/DAP.md" % (member, request)


def test_words(_):
    """Those of gdb are listed in short; of the others each is there."""
    guide = text_of("docs", "DAP.md")
    words = re.findall(r'^WORD\("([^"]+)"', text_of("dap", "words.def"), re.M)
    assert words and not missing(words, guide), missing(words, guide)


def test_arguments(_):
    source = text_of("dap", "launch.c")
    for table, heading in (("launch_table", "| launch |"), ("attach_table", "| attach |")):
        names = re.findall(r'"(\w+)"', source[source.index("arg " + table):].split("};")[0])
        told = text_of("docs", "DAP.md").split(heading)[1].split("\n\n")[0]
        absent = [n for n in names if n != "noDebug" and "`%s`" % n not in told]
        assert names and not absent, (table, absent)
        page = text_of("docs", "man", "hermit-dap.1")
        absent = [n for n in names if n != "noDebug" and not re.search(r"^\.(It )?Va .*\b%s\b|^and\n\.Va %s" % (n, n), page, re.M)]
        assert not absent, ("manual page", table, absent)
