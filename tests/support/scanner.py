"""Scans a workspace as a capture does, and lets a test act at given moments in the middle of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from takeback.context import Context
from takeback.store import trees
from takeback.store.sink import PackSink
from takeback.worktree.cache import StatCache
from takeback.worktree.rules import IgnoreRules, Rules
from takeback.worktree.scan import Scan, Scanned, ScanSetup

Moment = Callable[[bytes], None]


class Asking(Rules):
    """The rules, and a list of all that they were asked."""

    asked: list[bytes]
    when_asked: Moment

    def ignored(self, paths: Sequence[bytes]) -> list[bool]:
        self.asked += paths
        self.when_asked(b"\0".join(paths))
        return super().ignored(paths)


class Reading(PackSink):
    """The sink; it is asked for each file right after that was read."""

    when_read: Moment

    def has(self, oid: bytes) -> bool:
        self.when_read(oid)
        return super().has(oid)

    def holds(self, oid: bytes, data: bytes) -> bool:
        self.when_read(oid)
        return super().holds(oid, data)


def nothing(_: bytes) -> None:
    """Lets the scan go on undisturbed."""


class Scanner:
    """Scans one workspace again and again; ``asked`` is what the rules were asked at last.

    ``when_asked`` and ``when_read`` are called in the middle of a scan: before names are judged,
    and before each object is looked up that was just read or made.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.asked: list[bytes] = []
        self.when_asked: Moment = nothing
        self.when_read: Moment = nothing

    def run(self, *, rehash: bool = False) -> Scanned:
        """Scans; with ``rehash`` everything is read, and nothing is remembered."""
        with self.context.locked() as locked:
            return self._run(Reading(locked.lock), rehash=rehash)

    def _run(self, sink: Reading, *, rehash: bool) -> Scanned:
        store = self.context.store
        self.asked = []
        sink.when_read = self.when_read
        rules = Asking(
            self.context.workspace.root, self.context.policy, self.context.environ, self._rules
        )
        rules.asked, rules.when_asked = self.asked, self.when_asked
        setup = ScanSetup(
            workspace=self.context.workspace,
            rules=rules,
            policy=self.context.policy,
            reporter=self.context.reporter,
            in_child=lambda: None,
            epoch=store.epoch,
            rehash=rehash,
        )
        scan = Scan(setup, StatCache.load(store.path("stat")), sink)
        scanned = scan.run()
        sink.publish()
        if not rehash:
            scan.remember()
        return scanned

    def _rules(self, excludes_file: bytes | None, exclude_info: bytes) -> IgnoreRules:
        return IgnoreRules(
            self.context.store.git,
            os.fsdecode(self.context.workspace.root),
            excludes_file=excludes_file,
            exclude_info=exclude_info,
        )

    def held(self) -> dict[bytes, bytes]:
        """Scans and returns the bytes of every file that is held."""
        store = self.context.store
        return {
            path: store.blob(entry.oid)
            for path, entry in trees.walk(store, self.run().tree)
            if not entry.is_directory
        }
