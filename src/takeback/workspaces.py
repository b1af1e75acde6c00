"""Workspaces: whose store a directory has, what was kept of its path before, and forgetting one."""

from __future__ import annotations

import os
from hashlib import sha256

from takeback import config
from takeback.context import SilentReporter, Translated
from takeback.errors import (
    Command,
    InUse,
    NotAWorkspace,
    Refused,
    StoreDamaged,
    StoreMoved,
    TakebackError,
    UsageError,
    WriteFailed,
)
from takeback.ledger.follow import Index
from takeback.model.ids import MachineId
from takeback.model.naming import label_words
from takeback.model.operation import UNDO
from takeback.model.path_text import to_text
from takeback.model.timeline import Earlier
from takeback.model.value import Value
from takeback.paths import takeback_home, user_home
from takeback.store import location as locations
from takeback.store import location as succession
from takeback.store import notes
from takeback.store.forgotten import all_forgotten, clear, give_up, put_away, put_back
from takeback.store.location import identity_of, is_copy, read_location
from takeback.store.lock import Lock
from takeback.store.namespace import SESSIONS
from takeback.store.repack import size_on_disk
from takeback.store.store import Store, pulse
from takeback.worktree.workspace import Workspace, check_root, find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.ports import Reporter
    from takeback.store.forgotten import Forgotten
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
    from takeback.store import location as succession

    if succession.earlier_location(home, location) is None:
        return location
    with Making(home):
        return _inherit(home, location, environ, reporter)


def _inherit(
    home: str, location: StoreLocation, environ: Mapping[str, str], reporter: Reporter
) -> StoreLocation:
    """Takes that store over, unless another process has done so; one process at a time."""
    from takeback.store import location as succession

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
    from takeback.store import location as succession

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
        from takeback.store.lock import Lock

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


# -- earlier: what was kept for a path before the directory that is there now
#
# It is never taken over unasked, since containers mount different projects at one path; it is
# offered wherever a person looks, and taken over by ``rewind CP`` or ``doctor --adopt``.


_WAIT = 10.0
_WHY = "taking over an earlier workspace"
_ABOUT = 40


def earlier(location: StoreLocation, environ: Mapping[str, str]) -> tuple[Earlier, ...]:
    """Returns the earlier stores of a path, the last used first."""
    others = succession.strangers(takeback_home(environ), location)
    found = [look(other, environ) for other in others]
    return tuple(sorted(found, key=lambda e: -e.newest.time if e.newest is not None else 0.0))


def look(other: StoreLocation, environ: Mapping[str, str]) -> Earlier:
    """Returns what a store holds that is in nobody's use; one that does not read holds nothing."""
    name = other.id or os.path.basename(other.directory)
    seen = Earlier(name, other.directory, other.root, 0, None)
    try:
        store = Store.open(other, environ)
    except TakebackError:
        return seen
    index = Index(store, SilentReporter())
    try:
        count, _, _ = index.ask(lambda ledger: ledger.counts())
        newest = index.ask(lambda ledger: ledger.checkpoints(without=(UNDO,), limit=1))
    except TakebackError:
        return seen
    finally:
        index.close()
        store.close()
    return seen.replace(checkpoints=count, newest=newest[0] if newest else None)


def named(offered: Sequence[Earlier], name: str) -> Earlier:
    """Returns the earlier store of that name, or the only one for ""; raises UsageError."""
    found = [e for e in offered if not name or name in (e.name, os.path.basename(e.directory))]
    if len(found) == 1:
        return found[0]
    if not offered:
        raise UsageError("nothing was kept of this path before", hint=(Command("log"),))
    names = "; ".join(_described(e) for e in offered)
    if name:
        raise UsageError(
            f"there is no earlier store {name!r} of this path", hint=f"there is {names}"
        )
    raise UsageError(
        f"there are {len(found)} earlier stores of this path", hint=f"say which: {names}"
    )


def _described(one: Earlier) -> str:
    newest = one.newest
    about = "" if newest is None else newest.prompt or newest.id
    about = label_words(newest) if newest is not None and newest.label else about
    return f"{one.name} ({' '.join(about.split())[:_ABOUT]})" if about else one.name


def take_over(location: StoreLocation, directory: str, environ: Mapping[str, str]) -> None:
    """Makes an earlier store the store of what is at this path now.

    The present store, if any, is kept as an earlier one. Both are locked meanwhile.
    """
    location = location.replace(identity=locations.identity_of(location.root))
    with Translated("the take-over"), Making(takeback_home(environ)):
        old = locations.read_location(directory)
        if old is None or not locations.exists(old):
            raise UsageError("that store is not there any more", hint=(Command("doctor"),))
        if not locations.exists(location):
            with LockedStore(Store.open(old, environ), _WHY, wait=_WAIT) as earlier:
                succession.take_over(earlier, location)
            return
        with (
            LockedStore(Store.open(location, environ), _WHY, wait=_WAIT) as present,
            LockedStore(Store.open(old, environ), _WHY, wait=_WAIT) as earlier,
        ):
            succession.change_places(earlier, present)


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


# -- forget: the store of one workspace goes into the trash, whole, and comes back from there
#
# It waits there for the ``grace_days`` of its own settings, as what a prune drops does in a store.
# Sweeps empty both: what is over its grace, and the oldest first where all stores of the user are
# larger together than ``max_total_bytes`` (retention/sweep.py).


