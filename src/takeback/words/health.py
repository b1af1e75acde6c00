"""What ``doctor`` and ``verify`` found, as documents and as lines of text."""

from __future__ import annotations

from takeback.check.finding import BROKEN, OK
from takeback.visible import shown
from takeback.words.documents import path_list
from takeback.words.errors import command_line
from takeback.words.text import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from takeback.check.check import Verified
    from takeback.check.finding import Finding
    from takeback.check.walk import Problem
    from takeback.words.paint import Paint

    Document = dict[str, Any]


def verified(found: Verified) -> Document:
    """Returns what ``verify`` says, as a document."""
    return {
        "checkpoints": found.checkpoints,
        "objects": found.objects,
        "problems": [_problem(problem) for problem in found.problems],
    }


def _problem(found: Problem) -> Document:
    return {
        "what": found.what,
        "detail": found.detail,
        "checkpoint": found.checkpoint,
        "paths": path_list(found.paths),
    }


def problem_lines(found: Verified, checked: str) -> Iterator[str]:
    """Yields how many problems there are, then each."""
    yield f"Checked {checked}: {count(found.problems, 'problem')}."
    for problem in found.problems:
        yield f"  {shown(problem.what)}: {shown(problem.detail)}"


def finding(found: Finding) -> Document:
    """Returns one thing that ``doctor`` checked, as a document."""
    return {
        "about": found.about,
        "state": found.state,
        "message": found.message,
        "hint": command_line(found.hint),
    }


def finding_lines(found: Finding, paint: Paint) -> Iterator[str]:
    """Yields one thing that ``doctor`` checked, and below it what to do."""
    colored = {OK: paint.added, BROKEN: paint.deleted}.get(found.state, paint.warning)
    yield f"{colored(f'{found.state:<6}')}  {shown(found.about)}: {shown(found.message)}"
    if found.hint:
        yield f"        {command_line(found.hint)}"
