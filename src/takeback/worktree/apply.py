"""Carries out units on the user's files, each of them all or nothing."""

from __future__ import annotations

import errno
import os
from stat import S_IFMT

from takeback import durable, kernel
from takeback.durable import scratch_name
from takeback.errors import StoreDamaged
from takeback.model.checkpoint import Entry, decode_entry, encode_entry
from takeback.model.operation import LeftAlone
from takeback.model.path_text import is_inside_git, to_bytes, to_text
from takeback.model.value import Value
from takeback.worktree import place as ondisk
from takeback.worktree.place import OpenDirectories
from takeback.worktree.removal import put_back, remove_tree, rename_to_free_name, unlink_exactly
from takeback.worktree.replacement import FATAL, Replacement
from takeback.worktree.resume import (
    CHANGED,
    DONE,
    KEPT_BESIDE,
    SAVED_MEANWHILE,
    TO_DO,
    TWO_VERSIONS,
    resume,
)
from takeback.worktree.stage import flush_staged, stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from takeback.model.checkpoint import Change
    from takeback.ports import Reporter
    from takeback.worktree.stage import BlobSource


# -- changes the permission bits of one directory


MODE_SET = "set"
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def set_directory_mode(parent_fd: int, unit: Unit) -> str | None:
    """Returns MODE_SET, None if the bits are right already, or why they are left alone.

    The root of the workspace has no name: it is the directory that is given.
    """
    assert unit.new is not None
    assert unit.old is not None
    fd = _opened(parent_fd, unit.name or b".")
    try:
        present = os.fstat(fd).st_mode & 0o777
        if present == unit.new.mode & 0o777:
            return None
        if present != unit.old.mode & 0o777:
            return CHANGED
        durable.chmod(fd, unit.new.mode)
        return MODE_SET
    finally:
        os.close(fd)


def _opened(parent_fd: int, name: bytes) -> int:
    """Opens a directory; if its bits forbid that, as a mere path, which is enough to set them."""
    try:
        return os.open(name, _FLAGS, dir_fd=parent_fd)
    except PermissionError:
        if not hasattr(os, "O_PATH"):
            raise
        flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, dir_fd=parent_fd)


# -- units: the smallest steps of a rewind, each of them all or nothing
#
#         old      new      what happens
#         -        file     staged beside its place, renamed into it if the name is free
#         file     file     staged, exchanged with the old one, which is checked, then removed
#         file     dir      the whole new directory is staged, then exchanged
#         dir      file     exchanged; everything in the old directory is checked, then removed
#         dir      dir      only the permission bits change
#         file     -        renamed aside, checked, removed
#         dir      -        removed if it is empty by then
#
# "file" stands for symbolic links too. ``inside_new`` and ``inside_old`` list the contents of a
# directory that appears or goes as a whole, by path relative to it, parents first.


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


# -- carries out units on the user's files
#
#         stage     every new version is written beside its place, nothing is changed yet
#         swap      one exchange per path; the displaced version is checked, then removed:
#                   replacement.py
#         clear     deletions: renamed aside, checked, removed; directories if empty
#         finish    permission bits of directories, flush
#
# At every instant each path is its old or its new version. A displaced file belongs to the user
# until it has been compared with the undo snapshot; if it differs from what was saved (because of
# an edit in between), it is put back and the path is reported.
#
# After a kill the same units are run again with ``recovering``; resume.py says how to tell how far
# each one got.


_OFTEN = 64
"""After how many files the user is told how far it got."""


class Applied(Value):
    """What was done, by path."""

    written: tuple[bytes, ...]
    deleted: tuple[bytes, ...]
    left_alone: tuple[LeftAlone, ...]
    directories: tuple[bytes, ...] = ()


