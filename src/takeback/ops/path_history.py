"""Path history: when some paths changed and who did it, over all turns and sessions.

A file that was renamed is followed to its earlier names:

    now            app.py   changed at 9, came at 7 from main.py
    before that    main.py  changed at 5 and 3
"""

from __future__ import annotations

import os

from takeback.errors import Command, UsageError
from takeback.git.hunks import renames
from takeback.ledger import paths as questions
from takeback.model.change import ADDED
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.ops.facts import lineage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import Order
    from takeback.model.timeline import OwnedChange
    from takeback.ops.context import Context
    from takeback.store.store import Store

_MOST_NAMES = 20


class PathChange(Value):
    """One change of a file, and the checkpoint at which it was found.

    ``before`` is the state that it was compared with, None for the first, ``was`` the name that the
    file had there.
    """

    checkpoint: Checkpoint
    change: OwnedChange
    before: bytes | None
    was: bytes


class PathName(Value):
    """A name that a file had, until a checkpoint at which it was found renamed; None: until now."""

    path: bytes
    until: Order | None = None


class PathHistory:
    """What is known about some paths, and about the names that they had earlier."""

    def __init__(self, ledger: Ledger, names: Sequence[PathName]) -> None:
        self._ledger = ledger
        self._names = names

    @property
    def paths(self) -> tuple[bytes, ...]:
        """Returns the paths, with their earlier names."""
        return tuple(dict.fromkeys(name.path for name in self._names))

    def checkpoints(self, session: str | None = None) -> list[Checkpoint]:
        """Returns the checkpoints whose entry in the log tells of a change, newest first."""
        found = {
            one.id: one
            for name in self._names
            for one in questions.changed_at(self._ledger, name.path)
            if name.until is None or one.order <= name.until
        }
        some = (one for one in found.values() if session in (None, one.session))
        return sorted(some, key=lambda one: one.order, reverse=True)


def path_history(context: Context, ledger: Ledger, paths: Sequence[bytes]) -> PathHistory:
    """Returns the history of some paths; raises UsageError for one that was never there."""
    names: list[PathName] = []
    for path in paths:
        there = os.path.lexists(os.path.join(context.workspace.root, path))
        if not there and not questions.changed_at(ledger, path):
            raise UsageError(
                f"{to_text(path)} is not there, and no checkpoint tells of it",
                hint=("look for it: ", Command("search", to_text(path))),
            )
        names += _names(context.store, ledger, path)
    return PathHistory(ledger, names)


def changes_of_file(store: Store, ledger: Ledger, path: bytes) -> list[PathChange]:
    """Returns every change of one file here, oldest first, under all names that it had."""
    found: list[PathChange] = []
    known: tuple[PathName, ...] = ()
    waiting = [PathName(path)]
    while waiting and len(known) < _MOST_NAMES:
        name = waiting.pop()
        known = (*known, name)
        for one in _changes(store, ledger, name):
            found.append(one)
            earlier = PathName(one.was, one.checkpoint.order)
            if one.was != name.path and earlier.path not in (other.path for other in known):
                waiting.append(earlier)
    return sorted(found, key=lambda one: one.checkpoint.order)


def _names(store: Store, ledger: Ledger, path: bytes) -> Iterator[PathName]:
    """Yields a path, and the names that it had before it was renamed."""
    yield PathName(path)
    for one in changes_of_file(store, ledger, path):
        if one.was != one.change.path:
            yield PathName(one.was, one.checkpoint.order)


def _changes(store: Store, ledger: Ledger, name: PathName) -> Iterator[PathChange]:
    for checkpoint, change in questions.changes_of(ledger, name.path, lineage_of(store, ledger)):
        if name.until is not None and checkpoint.order >= name.until:
            break
        state = ledger.state_before(checkpoint)
        before = None if state is None else bytes.fromhex(state)
        was = name.path
        if change.kind == ADDED and before is not None and checkpoint.expired is None:
            came = renames(store.git, before, checkpoint.tree)
            was = next((old for old, new in came.items() if new == name.path), name.path)
        yield PathChange(checkpoint, change, before, was)
