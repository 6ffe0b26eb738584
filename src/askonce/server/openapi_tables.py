"""The operations of an OpenAPI document as tables of fields with types and limits."""

import json
import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


def operations(openapi: Schema) -> Iterator[Schema]:
    """The operations, each with an anchor, tables of its fields and examples of its bodies."""
    schemas = openapi["components"]["schemas"]
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            bodies = [("Request body", operation.get("requestBody", {}))]
            bodies += [
                (f"Response {status}", response)
                for status, response in operation["responses"].items()
                if status.startswith("2")
            ]
            parameters = [
                _field(one["name"], one["schema"], one.get("required", False))
                | {"description": one.get("description", "")}
                for one in operation.get("parameters", ())
            ]
            tables = [("Parameters", parameters)]
            tables += [(title, _body_fields(body, schemas)) for title, body in bodies]
            examples = [(title, _example(body, schemas)) for title, body in bodies]
            yield operation | {
                "method": method.upper(),
                "path": path,
                "anchor": re.sub(r"\W+", "-", f"{method}{path}").strip("-"),
                "tables": [(title, fields) for title, fields in tables if fields],
                "examples": [(title, text) for title, text in examples if text],
            }


def _body_fields(body: Schema, schemas: Schema) -> list[Schema]:
    for content in body.get("content", {}).values():
        schema = content.get("schema", {})
        for choice in (schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())):
            record = _resolved(choice, schemas)
            required = record.get("required", ())
            if record.get("properties"):
                return [
                    _field(name, field, name in required)
                    for name, field in record["properties"].items()
                ]
    return []


def _field(name: str, schema: Schema, required: bool) -> Schema:
    limits = [text.format(f"{value:,}") for value, text in _limits(schema)]
    return {
        "name": name,
        "required": required,
        "type": _type(schema),
        "limits": ", ".join(limits),
        "description": schema.get("description", ""),
    }


def _limits(schema: Schema) -> Iterator[tuple[Any, str]]:
    for choice in (schema, *schema.get("anyOf", ())):
        for key, text in LIMITS.items():
            if key in choice:
                yield choice[key], text


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if choices := schema.get("anyOf", schema.get("oneOf")):
        return " or ".join(_type(choice) for choice in choices)
    if "enum" in schema:
        return " or ".join(json.dumps(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _resolved(schema: Schema, schemas: Schema) -> Schema:
    name = schema.get("$ref", "").rpartition("/")[2]
    return schemas.get(name, schema)


def _example(body: Schema, schemas: Schema) -> str:
    """The first example of a request or response body; "" if there is none."""
    for content in body.get("content", {}).values():
        if "example" in content:
            return str(content["example"])
        schema = content.get("schema", {})
        for choice in (schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())):
            for example in _resolved(choice, schemas).get("examples", ()):
                return json.dumps(example, indent=2, ensure_ascii=False)
    return ""
