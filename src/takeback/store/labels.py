"""Labels: a name on a checkpoint. The ref pins the checkpoint against pruning.

Each machine has the names that it gave; the newest of them counts. To remove a name is to give an
empty one: a ref that were deleted could not be told from one that was lost, and another machine
may have given the name. Pruning drops what is left of it.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.model.value import Value
from takeback.store.namespace import LABELS, label_ref, labelled_by, machine_of
from takeback.store.records import read_record, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId
    from takeback.store.sink import PackSink
    from takeback.store.store import Store


class Label(Value):
    """A name, and the agent whose model gave it: None for a person, as for all of older stores."""

    name: str
    agent: str | None = None


def write_label(sink: PackSink, checkpoint: Checkpoint, label: Label, time: float) -> None:
    """Names a checkpoint, replacing its former name."""
    locked = sink.locked
    store, ref = locked.store, label_ref(locked.machine, checkpoint.id)
    tip = store.refs.read(ref)
    commit = write_record(
        sink,
        {
            "type": "label",
            "checkpoint": checkpoint.id,
            "name": label.name,
            **({} if label.agent is None else {"agent": label.agent}),
            "sequence": locked.next_sequence(above=checkpoint.sequence),
        },
        # the former one too, so that a machine that has fetched it can continue from it
        parents=(checkpoint.commit,) if tip is None else (checkpoint.commit, tip),
        time=time,
        message=f"label {label.name}",
    )
    sink.publish()
    store.refs.write(ref, commit, expect=tip)


def remove_label(sink: PackSink, checkpoint: Checkpoint, time: float) -> bool:
    """Removes the name of a checkpoint; False if it had none."""
    if not read_labels(sink.locked.store).get(checkpoint.id):
        return False
    write_label(sink, checkpoint, Label(""), time)
    return True


def read_labels(store: Store) -> dict[CheckpointId, Label]:
    """Returns the label of each labelled checkpoint; a damaged one is skipped."""
    return {checkpoint: label for checkpoint, label in _newest(store).items() if label.name}


def taken_off(store: Store) -> set[CheckpointId]:
    """Returns the checkpoints that had a label and have none any more."""
    return {checkpoint for checkpoint, label in _newest(store).items() if not label.name}


def _newest(store: Store) -> dict[CheckpointId, Label]:
    found: dict[CheckpointId, tuple[float, str]] = {}
    labels: dict[CheckpointId, Label] = {}
    for ref, oid in store.refs.list(LABELS, damaged={}).items():
        try:
            record = read_record(store, oid)
            given = (record.number("sequence"), machine_of(ref))
            label = Label(record.text("name"), record.optional_text("agent"))
        except StoreDamaged:
            continue  # verify reports it
        checkpoint = labelled_by(ref)
        if given >= found.get(checkpoint, given):
            found[checkpoint], labels[checkpoint] = given, label
    return labels
