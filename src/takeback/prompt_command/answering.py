"""Answers: lines that the person is shown; a plan, or what was done if they agreed to it."""

from __future__ import annotations

from takeback.model.value import Value
from takeback.prompt_command.typed import WAYS, YES
from takeback.visible import shown
from takeback.words import outcomes, plans
from takeback.words.outcomes import Ways
from takeback.words.text import Paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine
    from takeback.app.proposal import Proposal
    from takeback.model.operation import Outcome, Plan
    from takeback.prompt_command.typed import Typed

_CHOOSE = "What to do where both changed the same:"
_PROMPT_BESIDE = 600
"""Characters of a prompt that are printed where it stands in the editor, too: the rest is there."""
_PLAIN = Paint(on=False)


class Answered(Value):
    """What the person is shown, and what was done if they agreed to something."""

    text: str
    outcome: Outcome | None = None


def shown_lines(*lines: str) -> Answered:
    """Returns lines as an answer; some echo what was typed."""
    return Answered("\n".join(shown(line) for line in lines if line))


def proposed(tb: Engine, proposal: Proposal, typed: Typed) -> Answered:
    """Shows the plan of a proposal, or carries it out if that was agreed to."""
    if typed.agreed:
        done = proposal.carry_out(tb, typed.overrides)
        told = _followed(done) if typed.follows else done
        lines = outcomes.outcome_lines(told, proposal.of, command=typed.command, agreed=YES)
        return shown_lines(*lines).replace(outcome=done)
    plan = proposal.plan(tb, typed.overrides)
    title = outcomes.question(proposal.kind, plan, proposal.of).rstrip("?")
    ways = {what: f"{typed.line} {WAYS[what]}" for what in proposal.ways_to_keep(plan)}
    lines = plans.plan_lines(plan, _PLAIN, whole=typed.whole, ways=Ways(ways))
    return shown_lines(*_planned(plan, [f"{title}:", *lines], typed))


def _followed(done: Outcome) -> Outcome:
    """Returns what is told in a host that goes on by itself, with the prompt in its editor."""
    long = len(done.prompt or "") > _PROMPT_BESIDE
    return done.replace(resume=None, session=None, prompt=None if long else done.prompt)


def _planned(plan: Plan, lines: list[str], typed: Typed) -> list[str]:
    if plan.conflicts:
        others = outcomes.flags(plans.objections(plan))
        choices = outcomes.all_alike(plan.conflicts, typed.with_flags(others))
        return [*lines, *outcomes.disputed_lines(plan, _PLAIN), _CHOOSE, *choices]
    if plan.refused:
        flags = outcomes.flags(plan.refused)
        all_the_same = f"To do it all the same: {typed.with_flags(flags)}"
        return [*lines, *([all_the_same] if flags else [])]
    if plan.does_nothing:
        left = outcomes.left_alone_lines(plan.left_alone, "Left alone")
        return [outcomes.nothing_to_do(plan), *left]
    return [*lines, f"To do it: {typed.line} {YES}"]
