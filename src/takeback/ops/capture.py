"""Capture: make a snapshot of the workspace as it is now."""

from __future__ import annotations

import os

from takeback.errors import CaptureFailed, UsageError
from takeback.git.objects import EMPTY_TREE
from takeback.git.objects import TREE as TREE_KIND
from takeback.model.checkpoint import Checkpoint
from takeback.model.ids import SnapshotId, new_checkpoint_id
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.ops.failures import Translated
from takeback.store import journal, tombstones, trees
from takeback.store.checkpoints import newest_checkpoint, read_coverage, write_checkpoint
from takeback.store.conversation import write_conversation
from takeback.store.sink import PackSink
from takeback.store.trust import Trust
from takeback.worktree import project
from takeback.worktree.ignore import IgnoreRaced, IgnoreRules
from takeback.worktree.record import CacheDamaged
from takeback.worktree.rules import Rules
from takeback.worktree.scan import Scan, ScanSetup
from takeback.worktree.staged import staged
from takeback.worktree.statcache import StatCache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.model.coverage import Coverage
    from takeback.model.ids import SessionId
    from takeback.model.snapshot import Entry
    from takeback.model.turn import CheckpointKind
    from takeback.ops.context import Context, LockedContext
    from takeback.ports import Brought, ObjectSink
    from takeback.store.conversation import Part
    from takeback.store.store import Store
    from takeback.worktree.scan import Scanned
    from takeback.worktree.watching import WatchedLook

_ATTEMPTS = 3
_HOUR_NS = 3600 * 1_000_000_000


class Captured(Value):
    """A snapshot whose objects are in the sink; ``keep`` or ``record`` makes them durable.

    If it ``goes_on``, what it learnt of the files is remembered by the capture after it.
    """

    tree: bytes
    saved: dict[bytes, Entry]
    coverage: Coverage
    files: int
    scan: Scan
    sink: PackSink
    root_mode: int
    goes_on: bool = False

    @property
    def watched(self) -> bool:
        """Whether it relied on a watch, and did not look at every file."""
        return self.scan.is_limited

    @property
    def snapshot(self) -> SnapshotId:
        return SnapshotId(self.tree.hex())

    def keeping(self, extra: dict[bytes, Entry]) -> Captured:
        """Returns the same with files in no snapshot that an operation is about to replace."""
        with Translated("the capture", undo=self.sink.discard):
            return self.replace(saved=_merged(self.saved, extra))

    def revealed(self) -> Captured:
        """Makes the objects readable, for an operation that captures again at its end.

        They are durable once anything is recorded. What would take long to learn again is kept at
        once, as an operation may be refused.
        """
        if self.scan.learnt_much:
            self.keep()
        with Translated("the capture", undo=self.sink.discard):
            self.sink.reveal()
        return self.replace(goes_on=True)

    def drop_added(self) -> None:
        """Ends an operation that does nothing: keeps the capture, and nothing added since."""
        self.sink.discard()
        self.keep()

    def keep(self) -> None:
        """Makes the objects durable and readable without a checkpoint, as a plan or diff needs."""
        with Translated("the capture", undo=self.sink.discard):
            self.sink.publish()
            self.scan.remember()


class After(Value):
    """What is known to have happened to the files before they are captured.

    ``brought`` is what an operation has just restored: that is held as it was in its checkpoint.
    ``seen`` is the capture that it began with, under the same lock: only ``within``, where it wrote
    since, is looked at then, and the rest is as that one saw it. ``watching`` is what a process
    that stays has heard from the kernel.
    """

    brought: Brought | None = None
    seen: Captured | None = None
    within: frozenset[bytes] = frozenset()
    watching: WatchedLook | None = None


