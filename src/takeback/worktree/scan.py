"""The scan: from the stat cache and the disk to a snapshot and what it does not hold.

        detect    which known directories changed          (lstat of every known path; or a watch
                                                            knows where something happened)
        survey    list these and new ones, level by level  (asks git only for new names)
        read      the files that are new or changed        (into the sink)
        moved     list again where names came or went meanwhile, a few times at most
        trees     of the changed directories and upwards

The unit is one directory: if anything in it changed, it is listed and its files are lstat'ed again,
and the ids of those that did not change are taken from the cache.
"""

from __future__ import annotations

import gc
import os
import time

from takeback.git.objects import EMPTY_TREE, TREE, encode_tree, object_id
from takeback.model.checkpoint import SANDBOX, Entry, entry_mode
from takeback.model.coverage import IGNORED, UNREADABLE, Coverage, NotHeld
from takeback.model.value import Value
from takeback.worktree.cache import StatCache
from takeback.worktree.directory import IGNORED_DIRECTORY, gap_reason
from takeback.worktree.glance import Belief, Mounts, ScanTime, changed_directories
from takeback.worktree.read import FileReader, FileReading, Intake
from takeback.worktree.survey import Survey
from takeback.worktree.tracked_in_ignored import TrackedInside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from takeback.model.coverage import Policy
    from takeback.ports import Brought, ObjectSink, Purged, Reporter
    from takeback.worktree.cache import Known
    from takeback.worktree.directory import Directory
    from takeback.worktree.rules import Rules
    from takeback.worktree.watch import WatchedLook
    from takeback.worktree.workspace import Workspace

_MUCH = 1000
_LOOKS = 5
"""How often a directory that keeps changing is listed before it is reported as unstable."""


class ScanSetup(Value):
    """What is looked at, by which rules, and who is told of the progress.

    ``epoch`` is that of the store's trust: a stat cache of another one is not trusted. ``in_child``
    runs first in every process that the scan forks. ``brought`` is what an operation has just
    brought back, ``purged`` what must not be held again, ``operation`` the one that was interrupted
    or is under way: its temporary files are ours. With ``rehash`` every file is read, with
    ``allow_large`` the limits of one capture do not apply. ``within`` are the only directories that
    are looked at, if the stat cache is as good as a look at all others (``Scan.again``).
    ``watching`` may know where alone to look, and is told of every directory that is listed.
    """

    workspace: Workspace
    rules: Rules
    policy: Policy
    reporter: Reporter
    in_child: Callable[[], None]
    epoch: int
    brought: Brought | None = None
    purged: Purged | None = None
    operation: str | None = None
    rehash: bool = False
    allow_large: bool = False
    within: Collection[bytes] | None = None
    watching: WatchedLook | None = None


class Scanned(Value):
    """The state of the workspace: all of it is in the sink, but no ref points to it yet."""

    tree: bytes
    saved: dict[bytes, Entry]
    coverage: Coverage
    files: int
    changed: int


