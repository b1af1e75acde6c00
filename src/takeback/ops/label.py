"""Label: gives a checkpoint a name, changes it, removes it."""

from __future__ import annotations

from takeback.errors import Command, UsageError
from takeback.ops.names import check_label, other_meaning
from takeback.store.labels import Label, read_labels, remove_label, write_label
from takeback.store.sink import PackSink
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.context import Context, LockedContext


def label(
    context: Context,
    ledger: Ledger,
    checkpoint: Checkpoint,
    name: str | None,
    *,
    by: str | None = None,
) -> Checkpoint:
    """Sets or removes (None) the label; returns the checkpoint as it is now.

    ``by`` is the agent whose model gives it; None for a person.
    """
    if name is not None:
        check_label(ledger, name, context.clock.now(), by_model=by is not None)
    with context.locked() as locked:
        if name is not None:
            return put_label(locked, checkpoint, name, by=by)
        remove_label(PackSink(locked.lock), checkpoint, context.clock.now())
    return checkpoint.replace(label=None, label_by=None)


def put_label(
    context: LockedContext, checkpoint: Checkpoint, name: str, *, by: str | None = None
) -> Checkpoint:
    """Gives a checkpoint a name; raises UsageError if another one has it.

    A person is warned of one that may be read as another kind of name.
    """
    check_free(context, name, besides=checkpoint)
    write_label(PackSink(context.lock), checkpoint, Label(name, by), context.clock.now())
    misread = other_meaning(name)
    if misread:
        context.reporter.note(f"The label {shown(name)} may not find it: {misread}.")
    return checkpoint.replace(label=name, label_by=by)


def check_free(context: LockedContext, name: str, *, besides: Checkpoint | None = None) -> None:
    """Raises UsageError if another checkpoint has the label; under the lock it stays free."""
    for other, taken in read_labels(context.store).items():
        if taken.name == name and (besides is None or other != besides.id):
            raise UsageError(
                f"the label {name!r} is on checkpoint {other}",
                hint=("take it off first: ", Command("label", other)),
            )
