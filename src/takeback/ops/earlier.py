"""Earlier: what was kept for a path before the directory that is there now.

It is never taken over unasked, since containers mount different projects at one path; it is offered
wherever a person looks, and taken over by ``rewind CP`` or ``doctor --adopt``.
"""

from __future__ import annotations

import os

from takeback.errors import Command, TakebackError, UsageError
from takeback.model.address import label_words
from takeback.model.earlier import Earlier
from takeback.model.operation import UNDO
from takeback.ops.context import SilentReporter
from takeback.ops.failures import Translated
from takeback.ops.index import Index
from takeback.ops.open import LockedStore, Making
from takeback.paths import takeback_home
from takeback.store import location as locations
from takeback.store import succession
from takeback.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.store.location import StoreLocation

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
