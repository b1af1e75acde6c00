"""Purge: a secret is removed from everything that is kept, for good.

    without the lock   what goes is shown: paths, versions, quotes; which other stores have it
    each store         all of this home, those in the trash too; this one last (ops/purged_store.py)

Every store is looked through for the contents and for what quotes them. One that cannot be looked
into, or written anew now, is named, and does not keep the others from being purged. This store is
the last because it says what the secret is: until then, the same purge can be repeated. After that
its tombstones still know what is meant, where the file itself or another store has it.
"""

from __future__ import annotations

import os

from takeback.errors import Command, NoSuchCheckpoint, Refused, StoreDamaged, TakebackError
from takeback.git.objects import BLOB, object_id
from takeback.model.needles import LARGEST, Needles
from takeback.model.path_text import to_text
from takeback.model.secret import Secret
from takeback.model.value import Value
from takeback.ops.failures import Translated
from takeback.ops.purged_store import Anew, PurgedStore, looked_through
from takeback.ops.traced import trace, trace_elsewhere
from takeback.ordinary import all_names, ordinary
from takeback.store import journal, tombstones
from takeback.store.location import read_location
from takeback.store.lock import Lock
from takeback.store.store import Store
from takeback.store.traces import Traces, all_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from takeback.model.tombstones import Tombstones
    from takeback.ops.traced import Traced
    from takeback.ops.upkeep import Upkeep
    from takeback.ports import Reporter

    T = TypeVar("T")
    Matches = Callable[[bytes], bool]

_PATIENCE = 60.0
"""How long packs that are being combined are waited for."""


def is_pattern(name: str) -> bool:
    """Tells whether a name is a pattern, and not a path."""
    return any(letter in name for letter in "*?")


class Unsearched(Value):
    """A store that was not looked into, or not purged, and why; it may have the secret."""

    directory: str
    why: str


class Purging(Value):
    """What a purge does, or did, in all stores. This workspace's comes first.

    ``unread`` are stores that could not be looked into. ``without`` is how many others were, and
    have nothing of it. ``again`` says that it was purged here before, so that only what is left of
    it elsewhere was looked for, ``cut`` that it has more lines than were looked for.
    """

    stores: tuple[PurgedStore, ...]
    unread: tuple[Unsearched, ...] = ()
    without: int = 0
    again: bool = False
    cut: bool = False
    done: bool = False

    @property
    def found(self) -> tuple[str, ...]:
        return tuple(name for store in self.stores for name in store.found)

    @property
    def is_sure(self) -> bool:
        """Tells whether nothing is left where it was looked for, and that was everywhere."""
        return not self.found and not self.unread


