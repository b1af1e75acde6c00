"""Diff: what differs between two states, as a patch for people to read."""

from __future__ import annotations

import os

from takeback.errors import Command, UsageError
from takeback.git.diff import unified
from takeback.ledger.steps import folded
from takeback.model.change import MODE
from takeback.model.path_text import covers, parents, to_text
from takeback.ops.capture import capture
from takeback.ops.compare import counted_changes
from takeback.ops.review import reviewed
from takeback.store import trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from takeback.model.change import CountedChange
    from takeback.model.comparison import Between
    from takeback.ops.context import Context


def present_tree(context: Context) -> bytes:
    """Captures the workspace without a checkpoint and returns its tree."""
    with context.locked() as locked:
        captured = capture(locked)
        captured.keep()
    return captured.tree


def patch(
    context: Context,
    between: Between,
    paths: tuple[bytes, ...] = (),
    *,
    hides: Callable[[bytes], bool] | None = None,
    color: bool = False,
) -> bytes:
    """Returns a unified diff, followed by words about permission bits that git does not see.

    What a turn did to a file that others changed meanwhile is in several parts. Of what ``hides``
    names, only that it differs is said.
    """
    changed = () if hides is None else tuple(one.path for one in changes(context, between, paths))
    hidden = tuple(sorted(filter(hides, changed)))
    if between.parts is None:
        only = _beside(changed, hidden) if hidden else None
        text = _patch(context, between.old, between.new, paths, only, color=color)
        return text + _hidden_line(hidden)
    found = []
    for part in between.parts:
        some = tuple(sorted(path for path in part.paths if covers(paths, path)))
        only = _beside(some, hidden) if hidden else None
        found.append(_patch(context, part.old, part.new, some, only, color=color) if some else b"")
    return b"".join(found) + _hidden_line(hidden)


def _beside(paths: Sequence[bytes], hidden: Sequence[bytes]) -> tuple[bytes, ...]:
    """Returns the paths that neither are hidden nor have one below them."""
    above = {*hidden, b"", *(each for one in hidden for each in parents(one))}
    return tuple(sorted(path for path in paths if path not in above))


def _hidden_line(hidden: Sequence[bytes]) -> bytes:
    """Returns a line that names what differs and is not shown, if anything is not."""
    if not hidden:
        return b""
    names = ", ".join(map(to_text, hidden))
    said = f"not shown to a model, as their names speak of secrets: {names}\n"
    return said.encode("utf-8", "surrogateescape")


def _patch(
    context: Context,
    before: str,
    after: str,
    paths: tuple[bytes, ...],
    only: tuple[bytes, ...] | None,
    *,
    color: bool,
) -> bytes:
    """Returns what differs at some paths; if ``only`` some of it is shown, the lines of that."""
    old, new = bytes.fromhex(before), bytes.fromhex(after)
    shown = paths if only is None else only
    text = b"" if only == () else unified(context.store.git, old, new, paths=shown, color=color)
    return text + b"".join(_mode_lines(context, old, new, paths))


def _mode_lines(context: Context, old: bytes, new: bytes, paths: tuple[bytes, ...]) -> list[bytes]:
    lines = []
    for change in trees.diff(context.store, old, new):
        if change.kind != MODE or not covers(paths, change.path):
            continue
        if change.old is not None and change.new is not None:
            was, now = change.old.mode & 0o777, change.new.mode & 0o777
            if was != now:
                line = f"mode {was:04o} -> {now:04o} {to_text(change.path)}\n"
                lines.append(line.encode("utf-8", "surrogateescape"))
    return lines


def check_known(context: Context, paths: tuple[bytes, ...], old: bytes, new: bytes) -> None:
    """Raises UsageError for a path that is in neither state, and not in the workspace."""
    for path in paths:
        there = os.path.lexists(os.path.join(context.workspace.root, path))
        known = (trees.lookup(context.store, root, path) is not None for root in (old, new))
        if path and not there and not any(known):
            raise UsageError(
                f"{to_text(path)} is in neither of the two states",
                hint=("where it was changed: ", Command("search", to_text(path))),
            )


def changes(
    context: Context, between: Between, paths: tuple[bytes, ...] = ()
) -> list[CountedChange]:
    """Returns the changed paths with their line counts."""
    if between.parts is None:
        old, new = bytes.fromhex(between.old), bytes.fromhex(between.new)
        found = counted_changes(context.store, old, new)
    else:
        found = folded(one.counted for one in reviewed(context.store, between))
    return [change for change in found if covers(paths, change.path)]
