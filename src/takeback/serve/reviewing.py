"""What changed, line by line, and the bytes of both sides."""

from __future__ import annotations

from starlette.responses import Response

from takeback.app.review import AFTER, NOW, WORDS
from takeback.errors import NoSuchCheckpoint
from takeback.serve.endpoint import Asked, in_workspace, looking
from takeback.serve.reading import meant
from takeback.words import documents, reviews

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.serve.endpoint import Handler, Job

    Document = dict[str, Any]

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
    small = path is None and reviews.is_small(changes)
    made = []
    for number, one in enumerate(changes):
        named = documents.path_fields(one.change.path)["path"] == path
        if path is not None and not named:
            continue
        lines = None
        if small or named:
            lines = reviews.hunks(tb.text_change(one.change), one.change.path, colour=colour)
        made.append(reviews.change(number, one, lines))
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
