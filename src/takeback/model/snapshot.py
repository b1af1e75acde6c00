"""What a snapshot records of one path: its type, its full permission bits, its content."""

from __future__ import annotations

from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = 0o100000
LINK = 0o120000
DIRECTORY = 0o040000
_TYPE = 0o170000
SANDBOX = frozenset((b".agents", b".aws", b".codex"))
"""What Codex makes and removes around each command. If empty, they are left out of a snapshot."""


class Entry(Value):
    """One path of a snapshot. ``mode`` is type and permission bits, ``oid`` names the bytes.

    A symbolic link has no permission bits of its own (its mode is exactly ``LINK``), and its
    bytes are its target. A directory's ``oid`` is the tree below it.
    """

    mode: int
    oid: bytes

    @property
    def is_directory(self) -> bool:
        return self.mode & _TYPE == DIRECTORY

    @property
    def is_link(self) -> bool:
        return self.mode & _TYPE == LINK

    @property
    def is_file(self) -> bool:
        return self.mode & _TYPE == FILE


def entry_mode(st_mode: int) -> int:
    """Returns the mode kept for a file, link or directory: setuid, setgid, sticky dropped."""
    kind = st_mode & _TYPE
    return LINK if kind == LINK else kind | (st_mode & 0o777)


def encode_entry(entry: Entry | None) -> list[Any] | None:
    """Returns the JSON form that records keep; None stands for "not there"."""
    return None if entry is None else [entry.mode, entry.oid.hex()]


def decode_entry(value: list[Any] | None) -> Entry | None:
    """Reads ``encode_entry``'s form; raises LookupError, TypeError or ValueError for others."""
    return None if value is None else Entry(int(value[0]), bytes.fromhex(value[1]))
