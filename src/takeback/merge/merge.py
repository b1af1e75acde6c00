"""Merge: brings what changed between two snapshots into a third one.

        base ──────────────> theirs      what is to be brought in
          ╰────────────────> ours        what it is brought into: usually the files as they are

Only what differs between base and theirs is looked at. A file that one side renamed is followed to
its new name. Lines are merged by hunks from git's own diff.
"""

from __future__ import annotations

from takeback.git.diff import LARGEST_SHOWN, hunks_of_blobs, hunks_of_files, renames
from takeback.git.objects import BLOB
from takeback.model import lines
from takeback.model.checkpoint import Entry
from takeback.model.conflicts import (
    BINARY,
    DELETED_THERE,
    MODES,
    SKIP,
    TEXT,
    TYPES,
    Conflict,
    merge_entry,
)
from takeback.model.lines import OURS, THEIRS, LineHunk, Version
from takeback.model.path_text import covers, parents
from takeback.model.value import Value
from takeback.store import trees
from takeback.store.trees import Held, edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from takeback.git.diff import Hunks
    from takeback.model.checkpoint import Change
    from takeback.model.conflicts import Chooser, ConflictKind
    from takeback.model.lines import Disputed, Piece
    from takeback.store.sink import PackSink
    from takeback.store.store import Store


# -- line merge: merges the lines of files that both sides changed, all with one question to git


class Sides(Value):
    """The roots of three snapshots, and what ours and theirs are called between markers."""

    base: bytes
    ours: bytes
    theirs: bytes
    names: tuple[str, str] = (OURS, THEIRS)


class Triple(Value):
    """What is at a path on each side; ``origin`` is its name in the base if it has another now.

    ``among_others``: others worked on it at the same time, see ``lines.merge``.
    """

    path: bytes
    base: Entry | None
    ours: Entry | None
    theirs: Entry | None
    origin: bytes | None = None
    among_others: bool = False

    def conflict(self, kind: ConflictKind, hunks: tuple[Disputed, ...] = ()) -> Conflict:
        """Returns the conflict that it is."""
        return Conflict(
            self.path, kind, self.base, self.ours, self.theirs, hunks, origin=self.origin
        )


def merge_lines(
    store: Store, sides: Sides, files: Sequence[Triple]
) -> Iterator[list[Piece] | None]:
    """Yields the merged text of each file, in pieces; None for one that has no lines.

    Ours must have the file, with other bytes than theirs. One that is too long to be shown counts
    as one without lines.
    """
    return _Reader(store).merge(sides, files)


class _Reader:
    def __init__(self, store: Store) -> None:
        self._store = store

    def merge(self, sides: Sides, files: Sequence[Triple]) -> Iterator[list[Piece] | None]:
        """Asks for the hunks of all files that have kept their names at once."""
        readable = [at for at in files if self._size(at) <= LARGEST_SHOWN]
        paths = [at.path for at in readable if at.base is not None and at.origin is None]
        by_us = hunks_of_files(self._store.git, sides.base, sides.ours, paths)
        by_them = hunks_of_files(self._store.git, sides.base, sides.theirs, paths)
        for at in files:
            if at not in readable:
                yield None
            elif at.base is not None and at.origin is None:
                yield self._merged(at, by_us[at.path], by_them[at.path])
            else:
                ours, theirs = (self._hunks(at.base, side) for side in (at.ours, at.theirs))
                yield self._merged(at, ours, theirs)

    def _size(self, at: Triple) -> int:
        sizes = self._store.packs.size_of
        return max(sizes(entry.oid) for entry in (at.base, at.ours, at.theirs) if entry)

    def _hunks(self, base: Entry | None, side: Entry | None) -> Hunks | None:
        """Returns the hunks of a file that has another name in the base, or is not there at all."""
        if base is not None and side is not None:
            if base.oid == side.oid:
                return ()
            return hunks_of_blobs(self._store.git, base.oid, side.oid)
        texts = [self._text(entry) for entry in (base, side)]
        if any(lines.is_binary(text) for text in texts):
            return None
        old, new = (len(lines.split(text)) for text in texts)
        return (LineHunk(0, old, 0, new),) if old or new else ()

    def _merged(self, at: Triple, by_us: Hunks | None, by_them: Hunks | None) -> list[Piece] | None:
        if by_us is None or by_them is None:
            return None
        base, ours, theirs = (lines.split(self._text(e)) for e in (at.base, at.ours, at.theirs))
        among = at.among_others
        return lines.merge(base, Version(ours, by_us), Version(theirs, by_them), among_others=among)

    def _text(self, entry: Entry | None) -> bytes:
        return b"" if entry is None else self._store.blob(entry.oid, LARGEST_SHOWN)


# -- merge


class Merge(Value):
    """The merged snapshot; ``renamed`` are files that were followed to another name."""

    tree: bytes
    renamed: dict[bytes, bytes]


