"""What the person has already been told: a file for each session whose turn had a failure, and one
for each thing that is told once in a session.

A prompt begins a new turn, in which the first failure is reported again. If nobody was there to
hear it, it is in the file until the next event. The files are disposable.
"""

from __future__ import annotations

import os

from takeback import durable
from takeback.c_modules import small_sha1
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.ids import SessionId
    from takeback.store.store import Store


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
