"""Workspaces: whose store a directory has, what was kept of its path before, and forgetting one."""

from __future__ import annotations

import os

from takeback.context import Translated
from takeback.errors import (
    Command,
    InUse,
    NotAWorkspace,
    Refused,
    StoreDamaged,
    StoreMoved,
    WriteFailed,
)
from takeback.model.ids import MachineId
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.paths import takeback_home, user_home
from takeback.store import location as locations
from takeback.store import location as succession
from takeback.store.location import identity_of, is_copy, read_location
from takeback.store.lock import Lock
from takeback.store.namespace import SESSIONS
from takeback.store.store import Store, pulse
from takeback.worktree.workspace import Workspace, check_root, find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.ports import Reporter
    from takeback.store.location import StoreLocation
    from takeback.store.lock import Locked


# -- opens the workspace that a directory lies in, with its store


_PATIENCE = 10.0
_INNER_PATIENCE = 2.0
"""Not longer than a hook waits for its own lock."""


def locate(start: bytes, environ: Mapping[str, str], *, foreign_owner: bool) -> StoreLocation:
    """Returns the location of the workspace's store, which need not exist. Writes nothing."""
    home, of_user = takeback_home(environ), user_home(environ)
    known: dict[bytes, StoreLocation] = {}

    def has_store(path: bytes) -> bool:
        if not locations.is_known(home, path):
            return False
        known[path] = locations.find(home, path)
        return locations.exists(known[path])

    root = find_root(start, has_store=has_store, home=of_user)
    if root not in known and not locations.is_known(home, root):
        from takeback.store.location import moved_root  # not imported for a known directory

        root = moved_root(home, os.path.realpath(start)) or root
    check_root(root, home=of_user, store_home=os.fsencode(home), foreign_owner=foreign_owner)
    return known.get(root) or locations.find(home, root)


def open_store(
    location: StoreLocation, environ: Mapping[str, str], reporter: Reporter, *, create: bool
) -> Store:
    """Opens the store, taking over that of a moved workspace; creates one if ``create``."""
    home = takeback_home(environ)
    if os.path.islink(os.path.join(home, "workspaces")):
        raise Refused(
            f"{home}/workspaces is a link: what is kept there would have two places",
            hint="set TAKEBACK_HOME to the directory that it leads to, or move that here",
        )
    with Translated("opening the store"):
        if locations.exists(location):
            try:
                return _opened(location, environ, reporter)
            except StoreMoved:  # forgotten this very moment
                location = locations.find(home, location.root)
        location = _inherited(home, location, environ, reporter)
        if locations.exists(location):
            return _opened(location, environ, reporter)
        if not create:
            raise NotAWorkspace(
                f"{to_text(location.root)} has no checkpoints yet",
                hint=("make the first one: ", Command("checkpoint")),
                new=True,
            )
        return _made(home, location, environ, reporter)


def _opened(location: StoreLocation, environ: Mapping[str, str], reporter: Reporter) -> Store:
    store = Store.open(location, environ)
    if os.path.exists(store.path("purge")):
        _finish_purge(store, reporter)
    if location.identity is not None:
        known = locations.read_location(location.directory)
        if known is None or known.identity != location.identity:  # it has a new .git, for example
            at = known.root if known is not None and location.root in known.also else location.root
            locations.write_location(location.replace(root=at))
        locations.remember(location)
    return store


def _finish_purge(store: Store, reporter: Reporter) -> None:
    """Finishes a purge that was interrupted, unless another process is at it.

    One that cannot be finished keeps nobody from looking; whatever changes the store raises it.
    """
    try:
        with store.locked("finishing a purge", wait=0):
            reporter.note("An interrupted purge was found and finished.")
    except InUse:
        return
    except (StoreDamaged, WriteFailed) as error:
        reporter.note(f"An interrupted purge is not finished: {error.message}; {error.hint}.")


def _inherited(
    home: str, location: StoreLocation, environ: Mapping[str, str], reporter: Reporter
) -> StoreLocation:
    """Returns the location of the store that the directory had at another path, if it had one."""

    if succession.earlier_location(home, location) is None:
        return location
    with Making(home):
        return _inherit(home, location, environ, reporter)


