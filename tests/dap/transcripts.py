"""Plays what an editor sent in a transcript, and masks what differs from run to run. See the program transcript.

In requests {"$recording": NAME} and {"$source": NAME} stand for a recording of context.py and its source; {"$last": [COMMAND, "a/0/b"]} for a part of the
body of the last answer to COMMAND.
"""
import json
import os
import re

import context

FOLDER = os.path.join(context.HERE, "transcripts")
# Requests that a stop follows.
RUNS = ("configurationDone", "continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "restart", "hermit/seek", "hermit/lastWrite", "hermit/navigate",
        "hermit/reverseNext", "hermit/reverseStepIn", "hermit/reverseStepOut")
NUMBERS = ("pid", "thread", "timeNs", "events", "event", "totalModules")


def path(name):
    return os.path.join(FOLDER, name + ".jsonl")


def load(name):
    """The lines of a transcript."""
    with open(path(name), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def mask(value, key=None):
    if isinstance(value, dict):
        return {k: mask(v, k) for k, v in value.items() if k not in ("seq", "request_seq")}
    if isinstance(value, list):
        return [mask(v, key) for v in value]
    if key in NUMBERS and not isinstance(value, bool):
        return "N"
    if not isinstance(value, str):
        return value
    value = value.replace(context.FOLDER, "BUILD").replace(context.client.TOP, "TOP")
    value = re.sub(r"/\S*/store\b", "STORE", value)
    value = re.sub(r"0x[0-9a-f]+", "ADDRESS", value)
    value = re.sub(r"\b[0-9a-f]{32}\b", "ID", value)
    return re.sub(r"event \d+ of \d+|\(\d+\)|\b\d{5,}\b", "N", value)


def filled(value, t, last):
    """A request's arguments with what stands for something of this run put in."""
    if isinstance(value, list):
        return [filled(v, t, last) for v in value]
    if not isinstance(value, dict):
        return value
    if "$recording" in value:
        return t.recording(value["$recording"])
    if "$source" in value:
        return t.source(value["$source"])
    if "$line" in value:
        return t.line(*value["$line"])
    if "$last" in value:
        command, where = value["$last"]
        found = last[command]
        for step in where.split("/"):
            found = found[int(step)] if isinstance(found, list) else found[step]
        return found
    return {k: filled(v, t, last) for k, v in value.items()}


def play(t, lines):
    """The transcript of sending what is sent in lines."""
    c, made, last = t.adapter().connect(), [], {}
    for sent in (line[">"] for line in lines if ">" in line):
        command = sent["command"]
        arguments = filled(sent["arguments"], t, last) if "arguments" in sent else None
        made.append({">": sent})
        answer = c.answer(c.send(command, arguments, valid=False))
        last[command] = answer.get("body", {})
        made.append({"<": mask(answer)})
        if command in ("launch", "attach") and answer["success"]:
            c.event("initialized")
        if command in RUNS and answer["success"]:
            last["stopped"] = c.stop()
            made.append({"<": {"type": "event", "event": "stopped", "body": mask(last["stopped"])}})
    return made
