"""What only looks: the workspaces, and what is kept of each."""

from __future__ import annotations

from takeback.app.engine import Engine
from takeback.serve.endpoint import Asked, in_workspace, looking, looking_long
from takeback.words import documents, health, status_documents
from takeback.words import messages as conversations
from takeback.words.search import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.model.checkpoint import Checkpoint

    Document = dict[str, Any]

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
    return status_documents.whole(found, tb.agents(), tb.earlier_stores)


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
