"""Opens the workspace that a directory lies in, with its store."""

from __future__ import annotations

import os

from takeback.errors import InUse, NotAWorkspace
from takeback.model.path_text import to_text
from takeback.ops.failures import Translated
from takeback.paths import takeback_home, user_home
from takeback.store import place as places
from takeback.store.store import Store
from takeback.worktree.workspace import Workspace, check_root, find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.ports import Reporter
    from takeback.store.place import Place

_PATIENCE = 10.0
_INNER_PATIENCE = 2.0
"""No longer than a hook waits for its own lock."""


def locate(start: bytes, environ: Mapping[str, str], *, foreign_owner: bool) -> Place:
    """Returns the place of the workspace's store, which need not exist. Writes nothing."""
    home = takeback_home(environ)
    root = find_root(
        start,
        has_store=lambda path: (
            places.has_place(home, path) and places.exists(places.place_for(home, path))
        ),
        home=user_home(environ),
    )
    if not places.has_place(home, root):
        from takeback.store.succession import moved_root  # of a known directory not imported

        root = moved_root(home, os.path.realpath(start)) or root
    check_root(
        root,
        home=user_home(environ),
        store_home=os.fsencode(home),
        foreign_owner=foreign_owner,
    )
    return places.place_for(home, root)


def open_store(
    place: Place, environ: Mapping[str, str], reporter: Reporter, *, create: bool
) -> Store:
    """Opens the store, taking over that of a moved workspace; makes one if ``create``."""
    home = takeback_home(environ)
    with Translated("opening the store"):
        if not places.exists(place):
            place = _inherited(home, place, environ, reporter)
        if places.exists(place):
            return _opened(place, environ)
        if not create:
            raise NotAWorkspace(
                f"{to_text(place.root)} has no checkpoints yet",
                hint="make the first one: takeback checkpoint",
                new=True,
            )
        return _made(home, place, environ, reporter)


def _opened(place: Place, environ: Mapping[str, str]) -> Store:
    store = Store.open(place, environ)
    if place.identity is not None:
        known = places.read_place(place.directory)
        if known is None or known.identity != place.identity:  # it has a new .git, say
            at = known.root if known is not None and place.root in known.also else place.root
            places.write_place(place.replace(root=at))
        places.remember(place)
    return store


def _inherited(home: str, place: Place, environ: Mapping[str, str], reporter: Reporter) -> Place:
    """Returns the place of the store that the directory had at another path, if it had one."""
    from takeback.store import succession

    earlier = succession.earlier_place(home, place)
    if earlier is None:
        return place
    if earlier.root != place.root and places.is_same(earlier.root, place.root):
        with _Held(Store.open(earlier, environ), "noting another path of the workspace"):
            return places.link_place(place, earlier)
    with _Held(Store.open(earlier, environ), "taking over a moved workspace"):
        succession.take_over(earlier, place)
    if earlier.root != place.root:
        reporter.note(
            f"This workspace was at {to_text(earlier.root)} before; its checkpoints came along."
        )
    return place


def _made(home: str, place: Place, environ: Mapping[str, str], reporter: Reporter) -> Store:
    """Makes the store. One process at a time, so that a directory at two paths gets one."""
    from takeback import durable
    from takeback.store import succession

    with Making(home):
        place = _inherited(home, place, environ, reporter)
        if places.exists(place):
            return _opened(place, environ)
        store = Store.create(place, environ)
        # From now on whoever works inside shares our lock; who began before is waited for.
        try:
            for inner in succession.inner_places(home, place.root):
                inside = Store.open(inner, environ)
                with _Held(inside, "looking for what goes on inside", wait=_INNER_PATIENCE):
                    pass
        except InUse:
            durable.unlink(store.path("format"))  # a half-made store is made again
            raise
        return store


class Making:
    """Lets one process at a time make a store, or move one to where another may be made."""

    def __init__(self, home: str) -> None:
        from takeback import durable
        from takeback.store.lock import Lock

        durable.make_directories(home)
        self._lock = Lock(os.path.join(home, "making.lock"))

    def __enter__(self) -> None:
        self._lock.acquire("making a store", wait=_PATIENCE)

    def __exit__(self, *exc: object) -> None:
        self._lock.release()


class _Held:
    """Holds the lock of a store that is only opened for that."""

    def __init__(self, store: Store, why: str, *, wait: float = _PATIENCE) -> None:
        self._store = store
        self._why = why
        self._wait = wait

    def __enter__(self) -> None:
        try:
            self._store.lock.acquire(self._why, wait=self._wait)
        except BaseException:
            self._store.close()
            raise

    def __exit__(self, *exc: object) -> None:
        self._store.lock.release()
        self._store.close()


def open_workspace(place: Place) -> Workspace:
    """Opens the root of the workspace."""
    return Workspace(place.root)
