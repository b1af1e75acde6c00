"""The table of all endpoints. The routes and the OpenAPI document are both made from it."""

from __future__ import annotations

from takeback.model.operation import FORK, REDO, REVERT, REWIND, SUMMARISE, UNDO
from takeback.model.schemas import NAME, PATH, fields
from takeback.serve import (
    changing,
    entering,
    listening,
    openapi,
    proposing,
    pruning,
    reading,
    reviewing,
)
from takeback.serve.endpoint import Asked, Endpoint, Parameter
from takeback.serve.openapi import ENTRY
from takeback.serve.reviewing import NEW, OLD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.model.schemas import Schema

    Document = dict[str, Any]

_SESSION = Parameter("session", NAME, "Whose turns are meant: an id, its beginning, an agent.")
_TO = Parameter(
    "to", NAME, "after (what the turn changed), now (what going there would do), previous, or one."
)
_ONE = "/workspaces/{workspace}"
_CHECKPOINT = f"{_ONE}/checkpoints/{{checkpoint}}"


def _holds(*names: str) -> Schema:
    """Returns the schema of an answer with these fields, and more."""
    return {"type": "object", "required": list(names)}


def _limit(default: int, most: int) -> Parameter:
    schema = {"type": "integer", "minimum": 1, "maximum": most, "default": default}
    return Parameter("limit", schema, "How many at most.")