def capture(
    context: LockedContext,
    *,
    allow_large: bool = False,
    after: After | None = None,
) -> Captured:
    """Looks at the workspace.

    Raises CaptureFailed or WriteFailed, or UsageError if nobody can say what the user wants to be
    left out; then there is no snapshot and nothing is left in the store.
    """
    store = context.store
    if context.policy.unknown:
        raise UsageError(context.policy.unknown, hint="mend it, or remove it")
    trust = Trust(store)
    with Translated("the capture"):
        trouble = trust.check(context.lock)
    if trouble is not None:
        context.reporter.note(trouble)
    sink = PackSink(context.lock, disk_floor=context.policy.disk_floor, trust=trust)
    with Translated("the capture", undo=sink.discard):
        for attempt in range(_ATTEMPTS):
            try:
                scan, scanned = scanned_into(context, sink, allow_large=allow_large, after=after)
                break
            except IgnoreRaced:  # a directory became a link while git was asked about it
                after = None if after is None else after.replace(seen=None)  # it is half changed
                if attempt == _ATTEMPTS - 1:
                    raise CaptureFailed(
                        "a directory keeps turning into a link while it is being captured",
                        hint="stop what changes it, then run the command again",
                    ) from None
        if scanned.tree == EMPTY_TREE:
            sink.add(TREE_KIND, b"")
        root_mode = os.fstat(context.workspace.fd).st_mode & 0o777
        return Captured(
            scanned.tree, scanned.saved, scanned.coverage, scanned.files, scan, sink, root_mode
        )


def scanned_into(
    context: Context,
    sink: ObjectSink,
    *,
    allow_large: bool = False,
    after: After | None = None,
    may_rehash: bool = True,
) -> tuple[Scan, Scanned]:
    """Scans the workspace; without the stat cache if that turns out to be damaged."""
    store, workspace = context.store, context.workspace

    def ignore_rules(excludes_file: bytes | None, exclude_info: bytes) -> IgnoreRules:
        return IgnoreRules(
            store.git,
            os.fsdecode(workspace.root),
            excludes_file=excludes_file,
            exclude_info=exclude_info,
        )

    def scanned(cache: StatCache, seen: Captured | None) -> tuple[Scan, Scanned]:
        if cache.header.tree and not sink.has(cache.header.tree):
            cache.header.epoch = -1  # the store is not the one it was made from
        setup = ScanSetup(
            workspace=workspace,
            rules=Rules(workspace.root, context.policy, context.environ, ignore_rules),
            policy=context.policy,
            reporter=context.reporter,
            epoch=store.epoch,
            in_child=store.lock.forget_in_child,
            brought=None if after is None else after.brought,
            purged=tombstones.load(store),
            operation=journal.interrupted(store),
            rehash=may_rehash and seen is None and _rehash_is_due(context, cache),
            allow_large=allow_large,
            within=None if after is None or seen is None else after.within,
            watching=None if after is None else after.watching,
        )
        scan = Scan(setup, cache, sink) if seen is None else seen.scan.again(setup, sink)
        return scan, scan.run()

    seen = None if after is None else after.seen
    try:
        return scanned(_loaded(store) if seen is None else seen.scan.cache, seen)
    except CacheDamaged:
        return scanned(_remembered(store), None)


def _loaded(store: Store) -> StatCache:
    """Returns the stat cache, or what the newest snapshot tells of the files if there is none."""
    cache = StatCache.load(store.path("stat"))
    return cache if b"" in cache.known else _remembered(store)


def _remembered(store: Store) -> StatCache:
    from takeback.ops.predecessor import remembered  # needed once in a store's life

    return remembered(store, store.path("stat"))


def has_captured(store: Store) -> bool:
    """Tells whether a capture has learnt the files; if not, the next one reads all of them."""
    return StatCache.is_in(store.path("stat"))


def _rehash_is_due(context: Context, cache: StatCache) -> bool:
    """Reads every file again from time to time: a mapped file can change without a new time."""
    hours = context.policy.rehash_hours
    age = context.clock.now() * 1_000_000_000 - cache.header.read_at
    return hours > 0 and cache.header.read_at > 0 and age > hours * _HOUR_NS


