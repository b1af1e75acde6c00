"""What a request for a plan means: the same proposals as on the command line."""

from __future__ import annotations

import os

from takeback.app import proposal as proposals
from takeback.app.ticks import TickedHunks, only_ticked
from takeback.errors import Refused, UsageError
from takeback.model.agent import FROM, SUMMARY_WAYS, summary_way
from takeback.model.merge import CHOICES, ConflictChoices, choice_named
from takeback.model.operation import (
    BOTH,
    CONVERSATION,
    FILES,
    FORK,
    REDO,
    REVERT,
    REWIND,
    SUMMARISE,
    UNDO,
    scope_named,
    step_named,
)
from takeback.model.schemas import NAME, PATH, fields, strings
from takeback.rewind.request import KEPT, NOTHING, Keeping, keeping_of, kept_named
from takeback.words import reviews, waivers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.app.proposal import Proposal
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import Overrides
    from takeback.model.schemas import Schema

    Body = Mapping[str, Any]

_DEFAULT = "default"
"""In ``conflicts``: what is chosen about every path that is not named."""
_PATHS = 1000
_HUNKS: Schema = strings({"type": "integer", "minimum": 0, "maximum": 100_000}, 10_000)
_CHOICE: Schema = {"type": "string", "enum": list(CHOICES)}

BODY = fields(
    (),
    kind={"type": "string", "enum": [REWIND, REVERT, FORK, SUMMARISE, UNDO, REDO]},
    target=NAME,
    turns=strings(NAME, 100),
    session=NAME,
    scope={"type": "string", "enum": [FILES, CONVERSATION, BOTH]},
    paths=strings(PATH, _PATHS),
    hunks={"type": "object", "additionalProperties": _HUNKS, "maxProperties": _PATHS},
    seen={"type": "object", "additionalProperties": NAME, "maxProperties": _PATHS},
    keep={"type": "string", "enum": list(KEPT)},
    conflicts={
        "type": "object",
        "additionalProperties": {
            "type": ["string", "array"],
            "items": _CHOICE,
            "maxItems": 1000,
            "maxLength": 10,
        },
        "maxProperties": _PATHS,
    },
    overrides=strings({"type": "string", "enum": list(waivers.FLAGS.values())}, 10),
    ignored={"type": "boolean"},
    directory={"type": "string", "pattern": "^[A-Za-z0-9._-]{1,100}$"},
    files={"type": "boolean"},
    way={"type": "string", "enum": list(SUMMARY_WAYS)},
)
"""The body of a request for a plan."""


def overrides(body: Body) -> Overrides:
    """Returns what the person has answered with yes."""
    return waivers.overrides(body.get("overrides", ()))


def proposal(tb: Engine, body: Body) -> Proposal:
    """Returns the proposal that a request asks for; raises UsageError for what does not fit."""
    kind = body.get("kind", REWIND)
    step = step_named(kind)
    if step is not None:
        return proposals.next_step(tb, step)
    names = [*body.get("turns", ()), *([body["target"]] if "target" in body else [])]
    whose = tb.taken(*(names or [""]), session=body.get("session"))
    return _of_a_place(tb, body, kind).replace(whose=whose)


def _of_a_place(tb: Engine, body: Body, kind: str) -> Proposal:
    if kind == REVERT:
        return _revert(tb, body)
    if kind == FORK:
        return _fork(tb, body)
    if kind == SUMMARISE:
        way = summary_way(body.get("way", FROM))
        return proposals.summarise(_target(tb, body), way, session=body.get("session"))
    return _rewind(tb, body)


def _rewind(tb: Engine, body: Body) -> Proposal:
    target, scope = _target(tb, body), body.get("scope")
    ticked, whole = body.get("hunks", {}), body.get("paths", ())
    ignored = body.get("ignored", False)
    paths = [*whole, *ticked]
    if scope is None:
        name = body.get("target") or target
        session = body.get("session")
        scope = tb.default_scope(name, target, paths, ignored=ignored, session=session)
    asked = proposals.rewind(
        target, paths, scope=scope_named(scope), ignored=ignored, keeping=_keeping(body)
    )
    return _only_ticked(tb, asked, body) if ticked else asked


def _only_ticked(tb: Engine, asked: Proposal, body: Body) -> Proposal:
    """Returns a rewind of some hunks; refused if they are not those that the person saw."""
    if body.get("keep", NOTHING) != NOTHING:
        raise UsageError("hunks are picked one by one: nothing is merged with them")
    wanted = {tb.path(path): numbers for path, numbers in body["hunks"].items()}
    known = {tb.path(path): word for path, word in body.get("seen", {}).items()}
    plan = asked.plan(tb)
    changes = {one.path: one for one in (*plan.writes, *plan.deletes)}
    ticks = []
    for path, numbers in wanted.items():
        change = changes.get(path)
        if change is None or known.get(path, reviews.seen(change)) != reviews.seen(change):
            raise Refused(
                "the hunks that were ticked are others now: the file changed since",
                hint="look at what going there would change now, and tick them again",
            )
        ticks.append(TickedHunks(change, frozenset(numbers)))
    return only_ticked(tb, asked, ticks)


def _revert(tb: Engine, body: Body) -> Proposal:
    names = [*body.get("turns", ()), *([body["target"]] if "target" in body else [])]
    if not names:
        raise UsageError("turns are the names of those to revert")
    turns = [tb.turn(name, session=body.get("session")) for name in names]
    return proposals.revert(turns, body.get("paths", ()), choices=_choices(body))


def _fork(tb: Engine, body: Body) -> Proposal:
    name, files = body.get("directory"), body.get("files", False)
    if name is not None and files:
        raise UsageError("files and directory exclude each other", hint="say one of them")
    if name in (".", ".."):
        raise UsageError("directory is the name of a new directory beside the workspace")
    beside = None if name is None else os.path.join(os.path.dirname(os.fsdecode(tb.root)), name)
    return proposals.fork(_target(tb, body), files=files, worktree=beside)


def _target(tb: Engine, body: Body) -> Checkpoint:
    """Returns where it goes; without a name to before the newest turn that is not taken back."""
    session = body.get("session")
    if "target" in body:
        return tb.find(body["target"], session=session)
    return tb.before_newest_turn(session)


def _keeping(body: Body) -> Keeping:
    what, chosen = kept_named(body.get("keep", NOTHING)), _choices(body)
    keeping_of(what, chosen.otherwise)  # raises where there is nothing to choose about
    return Keeping(what, chosen)


def _choices(body: Body) -> ConflictChoices:
    given = dict(body.get("conflicts", {}))
    otherwise = given.pop(_DEFAULT, None)
    if isinstance(otherwise, list):
        raise UsageError("the choice about all other paths is one word")
    by_path = {
        os.fsencode(path): choice_named(one)
        if isinstance(one, str)
        else tuple(choice_named(word) for word in one)
        for path, one in given.items()
    }
    return ConflictChoices(by_path, None if otherwise is None else choice_named(otherwise))
