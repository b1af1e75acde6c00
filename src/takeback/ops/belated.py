"""Belated: a turn that nobody announced, found by what it did to the files.

        last kept ──────── now              what differs is a turn: its prompt has the files
          prompt          turn end          as they were last kept, its end those of now

A program without hooks says nothing before it changes a file. So the checkpoint before its turn is
made afterwards, of files that are in the store already; if nothing differs, there was no turn.
While another agent's turn is open here, that one says what it does: then only the files are kept.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.model import event as events
from takeback.model.checkpoint import UNDO
from takeback.model.operation import Move
from takeback.ops.capture import capture
from takeback.ops.closing import close_gone
from takeback.ops.event_step import NO_TRANSCRIPT, EventStep
from takeback.ops.predecessor import newest_kept
from takeback.ops.receive import record_waiting
from takeback.store import notes, trees
from takeback.store.namespace import session_id
from takeback.store.operations import newest_here, operation_of
from takeback.store.records import read_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import AgentEvent
    from takeback.model.ids import SnapshotId
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context
    from takeback.store.store import Store


def record_belated(
    context: Context,
    told: Sequence[AgentEvent],
    *,
    always: bool,
    besides: tuple[bytes, ...] = (),
    wait: float,
) -> tuple[Checkpoint, ...]:
    """Records events of one session that are noticed only now; returns their checkpoints.

    A prompt among them gets the files as they were last kept, the others those of now. Unless
    ``always``, nothing is recorded if these are the same, or differ only in paths that begin as one
    of ``besides``: what the program writes for itself. Raises InUse after ``wait`` seconds, and
    what a capture raises; then the next call finds everything that happened.
    """
    first = told[0]
    session = session_id(first.agent, first.session)
    with context.locked(wait=wait) as locked:
        captured = capture(locked)
        close_gone(locked, captured, besides=session)
        record_waiting(locked, captured)
        last = last_kept(locked.store)
        if last is not None and not always and not _differs(locked.store, last, captured, besides):
            captured.keep()
            return ()
        others = [one for one in notes.with_open_turn(locked.store) if one != session]
        if others and not always and first.kind == events.PROMPT:
            told = (first.replace(kind=events.SESSION_START, turn=None, prompt=None),)
        made = []
        for event in told:
            step = EventStep(locked, event, NO_TRANSCRIPT)
            if step.moment is None:
                continue
            if event.kind == events.PROMPT and last is not None:
                made.append(step.record_as_kept(last))
            else:
                made.append(step.record(captured))
        captured.keep()
        return tuple(made)


def _differs(
    store: Store, last: Checkpoint, captured: Captured, besides: tuple[bytes, ...]
) -> bool:
    if last.snapshot == captured.snapshot:
        return False
    if not besides:
        return True
    captured.revealed()
    changes = trees.diff(store, last.tree, captured.tree)
    return any(not change.path.startswith(besides) for change in changes)


def last_kept(store: Store) -> Checkpoint | None:
    """Returns the newest checkpoint of the workspace, with the files as an operation left them."""
    newest = newest_kept(store)
    if newest is None or newest.kind != UNDO:
        return newest
    after = _after_the_newest(store)
    return newest if after is None else newest.replace(snapshot=after)


def _after_the_newest(store: Store) -> SnapshotId | None:
    """Returns the files that the newest operation left; None if it moved none."""
    try:
        tip = newest_here(store)
        done = None if tip is None else operation_of(read_record(store, tip))
    except StoreDamaged:
        return None
    return done.after if isinstance(done, Move) and done.moves_files else None
