"""Answers: what is read, reviewed, proposed and carried out for the page and the API."""

from __future__ import annotations

import os
import time

from starlette.responses import Response

from takeback.app import proposal as proposals
from takeback.app.engine import Engine
from takeback.app.proposal import AGAIN, Agreement, PruneAgreement, TickedHunks, only_ticked
from takeback.app.space import AFTER, NOW, WORDS
from takeback.errors import NoSuchCheckpoint, Refused, UsageError
from takeback.model.agent import FROM, SUMMARY_WAYS, summary_way
from takeback.model.conflicts import CHOICES, ConflictChoices, choice_named
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
from takeback.serve.protocol import (
    Asked,
    Rejected,
    for_client,
    for_person,
    in_workspace,
    looking,
    looking_long,
)
from takeback.words import choices, documents, outcomes, pruning
from takeback.words import documents as conversations
from takeback.words import status as health
from takeback.words.sessions import command
from takeback.words.text import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from takeback.app.proposal import Proposal
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import Overrides
    from takeback.model.schemas import Schema
    from takeback.retention.prune import Prune, Pruning
    from takeback.retention.sweep import Together
    from takeback.serve.protocol import Handler, Job

    Document = dict[str, Any]
    Body = Mapping[str, Any]

# -- what only looks: the workspaces, and what is kept of each


TURNS, FOUND, MESSAGES = 100, 100, 200
"""How many turns, places that were found, and messages are given without ``limit``."""


async def workspaces(asked: Asked) -> Document:
    """Lists every workspace of the user; opens none of them."""
    known = Engine.workspaces()
    there = await asked.server.presence.of(one.root for one in known)
    return {"workspaces": [documents.workspace(one, there=there[one.root]) for one in known]}


@looking
def status(tb: Engine, asked: Asked) -> Document:
    found = tb.status(look=True)
    return health.whole(found, tb.agents(), tb.earlier_stores)


@in_workspace
def doctor(tb: Engine, asked: Asked) -> Document:
    return {"findings": [health.finding(one) for one in tb.doctor()]}


@looking
def sessions(tb: Engine, asked: Asked) -> Document:
    return {"sessions": [documents.session(one) for one in tb.sessions()]}


@looking_long
def tree(tb: Engine, asked: Asked) -> Document:
    return {"sessions": [documents.node(root) for root in tb.tree()]}


@looking
def operations(tb: Engine, asked: Asked) -> Document:
    return {"operations": [documents.operation(one) for one in reversed(tb.operation_log())]}


@looking
def turns(tb: Engine, asked: Asked) -> Document:
    limit, before = asked.number("limit", TURNS), asked.text("before")
    found = tb.checkpoints(session=asked.text("session"), limit=limit + 1, before=before)
    page = [documents.timeline_entry(one) for one in found[:limit]]
    return {"turns": page, "next": page[-1]["id"] if len(found) > limit else None}


@looking
def checkpoint(tb: Engine, asked: Asked) -> Document:
    return documents.shown_checkpoint(tb.show(meant(tb, asked)))


@looking
def prompt(tb: Engine, asked: Asked) -> Document:
    """Gives the prompt that a rewind to there would take back, to be typed again."""
    return {"prompt": tb.show(meant(tb, asked)).entry.checkpoint.prompt}


async def messages(asked: Asked) -> Document:
    """Gives the conversation up to a checkpoint, a page at a time.

    One that has to be read first takes long, if it is; the others are not kept waiting for it.
    """
    which = {"offset": asked.number("offset", 0), "limit": asked.number("limit", MESSAGES)}
    look, workspace = asked.server.workspaces.look, asked.parameters["workspace"]
    page = await look(workspace, lambda tb: tb.messages_at_hand(meant(tb, asked), **which))
    if page is None:
        page = await look(workspace, lambda tb: tb.messages(meant(tb, asked), **which), long=True)
    return conversations.page(page)


@looking
def search(tb: Engine, asked: Asked) -> Document:
    """Finds prompts and paths, or lines of files; commands are those to type in the workspace."""
    words = (asked.text("q") or "").split()
    found = tb.search(*words, limit=asked.number("limit", FOUND), content=asked.flag("content"))
    return {"found": [documents.found(one, command(one, tb.root, tb.root)) for one in found]}


def meant(tb: Engine, asked: Asked) -> Checkpoint:
    """Returns the checkpoint that the path of a request names."""
    return tb.find(asked.parameters["checkpoint"], session=asked.text("session"))


