"""Finds the turn, or the step of one, that a person means.

``turn:3`` is turn 3 and, as a place, before it; ``turn:3.end`` is its end. ``turn:3.2`` is its
second step, as ``show`` lists them (a round of tools, a prompt within the turn), and before it.
"""

from __future__ import annotations

from takeback.errors import Command, NoSuchCheckpoint, UsageError
from takeback.ledger import sessions as questions
from takeback.model.checkpoint import UNDO
from takeback.model.ids import CheckpointId
from takeback.model.naming import TURN
from takeback.model.timeline import Turn
from takeback.model.value import Value
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint

_END = "end"
_LIST = ("the checkpoints: ", Command("log"))
_PROMPT = 40


class NamedTurn(Value):
    """A turn or, with ``step``, a part of it: the checkpoints around it, and the one it names."""

    turn: Turn
    before: Checkpoint
    after: Checkpoint
    place: Checkpoint
    step: int | None = None

    @property
    def words(self) -> str:
        """Returns what it is called in a sentence."""
        number = "a command" if self.turn.number is None else f"turn {self.turn.number}"
        said = shown(" ".join((self.turn.prompt or "").split()))
        said = said if len(said) <= _PROMPT else said[: _PROMPT - 1] + "…"
        part = "" if self.step is None else f"step {self.step} of "
        return f"{part}{number}" + (f' "{said}"' if said else "")


def turn_named(ledger: Ledger, text: str, session: str | None) -> NamedTurn:
    """Returns what ``turn:...`` means in a session's line; raises NoSuchCheckpoint."""
    number, dot, part = text.removeprefix(TURN).partition(".")
    if not _is_number(number) or (dot and part != _END and not _is_number(part)):
        raise NoSuchCheckpoint(
            f"{text!r} is no turn; write turn:3, turn:3.end, or turn:3.2 for its second step",
            hint=_LIST,
        )
    if session is None:
        raise NoSuchCheckpoint("no agent has worked here yet, so there are no turns", hint=_LIST)
    found = questions.turn_numbered(ledger, session, int(number[:9]))
    if found is None:
        newest = questions.newest_number(ledger, session)
        raise NoSuchCheckpoint(
            f"session {session} has no turn {number}",
            hint=(f"its turns are 1 to {newest}: ", Command("log")) if newest else _LIST,
        )
    if _is_number(part):
        return _step(ledger, found, int(part[:9]))
    named = whole(ledger, found)
    return named.replace(place=named.after) if part else named


def turn_at(ledger: Ledger, checkpoint: Checkpoint) -> NamedTurn | None:
    """Returns the turn that a checkpoint begins, ends or belongs to; None if it is in none."""
    found = questions.turn_of(ledger, checkpoint)
    return None if found is None else whole(ledger, found)


def turn_of(ledger: Ledger, checkpoint: Checkpoint) -> NamedTurn:
    """Returns the turn that a checkpoint begins, ends or belongs to; raises UsageError."""
    found = turn_at(ledger, checkpoint)
    if found is None:
        raise UsageError(
            f"{checkpoint.id} is in no turn of an agent",
            hint=("the turns: ", Command("log")),
        )
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def whole(ledger: Ledger, turn: Turn) -> NamedTurn:
    """Returns a turn with the checkpoints around it; as a place it is before it."""
    before, after = (_known(ledger, id) for id in (turn.before, turn.after))
    return NamedTurn(turn, before, after, before)


def _step(ledger: Ledger, turn: Turn, number: int) -> NamedTurn:
    before, count = _known(ledger, turn.before), 0
    for checkpoint in ledger.after(before, until=turn.after):
        if checkpoint.kind == UNDO:
            continue
        count += 1
        if count == number:
            return NamedTurn(turn, before, checkpoint, before, number)
        before = checkpoint
        if checkpoint.id == turn.after:
            break
    raise NoSuchCheckpoint(
        f"turn {turn.number} has no step {number}",
        hint=(f"its steps are 1 to {count}: ", Command("show", f"turn:{turn.number}")),
    )


def _known(ledger: Ledger, id: CheckpointId) -> Checkpoint:
    found = ledger.by_id(id)
    assert found is not None  # the ledger holds what its turns name
    return found
