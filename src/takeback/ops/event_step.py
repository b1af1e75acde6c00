"""Step: one event of an agent, and the checkpoint that it leads its session to."""

from __future__ import annotations

from takeback.model import event as events
from takeback.model.checkpoint import UNDO, Checkpoint
from takeback.model.coverage import LET_GO
from takeback.model.event import READ
from takeback.model.session import Origin
from takeback.model.turn import (
    BACKGROUND,
    FORK,
    IDLE,
    PROMPT,
    ROUND,
    SESSION_START,
    STEER,
    follow,
    forked_from,
)
from takeback.model.value import Value
from takeback.ops.capture import draft_after, record, record_again
from takeback.ops.processes import seen
from takeback.ops.said import said_in, said_now
from takeback.store import notes
from takeback.store.checkpoints import checkpoints_back, newest_checkpoint
from takeback.store.namespace import session_id
from takeback.store.operations import newest_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.model.event import AgentEvent, ToolCall
    from takeback.model.session import TranscriptPart
    from takeback.model.turn import Moment
    from takeback.ops.awaited import StatusIn
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context, LockedContext
    from takeback.ops.said import SaidPart
    from takeback.store.conversation import Part


class Transcript(Value):
    """The files of a conversation with their present lengths, and how its agent's are read.

    ``status_in`` tells from the end of one how the command of a call ended, ``follows`` from the
    whole of one which turns a turn follows whose agent had gone back.
    """

    files: tuple[TranscriptPart, ...] = ()
    status_in: StatusIn | None = None
    follows: Callable[[bytes, str], tuple[str, ...]] | None = None


NO_TRANSCRIPT = Transcript()


