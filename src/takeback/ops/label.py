"""Label: gives a checkpoint a name, changes it, removes it."""

from __future__ import annotations

from takeback.errors import Command, UsageError
from takeback.ops.names import check_label
from takeback.store.labels import read_labels, remove_label, write_label
from takeback.store.sink import PackSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.context import Context, LockedContext


def label(context: Context, ledger: Ledger, checkpoint: Checkpoint, name: str | None) -> Checkpoint:
    """Sets or removes (None) the label; returns the checkpoint as it is now."""
    if name is not None:
        check_label(ledger, name, context.clock.now())
    with context.locked() as locked:
        if name is None:
            remove_label(PackSink(locked.lock), checkpoint, context.clock.now())
        else:
            put_label(locked, checkpoint, name)
    return checkpoint.replace(label=name)


def put_label(context: LockedContext, checkpoint: Checkpoint, name: str) -> None:
    """Gives a checkpoint a name; raises UsageError if another one has it."""
    check_free(context, name, besides=checkpoint)
    write_label(PackSink(context.lock), checkpoint, name, context.clock.now())


def check_free(context: LockedContext, name: str, *, besides: Checkpoint | None = None) -> None:
    """Raises UsageError if another checkpoint has the label; under the lock it stays free."""
    for other, taken in read_labels(context.store).items():
        if taken == name and (besides is None or other != besides.id):
            raise UsageError(
                f"the label {name!r} is on checkpoint {other}",
                hint=("take it off first: ", Command("label", other)),
            )
