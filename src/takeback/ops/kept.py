"""Kept: says of a checkpoint whose files have expired where the nearest are that have theirs.

Everything that needs the files of a checkpoint that a person named comes through here; what is
below reads ``Checkpoint.tree``, which has them or raises the same error.
"""

from __future__ import annotations

from takeback.errors import CONVERSATION_ALONE, Command, Expired
from takeback.model.address import address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.context import Context


def as_it_is(context: Context, ledger: Ledger, checkpoint: Checkpoint) -> Checkpoint:
    """Returns a checkpoint, of which a face may know an older state, where the store has it now.

    Raises Expired if its files are not kept any more, with what can be done instead.
    """
    now = ledger.by_id(checkpoint.id)
    if now is not None:
        checkpoint = checkpoint.replace(commit=now.commit, expired=now.expired, saved=now.saved)
    if checkpoint.expired is not None:
        raise _expired(context, ledger, checkpoint)
    return checkpoint


def _expired(context: Context, ledger: Ledger, checkpoint: Checkpoint) -> Expired:
    now = context.clock.now()
    hints: list[str | Command] = []
    if is_in_trash(context, checkpoint):
        hints += ["bring them back: ", Command("prune", "--restore", checkpoint.id), "; "]
    near = [
        f"{one.id} ({address(one, now)})"
        for one in ledger.nearest_kept(checkpoint)
        if one is not None
    ]
    if near:
        hints.append(f"the nearest that have their files: {', '.join(near)}; ")
    if checkpoint.transcript:
        hints += ["its conversation is there: ", CONVERSATION_ALONE, "; "]
    return Expired(
        f"the files of {checkpoint.id} ({address(checkpoint, now)}) have expired",
        hint=tuple(_without_last_mark(hints)),
    )


def _without_last_mark(hints: list[str | Command]) -> list[str | Command]:
    last = hints[-1] if hints else None
    return [*hints[:-1], last.removesuffix("; ")] if isinstance(last, str) else hints


def is_in_trash(context: Context, checkpoint: Checkpoint) -> bool:
    """Tells whether the files of an expired checkpoint can still be brought back."""
    from takeback.store.expiry import all_trash  # most checkpoints have their files

    return any(
        checkpoint.id in trash.dropped.get(checkpoint.session, ())
        for trash in all_trash(context.store)
    )
