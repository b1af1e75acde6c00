"""Blame: who wrote each line of a file, and when some paths changed.

    version     a b c      before takeback
    turn 2      a B c      B is turn 2's, the others stay whose they were
    by hand     a B c d    d is the person's
    rewind      a b c      every line is whose it was in the version that came back

The versions of the file are followed from the first that is known, change by change.
"""

from __future__ import annotations

import os

from takeback.errors import Command, NoSuchCheckpoint, UsageError
from takeback.git.diff import LARGEST_SHOWN, hunks_of_blobs, renames
from takeback.ledger import by_session
from takeback.ledger import lists as ledger_paths
from takeback.model.checkpoint import ADDED
from takeback.model.entries import INTERRUPTED, OUTSIDE, Turn
from takeback.model.lines import is_binary, split
from takeback.model.operation import Move, moves
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.rewind.refuse import last_seen, lineage_of
from takeback.store import trees
from takeback.store.records import known_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final, Literal

    from takeback.context import Context
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint, Entry
    from takeback.model.entries import OwnedChange
    from takeback.model.ids import Order
    from takeback.store.store import Store

    AuthorKind = Literal["before takeback", "a turn", "by hand", "an operation", "unseen", "nobody"]

# -- path history: when some paths changed and who did it, over all turns and sessions
#
# A file that was renamed is followed to its earlier names:
#
#     now            app.py   changed at 9, came at 7 from main.py
#     before that    main.py  changed at 5 and 3


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
            for one in ledger_paths.changed_at(self._ledger, name.path)
            if name.until is None or one.order <= name.until
        }
        some = (one for one in found.values() if session in (None, one.session))
        return sorted(some, key=lambda one: one.order, reverse=True)


def path_history(context: Context, ledger: Ledger, paths: Sequence[bytes]) -> PathHistory:
    """Returns the history of some paths; raises UsageError for one that was never there."""
    names: list[PathName] = []
    for path in paths:
        there = os.path.lexists(os.path.join(context.workspace.root, path))
        if not there and not ledger_paths.changed_at(ledger, path):
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
    for checkpoint, change in ledger_paths.changes_of_path(
        ledger, name.path, lineage_of(store, ledger)
    ):
        if name.until is not None and checkpoint.order >= name.until:
            break
        state = ledger.state_before(checkpoint)
        before = None if state is None else bytes.fromhex(state)
        was = name.path
        if change.kind == ADDED and before is not None and checkpoint.expired is None:
            came = renames(store.git, before, checkpoint.tree)
            was = next((old for old, new in came.items() if new == name.path), name.path)
        yield PathChange(checkpoint, change, before, was)


# -- blame
#
# The versions of the file are followed from the first that is known, change by change:


FIRST: Final = "before takeback"
"""The line is older than the first checkpoint."""
BY_TURN: Final = "a turn"
BY_HAND: Final = "by hand"
BY_OPERATION: Final = "an operation"
"""A line that was in no version before: what a merge wrote, or a hunk that was edited."""
UNSEEN: Final = "unseen"
"""No checkpoint has it yet."""
NOT_KNOWN: Final = "nobody"
"""It changed while several could have done it."""

_VERSIONS = 12
"""How many versions are compared with what an operation wrote, if none of them is exactly that."""


class Author(Value):
    """Who wrote a line, and the checkpoint at which that was found."""

    kind: AuthorKind
    checkpoint: Checkpoint | None = None
    turn: Turn | None = None
    who: str | None = None
    operation: Move | None = None


_FIRST = Author(FIRST)


class BlamedLine(Value):
    """One line of a file; lines are counted from 1."""

    number: int
    text: bytes
    author: Author


class Blame(Value):
    """The lines of a file with their authors.

    ``expired`` is how many changes of it are in checkpoints whose files are gone: what they wrote
    is told of the change that follows them.
    """

    path: bytes
    lines: tuple[BlamedLine, ...]
    expired: int = 0


class State(Value):
    """Where a file is looked at: the snapshot, and its checkpoint unless it is the present."""

    tree: bytes
    checkpoint: Checkpoint | None = None

    @property
    def until(self) -> Order | None:
        return None if self.checkpoint is None else self.checkpoint.order


def blame(store: Store, ledger: Ledger, state: State, path: bytes) -> Blame:
    """Returns who wrote each line of a file; raises NoSuchCheckpoint or UsageError."""
    entry = trees.lookup(store, state.tree, path) if path else None
    if entry is None or not entry.is_file:
        raise _nothing_to_blame(state, path, entry)
    if store.packs.size_of(entry.oid) > LARGEST_SHOWN:
        raise UsageError(f"{to_text(path)} is too large for its lines to be compared")
    text = store.blob(entry.oid, LARGEST_SHOWN)
    if is_binary(text):
        raise UsageError(f"{to_text(path)} is a binary file and has no lines")
    walk = _Walk(store, ledger)
    until = state.until
    changes = changes_of_file(store, ledger, path)
    events: list[tuple[Order, PathChange | Move]] = [
        *((one.checkpoint.order, one) for one in changes),
        *((one.order, one) for one in moves(known_here(store)) if one.moves_files),
    ]
    names = {path, *(one.was for one in changes), *(one.change.path for one in changes)}
    for order, event in sorted(events, key=lambda one: one[0]):
        if until is None or order <= until:
            walk.take(event, names)
    if state.checkpoint is None:
        seen = last_seen(ledger, store.machine)
        walk.step(_lookup(store, seen, path), entry, Author(UNSEEN))
    authors = walk.authors(entry)
    lines = split(text)
    return Blame(
        path,
        tuple(
            BlamedLine(number, line, author)
            for number, (line, author) in enumerate(zip(lines, authors, strict=True), 1)
        ),
        walk.expired,
    )


