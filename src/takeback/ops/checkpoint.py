"""Checkpoint: capture the workspace and keep it as a place to go back to."""

from __future__ import annotations

from takeback.model.checkpoint import MANUAL
from takeback.model.ids import WORKSPACE_SESSION
from takeback.model.value import Value
from takeback.ops.capture import capture, draft, record
from takeback.ops.closing import close_gone
from takeback.store import pending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import NotHeld
    from takeback.model.ids import SessionId
    from takeback.ops.context import Context


class Made(Value):
    """A new checkpoint, and what it could not capture."""

    checkpoint: Checkpoint
    skipped: tuple[NotHeld, ...]


def checkpoint(
    context: Context,
    *,
    label: str | None = None,
    prompt: str | None = None,
    session: SessionId | None = None,
    allow_large: bool = False,
) -> Made:
    """Makes a checkpoint by hand, of the workspace's own session unless another is named.

    It is durable when this returns.
    """
    with context.locked():
        captured = capture(context, allow_large=allow_large)
        if pending.any_left(context.store):
            from takeback.ops.receive import record_waiting

            record_waiting(context, captured)
        close_gone(context, captured)
        drafted = draft(context, kind=MANUAL, session=session or WORKSPACE_SESSION)
        made = record(context, captured, drafted.replace(prompt=prompt))
        if label is not None:
            from takeback.store.labels import write_label
            from takeback.store.sink import PackSink

            write_label(context.store, PackSink(context.store), made, label, context.clock.now())
            made = made.replace(label=label)
    context.store.keep_house()
    return Made(made, captured.coverage.skipped)