class Scan:
    """One look at a workspace. Used once; ``remember`` keeps what it learnt for the next one."""

    def __init__(self, setup: ScanSetup, cache: StatCache, sink: ObjectSink) -> None:
        self._setup = setup
        self._workspace = workspace = setup.workspace
        self._rules = setup.rules
        self._cache = cache
        self._sink = sink
        self._watching = setup.watching
        self._earlier: Known | None = None
        """What was known of the files, if all are read again although nothing was lost."""
        self._touched: set[bytes] | None = set()
        self._kept_before: set[bytes] = set()
        now = time.time_ns()
        root = os.fstat(workspace.fd)
        self._mounts = Mounts(workspace.root, root.st_dev)
        self._time = ScanTime(
            now, distrusted=self._mounts.times_distrusted, in_memory=self._mounts.in_memory
        )
        self._began = now
        self.is_limited = False
        """Whether it has relied on a watch, and not looked at every file."""

    def run(self) -> Scanned:
        """Looks at everything and returns the state, but does not remember it yet."""
        collecting = gc.isenabled()
        gc.disable()  # a capture is short and makes many small values that all stay
        try:
            return self._run()
        finally:
            self._rules.close()
            if collecting:
                gc.enable()

    def _run(self) -> Scanned:
        header = self._cache.header
        fingerprint = self._rules.fingerprint
        if header.epoch != self._setup.epoch or self._setup.rehash:
            if header.epoch == self._setup.epoch:
                self._earlier = self._cache.known
            self._cache.doubt()
            header.rules = b""
            header.read_at = self._began
        known = self._cache.known
        if self._watching is not None:
            begun = self._watching.begin(self._cache, self._workspace, self._mounts)
            self._watching = self._watching if begun else None
        belief = Belief(self._time)
        survey = Survey(
            self._setup,
            known,
            belief,
            mounts=self._mounts.below,
            inside=[row[0] for row in header.inside if row[1]],
            watching=self._watching,
        )
        inside = TrackedInside(self._setup, header, self._sink, belief)
        if header.rules != fingerprint or b"" not in known:
            survey.begin_anew()
            self._touched = None
            if self._watching is not None:
                self._watching.look_everywhere()
        else:
            survey.look_again(self._changed(known))
            if self._index_changed(header.index):
                survey.look_again(_touched_by_index(known, self._rules))
            if self._setup.brought is not None:
                survey.look_again(_touched_by_operation(known, self._setup.brought))
        # Not before detect: it looks at the table as it lies there, and at what is made one by one
        self._kept_before = _saved_paths(known).difference(header.unsaved)
        dirty = self._look(survey, inside)
        count = self._write_trees(dirty)
        header.rules = fingerprint
        header.epoch = self._setup.epoch
        header.index = self._rules.index_signatures(known.repositories())
        header.tree = known[b""].tree
        if self._watching is not None:
            self._watching.looked(known, dirty)
            self.is_limited = self._watching.is_limited
        if self._touched is not None:
            self._touched |= dirty | survey.removed
        return Scanned(
            tree=known[b""].tree,
            saved=self._saved(),
            coverage=Coverage(self._not_held(inside.gaps)),
            files=known.file_count() + len(header.inside),
            changed=count,
        )

    def _changed(self, known: Known) -> list[bytes]:
        """Returns the known directories in which something may have changed."""
        root_fd = self._workspace.fd
        if self._setup.within is not None:
            return [path for path in self._setup.within if path in known]
        if self._time.distrusted:
            return known.paths()
        if self._watching is not None and self._watching.is_limited:
            return [*self._watching.changed(root_fd, known)]
        changed = changed_directories(root_fd, known, in_child=self._setup.in_child)
        if self._watching is not None:
            changed += self._watching.compare(changed, known)
        return changed

    def _look(self, survey: Survey, inside: TrackedInside) -> set[bytes]:
        """Lists and reads until nothing moves meanwhile; returns the directories it looked at."""
        known = self._cache.known
        dirty: set[bytes] = set()
        limit, dirty_ns = self._setup.policy.size_limit, self._time.dirty_ns
        purged = self._setup.purged
        intake = Intake(self._sink, size_limit=limit, dirty_ns=dirty_ns, purged=purged)
        reading = FileReading(
            self._workspace.fd, intake, self._setup.reporter, self._setup.in_child, self._earlier
        )
        for _ in range(_LOOKS):
            with FileReader(reading) as reader:
                survey.finish(reader)
            dirty |= {directory.path for directory in survey.settle()}
            changed = self._index_changed(self._cache.header.index)
            inside.find(known, index_changed=changed)
            dirty |= inside.refresh(known)
            moved = survey.moved(vanished=inside.lost)
            if not moved:
                break
            survey.look_again(moved)
        else:
            survey.give_up(moved)
        return dirty | survey.removed_from

    def _index_changed(self, known: dict[bytes, tuple[int, ...]]) -> bool:
        return known != self._rules.index_signatures(self._cache.known.repositories())

    def _write_trees(self, dirty: set[bytes]) -> int:
        """Writes the trees of changed directories, deepest first, up to the root."""
        known = self._cache.known
        pending = {path for path in dirty if path in known}
        for path in list(pending):
            while path:
                path = path.rpartition(b"/")[0]
                pending.add(path)
        written = 0
        for path in sorted(pending, key=lambda p: (-p.count(b"/") if p else 1, p)):
            directory = known[path]
            oid = self._tree_of(directory)
            if oid != directory.tree:
                written += 1
            directory.tree = oid
            if path:
                parent, _, name = path.rpartition(b"/")
                known[parent].subs[name] = (entry_mode(directory.mode), oid)
        if self._touched is not None:
            self._touched |= pending
        return written

    def _tree_of(self, directory: Directory) -> bytes:
        entries = [
            (entry_mode(directory.file_mode(name, mark)[0]), name, oid)
            for name, mark, oid in directory.files
        ]
        entries += [
            (mode, name, oid)
            for name, (mode, oid) in directory.subs.items()
            if oid != EMPTY_TREE or name not in SANDBOX
        ]
        data = encode_tree(entries)
        oid = object_id(TREE, data)
        if not self._sink.has(oid):
            self._sink.add(TREE, data, oid)
        return oid

    def _saved(self) -> dict[bytes, Entry]:
        """Returns the small ignored files, up to the total limit, first come, first kept.

        What the last capture left out comes after what it kept.
        """
        found = []
        for directory in self._cache.known.special():
            prefix = directory.path + b"/" if directory.path else b""
            for name, mark, oid in directory.saved:
                mode, size = directory.file_mode(name, mark)
                found.append((prefix + name, size, Entry(entry_mode(mode), oid)))
        kept = self._kept_before
        found.sort(key=lambda file: (file[0] not in kept, file[0]))
        saved: dict[bytes, Entry] = {}
        left = self._setup.policy.ignored_total_limit
        for path, size, entry in found:
            left -= size
            if left >= 0:
                saved[path] = entry
        self._cache.header.unsaved = [file[0] for file in found if file[0] not in saved]
        return saved

    def _not_held(self, inside: list[NotHeld]) -> Iterator[NotHeld]:
        yield from inside
        for path in self._rules.unread:
            yield NotHeld(path, UNREADABLE)
        for directory in self._cache.known.special():
            prefix = directory.path + b"/" if directory.path else b""
            for name, gap in directory.gaps.items():
                yield NotHeld(prefix + name if name else directory.path, gap_reason(gap))
            for name, _, _ in directory.saved:
                yield NotHeld(prefix + name, IGNORED)

    def remember(self) -> None:
        """Saves the stat cache for the next scan; call it once all objects are durable.

        Once more saves nothing, unless a scan that goes on from this one learnt something since.
        """
        is_changed = self._touched is None or self._touched
        if is_changed and self._cache.is_worth_its_blocks:
            self._cache.save(self._touched)
            self._touched = set()
        if self._watching is not None:
            self._watching.done(self._cache.header.token)
            self._watching = None

    @property
    def learnt_much(self) -> bool:
        """Tells whether it would take long to learn again what this scan has to remember."""
        return self._touched is None or len(self._touched) > _MUCH

    @property
    def cache(self) -> StatCache:
        """What this scan knows of the files; ``again`` goes on from it."""
        return self._cache

    def again(self, setup: ScanSetup, sink: ObjectSink) -> Scan:
        """Returns a scan that goes on from what this one has just seen, and remembers for both.

        Only under the same lock, and once: this one is of no use afterwards.
        """
        scan = Scan(setup, self._cache, sink)
        scan._touched = self._touched
        return scan


