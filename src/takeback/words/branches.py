"""Two branches in words: file by file, what each changed since they parted."""

from __future__ import annotations

from takeback.model.address import address
from takeback.model.checkpoint import ADDED, DELETED
from takeback.visible import shown
from takeback.words.documents import file_fields
from takeback.words.text import count, cut_left, filled, shown_file, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.merge.revert import BranchEnd, Branches
    from takeback.model.checkpoint import CountedChange
    from takeback.words.documents import Document
    from takeback.words.text import Paint

_NAME = 32
_KINDS = {ADDED: "new ", DELETED: "gone "}


def branch_lines(found: Branches, paint: Paint, now: float) -> Iterator[str]:
    """Yields the files that at least one of them changed, in columns."""
    yield f"both come from {paint.id(found.origin.id)} ({address(found.origin, now)})"
    if not found.paths:
        yield "nothing changed since in either"
        return
    rows = [
        ("", *(cut_left(shown(end.name), _NAME) for end in (found.a, found.b)), ""),
        *(
            (shown_file(one.path), _cell(one.a), _cell(one.b), _mark(one.a, one.b, same=one.same))
            for one in found.paths
        ),
        (count(found.paths, "file"), *(_sum(found, at) for at in range(2)), ""),
    ]
    widths = [max(width(row[at]) for row in rows) for at in range(4)]
    for number, row in enumerate(rows):
        path, a, b, mark = (filled(row[at], widths[at]) for at in range(4))
        line = f"{path}  {a}  {b}"
        line = paint.strong(line.rstrip()) if number in (0, len(rows) - 1) else line
        yield f"{line}  {paint.warning(mark.rstrip())}".rstrip()


def _cell(change: CountedChange | None) -> str:
    if change is None:
        return "-"
    lines = "changed" if None in (change.added, change.deleted) else _lines(change)
    return f"{_KINDS.get(change.kind, '')}{lines}"


def _lines(change: CountedChange) -> str:
    return f"+{change.added} -{change.deleted}"


def _mark(a: CountedChange | None, b: CountedChange | None, *, same: bool) -> str:
    if same:
        return "the same"
    return "" if None in (a, b) else "they differ"


def _sum(found: Branches, at: int) -> str:
    changes = [one for path in found.paths if (one := (path.a, path.b)[at]) is not None]
    added, deleted = (sum(getattr(one, n) or 0 for one in changes) for n in ("added", "deleted"))
    return f"{len(changes)}: +{added} -{deleted}"


def document(found: Branches) -> Document:
    """Returns both branches, and the paths that at least one of them changed."""
    return {
        "origin": found.origin.id,
        "a": _end(found.a),
        "b": _end(found.b),
        "paths": [
            {
                **file_fields(one.path),
                "a": _change(one.a),
                "b": _change(one.b),
                "same": one.same,
            }
            for one in found.paths
        ],
    }


def _end(end: BranchEnd) -> Document:
    return {"name": end.name, "snapshot": end.tree.hex(), "checkpoint": end.point.id}


def _change(change: CountedChange | None) -> Document | None:
    if change is None:
        return None
    return {"kind": change.kind, "added": change.added, "deleted": change.deleted}
