"""Purge: a secret is removed from everything that is kept, for good."""

from __future__ import annotations

import os

from takeback.context import Translated
from takeback.errors import Command, NoSuchCheckpoint, Refused, StoreDamaged, TakebackError
from takeback.git.objects import BLOB, object_id
from takeback.git.process import foreign_refs, pack_reachable
from takeback.model.checkpoint import TranscriptPart
from takeback.model.codec import encode
from takeback.model.ids import new_operation_id
from takeback.model.operation import PURGE, Operation
from takeback.model.path_text import to_bytes, to_text
from takeback.model.secret import LARGEST, LEAST, NOTHING, Needles, Secret
from takeback.model.value import Value
from takeback.ordinary import all_names, ordinary
from takeback.store import journal, tombstones
from takeback.store import redaction as redaction_room
from takeback.store.conversation import read_conversation
from takeback.store.location import read_location
from takeback.store.lock import Lock
from takeback.store.namespace import EVERYTHING, SESSIONS, log_ref
from takeback.store.proof import Search, Searched, files_at_home, other_files
from takeback.store.records import (
    checkpoint_of,
    conversation_tree,
    newest_here,
    read_record,
    write_record,
)
from takeback.store.redaction import DERIVED, OF_THE_USER, PLAIN, Redaction, Traces, all_records
from takeback.store.repack import (
    check_room,
    needed,
    note_garbage,
    pack_dir,
    pack_sizes,
    reads_whole,
)
from takeback.store.sink import PackSink
from takeback.store.store import Store
from takeback.turns.said import read_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeVar

    from takeback.model.secret import Tombstones
    from takeback.ports import Reporter
    from takeback.retention.prune import Upkeep
    from takeback.store.lock import Locked
    from takeback.store.records import Record

    Moves = dict[str, tuple[bytes | None, bytes]]
    """Where each ref led, and where it is to lead."""
    T = TypeVar("T")
    Matches = Callable[[bytes], bool]

# -- traced: where a secret is in a store, and what it consists of


class Traced(Value):
    """Where a secret is in one store.

    ``others`` has the paths of each other content of its snapshots, ``copies`` the paths at which
    the same content lies, ``transcripts`` the agents' own files that quote it.
    """

    secret: Secret
    outside: frozenset[bytes]
    versions: int
    checkpoints: int
    others: Mapping[bytes, list[bytes]]
    copies: tuple[bytes, ...]
    transcripts: tuple[TranscriptPart, ...]


def trace(store: Store, wanted: Callable[[bytes, bytes], bool], known: Secret = NOTHING) -> Traced:
    """Looks for paths and contents in all that is kept, and reads what they hold.

    What is ``known`` of the secret from another store is looked for as well.
    """
    records = all_records(store)
    traces = Traces(store, records, wanted)
    ids = {oid for at in (*traces.versions.values(), *traces.outside.values()) for oid in at}
    contents = {oid: store.blob(oid) for oid in sorted(ids) if store.packs.size_of(oid) <= LARGEST}
    telling = {oid for oid in ids if oid not in contents or len(contents[oid].strip()) >= LEAST}
    names = _names(store, records, traces)
    needles = Needles.of(contents.values(), names) | known.needles.besides(names)
    return Traced(
        Secret(frozenset(traces.versions), known.contents | telling, needles),
        frozenset(traces.outside),
        len(ids),
        traces.checkpoints,
        {oid: paths for oid, paths in traces.others.items() if oid not in telling},
        tuple(sorted({path for oid in telling for path in traces.others.get(oid, ())})),
        tuple(_quoting_transcripts(store, needles)),
    )


def _names(store: Store, records: Iterable[Record], traces: Traces) -> bytes:
    """Returns the names of all files and directories that records and snapshots have."""
    found = {store.location.root, *store.location.also, os.fsencode(store.location.home)}
    found.update(traces.versions, traces.outside, *traces.others.values())
    for record in records:
        told = [record.meta.get(field) for field in ("directory", "branch", "resume", "transcript")]
        found.update(to_bytes(text) for text in _texts(told))
    return b"\0".join(sorted(found))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def trace_elsewhere(store: Store, secret: Secret) -> Traced:
    """Looks for a secret of another store: where one of its contents was, all versions go."""
    paths = frozenset[bytes]()
    if any(store.packs.has(oid) for oid in secret.contents):
        records = all_records(store)
        paths = frozenset(Traces(store, records, lambda _, oid: oid in secret.contents).versions)
    return trace(store, lambda path, oid: path in paths or oid in secret.contents, secret)


def newest_records(store: Store) -> Iterator[Record]:
    for tip in store.refs.list(SESSIONS).values():
        yield read_record(store, tip)


def _quoting_transcripts(store: Store, needles: Needles) -> Iterator[TranscriptPart]:
    """Yields the agents' own transcripts that are there and quote it: they are not ours."""
    told = (checkpoint_of(record).transcript for record in newest_records(store))
    places = {(part.path, part.place) for parts in told for part in parts if part.place}
    for path, place in sorted(places):
        part = TranscriptPart(path, 0, place)
        data = read_now(part)
        if data is not None and needles.are_in(data):
            yield part


# -- purged store: everything that one store keeps, written anew without a secret, under its lock
#
# traces           what is there now counts, whatever was shown before
# written anew     all that the refs lead to (store/redaction.py), packed, flushed
# tombstones       flushed, beside
# journal          flushed: it has begun, and will be finished (store/redaction.py)
# proof            every object and every other file is searched (store/proof.py)


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
        redaction_room.begin(locked, made)
        redaction_room.finish(locked)
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

    def _journal(self, refs: Moves, packs: Iterable[str]) -> redaction_room.PurgeJournal:
        store = self._store
        search = Search(store, self._found.secret.needles)
        files = other_files(store, besides=(*PLAIN, *DERIVED, *OF_THE_USER))
        home = store.location.home
        return redaction_room.PurgeJournal(
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


# -- purge
#
#   without the lock   what goes is shown: paths, versions, quotes; which other stores have it
#   each store         all of this home, those in the trash too; this one last (purge/purge.py)
#
# Every store is looked through for the contents and for what quotes them. One that cannot be
# looked into, or written anew now, is named, and does not keep the others from being purged. This
# store is the last because it says what the secret is: until then, the same purge can be
# repeated. After that its tombstones still know what is meant, where the file itself or another
# store has it.


_COMBINED_IN = 60.0
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
        maintenance.acquire("purge", wait=_COMBINED_IN)
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
