"""Fork: a conversation, cut at a place, written as a session of its own; files where one wants.

The agent's own transcript is never edited. The history up to the place is written as a new file
beside it, under a new id, and the new session's first checkpoint descends from the target. The
files may go into a new directory, so that two approaches can race.
"""

from __future__ import annotations

import os

from takeback import durable
from takeback.capture.capture import capture, draft, record
from takeback.context import Context
from takeback.errors import (
    FILES_ALONE,
    GitFailed,
    Option,
    Refused,
    StoreDamaged,
    TakebackError,
    TimedOut,
    UsageError,
    WriteFailed,
)
from takeback.fork.session_file import Berth, check_delivery, parcel_path
from takeback.git.process import LinkedWorktree
from takeback.ledger import lists as questions
from takeback.model.address import address
from takeback.model.checkpoint import (
    UNDO,
    Anchor,
    Change,
    Checkpoint,
    Origin,
    Resume,
    TranscriptPart,
)
from takeback.model.ids import SessionId, new_checkpoint_id, new_operation_id
from takeback.model.operation import Move, history
from takeback.model.path_text import is_inside_git, to_bytes, to_text
from takeback.model.turn import FOLDED, PROMPT, STEER, forked_from
from takeback.model.value import Value
from takeback.store import tombstones, trees
from takeback.store.conversation import Conversation, Part, read_conversation, write_conversation
from takeback.store.namespace import SESSIONS, session_id
from takeback.store.records import (
    conversation_tree,
    newest_checkpoint,
    read_coverage,
    read_operations,
    read_record,
    write_checkpoint,
)
from takeback.store.sink import PackSink
from takeback.turns.said import disproved, read_now, told_until, transcript_roots
from takeback.workspaces import locate, open_store, open_workspace
from takeback.worktree import project
from takeback.worktree.apply import Apply, make_units
from takeback.worktree.removal import remove_tree, rename_to_free_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.context import LockedContext
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import NewSession
    from takeback.model.entries import Session
    from takeback.model.operation import Goal
    from takeback.ports import Adapter
    from takeback.timeline.names import NamedTurn
    from takeback.worktree.stage import BlobSource


# -- writes the files of snapshots into directories of takeback's own making


def write_files(
    context: Context, fd: int, changes: Sequence[Change], blobs: BlobSource, *, into: str
) -> None:
    """Writes what is new into an open directory of ours, exactly.

    Raises Refused for a path that its file system does not take, and OSError if the disk fails.
    """
    for change in changes:
        if is_inside_git(change.path):
            raise StoreDamaged(f"a snapshot names {to_text(change.path)}, which none holds")
    units = make_units(changes, [], {})
    applied = Apply(fd, units, new_operation_id(), blobs, context.reporter).run()
    if applied.left_alone:
        first = applied.left_alone[0]
        raise Refused(
            f"{to_text(first.path)} cannot be written into {into}: {first.reason}",
            hint="nothing was changed in the workspace",
        )


# -- elsewhere: a checkpoint's files in a new directory, so that two approaches can race
#
# The directory is a workspace of its own, with its own store. It is filled under a random temporary
# name beside it and renamed when it is complete.


def new_directory(context: Context, path: str) -> str:
    """Returns the real path of a directory to be created; raises UsageError if it cannot be."""
    full = os.path.abspath(path)
    parent = os.path.realpath(os.path.dirname(full))
    full = os.path.join(parent, os.path.basename(full))
    if os.path.lexists(full):
        raise UsageError(f"{full} is there already", hint="name a directory that does not exist")
    if not os.path.isdir(parent):
        raise UsageError(f"{parent} is not a directory")
    root = os.fsdecode(context.workspace.root)
    if full.startswith(root + os.sep):
        raise UsageError(
            f"{full} lies inside the workspace {root}", hint="name a directory outside it"
        )
    return full


def temporary_name(directory: str) -> str:
    """Returns a unique name beside a new directory: anything found there is ours."""
    return f"{directory}.takeback-{new_operation_id()}"


def linked(context: Context, target: Checkpoint) -> LinkedWorktree:
    """Returns the git worktree that a fork's directory can become; raises UsageError.

    It is at the commit that was checked out then, if the project still has it, else at the
    present one.
    """
    git = project.git_directory(context.workspace.root)
    if git is not None and not project.is_own(git):
        raise UsageError(
            f"{to_text(context.workspace.root)}/.git leads to {to_text(git.git_dir)}, which does "
            "not know of this directory",
            hint=("without ", Option("--git"), " it is a plain directory"),
        )
    found = None
    if git is not None:
        place = os.fsdecode(git.git_dir)
        found = LinkedWorktree.at(context.store.find_git(), place, target.head, "HEAD")
    if found is None:
        raise UsageError(
            f"{to_text(context.workspace.root)} has no commit for a git worktree to be at",
            hint=("without ", Option("--git"), " it is a plain directory"),
        )
    return found


