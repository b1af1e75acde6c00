"""Redaction: a store written anew without a secret, which takes the place of what there is."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from zlib import crc32

from takeback import durable
from takeback.errors import StoreDamaged
from takeback.git.objects import BLOB, COMMIT, EMPTY_TREE, TREE, encode_commit, encode_tree, is_tree
from takeback.model import json_text
from takeback.model.checkpoint import SANDBOX
from takeback.model.coverage import PURGED, Coverage, NotHeld
from takeback.model.path_text import to_bytes
from takeback.model.secret import blank, merged
from takeback.model.value import Value
from takeback.ordinary import all_names, ordinary
from takeback.store import tombstones
from takeback.store.conversation import PIECE, with_pieces
from takeback.store.journal import delete_below
from takeback.store.namespace import EVERYTHING
from takeback.store.records import (
    CONVERSATION,
    COVERAGE,
    FILES,
    META,
    OUTSIDE,
    decoded_coverage,
    message_of,
    read_record,
    write_record,
)
from takeback.store.repack import forget_garbage, pack_dir, whole_packs
from takeback.store.trust import RETIRED, Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from takeback.model.secret import Needles, Secret, Span
    from takeback.store.lock import Locked
    from takeback.store.records import Record
    from takeback.store.sink import PackSink
    from takeback.store.store import Store

    Wanted = Callable[[bytes, bytes], bool]
    """Tells of a path and the id of what is there whether it is looked for."""
    Pruned = tuple[bytes, tuple[bytes, ...]]
    """A tree without the secret, and the paths that went from it."""

# -- traces: where a secret is among all that the refs of a store lead to


SNAPSHOTS = ("after", "was", "saved", "snapshot")
"""The fields of a record that name a tree of files by its id, in hex."""


def all_records(store: Store) -> list[Record]:
    """Returns every record that any ref leads to, each after its parents.

    Raises StoreDamaged if one does not read: what cannot be read cannot be written anew.
    """
    found: dict[bytes, Record] = {}
    ordered: dict[bytes, Record] = {}
    waiting = [*store.refs.list(EVERYTHING).values()]
    while waiting:
        oid = waiting[-1]
        if oid not in found:
            found[oid] = read_record(store, oid)
        before = [parent for parent in found[oid].commit.parents if parent not in ordered]
        if before and oid not in ordered:
            waiting += before
            continue
        ordered.setdefault(oid, found[oid])
        waiting.pop()
    return [*ordered.values()]


def named_trees(store: Store, record: Record) -> Iterator[bytes]:
    """Yields the trees of files that a record names by their id, as far as they are there."""
    for field in SNAPSHOTS:
        value = record.meta.get(field)
        if isinstance(value, str) and value:
            oid = bytes.fromhex(value)
            if store.packs.has(oid):
                yield oid


class Traces:
    """Every file of every snapshot: which paths have what is wanted, in how many checkpoints.

    ``versions`` are the ids at each path of the workspace that is wanted, ``outside`` those of
    files outside of it, ``others`` the paths of each other content. ``checkpoints`` counts the
    checkpoints that have any of it.
    """

    def __init__(self, store: Store, records: Iterable[Record], wanted: Wanted) -> None:
        self._store = store
        self._wanted = wanted
        self._seen: dict[tuple[bytes, bytes], bool] = {}
        self.versions: dict[bytes, set[bytes]] = {}
        self.outside: dict[bytes, set[bytes]] = {}
        self.others: dict[bytes, list[bytes]] = {}
        self.checkpoints = 0
        for record in records:
            entries = record.entries
            roots = [entries[FILES][1]] if FILES in entries else []
            roots += named_trees(store, record)
            has_it = [self._walk(root) for root in roots]
            if OUTSIDE in entries:
                self._walk_outside(entries[OUTSIDE][1])
            self.checkpoints += any(has_it) and "session" in record.meta and "id" in record.meta

    def _walk(self, root: bytes) -> bool:
        """Looks at a tree of the workspace; tells whether anything wanted is in it."""
        first = (b"", root)
        stack = [first]
        while stack:
            prefix, oid = stack[-1]
            entries = self._store.tree(oid)
            below = [(prefix + n + b"/", o) for mode, n, o in entries if is_tree(mode)]
            unseen = [one for one in below if one not in self._seen]
            if unseen:
                stack += unseen
                continue
            stack.pop()
            found = any(self._seen[one] for one in below)
            for mode, name, child in entries:
                if not is_tree(mode):
                    found |= self._look(self.versions, prefix + name, child)
            self._seen[prefix, oid] = found
        return self._seen[first]

    def _look(self, into: dict[bytes, set[bytes]], path: bytes, oid: bytes) -> bool:
        if self._wanted(path, oid):
            into.setdefault(path, set()).add(oid)
            return True
        paths = self.others.setdefault(oid, [])
        if path not in paths:
            paths.append(path)
        return False

    def _walk_outside(self, root: bytes) -> None:
        from takeback.store.trees import walk

        for path, entry in walk(self._store, root):
            if not entry.is_directory:
                self._look(self.outside, b"/" + path, entry.oid)


# -- every file of a store, and whether it may hold something of the workspace's files
#
# A purge goes by this table: what is derived goes and is made anew, what is plain never quotes a
# file, and everything else is searched and removed if it quotes the secret. Whatever is not here,
# such as what a killed process left behind, is searched too.


OBJECTS = ("store.git",)
"""Written anew, and searched object by object."""
DERIVED = (
    "ledger.db",
    "ledger.db-wal",
    "ledger.db-shm",
    "ledger.db-journal",
    "stat",
    "settings.compiled",
    "heaviest",
)
"""Made anew from the rest when it is missing, or left by a deletion that was interrupted."""
PLAIN = (
    "format",
    "workspace.json",
    "seen",
    "swept",
    "floor",
    "trust",
    "trust.new",
    "damaged",
    "epoch",
    "garbage",
    "sequence",
    "turns",
    "lock",
    "maintenance.lock",
    "sweep.lock",
    "maintenance.failed",
    "purge",
    "purged",
    "purged.new",
    "bisect.lock",
)
"""Names, numbers and hashes of takeback's own."""
OF_THE_USER = ("config.toml",)
"""Never removed: if it quotes the secret, that is said."""
SEARCHED = (
    "pending",
    "parcels",
    "journal",
    "told",
    "log",
    "log.seen",
    "bisect.json",
    "verdicts.json",
    "watched",
)
"""Removed if it quotes the secret."""
KNOWN = frozenset((*OBJECTS, *DERIVED, *PLAIN, *OF_THE_USER, *SEARCHED))

