"""Says what a rewind must leave behind, from recordings of the tree and nothing of ours.

It knows the promises only: what the target held comes back, what it vouches for as absent
goes, what it does not vouch for stays, what cannot be saved stays where it is with all in it.
Nothing beside the scope moves, besides what makes way for a path in it. An undo brings back
every path that its operation changed, and takes away what it made, if that is untouched.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from tests.support.trees import Entry, tree_state

IGNORE_RULES = (b"*.ign", b"igndir/", b"a", b"/b", b"!keep.ign")
"""The only patterns that ``_matches`` knows; the state machine writes no others."""
SIZE_LIMIT = 128
"""Bytes; larger files are named, not captured."""


class Recording(NamedTuple):
    """The tree at one moment, what was ignored in it, and which directories hold a ``.git``.

    ``tracked`` are ignored files that the project tracks, or that the snapshot before held: they
    are held all the same, with the directories that lead to them. ``before`` is what that snapshot
    held, each path with whether it was a directory; an ignored directory that it held is not
    among ``ignored``, what is new in it is.
    """

    state: dict[bytes, Entry]
    ignored: frozenset[bytes]
    repositories: frozenset[bytes]
    tracked: frozenset[bytes]
    root_mode: int
    before: frozenset[tuple[bytes, bool]] = frozenset()
    replaced: frozenset[bytes] = frozenset()
    """Special files in ignored places, where a file is that git tracks."""

    def lasting(self) -> frozenset[tuple[bytes, bool]]:
        """Returns what later snapshots hold whatever rule appears, for as long as it is there."""
        directories = {
            (path, True)
            for path, entry in self.state.items()
            if entry.kind == "directory" and path not in self.ignored
        }
        files = {
            (path, False)
            for path, entry in self.state.items()
            if entry.kind in ("file", "link") and (self.held(path) or (path, False) in self.before)
        }
        return frozenset(directories | files)

    def held(self, path: bytes) -> bool:
        """Tells whether a snapshot of this moment holds the path."""
        entry = self.state.get(path)
        if entry is None or is_special(entry) or self.is_oversized(path):
            return False
        if path not in self.ignored or path in self.tracked:
            return True
        return any(is_below(place, path) for place in self.tracked)

    def is_saved(self, path: bytes) -> bool:
        """Tells whether the path is an ignored file that is kept beside the snapshot."""
        if path not in self.ignored or path in self.tracked or self.is_oversized(path):
            return False
        inside = any(place in self.ignored for place in ancestors(path))
        return not inside and self.state[path].kind in ("file", "link")

    def is_oversized(self, path: bytes) -> bool:
        """Tells whether a file is too large; one that git tracks in an ignored place never is."""
        entry = self.state[path]
        if path in self.tracked and any(place in self.ignored for place in ancestors(path)):
            return False
        return entry.kind == "file" and len(entry.content) > SIZE_LIMIT

    def not_held(self) -> Iterator[bytes]:
        """Yields what a snapshot of this moment names as not held; of a directory, only itself."""
        for path, entry in self.state.items():
            if any(place in self.ignored for place in ancestors(path)):
                if path in self.replaced:
                    yield path
                continue
            is_left_out = path in self.ignored and path not in self.tracked
            if is_left_out or is_special(entry) or self.is_oversized(path):
                yield path

    def vouches(self, path: bytes) -> bool:
        """Tells whether a snapshot that does not hold the path means that it was not there."""
        return not any(
            (place in self.ignored and place not in self.tracked)
            or is_special(self.state[place])
            or self.is_oversized(place)
            for place in (path, *ancestors(path))
            if place in self.state
        )

    def can_be_saved(self, path: bytes) -> bool:
        """Tells whether all in a directory can be saved: no ``.git``, no special file."""
        inside = self.inside(path)
        return not any(is_special(self.state[place]) for place in inside) and not any(
            place in self.repositories for place in (path, *inside)
        )

    def inside(self, path: bytes) -> list[bytes]:
        return [place for place in self.state if is_below(place, path)]

    def content(self) -> dict[bytes, Entry]:
        """Returns what a snapshot of this moment holds, without inodes and times."""
        return {path: plain(entry) for path, entry in self.state.items() if self.held(path)}


class Point(NamedTuple):
    """A checkpoint and what it is of. An undo snapshot may hold more than other checkpoints do."""

    id: str
    recording: Recording
    is_undo: bool = False


def record(
    root: bytes,
    tracked: Collection[bytes] = (),
    before: frozenset[tuple[bytes, bool]] = frozenset(),
) -> Recording:
    """Looks at the tree as it is now.

    ``tracked`` is what the project's index names, ``before`` what was held so far.
    """
    state = tree_state(root, identity=True)
    repositories = frozenset(
        path
        for path in (b"", *state)
        if (not path or state[path].kind == "directory")
        and os.path.lexists(os.path.join(root, path, b".git"))
    )
    by_rule = frozenset(ignored_paths(state))
    stays: set[bytes] = set()
    for path in sorted(by_rule, key=lambda p: p.split(b"/")):
        is_open = all(place in stays for place in ancestors(path) if place in by_rule)
        if state[path].kind == "directory" and (path, True) in before and is_open:
            stays.add(path)
    ignored = by_rule - stays
    kept = (
        path
        for path in ignored
        if state[path].kind in ("file", "link") and (path in tracked or (path, False) in before)
    )
    replaced = (path for path in ignored if is_special(state[path]) and path in tracked)
    root_mode = os.stat(root).st_mode & 0o7777
    return Recording(
        state, ignored, repositories, frozenset(kept), root_mode, before, frozenset(replaced)
    )


class Task(NamedTuple):
    """What is asked for: some paths (none: all). For an undo, what its operation did besides.

    ``changed`` are the paths that were there before it and were changed or removed by it,
    ``made`` those that it made, as it left them.
    """

    paths: tuple[bytes, ...] = ()
    is_step: bool = False
    changed: frozenset[bytes] = frozenset()
    made: Mapping[bytes, Entry] = {}

    def holds(self, path: bytes) -> bool:
        return not self.paths or any(path == p or is_below(path, p) for p in self.paths)

    def is_made(self, path: bytes, entry: Entry) -> bool:
        """Tells whether this is exactly what the operation made at the path."""
        return path in self.made and plain(self.made[path]) == plain(entry)


class Expected(NamedTuple):
    """The tree afterwards, without inodes and times, and the paths that are not as asked for."""

    state: dict[bytes, Entry]
    root_mode: int
    unfinished: set[bytes]


def expected(target: Recording, now: Recording, task: Task) -> Expected:
    """Returns what going to ``target`` from ``now`` must lead to."""
    wanted = _wanted(target, now, task)
    result: dict[bytes, Entry] = {}
    blocked: set[bytes] = set()
    displaced: set[bytes] = set()
    to_empty: list[bytes] = []
    unfinished: set[bytes] = set()
    for path in sorted(target.state.keys() | now.state.keys(), key=lambda p: p.split(b"/")):
        old = now.state.get(path)
        above = list(ancestors(path))
        if any(place in blocked for place in above):
            if old is not None:
                result[path] = old
            continue
        if any(place in displaced for place in above):
            old = None
        want = target.state[path] if path in wanted else None
        if want is not None:
            if old is None or _replaces(want, old):
                result[path] = _placed(want, old, _mode_above(path, result, now))
            elif not is_special(old) and now.can_be_saved(path) and _may_go(path, now, task):
                result[path] = _placed(want, None, 0)
                displaced.add(path)
            else:
                result[path] = old
                blocked.add(path)
        elif old is None:
            continue
        elif not _goes(path, target, now, task):
            result[path] = old
            if path in task.made:
                unfinished.add(path)
        elif old.kind == "directory":
            to_empty.append(path)
    for path in reversed(to_empty):
        if path in now.repositories or any(is_below(place, path) for place in result):
            result[path] = now.state[path]
            unfinished.add(path)
    root_mode = now.root_mode
    if task.holds(b""):
        root_mode = now.root_mode & 0o7000 | target.root_mode & 0o777
    state = {path: bare(entry) for path, entry in result.items()}
    unfinished |= blocked | _not_back(target, now, task)
    return Expected(state, root_mode, unfinished)


def _wanted(target: Recording, now: Recording, task: Task) -> set[bytes]:
    """Returns the paths of the target that come back, with the directories they need."""
    found = {path for path in target.state if task.holds(path) and target.held(path)}
    found |= task.changed
    found |= {path for path in task.paths if path in target.state and target.is_saved(path)}
    for path in list(found):
        for place in ancestors(path):
            entry = now.state.get(place)
            if entry is None or entry.kind != "directory":
                found.add(place)
    return found


def _goes(path: bytes, target: Recording, now: Recording, task: Task) -> bool:
    """Tells whether a path that is there now, and that nobody wants, is taken away."""
    if task.is_made(path, now.state[path]):
        return True
    if not task.holds(path) or not target.vouches(path):
        return False
    asked = path in task.paths and path not in target.state and now.is_saved(path)
    return now.held(path) or asked


def _may_go(path: bytes, now: Recording, task: Task) -> bool:
    """Tells whether all in a directory that makes way is the operation's own, or in its scope."""
    return task.holds(path) or all(
        task.holds(place) or task.is_made(place, now.state[place]) for place in now.inside(path)
    )


