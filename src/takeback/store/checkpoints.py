"""Checkpoints as commits: ``files/`` is the snapshot, ``coverage`` what it does not hold,
``conversation/`` the transcript at that moment.

        ref of the session     ->  newest checkpoint  ->  the one before  ->  ...
        ref of what is local   ->  saved files of the newest  ->  ...

A session belongs to the machine that its agent runs on. If two machines wrote to one all the same,
each has a ref of its own, which continues from what it knew of the other's.

Saved files (ignored ones) are commits of their own, written before the checkpoint that names their
tree, so that they can be left out of what leaves this machine.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.git.objects import BLOB, EMPTY_TREE, TREE
from takeback.model.checkpoint import Checkpoint, decode
from takeback.model.coverage import Coverage
from takeback.model.ids import SnapshotId
from takeback.model.snapshot import DIRECTORY
from takeback.store.namespace import SESSIONS, by_machine, local_ref, session_ref
from takeback.store.records import chain, read_record, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.ports import ObjectSink
    from takeback.store.records import Record
    from takeback.store.sink import PackSink
    from takeback.store.store import Store

FILES = b"files"
OUTSIDE = b"outside"
"""Files outside the workspace that were saved before a tool, by their absolute path."""
COVERAGE = b"coverage"
CONVERSATION = b"conversation"
_LONGEST_COVERAGE = 1 << 28


def write_checkpoint(
    sink: PackSink,
    checkpoint: Checkpoint,
    coverage: Coverage | None,
    *,
    conversation: bytes | None = None,
    base: bytes | None = None,
) -> Checkpoint:
    """Keeps a checkpoint and returns it with its commit.

    ``coverage`` is None for one that has expired: it is the copy of another whose files are not
    kept any more. ``conversation`` is the tree of the transcript's bytes. The first checkpoint of a
    session that descends from another has the one it came from, ``base``, as its parent.

    On disk afterwards: the pack, flushed; then the ref of the saved files; then, as the
    commit point, the ref of the session. A crash before that leaves no checkpoint. The
    snapshot's own objects were added to the same sink before.
    """
    locked = sink.locked
    store, ref = locked.store, session_ref(locked.machine, checkpoint.session)
    tip = store.refs.read(ref)
    checkpoint = checkpoint.replace(
        # a draft has the number of the checkpoint that it follows
        sequence=locked.next_sequence(above=checkpoint.sequence, first=tip is None),
        machine=locked.machine,
    )
    meta, entries = checkpoint.encode(), list[tuple[int, bytes, bytes]]()
    if coverage is None:
        meta["snapshot"] = checkpoint.snapshot
    else:
        if checkpoint.tree == EMPTY_TREE:
            sink.add(TREE, b"")
        meta["not_held"] = len(coverage)
        entries = [
            (DIRECTORY, FILES, checkpoint.tree),
            (0o100644, COVERAGE, sink.add(BLOB, coverage.encode())),
        ]
    if conversation is not None:
        entries.append((DIRECTORY, CONVERSATION, conversation))
    local_tip, local = _write_saved(store, sink, checkpoint)
    parent = tip or base or _newest_tip(store, checkpoint.session)
    commit = write_record(
        sink,
        meta,
        parents=() if parent is None else (parent,),
        time=checkpoint.time,
        message=message_of(checkpoint.kind, checkpoint.id, checkpoint.prompt),
        entries=tuple(entries),
    )
    after = sink.publish_for_ref()
    if local is not None:
        saved_ref = local_ref(checkpoint.machine, checkpoint.session)
        store.refs.write(saved_ref, local, expect=local_tip, after=after)
        after = None
    store.refs.write(ref, commit, expect=tip, after=after)
    sink.settle()
    return checkpoint.replace(commit=commit)


def _write_saved(
    store: Store, sink: ObjectSink, checkpoint: Checkpoint
) -> tuple[bytes | None, bytes | None]:
    """Adds the commit that keeps the saved files; None if the newest one has them already."""
    tip = store.refs.read(local_ref(checkpoint.machine, checkpoint.session))
    if checkpoint.saved is None:
        return tip, None
    tree = bytes.fromhex(checkpoint.saved)
    if tip is not None and _keeps(store, tip, tree):
        return tip, None
    commit = write_record(
        sink,
        {"type": "saved", "checkpoint": checkpoint.id},
        parents=() if tip is None else (tip,),
        time=checkpoint.time,
        message=f"ignored files saved with {checkpoint.id}",
        entries=((DIRECTORY, FILES, tree),),
    )
    return tip, commit


def _keeps(store: Store, tip: bytes, tree: bytes) -> bool:
    """Tells whether the newest commit of saved files exists and holds this tree."""
    try:
        return read_record(store, tip).entries.get(FILES) == (DIRECTORY, tree)
    except StoreDamaged:
        return False


def _newest_tip(store: Store, session: str) -> bytes | None:
    """Returns the newest that other machines wrote to a session: this one continues from there."""
    newest = newest_checkpoint(store, session)
    return None if newest is None else newest.commit


def message_of(kind: str, id: str, prompt: str | None) -> str:
    """Returns the message of a checkpoint's commit, for people who look into the store."""
    first_line = (prompt or "").strip().split("\n")[0][:100]
    return f"{kind} {id}" + (f": {first_line}" if first_line else "")


def checkpoint_of(record: Record) -> Checkpoint:
    """Returns the checkpoint that a record describes; raises StoreDamaged."""
    files = record.entries.get(FILES)
    if files is None and "expired" not in record.meta:
        raise StoreDamaged(f"checkpoint {record.oid.hex()} has no files")
    snapshot = files[1].hex() if files is not None else record.text("snapshot")
    try:
        return decode(record.meta, snapshot=SnapshotId(snapshot), commit=record.oid)
    except ValueError as error:
        raise StoreDamaged(f"record {record.oid.hex()} is no checkpoint: {error}") from None


def checkpoints_back(store: Store, tip: bytes | None) -> Iterator[Checkpoint]:
    """Yields the readable checkpoints from ``tip`` back, also beyond the beginning of a session."""
    for record in chain(store, tip, over_damage=True):
        try:
            yield checkpoint_of(record)
        except StoreDamaged:
            continue


def newest_checkpoint(store: Store, session: str) -> Checkpoint | None:
    """Returns the newest readable checkpoint of a session, of any machine; None if it has none.

    An unreadable one must not be the end of its session: the next one follows the one before it,
    and ``verify`` reports it.
    """
    tips = by_machine(store.refs, SESSIONS, session).values()
    found = [next(checkpoints_back(store, tip), None) for tip in tips]
    own = [newest for newest in found if newest is not None and newest.session == session]
    return max(own, key=lambda checkpoint: checkpoint.order, default=None)


def conversation_tree(record: Record) -> bytes | None:
    """Returns the tree of the transcript's bytes that a checkpoint keeps, if any."""
    entry = record.entries.get(CONVERSATION)
    return None if entry is None else entry[1]


def read_coverage(store: Store, commit: bytes) -> Coverage:
    """Returns what a checkpoint does not hold; raises StoreDamaged."""
    entry = read_record(store, commit).entries.get(COVERAGE)
    if entry is None:
        raise StoreDamaged(f"checkpoint {commit.hex()} does not say what it covers")
    return decoded_coverage(store, entry[1])


def decoded_coverage(store: Store, blob: bytes) -> Coverage:
    """Returns the coverage that a blob has; raises StoreDamaged."""
    try:
        return Coverage.decode(store.blob(blob, _LONGEST_COVERAGE))
    except ValueError:
        raise StoreDamaged(f"the coverage in {blob.hex()} is not readable") from None
