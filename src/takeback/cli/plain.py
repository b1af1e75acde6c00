"""The picker as a numbered list, line by line: for TERM=dumb, pipes and screen readers.

    list ─ actions ─ plan ─ (each conflict, each refusal) ─ plan ─ what was done

``b`` goes one stage back, an empty line or the end of the input ends it, and nothing is changed.
"""

from __future__ import annotations

import os

from takeback.app import actions
from takeback.app import proposal as proposals
from takeback.app.actions import destination_of
from takeback.cli.dialogue import DECLINED, Conflicts, Refusals
from takeback.cli.terminal import ask_number
from takeback.errors import PartlyDone, UsageError
from takeback.model.coverage import NO_OVERRIDES
from takeback.model.operation import REWIND
from takeback.visible import shown
from takeback.words import choices as action_words
from takeback.words import choices as words
from takeback.words import outcomes, plans
from takeback.words.listing import Columns
from takeback.words.text import NOTHING_CHANGED, Paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Final, Literal

    from takeback.app.actions import ActionName
    from takeback.app.engine import Engine
    from takeback.app.proposal import Proposal
    from takeback.fork.fork import Choices
    from takeback.model.operation import Outcome, Plan
    from takeback.rewind.request import Kept
    from takeback.timeline.timeline import TimelineEntry

_PAGE = 20
_NUMBER = "%4d  "
_PLAIN = Paint(on=False)
_OFF = "-"
_MORE = {"m": 0}
"""The word for the next page; no entry has the number."""
_YES = ("y", "yes")
_ANSWER: Final = "answer"
_WAYS = "b to step back, or q"


def pick_plain(
    tb: Engine,
    *,
    ask: Callable[[str], str],
    say: Callable[[str], None],
    now: float,
    room: int | None = None,
) -> int:
    """Lets a person choose by numbers; returns the exit status.

    ``ask`` returns a line without its end, empty at the end of the input. ``room`` is how wide
    the terminal is, if there is one.
    """
    recovered = proposals.recover_before(tb, REWIND)
    if recovered is not None:
        say(shown(recovered.sentence()))
    try:
        return _Picking(tb, ask, say, now, room).pick()
    except _Ended as end:
        if end.status:
            say(NOTHING_CHANGED)
        return end.status


class _Ended(Exception):
    """The person has ended it, or the input has."""

    def __init__(self, status: int) -> None:
        self.status = status


