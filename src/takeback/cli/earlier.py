"""What was kept for a path before, at the command line: mentioned, offered, taken over."""

from __future__ import annotations

import time

from takeback.cli.terminal import agrees
from takeback.errors import NoSuchCheckpoint, NotAWorkspace
from takeback.words import earlier as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.app.beginning import Unclaimed
    from takeback.app.engine import Engine
    from takeback.cli.call import Call
    from takeback.model.entries import Earlier


def mention(call: Call, tb: Engine) -> None:
    """Says in one line what was kept for this path before, if anything."""
    line = words.offer(tb.earlier_stores, time.time())
    if line:
        call.output.note(line)


def open_or_offer(opening: Callable[[], Engine], *, can_ask: bool) -> Engine:
    """Opens a workspace; if it has no checkpoints yet, asks the person about earlier ones."""
    from takeback.app.engine import Engine

    try:
        return opening()
    except NotAWorkspace as error:
        now = time.time()
        found = Engine.earlier() if error.new else ()
        newest = next((one for one in found if one.newest is not None), None)
        if not can_ask or newest is None or not agrees(words.question(newest, now)):
            raise no_checkpoints(error) from None
        Engine.adopt(newest.name)
    return opening()


def no_checkpoints(error: NotAWorkspace, path: str = ".") -> NotAWorkspace:
    """Returns the error with advice in its words: earlier checkpoints, or how to begin."""
    if not error.new:
        return error
    from takeback.app.engine import Engine
    from takeback.words.status import first_steps

    found = Engine.earlier(path)
    if any(one.newest is not None for one in found):
        return words.worded(error, found, time.time())
    hint = first_steps(Engine.unopened(path).agents())
    return NotAWorkspace(error.message, hint=hint, new=True)


def open_with(call: Call, name: str, session: str | None) -> Engine:
    """Opens the workspace, or the earlier store of its path that has the checkpoint ``name``."""
    from takeback.app.beginning import holding, means_one_store
    from takeback.app.engine import Engine

    try:
        tb = call.open("rewind", note=call.dry_run)
    except NotAWorkspace as error:
        offered = Engine.earlier() if error.new else ()
        found = holding(offered, name, _look(call, words.TAKES_OVER), session=session)
        if found is None:
            raise
        return found
    if not means_one_store(name, time.time()):
        return tb
    try:
        tb.find(name, session=session)
    except NoSuchCheckpoint:
        earlier = tb.earlier_stores
        found = holding(earlier, name, _look(call, words.SETS_ASIDE), session=session)
        if found is not None:
            tb.close()
            return found
        mention(call, tb)
    return tb


def _look(call: Call, warning: str) -> Callable[[Earlier], Unclaimed]:
    from takeback.app.beginning import Unclaimed

    return lambda of: Unclaimed.looking(
        of, warning=warning, reporter=call.reporter(), holder="rewind"
    )
