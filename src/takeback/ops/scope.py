"""Scope: what of a target is wanted."""

from __future__ import annotations

from takeback.model.path_text import covers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.change import Change


class Scope:
    """What of the target is wanted: all of it or some paths, with or without ignored files.

    ``also`` are paths of ignored files that are wanted whatever the rest says. ``touched`` is
    what the operation did that is being undone or redone: each path of it goes back to what it
    was before, wherever it is, and what the operation made goes if it is still exactly that.
    With ``files`` false no file is wanted, as for a conversation alone. ``asked`` when a person
    named the paths now: one that is nowhere is then a slip.
    """

    def __init__(
        self,
        paths: tuple[bytes, ...] = (),
        *,
        ignored: bool = False,
        also: tuple[bytes, ...] = (),
        touched: tuple[Change, ...] = (),
        files: bool = True,
        asked: bool = True,
    ) -> None:
        self.paths = paths
        self.asked_for = paths if asked else ()
        self.ignored = ignored
        self.files = files
        self.touched = {change.path: change for change in touched} if files else {}
        self._named = frozenset(paths) | frozenset(also)
        self._also = also

    def holds(self, path: bytes) -> bool:
        return self.files and (covers(self.paths, path) or path in self._named)

    def with_also(self, also: tuple[bytes, ...]) -> Scope:
        """Returns the same scope with more ignored files in it."""
        return Scope(
            self.paths,
            ignored=self.ignored,
            also=(*self._also, *also),
            touched=tuple(self.touched.values()),
            files=self.files,
            asked=bool(self.asked_for),
        )

    def puts_back(self, path: bytes) -> bool:
        """Tells whether this very ignored path goes back to what it was."""
        done = self.touched.get(path)
        return path in self._also or (done is not None and done.old is not None)

    def wants_ignored(self, path: bytes) -> bool:
        if not self.files:
            return False
        if path in self._named or self.puts_back(path):
            return True
        if self._also and covers(self._also, path):
            return True
        return self.ignored and covers(self.paths, path)