# -- what changed, line by line, and the bytes of both sides


_FILE = {
    "Content-Disposition": 'attachment; filename="file"',
    "Content-Security-Policy": "default-src 'none'; sandbox",
}
OLD, NEW = "old", "new"


def _reviewing(job: Job) -> Handler:
    """Returns a handler that looks at states that are kept; the files as they are in its turn."""
    beside, in_turn = looking(job), in_workspace(job)

    async def handler(asked: Asked) -> Document | Response:
        return await (in_turn if asked.text("to") == NOW else beside)(asked)

    return handler


@_reviewing
def diff(tb: Engine, asked: Asked) -> Document:
    """Gives what changed, by path; the lines where they are asked for, or all if they are few."""
    found, to = meant(tb, asked), asked.text("to") or AFTER
    changes = tb.review(found, to)
    path, colour = asked.text("path"), asked.flag("colour")
    small = path is None and documents.is_small(changes)
    made = []
    for number, one in enumerate(changes):
        named = documents.path_fields(one.change.path)["path"] == path
        if path is not None and not named:
            continue
        lines = None
        if small or named:
            lines = documents.hunks(tb.text_change(one.change), one.change.path, colour=colour)
        made.append(documents.change(number, one, lines))
    ends = (found,) if to in WORDS else (found, tb.find(to))
    return {"changes": made, "purged": documents.path_list(tb.purged_in(ends))}


@_reviewing
def file(tb: Engine, asked: Asked) -> Response:
    """Gives the bytes of one side of a change, never to be shown as a page."""
    changes = tb.review(meant(tb, asked), asked.text("to") or AFTER)
    number = asked.parameters["number"]
    if number >= len(changes):
        raise NoSuchCheckpoint(f"there is no change number {number}")
    change = changes[number].change
    entry = change.new if asked.text("side") == NEW else change.old
    data = tb.content(change.path, entry)
    return Response(data, headers=_FILE, media_type="application/octet-stream")


# -- what a request for a plan means: the same proposals as on the command line


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
    overrides=strings({"type": "string", "enum": list(outcomes.FLAGS.values())}, 10),
    ignored={"type": "boolean"},
    directory={"type": "string", "pattern": "^[A-Za-z0-9._-]{1,100}$"},
    files={"type": "boolean"},
    way={"type": "string", "enum": list(SUMMARY_WAYS)},
)
"""The body of a request for a plan."""


def overrides(body: Body) -> Overrides:
    """Returns what the person has answered with yes."""
    return outcomes.overrides(body.get("overrides", ()))


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
        if change is None or known.get(path, documents.seen(change)) != documents.seen(change):
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


# -- what changes something, in two steps: a plan gives a nonce, and the nonce does it


NO_FIELDS = fields()
NONCE = fields(("nonce",), nonce=NAME)
LABEL = fields(
    ("checkpoint", "label"),
    checkpoint=NAME,
    session=NAME,
    label={"type": ["string", "null"], "minLength": 1, "maxLength": 200},
)


async def plan(asked: Asked) -> Document:
    """Works out what an operation would do; changes nothing."""
    workspace = asked.parameters["workspace"]

    def job(tb: Engine) -> tuple[Agreement, Document]:
        allowed = overrides(asked.body)
        meant = proposal(tb, asked.body)
        made = meant.plan(tb, allowed)
        return Agreement(meant, made, allowed, workspace), choices.plan(meant, made)

    agreement, fields = await for_client(asked, job)
    return shown_with_nonce(asked, fields, agreement)


def shown_with_nonce(
    asked: Asked, fields: Document, agreement: Agreement | PruneAgreement
) -> Document:
    """Returns a plan with its nonce."""
    nonce = asked.server.nonces.remember(agreement)
    ends = time.time() + asked.server.settings.nonce_seconds
    return {**fields, "nonce": nonce, "expires": timestamp(ends)}