class _Picking:
    def __init__(
        self,
        tb: Engine,
        ask: Callable[[str], str],
        say: Callable[[str], None],
        now: float,
        room: int | None,
    ) -> None:
        self._tb = tb
        self._ask = ask
        self._say = say
        self._now = now
        self._refusals = Refusals(self._line, say, ways=_WAYS)
        self._conflicts = Conflicts(self._line, say, _PLAIN, ways=_WAYS)
        self._room = room

    # -- the list

    def pick(self) -> int:
        """Asks for an entry until something is done there."""
        entries = self._page([])
        if not entries:
            self._say("no checkpoints yet")
            return 0
        while (number := ask_number(self._first, self._say, len(entries), _MORE)) is not None:
            if number == _MORE["m"]:
                entries = self._page(entries)
                continue
            status = self._at(entries[number - 1])
            if status is not None:
                return status
        return 0

    def _first(self) -> str | None:
        typed = self._ask("number, m for more, or q: ")
        return None if typed.lower() in ("", "q") else typed

    def _page(self, before: Sequence[TimelineEntry]) -> list[TimelineEntry]:
        """Prints the next entries, older ones below; returns all that were printed so far."""
        found = self._tb.listing(limit=len(before) + _PAGE)
        room = None if self._room is None else self._room - len(_NUMBER % 0)
        columns = Columns(found, _PLAIN, self._now, room=room)
        for number, entry in list(enumerate(found.entries, 1))[len(before) :]:
            first, *below = columns.lines(entry)
            self._say(_NUMBER % number + first)
            for line in below:
                self._say(" " * len(_NUMBER % 0) + line)
        return list(found.entries)

    # -- the actions

    def _at(self, entry: TimelineEntry) -> int | None:
        """Asks what to do at an entry; None goes back to the list."""
        destination = destination_of(entry)
        while True:
            found = self._tb.choices(destination.checkpoint)
            name = self._action(actions.actions(found, entry, destination, None), found.about)
            if name is None or name == actions.CANCEL:
                return None
            if name == actions.END or name == actions.BEFORE:
                destination = destination.turned()
                continue
            if name == actions.COPY:
                self._say(found.checkpoint.id)
                return 0
            if name == actions.LABEL:
                return self._label(found)
            directory = self._directory() if name == actions.FORK_DIRECTORY else None
            status = self._go(actions.proposal_of(name, found, directory=directory))
            if status is not None:
                return status

    def _action(self, offered: Sequence[actions.Action], about: str) -> ActionName | None:
        self._say(f"Go back to {shown(about)}")
        for at, action in enumerate(offered, 1):
            self._say(f"{at:>4}  {action_words.offer(action)}")
        while (number := ask_number(self._next, self._say, len(offered))) is not None:
            chosen = offered[number - 1]
            if chosen.is_possible:
                return chosen.name
            self._say(f"{action_words.title(chosen)}: {action_words.obstacle(chosen)}.")
        return None

    def _next(self) -> str | None:
        return self._line("what to do, b to step back, or q: ")

    def _label(self, found: Choices) -> int:
        before = found.checkpoint
        self._say(f"A name that finds it again; {_OFF} takes the label off.")
        while True:
            typed = self._typed("label: ")
            try:
                after = self._tb.label(before, None if typed == _OFF else typed)
            except UsageError as error:
                self._say(shown(error.message))
                continue
            self._say(words.labelled(before, after))
            return 0

    def _directory(self) -> str:
        self._say(words.DIRECTORY_ABOUT)
        while True:
            typed = self._typed(f"{words.DIRECTORY} ")
            try:
                return self._tb.new_directory(os.path.expanduser(typed))
            except UsageError as error:
                self._say(shown(error.message))

    # -- the plan

    def _go(self, asked: Proposal) -> int | None:
        """Shows the plan until it is agreed to and carried out; None goes back to the actions."""
        proposal, overrides = asked, NO_OVERRIDES
        while True:
            plan = proposal.plan(self._tb, overrides)
            self._show(proposal, plan)
            if plan.does_nothing or not plans.can_be_answered(plan):
                return None
            if plan.conflicts:
                chosen = self._conflicts.answers(plan, proposal.choices)
                if chosen is None:
                    return None
                proposal = proposal.choosing(chosen)
                continue
            ways = proposal.ways_to_keep(plan)
            if plan.refused:
                way = self._way(plan, list(ways)) if ways else _ANSWER
                if way is None:
                    return None
                if way != _ANSWER:
                    asked = proposal = ways[way]
                    continue
                given = self._refusals.answers(plan)
                if given is None:
                    return None
                overrides = overrides.replace(**given)
                continue
            typed = self._line(self._question(proposal, plan))
            if typed is None:
                return None
            kept = {words.WAY_KEYS[what]: one for what, one in ways.items()}.get(typed.lower())
            if kept is not None:
                asked = proposal = kept
                continue
            if typed.lower() not in _YES:
                return None
            done = proposal.go(self._tb, overrides, shown=plan)
            if done is not None:
                return self._arrive(proposal, done)
            proposal, overrides = asked, NO_OVERRIDES
            self._say(words.NEW_PLAN)

    def _way(self, plan: Plan, ways: Sequence[Kept]) -> Kept | Literal["answer"] | None:
        """Asks whether to keep more, or to answer what speaks against the plan; None steps back."""
        self._say(f"{1:>4}  {words.ANSWER_FIRST}")
        for at, what in enumerate(ways, 2):
            self._say(f"{at:>4}  {words.way_to_keep(what, plan)}")
        number = ask_number(self._next, self._say, len(ways) + 1)
        return None if number is None else _ANSWER if number == 1 else ways[number - 2]

    def _question(self, proposal: Proposal, plan: Plan) -> str:
        ways = (
            f", {words.WAY_KEYS[what]}: {words.way_to_keep(what, plan).lower()}"
            for what in proposal.ways_to_keep(plan)
        )
        return f"{words.question(proposal, plan)} [y/N{''.join(ways)}] "

    def _show(self, proposal: Proposal, plan: Plan) -> None:
        if plan.does_nothing:
            self._say(outcomes.nothing_to_do(plan))
        for line in words.plan_lines(proposal, plan, _PLAIN):
            self._say(line)
        for line in plans.refused_lines(plan):
            self._say(line)

    def _arrive(self, proposal: Proposal, outcome: Outcome) -> int:
        for line in words.after_lines(outcome, proposal.of):
            self._say(line)
        return 0 if outcome.whole else PartlyDone.exit_status

    # -- lines

    def _line(self, question: str) -> str | None:
        """Asks a question after the list; None is one stage back."""
        typed = self._typed(question)
        if typed.lower() == "q":
            raise _Ended(DECLINED)
        return None if typed.lower() == "b" else typed

    def _typed(self, question: str) -> str:
        typed = self._ask(question)
        if not typed:
            raise _Ended(DECLINED)
        return typed
