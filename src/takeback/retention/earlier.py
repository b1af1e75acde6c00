"""Earlier stores: what was kept for a path before what is there now, and forgetting a store."""

from __future__ import annotations

import os

from takeback import config
from takeback.context import SilentReporter, Translated
from takeback.errors import (
    Command,
    InUse,
    NotAWorkspace,
    StoreMoved,
    TakebackError,
    UsageError,
)
from takeback.ledger.follow import Index
from takeback.model.address import label_words
from takeback.model.entries import Earlier
from takeback.model.operation import UNDO
from takeback.model.value import Value
from takeback.paths import takeback_home
from takeback.store import location as locations
from takeback.store import location as succession
from takeback.store import notes
from takeback.store.forgotten import all_forgotten, clear, give_up, put_away, put_back
from takeback.store.lock import Lock
from takeback.store.repack import size_on_disk
from takeback.store.store import Store
from takeback.workspaces import LockedStore, Making

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.store.forgotten import Forgotten
    from takeback.store.location import StoreLocation


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


# -- forget: the store of one workspace goes into the trash, whole, and comes back from there
#
# It waits there for the ``grace_days`` of its own settings, as what a prune drops does in a store.
# Sweeps empty both: what is over its grace, and the oldest first where all stores of the user are
# larger together than ``max_total_bytes`` (retention/sweep.py).


_LOCKS_IN = 10.0
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
    sweeping.acquire(_FORGETTING, wait=_LOCKS_IN)
    with sweeping:
        combining.acquire(_FORGETTING, wait=_LOCKS_IN)
        with (
            combining,
            store.locked(_FORGETTING, wait=_LOCKS_IN) as locked,
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
