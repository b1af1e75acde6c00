"""Label: give a checkpoint a name, change it, take it off."""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.ops.names import check_label
from takeback.store.labels import remove_label, write_label
from takeback.store.sink import PackSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.context import Context


def label(context: Context, ledger: Ledger, checkpoint: Checkpoint, name: str | None) -> Checkpoint:
    """Sets or removes (None) the label; returns the checkpoint as it is now."""
    if name is None:
        with context.locked():
            remove_label(context.store, checkpoint.id)
        return checkpoint.replace(label=None)
    check_new_label(context, ledger, name, besides=checkpoint)
    with context.locked():
        write_label(context.store, PackSink(context.store), checkpoint, name, context.clock.now())
    return checkpoint.replace(label=name)


def check_new_label(
    context: Context, ledger: Ledger, name: str, *, besides: Checkpoint | None = None
) -> None:
    """Raises UsageError if a label is not possible or is on another checkpoint already."""
    check_label(ledger, name, context.clock.now())
    for other in ledger.by_label(name):
        if besides is None or other.id != besides.id:
            raise UsageError(
                f"the label {name!r} is on checkpoint {other.id}",
                hint=f"take it off first: takeback label {other.id}",
            )