def _merged(saved: dict[bytes, Entry], extra: dict[bytes, Entry]) -> dict[bytes, Entry]:
    """Adds files to those saved by the scan; if both have a path, the later look counts."""
    merged = dict(extra)
    for path, entry in saved.items():
        below = any(other.startswith(path + b"/") for other in extra)
        above = any(path.startswith(o + b"/") and not e.is_directory for o, e in extra.items())
        if path not in merged and not below and not above:
            merged[path] = entry
    for path, entry in extra.items():
        if not entry.is_directory and any(other.startswith(path + b"/") for other in extra):
            raise CaptureFailed(
                f"{to_text(path)} keeps turning from a directory into something else",
                hint="stop what changes it, then run the command again",
            )
    return merged


def draft(context: Context, *, kind: CheckpointKind, session: SessionId) -> Checkpoint:
    """Returns the next checkpoint of a session, at the place of the newest one."""
    newest = newest_checkpoint(context.store, session)
    return draft_after(newest, context, kind=kind, session=session)


def draft_after(
    newest: Checkpoint | None, context: Context, *, kind: CheckpointKind, session: SessionId
) -> Checkpoint:
    """Returns the next checkpoint of a session whose newest one is known."""
    id, time = new_checkpoint_id(), context.clock.now()
    if newest is not None:
        return newest.followed_by(id=id, kind=kind, time=time)
    return Checkpoint(
        id=id,
        session=session,
        kind=kind,
        time=time,
        snapshot=SnapshotId(""),
        commit=b"",
        complete=False,
        files=0,
    )


def record(
    context: LockedContext,
    captured: Captured,
    drafted: Checkpoint,
    *,
    conversation: Sequence[Part] = (),
    base: Checkpoint | None = None,
) -> Checkpoint:
    """Makes a checkpoint of a capture: durable when it returns.

    If an operation was interrupted and has not been recovered, the checkpoint says so.

    ``conversation`` are the files of the transcript, ``base`` the checkpoint of another
    session that the first one of this session descends from.
    """
    store, sink = context.store, captured.sink
    git = project.git_directory(context.workspace.root)
    head = project.head(git) if git is not None else project.Head()
    with Translated("the capture", undo=sink.discard):
        tree = trees.build(sink, captured.saved).hex() if captured.saved else None
        amid = journal.interrupted(store)
        checkpoint = write_checkpoint(
            sink,
            drafted.replace(
                snapshot=captured.snapshot,
                complete=captured.coverage.complete and amid is None,
                amid=amid,
                files=captured.files,
                watched=captured.watched,
                saved=tree,
                branch=head.branch,
                head=head.commit,
                root_mode=captured.root_mode,
                staged=None if git is None else staged(git, drafted.staged),
            ),
            captured.coverage,
            conversation=write_conversation(sink, conversation) if conversation else None,
            base=None if base is None else base.commit,
        )
        if not captured.goes_on:
            captured.scan.remember()
    return checkpoint


def record_again(
    context: LockedContext,
    last: Checkpoint,
    drafted: Checkpoint,
    *,
    conversation: Sequence[Part] = (),
) -> Checkpoint:
    """Makes a checkpoint of files that are kept: those of ``last``; durable when it returns."""
    sink = PackSink(context.lock, disk_floor=context.policy.disk_floor)
    with Translated("the checkpoint", undo=sink.discard):
        return write_checkpoint(
            sink,
            drafted.replace(
                snapshot=last.snapshot,
                complete=last.complete,
                amid=last.amid,
                files=last.files,
                watched=last.watched,
                saved=last.saved,
                branch=last.branch,
                head=last.head,
                root_mode=last.root_mode,
                staged=last.staged,
            ),
            read_coverage(context.store, last.commit),
            conversation=write_conversation(sink, conversation) if conversation else None,
        )
