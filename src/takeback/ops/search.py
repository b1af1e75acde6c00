"""Search: finds again what was asked, which files changed, and what was in them.

Each answer has the place to go back to: before a prompt, before the change or deletion of a file,
after it was created, or the newest checkpoint that holds a content. All words must be in one
prompt, path or line of a file.
"""

from __future__ import annotations

import time

from takeback.errors import Expired, StoreDamaged
from takeback.git.objects import is_tree
from takeback.ledger import sessions as questions
from takeback.model.change import ADDED
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.store import trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.timeline import OwnedChange
    from takeback.ops.context import Context

PROMPT, PATH, CONTENT = "prompt", "path", "content"
_KINDS = {"added": "created", "deleted": "deleted"}
_LARGEST = 1 << 20
_MOST_BYTES = 1 << 28
_SECONDS = 30.0
_HEAD = 8000
_EVERY = 200
_LINK = 0o120000


class Found(Value):
    """One thing that a search found, and where in it the text is.

    ``checkpoint`` is where it was found, ``place`` where to go back to. For a path ``change`` says
    what happened to it: created, changed or deleted.
    """

    checkpoint: Checkpoint
    what: str
    text: str
    place: Checkpoint
    path: bytes | None = None
    change: str | None = None


def search(
    context: Context, ledger: Ledger, words: Sequence[str], *, limit: int = -1
) -> list[Found]:
    """Returns the prompts and changed paths that hold all words, newest first.

    A path that changed several times within a turn is one answer.
    """
    found: list[Found] = []
    known: set[tuple[str, bytes]] = set()
    for id, what, text in questions.search(ledger, words):
        if len(found) == limit:
            break
        checkpoint = ledger.by_id(id)
        if checkpoint is None:
            continue
        if what == PROMPT:
            found.append(Found(checkpoint, what, text, checkpoint))
            continue
        for change in ledger.changes(checkpoint.id):
            if change.path.decode("utf-8", "replace") != text:
                continue
            owner = (change.turn or checkpoint.id, change.path)
            if owner not in known:
                known.add(owner)
                found.append(_changed(context, ledger, checkpoint, change, text))
    return found


def _changed(
    context: Context, ledger: Ledger, checkpoint: Checkpoint, change: OwnedChange, text: str
) -> Found:
    turn = questions.turn_by_id(ledger, change.turn) if change.turn is not None else None
    kind = change.kind
    if turn is not None:  # what happened to it altogether
        in_all = {one.path: one.kind for one in questions.turn_changes(ledger, turn.id)}
        kind = in_all.get(change.path, kind)
    if kind == ADDED:
        end = ledger.by_id(turn.after) if turn is not None and turn.after is not None else None
        places = [end, checkpoint]
    else:
        before = ledger.by_id(turn.before) if turn is not None else None
        places = [before, ledger.previous(checkpoint)]
    there = [place for place in places if place is not None]
    place = _that_holds(context, there, change.path) or checkpoint
    return Found(checkpoint, PATH, text, place, change.path, _KINDS.get(kind, "changed"))


def _that_holds(context: Context, places: Sequence[Checkpoint], path: bytes) -> Checkpoint | None:
    """Returns the first of some places that holds a path, else one with its files, else any."""
    kept = [place for place in places if place.expired is None]
    right = (place for place in kept if _holds(context, place, path))
    return next(iter((*right, *kept, *places)), None)


def _holds(context: Context, place: Checkpoint, path: bytes) -> bool:
    try:
        return trees.lookup(context.store, place.tree, path) is not None
    except (StoreDamaged, Expired):
        return False


def search_contents(
    context: Context,
    ledger: Ledger,
    words: Sequence[str],
    *,
    limit: int = -1,
    hides: Callable[[bytes], bool],
) -> list[Found]:
    """Returns the files of snapshots that have a line with all words, newest first.

    Each version of a file is read once, and the newest checkpoint that holds it is the answer.
    Larger files, what ``hides`` names, and what is left when time or bytes run out, are reported to
    the reporter.
    """
    return _Contents(context, [word.casefold() for word in words], hides).search(ledger, limit)


class _Contents:
    def __init__(
        self, context: Context, words: Sequence[str], hides: Callable[[bytes], bool]
    ) -> None:
        self._hides = hides
        self._hidden: set[bytes] = set()
        self._store = context.store
        self._reporter = context.reporter
        self._words = words
        self._seen: set[bytes] = set()
        self._read = self._bytes = self._passed_over = 0
        self._end = time.monotonic() + _SECONDS

    def search(self, ledger: Ledger, limit: int) -> list[Found]:
        found = self._found(ledger, limit)
        if self._hidden:
            names = ", ".join(map(to_text, sorted(self._hidden)))
            self._reporter.note(f"not searched for a model, as they speak of secrets: {names}")
        return found

    def _found(self, ledger: Ledger, limit: int) -> list[Found]:
        found: list[Found] = []
        for checkpoint in ledger.checkpoints():
            for path, oid in self._versions(checkpoint):
                if len(found) == limit:
                    return found
                if self._bytes > _MOST_BYTES or time.monotonic() > self._end:
                    self._reporter.note(
                        f"the search stopped after {self._read:,} files; older ones were not read"
                    )
                    return found
                line = self._line(oid)
                if line is not None:
                    found.append(Found(checkpoint, CONTENT, line, checkpoint, path))
        if self._passed_over:
            larger = f"larger than {_LARGEST >> 20} MB or not readable"
            self._reporter.note(f"passed over, as {larger}: {self._passed_over:,}")
        return found

    def _versions(self, checkpoint: Checkpoint) -> Iterator[tuple[bytes, bytes]]:
        """Yields the files of a snapshot that no newer one has: path and blob."""
        waiting = [(b"", checkpoint.tree)] if checkpoint.expired is None else []
        while waiting:
            prefix, tree = waiting.pop()
            if tree in self._seen:
                continue
            self._seen.add(tree)
            try:
                entries = self._store.tree(tree)
            except StoreDamaged:
                self._passed_over += 1
                continue
            for mode, name, oid in entries:
                if self._hides(prefix + name + b"/" * is_tree(mode)):
                    self._hidden.add(prefix + name)
                elif is_tree(mode):
                    waiting.append((prefix + name + b"/", oid))
                elif mode != _LINK and oid not in self._seen:
                    self._seen.add(oid)
                    yield prefix + name, oid

    def _line(self, oid: bytes) -> str | None:
        """Returns the first line of a text that has all words."""
        self._read += 1
        if self._read % _EVERY == 0:
            self._reporter.progress("searching files", self._read, 0)
        try:
            data = self._store.blob(oid, _LARGEST)
        except StoreDamaged:
            self._passed_over += 1
            return None
        self._bytes += len(data)
        if b"\0" in data[:_HEAD]:
            return None
        text = data.decode("utf-8", "replace")
        folded = text.casefold()
        if not all(word in folded for word in self._words):
            return None
        for line in text.splitlines():
            low = line.casefold()
            if all(word in low for word in self._words):
                return line.strip()
        return None
