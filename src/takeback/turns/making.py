"""Checkpoint: capture the workspace and keep it as a place to go back to."""

from __future__ import annotations

from takeback.capture.capture import capture, draft, record
from takeback.context import Context
from takeback.model.checkpoint import MANUAL
from takeback.model.ids import WORKSPACE_SESSION
from takeback.model.value import Value
from takeback.retention.due import keep_house
from takeback.store import pending
from takeback.turns.receive import close_gone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import NotHeld
    from takeback.model.ids import SessionId

    StatusIn = Callable[[bytes, str], int | None]
    """Tells from the end of a transcript how the command of a call ended."""


class Made(Value):
    """A new checkpoint, and what it could not capture."""

    checkpoint: Checkpoint
    skipped: tuple[NotHeld, ...]


def checkpoint(
    context: Context,
    *,
    label: str | None = None,
    label_by: str | None = None,
    prompt: str | None = None,
    session: SessionId | None = None,
    allow_large: bool = False,
    asked_by: SessionId | None = None,
) -> Made:
    """Makes a checkpoint by hand, in the workspace's own session unless another is named.

    ``asked_by`` is the session whose model wants it; None for a person.
    It is durable when this returns. Raises UsageError for a label that is already in use.
    """
    with context.locked() as locked:
        if label is not None:
            from takeback.timeline.names import check_free

            check_free(locked, label)
        captured = capture(locked, allow_large=allow_large)
        if pending.any_left(context.store):
            from takeback.turns.receive import record_waiting

            record_waiting(locked, captured)
        close_gone(locked, captured)
        drafted = draft(context, kind=MANUAL, session=session or WORKSPACE_SESSION)
        made = record(locked, captured, drafted.replace(prompt=prompt, asked_by=asked_by))
        if label is not None:
            from takeback.timeline.names import put_label

            made = put_label(locked, made, label, by=label_by)
    keep_house(context)
    return Made(made, captured.coverage.skipped)
