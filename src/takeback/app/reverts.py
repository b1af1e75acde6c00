"""Reverts: taking turns out of the files, and keeping what came after them."""

from __future__ import annotations

from takeback import rooms
from takeback.app import given
from takeback.app.border import guarded
from takeback.app.travel import Travel
from takeback.errors import Command, UsageError
from takeback.model.coverage import NO_OVERRIDES
from takeback.model.merge import NOTHING_CHOSEN
from takeback.model.naming import is_turn_name, split_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from takeback.app.travel import Asked
    from takeback.app.workspace import CheckpointLike
    from takeback.capture.capture import Captured
    from takeback.model.coverage import Overrides
    from takeback.model.merge import ConflictChoices
    from takeback.model.operation import Outcome, Plan
    from takeback.rewind.request import Request
    from takeback.timeline.names import NamedTurn

    TurnLike: TypeAlias = "CheckpointLike | NamedTurn"
    """A turn, or a step of one, by name or as a value; a checkpoint is one of the turn meant."""
    Turns: TypeAlias = "TurnLike | Iterable[TurnLike]"


@guarded
class Reverts(Travel):
    """Everything that takes out one turn and leaves the others."""

    def turn(self, name: str, *, session: str | None = None) -> NamedTurn:
        """Returns the turn, or the step of one, that a name means.

        Raises NoSuchCheckpoint or WhichSession, and UsageError if it is in no turn.
        """
        named, place = split_name(name)
        if not is_turn_name(place):
            found = self.find(name, session=session)
            return self._ask(lambda ledger: rooms.names.turn_of(ledger, found))
        whose = session if named is None else named
        return self._ask(
            lambda ledger: rooms.names.turn_named(ledger, place, self._meant(ledger, whose))
        )

    def plan_revert(
        self,
        turns: Turns,
        paths: Iterable[str | bytes] = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
    ) -> Plan:
        """Returns what ``revert`` would change; changes nothing. Its ``conflicts`` need choices."""
        named = given.turns(turns)
        made = self._plan_merge(self._reverting(self._turns(named), paths, choices), overrides)
        return made.replace(whose=self.taken(*named))

    def revert(
        self,
        turns: Turns,
        paths: Iterable[str | bytes] = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
        shown: Plan | None = None,
    ) -> Outcome:
        """Takes some turns out of the files, and leaves what came after them.

        A turn is ``turn:3``, one of its steps ``turn:3.2``, any checkpoint within it, or the value.
        """
        return self._merge(self._reverting(turns, paths, choices), overrides, shown)

    def _reverting(
        self,
        turns: Turns,
        paths: Iterable[str | bytes],
        choices: ConflictChoices,
    ) -> Asked:
        """Returns what makes the request from the files and the turns as they are by then."""
        meant, named = given.turns(turns), tuple(paths)
        return lambda captured: self._without(captured, self._turns(meant), named, choices)

    def _turns(self, turns: Iterable[str | NamedTurn]) -> list[NamedTurn]:
        """Returns turns as they are now, the newest first, each once."""
        found: dict[str, NamedTurn] = {}
        for one in turns:
            now = self.turn(one) if isinstance(one, str) else self._again(one)
            found[now.after.id] = now
        if not found:
            raise UsageError("no turn is named", hint=("name one: ", Command("revert", "turn:3")))
        return sorted(found.values(), key=lambda one: one.after.order, reverse=True)

    def _again(self, turn: NamedTurn) -> NamedTurn:
        """Returns a turn as it is now: it may have gone on since it was looked up."""
        if turn.step is not None:
            return turn
        return self._ask(lambda ledger: rooms.names.turn_of(ledger, turn.before))

    def _without(
        self,
        captured: Captured,
        turns: Sequence[NamedTurn],
        paths: tuple[str | bytes, ...],
        choices: ConflictChoices,
    ) -> Request:
        newest = turns[0]
        wanted = rooms.revert.Without(
            taken=[self._taken(one) for one in turns],
            scope=self._scope(paths, False),
            about=_about(turns),
            owner=newest.turn.session,
        )
        facts = self._facts(turns[-1].before)
        request = rooms.revert.request(captured, wanted, choices, facts)
        return self._only_picked(captured, request, choices)


def _about(turns: Sequence[NamedTurn]) -> str:
    """Names some turns in one line, the oldest first."""
    if len(turns) == 1:
        return turns[0].words
    names = [_number(one) for one in reversed(turns)]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _number(turn: NamedTurn) -> str:
    return turn.replace(turn=turn.turn.replace(prompt=None)).words
