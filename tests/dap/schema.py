"""Validates messages of the Debug Adapter Protocol by its published schema, and those of requests hermit/... by hermit.schema.json.

What hermit-dap sends is taken more strictly than by the schema, which lets everybody add members: an unknown one is more likely a misspelt one.
"""
import json
import os
import re

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
# Objects that are open on purpose: members of launch are the adapter's, adapterData its own.
OPEN = ("LaunchRequestArguments", "AttachRequestArguments")


class Invalid(AssertionError):
    """A message that is not what the schema says."""


def load(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return json.load(f)


def closed(schema):
    """A copy in which objects have no members but the ones that are named."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: closed(value) for key, value in schema.items()}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        copy["additionalProperties"] = False
    return copy


def close_messages(definitions):
    """The messages themselves are put together of several objects: closed are only the objects below."""
    result = {}
    for name, definition in definitions.items():
        if name in OPEN or "allOf" not in definition:
            result[name] = definition if name in OPEN or name == "ProtocolMessage" else closed(definition)
            continue
        base, own = definition["allOf"]
        own = dict(own, properties={key: closed(value) for key, value in own.get("properties", {}).items()})
        result[name] = {"allOf": [base, own]}
    return result


class Schema:
    def __init__(self):
        published, ours = load("debugAdapterProtocol.json"), load("hermit.schema.json")
        self.names = set(published["definitions"])
        self.ours = ours["definitions"]
        self.open = dict(published, definitions=dict(published["definitions"], **self.ours))
        self.strict = dict(published, definitions=dict(close_messages(published["definitions"]), **self.ours))
        self.validators = {}

    def requests(self):
        """Commands that clients send, as the protocol names them."""
        found = []
        for name in sorted(self.names):
            fixed = self.open["definitions"][name].get("allOf", [{}, {}])[1].get("properties", {}).get("command", {}).get("enum")
            if name.endswith("Request") and fixed:
                found += fixed
        return [name for name in found if name not in ("runInTerminal", "startDebugging")]

    def validator(self, name, strict):
        if (name, strict) not in self.validators:
            root = self.strict if strict else self.open
            self.validators[name, strict] = jsonschema.Draft4Validator(dict(root, allOf=[{"$ref": "#/definitions/" + name}]))
        return self.validators[name, strict]

    def definition(self, message):
        kind = message.get("type")
        if kind not in ("request", "response", "event"):
            raise Invalid("a message of type %r" % kind)
        name = message.get("event" if kind == "event" else "command")
        if not isinstance(name, str):
            raise Invalid("a message without name: %r" % message)
        if kind == "response" and message.get("success") is False:
            return "ErrorResponse"
        ours = re.fullmatch(r"hermit/(\w+)", name)
        found = (ours.group(1) if ours else name)
        found = ("Hermit" if ours else "") + found[:1].upper() + found[1:] + kind.capitalize()
        if found not in self.names and found not in self.ours:
            raise Invalid("the schema has no %s" % found)
        return found

    def check(self, message, strict=False):
        """Raises Invalid."""
        name = self.definition(message)
        error = jsonschema.exceptions.best_match(self.validator(name, strict).iter_errors(message))
        if error:
            raise Invalid("%s: at %s: %s\n    %s" % (name, "/".join(map(str, error.absolute_path)) or "top", error.message[:500], json.dumps(message)[:1500]))
