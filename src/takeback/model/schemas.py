"""Schemas: what a request may hold. A small part of JSON Schema, and its check."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Schema = Mapping[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
}
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 1024}
"""The name of a checkpoint, a turn or a session."""
PATH: Schema = {"type": "string", "minLength": 1, "maxLength": 4096}


def strings(items: Schema, most: int) -> Schema:
    """Returns the schema of a list."""
    return {"type": "array", "items": items, "maxItems": most}


def fields(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    """Returns the schema of an object that has these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


class Unfit(ValueError):
    """A value is not as its schema says; the message names the field."""


def check(value: object, schema: Schema, name: str = "the body") -> None:
    """Raises Unfit, naming the field, if a value is not as its schema says."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is(value, kind) for kind in kinds):
        raise Unfit(f"{name} is not {' or '.join(_article(kind) for kind in kinds)}")
    if "enum" in schema and value not in schema["enum"]:
        known = ", ".join(str(one) for one in schema["enum"])
        raise Unfit(f"{name} is none of: {known}")
    if isinstance(value, str):
        _check_text(value, schema, name)
    elif isinstance(value, int) and not isinstance(value, bool):
        _check_number(value, schema, name)
    elif isinstance(value, list):
        if len(value) > schema.get("maxItems", len(value)):
            raise Unfit(f"{name} has more than {schema['maxItems']} items")
        for at, one in enumerate(value):
            check(one, schema["items"], f"{name}[{at}]")
    elif isinstance(value, dict):
        _check_object(value, schema, name)


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _article(kind: str) -> str:
    return kind if kind == "null" else f"{'an' if kind[0] in 'aio' else 'a'} {kind}"


def _check_text(value: str, schema: Schema, name: str) -> None:
    if len(value) > schema.get("maxLength", len(value)):
        raise Unfit(f"{name} is longer than {schema['maxLength']} characters")
    if len(value) < schema.get("minLength", 0):
        raise Unfit(f"{name} is shorter than {schema['minLength']} characters")
    if "\0" in value or any("\ud800" <= one <= "\udfff" for one in value):
        raise Unfit(f"{name} holds what is not text")
    if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        raise Unfit(f"{name} is not like {schema['pattern']}")


def _check_number(value: int, schema: Schema, name: str) -> None:
    low, high = schema.get("minimum"), schema.get("maximum")
    if (low is not None and value < low) or (high is not None and value > high):
        raise Unfit(f"{name} is not between {low} and {high}")


def _check_object(value: dict[str, object], schema: Schema, name: str) -> None:
    properties = schema.get("properties", {})
    for field in schema.get("required", ()):
        if field not in value:
            raise Unfit(f"{field} is missing")
    others = schema.get("additionalProperties")
    if len(value) > schema.get("maxProperties", len(value)):
        raise Unfit(f"{name} has more than {schema['maxProperties']} fields")
    for field, one in value.items():
        if field in properties:
            check(one, properties[field], field)
        elif isinstance(others, dict):
            _check_text(field, PATH, f"a name in {name}")
            check(one, others, name)
        else:
            raise Unfit(f"there is no field {field[:80]!r} in {name}")
