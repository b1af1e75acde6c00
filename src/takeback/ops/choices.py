"""Choices: what can be done at a checkpoint, and why the rest cannot, in words."""

from __future__ import annotations

from takeback.errors import TakebackError
from takeback.model.address import address
from takeback.model.checkpoint import Checkpoint
from takeback.model.operation import Move, history
from takeback.model.turn import PROMPT
from takeback.model.value import Value
from takeback.ops.child import berth_for, history_at
from takeback.ops.parcels import check_delivery
from takeback.store.operations import read_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.timeline import Session
    from takeback.ops.context import Context
    from takeback.ops.turn_names import NamedTurn
    from takeback.ports import Adapter


class Choices(Value):
    """What can be done at ``checkpoint``; ``about`` says in words where that is.

    ``no_conversation`` is why the conversation cannot go there, None if it can. ``undo`` and
    ``redo`` are the operations that these would apply to now, None if there is none. ``turn`` is
    the one that it begins, ends or belongs to, None if it is in none.
    """

    checkpoint: Checkpoint
    about: str
    no_conversation: str | None
    undo: Move | None
    redo: Move | None
    turn: NamedTurn | None = None


def choices(
    context: Context,
    adapter: Adapter,
    target: Checkpoint,
    *,
    session: Session | None,
    newest: Checkpoint | None,
) -> Choices:
    """Works out what is possible at a checkpoint; reads the conversation, and changes nothing."""
    stacks = history(read_operations(context.store))
    return Choices(
        checkpoint=target,
        about=address(target, context.clock.now()),
        no_conversation=_no_conversation(context, adapter, target, session, newest),
        undo=stacks.undo[-1].operation if stacks.undo else None,
        redo=stacks.redo[-1].operation if stacks.redo else None,
    )


def _no_conversation(
    context: Context,
    adapter: Adapter,
    target: Checkpoint,
    session: Session | None,
    newest: Checkpoint | None,
) -> str | None:
    if target.agent is None or target.native is None:
        return "this checkpoint was made without an agent"
    if not context.policy.conversation:
        return "conversations are not kept (conversation = off)"
    if session is None or session.transcript is None:
        return "this session has no conversation"
    # Before the first prompt there is no conversation to keep; anywhere else its absence is a gap,
    # and going there would silently begin an empty session.
    is_first = target.kind == PROMPT and (target.turn or 0) <= 1
    if not target.transcript and not is_first:
        return "the conversation was not kept at this moment"
    try:
        if history_at(context, adapter, target, newest):
            berth_for(context, adapter, target, target.transcript[-1].path).check(target.id)
            check_delivery(context, adapter)
    except TakebackError as error:
        return error.message
    return None
