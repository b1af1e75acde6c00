"""Child: a conversation, cut at a place, written as a session of its own.

The agent's own transcript is never edited. The history up to the place is written as a new file
beside it, under a new id, and the new session's first checkpoint descends from the target.
"""

from __future__ import annotations

from takeback.errors import FILES_ALONE, Refused
from takeback.model.checkpoint import Checkpoint
from takeback.model.ids import SessionId, new_checkpoint_id
from takeback.model.session import Anchor, Origin, Resume, TranscriptPart
from takeback.model.turn import PROMPT, STEER, forked_from
from takeback.model.value import Value
from takeback.ops import elsewhere
from takeback.ops.notes import told_until
from takeback.ops.said import disproved
from takeback.ops.session_file import Berth
from takeback.ops.transcript import read_now, transcript_roots
from takeback.store import tombstones
from takeback.store.checkpoints import (
    conversation_tree,
    newest_checkpoint,
    read_coverage,
    write_checkpoint,
)
from takeback.store.conversation import Conversation, read_conversation
from takeback.store.records import read_record
from takeback.store.sink import PackSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.goal import Goal
    from takeback.ops.context import Context, LockedContext
    from takeback.ports import Adapter
    from takeback.worktree.stage import BlobSource


class Child(Value):
    """A session to be written: its ids, its file, where the store keeps its bytes."""

    id: SessionId
    agent: str
    native: str
    path: str
    tree: str
    directory: str
    worktree: str | None = None
    """A new directory for the checkpoint's files."""
    filling: str | None = None
    """The random temporary name beside it under which that directory is filled."""
    place: str = ""
    """The directory that the old transcript was read from, where the new file may also go."""
    root: str = ""
    """The agent's own directory, beneath which the new file may go."""

    @property
    def berth(self) -> Berth:
        """Where the session's file may be created."""
        return Berth(self.path, self.place, self.root)


class Cut(Value):
    """What happens to a conversation: a child, or, if nothing came before, a fresh start.

    ``reused`` says that the same place was cut before and the result was not continued.
    """

    child: Child | None
    resume: Resume | None
    prompt: str | None
    reused: bool = False


def conversation_of(context: Context, checkpoint: Checkpoint) -> tuple[bytes, ...]:
    """Returns the bytes of each file of the transcript at a checkpoint; raises StoreDamaged."""
    found = _kept(context, checkpoint)
    return () if found is None else found.parts


def _kept(
    context: Context, checkpoint: Checkpoint, earlier: Conversation | None = None
) -> Conversation | None:
    tree = conversation_tree(read_record(context.store, checkpoint.commit))
    return None if tree is None else Conversation(context.store, tree, earlier)


def history_at(
    context: Context, adapter: Adapter, target: Checkpoint, newest: Checkpoint | None
) -> bytes:
    """Returns the conversation at a checkpoint in the agent's format; raises Refused.

    The prompt's own entry, and what an agent writes a moment after its event, come later in the
    transcript. So the transcript is read if it still begins with these bytes; else what the
    ``newest`` checkpoint of the session keeps of it.
    """
    kept = _kept(context, target)
    if kept is None or not any(kept.parts):
        return b""
    parts = kept.parts
    anchor = Anchor(
        before=target.kind in (PROMPT, STEER),
        turn=target.turn_id,
        leaf=target.leaf,
        prompt=target.prompt,
    )
    later = _live(context, adapter, target, parts)
    if not later and disproved(context.store, target, newest):
        raise Refused(
            f"the transcript was rewritten during the turn, so what it said at {target.id} is not "
            "known exactly",
            hint=("take back the files alone: ", FILES_ALONE),
        )
    if not later and newest is not None:
        found = _kept(context, newest, kept)
        later = () if found is None else found.parts
    try:
        return adapter.cut(parts, anchor, later)
    except ValueError as error:
        raise Refused(
            f"the conversation cannot be cut at {target.id}: {error}",
            hint=("take back the files alone: ", FILES_ALONE),
        ) from None