def action(kind: str) -> Handler:
    """Returns the handler that does what a plan of that kind said."""

    async def handler(asked: Asked) -> Document:
        workspace = asked.parameters["workspace"]
        agreed = asked.server.nonces.take(asked.body["nonce"])
        if not isinstance(agreed, Agreement) or agreed.workspace != workspace:
            raise Refused("that plan is of something else", hint=AGAIN)
        if agreed.proposal.kind != kind:
            raise Refused(f"that is no plan of {_article(kind)}", hint=AGAIN)
        fields = await for_person(asked, _article(kind), lambda tb: _carry_out(tb, agreed))
        return {**fields, "notes": asked.server.workspaces.notes(workspace)}

    return handler


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _carry_out(tb: Engine, agreed: Agreement) -> Document:
    meant = agreed.proposal
    recovered = proposals.recover_before(tb, meant.kind)
    done = meant.go(tb, agreed.overrides, shown=agreed.plan)
    if done is None:
        first = "" if recovered is None else f"{recovered.sentence()} "
        raise outdated(f"{first}The files changed since that plan was made; nothing was done")
    return choices.told(done, meant.of)


async def recover(asked: Asked) -> Document:
    """Finishes or rolls back what was interrupted, as the next operation would do first."""
    done = await for_person(asked, "a recovery", lambda tb: tb.recover())
    return {"recovered": done is not None, "lines": [] if done is None else [done.sentence()]}


def outdated(message: str) -> Rejected:
    return Rejected(409, "outdated", message, hint=AGAIN)


async def label(asked: Asked) -> Document:
    """Gives a checkpoint a name, or takes it off."""

    def job(tb: Engine) -> Document:
        before = tb.find(asked.body["checkpoint"], session=asked.body.get("session"))
        after = tb.label(before, asked.body["label"])
        label = {"label": after.label, "label_by": after.label_by, "before": before.label}
        return {"id": after.id, **label}

    return await for_person(asked, "a label", job)


# -- what makes room, in two steps, and what brings back what was dropped


PRUNE = fields((), session=NAME, checkpoints=strings(NAME, 1000), all={"type": "boolean"})
RESTORE = fields((), id=NAME)


async def plan_prune(asked: Asked) -> Document:
    """Says which checkpoints would lose their files; drops nothing."""
    workspace, body = asked.parameters["workspace"], asked.body
    names, session = body.get("checkpoints", []), body.get("session")
    everything = body.get("all", False)
    if everything and session is None:
        raise UsageError("all goes with a session", hint="say which session")
    if names and session is not None:
        raise UsageError("checkpoints and a session exclude each other", hint="say one of them")

    def planning(tb: Engine) -> Prune:
        return tb.plan_prune(names, session=session, everything=everything)

    def job(tb: Engine) -> tuple[Pruning, list[bytes], Together | None]:
        planned = planning(tb)
        stores = tb.all_stores() if planned.is_by_settings else None
        return planned.outlook(), tb.gone_workspaces(), stores

    outlook, gone, stores = await for_client(asked, job)
    fields = {
        **pruning.document(outlook),
        "done": False,
        "gone": [documents.path_fields(root) for root in gone],
        "goes": pruning.reasons_dropped(outlook),
        "stays": pruning.reasons_pinned(outlook),
        "together": pruning.together_document(stores),
        "lines": [*pruning.outlook_lines(outlook), *pruning.together_lines(stores)],
    }
    return shown_with_nonce(asked, fields, PruneAgreement(planning, outlook, workspace))


async def prune(asked: Asked) -> Document:
    """Drops the files of the checkpoints that the plan named."""
    workspace = asked.parameters["workspace"]
    agreed = asked.server.nonces.take(asked.body["nonce"])
    if not isinstance(agreed, PruneAgreement) or agreed.workspace != workspace:
        raise Refused("that plan is of something else", hint=AGAIN)

    def job(tb: Engine) -> Document:
        done = agreed.carry_out(tb)
        if done is None:
            raise outdated("Other checkpoints would go now; nothing was dropped")
        lines = list(pruning.done_lines(done, tb.settings["grace_days"]))
        return {**pruning.document(done), "done": True, "gone": [], "lines": lines}

    fields = await for_person(asked, "a prune", job)
    return {**fields, "notes": asked.server.workspaces.notes(workspace)}


@looking
def trash(tb: Engine, asked: Asked) -> Document:
    """Lists what was dropped and can be brought back, the newest first."""
    there = pruning.trash_documents(tb.trash())[::-1]
    return {"trash": there, "grace_days": tb.settings["grace_days"]}


async def restore(asked: Asked) -> Document:
    """Brings back what was dropped: by the id of a prune or a checkpoint, else the newest."""

    def job(tb: Engine) -> Document:
        made = tb.restore(asked.body.get("id"))
        return {**pruning.restored(made), "lines": list(pruning.restored_lines(made))}

    return await for_person(asked, "bringing back what was pruned", job)
