"""Scope: what is wanted of a goal."""

from __future__ import annotations

from takeback.model.path_text import covers
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.model.change import Change


class Scope(Value):
    """What is wanted of the goal: all of it or some paths, with or without ignored files.

    ``also`` are paths of ignored files that are wanted whatever the rest says. ``touched`` is what
    the operation that is being undone or redone did, by path: each path goes back to what it was
    before, wherever it is, and what the operation made is removed if it is still exactly that. With
    ``files`` false no file is wanted, as for a conversation alone. ``asked`` if a person has just
    named the paths: one that is nowhere is then a typo.
    """

    paths: tuple[bytes, ...] = ()
    ignored: bool = False
    also: frozenset[bytes] = frozenset()
    touched: Mapping[bytes, Change] = {}
    files: bool = True
    asked: bool = True

    @property
    def asked_for(self) -> tuple[bytes, ...]:
        """Returns the paths that a person named."""
        return self.paths if self.asked else ()

    def holds(self, path: bytes) -> bool:
        return self.files and (covers(self.paths, path) or path in self.also)

    def puts_back(self, path: bytes) -> bool:
        """Tells whether this very ignored path goes back to what it was."""
        done = self.touched.get(path)
        return path in self.also or (done is not None and done.old is not None)

    def wants_ignored(self, path: bytes) -> bool:
        if not self.files:
            return False
        if path in self.paths or self.puts_back(path):
            return True
        if self.also and covers(tuple(self.also), path):
            return True
        return self.ignored and covers(self.paths, path)