def merge(
    sink: PackSink, sides: Sides, chooser: Chooser, *, among_others: Collection[bytes] = ()
) -> Merge:
    """Merges; the objects of the result are in the sink. Raises StoreDamaged or GitFailed.

    A conflict for which nothing was chosen leaves its path as it is in ours. ``among_others`` are
    paths that others wrote at the same time: a file that theirs lacks goes with its last line.
    """
    if sides.base == sides.theirs:
        return Merge(sides.ours, {})
    return _Merging(sink, sides, chooser, among_others).run()


class _Merging:
    """One merge on its way: what has been decided so far, by path."""

    def __init__(
        self, sink: PackSink, sides: Sides, chooser: Chooser, among_others: Collection[bytes]
    ) -> None:
        self._sink = sink
        self._among_others = among_others
        self._store = sink.locked.store
        self._sides = sides
        self._choose = chooser.choose
        self._skipped_is_theirs = chooser.skipped_is_theirs
        self._ours = Held(self._store, sides.ours)
        self._theirs = Held(self._store, sides.theirs)
        self._changes: dict[bytes, Entry | None] = {}
        self._by_lines: list[tuple[Triple, Entry, ConflictKind | None]] = []
        self._leaving: list[bytes] = []
        self._blocked: tuple[bytes, ...] = ()
        self._renamed: dict[bytes, bytes] = {}
        self._renames: dict[bytes, dict[bytes, bytes]] = {}

    def run(self) -> Merge:
        """Decides about every path that theirs changed."""
        wanted = {
            change.path: change
            for change in trees.diff(self._store, self._sides.base, self._sides.theirs)
        }
        for path in self._moved_there(wanted):
            del wanted[path]
        for change in wanted.values():
            if self._blocked and covers(self._blocked, change.path):
                continue
            if _is_directory(change.old) or _is_directory(change.new):
                self._directory(change)
            else:
                self._file(change)
        self._merge_lines()
        self._remove_empty()
        return Merge(
            edited(self._store, self._sink, self._sides.ours, self._changes),
            self._renamed,
        )

    # -- files

    def _file(self, change: Change) -> None:
        path, base, theirs = change.path, change.old, change.new
        ours = self._ours[path]
        if base is not None and base.is_file and ours is None:
            followed = self._renames_to(self._sides.ours).get(path)
            if followed is not None:
                self._renamed[path] = followed
                self._three(Triple(followed, base, self._ours[followed], theirs, path))
                return
        self._three(Triple(path, base, ours, theirs))

    def _moved_there(self, wanted: dict[bytes, Change]) -> list[bytes]:
        """Merges the files that theirs renamed and ours changed; returns the paths that are done.

        Without that, the old name would be a conflict and the new one would lack what ours did.
        """
        gone = [
            change
            for change in wanted.values()
            if change.new is None
            and change.old is not None
            and change.old.is_file
            and self._ours[change.path] not in (None, change.old)
        ]
        if not gone or all(change.old is not None for change in wanted.values()):
            return []
        done = []
        for change in gone:
            there = self._renames_to(self._sides.theirs).get(change.path)
            if there is None or there not in wanted or self._ours[there] is not None:
                continue
            ours, theirs = self._ours[change.path], self._theirs[there]
            self._renamed[change.path] = there
            self._changes[change.path] = None
            self._changes[there] = ours
            self._make_way(there)
            self._three(Triple(there, change.old, ours, theirs, change.path))
            done += [change.path, there]
        return done

    def _renames_to(self, root: bytes) -> dict[bytes, bytes]:
        if root not in self._renames:
            self._sink.publish()
            self._renames[root] = renames(self._store.git, self._sides.base, root)
        return self._renames[root]

    def _three(self, at: Triple) -> None:
        """Decides about one file or link, as far as its lines need not be known."""
        if at.theirs is not None and self._is_below_a_file(at.path):
            self._conflict(at, TYPES)
            return
        if (at.origin or at.path) in self._among_others:
            at = at.replace(among_others=True)
        found = merge_entry(at.base, at.ours, at.theirs)
        if found.conflict == MODES:
            self._modes(at)
        elif found.by_lines and found.entry is not None:
            self._by_lines.append((at, found.entry, found.conflict))
        elif found.conflict == DELETED_THERE and _may_be_emptied(at) and at.ours is not None:
            self._by_lines.append((at, at.ours, found.conflict))
        elif found.conflict is not None:
            self._conflict(at, found.conflict)
        elif at.origin is not None and at.theirs is None and at.ours is not None:
            self._conflict(at, DELETED_THERE)  # it is to go, and has another name now
        else:
            self._put(at, found.entry)

    def _modes(self, at: Triple) -> None:
        """Both changed the permission bits: with those that are chosen, the bytes are merged."""
        chosen = self._choose(at.conflict(MODES))
        if chosen is None or at.ours is None or at.theirs is None:
            return
        if chosen == (SKIP,):
            self._skip(at)
            return
        mode = at.theirs.mode if chosen == (THEIRS,) else at.ours.mode
        if at.ours.mode != mode:
            self._put(at, Entry(mode, at.ours.oid))
        self._three(at.replace(ours=Entry(mode, at.ours.oid), theirs=Entry(mode, at.theirs.oid)))

    def _put(self, at: Triple, entry: Entry | None) -> None:
        if entry == self._ours[at.path]:
            self._changes.pop(at.path, None)
            return
        self._changes[at.path] = entry
        if entry is not None:
            self._make_way(at.path)

    def _make_way(self, path: bytes) -> None:
        """Makes the directories above a path that ours has not, with the bits theirs has."""
        for above in parents(path):
            known = self._theirs[above]
            if self._ours[above] is None and known is not None and known.is_directory:
                self._changes.setdefault(above, known)

    def _is_below_a_file(self, path: bytes) -> bool:
        for above in parents(path):
            entry = self._changes.get(above, self._ours[above])
            if entry is not None and not entry.is_directory:
                return True
        return False

    # -- directories

    def _directory(self, change: Change) -> None:
        path, base, theirs = change.path, change.old, change.new
        ours = self._ours[path]
        if _is_directory(base) and theirs is None:
            self._leaving.append(path)
        elif _is_directory(theirs) and (ours is None or _is_directory(ours)):
            self._directory_stays(Triple(path, base, ours, theirs))
        elif ours == base and theirs is not None:
            self._changes[path] = theirs
            if not theirs.is_directory:
                self._block(path)
        elif ours != theirs:
            at = Triple(path, base, ours, theirs)
            if not self._conflict(at, TYPES) or not _is_directory(theirs):
                self._block(path)

    def _directory_stays(self, at: Triple) -> None:
        if self._is_below_a_file(at.path):
            if not self._conflict(at, TYPES):
                self._block(at.path)
            return
        if at.ours is None:
            self._changes[at.path] = at.theirs
            return
        there = at.base is not None and at.base.is_directory
        if not there or at.base is None or at.theirs is None or at.ours.mode == at.theirs.mode:
            return
        if at.ours.mode == at.base.mode:
            self._changes[at.path] = Entry(at.theirs.mode, at.ours.oid)
        elif at.theirs.mode != at.base.mode:
            self._conflict(at, MODES)

    def _block(self, path: bytes) -> None:
        self._blocked = (*self._blocked, path)

    def _remove_empty(self) -> None:
        """Removes the directories that theirs lacks, if nothing is left in them."""
        for path in sorted(self._leaving, reverse=True):
            if not _is_directory(self._ours[path]):
                continue
            left = (
                self._changes.get(path + b"/" + name, entry)
                for name, entry in self._ours.below(path).items()
            )
            below = path + b"/"
            comes = (
                entry for name, entry in self._changes.items() if name.startswith(below) and entry
            )
            if not any(left) and not any(comes):
                self._changes[path] = None

    # -- lines

    def _merge_lines(self) -> None:
        if not self._by_lines:
            return
        self._sink.publish()  # git reads them
        waiting = [at for at, _, _ in self._by_lines]
        merged = merge_lines(self._store, self._sides, waiting)
        for (at, entry, kind), pieces in zip(self._by_lines, merged, strict=True):
            if pieces is None:
                self._conflict(at, kind or BINARY)
                continue
            disputed = lines.disputed(pieces)
            if disputed:
                found = at.conflict(kind or TEXT, disputed)
                chosen = self._choose(found)
                if chosen is None:
                    continue
                if SKIP in chosen:
                    self._skip(at)
                    continue
                settled = [one for one in chosen if one != SKIP]
            else:
                settled = []
            text = lines.settled(pieces, settled, self._sides.names)
            gone = at.theirs is None and not text
            self._put(at, None if gone else Entry(entry.mode, self._sink.add(BLOB, text)))

    # -- conflicts

    def _conflict(self, at: Triple, kind: ConflictKind) -> bool:
        """Notes a conflict without lines; True if theirs was chosen, and taken."""
        chosen = self._choose(at.conflict(kind))
        if chosen == (SKIP,):
            return self._skip(at)
        if chosen != (THEIRS,):
            return False
        self._put(at, at.theirs)
        return True

    def _skip(self, at: Triple) -> bool:
        """Leaves a file as it is now; True if that means theirs."""
        if self._skipped_is_theirs:
            self._put(at, at.theirs)
        return self._skipped_is_theirs


def _may_be_emptied(at: Triple) -> bool:
    """Tells whether a file that is to go may have lines of others in it."""
    return at.among_others and all(one is not None and one.is_file for one in (at.base, at.ours))


def _is_directory(entry: Entry | None) -> bool:
    return entry is not None and entry.is_directory