async def _openapi(asked: Asked) -> Document:
    return openapi.document(ENDPOINTS)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST",
        "/enter",
        "enter",
        "Gives the secret for a code that is good once.",
        entering.enter,
        _holds("secret"),
        body=fields(("code",), code={"type": "string", "minLength": 1, "maxLength": 128}),
        open=True,
    ),
    Endpoint(
        "POST",
        "/challenge",
        "challenge",
        "Proves that the server knows the secret: HMAC-SHA256 of the nonce, in hex.",
        entering.challenge,
        _holds("proof"),
        body=fields(("nonce",), nonce={"type": "string", "minLength": 16, "maxLength": 128}),
        open=True,
    ),
    Endpoint(
        "GET", "/openapi.json", "openapi", "This document.", _openapi, _holds("openapi", "paths")
    ),
    Endpoint(
        "GET",
        "/workspaces",
        "workspaces",
        "Lists the workspaces of the user.",
        reading.workspaces,
        _holds("workspaces"),
    ),
    Endpoint(
        "GET",
        f"{_ONE}/status",
        "status",
        "Says where the files stand, what is kept, and what went wrong.",
        reading.status,
        _holds("checkpoints", "workspace", "agents"),
    ),
    Endpoint(
        "GET",
        f"{_ONE}/doctor",
        "doctor",
        "Names what is wrong; mends nothing.",
        reading.doctor,
        _holds("findings"),
    ),
    Endpoint(
        "GET",
        f"{_ONE}/sessions",
        "sessions",
        "Lists the sessions of the agents, the latest first.",
        reading.sessions,
        _holds("sessions"),
    ),
    Endpoint(
        "GET",
        f"{_ONE}/tree",
        "tree",
        "Gives sessions and turns as a tree.",
        reading.tree,
        _holds("sessions"),
    ),
    Endpoint(
        "GET",
        f"{_ONE}/operations",
        "operations",
        "Lists rewinds, undos and the like, newest first.",
        reading.operations,
        _holds("operations"),
    ),
    Endpoint(
        "GET",
        f"{_ONE}/turns",
        "turns",
        "Lists turns and checkpoints, newest first, a page at a time.",
        reading.turns,
        _holds("turns", "next"),
        query=(
            _SESSION,
            Parameter("before", NAME, "Only what is older than this checkpoint."),
            _limit(reading.TURNS, 500),
        ),
    ),
    Endpoint(
        "GET",
        _CHECKPOINT,
        "checkpoint",
        "Shows one checkpoint in full.",
        reading.checkpoint,
        _holds("id", "changed", "steps"),
        query=(_SESSION,),
    ),
    Endpoint(
        "GET",
        f"{_CHECKPOINT}/prompt",
        "prompt",
        "Gives the prompt that was asked there, to be typed again.",
        reading.prompt,
        _holds("prompt"),
        query=(_SESSION,),
    ),
    Endpoint(
        "GET",
        f"{_CHECKPOINT}/messages",
        "messages",
        "Gives the conversation up to there, a page at a time.",
        reading.messages,
        _holds("messages", "total", "next"),
        query=(
            _SESSION,
            Parameter("offset", ENTRY, "From this message on."),
            _limit(reading.MESSAGES, 500),
        ),
    ),
    Endpoint(
        "GET",
        f"{_CHECKPOINT}/diff",
        "diff",
        "Gives what changed, with lines where they are asked for or few.",
        reviewing.diff,
        _holds("changes", "purged"),
        query=(
            _SESSION,
            _TO,
            Parameter("path", PATH, "Only this one, with its lines."),
            Parameter("colour", {"type": "boolean"}, "With `tokens`, for syntax colours."),
        ),
    ),
    Endpoint(
        "GET",
        f"{_CHECKPOINT}/files/{{number}}",
        "file",
        "Gives the bytes of one side of a change, by its `number` in `changes`.",
        reviewing.file,
        {"type": "string"},
        query=(
            _SESSION,
            _TO,
            Parameter("side", {"type": "string", "enum": [OLD, NEW]}, "Before (old) or after."),
        ),
        media="application/octet-stream",
    ),
    Endpoint(
        "GET",
        f"{_ONE}/search",
        "search",
        "Finds prompts and paths with all words, or lines of files, newest first.",
        reading.search,
        _holds("found"),
        query=(
            Parameter("q", {"type": "string", "minLength": 1, "maxLength": 1000}, "The words."),
            _limit(reading.FOUND, 500),
            Parameter("content", {"type": "boolean"}, "In the files of all snapshots instead."),
        ),
    ),
    Endpoint(
        "POST",
        f"{_ONE}/plan",
        "plan",
        "Works out what an operation would do, and gives the nonce that does it.",
        changing.plan,
        _holds("written", "deleted", "refused", "nonce", "expires"),
        body=proposing.BODY,
    ),
    *(
        Endpoint(
            "POST",
            f"{_ONE}/{kind}",
            kind,
            about,
            changing.action(kind),
            _holds("operation", "written", "deleted", "notes"),
            body=changing.NONCE,
        )
        for kind, about in (
            (REWIND, "Goes to a checkpoint, as planned."),
            (REVERT, "Takes some turns out of the files, as planned."),
            (FORK, "Begins a new session, as planned."),
            (SUMMARISE, "Begins a new session with a summary in it, as planned."),
            (UNDO, "Takes back the last operation, as planned."),
            (REDO, "Goes forward again, as planned."),
        )
    ),
    Endpoint(
        "POST",
        f"{_ONE}/recover",
        "recover",
        "Finishes or rolls back an operation that was interrupted.",
        changing.recover,
        _holds("recovered", "lines"),
        body=changing.NOTHING,
    ),
    Endpoint(
        "POST",
        f"{_ONE}/label",
        "label",
        "Gives a checkpoint a name, or takes it off (null).",
        changing.label,
        _holds("id", "label", "label_by", "before"),
        body=changing.LABEL,
    ),
    Endpoint(
        "POST",
        f"{_ONE}/prune/plan",
        "plan_prune",
        "Says which checkpoints would lose their files, and gives the nonce that drops them.",
        pruning.plan_prune,
        _holds("dropped", "nonce", "expires"),
        body=pruning.PRUNE,
    ),
    Endpoint(
        "POST",
        f"{_ONE}/prune",
        "prune",
        "Drops the files of checkpoints, as planned.",
        pruning.prune,
        _holds("dropped", "done"),
        body=changing.NONCE,
    ),
    Endpoint(
        "GET",
        f"{_ONE}/trash",
        "trash",
        "Lists what was dropped and can be brought back, newest first.",
        pruning.trash,
        _holds("trash", "grace_days"),
    ),
    Endpoint(
        "POST",
        f"{_ONE}/restore",
        "restore",
        "Brings back what was dropped: of that prune or checkpoint, or the newest.",
        pruning.restore,
        _holds("operation", "checkpoints", "sessions"),
        body=pruning.RESTORE,
    ),
    Endpoint(
        "GET",
        "/events",
        "events",
        "Streams what happens (server-sent events); resumes by Last-Event-ID.",
        listening.events,
        {"type": "string"},
        query=(Parameter("workspace", openapi.WORKSPACE, "Only of this one."),),
        media="text/event-stream",
    ),
)
