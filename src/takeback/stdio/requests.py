"""Requests: what an extension asks, one JSON object per line."""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.model import json_text
from takeback.model.operation import scope_named
from takeback.model.policy import NO_OVERRIDES
from takeback.words import waivers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.model.operation import ScopeKind
    from takeback.model.policy import Overrides

    Document = dict[str, Any]


def read(line: bytes) -> Document:
    try:
        request = json_text.loads(line.decode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not isinstance(request, dict):
        raise UsageError("a request is a JSON object")
    return request


def text(request: Document, name: str) -> str | None:
    value = request.get(name)
    return value if isinstance(value, str) else None


def needed(request: Document, name: str) -> str:
    value = text(request, name)
    if value is None:
        raise UsageError(f"{name} is missing")
    return value


def scope(request: Document) -> ScopeKind | None:
    """Returns what is to move, if specified; raises UsageError."""
    name = text(request, "scope")
    return None if name is None else scope_named(name)


def overrides(request: Document) -> Overrides:
    """Returns what the person waives, given by the flags of the command line or by name."""
    given = request.get("overrides")
    return (
        waivers.overrides(str(name) for name in given) if isinstance(given, list) else NO_OVERRIDES
    )
