"""Lists turns and checkpoints, or operations.

The words of each kind of list are imported when it is asked for: they are half of all modules that
a list takes.
"""

from __future__ import annotations

import sys
import time

from takeback.cli.earlier import mention
from takeback.cli.pager import paged
from takeback.cli.terminal import terminal_width
from takeback.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine
    from takeback.cli.call import Call
    from takeback.timeline.timeline import Listing

NEWEST = 30
"""How many entries a person is shown by default."""


def log(
    call: Call,
    *,
    session: str | None = None,
    everything: bool = False,
    number: int | None = None,
    operations: bool = False,
    paths: tuple[str, ...] = (),
) -> int:
    """Prints the list; ``number`` is how many at most."""
    with call.open("log") as tb:
        limit = -1 if number is None else number
        if operations:
            if paths:
                raise UsageError("--operations takes no paths", hint=("leave one of them out",))
            return _operations(call, tb, session, limit)
        if number is None and not call.json and not everything:
            limit = NEWEST
        if call.json:
            from takeback.words.documents import timeline_entry

            for entry in tb.checkpoints(
                session=session, everything=everything, limit=limit, paths=paths
            ):
                call.output.document("checkpoint", timeline_entry(entry))
        else:
            from takeback.words.listing import older, stand_elsewhere

            found = tb.listing(session=session, everything=everything, limit=limit, paths=paths)
            _print(call, tb, found, whose=bool(paths))
            if found.elsewhere is not None and not paths:
                call.output.note(stand_elsewhere(found.elsewhere, time.time()))
            if number is None and found.more:
                call.output.note(older(found.more, limit, paths))
        mention(call, tb)
        _warn(call, tb)
    return 0


def _warn(call: Call, tb: Engine) -> None:
    """Says which agents worked here unheard: their turns are not in the list."""
    for one in tb.silence():
        from takeback.words.status import warning

        call.output.note(warning(one))


def _print(call: Call, tb: Engine, found: Listing, *, whose: bool) -> None:
    from takeback.words.listing import Columns

    output, now = call.output, time.time()
    columns = Columns(found, output.paint, now, room=terminal_width(sys.stdout), whose=whose)
    with paged(call, tb):
        output.lines(columns.all_lines())


def _operations(call: Call, tb: Engine, session: str | None, limit: int) -> int:
    from takeback.words import documents
    from takeback.words.sessions import operation_line

    output, now = call.output, time.time()
    one = None if session is None else tb.session_meant(session)
    found = [done for done in tb.operation_log() if one in (None, done.session)]
    found.reverse()
    some = found if limit < 0 else found[:limit]
    with paged(call, tb):
        for done in some:
            output.document("operation", documents.operation(done))
            output.line(operation_line(done, output.paint, now))
    return 0
