"""Notes about sessions: which have an open turn, and what the person has already been told.

    turns/SESSION           its turn is open: an empty file, so that not all refs have to be read
    told/SESSION            its turn had a failure; what nobody was there to hear is in it
    told/SESSION.DIGEST     one thing that is told once in a session

The refs decide which turns are open; the files only say where to look. A stale one is removed on
the next look, and a lost one only means that a turn stays open until its session's next event. A
prompt begins a new turn, in which the first failure is reported again.
"""

from __future__ import annotations

import os

from takeback import durable
from takeback.c_modules import small_sha1
from takeback.model.ids import SessionId
from takeback.ordinary import all_names, ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.locked import Locked
    from takeback.store.store import Store


def note_turn(locked: Locked, session: SessionId, *, is_open: bool) -> None:
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


def with_open_turn(store: Store) -> list[SessionId]:
    """Lists the sessions that may have an open turn."""
    try:
        return [SessionId(name) for name in sorted(all_names(store.path("turns")))]
    except OSError:
        return []


def is_new(store: Store, session: SessionId, *, turn_begins: bool) -> bool:
    """Tells whether a failure is the first of its turn, and remembers that it was reported.

    If that cannot be remembered, only a prompt's own failure is reported.
    """
    path = store.path("told", session)
    if os.path.exists(path):
        return turn_begins
    try:
        durable.make_directories(os.path.dirname(path))
        os.close(durable.create(path))
    except FileExistsError:
        return turn_begins
    except OSError:
        return turn_begins
    return True


def is_first(store: Store, session: SessionId, about: str) -> bool:
    """Tells whether something is told in a session for the first time, and remembers that it was.

    If that cannot be remembered, it is not told: ``status`` says it.
    """
    digest = small_sha1()
    digest.update(about.encode(errors="surrogateescape"))
    path = store.path("told", f"{session}.{digest.hexdigest()[:16]}")
    try:
        durable.make_directories(os.path.dirname(path))
        os.close(durable.create(path))
    except OSError:
        return False
    return True


def keep(store: Store, session: SessionId, warning: str) -> None:
    """Keeps what could not be told, if it is the first of its turn."""
    path = store.path("told", session)
    if os.path.exists(path):
        return
    try:
        durable.make_directories(os.path.dirname(path))
        durable.replace_file(path, warning.encode(errors="surrogateescape"), flush=False)
    except OSError:  # it is in the log
        return


def take(store: Store, session: SessionId) -> str | None:
    """Returns what was kept to be told, and notes that it was."""
    path = store.path("told", session)
    try:
        with open(path, "rb", opener=ordinary) as file:
            data = file.read()
        if not data:
            return None
        durable.replace_file(path, b"", flush=False)
    except OSError:
        return None
    return data.decode(errors="surrogateescape")


def forget(store: Store, session: SessionId) -> None:
    """Notes that a turn has begun well."""
    path = store.path("told", session)
    if os.path.exists(path):
        try:
            durable.unlink(path)
        except OSError:
            return