SEARCHED_AT_HOME = ("log", "bugs.log", "connected")
"""The same in the directory of all stores: the failures of hooks, where bugs happened, and what
`init` kept of the settings of agents as they were."""


# -- redaction
#
#     files/ outside/    without the paths and the contents of the secret
#     coverage           names what went, as purged: no rewind touches it
#     conversation/      the same pieces, with stars where they quote the secret
#     meta.json          the same with other ids of snapshots, and stars
#     commit             the same with other parents
#
# Ids of checkpoints, numbers, times and order stay. A record in which nothing changes stays the
# object that it is, if those before it do.


_NAMES = frozenset(
    (
        *("v", "type", "id", "session", "kind", "machine", "agent", "native", "checkpoint"),
        *("operation", "head", "before", "target", "child", "of", "origin", "tips", "dropped"),
        *("turn_id", "phase", "leaf", "entry", "noted", "amid", "staged", "restored", "sessions"),
        *("follows", "process", "namespace", "transcript_places", "scope"),
        *("directory", "branch", "resume", "transcript", "paths"),
        *SNAPSHOTS,
    )
)
"""The fields of a record that name things, and hold no text that anybody wrote."""
_TOUCHED, _SAVED, _AFTER = "touched", "saved", "after"


class _Anew(Value):
    """The entries of a record without the secret.

    ``gone`` is how many files went from its snapshot, ``not_held`` how many its coverage names by
    now; None if that is as it was.
    """

    entries: dict[bytes, tuple[int, bytes]]
    gone: int
    not_held: int | None


