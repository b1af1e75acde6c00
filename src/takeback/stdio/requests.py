"""Requests: what an extension asks, one JSON object per line."""

from __future__ import annotations

from base64 import b64decode

from takeback.errors import UsageError
from takeback.model import json_text
from takeback.model.conflicts import NOTHING_CHOSEN, ConflictChoices, choice_named
from takeback.model.coverage import NO_OVERRIDES
from takeback.model.operation import scope_named
from takeback.model.path_text import to_bytes
from takeback.rewind.request import NOTHING, Keeping, kept_named
from takeback.words import outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.model.coverage import Overrides
    from takeback.model.operation import ScopeKind

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


def texts(request: Document, name: str) -> list[str]:
    """Returns the words of a list; raises UsageError."""
    value = request.get(name)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UsageError(f"{name} is a list of words")
    return value


def scope(request: Document) -> ScopeKind | None:
    """Returns what is to move, if specified; raises UsageError."""
    name = text(request, "scope")
    return None if name is None else scope_named(name)


def keeping(request: Document) -> Keeping:
    """Returns what is kept of the time since, with what is chosen about it; raises UsageError."""
    return Keeping(kept_named(text(request, "keep") or NOTHING), choices(request))


def choices(request: Document) -> ConflictChoices:
    """Returns what is chosen about conflicts; raises UsageError.

    ``conflicts`` is one choice about all of them, or a list with the choices about each path.
    """
    given = request.get("conflicts")
    if given is None:
        return NOTHING_CHOSEN
    if isinstance(given, str):
        return ConflictChoices(otherwise=choice_named(given))
    if not isinstance(given, list):
        raise UsageError("conflicts is a choice, or a list of paths with choices")
    return ConflictChoices({_path(one): tuple(map(choice_named, _named(one))) for one in given})


def _named(about: Document) -> list[str]:
    found = about.get("choices")
    if not isinstance(found, list):
        raise UsageError("choices about a path are a list")
    return [str(name) for name in found]


def _path(about: Document) -> bytes:
    if not isinstance(about, dict):
        raise UsageError("a path with choices is a JSON object")
    encoded = text(about, "path_b64")
    if encoded is None:
        return to_bytes(needed(about, "path"))
    try:
        return b64decode(encoded, validate=True)
    except ValueError:
        raise UsageError("path_b64 is not base64") from None


def overrides(request: Document) -> Overrides:
    """Returns what the person waives, given by the flags of the command line or by name.

    Raises UsageError for what is neither.
    """
    return (
        outcomes.overrides(texts(request, "overrides")) if "overrides" in request else NO_OVERRIDES
    )
