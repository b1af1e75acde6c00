"""Units: the smallest steps of a rewind, each of them all or nothing.

        old      new      what happens
        -        file     staged beside its place, renamed into it if the name is free
        file     file     staged, exchanged with the old one, which is checked, then removed
        file     dir      the whole new directory is staged, then exchanged
        dir      file     exchanged; everything in the old directory is checked, then removed
        dir      dir      only the permission bits change
        file     -        renamed aside, checked, removed
        dir      -        removed if it is empty by then

"file" stands for symbolic links too. ``inside_new`` and ``inside_old`` list the contents of a
directory that appears or goes as a whole, by path relative to it, parents first.
"""

from __future__ import annotations

from takeback.durable import scratch_name
from takeback.model.path_text import is_inside_git, to_bytes, to_text
from takeback.model.snapshot import Entry, decode_entry, encode_entry
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from takeback.model.change import Change

Inside = tuple[tuple[bytes, Entry], ...]
_ASIDE = 1 << 32
_BACKWARD = 1 << 33
_LEAVING = 1 << 34


class Scratch(Value):
    """The temporary names of one unit, all of them beside its place.

    ``temporary`` is the new version before the exchange, and the old one after it; ``aside`` the
    old one if names cannot be exchanged. ``leaving`` is a directory of ours through which the files
    of a displaced directory are removed, one by one: if it exists, that has begun.
    """

    temporary: bytes
    aside: bytes
    leaving: bytes


class Unit(Value):
    """One path and what becomes of it. ``number`` names its temporary file."""

    number: int
    path: bytes
    old: Entry | None
    new: Entry | None
    inside_old: Inside = ()
    inside_new: Inside = ()

    @property
    def parent(self) -> bytes:
        return self.path.rpartition(b"/")[0]

    @property
    def name(self) -> bytes:
        return self.path.rpartition(b"/")[2]

    @property
    def only_mode(self) -> bool:
        """Both are directories: the place stays, its permission bits change."""
        return (
            self.old is not None
            and self.new is not None
            and self.old.is_directory
            and self.new.is_directory
        )

    @property
    def staged(self) -> bool:
        return self.new is not None and not self.only_mode

    @property
    def makes_way(self) -> bool:
        """A directory gives its place to a file or link."""
        return self.staged and self.old is not None and self.old.is_directory

    def scratch(self, token: str) -> Scratch:
        """Returns the unit's temporary names in the operation ``token``."""
        numbers = (self.number, self.number + _ASIDE, self.number + _LEAVING)
        return Scratch(*(scratch_name(token, number) for number in numbers))

    def reversed(self) -> Unit:
        """Returns the unit that takes this one back; it has a different temporary name."""
        number = self.number + _BACKWARD
        return Unit(number, self.path, self.new, self.old, self.inside_new, self.inside_old)


def make_units(
    writes: Iterable[Change],
    deletes: Iterable[Change],
    displaced: Mapping[bytes, Inside],
) -> list[Unit]:
    """Groups changes into units. ``displaced`` is what is in each directory that makes way."""
    units: list[Unit] = []
    tops: dict[bytes, tuple[Change, list[tuple[bytes, Entry]]]] = {}
    top: bytes | None = None
    for change in sorted(writes, key=lambda c: _in_tree_order(c.path)):
        if top is not None and change.new is not None and change.path.startswith(top + b"/"):
            tops[top][1].append((change.path[len(top) + 1 :], change.new))
            continue
        was_directory = change.old is not None and change.old.is_directory
        if change.new is not None and change.new.is_directory and not was_directory:
            top = change.path
            tops[top] = (change, [])
            continue
        inside = displaced.get(change.path, ())
        units.append(Unit(0, change.path, change.old, change.new, inside_old=inside))
    for path, (change, inside_new) in tops.items():
        units.append(Unit(0, path, change.old, change.new, inside_new=tuple(inside_new)))
    units.extend(
        Unit(0, change.path, change.old, None) for change in _not_below(displaced, deletes)
    )
    units.sort(key=lambda unit: unit.path)
    return [unit.replace(number=number) for number, unit in enumerate(units)]


def _in_tree_order(path: bytes) -> bytes:
    """Returns a key that puts what is in a directory right after it, before ``directory.x``."""
    return path.replace(b"/", b"\0")


def _not_below(tops: Iterable[bytes], changes: Iterable[Change]) -> Iterator[Change]:
    """Yields the changes that are in none of the directories ``tops``."""
    keyed: list[tuple[bytes, Change | None]] = [
        (_in_tree_order(path + b"/"), None) for path in tops
    ]
    keyed.extend((_in_tree_order(change.path), change) for change in changes)
    top: bytes | None = None
    for key, change in sorted(keyed, key=lambda pair: pair[0]):
        if change is None:
            top = key
        elif top is None or not key.startswith(top):
            yield change


def encode(unit: Unit) -> dict[str, Any]:
    """Returns the JSON form that the journal keeps."""
    return {
        "number": unit.number,
        "path": to_text(unit.path),
        "old": encode_entry(unit.old),
        "new": encode_entry(unit.new),
        "inside_old": [[to_text(p), encode_entry(e)] for p, e in unit.inside_old],
        "inside_new": [[to_text(p), encode_entry(e)] for p, e in unit.inside_new],
    }


def decode(record: dict[str, Any]) -> Unit:
    """Reads ``encode``'s form; anything else raises a LookupError, TypeError, ValueError or
    AttributeError, whichever comes first."""
    path = _plain(to_bytes(record["path"]))
    if is_inside_git(path):
        raise ValueError("a journal names .git, which no operation touches")
    return Unit(
        number=int(record["number"]),
        path=path,
        old=decode_entry(record["old"]),
        new=decode_entry(record["new"]),
        inside_old=_decode_inside(record["inside_old"]),
        inside_new=_decode_inside(record["inside_new"]),
    )


def _decode_inside(rows: list[Any]) -> Inside:
    found = []
    for path, value in rows:
        entry = decode_entry(value)
        if entry is None:
            raise ValueError("an entry without content")
        found.append((_plain(to_bytes(path)), entry))
    return tuple(found)


def _plain(path: bytes) -> bytes:
    """Returns a path that leads down; raises ValueError for any other."""
    if any(name in (b"", b".", b"..") for name in path.split(b"/")):
        raise ValueError(f"not a path of a workspace: {path!r}")
    return path
