"""The stat cache: which bytes a file had when it was last read. Disposable, always.

        stat/manifest          what it was made from, the list of shards
        stat/<generation>-<n>  some directories each

Only shards with a changed directory are written again; renaming the manifest switches from
one generation to the next. Nothing is flushed: after a power loss the worst is a cache that
does not load, which costs one full read of the workspace.
"""

from __future__ import annotations

import gc
import marshal
import os
from bisect import bisect_right

from takeback import durable
from takeback.worktree.directory import Directory

_VERSION = 1
_SHARD_FILES = 4000


class Facts:
    """What the cache was made from; if any of it differs, some or all of the cache is void."""

    __slots__ = (
        "coverage",
        "epoch",
        "ignored_directories",
        "index",
        "inside",
        "read_at",
        "root",
        "rules",
        "saved",
        "tree",
    )

    def __init__(self) -> None:
        self.epoch = -1
        self.rules = b""
        self.root = b""
        self.tree = b""
        self.saved = b""
        self.coverage = b""
        self.read_at = 0
        self.index: dict[bytes, tuple[int, ...]] = {}
        self.ignored_directories: list[bytes] = []
        self.inside: list[tuple[bytes, bytes, int, bytes]] = []


class StatCache:
    """All known directories by path, and what they were made from."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._generation = 0
        self._shards: list[tuple[bytes, str]] = []
        self.facts = Facts()
        self.directories: dict[bytes, Directory] = {}

    @classmethod
    def load(cls, place: str) -> StatCache:
        """Reads the cache; an empty one if there is none or it does not read back."""
        self = cls(place)
        collecting = gc.isenabled()
        gc.disable()  # a collection in the middle of so many small objects costs 50 ms
        try:
            self._load()
        except (OSError, ValueError, EOFError, TypeError, IndexError, KeyError):
            return cls(place)
        finally:
            if collecting:
                gc.enable()
        return self

    def _load(self) -> None:
        with open(os.path.join(self.place, "manifest"), "rb") as file:
            version, generation, facts, shards = marshal.loads(file.read())
        if version != _VERSION:
            return
        loaded: dict[bytes, Directory] = {}
        for first, name in shards:
            with open(os.path.join(self.place, name), "rb") as file:
                for row in marshal.loads(file.read()):
                    loaded[row[0]] = Directory.load(row)
        for slot, value in zip(Facts.__slots__, facts, strict=True):
            setattr(self.facts, slot, value)
        self._generation = generation
        self._shards = shards
        self.directories = loaded

    def save(self, changed: set[bytes] | None) -> None:
        """Writes the shards that hold ``changed`` paths (None: all) and switches to them."""
        durable.make_directories(self.place)
        self._generation += 1
        old = [name for _, name in self._shards]
        if changed is None or not self._shards:
            self._shards = self._write_shards(sorted(self.directories))
        else:
            self._rewrite(changed)
        facts = [getattr(self.facts, slot) for slot in Facts.__slots__]
        manifest = marshal.dumps((_VERSION, self._generation, facts, self._shards))
        durable.replace_file(os.path.join(self.place, "manifest"), manifest, flush=False)
        kept = {name for _, name in self._shards}
        for name in old:
            if name not in kept:
                self._remove(name)

    def _rewrite(self, changed: set[bytes]) -> None:
        firsts = [first for first, _ in self._shards]
        touched = {max(0, bisect_right(firsts, path) - 1) for path in changed}
        paths: list[list[bytes]] = [[] for _ in self._shards]
        for path in self.directories:
            number = max(0, bisect_right(firsts, path) - 1)
            if number in touched:
                paths[number].append(path)
        shards: list[tuple[bytes, str]] = []
        for number, shard in enumerate(self._shards):
            if number in touched:
                shards.extend(self._write_shards(sorted(paths[number]), len(shards)))
            else:
                shards.append(shard)
        self._shards = shards

    def _write_shards(self, paths: list[bytes], number: int = 0) -> list[tuple[bytes, str]]:
        shards = []
        rows: list[tuple[object, ...]] = []
        first, files = b"", 0
        for position, path in enumerate(paths):
            directory = self.directories[path]
            if not rows:
                first = path
            rows.append(directory.dump())
            files += 1 + len(directory.files) + len(directory.saved)
            if files >= _SHARD_FILES or position == len(paths) - 1:
                name = f"{self._generation:x}-{number + len(shards):x}"
                target = os.path.join(self.place, name)
                durable.replace_file(target, marshal.dumps(rows), flush=False)
                shards.append((first, name))
                rows, files = [], 0
        return shards

    def _remove(self, name: str) -> None:
        try:
            durable.unlink(os.path.join(self.place, name))
        except FileNotFoundError:
            pass
