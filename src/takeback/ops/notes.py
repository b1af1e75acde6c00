"""Notes: what a model must be told after files changed under its conversation.

After an operation that changed files, the next prompt of every session whose conversation
still holds the turns that were taken back carries one note of it, once. It has ids and numbers
and no word that anybody chose: a label or a prompt would speak to every other session's model.
"""

from __future__ import annotations

from takeback.model.checkpoint import MANUAL, UNDO
from takeback.model.turn import FORK, PROMPT, SESSION_END, SESSION_START
from takeback.store.checkpoints import checkpoints_back
from takeback.store.operations import newest_operation

NO_PLACE = (UNDO, MANUAL, SESSION_START, SESSION_END)
"""Kinds that do not move a conversation on: they say nothing about what its model knows."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.operation import Operation
    from takeback.ops.context import Context


def note_for(context: Context, newest: Checkpoint | None) -> str | None:
    """Returns the note for a session whose newest checkpoint is ``newest``, None if none is due."""
    operation = newest_operation(context.store)
    if newest is None or operation is None:
        return None
    for one in checkpoints_back(context.store, newest.commit):
        newest = one
        if one.kind not in NO_PLACE:
            break
    if not disagrees(newest, operation):
        return None
    count = operation.written + operation.deleted
    files = "1 file" if count == 1 else f"{count} files"
    return (
        f"Note from takeback: since your last turn the user took back changes in this workspace "
        f"({operation.kind} to {_place(context, newest, operation)}): {files} changed on disk "
        f"({operation.written} written, {operation.deleted} deleted). What this conversation says "
        "about later edits may no longer hold; read files again before you rely on them."
    )


def _place(context: Context, newest: Checkpoint, operation: Operation) -> str:
    """Names where an operation went, with the turn where that is one of the model's own."""
    name = f"checkpoint {operation.target}"
    for one in checkpoints_back(context.store, newest.commit):
        if one.sequence < operation.target_sequence:
            break
        if one.id == operation.target and one.kind == PROMPT:
            return f"before turn {one.turn}, {name}"
    return name


def disagrees(newest: Checkpoint, operation: Operation) -> bool:
    """Tells whether a session's conversation holds turns that an operation took back.

    It does if it went on after the operation's target, was not cut to fit (the operation's own
    new session was), and its model has not been told since.
    """
    if operation.written + operation.deleted == 0 or newest.noted == operation.id:
        return False
    if newest.session == operation.child or newest.kind == FORK or not newest.turn:
        return False
    return operation.target_sequence < newest.sequence < operation.sequence
