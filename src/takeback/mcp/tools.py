"""The tools that a model is given: what each takes, and what it answers.

Answers are the documents of ``--json``, one a line, or the lines of a file or a patch, with what
controls a terminal made visible. Each has a bound, and says where it was cut off.
"""

from __future__ import annotations

import time

from takeback.model import json_text
from takeback.model.naming import is_whole_turn
from takeback.model.schemas import NAME, PATH, fields, strings
from takeback.model.value import Value
from takeback.words import documents, status
from takeback.words.sessions import command
from takeback.words.text import count, shown_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.schemas import Schema

    Document = dict[str, Any]

_MOST = 60_000
"""Characters of an answer: what a model can read without losing its thread."""
_ENTRIES = 20


class Tool(Value):
    """One tool; ``adds`` says that it makes something, and does not only look."""

    name: str
    about: str
    schema: Schema
    answer: Callable[[Engine, Document], str]
    adds: bool = False

    @property
    def document(self) -> Document:
        """The tool as a client is told of it."""
        hints = {"readOnlyHint": not self.adds, "destructiveHint": False, "openWorldHint": False}
        schema = dict(self.schema)
        return {
            "name": self.name,
            "description": self.about,
            "inputSchema": schema,
            "annotations": hints,
        }


def _status(tb: Engine, given: Document) -> str:
    found = status.whole(tb.status(look=True), tb.agents(), tb.earlier_stores)
    return _bounded(json_text.dumps(found))


def _log(tb: Engine, given: Document) -> str:
    found = tb.checkpoints(
        session=given.get("session"),
        limit=given.get("limit", _ENTRIES),
        paths=given.get("paths", ()),
    )
    return _lines(documents.timeline_entry(entry) for entry in found)


def _show(tb: Engine, given: Document) -> str:
    return _bounded(json_text.dumps(documents.shown_checkpoint(tb.show(_meant(tb, given)))))


def _diff(tb: Engine, given: Document) -> str:
    new = given.get("to")
    old, paths = _meant(tb, given), given.get("paths", ())
    later = None if new is None else tb.find(new, session=given.get("session"))
    of_turn = is_whole_turn(given.get("checkpoint"), new)
    changes, patch = tb.changes_and_diff(old, later, paths, of_turn=of_turn)
    if given.get("stat"):
        return _lines(documents.counted(changes))
    return _bounded(shown_lines(patch) or "nothing is different")


def _cat(tb: Engine, given: Document) -> str:
    data = tb.cat(_meant(tb, given), given["path"])
    if b"\0" in data:
        return f"no text: {count(len(data), 'byte')}"
    return _bounded(shown_lines(data))


def _search(tb: Engine, given: Document) -> str:
    words, limit = given["text"].split(), given.get("limit", _ENTRIES)
    found = tb.search(*words, limit=limit, content=given.get("content", False))
    return _lines(documents.found(one, command(one, tb.root)) for one in found)


def _checkpoint(tb: Engine, given: Document) -> str:
    start = time.monotonic()
    made = tb.checkpoint_of("mcp", given.get("label"))
    took = round((time.monotonic() - start) * 1000)
    changed = len(tb.show(made.checkpoint).entry.changes)
    return _bounded(json_text.dumps(documents.made(made, changed=changed, ms=took)))


def _meant(tb: Engine, given: Document) -> Checkpoint:
    return tb.find(given["checkpoint"], session=given.get("session"))


def _lines(found: Iterable[Document]) -> str:
    """Returns documents, one a line: as many as there is room for, and how many more there are."""
    lines: list[str] = []
    room, left_out = _MOST, 0
    for one in found:
        line = json_text.dumps(one)
        room -= len(line) + 1
        if room >= 0 or not lines:
            lines.append(_bounded(line))
        else:
            left_out += 1
    if left_out:
        lines.append(f"[{count(left_out, 'line')} more; ask for fewer, or for some paths only]")
    return "\n".join(lines) or "nothing was found"


def _bounded(text: str) -> str:
    """Returns a text, or as much of it as there is room for, saying so."""
    if len(text) <= _MOST:
        return text
    return f"{text[:_MOST]}\n[cut off here: {count(len(text) - _MOST, 'character')} more]"


_CHECKPOINT: Schema = {
    **NAME,
    "description": "An id or its beginning, a label, turn:3 (before that turn), turn:3.end, @ (the "
    "newest), @~1 (the one before), green, or a time such as 10m or 14:05.",
}
_SESSION: Schema = {
    **NAME,
    "description": "Whose turns are meant: a session's id, its beginning, or an agent's name.",
}
_PATHS: Schema = {**strings(PATH, 1_000), "description": "Only these files or directories."}
_LIMIT: Schema = {
    "type": "integer",
    "minimum": 1,
    "maximum": 500,
    "description": "At most so many.",
}

TOOLS = (
    Tool(
        "status",
        "Says where the files stand, what changed since by hand, what is kept, what went wrong.",
        fields(),
        _status,
    ),
    Tool(
        "log",
        "Lists the turns of coding agents and other checkpoints, newest first: id, prompt, which "
        "files each changed and who did it.",
        fields((), session=_SESSION, limit=_LIMIT, paths=_PATHS),
        _log,
    ),
    Tool(
        "show",
        "Shows one checkpoint or turn in full.",
        fields(("checkpoint",), checkpoint=_CHECKPOINT, session=_SESSION),
        _show,
    ),
    Tool(
        "diff",
        "Shows what is different between two checkpoints, or between one and the files now.",
        fields(
            ("checkpoint",),
            checkpoint=_CHECKPOINT,
            to={**_CHECKPOINT, "description": "Another one; without it, the files as they are."},
            session=_SESSION,
            paths=_PATHS,
            stat={"type": "boolean", "description": "Only paths and counts of lines."},
        ),
        _diff,
    ),
    Tool(
        "cat",
        "Returns a file as it is in a checkpoint.",
        fields(
            ("checkpoint", "path"),
            checkpoint=_CHECKPOINT,
            path={**PATH, "description": "A file of the workspace."},
            session=_SESSION,
        ),
        _cat,
    ),
    Tool(
        "search",
        "Finds checkpoints by what was asked or which files changed, or lines in the files of all "
        "snapshots.",
        fields(
            ("text",),
            text={**NAME, "description": "Words that all have to be there, in any order."},
            content={"type": "boolean", "description": "In the files' lines instead."},
            limit=_LIMIT,
        ),
        _search,
    ),
    Tool(
        "checkpoint",
        "Makes a checkpoint of all files as they are now, for example before a risky change. It "
        "changes no file.",
        fields((), label={**NAME, "description": "A name for it, used by one checkpoint only."}),
        _checkpoint,
        adds=True,
    ),
)
