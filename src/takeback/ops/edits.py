"""Edits: what a person changed by hand since a checkpoint, as far as it was not taken back.

target ── E1 ── turn ── E2 ── rewind to after E1 ── turn ── E3 ── now

E1 and E3 are left; E2 went with the rewind, and would be back after its undo.
"""

from __future__ import annotations

from takeback.ledger import sessions as questions
from takeback.model.ids import SnapshotId
from takeback.model.operation import REDO, UNDO, history, moves
from takeback.model.path_text import covers
from takeback.model.value import Value
from takeback.ops.facts import lineage_of
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
    from takeback.store.sink import PackSink
    from takeback.store.store import Store


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
    return _left(found, moves(known_here(store)))


def _left(edits: list[Edit], log: Iterable[Move]) -> list[Edit]:
    """Returns the edits without those that an operation took back, unless that was undone."""
    log = list(log)
    took = history(log).took
    gone: dict[OperationId, dict[Edit, frozenset[bytes]]] = {}
    left = {edit: edit.paths for edit in edits}
    for one in log:
        if not one.moves_files:
            continue
        if one.kind in (UNDO, REDO):
            of = took.get(one.id)
            back = {} if of is None else gone.pop(of.id, {})
            gone[one.id] = _drop(left, one) if not back else {}
            for edit, paths in back.items():
                left[edit] = left[edit] | paths
        elif one.target is not None and not one.keeps:
            gone[one.id] = _drop(left, one)
    return [edit.replace(paths=paths) for edit, paths in left.items() if paths]


def _drop(left: dict[Edit, frozenset[bytes]], one: Move) -> dict[Edit, frozenset[bytes]]:
    """Takes the edits away that an operation took back, and returns them."""
    dropped = {}
    for edit, paths in left.items():
        if one.target_sequence < edit.sequence <= one.sequence:
            went = frozenset(path for path in paths if covers(one.paths, path))
            if went:
                dropped[edit] = went
    for edit, went in dropped.items():
        left[edit] = left[edit] - went
    return dropped


def until(last_seen: SnapshotId | None, now: bytes, paths: frozenset[bytes]) -> list[Edit]:
    """Returns what was changed since the last look, as an edit; nothing if nothing was."""
    if last_seen is None or not paths:
        return []
    return [Edit(bytes.fromhex(last_seen), now, paths)]
