"""Checkpoints as commits: ``files/`` is the snapshot, ``coverage`` what it does not hold.

        refs/takeback/sessions/<session>  ->  newest checkpoint  ->  the one before  ->  ...
        refs/takeback/local/<session>     ->  saved files of the newest  ->  ...

Saved files (ignored ones) are commits of their own, written before the checkpoint that
names their tree, so that whatever leaves this machine can leave them out.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.git.objects import BLOB, EMPTY_TREE, TREE
from takeback.model.checkpoint import Checkpoint
from takeback.model.coverage import Coverage
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.model.snapshot import DIRECTORY
from takeback.store.records import read_record, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.ports import ObjectSink
    from takeback.store.records import Record
    from takeback.store.store import Store

SESSIONS = "refs/takeback/sessions/"
LOCAL = "refs/takeback/local/"
_FILES = b"files"
_COVERAGE = b"coverage"


def write_checkpoint(
    store: Store,
    sink: ObjectSink,
    checkpoint: Checkpoint,
    coverage: Coverage,
) -> Checkpoint:
    """Keeps a checkpoint and returns it with its commit.

    On disk afterwards: the pack, flushed; then the ref of the saved files; then, as the
    commit point, the ref of the session. A crash before that leaves no checkpoint. The
    caller holds the lock and has added the snapshot's own objects to the same sink.
    """
    ref = SESSIONS + checkpoint.session
    tip = store.refs.read(ref)
    if bytes.fromhex(checkpoint.snapshot) == EMPTY_TREE:
        sink.add(TREE, b"")
    entries = [(DIRECTORY, _FILES, bytes.fromhex(checkpoint.snapshot))]
    coverage_id = sink.add(BLOB, coverage.encode())
    entries.append((0o100644, _COVERAGE, coverage_id))
    local_tip, local = _write_saved(store, sink, checkpoint)
    commit = write_record(
        sink,
        _meta(checkpoint, coverage),
        parents=() if tip is None else (tip,),
        time=checkpoint.time,
        message=_message(checkpoint),
        entries=tuple(entries),
    )
    sink.publish()
    if local is not None:
        store.refs.write(LOCAL + checkpoint.session, local, expect=local_tip)
    store.refs.write(ref, commit, expect=tip)
    return checkpoint.replace(commit=commit)


def _write_saved(
    store: Store, sink: ObjectSink, checkpoint: Checkpoint
) -> tuple[bytes | None, bytes | None]:
    """Adds the commit that keeps the saved files; None when the newest one has them already."""
    tip = store.refs.read(LOCAL + checkpoint.session)
    if checkpoint.saved is None:
        return tip, None
    tree = bytes.fromhex(checkpoint.saved)
    if tip is not None and read_record(store, tip).entries.get(_FILES) == (DIRECTORY, tree):
        return tip, None
    commit = write_record(
        sink,
        {"type": "saved", "checkpoint": checkpoint.id},
        parents=() if tip is None else (tip,),
        time=checkpoint.time,
        message=f"ignored files saved with {checkpoint.id}",
        entries=((DIRECTORY, _FILES, tree),),
    )
    return tip, commit


def _meta(checkpoint: Checkpoint, coverage: Coverage) -> dict[str, Any]:
    return {
        "type": "checkpoint",
        "id": checkpoint.id,
        "session": checkpoint.session,
        "kind": checkpoint.kind,
        "time": checkpoint.time,
        "files": checkpoint.files,
        "complete": checkpoint.complete,
        "not_held": len(coverage.not_held),
        "saved": checkpoint.saved,
        "prompt": checkpoint.prompt,
        "turn": checkpoint.turn,
        "branch": checkpoint.branch,
        "head": checkpoint.head,
        "operation": checkpoint.operation,
    }


def _message(checkpoint: Checkpoint) -> str:
    first_line = (checkpoint.prompt or "").strip().split("\n")[0][:100]
    return f"{checkpoint.kind} {checkpoint.id}" + (f": {first_line}" if first_line else "")


def checkpoint_of(record: Record) -> Checkpoint:
    """Returns the checkpoint that a record describes; raises StoreDamaged."""
    files = record.entries.get(_FILES)
    if files is None:
        raise StoreDamaged(f"checkpoint {record.oid.hex()} has no files")
    turn = record.meta.get("turn")
    return Checkpoint(
        id=CheckpointId(record.text("id")),
        session=SessionId(record.text("session")),
        kind=record.text("kind"),
        time=record.number("time"),
        snapshot=SnapshotId(files[1].hex()),
        commit=record.oid,
        complete=record.meta.get("complete") is True,
        files=int(record.number("files")),
        saved=record.optional_text("saved"),
        prompt=record.optional_text("prompt"),
        turn=turn if isinstance(turn, int) else None,
        branch=record.optional_text("branch"),
        head=record.optional_text("head"),
        operation=record.optional_text("operation"),
    )


def read_coverage(store: Store, commit: bytes) -> Coverage:
    """Returns what a checkpoint does not hold; raises StoreDamaged."""
    entry = read_record(store, commit).entries.get(_COVERAGE)
    if entry is None:
        raise StoreDamaged(f"checkpoint {commit.hex()} does not say what it covers")
    try:
        return Coverage.decode(store.blob(entry[1]))
    except ValueError:
        raise StoreDamaged(f"the coverage of checkpoint {commit.hex()} is not readable") from None
