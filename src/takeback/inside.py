"""Inside: what a person types to takeback in the agent itself.

    /takeback              the newest turns
    /takeback 3            what going back to before turn 3 would do
    /takeback 3 yes        does it, files and conversation
    /takeback 3 files yes  the files alone
    /takeback undo yes     takes the last rewind back

The prompt hook answers, so no model is asked and no turn begins. Nothing is changed without
``yes``, and what the command line refuses is refused here too.
"""

from __future__ import annotations

import time

from takeback.errors import TakebackError
from takeback.visible import shown
from takeback.words import plans, render
from takeback.words.paint import Paint
from takeback.words.status import status_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.app import Takeback
    from takeback.model.plan import Plan

_NEWEST = 10
_YES = "yes"
_SCOPES = ("files", "conversation", "both")
_PLAIN = Paint(on=False)


def answer(tb: Takeback, session: str, words: list[str], *, command: str) -> str:
    """Returns the text that the person is shown; ``command`` is how they call takeback."""
    try:
        lines = _answer(tb, session, words, command)
        return "\n".join(shown(line) for line in lines)  # some repeat what was typed
    except TakebackError as error:
        hint = f"\n{error.hint}" if error.hint else ""
        return f"takeback: {error.message}{hint}"


def _answer(tb: Takeback, session: str, words: list[str], command: str) -> Iterable[str]:
    wanted = [word for word in words if word != _YES and word not in _SCOPES]
    agreed = _YES in words
    scope = next((word for word in words if word in _SCOPES), None)
    if not wanted:
        return _turns(tb, session, command)
    if len(wanted) > 1:
        return _usage(command)
    if wanted[0] in ("undo", "redo"):
        return _step(tb, wanted[0], agreed, command)
    if wanted[0] == "status":
        return status_lines(tb.status(look=True), _PLAIN, time.time())
    if wanted[0] in ("help", "-h", "--help"):
        return _usage(command)
    name = f"turn:{wanted[0]}" if wanted[0].isdigit() else wanted[0]
    return _rewind(tb, session, name, scope, agreed, " ".join([command, *words]))


def _usage(command: str) -> list[str]:
    return [
        f"{command}                  the newest turns",
        f"{command} 3                what going back to before turn 3 would do",
        f"{command} 3 yes            do it: files and conversation",
        f"{command} 3 files yes      the files alone (or: conversation)",
        f"{command} undo yes         take the last rewind back",
    ]


def _turns(tb: Takeback, session: str, command: str) -> list[str]:
    entries = tb.checkpoints(session=session, limit=_NEWEST * 3)
    here, now = tb.current_place(), time.time()
    newest = [e for e in entries if e.turn is not None or e.checkpoint.label][:_NEWEST]
    lines = [line for entry in newest for line in render.entry_lines(entry, _PLAIN, now, here)]
    return [*(lines or ["No turn yet."]), f"Go back to before one: {command} N"]


def _rewind(
    tb: Takeback, session: str, name: str, scope: str | None, agreed: bool, typed: str
) -> Iterable[str]:
    target = tb.find(name, session=session)
    moved = scope or tb.default_scope(target, target)
    if agreed:
        return render.outcome_lines(tb.rewind(target, scope=moved), None)
    plan = tb.plan(target, scope=moved)
    question = render.question("rewind", plan, None).rstrip("?")
    return _planned(plan, question, typed)


def _planned(plan: Plan, title: str, typed: str) -> list[str]:
    lines = [f"{title}:", *plans.plan_lines(plan, _PLAIN, whole=False)]
    if plan.refused:
        return lines
    if plan.does_nothing:
        left = render.left_alone_lines(plan.left_alone, "Left alone")
        return [render.nothing_to_do(plan), *left]
    return [*lines, f"To do it: {typed} yes"]


def _step(tb: Takeback, kind: str, agreed: bool, command: str) -> Iterable[str]:
    step = tb.next_undo() if kind == "undo" else tb.next_redo()
    if agreed:
        outcome = tb.undo() if kind == "undo" else tb.redo()
        return render.outcome_lines(outcome, step.operation)
    plan = tb.plan_undo() if kind == "undo" else tb.plan_redo()
    title = render.question(kind, plan, step.operation).rstrip("?")
    return _planned(plan, title, f"{command} {kind}")
