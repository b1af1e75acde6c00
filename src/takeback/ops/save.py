"""Save: keeps the bytes of a file that no snapshot holds, before an edit tool touches it.

An ignored file in an ignored directory, or a file outside the workspace: neither is in any
snapshot, and after the tool has run its old bytes are gone. No scan is made; a path that the
newest snapshot holds needs nothing.
"""

from __future__ import annotations

import os

from takeback.errors import StoreDamaged
from takeback.git.objects import EMPTY_TREE
from takeback.model.event import EDIT
from takeback.model.path_text import to_bytes
from takeback.model.snapshot import DIRECTORY, Entry, entry_mode
from takeback.ops.failures import Translated
from takeback.store import log, tombstones, trees
from takeback.store.checkpoints import FILES, OUTSIDE, newest_checkpoint
from takeback.store.namespace import LOCAL, by_machine, local_ref, session_id
from takeback.store.records import chain, write_record
from takeback.store.sink import PackSink
from takeback.worktree.patterns import LeftOut
from takeback.worktree.reading import Intake, Kept, keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import AgentEvent
    from takeback.ops.context import Context, LockedContext
    from takeback.store.store import Store

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
        log.append(context.store, f"{os.fsdecode(full)} was not saved: {error.strerror}")
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
