"""The stat cache: which bytes a file had when it was last read. Disposable, always.

        stat/table    all directories, and what they were made from       (``table``)
        stat/log      what has changed since, one frame for each capture

A capture appends what it learnt to the log. Once that is long, all is written into a new table; the
log goes just before it takes its place. So what is on disk at any moment is what some capture knew:
less than the last one if it was killed, and then files are looked at again. A log that is damaged,
or of another table, makes all of it void. Nothing is flushed: the worst that a power loss can leave
is a cache that cannot be used, which costs one full read of the workspace.
"""

from __future__ import annotations

import marshal
import os
from struct import Struct
from zlib import crc32

from takeback import durable
from takeback.ordinary import ordinary
from takeback.worktree.directory import NEVER_TRUSTED
from takeback.worktree.known import Known
from takeback.worktree.record import CacheDamaged
from takeback.worktree.table import Table, encoded, new_token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.worktree.known import Logged

_TABLE, _LOG = "table", "log"
_FRAME = Struct("=8sII")
_LEAST_LOG = 1 << 16
_SHARE_OF_TABLE = 16
"""The longest log: the longer, the more there is to load at each capture; the shorter, the more
often a table is written."""


class CacheHeader:
    """What the cache was made from; if any of it differs, some or all of the cache is void."""

    __slots__ = (
        "epoch",
        "ignored_directories",
        "index",
        "inside",
        "read_at",
        "rules",
        "token",
        "tree",
        "unsaved",
    )

    def __init__(self) -> None:
        self.epoch = -1
        self.rules = b""
        self.token = b""
        """Another one with each save: a watch knows by it whether it goes with this cache."""
        self.tree = b""
        self.unsaved: list[bytes] = []
        self.read_at = 0
        self.index: dict[bytes, tuple[int, ...]] = {}
        self.ignored_directories: list[bytes] = []
        self.inside: list[tuple[bytes, bytes, int, bytes]] = []

    def encoded(self) -> dict[str, bytes]:
        """Returns each part as bytes, which are the same as long as the part is."""
        return {slot: marshal.dumps(getattr(self, slot), 2) for slot in self.__slots__}

    def take(self, parts: dict[str, bytes]) -> None:
        """Reads what ``encoded`` returned, or some parts of it."""
        for slot, part in parts.items():
            setattr(self, slot, marshal.loads(part))


class StatCache:
    """All known directories, and what they were made from."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.header = CacheHeader()
        self.known = Known()
        self._parts: dict[str, bytes] = {}
        """The header as it is on disk."""
        self._table: Table | None = None
        self._log_size = 0
        self._may_append = False

    @classmethod
    def load(cls, directory: str) -> StatCache:
        """Reads the cache; returns an empty one if there is none or it cannot be read."""
        for _ in range(2):  # without the lock, a new table may come between the two files
            self = cls(directory)
            try:
                self._load()
            except FileNotFoundError:
                break
            except (OSError, ValueError, EOFError, TypeError, AttributeError):
                continue
            return self
        return cls(directory)

    @staticmethod
    def is_in(directory: str) -> bool:
        """Tells whether there is one, of whatever use."""
        return os.path.exists(os.path.join(directory, _TABLE))

    def _load(self) -> None:
        table = Table(os.path.join(self.directory, _TABLE))
        files, parts = marshal.loads(table.head)
        logged: dict[bytes, Logged] = {}
        log = self._read_log()
        at = 0
        while at + _FRAME.size <= len(log):
            token, length, checksum = _FRAME.unpack_from(log, at)
            if token != table.token:
                raise CacheDamaged("the log of the stat cache is of another table")
            start, end = at + _FRAME.size, at + _FRAME.size + length
            if end > len(log):  # whoever wrote it was killed, or the disk was full
                break
            frame = log[start:end]
            if crc32(frame) != checksum:
                raise CacheDamaged("the log of the stat cache is not as it was written")
            files, changed_parts, changed = marshal.loads(frame)
            parts.update(changed_parts)
            logged.update(changed)
            at = end
        self.header.take(parts)
        self.known = Known(table, logged, files=files)
        self._table, self._parts, self._log_size = table, parts, at
        self._may_append = at == len(log)

    def _read_log(self) -> bytes:
        try:
            with open(os.path.join(self.directory, _LOG), "rb", opener=ordinary) as file:
                return file.read()
        except FileNotFoundError:
            return b""

    @property
    def is_worth_its_blocks(self) -> bool:
        """False for a new one of an empty workspace, which has nothing to say."""
        return self._table is not None or not self.known.is_bare()

    def doubt(self) -> None:
        """Stops trusting any file's cached bytes; which paths were held stays known."""
        self.known = self.known.doubted()
        self._may_append = False
        self.header.inside = [
            (path, NEVER_TRUSTED if mark else b"", mode, oid)
            for path, mark, mode, oid in self.header.inside
        ]

    def save(self, changed: set[bytes] | None) -> None:
        """Writes what is known of the ``changed`` paths (None: of all)."""
        durable.make_directories(self.directory)
        self.header.token = new_token()
        if changed is not None and self._append(changed):
            return
        try:
            self._write_table()
        except CacheDamaged:  # what was not looked at cannot be taken over: all is void
            self._remove(_TABLE)

    def _append(self, changed: set[bytes]) -> bool:
        """Adds a frame to the log; False if there must be a new table instead."""
        if self._table is None or not self._may_append:
            return False
        parts = dict(self.header.encoded().items() - self._parts.items())
        frame = marshal.dumps((self.known.file_count(), parts, self.known.logged(changed)))
        data = _FRAME.pack(self._table.token, len(frame), crc32(frame)) + frame
        size = self._log_size + len(data)
        if size > max(_LEAST_LOG, self._table.size // _SHARE_OF_TABLE):
            return False
        try:
            if durable.append(os.path.join(self.directory, _LOG), data) != size:
                return False  # the disk is full
        except OSError:  # nothing that can be written to is where the log should be
            return False
        self._log_size = size
        self._parts.update(parts)
        return True

    def _write_table(self) -> None:
        self._may_append = False  # the new table has other numbers than those that we know
        for name in os.listdir(self.directory):
            if name not in (_TABLE, _LOG):  # of an older version, or left by a killed process
                self._remove(name)
        head = marshal.dumps((self.known.file_count(), self.header.encoded()))
        durable.replace_file(
            os.path.join(self.directory, _TABLE),
            encoded(self.known.records(), head, new_token()),
            flush=False,
            check=lambda: self._remove(_LOG),
        )

    def _remove(self, name: str) -> None:
        try:
            durable.unlink(os.path.join(self.directory, name))
        except FileNotFoundError:
            pass
