"""Plan: the list of changes that a rewind would make, shown before it is carried out."""

from __future__ import annotations

from takeback.model.path_text import to_text
from takeback.model.plan import Plan
from takeback.model.value import Value
from takeback.ops.capture import capture
from takeback.ops.facts import until_now
from takeback.ops.failures import Translated
from takeback.ops.preconditions import others, refusals, warnings
from takeback.ops.prepare import prepare
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.ops.capture import Captured
    from takeback.ops.context import Context
    from takeback.ops.prepare import Prepared
    from takeback.ops.request import Request

    Asked = Callable[[Captured], Request]

_MANY = 1000
"""With more files than this in a plan, nobody reads the numbers of each."""
_PATIENCE = 1.0


class Look(Value):
    """A plan, and the state of the files that it was made for."""

    plan: Plan
    tree: bytes


def plan(context: Context, request: Request | Asked) -> Plan:
    """Works out a plan without changing anything; the lock is released when it returns."""
    return _counted(context, look(context, request))


def look(context: Context, request: Request | Asked) -> Look:
    """Captures the files and works out what a request would change; no lines are counted.

    What is asked for may depend on the files as they are, and is then made from them.
    """
    with context.locked() as locked:
        captured = capture(locked)
        captured.keep()
        with Translated("the plan"):
            if callable(request):
                request = request(captured)
            request = request.replace(facts=until_now(context, captured, request.facts))
            changes = prepare(context, captured, request, save=False)
            return Look(describe(context, captured, request, changes), captured.tree)


def describe(context: Context, captured: Captured, request: Request, changes: Prepared) -> Plan:
    """Puts the decided changes into the form that people and programs read."""
    scope, facts = request.scope, request.facts
    unnamed = (
        f"{to_text(path)} was not named, but is in the way: it becomes a directory; "
        "undo brings it back"
        for path in changes.unnamed
    )
    return Plan(
        goal=request.goal,
        writes=tuple(sorted(changes.writes, key=lambda c: c.path)),
        deletes=tuple(sorted(changes.deletes, key=lambda c: c.path)),
        left_alone=changes.left_alone,
        outside=tuple(sorted(changes.paths & facts.own)),
        others=others(changes, facts),
        warnings=tuple(shown(line) for line in (*unnamed, *warnings(context, request))),
        refused=refusals(context, captured, request, changes),
        saved=tuple(sorted(changes.extra)),
        paths=scope.paths,
        ignored=scope.ignored,
        scope=request.moves,
        turns=tuple(turn for turn, paths in facts.turns if paths & changes.paths),
        beyond=facts.beyond if scope.files and not scope.paths else (),
        kind=request.kind,
        conflicts=request.conflicts,
        edits=request.edits,
    )


def _counted(context: Context, looked: Look) -> Plan:
    """Adds how many lines each file gains and loses, if that is quick."""
    from takeback.git.diff import BINARY
    from takeback.ops.counting import Limits, lines_between

    made = looked.plan
    planned = {change.path for change in (*made.writes, *made.deletes)}
    if not planned or len(planned) > _MANY:
        return made
    then = bytes.fromhex(made.goal.tree)
    lines = lines_between(context.store, looked.tree, then, limits=Limits(patience=_PATIENCE))
    known = {path: n for path, n in lines.items() if path in planned and n != BINARY}
    return made.replace(lines=known)
