"""The command that a person types as a prompt, in the agent itself.

    /takeback                   the newest turns
    /takeback 3                 what going back to before turn 3 would do
    /takeback 3 yes             does it, files and conversation
    /takeback 3 files yes       the files alone
    /takeback 3 keep-edits yes  does it, and keeps what the person typed since
    /takeback 3 mine yes        takes back only what this session changed since
    /takeback revert 3 yes      takes back turn 3 only, and keeps what came later
    /takeback undo yes          takes the last rewind back

The prompt hook answers, so no model is asked and no turn begins. Nothing is changed without
``yes``, and what the command line refuses is refused here too, with the flag that overrides it.
"""

from __future__ import annotations

import time

from takeback.app import proposal as proposals
from takeback.errors import TakebackError, UsageError
from takeback.model.keeping import ALL_OTHERS, EDITS, NOTHING, keeping_of
from takeback.model.merge import ConflictChoices, choice_named
from takeback.model.operation import FILES, REVERT, SCOPES, step_named
from takeback.model.value import Value
from takeback.visible import shown
from takeback.words import conflicts, errors, plans, refusals, render, waivers
from takeback.words.conflicts import OPTION
from takeback.words.listing import Columns
from takeback.words.paint import Paint
from takeback.words.status import status_lines
from takeback.words.waivers import Ways

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.app.engine import Engine
    from takeback.app.proposal import Proposal
    from takeback.model.keeping import Kept
    from takeback.model.merge import ConflictChoice
    from takeback.model.operation import ScopeKind
    from takeback.model.plan import Outcome, Plan
    from takeback.model.policy import Overrides

_NEWEST = 10
_YES = "yes"
_WAYS: dict[Kept, str] = {EDITS: "keep-edits", ALL_OTHERS: "mine"}
_KEEP: dict[str, Kept] = {dash + word: what for what, word in _WAYS.items() for dash in ("", "--")}
_CHOOSE = "What to do where both changed the same:"
_HELP = ("help", "-h", "--help")
_PLAIN = Paint(on=False)


class _Typed(Value):
    """What the person typed: the words for takeback, whether they agreed, what they waived.

    ``keep`` and ``conflicts`` are what they want merged, and how.
    """

    command: str
    line: str
    wanted: tuple[str, ...]
    agreed: bool
    scope: ScopeKind | None
    overrides: Overrides
    follows: bool
    keep: Kept
    conflicts: ConflictChoice | None

    def with_flags(self, flags: Sequence[str]) -> str:
        """Returns the line that does it in spite of what these flags waive."""
        return " ".join([self.line, *([] if self.agreed else [_YES]), *flags])


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
            tuple(word for word in words if not _is_said(word)),
            _YES in words,
            next((scope for word in words for scope in SCOPES if word == scope), None),
            waivers.overrides(word for word in words if word in waivers.FLAGS),
            follows,
            _kept(words),
            next((choice_named(one) for one in map(_chosen, words) if one is not None), None),
        )
        return _answer(tb, session, typed)
    except TakebackError as error:
        return _shown(f"takeback: {errors.said(error).message}", errors.inside(error, line))


def _is_said(word: str) -> bool:
    """Tells whether a word says how something is done, and not what."""
    return word in (_YES, *SCOPES, *_KEEP, *waivers.FLAGS) or _chosen(word) is not None


def _kept(words: Sequence[str]) -> Kept:
    """Returns what is to be kept; raises UsageError if two words say different things."""
    found = {_KEEP[word] for word in words if word in _KEEP}
    if len(found) > 1:
        raise UsageError("keep-edits and mine exclude each other", hint="mine keeps your edits too")
    return next(iter(found), NOTHING)


def _chosen(word: str) -> str | None:
    """Returns what a word chooses about conflicts; None if it is another word."""
    return word.removeprefix(OPTION) if word.startswith(OPTION) else None


def _shown(*lines: str) -> Answered:
    return Answered("\n".join(shown(line) for line in lines if line))  # some echo what was typed