def link(worktree: LinkedWorktree, directory: str) -> None:
    """Makes a directory that a fork has filled a git worktree; raises WriteFailed."""
    try:
        worktree.attach(directory, temporary_name(directory))
    except (OSError, GitFailed, TimedOut) as error:
        raise WriteFailed(
            f"the files are in {directory}, but it could not be made a git worktree: {error}",
            hint="it is a plain directory; what git began: git worktree prune",
        ) from error


def fill(context: Context, goal: Goal, child: Child, blobs: BlobSource, *, again: bool) -> None:
    """Writes the files of a goal into the child's new directory; raises WriteFailed.

    ``again`` after a crash: then a directory that exists is the one that was filled. The journal
    keeps the temporary name, so that only what a killed process had begun is removed.
    """
    assert child.worktree is not None
    directory = child.worktree
    if again and os.path.isdir(directory):
        return
    temporary = child.filling or temporary_name(directory)
    parent = os.open(os.path.dirname(directory), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    name, final = (os.fsencode(os.path.basename(path)) for path in (temporary, directory))
    try:
        remove_tree(parent, name)
        durable.mkdir(name, dir_fd=parent)
        try:
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent)
            try:
                _write_files(context, goal, fd, directory, blobs)
            finally:
                os.close(fd)
            rename_to_free_name(name, final, dir_fd=parent)
        except (OSError, TakebackError):
            remove_tree(parent, name)
            raise
        durable.sync(parent)
    except OSError as error:
        raise WriteFailed.of("filling the new directory", error) from error
    finally:
        os.close(parent)


def _write_files(context: Context, goal: Goal, fd: int, directory: str, blobs: BlobSource) -> None:
    """Fills our directory, then gives it the permission bits of the root that it copies."""
    tree = trees.walk(context.store, bytes.fromhex(goal.tree))
    changes = [Change(path, None, entry) for path, entry in tree]
    write_files(context, fd, changes, blobs, into=directory)
    bits = goal.root_mode
    durable.chmod(fd, os.fstat(context.workspace.fd).st_mode if bits is None else bits)


def begin(
    context: Context, child: Child, target: Checkpoint, data: bytes, part: TranscriptPart
) -> None:
    """Makes the new directory a workspace with the child's first checkpoint in its own store."""
    assert child.worktree is not None
    location = locate(os.fsencode(child.worktree), context.environ, foreign_owner=False)
    store = open_store(location, context.environ, context.reporter, create=True)
    there = Context(
        workspace=open_workspace(location),
        store=store,
        policy=context.policy,
        clock=context.clock,
        reporter=context.reporter,
        environ=context.environ,
        holder=context.holder,
    )
    try:
        with there.locked() as locked:
            if store.refs.list(SESSIONS):
                return  # done before a crash
            moment = forked_from(target.moment)
            captured = capture(locked)
            drafted = draft(there, kind=moment.kind, session=child.id).replace(
                turn=moment.turn,
                phase=moment.phase,
                agent=child.agent,
                native=child.native,
                directory=child.directory,
                resume=target.resume,
                transcript=(part,) if data else (),
                origin=Origin(target.session, target.id, os.fsdecode(context.workspace.root)),
            )
            record(locked, captured, drafted, conversation=[Part(data)] if data else ())
    finally:
        there.workspace.close()
        store.close()


# -- child: a conversation, cut at a place, written as a session of its own


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

    What was purged is blanked in it, too.
    """
    if not context.wrote(target):
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
    """Returns where a child's file may be created ("": none): beside one that was seen here."""
    beneath = "" if context.wrote(target) else os.fsdecode(context.workspace.root)
    place = target.transcript[-1].place if target.transcript and not beneath else ""
    return Berth(path, place, adapter.sessions_root(context.environ) or beneath)


def directory_of(context: Context, checkpoint: Checkpoint) -> str:
    """Returns where a session works here."""
    told = checkpoint.directory if context.wrote(checkpoint) else None
    return told or os.fsdecode(context.workspace.root)


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
    where = directory or directory_of(context, checkpoint)
    if checkpoint.resume:
        words = tuple(word.replace("{session}", native) for word in checkpoint.resume)
        registered = context.wrote(checkpoint) and checkpoint.agent in context.policy.hosts
        return Resume(words, where, from_event=True, registered=registered)
    return adapter.resume(native, where, moved).replace(from_event=not context.wrote(checkpoint))