def _touched_by_index(known: Known, rules: Rules) -> list[bytes]:
    """Returns the directories where a change of the project's index may change what is held."""
    return [
        directory.path
        for directory in known.special()
        if directory.tracked
        or any(
            reason == IGNORED and rules.is_tracked(directory.path, name)
            for name, reason in directory.gaps.items()
        )
        or any(rules.is_tracked(directory.path, name) for name, _, _ in directory.saved)
    ]


def _touched_by_operation(known: Known, brought: Brought) -> list[bytes]:
    """Returns the directories in which something ignored is held again from now on."""
    found = []
    for directory in known.special():
        prefix = directory.path + b"/" if directory.path else b""
        ignored = [(name, False) for name, _, _ in directory.saved]
        ignored += [
            (name, reason == IGNORED_DIRECTORY)
            for name, reason in directory.gaps.items()
            if reason in (IGNORED, IGNORED_DIRECTORY)
        ]
        if any(brought.holds(prefix + name, directory=is_one) for name, is_one in ignored):
            found.append(directory.path)
    return found


def _saved_paths(known: Known) -> set[bytes]:
    """Returns the small ignored files that were there at the last capture."""
    return {
        directory.path + b"/" + name if directory.path else name
        for directory in known.special()
        for name in directory.saved.names.split(b"/")
        if name
    }
