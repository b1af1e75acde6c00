"""Purged store: everything that one store keeps, written anew without a secret, under its lock.

traces           what is there now counts, whatever was shown before
written anew     all that the refs lead to (store/redaction.py), packed, flushed
tombstones       flushed, beside
journal          flushed: it has begun, and will be finished (store/purge.py)
proof            every object and every other file is searched (store/proof.py)
"""

from __future__ import annotations

import os

from takeback.errors import Refused, StoreDamaged
from takeback.git.repository import foreign_refs, pack_reachable
from takeback.model.codec import encode
from takeback.model.ids import new_operation_id
from takeback.model.needles import Needles
from takeback.model.operation import PURGE, Operation
from takeback.model.value import Value
from takeback.ops.traced import newest_records
from takeback.ops.transcript import read_now
from takeback.store import purge, tombstones
from takeback.store.checkpoints import conversation_tree
from takeback.store.checksum import reads_whole
from takeback.store.conversation import read_conversation
from takeback.store.garbage import needed
from takeback.store.given_up import note_garbage
from takeback.store.kept_files import DERIVED, OF_THE_USER, PLAIN
from takeback.store.namespace import EVERYTHING, log_ref
from takeback.store.operations import newest_here
from takeback.store.packdir import check_room, pack_dir, pack_sizes
from takeback.store.proof import Search, Searched, files_at_home, other_files
from takeback.store.records import write_record
from takeback.store.redaction import Redaction
from takeback.store.sink import PackSink
from takeback.store.traces import all_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from takeback.model.tombstones import Tombstones
    from takeback.ops.traced import Traced
    from takeback.ops.upkeep import Upkeep
    from takeback.ports import Reporter
    from takeback.store.locked import Locked
    from takeback.store.store import Store

    Moves = dict[str, tuple[bytes | None, bytes]]
    """Where each ref led, and where it is to lead."""

_LOOKING = "looking through what is kept"
_PROVING = "searching every object"


class PurgedStore(Value):
    """What a purge does to the store of one workspace, or did.

    ``quotes`` are records and pieces of conversations that quote it, ``also_in`` other files whose
    snapshots hold a line or a value of it: they stay. ``copies`` are other paths with the very same
    content: that goes, too. ``removed`` are files beside the objects. ``has_it`` says that there is
    anything to remove, or was. ``objects`` were searched, ``size`` bytes in all; after it was done,
    ``found`` names what still has it.
    """

    root: bytes
    paths: tuple[bytes, ...]
    versions: int
    checkpoints: int
    quotes: int
    also_in: tuple[bytes, ...] = ()
    removed: tuple[str, ...] = ()
    objects: int = 0
    size: int = 0
    found: tuple[str, ...] = ()
    transcripts: tuple[str, ...] = ()
    copies: tuple[bytes, ...] = ()
    has_it: bool = True


def looked_through(store: Store, found: Traced, reporter: Reporter) -> PurgedStore:
    """Returns what would be done to a store; raises StoreDamaged if not all of it can be read."""
    hits = Searched(0, 0, frozenset(), (), ())
    if found.secret.needles:
        hits = Search(store, found.secret.needles).run(_progress(reporter, _LOOKING))
    if hits.unread:
        raise StoreDamaged(f"not all of it can be read: {hits.unread[0]}")
    quotes = hits.objects - found.others.keys() - found.secret.contents
    own_files = [path for path in hits.files if path.startswith(os.path.join(store.directory, ""))]
    return PurgedStore(
        root=store.location.root,
        paths=tuple(sorted(found.secret.paths | found.outside)),
        versions=found.versions,
        checkpoints=found.checkpoints,
        quotes=len(quotes),
        also_in=_also_in(found, hits),
        objects=hits.count,
        size=hits.size,
        transcripts=tuple(part.path for part in found.transcripts),
        copies=found.copies,
        has_it=bool(found.versions or quotes or own_files or found.transcripts),
    )


def _also_in(found: Traced, hits: Searched) -> tuple[bytes, ...]:
    return tuple(sorted({path for oid in hits.objects for path in found.others.get(oid, ())}))


def _progress(reporter: Reporter, what: str) -> Callable[[int, int], None]:
    return lambda done, total: reporter.progress(what, done, total)