def resume_line(context: Context, checkpoint: Checkpoint, start: Resume) -> Resume | None:
    """Returns how to start over; None if the host has its own words, which name a session."""
    if checkpoint.resume or not start.argv:
        return None
    return start.replace(from_event=not context.wrote(checkpoint))


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
        fill(context, goal, child, blobs, again=again)
    place = child.berth.write(data, target.id) if child.path else ""
    part = TranscriptPart(child.path, len(data), place)
    if child.worktree is not None:
        begin(context, child, target, data, part)
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


# -- choices: what can be done at a checkpoint, and why the rest cannot, in words


class Choices(Value):
    """What can be done at ``checkpoint``; ``about`` says in words where that is.

    ``no_conversation`` is why the conversation cannot go there, None if it can. ``undo`` and
    ``redo`` are the operations that these would apply to now, None if there is none. ``turn`` is
    the one that it begins, ends or belongs to, None if it is in none.
    """

    checkpoint: Checkpoint
    about: str
    no_conversation: str | None
    undo: Move | None
    redo: Move | None
    turn: NamedTurn | None = None


def choices(
    context: Context,
    adapter: Adapter,
    target: Checkpoint,
    *,
    session: Session | None,
    newest: Checkpoint | None,
) -> Choices:
    """Works out what is possible at a checkpoint; reads the conversation, and changes nothing."""
    stacks = history(read_operations(context.store))
    return Choices(
        checkpoint=target,
        about=address(target, context.clock.now()),
        no_conversation=_no_conversation(context, adapter, target, session, newest),
        undo=stacks.undo[-1].operation if stacks.undo else None,
        redo=stacks.redo[-1].operation if stacks.redo else None,
    )


def _no_conversation(
    context: Context,
    adapter: Adapter,
    target: Checkpoint,
    session: Session | None,
    newest: Checkpoint | None,
) -> str | None:
    if target.agent is None or target.native is None:
        return "this checkpoint was made without an agent"
    if not context.policy.conversation:
        return "conversations are not kept (conversation = off)"
    if session is None or session.transcript is None:
        return "this session has no conversation"
    # Before the first prompt there is no conversation to keep; anywhere else its absence is a gap,
    # and going there would silently begin an empty session.
    is_first = target.kind == PROMPT and (target.turn or 0) <= 1
    if not target.transcript and not is_first:
        return "the conversation was not kept at this moment"
    try:
        if history_at(context, adapter, target, newest):
            berth_for(context, adapter, target, target.transcript[-1].path).check(target.id)
            check_delivery(context, adapter)
    except TakebackError as error:
        return error.message
    return None


# -- offshoots: sessions that were cut from another and have not been continued yet
#
# Each step back makes one. A list that gave each a row would bury the timeline under them, so an
# offshoot is shown on the row that it was cut from; with its first turn it gets rows of its own.


class Offshoots(Value):
    """``hidden`` are the rows that are left out, each with the checkpoint that it is a copy of.

    ``on`` says which sessions are shown on which row.
    """

    hidden: Mapping[str, str] = {}
    on: Mapping[str, tuple[str, ...]] = {}

    def shown_as(self, place: str | None) -> str | None:
        """Returns a place, or what it is a copy of if its own row is left out."""
        while place is not None and place in self.hidden:
            place = self.hidden[place]
        return place


NO_OFFSHOOTS = Offshoots()


def offshoots(ledger: Ledger) -> Offshoots:
    """Returns the sessions that have nothing of their own to show, newest first."""
    unused = questions.unused_forks(ledger, (*FOLDED, UNDO))
    if not unused:
        return NO_OFFSHOOTS
    origins = {id: origin for id, _, origin in unused}
    hosts = questions.shown_by(ledger, sorted(set(origins.values())), FOLDED)
    found: dict[str, tuple[str, ...]] = {}
    hidden: dict[str, str] = {}
    for id, session, origin in unused:
        host = hosts.get(origin)
        seen = {id}
        while host in origins and host not in seen:  # an offshoot of an offshoot
            seen.add(host)
            host = hosts.get(origins[host])
        if host is None or host in origins:
            continue  # no row shows where it comes from, so it has its own
        hidden[id] = origin
        found[host] = (*found.get(host, ()), session)
    return Offshoots(hidden, found)


# -- cut: works out the session that a conversation becomes when it is cut at a checkpoint


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
    where = worktree or directory_of(context, target)
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
        filling=None if worktree is None else temporary_name(worktree),
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
    if other.native is None or other.agent is None:
        return None
    if not other.transcript or not context.wrote(other):
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
        directory=directory_of(context, other),
        place=berth.place,
        root=berth.root,
    )


def _without(data: bytes, native: str) -> int:
    """Returns the length of a history without its ids, by which two copies of it are compared."""
    return len(data.replace(to_bytes(native), b""))
