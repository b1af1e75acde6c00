"""Proof: every object and every other file of a store is searched for some bytes."""

from __future__ import annotations

import os

from takeback.errors import StoreDamaged
from takeback.model.value import Value
from takeback.ordinary import all_names, ordinary
from takeback.store.conversation import pieces_of
from takeback.store.records import conversation_tree
from takeback.store.redaction import OBJECTS, SEARCHED_AT_HOME, Quotes, all_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from takeback.model.secret import Needles
    from takeback.store.store import Store

_PIECE = 1 << 20


class Searched(Value):
    """What was searched, and what of it holds one of the texts: objects by their id, and files.

    ``count`` objects were read, ``size`` bytes in all. ``unread`` are objects that cannot be read
    back, and so cannot be vouched for.
    """

    count: int
    size: int
    objects: frozenset[bytes]
    files: tuple[str, ...]
    unread: tuple[str, ...]


class Search:
    """Looks for texts; what lies across the pieces in which something is read is found too."""

    def __init__(self, store: Store, needles: Needles) -> None:
        self._store = store
        self._needles = needles
        self._quotes = Quotes(store, needles)
        self._bytes = 0

    def run(self, progress: Callable[[int, int], None] | None = None) -> Searched:
        """Searches everything: each object inflated, each other file as it is."""
        found, unread = self._told()
        ids = [*dict.fromkeys(_objects(self._store))]
        for number, oid in enumerate(ids):
            try:
                if oid not in self._quotes.read and self.is_in_object(oid):
                    found.add(oid)
            except StoreDamaged:
                unread.append(oid.hex())
            if progress is not None:
                progress(number, len(ids))
        files = [path for path in _files(self._store) if self.is_in_file(path)]
        return Searched(len(ids), self._bytes, frozenset(found), tuple(files), tuple(unread))

    def _told(self) -> tuple[set[bytes], list[str]]:
        """Searches conversations, in which a quote may lie across the objects.

        Returns the pieces that have some of it; and what is wrong, if not all of them can be read.
        """
        found: set[bytes] = set()
        try:
            for record in all_records(self._store):
                tree = conversation_tree(record)
                for pieces in pieces_of(self._store, tree) if tree is not None else ():
                    found.update(pieces[number] for number in self._quotes.within(pieces))
        except StoreDamaged as error:
            return found, [error.message]
        finally:
            self._bytes += sum(self._quotes.read.values())
        return found, []

    def is_in_object(self, oid: bytes) -> bool:
        """Tells whether an object holds one of the texts; raises StoreDamaged."""
        window = _Window(self._needles)
        self._bytes += self._store.packs.open_stream(oid, window.take)
        return window.found

    def is_in_file(self, path: str) -> bool:
        """Tells whether a file holds one of the texts; one that is gone does not."""
        window = _Window(self._needles)
        try:
            with open(path, "rb", opener=ordinary) as file:
                while piece := file.read(_PIECE):
                    self._bytes += len(piece)
                    window.take(piece)
        except FileNotFoundError:
            return False
        return window.found


class _Window:
    """Takes bytes piece by piece and remembers what of them the next piece is read with."""

    def __init__(self, needles: Needles) -> None:
        self._needles = needles
        self._head = b""
        self.found = False

    def take(self, piece: bytes) -> None:
        if not self.found:
            spans, self._head = self._needles.look(self._head, piece)
            self.found = bool(spans)


def _objects(store: Store) -> Iterator[bytes]:
    for pack in store.pack_names():
        yield from store.packs.iterate(pack)
    objects = os.path.join(store.git_dir, "objects")
    for folder in all_names(objects):
        if len(folder) == 2:
            for name in all_names(os.path.join(objects, folder)):
                try:
                    yield bytes.fromhex(folder + name)
                except ValueError:  # what git was writing when it was killed
                    continue


def _files(store: Store) -> Iterator[str]:
    """Yields every file but packs and objects."""
    objects = os.path.join(store.git_dir, "objects")
    for path in _below(store.directory):
        folder = os.path.dirname(path)
        if not folder.startswith(objects) or folder in (objects, os.path.join(objects, "info")):
            yield path
    yield from files_at_home(store)


def _below(top: str) -> Iterator[str]:
    """Yields every file below a directory, in the order of the directories."""
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        for name in sorted(all_names(folder)):
            path = os.path.join(folder, name)
            if os.path.isdir(path) and not os.path.islink(path):
                waiting.append(path)
            else:
                yield path


def files_at_home(store: Store) -> Iterator[str]:
    """Yields the files beside the stores that may quote what is in one of them."""
    for name in SEARCHED_AT_HOME:
        path = os.path.join(store.location.home, name)
        if os.path.isdir(path):
            yield from (os.path.join(path, one) for one in sorted(all_names(path)))
        elif os.path.exists(path):
            yield path


def other_files(store: Store, besides: Collection[str]) -> Iterator[str]:
    """Yields the files of a store by their path in it, except for some names right in it."""
    for name in sorted(all_names(store.directory)):
        if name in besides or name in OBJECTS:
            continue
        path = os.path.join(store.directory, name)
        if not os.path.isdir(path):
            yield name
            continue
        yield from (os.path.relpath(one, store.directory) for one in _below(path))