class Apply:
    """One run over the units of an operation. ``token`` makes the temporary names unique to it."""

    def __init__(
        self,
        root_fd: int,
        units: Sequence[Unit],
        token: str,
        blobs: BlobSource,
        reporter: Reporter,
    ) -> None:
        self._root_fd = root_fd
        self._units = units
        self._token = token
        self._blobs = blobs
        self._reporter = reporter
        self._open = OpenDirectories(root_fd)
        self._written: list[bytes] = []
        self._deleted: list[bytes] = []
        self._left: dict[bytes, str] = {}
        self._directories: list[bytes] = []
        self._ours: set[tuple[int, int]] = set()
        files = sum(1 + len(unit.inside_new) for unit in units)
        self._is_at_once = files > 1 and kernel.is_quiet(files)
        self.changed_nothing = True
        """Only temporary files have been written so far: the operation can simply be dropped."""

    def run(self, *, recovering: bool = False) -> Applied:
        """Does all of it. An OSError from here means that the disk failed: recover later."""
        try:
            self._open_up()
            if recovering:
                self.changed_nothing = False
                pending = [unit for unit in self._units if self._resume(unit)]
            else:
                pending = list(self._units)
            ready = self._stage_all([unit for unit in pending if unit.staged])
            self.changed_nothing = False
            for number, unit in enumerate(ready):
                self._guarded(unit, self._swap)
                self._progress("putting files in place", number, len(ready))
            self._clear([unit for unit in pending if unit.new is None])
            for unit in reversed(self._units):
                if unit.only_mode:
                    self._guarded(unit, self._set_mode)
            self._flush()
        finally:
            self._open.close()
        return Applied(
            tuple(sorted(self._written)),
            tuple(sorted(self._deleted)),
            self._named(),
            tuple(sorted(self._directories)),
        )

    def settle(self) -> tuple[LeftAlone, ...]:
        """Moves what a killed run left under temporary names to where it belongs, nothing more.

        Returns what had to stay under a temporary name.
        """
        try:
            for unit in self._units:
                self._resume(unit)
        finally:
            self._open.close()
        return tuple(item for item in self._named() if item.reason in KEPT_BESIDE)

    def _named(self) -> tuple[LeftAlone, ...]:
        return tuple(LeftAlone(path, reason) for path, reason in sorted(self._left.items()))

    def discard_staged(self) -> None:
        """Removes temporary files after a failure before the first swap; never raises."""
        for unit in self._units:
            try:
                fd = self._open[unit.parent]
                if unit.staged:
                    remove_tree(fd, unit.scratch(self._token).temporary)
            except OSError:
                continue
        self._open.close()

    # -- staging

    def _stage_all(self, units: Sequence[Unit]) -> list[Unit]:
        ready = []
        for number, unit in enumerate(units):
            if self._guarded(unit, self._stage):
                ready.append(unit)
            self._progress("writing files", number, len(units))
        if self._is_at_once and not durable.flush_file_system(self._root_fd):
            # sync(2) would do it too, but does not report what the disk failed to take
            ready = [unit for unit in ready if self._guarded(unit, self._flush_staged)]
        return ready

    def _flush_staged(self, unit: Unit) -> None:
        flush_staged(self._open[unit.parent], unit.scratch(self._token).temporary, unit)

    def _stage(self, unit: Unit) -> None:
        fd, temporary = self._open[unit.parent], unit.scratch(self._token).temporary
        try:
            stage(fd, temporary, unit, self._blobs, flush=not self._is_at_once)
        except (OSError, StoreDamaged):
            try:
                remove_tree(fd, temporary)
            except OSError:
                pass  # recovery removes it
            raise

    # -- swapping

    def _swap(self, unit: Unit) -> None:
        fd = self._open[unit.parent]
        done = Replacement(fd, unit, unit.scratch(self._token), self._blobs).run()
        if done.written:
            self._record_written(unit, fd)
        if done.reason is not None:
            self._left[unit.path] = done.reason
        self._name_kept(unit, done.kept)

    def _name_kept(self, unit: Unit, kept: Iterable[bytes]) -> None:
        prefix = unit.parent + b"/" if unit.parent else b""
        self._left.update((prefix + path, SAVED_MEANWHILE) for path in kept)

    def _record_written(self, unit: Unit, fd: int) -> None:
        inside = [(unit.path + b"/" + path, entry) for path, entry in unit.inside_new]
        for path, entry in [(unit.path, unit.new), *inside]:
            self._written.append(path)
            if entry is not None and entry.is_directory:
                self._directories.append(path)
        self._deleted.extend(
            unit.path + b"/" + path for path, entry in unit.inside_old if not entry.is_directory
        )
        found = ondisk.status(fd, unit.name)
        if found is not None:
            self._ours.add((found.st_dev, found.st_ino))

    # -- deleting

    def _clear(self, units: Sequence[Unit]) -> None:
        files = [unit for unit in units if unit.old is not None and not unit.old.is_directory]
        for unit in files:
            self._guarded(unit, self._delete)
        for unit in reversed(units):
            if unit.old is not None and unit.old.is_directory:
                self._guarded(unit, self._remove_directory)

    def _delete(self, unit: Unit) -> None:
        fd, temporary = self._open[unit.parent], unit.scratch(self._token).temporary
        found = ondisk.status(fd, unit.name)
        if found is None:
            self._deleted.append(unit.path)
            return
        if (found.st_dev, found.st_ino) in self._ours:
            return  # names fold here: this is the file that was just written
        if unit.old is None or S_IFMT(found.st_mode) != S_IFMT(unit.old.mode):
            self._left[unit.path] = CHANGED
            return
        durable.rename(unit.name, temporary, dir_fd=fd)
        try:
            if unlink_exactly(fd, temporary, unit.old):
                self._deleted.append(unit.path)
                return
        except OSError:
            rename_to_free_name(temporary, unit.name, dir_fd=fd)
            raise
        back = put_back(temporary, unit.name, dir_fd=fd, to_fd=fd)
        self._left[unit.path] = CHANGED if back else TWO_VERSIONS

    def _remove_directory(self, unit: Unit) -> None:
        fd = self._open[unit.parent]
        if ondisk.status(fd, unit.name) is None:
            self._deleted.append(unit.path)
            self._directories.append(unit.path)
            return
        self._open.forget(unit.path)
        try:
            durable.rmdir(unit.name, dir_fd=fd)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            self._left[unit.path] = "not empty: it holds what the target does not know"
        else:
            self._deleted.append(unit.path)
            self._directories.append(unit.path)

    # -- permission bits of directories

    def _open_up(self) -> None:
        """First sets the bits of directories that the present ones would keep us out of."""
        for unit in self._units:
            if not unit.only_mode or unit.old is None or unit.new is None:
                continue
            if unit.old.mode & 0o300 != 0o300 and unit.new.mode & 0o300 == 0o300:
                self.changed_nothing = False
                self._guarded(unit, self._set_mode)

    def _set_mode(self, unit: Unit) -> None:
        outcome = set_directory_mode(self._open[unit.parent], unit)
        if outcome == MODE_SET:
            self._written.append(unit.path)
            self._directories.append(unit.path)
        elif outcome is not None:
            self._left[unit.path] = outcome

    def _resume(self, unit: Unit) -> bool:
        """Settles what a killed run left of one unit; True if the unit still has to be done."""
        if unit.only_mode:
            return True
        outcome = TO_DO

        def settle(unit: Unit) -> None:
            nonlocal outcome
            try:
                fd = self._open[unit.parent]
            except (FileNotFoundError, NotADirectoryError):
                if unit.new is not None:
                    raise
                outcome = DONE  # the directory that it was deleted from is gone too
                return
            resumed = resume(fd, unit, unit.scratch(self._token), self._blobs)
            outcome = resumed.outcome
            self._name_kept(unit, resumed.kept)
            if outcome == DONE and unit.staged:
                self._record_written(unit, fd)

        if not self._guarded(unit, settle):
            return False
        if outcome not in (TO_DO, DONE):
            self._left[unit.path] = outcome
        if outcome == DONE and unit.new is None:
            self._deleted.append(unit.path)
        return outcome == TO_DO

    # -- the small things

    def _guarded(self, unit: Unit, action: Callable[[Unit], None]) -> bool:
        """Runs one action; an error that concerns only this path is noted and the rest goes on."""
        try:
            action(unit)
        except StoreDamaged as error:
            self._left[unit.path] = f"cannot be restored: {error.message}"
            return False
        except OSError as error:
            if error.errno in FATAL:
                raise
            self._left[unit.path] = os.strerror(error.errno or 0).lower()
            return False
        return True

    def _flush(self) -> None:
        # the bits of a directory are its own, not those of the one that has its name
        places = {unit.path if unit.only_mode else unit.parent for unit in self._units}
        quick = len(places) > 1 and kernel.is_quiet(len(places))
        if quick and durable.flush_file_system(self._root_fd):
            return
        for place in places:
            try:
                durable.sync(self._open[place])
            except OSError as error:
                if error.errno in FATAL:
                    raise
                continue  # the directory went too, or is another one now

    def _progress(self, what: str, number: int, total: int) -> None:
        if number % _OFTEN == 0:
            self._reporter.progress(what, number, total)
