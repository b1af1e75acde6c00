"""Where in its session a checkpoint is, and how each event moves that place forward.

A turn is one human prompt sent while the agent is idle, and everything that it causes:

    prompt ── round ── round ── steer ── round ── turn end        counted
    turn end without a prompt (``!command``)                      kind ``shell``, not counted
    prompt ── (killed, Esc) ── prompt                             the first is unfinished
    prompt ── turn end, tasks go on ── round ── turn end          the tasks' rounds belong to it
"""

from __future__ import annotations

from takeback.model import event as events
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    from takeback.model.event import AgentEvent

    CheckpointKind = Literal[
        "session start",
        "prompt",
        "steer",
        "round",
        "turn end",
        "shell",
        "compaction",
        "fork",
        "branch",
        "session end",
        "manual",
        "undo",
    ]
    Phase = Literal["idle", "running", "background"]

SESSION_START: Final = "session start"
PROMPT: Final = "prompt"
STEER: Final = "steer"
ROUND: Final = "round"
TURN_END: Final = "turn end"
SHELL: Final = "shell"
COMPACTION: Final = "compaction"
FORK: Final = "fork"
BRANCH: Final = "branch"
SESSION_END: Final = "session end"
FOLDED = (ROUND, TURN_END, SESSION_START, SESSION_END)
"""Kinds that a list leaves out: parts of a turn, or not a place to go back to."""

IDLE: Final = "idle"
RUNNING: Final = "running"
BACKGROUND: Final = "background"


class Moment(Value):
    """The place of a checkpoint in its session.

    ``turn`` numbers the newest counted turn, 0 before the first; ``turn_id`` is the agent's own id
    for it. ``phase`` is what the session is doing from here on. ``unfinished`` says that the turn
    before this moment never announced its end, so the changes found here belong to it.
    """

    kind: CheckpointKind
    turn: int = 0
    turn_id: str | None = None
    phase: Phase = IDLE
    unfinished: bool = False


def follow(last: Moment | None, event: AgentEvent) -> Moment | None:
    """Returns the moment that an event makes after ``last``; None if it makes none."""
    last = last or Moment(SESSION_START)
    return _RULES[event.kind](last, event)


def _session_start(last: Moment, event: AgentEvent) -> Moment:
    if event.reason == events.COMPACT:  # the same process continues the same turn
        told_before = last.kind == COMPACTION  # when it began, and one row is enough
        kind = SESSION_START if told_before else COMPACTION
        return last.replace(kind=kind, unfinished=False)
    return ended(SESSION_START, last)


def _prompt(last: Moment, event: AgentEvent) -> Moment:
    running = last.phase == RUNNING
    if not event.human and last.turn:
        return last.replace(
            kind=ROUND, phase=RUNNING, turn_id=event.turn or last.turn_id, unfinished=False
        )
    same = event.turn is not None and event.turn == last.turn_id
    if running and (event.steer or same):
        return last.replace(kind=STEER, unfinished=False)
    return Moment(PROMPT, last.turn + 1, event.turn, RUNNING, last.phase != IDLE)


def _round_end(last: Moment, event: AgentEvent) -> Moment:
    phase = RUNNING if _was_closed(last, event) else last.phase
    return last.replace(kind=ROUND, phase=phase, unfinished=False)


def _was_closed(last: Moment, event: AgentEvent) -> bool:
    """Tells whether somebody other than the agent has declared the turn of an event over."""
    return last.kind == TURN_END and last.unfinished and event.turn in (None, last.turn_id)


def _turn_end(last: Moment, event: AgentEvent) -> Moment:
    phase: Phase = BACKGROUND if event.background else IDLE
    known = event.turn is None or last.turn_id is None or event.turn == last.turn_id
    if (last.phase == RUNNING and known) or _was_closed(last, event):
        return last.replace(kind=TURN_END, phase=phase, unfinished=False)
    if last.turn and known and (last.phase == BACKGROUND or event.continues):
        return last.replace(kind=TURN_END, phase=phase, unfinished=False)
    return Moment(SHELL, last.turn, event.turn, phase, last.phase == RUNNING)


def _interrupted(last: Moment, event: AgentEvent) -> Moment | None:
    if last.phase == IDLE:
        return None
    return last.replace(kind=TURN_END, phase=IDLE, unfinished=False)


def _compact(last: Moment, event: AgentEvent) -> Moment:
    return last.replace(kind=COMPACTION, unfinished=False)


def _before_fork(last: Moment, event: AgentEvent) -> Moment:
    return last.replace(kind=FORK, unfinished=False)


def _branch(last: Moment, event: AgentEvent) -> Moment:
    return last.replace(kind=BRANCH, unfinished=False)


def _session_end(last: Moment, event: AgentEvent) -> Moment | None:
    return None if last.phase == IDLE else ended(SESSION_END, last)


def ended(kind: CheckpointKind, last: Moment) -> Moment:
    """A session that starts or ends has no running turn; one that was running stays unfinished."""
    return last.replace(kind=kind, phase=IDLE, unfinished=last.phase != IDLE)


def _nothing(last: Moment, event: AgentEvent) -> None:
    return None


_RULES = {
    events.SESSION_START: _session_start,
    events.FORKED: _session_start,
    events.PROMPT: _prompt,
    events.TOOL_BEFORE: _nothing,
    events.TOOL_AFTER: _round_end,
    events.ROUND_END: _round_end,
    events.TURN_END: _turn_end,
    events.INTERRUPTED: _interrupted,
    events.COMPACT: _compact,
    events.BEFORE_FORK: _before_fork,
    events.BEFORE_TREE: _branch,
    events.TREE: _branch,
    events.SESSION_END: _session_end,
}


def forked_from(base: Moment) -> Moment:
    """Returns the moment of a child that begins at ``base`` of its parent.

    A child of "before turn 3" has turns 1 and 2 behind it, and its next prompt is turn 3.
    """
    turn = base.turn - 1 if base.kind == PROMPT else base.turn
    return Moment(FORK, turn, None, IDLE)
