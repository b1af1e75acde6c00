"""Purge: a secret is removed from everything that is kept, for good.

    without the lock   what goes is shown: paths, versions, quotes; which other stores have it
    each store         those of other workspaces first, this one last (ops/purged_store.py)

This store is the last because it says what the secret is: until then, the same purge can be
repeated.
"""

from __future__ import annotations

from takeback.errors import Command, NoSuchCheckpoint, Refused, TakebackError
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.ops.failures import Translated
from takeback.ops.purged_store import Anew, PurgedStore, looked_through
from takeback.ops.traced import trace, trace_elsewhere
from takeback.store import journal
from takeback.store.location import all_locations
from takeback.store.lock import Lock
from takeback.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from takeback.model.secret import Secret
    from takeback.ops.traced import Traced
    from takeback.ops.upkeep import Upkeep
    from takeback.ports import Reporter

    Matches = Callable[[bytes], bool]

_PATIENCE = 60.0
"""How long packs that are being combined are waited for."""


def is_pattern(name: str) -> bool:
    """Tells whether a name is a pattern, and not a path."""
    return any(letter in name for letter in "*?")


class Purging(Value):
    """What a purge does, or did, in all stores. This workspace's comes first.

    ``unread`` are stores that could not be looked into. ``cut`` says that the secret has more
    lines than were looked for.
    """

    stores: tuple[PurgedStore, ...]
    unread: tuple[str, ...] = ()
    cut: bool = False
    done: bool = False

    @property
    def found(self) -> tuple[str, ...]:
        return tuple(name for store in self.stores for name in store.found)


class Purge:
    """One purge on its way: looked for when it is made, carried out if it is asked to."""

    def __init__(self, upkeep: Upkeep, matches: Matches, what: str, reporter: Reporter) -> None:
        self._upkeep = upkeep
        self._matches = matches
        self._what = what
        self._reporter = reporter
        self._unread: list[str] = []

    def _traced(self) -> Traced:
        """Looks for the secret in this store; raises NoSuchCheckpoint if nothing matches."""
        found = trace(self._upkeep.store, lambda path, oid: self._matches(path))
        if not found.secret.paths:
            raise NoSuchCheckpoint(
                f"nothing that is kept is at {self._what}",
                hint="a path starts where you are; a pattern such as '*.pem' matches at any depth",
            )
        return found

    def outlook(self) -> Purging:
        """Returns what would be done; changes nothing."""
        own = self._traced()
        stores = [looked_through(self._upkeep.store, own, self._reporter)]
        for store in self._others(own.secret):
            found = trace_elsewhere(store, own.secret)
            stores.append(looked_through(store, found, self._reporter))
        return Purging(tuple(stores), tuple(self._unread), own.secret.needles.cut)

    def _others(self, secret: Secret) -> Iterator[Store]:
        """Yields the other stores of the user that hold one of the contents."""
        own = self._upkeep.store
        self._unread = []
        for location in all_locations(own.location.home):
            if location.directory == own.directory:
                continue
            try:
                store = Store.open(location, own.environ)
            except TakebackError:
                self._unread.append(location.directory)
                continue
            try:
                if any(store.packs.has(oid) for oid in secret.contents):
                    yield store
            finally:
                store.close()

    def carry_out(self) -> Purging:
        """Removes it from every store; raises what each of them raises, before that one begins."""
        own = self._traced()
        stores = [
            self._purge(store, lambda other: trace_elsewhere(other, own.secret))
            for store in self._others(own.secret)
        ]
        stores.insert(0, self._purge(self._upkeep.store, lambda _: self._traced()))
        return Purging(tuple(stores), tuple(self._unread), own.secret.needles.cut, done=True)

    def _purge(self, store: Store, look: Callable[[Store], Traced]) -> PurgedStore:
        maintenance = Lock(store.path("maintenance.lock"))
        maintenance.acquire("purge", wait=_PATIENCE)
        with (
            maintenance,
            Translated("the purge"),
            store.locked("purge", wait=self._upkeep.wait) as locked,
        ):
            if journal.exists(store):
                where = to_text(store.location.root)
                raise Refused(
                    f"an operation was interrupted in {where}, and may need what would go",
                    hint=("finish it or roll it back there first: ", Command("undo")),
                )
            return Anew(locked, self._upkeep, look(store)).run().proved(self._reporter)
