"""Says what a rewind must leave behind, from two recordings of the tree and nothing of ours.

It knows the promises only: what the target held comes back, what it vouches for as absent
goes, what it does not vouch for stays, what cannot be saved stays where it is with all in it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import NamedTuple

from tests.support.trees import Entry, tree_state

IGNORE_RULES = (b"*.ign", b"igndir/", b"a", b"/b", b"!keep.ign")
"""The only patterns that ``_matches`` knows; the state machine writes no others."""


class Recording(NamedTuple):
    """The tree at one moment, what was ignored in it, and which directories hold a ``.git``.

    ``tracked`` are ignored files that the project tracks: they are held all the same, with the
    directories that lead to them.
    """

    state: dict[bytes, Entry]
    ignored: frozenset[bytes]
    repositories: frozenset[bytes]
    tracked: frozenset[bytes]

    def held(self, path: bytes) -> bool:
        """Tells whether a snapshot of this moment holds the path."""
        entry = self.state.get(path)
        if entry is None or is_special(entry):
            return False
        if path not in self.ignored or path in self.tracked:
            return True
        return any(is_below(place, path) for place in self.tracked)

    def vouches(self, path: bytes) -> bool:
        """Tells whether a snapshot that does not hold the path means that it was not there."""
        return not any(
            (place in self.ignored and place not in self.tracked) or is_special(self.state[place])
            for place in (path, *ancestors(path))
            if place in self.state
        )

    def can_be_saved(self, path: bytes) -> bool:
        """Tells whether all in a directory can be saved: no ``.git``, no special file."""
        inside = [place for place in self.state if is_below(place, path)]
        return not any(is_special(self.state[place]) for place in inside) and not any(
            place in self.repositories for place in (path, *inside)
        )

    def content(self) -> dict[bytes, Entry]:
        """Returns what a snapshot of this moment holds, without inodes and times."""
        return {path: bare(entry) for path, entry in self.state.items() if self.held(path)}


def record(root: bytes, tracked: Collection[bytes] = ()) -> Recording:
    """Looks at the tree as it is now; ``tracked`` is what the project's index names."""
    state = tree_state(root, identity=True)
    repositories = frozenset(
        path
        for path in (b"", *state)
        if (not path or state[path].kind == "directory")
        and os.path.lexists(os.path.join(root, path, b".git"))
    )
    ignored = frozenset(ignored_paths(state))
    kept = (path for path in ignored if path in tracked and state[path].kind in ("file", "link"))
    return Recording(state, ignored, repositories, frozenset(kept))


def expected(
    target: Recording, now: Recording, wanted: Collection[bytes] = ()
) -> dict[bytes, Entry]:
    """Returns the tree after going to ``target`` from ``now``, without inodes and times.

    ``wanted`` are ignored paths of the target that come back all the same: those that the
    operation which is undone had replaced or removed.
    """
    wanted = _with_missing_parents(wanted, now)
    result: dict[bytes, Entry] = {}
    blocked: set[bytes] = set()
    displaced: set[bytes] = set()
    to_empty: list[bytes] = []
    for path in sorted(target.state.keys() | now.state.keys(), key=lambda p: p.split(b"/")):
        old = now.state.get(path)
        above = list(ancestors(path))
        if any(place in blocked for place in above):
            if old is not None:
                result[path] = old
            continue
        if any(place in displaced for place in above):
            old = None
        want = target.state[path] if target.held(path) or path in wanted else None
        if want is not None:
            if old is None or _replaces(want, old):
                result[path] = want
            elif not is_special(old) and now.can_be_saved(path):
                result[path] = want
                displaced.add(path)
            else:
                result[path] = old
                blocked.add(path)
        elif old is None:
            continue
        elif not now.held(path) or not target.vouches(path):
            result[path] = old
        elif old.kind == "directory":
            to_empty.append(path)
    for path in reversed(to_empty):
        if path in now.repositories or any(is_below(place, path) for place in result):
            result[path] = now.state[path]
    return {path: bare(entry) for path, entry in result.items()}


def _replaces(want: Entry, old: Entry) -> bool:
    """One file takes the place of another, or a directory gets other permission bits."""
    if old.kind == "directory":
        return want.kind == "directory"
    return not is_special(old)


def _with_missing_parents(wanted: Collection[bytes], now: Recording) -> set[bytes]:
    found = set(wanted)
    for path in wanted:
        for place in ancestors(path):
            entry = now.state.get(place)
            if entry is None or entry.kind != "directory":
                found.add(place)
    return found


def ignored_paths(state: dict[bytes, Entry]) -> Iterator[bytes]:
    """Yields every path that git ignores, and all below it."""
    found: set[bytes] = set()
    for path in sorted(state, key=lambda p: p.split(b"/")):
        if any(place in found for place in ancestors(path)) or _ignored_itself(state, path):
            found.add(path)
            yield path


def _ignored_itself(state: dict[bytes, Entry], path: bytes) -> bool:
    name = path.rpartition(b"/")[2]
    for parent in (*ancestors(path), b""):
        rules = state.get(os.path.join(parent, b".gitignore"))
        if rules is None or rules.kind != "file":
            continue
        for pattern in reversed(rules.content.split(b"\n")):
            here = path == os.path.join(parent, name)
            if _matches(pattern.removeprefix(b"!"), name, state[path].kind, here=here):
                return not pattern.startswith(b"!")
    return False


def _matches(pattern: bytes, name: bytes, kind: str, *, here: bool) -> bool:
    if pattern == b"*.ign":
        return name.endswith(b".ign")
    if pattern == b"igndir/":
        return name == b"igndir" and kind == "directory"
    if pattern.startswith(b"/"):
        return here and name == pattern[1:]
    return bool(pattern) and name == pattern


def is_special(entry: Entry) -> bool:
    return entry.kind not in ("file", "link", "directory")


def is_below(path: bytes, parent: bytes) -> bool:
    return path.startswith(parent + b"/")


def ancestors(path: bytes) -> Iterator[bytes]:
    """Yields the directories above a path, the nearest first, without the root."""
    while path := path.rpartition(b"/")[0]:
        yield path


def bare(entry: Entry) -> Entry:
    """Returns an entry without inode and time; a link has no permission bits of its own."""
    mode = 0 if entry.kind == "link" else entry.mode
    return entry._replace(inode=0, mtime_ns=0, mode=mode)
