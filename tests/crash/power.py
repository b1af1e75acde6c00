"""A power cut: what was not flushed is on the disk, or is not, or only a part of it.

``Recorder`` is told of each durable step (``durable.faults``) and of each flush, and keeps what
every file and directory held after each step. ``cut`` then says what a disk may hold if the power
fails at a moment:

    a directory   has its names as of its last flush, or as of any later step
    a file        has its bytes as of its last flush, or as of any later step; or as many zeros, or
                  the first half of them, as file systems leave behind that allocate late

each independently of all others. Names of one directory come in the order in which they were made,
as on every journaling file system; directories between which something was renamed go together, and
with the one that has the name of the second.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from takeback import durable, kernel

_NOT_OURS = (b"ledger.db", b"lock", b"waiting")
"""What is not written through ``durable``, or only ever locked."""


class Content(NamedTuple):
    """What a file or link holds."""

    kind: int
    mode: int
    data: bytes


class Names(NamedTuple):
    """What a directory holds, by the number of each node."""

    mode: int
    nodes: dict[bytes, int]


Version = Content | Names
Choose = Callable[[list[Version]], Version]
"""Takes one of the versions that a node may have, oldest first."""
Tree = dict[bytes, "Content | tuple[int, Tree]"]


class Recorder:
    """Notes what happens below some directories, step by step."""

    def __init__(self, tops: list[Path]) -> None:
        self.tops = [os.fsencode(top) for top in tops]
        self.time = 0
        self.history: dict[int, list[tuple[int, Version]]] = {}
        self.flushed: dict[int, list[int]] = {}
        self.flushed_all: list[int] = [0]
        self.together: dict[int, int] = {}
        self._here: dict[int, int] = {}
        self._above: dict[int, int] = {}
        self.roots = self._look()

    def step(self, name: str) -> None:
        """Is called before each durable step: whatever changed was done by the one before."""
        self._look()

    def flush(self, fd: int) -> None:
        self._look()
        node = self._here.get(os.fstat(fd).st_ino)
        if node is not None:
            self.flushed.setdefault(node, []).append(self.time)

    def flush_all(self, fd: int) -> bool:
        self._look()
        self.flushed_all.append(self.time)
        return True

    def _look(self) -> list[int]:
        self.time += 1
        before, self._here = self._here, {}
        above, self._above = self._above, {}
        roots = [self._note(top, before) for top in self.tops]
        for node, parent in self._above.items():
            if above.get(node, parent) != parent:
                self._bind(above[node], parent)
                self._bind(self._above.get(parent, parent), parent)
        return roots

    def _bind(self, one: int, other: int) -> None:
        """Lets two directories go together from now on, and from the beginning."""
        if self.leader(one) != self.leader(other):
            self.together[self.leader(one)] = self.leader(other)

    def leader(self, node: int) -> int:
        """Returns the node that stands for all directories that go together with this one."""
        while node in self.together:
            node = self.together[node]
        return node

    def companions(self, node: int) -> list[int]:
        """Returns a node, and the directories that go together with it."""
        if node not in self.together and node not in self.together.values():
            return [node]
        return [one for one in self.history if self.leader(one) == self.leader(node)]

    def _note(self, path: bytes, before: dict[int, int]) -> int:
        found = os.lstat(path)
        node = before.get(found.st_ino, self._here.get(found.st_ino, -1))
        if node < 0:
            node = len(self.history)
            self.history[node] = []
        self._here[found.st_ino] = node
        version = self._version(path, found, before)
        if isinstance(version, Names):
            self._above.update((child, node) for child in version.nodes.values())
        past = self.history[node]
        if not past or past[-1][1] != version:
            past.append((self.time, version))
        return node

    def _version(self, path: bytes, found: os.stat_result, before: dict[int, int]) -> Version:
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISDIR(found.st_mode):
            names = [name for name in os.listdir(path) if not name.startswith(_NOT_OURS)]
            return Names(mode, {n: self._note(path + b"/" + n, before) for n in sorted(names)})
        if stat.S_ISLNK(found.st_mode):
            return Content(stat.S_IFLNK, 0, os.readlink(path))
        with open(path, "rb") as file:
            return Content(stat.S_IFREG, mode, file.read())


@contextmanager
def recorded(tops: list[Path], *, quiet: bool) -> Iterator[Recorder]:
    """Records what is done in this process; nothing is really flushed meanwhile.

    If the machine is ``quiet``, a whole file system is flushed at once rather than many files.
    """
    recorder = Recorder(tops)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", recorder.flush)
        patch.setattr(kernel, "flush_file_system", recorder.flush_all)
        patch.setattr(kernel, "unwritten_bytes", lambda: 0 if quiet else 1 << 40)
        patch.setattr(durable, "faults", recorder)
        yield recorder
    recorder.step("the end")


class _Cut:
    """Decides for each node what is left of it."""

    def __init__(self, recorder: Recorder, time: int, choose: Choose) -> None:
        self._recorder = recorder
        self._time = time
        self._choose = choose
        self._chosen: dict[int, Version] = {}
        self._moments: dict[int, int] = {}

    def of(self, node: int) -> Version:
        if node not in self._chosen:
            self._chosen[node] = self._pick(node)
        return self._chosen[node]

    def _pick(self, node: int) -> Version:
        recorder = self._recorder
        past = [(time, one) for time, one in recorder.history[node] if time <= self._time]
        leader = recorder.leader(node)
        if leader in self._moments:
            return [one for time, one in past if time <= self._moments[leader]][-1]
        members = recorder.companions(node)
        since = max(map(self._last_flush, members))
        older = [one for time, one in past if time <= since]
        newer = [one for time, one in past if time > since]
        version = self._choose([*older[-1:], *newer] or [past[0][1]])
        if len(members) > 1:
            began = max(time for time, one in past if one == version)
            self._moments[leader] = self._time if version == past[-1][1] else max(since, began)
        return version

    def _last_flush(self, node: int) -> int:
        times = (*self._recorder.flushed.get(node, ()), *self._recorder.flushed_all)
        last: int = max(time for time in times if time <= self._time)
        return last


def cut(recorder: Recorder, time: int, choose: Choose) -> list[Tree]:
    """Returns what is below each top if the power fails after the step ``time``."""
    disk = _Cut(recorder, time, choose)

    def tree(node: int) -> Tree:
        names = disk.of(node)
        assert isinstance(names, Names)
        found: Tree = {}
        for name, child in names.nodes.items():
            version = disk.of(child)
            found[name] = (version.mode, tree(child)) if isinstance(version, Names) else version
        return found

    return [tree(root) for root in recorder.roots]


def lay(top: bytes, wanted: Tree) -> None:
    """Makes a directory hold just that; what is so already stays the same file."""
    for name in os.listdir(top):
        if name not in wanted and not name.startswith(_NOT_OURS):
            _remove(top + b"/" + name)
    for name, entry in wanted.items():
        path = top + b"/" + name
        if isinstance(entry, Content):
            _lay_file(path, entry)
            continue
        mode, below = entry
        if not os.path.isdir(path) or os.path.islink(path):
            _remove(path)
            os.mkdir(path)
        os.chmod(path, 0o700)
        lay(path, below)
        os.chmod(path, mode)


def _lay_file(path: bytes, wanted: Content) -> None:
    if os.path.lexists(path):
        found = os.lstat(path)
        if stat.S_IFMT(found.st_mode) == wanted.kind and _data(path, wanted.kind) == wanted.data:
            if wanted.kind == stat.S_IFREG and stat.S_IMODE(found.st_mode) != wanted.mode:
                os.chmod(path, wanted.mode)
            return
        _remove(path)
    if wanted.kind == stat.S_IFLNK:
        os.symlink(wanted.data, path)
        return
    with open(path, "xb") as file:
        file.write(wanted.data)
    os.chmod(path, wanted.mode)


def _data(path: bytes, kind: int) -> bytes:
    if kind == stat.S_IFLNK:
        return os.readlink(path)
    with open(path, "rb") as file:
        return file.read()


def _remove(path: bytes) -> None:
    if not os.path.lexists(path):
        return
    if os.path.isdir(path) and not os.path.islink(path):
        os.chmod(path, 0o700)
        for name in os.listdir(path):
            _remove(path + b"/" + name)
        os.rmdir(path)
    else:
        os.unlink(path)


# -- what a disk may have made of it


def least(versions: list[Version]) -> Version:
    """Nothing that was not flushed is there."""
    return versions[0]


def all_names_no_bytes(versions: list[Version]) -> Version:
    """Names are there before the bytes: files are empty, or as they were."""
    return versions[-1] if isinstance(versions[-1], Names) else versions[0]


def all_names_and_zeros(versions: list[Version]) -> Version:
    """Names and lengths are there, and no bytes."""
    last = versions[-1]
    if isinstance(last, Content) and last.kind == stat.S_IFREG and len(versions) > 1:
        return last._replace(data=bytes(len(last.data)))
    return last


def all_bytes_no_names(versions: list[Version]) -> Version:
    """Bytes are there before the names."""
    return versions[0] if isinstance(versions[-1], Names) else versions[-1]


def at_random(seed: int) -> Choose:
    chance = Random(seed)

    def choose(versions: list[Version]) -> Version:
        version = chance.choice(versions)
        if version is versions[0] or isinstance(version, Names) or version.kind != stat.S_IFREG:
            return version
        half = len(version.data) // 2
        torn = (version.data, version.data[:half], bytes(len(version.data)))
        return version._replace(data=chance.choice(torn))

    return choose


WAYS: dict[str, Choose] = {
    "least": least,
    "names first": all_names_no_bytes,
    "zeros": all_names_and_zeros,
    "bytes first": all_bytes_no_names,
}
