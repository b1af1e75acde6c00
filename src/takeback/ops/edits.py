"""Edits: what a person changed by hand since a checkpoint, as far as it was not taken back.

target ── E1 ── turn ── E2 ── rewind to after E1 ── turn ── E3 ── now

E1 and E3 are left; E2 went with the rewind, and would be back after its undo.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.ledger import sessions as questions
from takeback.model.ids import SnapshotId
from takeback.model.operation import history, moves
from takeback.model.path_text import covers
from takeback.model.value import Value
from takeback.ops.facts import lineage_of
from takeback.store import trees
from takeback.store.held import Held
from takeback.store.operations import known_here
from takeback.store.tree_edit import edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import OperationId
    from takeback.model.operation import Move
    from takeback.model.snapshot import Entry
    from takeback.store.sink import PackSink
    from takeback.store.store import Store

    Parts = dict["Edit", frozenset[bytes]]


class Edit(Value):
    """Some paths that a person changed: the snapshots before and after.

    ``sequence`` is the number of the checkpoint at which it was found.
    """

    before: bytes
    after: bytes
    paths: frozenset[bytes]
    sequence: int = 0

    def alone(self, sink: PackSink) -> bytes:
        """Returns the snapshot before with these paths as they are after; it is in the sink."""
        store = sink.locked.store
        after = Held(store, self.after)
        return edited(store, sink, self.before, {path: after[path] for path in self.paths})


def edits_since(store: Store, ledger: Ledger, target: Checkpoint) -> list[Edit]:
    """Returns a person's edits since a checkpoint that were not taken back, oldest first."""
    found = []
    here = lineage_of(store, ledger)
    for checkpoint, paths in questions.outside_since(ledger, target.id, here):
        before = ledger.state_before(checkpoint)
        if before is not None and checkpoint.expired is None:
            found.append(Edit(bytes.fromhex(before), checkpoint.tree, paths, checkpoint.sequence))
    return _left(store, found, moves(known_here(store)))


def _left(store: Store, edits: list[Edit], log: Iterable[Move]) -> list[Edit]:
    """Returns the edits without those that an operation took back, unless that was undone.

    An undo takes back what was edited since the operation, and brings back what that had taken; a
    redo is the undo of that.
    """
    log = list(log)
    took = history(log).took
    left = _Left(store, {edit: edit.paths for edit in edits})
    done: dict[OperationId, _Effect] = {}
    for one in log:
        if not one.moves_files:
            continue
        if one.target is not None and not one.keeps:
            gone = left.since(one)
        else:
            gone = left.put_back(one)
        left.drop(gone)
        effect = _Effect(gone, {})
        of = took.get(one.id)
        if of is not None and of.id in done:
            left.restore(done[of.id].dropped)
            left.drop(done[of.id].restored)
            effect = _Effect({**gone, **done[of.id].restored}, done[of.id].dropped)
        done[one.id] = effect
    return left.edits()


class _Effect(Value):
    """What an operation did to the edits before it."""

    dropped: Parts
    restored: Parts


class _Left:
    """The edits that are still in the files, each with its paths."""

    def __init__(self, store: Store, parts: Parts) -> None:
        self._store = store
        self._parts = parts

    def since(self, one: Move) -> Parts:
        """Returns what an operation takes back: edits after its target, in its scope."""
        found = {}
        for edit, paths in self._parts.items():
            if one.target_sequence < edit.sequence <= one.sequence:
                went = frozenset(path for path in paths if covers(one.paths, path))
                if went:
                    found[edit] = went
        return found

    def put_back(self, one: Move) -> Parts:
        """Returns what an operation that merges took back all the same, as it was picked.

        Of a file that it made just what it was before an edit, that edit and the later ones went.
        """
        found: Parts = {}
        changed = self._changed(one) if self._parts else {}
        back: set[bytes] = set()
        for edit, paths in self._parts.items():
            if edit.sequence <= one.sequence and not changed.keys().isdisjoint(paths):
                before = Held(self._store, edit.before)
                back |= {path for path in paths & changed.keys() if changed[path] == before[path]}
                if went := paths & back:
                    found[edit] = went
        return found

    def _changed(self, one: Move) -> dict[bytes, Entry | None]:
        """Returns what an operation made of each path; nothing if that is not known any more."""
        if one.was is None or one.was == one.after:
            return {}
        was, after = (bytes.fromhex(tree) for tree in (one.was, one.after))
        try:
            return {change.path: change.new for change in trees.diff(self._store, was, after)}
        except StoreDamaged:  # no checkpoint need have it, so it may have been swept away
            return {}

    def drop(self, gone: Parts) -> None:
        for edit, paths in gone.items():
            self._parts[edit] = self._parts[edit] - paths

    def restore(self, back: Parts) -> None:
        for edit, paths in back.items():
            self._parts[edit] = self._parts[edit] | paths

    def edits(self) -> list[Edit]:
        found = self._parts.items()
        return [edit.replace(paths=paths) for edit, paths in found if paths]


def until(last_seen: SnapshotId | None, now: bytes, paths: frozenset[bytes]) -> list[Edit]:
    """Returns what was changed since the last look, as an edit; nothing if nothing was."""
    if last_seen is None or not paths:
        return []
    return [Edit(bytes.fromhex(last_seen), now, paths)]
