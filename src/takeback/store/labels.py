"""Labels: a name on a checkpoint. The ref pins the checkpoint against pruning."""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.store.namespace import LABELS, label_ref, labelled_by
from takeback.store.records import read_record, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId
    from takeback.store.locked import Locked
    from takeback.store.sink import PackSink
    from takeback.store.store import Store


def write_label(sink: PackSink, checkpoint: Checkpoint, name: str, time: float) -> None:
    """Names a checkpoint, replacing its former name."""
    store, ref = sink.locked.store, label_ref(checkpoint.id)
    commit = write_record(
        sink,
        {"type": "label", "checkpoint": checkpoint.id, "name": name},
        parents=(checkpoint.commit,),
        time=time,
        message=f"label {name}",
    )
    sink.publish()
    store.refs.write(ref, commit, expect=store.refs.read(ref))


def remove_label(locked: Locked, checkpoint: CheckpointId) -> bool:
    """Removes the name of a checkpoint; False if it had none."""
    store, ref = locked.store, label_ref(checkpoint)
    tip = store.refs.read(ref)
    if tip is None:
        return False
    store.refs.delete(ref, expect=tip)
    return True


def read_labels(store: Store) -> dict[CheckpointId, str]:
    """Returns the name of each labelled checkpoint; a damaged label is skipped."""
    found = {}
    for ref, oid in store.refs.list(LABELS, damaged={}).items():
        try:
            found[labelled_by(ref)] = read_record(store, oid).text("name")
        except StoreDamaged:
            continue  # verify reports it
    return found
