"""Labels: a name on a checkpoint. The ref pins the checkpoint against pruning.

Each machine has the names that it gave; the newest of them counts. To remove a name that another
machine gave, this one gives an empty one.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.store.namespace import LABELS, by_machine, label_ref, labelled_by, machine_of
from takeback.store.records import read_record, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId
    from takeback.store.sink import PackSink
    from takeback.store.store import Store


def write_label(sink: PackSink, checkpoint: Checkpoint, name: str, time: float) -> None:
    """Names a checkpoint, replacing its former name."""
    locked = sink.locked
    store, ref = locked.store, label_ref(locked.machine, checkpoint.id)
    tip = store.refs.read(ref)
    commit = write_record(
        sink,
        {
            "type": "label",
            "checkpoint": checkpoint.id,
            "name": name,
            "sequence": locked.next_sequence(),
        },
        # the former one too, so that a machine that has fetched it can continue from it
        parents=(checkpoint.commit,) if tip is None else (checkpoint.commit, tip),
        time=time,
        message=f"label {name}",
    )
    sink.publish()
    store.refs.write(ref, commit, expect=tip)


def remove_label(sink: PackSink, checkpoint: Checkpoint, time: float) -> bool:
    """Removes the name of a checkpoint; False if it had none."""
    locked = sink.locked
    store = locked.store
    if not read_labels(store).get(checkpoint.id):
        return False
    labels = by_machine(store.refs, LABELS, checkpoint.id)
    own = labels.pop(locked.machine, None)
    if labels:
        write_label(sink, checkpoint, "", time)
    elif own is not None:
        store.refs.delete(label_ref(locked.machine, checkpoint.id), expect=own)
    return True


def read_labels(store: Store) -> dict[CheckpointId, str]:
    """Returns the name of each labelled checkpoint; a damaged label is skipped."""
    found: dict[CheckpointId, tuple[float, str, str]] = {}
    for ref, oid in store.refs.list(LABELS, damaged={}).items():
        try:
            record = read_record(store, oid)
            given = (record.number("sequence"), machine_of(ref), record.text("name"))
        except StoreDamaged:
            continue  # verify reports it
        checkpoint = labelled_by(ref)
        found[checkpoint] = max(given, found.get(checkpoint, given))
    return {checkpoint: name for checkpoint, (_, _, name) in found.items() if name}
