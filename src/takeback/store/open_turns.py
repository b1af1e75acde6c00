"""Which sessions have an open turn: an empty file for each, so that not all have to be read.

The refs decide; the files only say where to look. A stale one is removed on the next look, and a
lost one only means that a turn stays open until its session's next event.
"""

from __future__ import annotations

import os

from takeback import durable
from takeback.model.ids import SessionId
from takeback.ordinary import all_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.locked import Locked
    from takeback.store.store import Store


def note(locked: Locked, session: SessionId, *, is_open: bool) -> None:
    """Notes whether a session's turn is open."""
    path = locked.store.path("turns", session)
    if os.path.exists(path) == is_open:
        return
    try:
        if is_open:
            durable.make_directories(os.path.dirname(path))
            os.close(durable.create(path))
        else:
            durable.unlink(path)
    except OSError:
        return


def sessions(store: Store) -> list[SessionId]:
    """Lists the sessions that may have an open turn."""
    try:
        return [SessionId(name) for name in sorted(all_names(store.path("turns")))]
    except OSError:
        return []