def _not_back(target: Recording, now: Recording, task: Task) -> set[bytes]:
    """Returns what no snapshot holds and what is therefore not as it was."""
    known = task.changed | task.made.keys()
    gone = {
        path
        for path in target.not_held()
        if task.holds(path) and not target.is_saved(path)
        if path not in now.state or target.is_oversized(path)
    }
    stays = {
        path
        for path in now.not_held()
        if task.holds(path) and path not in target.state and target.vouches(path)
        if now.is_oversized(path)
    }
    asked = {
        path
        for path in task.paths
        if not (path in target.state and (target.held(path) or target.is_saved(path)))
        and not target.vouches(path)
        and not task.is_step
    }
    return (gone | stays | asked) - known


def _mode_above(path: bytes, result: Mapping[bytes, Entry], now: Recording) -> int:
    parent = path.rpartition(b"/")[0]
    return result[parent].mode if parent else now.root_mode


def _placed(want: Entry, old: Entry | None, above: int) -> Entry:
    """Returns an entry as it is written: setuid, setgid and sticky are kept, never brought back.

    A new directory has the setgid bit of the one that it is made in, as every other there.
    """
    special = 0
    if want.kind == "directory":
        is_directory = old is not None and old.kind == "directory"
        special = old.mode & 0o7000 if old is not None and is_directory else above & 0o2000
    return want._replace(mode=want.mode & 0o777 | special)


def _replaces(want: Entry, old: Entry) -> bool:
    """One file takes the place of another, or a directory gets other permission bits."""
    if old.kind == "directory":
        return want.kind == "directory"
    return not is_special(old)


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
    return not parent or path.startswith(parent + b"/")


def ancestors(path: bytes) -> Iterator[bytes]:
    """Yields the directories above a path, the nearest first, without the root."""
    while path := path.rpartition(b"/")[0]:
        yield path


def bare(entry: Entry) -> Entry:
    """Returns an entry without inode and time; a link has no permission bits of its own."""
    mode = 0 if entry.kind == "link" else entry.mode
    return entry._replace(inode=0, mtime_ns=0, mode=mode)


def plain(entry: Entry) -> Entry:
    """Returns an entry as snapshots have it: bare, and without setuid, setgid and sticky."""
    entry = bare(entry)
    return entry._replace(mode=entry.mode & 0o777)
