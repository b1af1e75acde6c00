"""The stat cache: which bytes a file had when it was last read. Disposable, always.

        stat/manifest          what it was made from, the list of shards
        stat/<generation>-<n>  some directories each

Only shards with a changed directory are written again; renaming the manifest switches from one
generation to the next. Nothing is flushed: the worst that a power loss can leave is a cache that
does not load, which costs one full read of the workspace.
"""

from __future__ import annotations

import gc
import marshal
import os

from takeback import durable
from takeback.c_modules import bisect_right
from takeback.ordinary import ordinary
from takeback.worktree.directory import NEVER_TRUSTED, OIDS, PATH
from takeback.worktree.known import Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.worktree.directory import Row

_VERSION = 2
_SHARD_FILES = 1000
"""The fewer, the less is written again for a few changes, and the more files are there to load."""


class CacheHeader:
    """What the cache was made from; if any of it differs, some or all of the cache is void."""

    __slots__ = (
        "epoch",
        "ignored_directories",
        "index",
        "inside",
        "read_at",
        "rules",
        "tree",
        "unsaved",
    )

    def __init__(self) -> None:
        self.epoch = -1
        self.rules = b""
        self.tree = b""
        self.unsaved: list[bytes] = []
        self.read_at = 0
        self.index: dict[bytes, tuple[int, ...]] = {}
        self.ignored_directories: list[bytes] = []
        self.inside: list[tuple[bytes, bytes, int, bytes]] = []


class StatCache:
    """All known directories, and what they were made from."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._generation = 0
        self._shards: list[tuple[bytes, str]] = []
        self._members: list[list[bytes]] = []
        self.header = CacheHeader()
        self.known = Known()

    @classmethod
    def load(cls, directory: str) -> StatCache:
        """Reads the cache; returns an empty one if there is none or it cannot be read."""
        self = cls(directory)
        collecting = gc.isenabled()
        gc.disable()  # a collection in the middle of so many small objects costs 50 ms
        try:
            self._load()
        except (OSError, ValueError, EOFError, TypeError, IndexError, KeyError):
            return cls(directory)
        finally:
            if collecting:
                gc.enable()
        return self

    def _load(self) -> None:
        with open(os.path.join(self.directory, "manifest"), "rb", opener=ordinary) as file:
            version, generation, header, shards = marshal.loads(file.read())
        if version != _VERSION:
            return
        loaded: list[Row] = []
        members = []
        for _, name in shards:
            with open(os.path.join(self.directory, name), "rb", opener=ordinary) as file:
                rows = marshal.loads(file.read())
            members.append([row[PATH] for row in rows])
            loaded += rows
        for slot, value in zip(CacheHeader.__slots__, header, strict=True):
            setattr(self.header, slot, value)
        self._generation = generation
        self._shards = shards
        self._members = members
        self.known = Known(loaded)

    @property
    def is_worth_its_blocks(self) -> bool:
        """False for a new one of an empty workspace, which has nothing to say."""
        return bool(self._shards) or not self.known.is_bare()

    def doubt(self) -> None:
        """Stops trusting any file's cached bytes; which paths were held stays known."""
        self.known = self.known.doubted()
        self.header.inside = [
            (path, NEVER_TRUSTED if mark else b"", mode, oid)
            for path, mark, mode, oid in self.header.inside
        ]

    def save(self, changed: set[bytes] | None) -> None:
        """Writes the shards that hold ``changed`` paths (None: all) and switches to them."""
        durable.make_directories(self.directory)
        self._generation += 1
        old = [name for _, name in self._shards]
        if changed is None or not self._shards:
            old = os.listdir(self.directory)
            self._shards, self._members = [], []
            self._write_shards(sorted(self.known.paths()))
        else:
            self._rewrite(changed)
        header = [getattr(self.header, slot) for slot in CacheHeader.__slots__]
        manifest = marshal.dumps((_VERSION, self._generation, header, self._shards))
        durable.replace_file(os.path.join(self.directory, "manifest"), manifest, flush=False)
        kept = {"manifest", *(name for _, name in self._shards)}
        for name in old:
            if name not in kept:
                self._remove(name)

    def _rewrite(self, changed: set[bytes]) -> None:
        firsts = [first for first, _ in self._shards]
        touched: dict[int, set[bytes]] = {}
        for path in changed:
            number = max(0, bisect_right(firsts, path) - 1)
            touched.setdefault(number, set()).add(path)
        old = list(zip(self._shards, self._members, strict=True))
        self._shards, self._members = [], []
        for number, (shard, members) in enumerate(old):
            if number in touched:
                paths = touched[number].union(members)
                self._write_shards(sorted(path for path in paths if path in self.known))
            else:
                self._shards.append(shard)
                self._members.append(members)

    def _write_shards(self, paths: list[bytes]) -> None:
        rows: list[Row] = []
        files = 0
        for position, path in enumerate(paths):
            row = self.known.row(path)
            rows.append(row)
            files += 1 + len(row[OIDS]) // 20
            if files >= _SHARD_FILES or position == len(paths) - 1:
                name = f"{self._generation:x}-{len(self._shards):x}"
                target = os.path.join(self.directory, name)
                durable.replace_file(target, marshal.dumps(rows), flush=False)
                self._shards.append((rows[0][PATH], name))
                self._members.append([row[PATH] for row in rows])
                rows, files = [], 0

    def _remove(self, name: str) -> None:
        try:
            durable.unlink(os.path.join(self.directory, name))
        except FileNotFoundError:
            pass