_FORGETTING = "forget"
_BACK = "bringing back what was forgotten"


class Discarded(Value):
    """A store in the trash, as people are told of it: until when, how many checkpoints, how large.

    ``until`` is None where its settings do not say.
    """

    forgotten: Forgotten
    until: float | None
    checkpoints: int
    size: int

    @property
    def id(self) -> str:
        return self.forgotten.id

    @property
    def root(self) -> bytes:
        """The directory whose store it was."""
        return self.forgotten.location.root

    @property
    def time(self) -> float:
        """When it was forgotten."""
        return self.forgotten.time


class BroughtBack(Value):
    """A store that is where it was again; ``aside`` is the id of the one that was there meanwhile.

    That one is kept as an earlier one of the same path.
    """

    kept: Discarded
    aside: str | None


def forget(store: Store, home: str, now: float) -> Discarded | None:
    """Puts all that is kept of a workspace into the trash; its files are not touched.

    Returns it, or None if it is gone already: its settings give no grace. What is over its grace
    goes, too. Raises InUse if packs are combined or swept there: that would go on at its old place.
    """
    sweeping, combining = (Lock(store.path(name)) for name in ("sweep.lock", "maintenance.lock"))
    sweeping.acquire(_FORGETTING, wait=_PATIENCE)
    with sweeping:
        combining.acquire(_FORGETTING, wait=_PATIENCE)
        with (
            combining,
            store.locked(_FORGETTING, wait=_PATIENCE) as locked,
            Translated("forgetting"),
        ):
            made = put_away(locked, home, now)
    empty(home, store.environ, now)
    return _kept(made, store.environ) if os.path.isdir(made.location.directory) else None


def forgotten(home: str, environ: Mapping[str, str]) -> list[Discarded]:
    """Returns what is in the trash, the oldest first."""
    return [_kept(one, environ) for one in all_forgotten(home)]


def _kept(one: Forgotten, environ: Mapping[str, str]) -> Discarded:
    seen = look(one.location, environ)
    size = size_on_disk(Store(one.location, environ)).all
    return Discarded(one, _until(one, environ), seen.checkpoints, size)


def _until(one: Forgotten, environ: Mapping[str, str]) -> float | None:
    try:
        return one.time + config.for_workspace(environ, one.location.directory).bounds().grace
    except TakebackError:
        return None


def forgotten_at(
    home: str, path: str, environ: Mapping[str, str], name: str | None = None
) -> list[Discarded]:
    """Returns what is in the trash of the workspace that a path is in, or was; the oldest first.

    ``name`` is the id of one store. Raises NotAWorkspace if there is nothing, UsageError if nothing
    has that name.
    """
    there = all_forgotten(home)
    found = _of(path, there) or _of(os.path.realpath(path), there)
    if not found:
        raise NotAWorkspace(
            f"nothing that was kept of {os.path.abspath(path)} is in the trash",
            hint=("what is there: ", Command("forget", "--restore")),
        )
    meant = [one for one in found if name in (None, one.id)]
    if not meant:
        names = ", ".join(one.id for one in found)
        raise UsageError(f"{name!r} is not in the trash", hint=f"there is {names}")
    return [_kept(one, environ) for one in meant]


def _of(path: str, there: Sequence[Forgotten]) -> list[Forgotten]:
    """Returns what the nearest directory at or above a path has in the trash."""
    folder = os.path.abspath(os.fsencode(path))
    while True:
        found = [one for one in there if folder in (one.location.root, *one.location.also)]
        if found or folder == os.path.dirname(folder):
            return found
        folder = os.path.dirname(folder)


def bring_back(kept: Discarded, home: str, environ: Mapping[str, str]) -> BroughtBack:
    """Puts a store back whole; what has been kept in its place since becomes an earlier one.

    First it lies beside that one, then the two change places: killed in between, it is the earlier
    one. Raises StoreMoved if it has left the trash meanwhile.
    """
    one = kept.forgotten
    with Translated("bringing a store back"), Making(home):
        present = succession.in_its_place(home, one.location, one.was)
        if present is None:
            with LockedStore(Store.open(one.location, environ), _BACK) as locked:
                put_back(locked, one)
            return BroughtBack(kept, None)
        with LockedStore(Store.open(present, environ), _BACK) as now:
            with LockedStore(Store.open(one.location, environ), _BACK) as locked:
                back = put_back(locked, one)
            with LockedStore(Store.open(back, environ), _BACK) as earlier:
                succession.change_places(earlier, now)
        return BroughtBack(kept, present.id)


def delete(one: Forgotten, home: str) -> None:
    """Deletes a store that is in the trash, for good; raises InUse."""
    with Translated("emptying the trash"):
        try:
            give_up(one)
        except StoreMoved:  # brought back, or deleted by another
            return
        clear(home)


def drop(one: Forgotten, home: str) -> bool:
    """Deletes it unless that has to wait, and tells which; a disk that refuses is said."""
    try:
        delete(one, home)
    except InUse:
        return False
    except TakebackError as error:
        notes.complain(error.message)
        return False
    return True


def empty(home: str, environ: Mapping[str, str], now: float) -> None:
    """Deletes what is over its grace, and what a killed process has left of others."""
    for one in all_forgotten(home):
        until = _until(one, environ)
        if until is not None and until <= now:
            drop(one, home)
    with Translated("emptying the trash"):
        clear(home)
