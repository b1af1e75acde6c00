"""The command that a person types as a prompt, in the agent itself.

    /takeback              the newest turns
    /takeback 3            what going back to before turn 3 would do
    /takeback 3 yes        does it, files and conversation
    /takeback 3 files yes  the files alone
    /takeback undo yes     takes the last rewind back

The prompt hook answers, so no model is asked and no turn begins. Nothing is changed without
``yes``, and what the command line refuses is refused here too, with the flag that overrides it.
"""

from __future__ import annotations

import time

from takeback.app import proposal as proposals
from takeback.errors import TakebackError
from takeback.model.operation import SCOPES, step_named
from takeback.model.value import Value
from takeback.visible import shown
from takeback.words import errors, plans, render, waivers
from takeback.words.listing import Columns
from takeback.words.paint import Paint
from takeback.words.status import status_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine
    from takeback.app.proposal import Proposal
    from takeback.model.operation import ScopeKind
    from takeback.model.plan import Outcome, Plan
    from takeback.model.policy import Overrides

_NEWEST = 10
_YES = "yes"
_HELP = ("help", "-h", "--help")
_PLAIN = Paint(on=False)


class _Typed(Value):
    """What the person typed: the words for takeback, whether they agreed, what they waived."""

    command: str
    line: str
    wanted: tuple[str, ...]
    agreed: bool
    scope: ScopeKind | None
    overrides: Overrides
    follows: bool

    def with_flag(self, flag: str) -> str:
        """Returns the line that does it in spite of the refusal."""
        return " ".join([self.line, *([] if self.agreed else [_YES]), flag])


class Answered(Value):
    """What the person is shown, and what was done if they agreed to something."""

    text: str
    outcome: Outcome | None = None


def answer(
    tb: Engine, session: str, words: list[str], *, command: str, follows: bool = False
) -> Answered:
    """Answers a person who calls takeback by ``command``.

    A host that ``follows`` continues with a new session by itself: the answer does not say how to.
    """
    line = " ".join([command, *words])
    try:
        typed = _Typed(
            command,
            line,
            tuple(word for word in words if word not in (_YES, *SCOPES, *waivers.FLAGS)),
            _YES in words,
            next((scope for word in words for scope in SCOPES if word == scope), None),
            waivers.overrides(word for word in words if word in waivers.FLAGS),
            follows,
        )
        return _answer(tb, session, typed)
    except TakebackError as error:
        return _shown(f"takeback: {errors.said(error).message}", errors.inside(error, line))


def _shown(*lines: str) -> Answered:
    return Answered("\n".join(shown(line) for line in lines if line))  # some echo what was typed


def _answer(tb: Engine, session: str, typed: _Typed) -> Answered:
    if not typed.wanted:
        return _shown(*_turns(tb, session, typed.command))
    word, *more = typed.wanted
    if more or word in _HELP:
        return _shown(*_usage(typed.command))
    step = step_named(word)
    if step is not None:
        if typed.agreed:
            proposals.recover_before(tb, step)
        return _proposed(tb, proposals.next_step(tb, step), typed)
    if word == "status":
        return _shown(*status_lines(tb.status(), _PLAIN, time.time()))
    name = f"turn:{word}" if word.isdigit() else word
    return _proposed(tb, proposals.rewind_to(tb, name, scope=typed.scope, session=session), typed)


def _usage(command: str) -> list[str]:
    return [
        f"{command}                  the newest turns",
        f"{command} 3                what going back to before turn 3 would do",
        f"{command} 3 yes            do it: files and conversation",
        f"{command} 3 files yes      the files alone (or: conversation)",
        f"{command} undo yes         take the last rewind back",
        f"{command} 3 yes --FLAG     although something speaks against it, which names its flag",
    ]


def _turns(tb: Engine, session: str, command: str) -> list[str]:
    columns = Columns(tb.turns_behind(session, limit=_NEWEST), _PLAIN, time.time())
    lines = list(columns.all_lines())
    return [*(lines or ["No turn yet."]), f"Go back to before one: {command} N"]


def _proposed(tb: Engine, proposal: Proposal, typed: _Typed) -> Answered:
    """Shows the plan of a proposal, or carries it out if that was agreed to."""
    if typed.agreed:
        done = proposal.carry_out(tb, typed.overrides)
        told = done.replace(resume=None, session=None) if typed.follows else done
        lines = render.outcome_lines(told, proposal.of, command=typed.command, agreed=_YES)
        return _shown(*lines).replace(outcome=done)
    plan = proposal.plan(tb, typed.overrides)
    title = render.question(proposal.kind, plan, proposal.of).rstrip("?")
    return _shown(*_planned(plan, title, typed))


def _planned(plan: Plan, title: str, typed: _Typed) -> list[str]:
    lines = [f"{title}:", *plans.plan_lines(plan, _PLAIN, whole=False)]
    if plan.refused:
        flags = waivers.flags(plan.refused)
        all_the_same = f"To do it all the same: {typed.with_flag(' '.join(flags))}"
        return [*lines, *([all_the_same] if flags else [])]
    if plan.does_nothing:
        left = render.left_alone_lines(plan.left_alone, "Left alone")
        return [render.nothing_to_do(plan), *left]
    return [*lines, f"To do it: {typed.line} {_YES}"]
