"""The directories that the stat cache knows, made into objects only when they are needed."""

from __future__ import annotations

from takeback.worktree.directory import (
    FLAGS,
    GAPS,
    OIDS,
    PATH,
    REPOSITORY,
    SAVED_NAMES,
    SAVED_SIGNATURES,
    SIGNATURES,
    TRACKED,
    UNRULED,
    Directory,
    all_doubted,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from takeback.worktree.directory import Row


class Known:
    """A mapping from path to Directory over the rows of the cache."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._rows = {row[PATH]: row for row in rows}
        self._made: dict[bytes, Directory] = {}
        self._marked: list[tuple[bytes, Row]] | None = None

    def get(self, path: bytes) -> Directory | None:
        made = self._made.get(path)
        if made is None:
            row = self._rows.pop(path, None)
            if row is None:
                return None
            made = self._made[path] = Directory.load(row)
        return made

    def __getitem__(self, path: bytes) -> Directory:
        found = self.get(path)
        if found is None:
            raise KeyError(path)
        return found

    def __setitem__(self, path: bytes, directory: Directory) -> None:
        self._rows.pop(path, None)
        self._made[path] = directory

    def __contains__(self, path: bytes) -> bool:
        return path in self._made or path in self._rows

    def pop(self, path: bytes) -> Directory | None:
        """Forgets a directory and returns it; None if it was not known."""
        found = self.get(path)
        if found is not None:
            del self._made[path]
        return found

    def rows(self) -> list[Row]:
        """Returns all directories as rows, those that were made into objects last."""
        return [*self._rows.values(), *(made.dump() for made in self._made.values())]

    def row(self, path: bytes) -> Row:
        """Returns one directory as a row."""
        made = self._made.get(path)
        return self._rows[path] if made is None else made.dump()

    def paths(self) -> Iterator[bytes]:
        yield from self._rows
        yield from self._made

    def file_count(self) -> int:
        rows = sum([len(row[OIDS]) for row in self._rows.values()]) // 20
        return rows + sum(len(made.files) for made in self._made.values())

    def is_bare(self) -> bool:
        """Tells whether there is nothing to know: no directory but the top, nothing in that."""
        is_alone = len(self._rows) + len(self._made) <= 1
        return is_alone and not self.file_count() and not self.special()

    def special(self) -> list[Directory]:
        """Returns those with gaps, saved or tracked-but-ignored files, in no order."""
        for path, row in self._marked_rows():
            if row[GAPS] or row[SAVED_NAMES] or row[TRACKED]:
                self.get(path)
        return [d for d in self._made.values() if d.gaps or d.saved.names or d.tracked]

    def unruled(self) -> set[bytes]:
        """Returns the paths of directories below which git is not asked."""
        found = {path for path, row in self._marked_rows() if row[FLAGS] & UNRULED}
        return found.union(path for path, d in self._made.items() if d.flags & UNRULED)

    def doubted(self) -> Known:
        """Returns the same directories with no file's cached bytes trusted any more."""
        return Known(
            (
                *row[:SIGNATURES],
                all_doubted(row[SIGNATURES]),
                *row[SIGNATURES + 1 : SAVED_SIGNATURES],
                all_doubted(row[SAVED_SIGNATURES]),
                *row[SAVED_SIGNATURES + 1 :],
            )
            for row in self.rows()
        )

    def repositories(self) -> list[bytes]:
        """Returns the paths of directories that hold a ``.git``."""
        found = [path for path, row in self._marked_rows() if row[FLAGS] & REPOSITORY]
        return found + [path for path, d in self._made.items() if d.flags & REPOSITORY]

    def _marked_rows(self) -> list[tuple[bytes, Row]]:
        """Returns the rows that are more than files and directories, of which there are few.

        All are gone through only once: a row never changes, it only becomes an object.
        """
        if self._marked is None:
            self._marked = [
                (path, row)
                for path, row in self._rows.items()
                if row[FLAGS] or row[GAPS] or row[SAVED_NAMES] or row[TRACKED]
            ]
        return [item for item in self._marked if item[0] in self._rows]
