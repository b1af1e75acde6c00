"""A secret that is purged from a store: its paths, its contents, and the texts that quote it."""

from __future__ import annotations

from takeback.model.needles import Needles
from takeback.model.value import Value

NO_NEEDLES = Needles(())


class Secret(Value):
    """What is to go.

    ``paths`` go whatever they hold, ``contents`` (object ids) wherever they are. ``needles`` are
    blanked in what people and models said.
    """

    paths: frozenset[bytes] = frozenset()
    contents: frozenset[bytes] = frozenset()
    needles: Needles = NO_NEEDLES

    def is_at(self, path: bytes, oid: bytes) -> bool:
        """Tells whether a file of the workspace goes."""
        return path in self.paths or oid in self.contents


NOTHING = Secret()
