"""Capture: make a snapshot of the workspace as it is now; before a tool, save what none holds."""

from __future__ import annotations

import os

from takeback.context import Translated
from takeback.errors import CaptureFailed, StoreDamaged, UsageError
from takeback.git.objects import EMPTY_TREE, is_tree
from takeback.git.objects import TREE as TREE_KIND
from takeback.model.checkpoint import DIRECTORY, Checkpoint, Entry, entry_mode
from takeback.model.coverage import IGNORED, LET_GO, Coverage
from takeback.model.event import EDIT
from takeback.model.ids import SnapshotId, new_checkpoint_id
from takeback.model.path_text import to_bytes, to_text
from takeback.model.value import Value
from takeback.store import journal, notes, tombstones, trees
from takeback.store.conversation import write_conversation
from takeback.store.namespace import LOCAL, SESSIONS, by_machine, local_ref, session_id
from takeback.store.records import (
    FILES,
    OUTSIDE,
    chain,
    checkpoints_back,
    newest_checkpoint,
    read_coverage,
    write_checkpoint,
    write_record,
)
from takeback.store.sink import PackSink
from takeback.store.trees import Held
from takeback.store.trust import Trust
from takeback.visible import shown
from takeback.worktree import project
from takeback.worktree.cache import StatCache
from takeback.worktree.directory import NEVER_TRUSTED, CacheDamaged, Directory, FileTable
from takeback.worktree.project import staged
from takeback.worktree.read import Intake, Kept, keep
from takeback.worktree.rules import IgnoreRaced, IgnoreRules, LeftOut, Rules
from takeback.worktree.scan import Scan, ScanSetup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from takeback.context import Context, LockedContext
    from takeback.model.coverage import NotHeld
    from takeback.model.event import AgentEvent
    from takeback.model.ids import SessionId
    from takeback.model.turn import CheckpointKind
    from takeback.ports import Brought, ObjectSink
    from takeback.store.conversation import Part
    from takeback.store.store import Store
    from takeback.worktree.scan import Scanned
    from takeback.worktree.watch import WatchedLook


# -- the predecessor: what the newest snapshot held, if the stat cache that knew it is gone
#
# What was held stays held (``worktree/survey.py``), so a scan must know it. The stat cache is
# disposable; the snapshot is not. No bytes are trusted: every file is read again.


def remembered(store: Store, place: str) -> StatCache:
    """Returns a stat cache that knows the paths of the newest snapshot; empty without one."""
    cache = StatCache(place)
    newest = newest_kept(store)
    if newest is None:
        return cache
    try:
        coverage = read_coverage(store, newest.commit)
    except StoreDamaged:
        coverage = Coverage()
    pending = [(b"", newest.tree)]
    while pending:
        path, tree = pending.pop()
        entries = _entries(store, tree)
        if path and coverage.reason_for(path) == IGNORED:  # tracked files are below it
            for mode, name, oid in entries:
                full = path + b"/" + name
                if is_tree(mode):
                    pending.append((full, oid))
                else:
                    cache.header.inside.append((full, NEVER_TRUSTED, mode, oid))
            continue
        directory = cache.known[path] = Directory(path)
        directory.tree = tree
        prefix = path + b"/" if path else b""
        directory.files = FileTable.of(
            (name, NEVER_TRUSTED, oid) for mode, name, oid in entries if not is_tree(mode)
        )
        for mode, name, oid in entries:
            if is_tree(mode):
                pending.append((prefix + name, oid))
                if coverage.reason_for(prefix + name) != IGNORED:
                    directory.subs[name] = (mode, oid)
    return cache


def newest_kept(store: Store) -> Checkpoint | None:
    """Returns the newest checkpoint of all sessions that can be read and has its files."""
    tips = store.refs.list(SESSIONS, damaged={}).values()
    lines = (checkpoints_back(store, tip) for tip in tips)
    found = [next((one for one in line if one.expired is None), None) for line in lines]
    return max(
        (checkpoint for checkpoint in found if checkpoint is not None),
        key=lambda checkpoint: checkpoint.sequence,
        default=None,
    )


def _entries(store: Store, tree: bytes) -> list[tuple[int, bytes, bytes]]:
    try:
        return store.tree(tree)
    except StoreDamaged:
        return []


# -- gaps: what a checkpoint of a turn lacks and the one before it did not


_NAMED = 3


def new_gaps(store: Store, before: Checkpoint | None, coverage: Coverage) -> str | None:
    """Says which wanted paths are not held, and which were dropped; once each.

    ``before`` is the session's checkpoint before this one, None at its first.
    """
    known = _coverage_of(store, before)
    lacking = [item for item in coverage.skipped if item not in known]
    let_go: list[NotHeld] = []
    if before is not None and coverage.names(LET_GO):
        named = (item for item in coverage.not_held if item.reason in LET_GO)
        let_go = [item for item in named if item not in known]
    if before is not None and let_go:  # by the user's own rule; what no snapshot had is not news
        held = Held.of(store, before)
        let_go = [item for item in let_go if item.path in held]
    said = []
    if lacking:
        said.append(f"what is in {_named(lacking)} is not kept, and no rewind can bring it back")
    if let_go:
        said.append(f"what is in {_named(let_go)} is kept no longer, as your settings say")
    return "; ".join(said) or None


def _coverage_of(store: Store, checkpoint: Checkpoint | None) -> Coverage:
    try:
        return Coverage() if checkpoint is None else read_coverage(store, checkpoint.commit)
    except StoreDamaged:
        return Coverage()