class Redaction:
    """Takes a secret out of records, one after the other, each after its parents."""

    def __init__(self, sink: PackSink, secret: Secret) -> None:
        self._sink = sink
        self._store = sink.locked.store
        self._secret = secret
        self._trees: dict[tuple[bytes, bytes, bool], Pruned] = {}
        self._told = Quotes(self._store, secret.needles)
        self._blanks: dict[tuple[bytes, tuple[Span, ...]], bytes] = {}
        self.commits: dict[bytes, bytes] = {}
        """What stands in the place of each commit."""
        self.kept: set[bytes] = set()
        """Trees that operations left, to which no commit leads."""
        self.quotes = 0
        """How many pieces of conversations, and how many records, had a quote."""

    def run(self, records: Iterable[Record]) -> None:
        """Writes records anew, as far as they change."""
        self._sink.add(TREE, b"")
        for record in records:
            self.commits[record.oid] = self._commit(record)

    def _commit(self, record: Record) -> bytes:
        parents = tuple(self.commits[parent] for parent in record.commit.parents)
        anew = self._entries(record)
        meta = self._meta(record, anew)
        if meta == record.meta and anew.entries == record.entries:
            if parents == record.commit.parents:
                return record.oid
            moved = record.commit.replace(parents=parents)
            return self._sink.add(COMMIT, encode_commit(moved))
        return write_record(
            self._sink,
            {key: value for key, value in meta.items() if key != "v"},
            parents=parents,
            time=record.commit.time,
            message=self._message(record, meta),
            entries=tuple(
                (mode, name, oid) for name, (mode, oid) in anew.entries.items() if name != META
            ),
        )

    def _message(self, record: Record, meta: dict[str, Any]) -> str:
        if COVERAGE in record.entries or "expired" in meta:  # a prompt may be cut in it
            return message_of(str(meta.get("kind")), str(meta.get("id")), meta.get("prompt"))
        return self._secret.needles.blanked_text(record.commit.message)

    # -- what a record has beside its meta.json

    def _entries(self, record: Record) -> _Anew:
        made = dict(record.entries)
        gone: tuple[bytes, ...] = ()
        not_held = None
        is_checkpoint = COVERAGE in made
        if FILES in made:
            mode, oid = made[FILES]
            tree, gone = self.files(oid, empty=is_checkpoint)
            made[FILES] = mode, tree
        if OUTSIDE in made:
            mode, oid = made[OUTSIDE]
            made[OUTSIDE] = mode, self._tree(oid, b"/", empty=False)[0]
        if CONVERSATION in made and self._secret.needles:
            mode, oid = made[CONVERSATION]
            made[CONVERSATION] = mode, with_pieces(self._store, self._sink, oid, self._pieces)
        if is_checkpoint:
            saved = self._named(record.meta.get(_SAVED), empty=False)
            lost = (*gone, *(saved[1] if saved is not None else ()))
            if lost:
                mode, oid = made[COVERAGE]
                known = decoded_coverage(self._store, oid).not_held
                now = Coverage((*known, *(NotHeld(path, PURGED) for path in lost)))
                made[COVERAGE] = mode, self._sink.add(BLOB, now.encode())
                not_held = len(now.not_held)
        return _Anew(made, len(gone), not_held)

    def files(self, root: bytes, *, empty: bool) -> Pruned:
        """Returns a tree of files without the secret; ``empty`` keeps directories that it empties.

        A snapshot has those, as a capture would; among saved files there is no directory without
        one.
        """
        return self._tree(root, b"", empty=empty)

    def _tree(self, root: bytes, above: bytes, *, empty: bool) -> Pruned:
        first = (above, root, empty)
        stack = [first]
        while stack:
            prefix, oid, _ = stack[-1]
            entries = self._store.tree(oid)
            below = [(prefix + n + b"/", o, empty) for mode, n, o in entries if is_tree(mode)]
            missing = [one for one in below if one not in self._trees]
            if missing:
                stack += missing
                continue
            self._trees[stack.pop()] = self._pruned(prefix, oid, empty=empty)
        return self._trees[first]

    def _pruned(self, prefix: bytes, oid: bytes, *, empty: bool) -> Pruned:
        """Returns one directory without the secret; those below it are known."""
        made, gone = [], list[bytes]()
        entries = self._store.tree(oid)
        for mode, name, child in entries:
            path = prefix + name
            if is_tree(mode):
                tree, lost = self._trees[path + b"/", child, empty]
                gone += lost
                if not lost or tree != EMPTY_TREE or (empty and name not in SANDBOX):
                    made.append((mode, name, tree))
            elif self._secret.is_at(path, child):
                gone.append(path)
            else:
                made.append((mode, name, child))
        return (self._sink.add(TREE, encode_tree(made)) if gone else oid), tuple(gone)

    def _pieces(self, pieces: list[bytes]) -> list[bytes]:
        """Returns the pieces of a file of a conversation, with stars."""
        within = self._told.within(pieces)
        return [
            self._piece(piece, within[number]) if number in within else piece
            for number, piece in enumerate(pieces)
        ]

    def _piece(self, piece: bytes, spans: tuple[Span, ...]) -> bytes:
        """Returns a piece with stars in some places."""
        key = (piece, spans)
        if key not in self._blanks:
            data = self._store.blob(piece, PIECE)
            made = blank(data, spans)
            self.quotes += made != data
            self._blanks[key] = piece if made == data else self._sink.add(BLOB, made)
        return self._blanks[key]

    # -- meta.json

    def _meta(self, record: Record, anew: _Anew) -> dict[str, Any]:
        made = {
            key: value if key in _NAMES else self._blanked(value)
            for key, value in record.meta.items()
        }
        self.quotes += made != record.meta
        for field in SNAPSHOTS:
            tree = self._named(record.meta.get(field), empty=field != _SAVED)
            if tree is not None:
                made[field] = tree[0].hex()
                if field == _AFTER:
                    self.kept.add(tree[0])
        if isinstance(made.get("tips"), dict):
            made["tips"] = {ref: self._moved(tip) for ref, tip in made["tips"].items()}
        if isinstance(made.get(_TOUCHED), list):
            made[_TOUCHED] = [row for row in made[_TOUCHED] if not self._is_about_it(row)]
        if anew.gone and isinstance(made.get("files"), int):
            made["files"] -= anew.gone
        if anew.not_held is not None:
            made["not_held"] = anew.not_held
        return made

    def _blanked(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._secret.needles.blanked_text(value)
        if isinstance(value, list):
            return [self._blanked(one) for one in value]
        if isinstance(value, dict):
            return {key: self._blanked(one) for key, one in value.items()}
        return value

    def _named(self, value: object, *, empty: bool) -> Pruned | None:
        """Returns a tree that a record names by its id, without the secret; None if it has none.

        What was fetched from another machine may name what stayed there.
        """
        if not isinstance(value, str) or not value:
            return None
        oid = bytes.fromhex(value)
        return self.files(oid, empty=empty) if self._store.packs.has(oid) else None

    def _moved(self, tip: str) -> str:
        oid = bytes.fromhex(tip)
        if oid not in self.commits:
            raise StoreDamaged(f"what was pruned leads to {tip}, which is not in the store")
        return self.commits[oid].hex()

    def _is_about_it(self, row: Any) -> bool:
        """Tells whether a row of what an operation touched names the secret."""
        path, *entries = row
        ids = [bytes.fromhex(entry[1]) for entry in entries if entry]
        return any(self._secret.is_at(to_bytes(path), oid) for oid in ids)


# -- the end of a purge: what was written anew takes the place of what there is
#
#     before     everything without the secret is in new packs, flushed; nothing leads to them
#     journal    flushed: from here on the purge is finished, by this process or the next
#     finish     tombstones; refs, one by one; caches and files that quote the secret; the table of
#                packs; all other packs and loose objects
#     journal    removed
#
# The journal says which refs lead where and which files go, and nothing of the secret. Each step
# can be done twice. Whoever takes the lock finishes it first (lock.py), so that nothing is ever
# added to what is about to go.


JOURNAL = "purge"


class PurgeJournal(Value):
    """What a purge that has begun is going to do.

    ``refs`` are where each leads, before and after. ``packs`` are all that stay. ``files`` are to
    be removed, by their path below the directory of the store or of all stores.
    """

    refs: dict[str, tuple[bytes | None, bytes]]
    packs: tuple[str, ...]
    files: tuple[str, ...] = ()
    home_files: tuple[str, ...] = ()


def begin(locked: Locked, made: PurgeJournal) -> None:
    """Keeps the journal, flushed: the purge has begun."""
    record = {
        "v": 1,
        "refs": {ref: [old and old.hex(), new.hex()] for ref, (old, new) in made.refs.items()},
        "packs": list(made.packs),
        "files": list(made.files),
        "home_files": list(made.home_files),
    }
    data = json_text.dumps({**record, "check": _check(record)}).encode()
    durable.replace_file(locked.store.path(JOURNAL), data)


def _check(record: dict[str, Any]) -> str:
    """Returns what shows a flipped bit: a journal says which packs may go."""
    return f"{crc32(json_text.dumps(record).encode(errors='surrogateescape')):08x}"


def has_begun(store: Store) -> bool:
    """Tells whether a purge is under way, or was interrupted."""
    return os.path.exists(store.path(JOURNAL))


def finish(locked: Locked) -> None:
    """Finishes a purge that has begun; raises StoreDamaged if nobody can tell what it was."""
    store = locked.store
    made = _read(store)
    missing = frozenset(made.packs).difference(whole_packs(store))
    if missing:
        raise StoreDamaged(f"what a purge wrote is gone: {', '.join(sorted(missing))}")
    tombstones.set_up(locked)
    for ref, (old, new) in made.refs.items():
        if store.refs.read(ref) != new:
            store.refs.write(ref, new, expect=old)
    for name in DERIVED:
        _remove(store.directory, name)
    for name in made.files:
        _remove(store.directory, name)
    for name in made.home_files:
        _remove(store.location.home, name)
    durable.sync_directory(store.directory)
    _keep_only(locked, made.packs)
    durable.unlink(store.path(JOURNAL))
    durable.sync_directory(store.directory)


def _read(store: Store) -> PurgeJournal:
    try:
        with open(store.path(JOURNAL), encoding="utf-8", opener=ordinary) as file:
            record = json_text.loads(file.read())
        if not isinstance(record, dict) or record.pop("check") != _check(record):
            raise TypeError
        return PurgeJournal(
            {
                ref: (old and bytes.fromhex(old), bytes.fromhex(new))
                for ref, (old, new) in record["refs"].items()
            },
            tuple(record["packs"]),
            tuple(record["files"]),
            tuple(record["home_files"]),
        )
    except (OSError, ValueError, TypeError, LookupError):
        raise StoreDamaged(
            f"the journal {store.path(JOURNAL)} of an interrupted purge is not readable",
            hint="what it was to remove may still be there: remove that file, then purge again",
        ) from None


def _remove(directory: str, name: str) -> None:
    """Removes a file, or all in a directory and itself; what is not there is no trouble."""
    path = os.path.join(directory, name)
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            delete_below(path)
            durable.rmdir(path)
        else:
            durable.unlink(path)
    except FileNotFoundError:
        return


def _keep_only(locked: Locked, packs: Iterable[str]) -> None:
    """Removes every object that is not in one of these packs, whatever wrote it."""
    store, kept = locked.store, frozenset(packs)
    trust = Trust(store)
    trust.retire(locked, [name for name in trust.packs() if name not in kept], kept)
    store.reopen_packs()
    directory = pack_dir(store)
    for name in sorted(all_names(directory)):  # an index goes before its pack
        if name.partition(".")[0] not in kept:
            durable.unlink(os.path.join(directory, name))
    durable.sync_directory(directory)
    Trust(store).forget(locked, RETIRED)
    objects = os.path.dirname(directory)
    for name in all_names(objects):
        if len(name) == 2:
            _remove(objects, name)
    durable.sync_directory(objects)
    locked.clear_blame(store.blamed_packs())
    forget_garbage(locked)


# -- quotes: where conversations quote a secret, also across the pieces in which they are kept


class Quotes:
    """Reads conversations. What was read is remembered: those that begin alike are read once."""

    def __init__(self, store: Store, needles: Needles) -> None:
        self._store = store
        self._needles = needles
        self._looked: dict[tuple[bytes, bytes], tuple[list[Span], bytes, int]] = {}
        self.read: dict[bytes, int] = {}
        """The pieces that were read, and how many bytes each has."""

    def within(self, pieces: Sequence[bytes]) -> dict[int, tuple[Span, ...]]:
        """Returns where each piece of a file quotes it, by its number; one may have half a quote.

        Raises StoreDamaged if a piece cannot be read.
        """
        spans: list[Span] = []
        starts: list[int] = []
        head, at = b"", 0
        for piece in pieces:
            found, head, size = self._look(head, piece)
            spans += [(at + start, at + end) for start, end in found]
            starts.append(at)
            at += size
        made: dict[int, tuple[Span, ...]] = {}
        for start, end in merged(spans):
            for number in range(bisect_right(starts, start) - 1, bisect_left(starts, end)):
                first = starts[number]
                place = max(0, start - first), min(end - first, self.read[pieces[number]])
                made[number] = (*made.get(number, ()), place)
        return made

    def _look(self, head: bytes, piece: bytes) -> tuple[list[Span], bytes, int]:
        key = (head, piece)  # with what is carried over, a piece always reads the same
        if key not in self._looked:
            data = self._store.blob(piece, PIECE)
            self.read[piece] = len(data)
            self._looked[key] = (*self._needles.look(head, data), len(data))
        return self._looked[key]
