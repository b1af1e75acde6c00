"""Blame: which turn, person or operation wrote each line of a file.

The versions of the file are followed from the first that is known, change by change:

    version     a b c      before takeback
    turn 2      a B c      B is turn 2's, the others stay whose they were
    by hand     a B c d    d is the person's
    rewind      a b c      every line is whose it was in the version that came back
"""

from __future__ import annotations

from takeback.errors import Command, NoSuchCheckpoint, UsageError
from takeback.git.diff import LARGEST_SHOWN
from takeback.git.hunks import hunks_of_blobs
from takeback.ledger import sessions as questions
from takeback.model.lines import is_binary, split
from takeback.model.operation import Move, moves
from takeback.model.path_text import to_text
from takeback.model.timeline import INTERRUPTED, OUTSIDE, Turn
from takeback.model.value import Value
from takeback.ops.facts import last_seen
from takeback.ops.path_history import changes_of_file
from takeback.store import trees
from takeback.store.operations import known_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final, Literal

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import Order
    from takeback.model.snapshot import Entry
    from takeback.ops.path_history import PathChange
    from takeback.store.store import Store

    AuthorKind = Literal["before takeback", "a turn", "by hand", "an operation", "unseen", "nobody"]

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
        turn = None if change.turn is None else questions.turn_by_id(self._ledger, change.turn)
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