def _answer(tb: Engine, session: str, typed: _Typed) -> Answered:
    if not typed.wanted:
        return _shown(*_turns(tb, session, typed.command))
    word, *more = typed.wanted
    step = step_named(word)
    merges = typed.keep != NOTHING or typed.conflicts is not None
    if word == REVERT and more and typed.keep == NOTHING and typed.scope in (None, FILES):
        turns = [tb.turn(_turn(name), session=session) for name in more]
        choices = ConflictChoices(otherwise=typed.conflicts)
        return _proposed(tb, proposals.revert(turns, choices=choices), typed)
    if more or word in (*_HELP, REVERT) or (step is not None and merges):
        return _shown(*_usage(typed.command))
    if step is not None:
        if typed.agreed:
            proposals.recover_before(tb, step)
        return _proposed(tb, proposals.next_step(tb, step), typed)
    if word == "status":
        return _shown(*status_lines(tb.status(), _PLAIN, time.time()))
    keeping = keeping_of(typed.keep, typed.conflicts)
    going = proposals.rewind_to(
        tb, _turn(word), scope=typed.scope, session=session, keeping=keeping
    )
    return _proposed(tb, going, typed)


def _turn(word: str) -> str:
    """Returns the name that a number stands for: of a turn, or of a step of it."""
    return f"turn:{word}" if all(part.isdigit() for part in word.split(".", 1)) else word


def _usage(command: str) -> list[str]:
    return [
        f"{command}                  the newest turns",
        f"{command} 3                what going back to before turn 3 would do",
        f"{command} 3 yes            do it: files and conversation",
        f"{command} 3 files yes      the files alone (or: conversation)",
        f"{command} 3 keep-edits yes do it, and keep what you typed yourself since",
        f"{command} 3 mine yes       take back only what this session changed since",
        f"{command} revert 3 yes     take back turn 3 only, and keep what came later",
        f"{command} undo yes         take the last rewind back",
        f"{command} 3 yes --FLAG     although something speaks against it, which names its flag",
    ]


def _turns(tb: Engine, session: str, command: str) -> list[str]:
    columns = Columns(tb.turns_behind(session, limit=_NEWEST), _PLAIN, time.time())
    lines = list(columns.all_lines())
    ways = f"Go back to before one: {command} N; take back only one: {command} revert N"
    return [*(lines or ["No turn yet."]), ways]


def _proposed(tb: Engine, proposal: Proposal, typed: _Typed) -> Answered:
    """Shows the plan of a proposal, or carries it out if that was agreed to."""
    if typed.agreed:
        done = proposal.carry_out(tb, typed.overrides)
        told = done.replace(resume=None, session=None) if typed.follows else done
        lines = render.outcome_lines(told, proposal.of, command=typed.command, agreed=_YES)
        return _shown(*lines).replace(outcome=done)
    plan = proposal.plan(tb, typed.overrides)
    title = render.question(proposal.kind, plan, proposal.of).rstrip("?")
    ways = {what: f"{typed.line} {_WAYS[what]}" for what in proposal.ways_to_keep(plan)}
    lines = plans.plan_lines(plan, _PLAIN, whole=False, ways=Ways(ways))
    return _shown(*_planned(plan, [f"{title}:", *lines], typed))


def _planned(plan: Plan, lines: list[str], typed: _Typed) -> list[str]:
    if plan.conflicts:
        others = waivers.flags(refusals.objections(plan))
        choices = conflicts.all_alike(plan.conflicts, typed.with_flags(others))
        return [*lines, *conflicts.disputed_lines(plan, _PLAIN), _CHOOSE, *choices]
    if plan.refused:
        flags = waivers.flags(plan.refused)
        all_the_same = f"To do it all the same: {typed.with_flags(flags)}"
        return [*lines, *([all_the_same] if flags else [])]
    if plan.does_nothing:
        left = render.left_alone_lines(plan.left_alone, "Left alone")
        return [render.nothing_to_do(plan), *left]
    return [*lines, f"To do it: {typed.line} {_YES}"]
