"""A workspace whose directory is not there any more: what is left of it is its store."""

from __future__ import annotations

import os

from takeback import config, rooms
from takeback.app.border import guarded
from takeback.context import SilentReporter, SystemClock
from takeback.errors import Option, UsageError
from takeback.gate.asker import refuse_inside, refuse_look, who
from takeback.model.path_text import to_text
from takeback.paths import takeback_home
from takeback.store.location import all_locations
from takeback.store.repack import size_on_disk
from takeback.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from takeback.retention.earlier import Discarded
    from takeback.store.location import StoreLocation
    from takeback.timeline.look import Status


def gone_workspaces(environ: Mapping[str, str]) -> list[bytes]:
    """Returns the workspaces of the user whose directory is gone, or was moved."""
    roots = {location.root for location in all_locations(takeback_home(environ))}
    return sorted(root for root in roots if not os.path.isdir(root))


@guarded
class GoneWorkspace:
    """The store of a directory that is gone: it can be counted and forgotten."""

    def __init__(self, location: StoreLocation, environ: Mapping[str, str]) -> None:
        self._store = Store.open(location, environ)
        self._environ = environ
        self.root = location.root

    @classmethod
    def at(cls, path: str, name: str | None, environ: Mapping[str, str]) -> Self | None:
        """Opens the store of a directory that is gone; None if it is there, or was never known.

        ``name`` is the id of the store, where there are several. Raises UsageError, and Refused for
        a model of another workspace.
        """
        root = os.path.abspath(os.fsencode(path))
        if os.path.isdir(root):
            return None
        known = [
            one
            for one in all_locations(takeback_home(environ))
            if root in (one.root, *one.also) and name in (None, one.id)
        ]
        if len(known) > 1:
            names = ", ".join(one.id for one in known)
            raise UsageError(
                f"there are {len(known)} stores of {to_text(root)}",
                hint=("say which: ", Option("--earlier", "ID"), f", which is {names}"),
            )
        if known:
            refuse_look(who(environ), known[0])
        return cls(known[0], environ) if known else None

    def status(self) -> Status:
        """Returns what is kept, and how large it is."""
        index = rooms.follow.Index(self._store, SilentReporter())
        try:
            checkpoints, snapshots, sessions = index.ask(lambda ledger: ledger.counts())
        finally:
            index.close()
        settings = config.for_workspace(self._environ, self._store.directory)
        found = rooms.look.nothing_yet(
            self.root,
            self._store.directory,
            home=takeback_home(self._environ),
            budget=settings.policy().max_bytes,
            recording_off_by=None,
        )
        size = size_on_disk(self._store).all
        return found.replace(
            checkpoints=checkpoints, snapshots=snapshots, sessions=sessions, bytes=size
        )

    def forget(self) -> Discarded | None:
        """Puts every checkpoint of it into the trash; None if its settings give it no grace."""
        refuse_inside("forget", self._environ)
        home = takeback_home(self._environ)
        return rooms.earlier.forget(self._store, home, SystemClock().now())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._store.close()