class Purge:
    """One purge on its way: looked for when it is made, carried out if it is asked to."""

    def __init__(self, upkeep: Upkeep, matches: Matches, what: str, reporter: Reporter) -> None:
        self._upkeep = upkeep
        self._matches = matches
        self._what = what
        self._reporter = reporter
        self._again: Secret | None = None

    def _traced(self) -> Traced:
        """Looks for the secret in this store; raises NoSuchCheckpoint if nothing matches."""
        store = self._upkeep.store
        found = trace(store, lambda path, oid: self._matches(path))
        if found.secret.paths:
            return found
        stones = tombstones.load(store)
        if self._again is None and stones is not None:
            self._again = self._purged_before(stones)
        if self._again is None:
            raise NoSuchCheckpoint(
                f"nothing that is kept is at {self._what}",
                hint="a path starts where you are; a pattern such as '*.pem' matches at any depth",
            )
        return trace_elsewhere(store, self._again)

    def _purged_before(self, stones: Tombstones) -> Secret | None:
        """Returns what was purged here, as far as a file or another store still has it; or None."""
        found = dict(self._on_disk(stones))

        def look(store: Store) -> None:
            wanted = Traces(
                store,
                all_records(store),
                lambda path, oid: self._matches(path) and stones.bans(oid),
            )
            for oid in {oid for ids in wanted.versions.values() for oid in ids}:
                if store.packs.size_of(oid) <= LARGEST:
                    found[oid] = store.blob(oid)

        self._elsewhere(look)
        contents = frozenset(oid for oid in found if stones.bans(oid))
        return Secret(contents=contents, needles=Needles.of(found.values())) if found else None

    def _on_disk(self, stones: Tombstones) -> Iterator[tuple[bytes, bytes]]:
        """Yields the files of the workspace that are meant and were purged, by their ids."""
        root = self._upkeep.store.location.root
        for folder, _, names in os.walk(root):
            for path in (os.path.join(folder, name) for name in names):
                within = os.path.relpath(path, root)
                if self._matches(within) and stones.hides(within):
                    try:
                        with open(path, "rb", opener=ordinary) as file:
                            data = file.read(LARGEST + 1)
                    except OSError:
                        continue
                    yield object_id(BLOB, data), data

    def outlook(self) -> Purging:
        """Returns what would be done; changes nothing."""
        own = self._traced()

        def look(store: Store) -> PurgedStore:
            return looked_through(store, trace_elsewhere(store, own.secret), self._reporter)

        first = looked_through(self._upkeep.store, own, self._reporter)
        return self._summed_up(own, first, self._elsewhere(look))

    def carry_out(self) -> Purging:
        """Removes it from every store; raises what this one raises, before that begins."""
        own = self._traced()

        def purge(store: Store) -> PurgedStore:
            seen = looked_through(store, trace_elsewhere(store, own.secret), self._reporter)
            if not seen.has_it:
                return seen
            return self._purge(store, lambda other: trace_elsewhere(other, own.secret))

        others = self._elsewhere(purge)
        first = self._purge(self._upkeep.store, lambda _: self._traced())
        return self._summed_up(own, first, others).replace(done=True)

    def _summed_up(
        self, own: Traced, first: PurgedStore, others: list[PurgedStore | Unsearched]
    ) -> Purging:
        looked = [one for one in others if isinstance(one, PurgedStore)]
        told = [one for one in looked if one.has_it or one.also_in]
        return Purging(
            (first, *told),
            tuple(one for one in others if isinstance(one, Unsearched)),
            without=len(looked) - len(told),
            again=self._again is not None,
            cut=own.secret.needles.cut,
        )

    def _elsewhere(self, look: Callable[[Store], T]) -> list[T | Unsearched]:
        """Returns what is said of each other store of the user, or why that cannot be said."""
        own = self._upkeep.store
        made: list[T | Unsearched] = []
        for directory in _stores(own.location.home):
            if os.path.realpath(directory) == os.path.realpath(own.directory):
                continue
            try:
                with Translated("reading it"), _opened(directory, own) as store:
                    made.append(look(store))
            except TakebackError as error:
                if os.path.lexists(directory):
                    made.append(Unsearched(directory, error.message))
        return made

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


def _opened(directory: str, own: Store) -> Store:
    """Opens another store of the same home; raises what says why it cannot be looked into."""
    if os.path.islink(directory):
        raise Refused(f"it lies elsewhere, in {os.path.realpath(directory)}")
    all_names(directory)
    location = read_location(directory)
    if location is None:
        raise StoreDamaged("it does not say which workspace it is of")
    return Store.open(location, own.environ)


def _stores(home: str) -> Iterator[str]:
    """Yields the directory of every store below ``home``, and what may have one and does not open.

    Those in use and those in the trash have a directory each, in which they lie by their names and
    then by what they are of. A link to one of them is that one.
    """
    found, links, above = set[str](), list[str](), [home]
    for _ in range(3):
        below = []
        for directory in above:
            try:
                below += [os.path.join(directory, name) for name in sorted(all_names(directory))]
            except NotADirectoryError:
                continue
            except OSError as error:
                if os.path.islink(directory) or not isinstance(error, FileNotFoundError):
                    yield directory
        above = below
    for directory in above:
        if os.path.islink(directory):
            links.append(directory)
        elif os.path.realpath(directory) not in found and _is_store(directory):
            found.add(os.path.realpath(directory))
            yield directory
    inside = os.path.join(os.path.realpath(home), "")
    for link in links:  # what leads nowhere may be on a disk that is not there
        real = os.path.realpath(link)
        if real not in found and (_is_store(link) or not real.startswith(inside)):
            yield link


def _is_store(directory: str) -> bool:
    try:
        names = all_names(directory)
    except (NotADirectoryError, FileNotFoundError):
        return False
    except OSError:  # it may be one
        return True
    return any(name.endswith(".git") for name in names)