def _named(items: Sequence[NotHeld]) -> str:
    named = ", ".join(f"{shown(to_text(one.path)) or '.'} ({one.reason})" for one in items[:_NAMED])
    return named + (f" and {len(items) - _NAMED:,} more" if len(items) > _NAMED else "")


# -- save: keeps the bytes of a file that no snapshot holds, before an edit tool touches it
#
# An ignored file in an ignored directory, or a file outside the workspace: neither is in any
# snapshot, and after the tool has run its old bytes are gone. No scan is made; a path that the
# newest snapshot holds needs nothing.


BEFORE_TOOL = "saved before a tool"


def save_before(context: LockedContext, event: AgentEvent) -> None:
    """Keeps the files that an edit tool is about to change."""
    named = [to_bytes(path) for tool in event.tools if tool.kind == EDIT for path in tool.paths]
    if not named:
        return
    session = session_id(event.agent, event.session)
    newest = newest_checkpoint(context.store, session)
    is_kept = newest is not None and newest.expired is None
    held = newest.tree if newest is not None and is_kept else EMPTY_TREE
    sink = PackSink(context.lock, disk_floor=context.policy.disk_floor)
    saved = Saved({}, {})
    left_out = LeftOut(context.policy)
    base = to_bytes(event.directory)
    purged = tombstones.load(context.store)
    intake = Intake(sink, size_limit=context.policy.size_limit, purged=purged)
    with Translated("saving a file", undo=sink.discard):
        for path in named:
            try:
                key = context.workspace.resolved(path, base=base)
            except ValueError:
                key = b""
            if key and is_kept and _is_held(context, sink, held, key):
                continue
            full = os.path.normpath(os.path.join(base, path))
            if left_out.is_secret(key or full):
                continue
            if purged is not None and purged.hides(key or full):
                continue
            entry = _kept(context, intake, full)
            if entry is not None and key:
                saved.inside[key] = entry
            elif entry is not None:
                saved.outside[full.lstrip(b"/")] = entry
        if saved.inside or saved.outside:
            _write(context, sink, event, newest, saved)


def _is_held(context: Context, sink: PackSink, snapshot: bytes, path: bytes) -> bool:
    """Tells whether a snapshot has a path and the store has its bytes."""
    try:
        entry = trees.lookup(context.store, snapshot, path)
    except StoreDamaged:
        return False
    return entry is not None and (entry.is_directory or sink.has(entry.oid))


def _kept(context: Context, intake: Intake, full: bytes) -> Entry | None:
    parent, name = os.path.split(full)
    try:
        fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        kept = keep(fd, name, intake)
    except OSError as error:
        notes.append(context.store, f"{os.fsdecode(full)} was not saved: {error.strerror}")
        return None
    finally:
        os.close(fd)
    return Entry(entry_mode(kept.status.st_mode), kept.oid) if isinstance(kept, Kept) else None


def _write(
    context: LockedContext,
    sink: PackSink,
    event: AgentEvent,
    newest: Checkpoint | None,
    saved: Saved,
) -> None:
    ref = local_ref(context.lock.machine, session_id(event.agent, event.session))
    tip = context.store.refs.read(ref)
    now = context.clock.now()
    trees_of = ((FILES, saved.inside), (OUTSIDE, saved.outside))
    commit = write_record(
        sink,
        {
            "type": BEFORE_TOOL,
            "checkpoint": newest.id if newest is not None else None,
            "tools": [tool.name for tool in event.tools],
            "time": now,
            "sequence": context.lock.next_sequence(above=newest.sequence if newest else 0),
        },
        parents=() if tip is None else (tip,),
        time=now,
        message=f"{BEFORE_TOOL}: {', '.join(tool.name for tool in event.tools)}",
        entries=tuple(
            (DIRECTORY, name, trees.build(sink, found)) for name, found in trees_of if found
        ),
    )
    sink.publish()
    context.store.refs.write(ref, commit, expect=tip)


class Saved:
    """Files as they were before a tool first touched them after a checkpoint."""

    def __init__(self, inside: dict[bytes, Entry], outside: dict[bytes, Entry]) -> None:
        self.inside = inside
        self.outside = outside


def saved_since(
    store: Store, checkpoint: Checkpoint, family: Collection[str] = frozenset()
) -> Saved:
    """Returns the oldest version of each file saved before tools that ran after ``checkpoint``.

    In its own session, and in those of its ``family``, in which it was continued.
    """
    found = []
    sessions = {checkpoint.session, *family}
    tips = [tip for one in sessions for tip in by_machine(store.refs, LOCAL, one).values()]
    for tip in tips:
        try:
            for record in chain(store, tip, over_damage=True):
                if record.meta.get("type") != BEFORE_TOOL:
                    continue
                sequence = int(record.number("sequence"))
                if sequence < checkpoint.sequence:
                    break
                found.append((sequence, record))
        except StoreDamaged:  # what is beyond the damage is lost; the rest is not
            continue
    inside: dict[bytes, Entry] = {}
    outside: dict[bytes, Entry] = {}
    for _, record in sorted(found, key=lambda pair: -pair[0]):
        for name, files in ((FILES, inside), (OUTSIDE, outside)):
            if name in record.entries:
                files.update(_files(store, record.entries[name][1]))
    return Saved(inside, outside)


def _files(store: Store, tree: bytes) -> dict[bytes, Entry]:
    return {path: entry for path, entry in trees.walk(store, tree) if not entry.is_directory}


# -- capture


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
