"""Reads what requests hold, as their schemas say (``model/schemas.py``)."""

from __future__ import annotations

import json
import re

from takeback.model import schemas
from takeback.serve.errors import bad_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.schemas import Schema


def read_json(data: bytes, depth: int) -> object:
    """Returns what a body holds; raises Rejected if it is not JSON, or nested too deep."""
    if nesting(data) > depth:
        raise bad_request(f"the JSON of the body is nested deeper than {depth}")
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise bad_request("the body is not valid JSON") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def nesting(data: bytes) -> int:
    """Returns how deep the brackets of a JSON text are nested, without reading it as JSON."""
    deepest = now = 0
    for token in _TOKEN.findall(data):
        if token in (b"[", b"{"):
            now += 1
            deepest = max(deepest, now)
        elif token in (b"]", b"}"):
            now -= 1
    return deepest


# A string that does not end is taken whole: else the search would begin anew at each quote in it.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


def check(value: object, schema: Schema, name: str = "the body") -> None:
    """Raises Rejected, naming the field, if a value is not as its schema says."""
    try:
        schemas.check(value, schema, name)
    except schemas.Unfit as error:
        raise bad_request(str(error)) from None


def read_text(given: str, schema: Schema, name: str) -> object:
    """Returns a parameter of a path or query as its schema types it; raises Rejected."""
    value: object = given
    if schema["type"] == "integer":
        if not re.fullmatch(r"-?[0-9]{1,15}", given, re.ASCII):
            raise bad_request(f"{name} is not an integer")
        value = int(given)
    elif schema["type"] == "boolean":
        if given not in ("true", "false"):
            raise bad_request(f"{name} is not true or false")
        value = given == "true"
    check(value, schema, name)
    return value
