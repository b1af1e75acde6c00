"""Workspaces that were forgotten, as lines of text and for programs."""

from __future__ import annotations

from takeback.model.naming import ago
from takeback.words.documents import path_fields
from takeback.words.text import count, quoted, shown_path, size, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from takeback.retention.earlier import BroughtBack, Discarded
    from takeback.words.documents import Document

EMPTY = "The trash is empty."
_DAY = 86_400


def kept_document(kept: Discarded) -> Document:
    """Returns a store in the trash, for programs."""
    return {
        **path_fields(kept.root, "workspace"),
        "id": kept.id,
        "time": timestamp(kept.time),
        "until": None if kept.until is None else timestamp(kept.until),
        "checkpoints": kept.checkpoints,
        "bytes": kept.size,
    }


def kept_lines(found: Iterable[Discarded], now: float) -> Iterator[str]:
    """Yields what can be brought back whole."""
    for kept in found:
        what = f"{count(kept.checkpoints, 'checkpoint')} ({size(kept.size)})"
        yield f"In the trash: {shown_path(kept.root)}, {what}, {ago(kept.time, now)}  {kept.id}"


def done_lines(what: str, kept: Discarded | None) -> Iterator[str]:
    """Yields what was done and how to take it back; without ``kept`` nothing can."""
    yield f"Deleted {what}{' for good' if kept is None else ''}. The files are as they were."
    if kept is not None:
        days = "" if kept.until is None else f" for {(kept.until - kept.time) / _DAY:g} days"
        yield f"Bring them back{days}: takeback forget --restore {quoted(shown_path(kept.root))}"


def brought_back_lines(made: BroughtBack) -> Iterator[str]:
    """Yields what came back, and what became of what had been kept in its place."""
    kept = made.kept
    yield f"Brought back {count(kept.checkpoints, 'checkpoint')} of {shown_path(kept.root)}."
    if made.aside is not None:
        yield f"What was kept there since is set aside: takeback doctor --adopt {made.aside}"