class EventStep:
    """One event and where it leads its session."""

    def __init__(self, context: LockedContext, event: AgentEvent, transcript: Transcript) -> None:
        self._context = context
        self._event = event
        self._transcript = transcript
        self.session = session_id(event.agent, event.session)
        self.newest = newest_checkpoint(context.store, self.session)
        self._base = _base(context, event) if self.newest is None else None
        self._last = self._where()
        self.moment = follow(self._last, event)
        self._tells = self.moment is not None and self.moment.kind in (PROMPT, STEER)
        """Whether the model can be told something now."""
        self._newest_operation = newest_id(context.store) if self._tells else None

    def _where(self) -> Moment | None:
        if self.newest is not None:
            return self.newest.moment
        return None if self._base is None else forked_from(self._base.moment)

    def adds_nothing(self, captured: Captured) -> bool:
        """True if the place already exists: a second start, a round that only read."""
        assert self.moment is not None
        if self.newest is None or self.newest.expired is not None:
            return False
        if captured.snapshot != self.newest.snapshot:
            return False
        if self.moment.unfinished or self.moment.phase != self.newest.moment.phase:
            return False
        if self.moment.kind == ROUND:
            return all(tool.kind == READ for tool in self._event.tools) and self._event.human
        return self.moment.kind == SESSION_START

    def is_recorded(self, *, since: float) -> bool:
        """True for the end of a round, which came then, if the newest checkpoint is already of it.

        The process that recorded it was killed before it could say so.
        """
        newest, event = self.newest, self._event
        if newest is None or newest.kind != ROUND or event.kind != events.ROUND_END:
            return False
        known = (newest.subagent, newest.tools) == (event.subagent, _noted_tools(event))
        return known and newest.time >= since and not newest.late

    def record(self, captured: Captured, *, late: bool = False) -> Checkpoint:
        drafted, kept = self._drafted(late=late)
        made = record(self._context, captured, drafted, conversation=kept, base=self._base)
        return self._noted_as_open(made)

    def record_as_kept(self, last: Checkpoint) -> Checkpoint:
        """Makes the checkpoint with the files of ``last``, not with those of now."""
        drafted, kept = self._drafted(late=False)
        return self._noted_as_open(record_again(self._context, last, drafted, conversation=kept))

    def _noted_as_open(self, made: Checkpoint) -> Checkpoint:
        notes.note_turn(self._context.lock, self.session, is_open=made.phase != IDLE)
        return made

    def _drafted(self, *, late: bool) -> tuple[Checkpoint, list[Part]]:
        """Returns the checkpoint but for its files, and the conversation that it keeps."""
        event, moment, base = self._event, self.moment, self._base
        assert moment is not None
        # Since it was read nobody else could write to this session: the lock is held.
        drafted = draft_after(
            self.newest, self._context, kind=moment.kind, session=self.session
        ).replace(
            prompt=event.prompt,
            turn=moment.turn,
            turn_id=moment.turn_id,
            phase=moment.phase,
            unfinished=moment.unfinished,
            stopped=self._is_stopped or (moment.unfinished and self._was_stopped),
            agent=event.agent,
            native=event.session,
            directory=event.directory,
            leaf=event.leaf,
            entry=event.entry,
            tools=_noted_tools(event),
            subagent=event.subagent,
            late=late,
        )
        if event.resume:
            drafted = drafted.replace(resume=event.resume)
        if moment.phase != BACKGROUND or event.background:
            drafted = drafted.replace(left=())
        drafted = drafted.replace(below=event.below)
        if event.process is not None:
            drafted = drafted.replace(process=seen(event.process))
        if base is not None:
            drafted = drafted.replace(origin=Origin(base.session, base.id))
        told = self._tells and not late  # nobody is told what comes late
        drafted = drafted.replace(noted=self._newest_operation if told else self._noted)
        said = self._said(whole=late or moment.kind != ROUND)
        parts = tuple(one.part for one in said)
        drafted = drafted.replace(follows=self._follows(said))
        drafted = self._with_tests(drafted.replace(transcript=parts), said)
        return drafted, [one.kept for one in said]

    def _follows(self, said: list[SaidPart]) -> tuple[str, ...]:
        """Returns what the session's newest turn follows, if its agent had gone back before it.

        The agent writes a prompt down only after its event, and may be late even at the end of a
        short turn: then the next event that reads all of the transcript has it.
        """
        newest, follows = self.newest, self._transcript.follows
        if follows is None or not said or newest is None or not newest.turn_id:
            return ()
        if newest.turn_id in newest.follows[:1] or said[-1].kept.after.size:  # only its end is read
            return ()
        found = follows(said[-1].kept.data, newest.turn_id)
        return (newest.turn_id, *found) if found else ()

    @property
    def _is_stopped(self) -> bool:
        """Whether a person stopped the turn, not a failure that its agent has announced."""
        event = self._event
        return event.kind == events.INTERRUPTED and event.reason == events.BY_PERSON

    @property
    def _was_stopped(self) -> bool:
        return self.newest is not None and self.newest.stopped

    def _with_tests(self, drafted: Checkpoint, said: list[SaidPart]) -> Checkpoint:
        """Returns a checkpoint with what is known of tests; what comes late ran on other files."""
        event = self._event.replace(tools=()) if drafted.late else self._event
        before = self._last_told
        awaited = before is not None and before.awaited
        if not awaited and not any(_has_an_end(tool) for tool in event.tools):
            return drafted
        from takeback.ops.awaited import how_tests_ended

        found = how_tests_ended(
            event,
            before,
            said[-1].tail if said else None,
            prefixes=self._context.policy.test_commands,
            status_in=self._transcript.status_in,
        )
        return drafted.replace(
            tested=found.tested, tested_earlier=found.earlier, awaited=found.awaited
        )

    @property
    def _last_told(self) -> Checkpoint | None:
        """Returns the newest checkpoint but for what operations have saved since."""
        if self.newest is None or self.newest.kind != UNDO:
            return self.newest
        back = checkpoints_back(self._context.store, self.newest.commit)
        return next((one for one in back if one.kind != UNDO), None)

    def _said(self, *, whole: bool) -> list[SaidPart]:
        if self._event.messages is not None:
            return [said_in(self._context.store, self._event.messages)]
        return said_now(self._context.store, self._transcript.files, self.newest, whole=whole)

    def warning(self, made: Checkpoint, captured: Captured) -> str | None:
        """Returns what the person must be told: what is no longer held, or new and not held."""
        if made.complete and not captured.coverage.names(LET_GO):
            return None
        from takeback.ops.gaps import new_gaps

        return new_gaps(self._context.store, self.newest, captured.coverage)

    def note(self) -> str | None:
        """Returns what the model must be told: files that changed under its conversation."""
        began = self.newest or self._base
        if not self._tells or began is None:
            return None
        if self._last is None or not self._last.turn or self._newest_operation == self._noted:
            return None
        from takeback.ops.notes import note_of, untold

        found = untold(self._context.store, began.commit, self._noted)
        return None if found is None else note_of(found)

    @property
    def _noted(self) -> str | None:
        """Returns the last operation that the session's model has been told about."""
        if self.newest is not None:
            return self.newest.noted
        if self._base is None:
            return None
        if self._event.leaf not in (None, self._base.leaf):
            return self._base.noted  # the agent cut after the note, which comes before its prompt
        from takeback.ops.notes import told_until

        return told_until(self._context.store, self._base)


def _noted_tools(event: AgentEvent) -> tuple[ToolCall, ...]:
    return tuple(tool.replace(command=None, status=None, call=None) for tool in event.tools)


def _has_an_end(tool: ToolCall) -> bool:
    return tool.status is not None or tool.call is not None


def _base(context: Context, event: AgentEvent) -> Checkpoint | None:
    """Returns the checkpoint that a new session descends from, if any.

    The parent may have said beforehand where the fork goes (``before_fork`` with its entry); else
    it is where the parent is.
    """
    if event.parent is None:
        return None
    parent = session_id(event.agent, event.parent)
    entry = event.entry
    found: Checkpoint | None = None
    newest = newest_checkpoint(context.store, parent)
    for checkpoint in checkpoints_back(context.store, None if newest is None else newest.commit):
        if checkpoint.kind == UNDO:  # the fork's own files may have been restored meanwhile
            continue
        if found is None and entry is None and checkpoint.kind == FORK:
            entry = checkpoint.entry
        elif entry is not None:
            if entry in (checkpoint.turn_id, checkpoint.leaf) and checkpoint.kind == PROMPT:
                return checkpoint
        elif checkpoint.agent is not None:
            return checkpoint
        found = found or checkpoint
    return found