def _inherit(
    home: str, location: StoreLocation, environ: Mapping[str, str], reporter: Reporter
) -> StoreLocation:
    """Takes that store over, unless another process has done so; one process at a time."""

    earlier = succession.earlier_location(home, location)
    if earlier is None:
        return location
    if earlier.root != location.root and locations.is_same(earlier.root, location.root):
        with LockedStore(Store.open(earlier, environ), "noting another path of the workspace"):
            return locations.link_location(location, earlier)
    with LockedStore(Store.open(earlier, environ), "taking over a moved workspace") as locked:
        succession.take_over(locked, location)
    if earlier.root != location.root:
        reporter.note(
            f"This workspace was at {to_text(earlier.root)} before; its checkpoints came along."
        )
    return location


def _made(
    home: str, location: StoreLocation, environ: Mapping[str, str], reporter: Reporter
) -> Store:
    """Creates the store. One process at a time, so that a directory at two paths gets only one."""
    from takeback import durable

    with Making(home):
        location = _inherit(home, location, environ, reporter)
        if locations.exists(location):
            return _opened(location, environ, reporter)
        store = Store.create(location, environ)
        # From now on work inside shares our lock; we wait for work that began before.
        try:
            for inner in succession.inner_locations(home, location.root):
                inside = Store.open(inner, environ)
                with LockedStore(inside, "looking for what goes on inside", wait=_INNER_PATIENCE):
                    pass
        except InUse:
            durable.unlink(store.path("format"))  # a half-made store is created again
            raise
        return store


class Making:
    """Lets one process at a time create a store, or move one to where another may be created."""

    def __init__(self, home: str) -> None:
        from takeback import durable

        durable.make_directories(home)
        self._lock = Lock(os.path.join(home, "making.lock"))

    def __enter__(self) -> None:
        self._lock.acquire("making a store", wait=_PATIENCE)

    def __exit__(self, *exc: object) -> None:
        self._lock.release()


class LockedStore:
    """Holds the lock of a store that is opened only for that, and closes it again."""

    def __init__(self, store: Store, why: str, *, wait: float = _PATIENCE) -> None:
        self._store = store
        self._lock = store.locked(why, wait=wait)

    def __enter__(self) -> Locked:
        try:
            return self._lock.__enter__()
        except BaseException:
            self._store.close()
            raise

    def __exit__(self, *exc: object) -> None:
        self._lock.__exit__(*exc)
        self._store.close()


def open_workspace(location: StoreLocation) -> Workspace:
    """Opens the root of the workspace."""
    return Workspace(location.root)


# -- notices that the file with this machine's name is lost, before a new name is given out


class LostName(Value):
    """That it is lost, in words, and the name, if that is known."""

    detail: str
    name: MachineId | None


def lost_name(store: Store) -> LostName | None:
    """Returns what is lost; None if nothing is.

    After a new name was given nothing is lost: what the old one did counts as what a copy came
    with. A home that is a copy has no name to get back.
    """
    names = store.refs.names(SESSIONS)
    if store.machine is not None or not names or is_copy(store.location.home):
        return None
    known = read_location(store.directory)
    made_by = "" if known is None or known.identity != identity_of(known.root) else known.machine
    detail = "the name of this machine is lost: what it did would look like another one's"
    return LostName(detail, MachineId(made_by) if made_by in names else None)


# -- workspaces


class KnownWorkspace(Value):
    """A directory with a store."""

    root: bytes
    store: str

    @property
    def is_there(self) -> bool:
        """False if the directory was moved or deleted; looks now, and that may take its time."""
        return os.path.isdir(self.root)

    @property
    def id(self) -> str:
        """Returns a short name for programs: the same as long as the store is that one."""
        from hashlib import sha256  # not at a hook: 2 ms

        place = "/".join(self.store.rsplit("/", 2)[-2:])
        return sha256(os.fsencode(place)).hexdigest()[:16]

    @property
    def pulse(self) -> tuple[int, ...]:
        """Returns numbers that change whenever something happens there; opens nothing."""
        return pulse(self.store)


def workspaces(home: str) -> list[KnownWorkspace]:
    """Returns the workspaces of all stores under ``home``, by path.

    Opens and touches none of them: one may be on a disk that does not answer.
    """
    found = [KnownWorkspace(one.root, one.directory) for one in locations.all_locations(home)]
    return sorted(found, key=lambda one: one.root)