class Anew:
    """One store that is written anew under its lock."""

    def __init__(self, locked: Locked, upkeep: Upkeep, found: Traced) -> None:
        self._locked = locked
        self._store = locked.store
        self._upkeep = upkeep
        self._found = found
        self._quotes = 0
        self._removed: tuple[str, ...] = ()

    def run(self) -> Anew:
        """Does it; nothing has happened if it raises before the journal is there."""
        store, locked = self._store, self._locked
        strange = foreign_refs(store.git, EVERYTHING)
        if strange:
            raise Refused(
                f"the store has a ref that takeback did not make: {strange[0]}",
                hint="what it leads to would be lost; remove it from the store first",
            )
        self._check_room()
        note_garbage(locked)  # what is left if this ends before it has begun
        sink = PackSink(locked, disk_floor=self._upkeep.disk_floor)
        try:
            refs, kept = self._rewritten(sink)
            sink.publish()
        except BaseException:
            sink.discard()
            raise
        tips = {**store.refs.list(EVERYTHING), **{ref: new for ref, (_, new) in refs.items()}}
        packs = pack_reachable(store.git, pack_dir(store), (*tips.values(), *sorted(kept)))
        if not all(reads_whole(pack_dir(store), name) for name in packs):
            raise StoreDamaged("the packs that were just written do not read back")
        tombstones.stage(locked, self._tombstones())
        made = self._journal(refs, packs)
        purge.begin(locked, made)
        purge.finish(locked)
        self._removed = (*made.files, *made.home_files)
        return self

    def _check_room(self) -> None:
        """Raises WriteFailed if the disk could not hold everything twice for a while."""
        store, floor = self._store, self._upkeep.disk_floor
        size = sum(pack_sizes(store, store.pack_names()).values())
        check_room(store, needed(store, size, floor), floor)

    def _rewritten(self, sink: PackSink) -> tuple[Moves, set[bytes]]:
        """Adds everything without the secret; returns where each ref goes, and what else stays."""
        store, locked = self._store, self._locked
        redaction = Redaction(sink, self._found.secret)
        redaction.run(all_records(store))
        self._quotes = redaction.quotes
        refs: Moves = {
            ref: (tip, redaction.commits[tip])
            for ref, tip in store.refs.list(EVERYTHING).items()
            if redaction.commits[tip] != tip
        }
        log, newest = log_ref(locked.machine), newest_here(store)
        parents = () if newest is None else (redaction.commits[newest],)
        refs[log] = (store.refs.read(log), self._line(sink, parents))
        return refs, redaction.kept

    def _line(self, sink: PackSink, parents: tuple[bytes, ...]) -> bytes:
        """Adds the line of the log; it does not say what was purged."""
        now = self._upkeep.clock.now()
        done = Operation(
            id=new_operation_id(),
            kind=PURGE,
            time=now,
            sequence=self._locked.next_sequence(),
            machine=self._locked.machine,
        )
        return write_record(
            sink,
            {"type": "operation", **encode(done)},
            parents=parents,
            time=now,
            message=f"{done.kind} {done.id}",
        )

    def _tombstones(self) -> Tombstones:
        """Returns the former ones with those of this secret, wherever it was quoted last."""
        store, found = self._store, self._found
        made = tombstones.loaded_or_none_yet(store)
        made = made.of_paths(*found.secret.paths, *found.outside)
        made = made.of_contents(*found.secret.contents)
        for data in self._spoken():
            made = made.of_passages(data, found.secret.needles)
        return made

    def _spoken(self) -> Iterator[bytes]:
        for record in newest_records(self._store):
            tree = conversation_tree(record)
            if tree is not None:
                yield from read_conversation(self._store, tree)
        for part in self._found.transcripts:
            data = read_now(part)
            if data is not None:
                yield data

    def _journal(self, refs: Moves, packs: Iterable[str]) -> purge.PurgeJournal:
        store = self._store
        search = Search(store, self._found.secret.needles)
        files = other_files(store, besides=(*PLAIN, *DERIVED, *OF_THE_USER))
        home = store.location.home
        return purge.PurgeJournal(
            refs,
            tuple(packs),
            tuple(name for name in files if search.is_in_file(store.path(name))),
            tuple(
                os.path.relpath(path, home)
                for path in files_at_home(store)
                if search.is_in_file(path)
            ),
        )

    def proved(self, reporter: Reporter) -> PurgedStore:
        """Searches everything that is left, and returns what was done."""
        store, found = self._store, self._found
        secret = found.secret
        ids = [form for oid in secret.contents for form in (oid, oid.hex().encode())]
        search = Search(store, secret.needles | Needles(ids))
        hits = search.run(_progress(reporter, _PROVING))
        left = hits.objects - found.others.keys()
        return PurgedStore(
            root=store.location.root,
            paths=tuple(sorted(secret.paths | found.outside)),
            versions=found.versions,
            checkpoints=found.checkpoints,
            quotes=self._quotes,
            also_in=_also_in(found, hits),
            removed=self._removed,
            objects=hits.count,
            size=hits.size,
            found=(*sorted(oid.hex() for oid in left), *hits.files, *hits.unread),
            transcripts=tuple(part.path for part in found.transcripts),
            copies=found.copies,
        )
