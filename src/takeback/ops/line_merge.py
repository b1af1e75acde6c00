"""Line merge: merges the lines of files that both sides changed, all with one question to git."""

from __future__ import annotations

from takeback.git.diff import LARGEST_SHOWN
from takeback.git.hunks import hunks_of_blobs, hunks_of_files
from takeback.model import lines
from takeback.model.lines import OURS, THEIRS, LineHunk, Version
from takeback.model.merge import Conflict
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.git.hunks import Hunks
    from takeback.model.lines import Disputed, Piece
    from takeback.model.merge import ConflictKind
    from takeback.model.snapshot import Entry
    from takeback.store.store import Store


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