def afterwards(
    context: Context,
    adapter: Adapter,
    target: Checkpoint,
    parts: tuple[bytes, ...],
    newest: Checkpoint | None,
) -> tuple[bytes, ...]:
    """Returns the transcript with what came after a checkpoint, which had ``parts`` of it."""
    found = _live(context, adapter, target, parts)
    if not found and newest is not None:
        return conversation_of(context, newest)
    return found


def _live(
    context: Context, adapter: Adapter, target: Checkpoint, parts: tuple[bytes, ...]
) -> tuple[bytes, ...]:
    """Returns the transcript as it is now; empty if it no longer begins as it was then.

    What was purged is blanked in it, as in what is kept of it. A record of another machine says
    nothing of files here.
    """
    if target.machine != context.store.machine:
        return ()
    found, roots = [], transcript_roots(context, adapter)
    purged = tombstones.load(context.store)
    for part, then in zip(target.transcript, parts, strict=False):
        now = read_now(part, roots)
        if now is not None and purged is not None:
            now = purged.blanked(now)
        if now is None or not now.startswith(then):
            return ()
        found.append(now)
    return tuple(found)


def berth_for(context: Context, adapter: Adapter, target: Checkpoint, path: str) -> Berth:
    """Returns where the file of a checkpoint's child may be created; "" means no file."""
    place = target.transcript[-1].place if target.transcript else ""
    return Berth(path, place, adapter.sessions_root(context.environ) or "")


def resume_of(
    context: Context,
    checkpoint: Checkpoint,
    adapter: Adapter,
    directory: str | None = None,
    moved: str | None = None,
) -> Resume:
    """Returns how to continue a session: in the host's own words, else in the adapter's.

    ``moved`` is its file, if it continues in a different directory.
    """
    native = checkpoint.native or ""
    where = directory or checkpoint.directory or ""
    is_ours = checkpoint.machine == context.store.machine
    if checkpoint.resume:
        words = tuple(word.replace("{session}", native) for word in checkpoint.resume)
        registered = is_ours and checkpoint.agent in context.policy.hosts
        return Resume(words, where, from_event=True, registered=registered)
    return adapter.resume(native, where, moved).replace(from_event=not is_ours)


def resume_line(context: Context, checkpoint: Checkpoint, start: Resume) -> Resume | None:
    """Returns how to start over; None if the host has its own words, which name a session."""
    if checkpoint.resume or not start.argv:
        return None
    return start.replace(from_event=checkpoint.machine != context.store.machine)


def write_child(
    context: LockedContext, child: Child, goal: Goal, blobs: BlobSource, *, again: bool
) -> None:
    """Writes the session's file and its first checkpoint; ``again`` after a crash.

    Raises Refused, WriteFailed or StoreDamaged; then the session does not exist.
    """
    target = goal.checkpoint
    assert target is not None  # only a checkpoint has a conversation that can be cut
    data = b"".join(read_conversation(context.store, bytes.fromhex(child.tree)))
    if child.worktree is not None:
        elsewhere.fill(context, goal, child, blobs, again=again)
    place = child.berth.write(data, target.id) if child.path else ""
    part = TranscriptPart(child.path, len(data), place)
    if child.worktree is not None:
        elsewhere.begin(context, child, target, data, part)
        return
    if newest_checkpoint(context.store, child.id) is not None:
        return
    moment = forked_from(target.moment)
    first = target.replace(
        id=new_checkpoint_id(),
        session=child.id,
        kind=moment.kind,
        time=context.clock.now(),
        commit=b"",
        saved=None,
        label=None,
        label_by=None,
        operation=None,
        prompt=None,
        turn=moment.turn,
        turn_id=None,
        phase=moment.phase,
        unfinished=False,
        native=child.native,
        directory=child.directory,
        leaf=None,
        entry=None,
        transcript=(part,),
        tools=(),
        subagent=None,
        origin=Origin(target.session, target.id),
        process=None,
        noted=told_until(context.store, target),
        late=False,
    )
    write_checkpoint(
        PackSink(context.lock, disk_floor=context.policy.disk_floor),
        first,
        None if target.expired is not None else read_coverage(context.store, target.commit),
        conversation=bytes.fromhex(child.tree),
        base=target.commit,
    )
