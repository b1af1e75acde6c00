"""Server-sent events: what happens in the workspaces, as it happens."""

from __future__ import annotations

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.background import BackgroundTask

from takeback.app.engine import Engine
from takeback.errors import TakebackError
from takeback.model import json_text
from takeback.serve.endpoint import Asked
from takeback.serve.open_workspaces import find
from takeback.serve.watching import begin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.responses import Response

    from takeback.serve.feed import Feed, Listener


async def events(asked: Asked) -> Response:
    """Streams events until the client goes, or the server ends."""
    feed, workspace = asked.server.feed, asked.text("workspace")
    if workspace is not None:
        find(workspace)
    listener = feed.listen(workspace, asked.last_event)
    if workspace is None:
        begin(feed)
    elif workspace not in feed.moments:
        try:  # what happens from here on is told
            moment = await asked.server.workspaces.ask(workspace, Engine.seen_now)
        except TakebackError:
            listener.close()
            raise
        feed.moments.setdefault(workspace, moment)
    return EventSourceResponse(
        _stream(feed, listener),
        ping=asked.server.settings.heartbeat,
        ping_message_factory=lambda: ServerSentEvent(comment="still here"),
        send_timeout=asked.server.settings.patience,
        background=BackgroundTask(listener.close),
    )


async def _stream(feed: Feed, listener: Listener) -> AsyncIterator[ServerSentEvent]:
    """Yields events; the first has only an id, to resume from if nothing happens before."""
    try:
        if not listener.waiting:
            yield ServerSentEvent(id=feed.name())
        while True:
            event = await listener.next()
            id = None if event.number is None else feed.name(event.number)
            data = {"workspace": event.workspace, **event.data}
            yield ServerSentEvent(event=event.kind, data=json_text.dumps(data), id=id)
    finally:
        listener.close()
