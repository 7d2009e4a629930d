"""Checks answers of the API against its description. Stricter than JSON Schema is: a property that is not described is a fault.

    doc = OpenApi(json.loads(...))
    doc.validate("GET", "/api/v1/recordings/{id}", 200, "application/json", body)     raises Fault
"""
import json
import re


class Fault(AssertionError):
    pass


TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
}
KNOWN = {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "pattern", "minimum", "maximum", "minItems", "maxItems",
         "minLength", "maxLength", "anyOf", "oneOf", "allOf", "description", "default", "format", "$ref", "title", "example", "examples", "contentEncoding", "contentMediaType"}


class OpenApi:
    def __init__(self, document):
        self.document = document

    def resolve(self, node):
        while isinstance(node, dict) and "$ref" in node:
            target = self.document
            for part in node["$ref"][2:].split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            node = target
        return node

    def operations(self):
        """(method, path, operation) of all there is."""
        for path, item in sorted(self.document["paths"].items()):
            for method, operation in sorted(item.items()):
                if method in ("get", "post", "put", "patch", "delete"):
                    yield method.upper(), path, operation

    def template(self, path):
        """The path of the description that fits a path, literals first."""
        fits = [t for t in self.document["paths"] if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(t)), path)]
        return min(fits, key=lambda t: t.count("{")) if fits else None

    def validate(self, method, path, status, content_type, body):
        """path: a template, or a path that fits one. body: bytes, or what json.loads() gave."""
        template = path if path in self.document["paths"] else self.template(path)
        where = "%s %s -> %d" % (method, path, status)
        if template is None:
            raise Fault("%s: no such path is described" % where)
        operation = self.document["paths"][template].get("get" if method == "HEAD" else method.lower())
        if operation is None:
            raise Fault("%s: no such method is described" % where)
        answers = operation["responses"]
        if str(status) not in answers and (status < 400 or "default" not in answers):
            raise Fault("%s: no such status is described" % where)
        answer = self.resolve(answers.get(str(status), answers.get("default")))
        content = answer.get("content")
        if not content or method == "HEAD":
            if isinstance(body, bytes) and body:
                raise Fault("%s: a body that is not described" % where)
            return
        kind = (content_type or "").split(";")[0].strip()
        if kind not in content:
            raise Fault("%s: content type %r is not described" % (where, content_type))
        schema = content[kind].get("schema", {})
        if kind == "application/x-ndjson" and types_of(schema) != ["string"]:
            for i, line in enumerate(body.decode().splitlines()):
                self.check(schema, json.loads(line), "%s line %d" % (where, i + 1))
        elif kind.endswith(("/json", "+json")):
            self.check(schema, json.loads(body) if isinstance(body, (bytes, str)) else body, where)

    def check(self, schema, value, where):
        """Raises Fault when value does not fit."""
        if schema is True:
            return
        if schema is False:
            raise Fault("%s: nothing may be here" % where)
        schema = self.resolve(schema)
        unknown = set(schema) - KNOWN
        if unknown:
            raise Fault("%s: this checker does not know %s" % (where, ", ".join(sorted(unknown))))
        if "allOf" in schema:
            self.check_all(schema, value, where)
            return
        for key in ("anyOf", "oneOf"):
            if key in schema:
                self.check_any(schema[key], value, where, exactly=key == "oneOf")
        self.check_kind(schema, value, where)
        if isinstance(value, dict) and (types_of(schema) is None or "object" in types_of(schema)):
            self.check_object(schema, value, where)
        if isinstance(value, list) and "items" in schema:
            for i, item in enumerate(value):
                self.check(schema["items"], item, "%s[%d]" % (where, i))

    def check_kind(self, schema, value, where):
        kinds = types_of(schema)
        if kinds is not None and not any(TYPES[k](value) for k in kinds):
            raise Fault("%s: %s is not %s" % (where, shown(value), " or ".join(kinds)))
        if "enum" in schema and value not in schema["enum"] and not (value is None and kinds and "null" in kinds):
            raise Fault("%s: %s is none of %s" % (where, shown(value), schema["enum"]))
        if "const" in schema and value != schema["const"]:
            raise Fault("%s: %s is not %s" % (where, shown(value), shown(schema["const"])))
        if isinstance(value, str):
            if "pattern" in schema and not re.search(schema["pattern"], value):
                raise Fault("%s: %s does not fit %s" % (where, shown(value), schema["pattern"]))
            limits(schema, len(value), "minLength", "maxLength", where)
        if TYPES["number"](value):
            limits(schema, value, "minimum", "maximum", where)
            if isinstance(value, int) and abs(value) >= 2 ** 53:
                raise Fault("%s: %d is beyond what JSON numbers hold exactly" % (where, value))
        if isinstance(value, list):
            limits(schema, len(value), "minItems", "maxItems", where)

    def check_object(self, schema, value, where):
        if not any(k in schema for k in ("properties", "required", "additionalProperties", "type")):
            return
        for name in schema.get("required", ()):
            if name not in value:
                raise Fault("%s: %s is missing" % (where, name))
        properties = schema.get("properties", {})
        for name, item in value.items():
            if name in properties:
                self.check(properties[name], item, where + "." + name)
            elif schema.get("additionalProperties", False) is False:
                raise Fault("%s: %s is not described" % (where, name))
            else:
                self.check(schema["additionalProperties"], item, where + "." + name)

    def check_any(self, schemas, value, where, exactly=False):
        faults, fits = [], 0
        for schema in schemas:
            try:
                self.check(schema, value, where)
                fits += 1
            except Fault as e:
                faults.append(str(e))
        if not fits:
            raise Fault("%s: fits nothing of %d: %s" % (where, len(schemas), "; ".join(faults)))
        if exactly and fits > 1:
            raise Fault("%s: fits %d of what it shall fit one" % (where, fits))

    def check_all(self, schema, value, where):
        """The properties of all parts together are those that are described."""
        whole = {"type": "object", "properties": dict(schema.get("properties", {})), "required": list(schema.get("required", ()))}
        for part in schema["allOf"]:
            part = self.resolve(part)
            whole["properties"].update(part.get("properties", {}))
            whole["required"] += part.get("required", ())
            if "additionalProperties" in part:
                whole["additionalProperties"] = part["additionalProperties"]
        self.check(whole, value, where)


def types_of(schema):
    kinds = schema.get("type")
    return [kinds] if isinstance(kinds, str) else kinds


def limits(schema, n, least, most, where):
    if least in schema and n < schema[least]:
        raise Fault("%s: %s is below %s" % (where, n, schema[least]))
    if most in schema and n > schema[most]:
        raise Fault("%s: %s is above %s" % (where, n, schema[most]))


def shown(value):
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
