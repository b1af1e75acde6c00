"""Rewind: brings the files back to a checkpoint.

lock                     one operation at a time
capture                  what is there now
prepare                  every change decided, everything in the way saved
undo snapshot   durable  from here on nothing can be lost
journal         durable  from here on the operation is finished or rolled back
apply                    worktree/apply.py
capture                  where it wrote, compared with the target; the stat cache saved
operation log   durable  undo finds it here
journal removed
"""

from __future__ import annotations

from takeback.errors import Refused, WriteFailed
from takeback.model.checkpoint import UNDO
from takeback.model.ids import CheckpointId, MachineId, new_operation_id
from takeback.model.keeping import NOTHING
from takeback.model.operation import GOES, Move, way
from takeback.ops import journal_entry
from takeback.ops.capture import capture, draft, record
from takeback.ops.closing import close_gone
from takeback.ops.conclude import Carried, conclude, nothing_done
from takeback.ops.facts import until_now
from takeback.ops.failures import Translated
from takeback.ops.journal_entry import JournalEntry
from takeback.ops.plan import describe
from takeback.ops.preconditions import about_its_files
from takeback.ops.prepare import prepare
from takeback.ops.receive import record_waiting
from takeback.store import journal
from takeback.store.blobs import StoreBlobs
from takeback.worktree.apply import Apply
from takeback.worktree.unit import make_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.plan import Outcome, Plan
    from takeback.ops.capture import Captured
    from takeback.ops.child import Cut
    from takeback.ops.context import Context, LockedContext
    from takeback.ops.facts import Facts
    from takeback.ops.prepare import Prepared
    from takeback.ops.request import Request
    from takeback.worktree.apply import Applied


def take_in(context: LockedContext) -> Captured:
    """Looks at the files and records what is known by now, so that decisions see all of it.

    That is the waiting events, and the ends of turns whose agents are gone. What a request takes
    from the ledger has to be read after this, under the same lock.

    What is captured can be read, and is durable with the undo snapshot.
    """
    captured = capture(context).revealed()
    record_waiting(context, captured)
    close_gone(context, captured)
    return captured


def rewind(
    context: LockedContext, captured: Captured, request: Request, *, shown: Plan | None = None
) -> Outcome:
    """Carries out a request on the files that ``take_in`` saw.

    ``shown`` is the plan that a person agreed to; if the workspace has changed so much that a
    different one would be carried out, it is refused. Raises Refused or WriteFailed; the outcome
    names what was left alone.
    """
    with Translated(f"the {request.kind}", undo=captured.sink.discard):
        request = request.replace(facts=until_now(context, captured, request.facts))
        changes = prepare(context, captured, request, save=True)
        made = describe(context, captured, request, changes)
    if shown is not None and not made.same_changes(shown):
        captured.drop_added()
        raise Refused(
            "the workspace changed since the plan was shown",
            hint="run the command again to see the new plan",
        )
    if made.refused:
        captured.drop_added()
        raise refused(made)
    cut = request.cut
    if made.is_empty and request.kind in GOES and _is_there(cut, request.facts):
        captured.drop_added()
        nothing = nothing_done(request.kind, request.goal, made.left_alone, scope=request.moves)
        nothing = nothing.replace(beyond=made.beyond, edits=made.edits)
        return nothing if cut is None else _with_cut(nothing, cut)
    if shown is None and request.goal.checkpoint is not None:  # a plan that was shown has said so
        for line in about_its_files(request.goal.checkpoint):
            context.reporter.note(line)
    operation = _operation(context, request)
    before = _undo_snapshot(context, captured, request, changes, operation.id)
    operation = operation.replace(
        before=before.id,
        was=before.snapshot,
        time=context.clock.now(),
        sequence=before.sequence,
    )
    units = tuple(make_units(changes.writes, changes.deletes, changes.displaced))
    child = cut.child if cut is not None else None
    goal = request.goal
    own = goal if goal.checkpoint is None or goal.own else None
    entry = JournalEntry(operation, units, made.left_alone, child, own)
    applied = _apply(context, entry)
    outcome = conclude(context, Carried(entry, request.goal, before, applied, captured))
    outcome = outcome.replace(beyond=made.beyond, edits=made.edits)
    return outcome if cut is None else _with_cut(outcome, cut)


def refused(plan: Plan) -> Refused:
    """Returns the error that lists all objections to a plan, each once."""
    reasons = "; and ".join(dict.fromkeys(one.message for one in plan.refused))
    fields = dict.fromkeys(one.waivers[-1] if one.waivers else "" for one in plan.refused)
    hint = f"what waives it: {', '.join(fields)}" if all(fields) else "nothing was changed"
    return Refused(reasons, hint=hint, refusals=plan.refused)


def _operation(context: Context, request: Request) -> Move:
    """Returns the line of the log as far as known before anything is done."""
    goal, of = request.goal, request.of
    child = request.cut.child if request.cut is not None else None
    return Move(
        id=new_operation_id(),
        kind=request.kind,
        session=goal.session if of is None else of.session,
        time=context.clock.now(),
        sequence=0,  # when it is written, it gets a number
        machine=MachineId(""),  # and a name
        target=goal.id,
        before=CheckpointId(""),
        after=goal.tree,
        paths=request.scope.paths,
        of=None if of is None else of.id,
        scope=request.moves,
        child=child.id if child is not None else None,
        directory=child.worktree if child is not None else None,
        about=goal.about,
        target_sequence=0 if goal.checkpoint is None else goal.checkpoint.sequence,
        keeps=request.keeping != NOTHING,
    )


def _is_there(cut: Cut | None, facts: Facts) -> bool:
    """Tells whether the conversation need not move, as it is already at this very session.

    Going to that session again after an undo is an operation, else there would be nothing to undo.
    """
    if cut is None:
        return True
    if cut.child is None:
        return facts.current is None
    return cut.reused and facts.current == cut.child.id


def _undo_snapshot(
    context: LockedContext, captured: Captured, request: Request, changes: Prepared, token: str
) -> Checkpoint:
    """Keeps everything that the operation replaces, as a checkpoint; durable when it returns."""
    goal = request.goal
    undo = draft(context, kind=UNDO, session=goal.session)
    about = f"before {request.kind} {way(request.kind)} {goal.name}"
    undo = undo.replace(prompt=about, operation=token)
    return record(context, captured.keeping(changes.saved), undo)


def _apply(context: LockedContext, entry: JournalEntry) -> Applied:
    """Writes the journal, then makes the changes; leaves no journal if nothing was changed."""
    kind, store = entry.operation.kind, context.store
    with Translated(f"the {kind}"):
        journal_entry.write(context.lock, entry)
    apply = Apply(
        context.workspace.fd,
        list(entry.units),
        entry.operation.id,
        StoreBlobs(store),
        context.reporter,
    )
    try:
        return apply.run()
    except OSError as error:
        if apply.changed_nothing:
            apply.discard_staged()
            with Translated(f"the {kind}"):
                journal.remove(context.lock)
        raise WriteFailed.of(f"the {kind}", error) from error


def _with_cut(outcome: Outcome, cut: Cut) -> Outcome:
    if outcome.conversation_error is not None:
        return outcome
    session = cut.child.id if cut.child is not None else None
    return outcome.replace(session=session, resume=cut.resume, prompt=cut.prompt)
