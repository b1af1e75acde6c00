"""Cut: works out the session that a conversation becomes when it is cut at a checkpoint."""

from __future__ import annotations

import os

from takeback.errors import FILES_ALONE, Refused, StoreDamaged
from takeback.model.checkpoint import Checkpoint
from takeback.model.path_text import to_bytes
from takeback.model.turn import PROMPT, STEER
from takeback.model.value import Value
from takeback.ops import elsewhere
from takeback.ops.child import Child, Cut, berth_for, history_at, resume_line, resume_of
from takeback.ops.parcels import check_delivery, parcel_path
from takeback.ops.session_file import Berth
from takeback.ops.transcript import read_now, transcript_roots
from takeback.store.checkpoints import conversation_tree
from takeback.store.conversation import Part, read_conversation, write_conversation
from takeback.store.namespace import session_id
from takeback.store.records import read_record
from takeback.store.sink import PackSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.session import NewSession
    from takeback.ops.context import Context, LockedContext
    from takeback.ports import Adapter


class CutRequest(Value):
    """Where to cut a conversation, and what to call the child.

    ``newest`` is the newest checkpoint of the session that has its conversation. ``unused`` are
    first checkpoints of children of the same place that were not used since: one whose file still
    has the same history is reused. ``worktree`` is a new directory that the child works in.
    ``history`` is what the child remembers, if that is not just what was said up to the target.
    """

    target: Checkpoint
    newest: Checkpoint | None
    title: str
    unused: tuple[Checkpoint, ...] = ()
    worktree: str | None = None
    history: bytes | None = None


def plan_cut(context: LockedContext, adapter: Adapter, wanted: CutRequest) -> Cut:
    """Works out the child that a conversation rewind makes, and stores its bytes.

    Writes no file. Raises Refused if the checkpoint has no conversation, or it cannot be cut.
    """
    target, worktree = wanted.target, wanted.worktree
    if target.agent is None or target.native is None:
        raise Refused(
            f"checkpoint {target.id} has no conversation",
            hint=("take back the files: ", FILES_ALONE),
        )
    where = worktree or target.directory or os.fsdecode(context.workspace.root)
    history, prompt = wanted.history, None
    if history is None:
        history = history_at(context, adapter, target, wanted.newest)
        prompt = target.prompt if target.kind in (PROMPT, STEER) else None
    if not history and not adapter.starts_by_id and worktree is None:
        return Cut(None, resume_line(context, target, adapter.start(where)), prompt)
    transcript = target.transcript[-1].path if target.transcript else ""
    new = adapter.new_session(
        history,
        native=target.native,
        transcript=transcript,
        title=wanted.title,
        now=context.clock.now(),
    )
    if worktree is not None:
        new = adapter.moved_to(new, worktree)
    for other in wanted.unused:
        again = _again(context, adapter, other, new.native, new.data)
        if again is not None and other.native is not None:
            return Cut(again, resume_of(context, other, adapter, where), prompt, reused=True)
    berth = _berth_of(context, adapter, target, new) if history else Berth("")
    berth.check(target.id)
    sink = PackSink(context.lock, disk_floor=context.policy.disk_floor)
    tree = write_conversation(sink, [Part(new.data)])
    sink.publish()
    child = Child(
        id=session_id(target.agent, new.native),
        agent=target.agent,
        native=new.native,
        path=berth.path,
        tree=tree.hex(),
        directory=where,
        worktree=worktree,
        filling=None if worktree is None else elsewhere.temporary_name(worktree),
        place=berth.place,
        root=berth.root,
    )
    if not history and not adapter.starts_by_id:
        return Cut(child, resume_line(context, target, adapter.start(where)), prompt)
    made = target.replace(native=new.native)
    moved = None if worktree is None else berth.path
    return Cut(child, resume_of(context, made, adapter, where, moved), prompt)


def _berth_of(context: Context, adapter: Adapter, target: Checkpoint, new: NewSession) -> Berth:
    """Returns where the file of a new session may be created: a parcel's is the store."""
    parcel = parcel_path(context, adapter, new.native)
    if parcel is None:
        return berth_for(context, adapter, target, new.path)
    check_delivery(context, adapter)
    return Berth(parcel, root=context.store.directory)


def _again(
    context: Context, adapter: Adapter, other: Checkpoint, new: str, data: bytes
) -> Child | None:
    """Returns an earlier child if its file still holds what the new one would hold."""
    if other.native is None or other.agent is None or not other.transcript:
        return None
    try:
        tree = conversation_tree(read_record(context.store, other.commit))
        if tree is None:
            return None
        kept = b"".join(read_conversation(context.store, tree))
        part = other.transcript[-1]
        path = part.path
        if path and read_now(part, transcript_roots(context, adapter)) != kept:
            return None
    except StoreDamaged:
        return None
    if _without(kept, other.native) != _without(data, new):
        return None
    berth = berth_for(context, adapter, other, path)
    if parcel_path(context, adapter, other.native) is not None:
        berth = Berth(path, root=context.store.directory)
    return Child(
        id=other.session,
        agent=other.agent,
        native=other.native,
        path=path,
        tree=tree.hex(),
        directory=other.directory or "",
        place=berth.place,
        root=berth.root,
    )


def _without(data: bytes, native: str) -> int:
    """Returns the length of a history without its ids, by which two copies of it are compared."""
    return len(data.replace(to_bytes(native), b""))