def _nothing_to_blame(
    state: State, path: bytes, entry: Entry | None
) -> NoSuchCheckpoint | UsageError:
    name = to_text(path) or "."
    if entry is not None or not path:
        what = "a link" if entry is not None and entry.is_link else "a directory"
        return UsageError(f"{name} is {what} and has no lines", hint="name a file")
    where = (
        "not there now, or not kept"
        if state.checkpoint is None
        else f"not in {state.checkpoint.id}"
    )
    return NoSuchCheckpoint(
        f"{name} is {where}",
        hint=("where it was changed: ", Command("log", "--", name), "; then blame it there"),
    )


def _lookup(store: Store, tree: str | bytes | None, path: bytes) -> Entry | None:
    """Returns the file at a path; None if there is none whose lines can be compared."""
    if tree is None:
        return None
    root = bytes.fromhex(tree) if isinstance(tree, str) else tree
    found = trees.lookup(store, root, path)
    if found is None or not found.is_file:
        return None
    return found if store.packs.size_of(found.oid) <= LARGEST_SHOWN else None


class _Version(Value):
    """A version of the file, when it came, and who wrote its lines."""

    sequence: int
    oid: bytes
    authors: Sequence[Author]


class _Walk:
    """The versions so far; each change adds one."""

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger
        self._versions: list[_Version] = []
        self.expired = 0

    def take(self, event: PathChange | Move, names: set[bytes]) -> None:
        """Takes in a change of the file, or an operation that may have moved it."""
        if isinstance(event, Move):
            self._operation(event, names)
            return
        checkpoint, change = event.checkpoint, event.change
        if checkpoint.expired is not None:
            self.expired += 1
            return
        old = _lookup(self._store, event.before, event.was)
        new = _lookup(self._store, checkpoint.tree, change.path)
        self.step(old, new, self._author(event), checkpoint.sequence)

    def _author(self, event: PathChange) -> Author:
        checkpoint, change = event.checkpoint, event.change
        turn = None if change.turn is None else by_session.turn_by_id(self._ledger, change.turn)
        if turn is not None:
            return Author(BY_TURN, checkpoint, turn, change.who)
        kind: AuthorKind = BY_HAND if change.who == OUTSIDE else NOT_KNOWN
        kind = BY_OPERATION if change.who == INTERRUPTED else kind
        return Author(kind, checkpoint, None, change.who)

    def _operation(self, move: Move, names: set[bytes]) -> None:
        before = self._ledger.by_id(move.before)
        if before is None or before.expired is not None:
            return
        for path in names:
            old, new = (_lookup(self._store, tree, path) for tree in (before.tree, move.after))
            if new is None or old == new:
                continue
            author = Author(BY_OPERATION, before, operation=move)
            self._follow(old, new, author, move)

    def step(
        self, old: Entry | None, new: Entry | None, author: Author, sequence: int = 1 << 62
    ) -> None:
        """Adds the version that a change left: what was not there before is its author's."""
        if new is None or (old is not None and old.oid == new.oid):
            if old is not None:
                self._version_of(old)
            return
        authors = self._blank(new)
        if old is not None:
            self._carry(self._version_of(old), new, authors)
        self._add(sequence, new, authors, author)

    def _follow(self, old: Entry | None, new: Entry, author: Author, move: Move) -> None:
        """Adds the version that an operation left: what came back is whose it was."""
        then = [one for one in self._versions if one.sequence <= move.target_sequence]
        since = [one for one in self._versions if one.sequence > move.target_sequence]
        candidates = [*reversed(then), *reversed(since)]
        same = next((one for one in candidates if one.oid == new.oid), None)
        if same is not None:
            self._versions.append(_Version(move.sequence, new.oid, same.authors))
            return
        authors = self._blank(new)
        if old is not None:
            self._carry(self._version_of(old), new, authors)
        tried: set[bytes] = set()
        for one in candidates:
            if None not in authors or len(tried) == _VERSIONS:
                break
            if one.oid not in tried:
                tried.add(one.oid)
                self._carry(one, new, authors)
        self._add(move.sequence, new, authors, author)

    def authors(self, entry: Entry) -> Sequence[Author]:
        """Returns who wrote the lines of the newest version with these bytes."""
        return self._version_of(entry).authors

    def _add(
        self, sequence: int, new: Entry, authors: list[Author | None], otherwise: Author
    ) -> None:
        named = tuple(otherwise if one is None else one for one in authors)
        self._versions.append(_Version(sequence, new.oid, named))

    def _version_of(self, entry: Entry) -> _Version:
        """Returns the newest version with these bytes; one that nobody wrote is the first."""
        found = next((one for one in reversed(self._versions) if one.oid == entry.oid), None)
        if found is None:
            authors = (_FIRST,) * len(self._blank(entry))
            found = _Version(-1, entry.oid, authors)
            self._versions.append(found)
        return found

    def _blank(self, entry: Entry) -> list[Author | None]:
        return [None] * len(split(self._store.blob(entry.oid, LARGEST_SHOWN)))

    def _carry(self, version: _Version, new: Entry, authors: list[Author | None]) -> None:
        """Gives the lines that a version has too to their authors, unless they have one."""
        hunks = hunks_of_blobs(self._store.git, version.oid, new.oid)
        if hunks is None:
            return
        old_at = new_at = 0
        ends = [(one.old_start, one.old_end, one.new_end) for one in hunks]
        for start, old_end, new_end in (*ends, (len(version.authors), 0, 0)):
            for line in range(start - old_at):
                if authors[new_at + line] is None:
                    authors[new_at + line] = version.authors[old_at + line]
            old_at, new_at = old_end, new_end
