"""The trash of whole stores: what ``forget`` puts away, until its grace is over.

    workspaces/<name>-<hash>/<identity>        in use
          │ one rename, under its lock
    forgotten/<name>-<hash>/<when>-<identity>  in the trash, whole, with where it was
          │ one rename, under its lock
    forgotten/<name>-<hash>/given-up-...       gone; what is left of it is deleted

Killed anywhere a store is at one of these places, all of it.
"""

from __future__ import annotations

import errno
import os

from takeback import durable
from takeback.model.value import Value
from takeback.paths import check_private
from takeback.store import location as locations
from takeback.store import location as succession
from takeback.store.journal import delete_below
from takeback.store.lock import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.store.location import StoreLocation
    from takeback.store.lock import Locked

_PLACE = "forgotten"
_GIVEN_UP = "given-up-"


class Forgotten(Value):
    """A store in the trash: since when, and the directory ``was`` that it had."""

    location: StoreLocation
    time: float
    was: str

    @property
    def id(self) -> str:
        """The workspace's own, or where that is not known what the store is called."""
        return self.location.id or os.path.basename(self.location.directory)


def all_forgotten(home: str) -> list[Forgotten]:
    """Returns what is in the trash, oldest first; raises Refused if others may write there."""
    place = os.path.join(home, _PLACE)
    check_private(place)
    found = []
    for name in locations.listing(place):
        for entry in locations.listing(os.path.join(place, name)):
            when, _, before = entry.partition("-")
            location = locations.read_location(os.path.join(place, name, entry))
            if when.isascii() and when.isdigit() and location is not None:
                was = os.path.join(home, "workspaces", name, before)
                found.append(Forgotten(location, int(when) / 1_000_000, was))
    return sorted(found, key=lambda one: (one.time, one.was))


def every_location(home: str) -> Iterator[StoreLocation]:
    """Yields every store under ``home``, those in the trash too."""
    yield from locations.all_locations(home)
    for one in all_forgotten(home):
        yield one.location


def put_away(locked: Locked, home: str, now: float) -> Forgotten:
    """Puts a store into the trash, where nobody finds it who looks for that of a workspace."""
    store = locked.store
    location = locations.read_location(store.directory)
    if location is None:  # it is found again by what it says of itself
        root = store.location.root
        locations.write_location(store.location.replace(identity=locations.identity_of(root)))
        location = locations.read_location(store.directory) or store.location
    base, name = os.path.split(store.directory)
    place = os.path.join(home, _PLACE, os.path.basename(base))
    _make(place, store.path("stat"))
    when = int(now * 1_000_000)
    while os.path.lexists(os.path.join(place, f"{when}-{name}")):
        when += 1
    directory = os.path.join(place, f"{when}-{name}")
    links = locations.links_to(home, location)
    for link in links:  # each is made again when the workspace is opened by that path
        durable.unlink(link)
    durable.rename(store.directory, directory)
    durable.sync_directory(place)
    durable.sync_directory(base)
    for emptied in {base, *map(os.path.dirname, links)}:
        _remove_if_empty(emptied)
    return Forgotten(location.replace(directory=directory), when / 1_000_000, store.directory)


def _make(place: str, cache: str) -> None:
    """Makes a directory in the trash; on a full disk the store's stat cache makes room for it."""
    try:
        durable.make_directories(place)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not os.path.isdir(cache):
            raise
        delete_below(cache)
        durable.make_directories(place)


def put_back(locked: Locked, one: Forgotten) -> StoreLocation:
    """Puts a store back to where it was, or beside what is kept there now; returns where."""
    location = one.location
    base, place = os.path.split(location.directory)[0], one.was
    durable.make_directories(os.path.dirname(place))
    there = location.replace(directory=place)
    if os.path.lexists(place) and not locations.exists(there):  # half made, or a link elsewhere
        durable.rename(place, succession.free_name(place))
    if os.path.lexists(place):
        place = succession.free_name(place)
    succession.forget_seen(location)
    durable.rename(location.directory, place)
    durable.sync_directory(os.path.dirname(place))
    durable.sync_directory(base)
    _remove_if_empty(base)
    return location.replace(directory=place)


def give_up(one: Forgotten) -> None:
    """Takes a store out of the trash for good; ``clear`` deletes what is left of it.

    It need not be one that can be opened. Raises InUse, and StoreMoved if it is not there.
    """
    base, name = os.path.split(one.location.directory)
    with Lock(os.path.join(one.location.directory, "lock")) as lock:
        lock.acquire("emptying the trash", wait=0)
        durable.rename(one.location.directory, os.path.join(base, _GIVEN_UP + name))
        durable.sync_directory(base)


def clear(home: str) -> None:
    """Deletes what was given up, now or by a process that was killed; another may be at it."""
    place = os.path.join(home, _PLACE)
    for name in locations.listing(place):
        base = os.path.join(place, name)
        for entry in locations.listing(base):
            if entry.startswith(_GIVEN_UP):
                try:
                    delete_below(os.path.join(base, entry))
                    durable.rmdir(os.path.join(base, entry))
                except FileNotFoundError:
                    continue
        _remove_if_empty(base)


def _remove_if_empty(directory: str) -> None:
    """Removes a directory of no more use, unless somebody makes something in it meanwhile."""
    if not locations.listing(directory) and os.path.isdir(directory):
        try:
            durable.rmdir(directory)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise
