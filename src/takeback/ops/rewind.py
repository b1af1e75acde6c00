"""Rewind: bring the files back to a checkpoint.

lock                     one operation at a time
capture                  what is there now
prepare                  every change decided, all that stands in the way saved
undo snapshot   durable  from here on nothing can be lost
journal         durable  from here on the operation is finished or rolled back
apply                    worktree/apply.py
capture                  compared with the target
operation log   durable  undo finds it here
journal removed
"""

from __future__ import annotations

from takeback.errors import Refused, TakebackError, WriteFailed
from takeback.model.checkpoint import UNDO, Checkpoint
from takeback.model.ids import CheckpointId, new_operation_id
from takeback.model.operation import BOTH, CONVERSATION, FILES, REWIND, Move
from takeback.model.plan import LeftAlone, Outcome
from takeback.ops import journal_entry
from takeback.ops.capture import capture, draft, record
from takeback.ops.child import write_child
from takeback.ops.closing import close_gone
from takeback.ops.facts import NO_FACTS, Facts, until_now
from takeback.ops.failures import Translated
from takeback.ops.journal_entry import JournalEntry
from takeback.ops.plan import describe, prepare
from takeback.ops.receive import record_waiting
from takeback.ops.verification import Brought, Verification
from takeback.store import journal
from takeback.store.operations import write_operation
from takeback.worktree.apply import Apply
from takeback.worktree.unit import make_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.model.operation import OperationKind, ScopeKind
    from takeback.model.plan import Plan
    from takeback.model.policy import Overrides
    from takeback.ops.capture import Captured
    from takeback.ops.child import Child, Cut
    from takeback.ops.context import Context, LockedContext
    from takeback.ops.prepare import Preparation
    from takeback.ops.scope import Scope
    from takeback.store.store import Store
    from takeback.worktree.apply import Applied
    from takeback.worktree.unit import Unit


_LONGEST_LINK = 1 << 16
"""What is asked for whole is where a link leads; no system has longer paths."""


class StoreBlobs:
    """The bytes of a store's blobs, hash-checked, for the code that writes files."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def blob(self, oid: bytes) -> bytes:
        return self._store.blob(oid, _LONGEST_LINK)

    def size_of(self, oid: bytes) -> int:
        return self._store.packs.size_of(oid)

    def stream(self, oid: bytes, write: Callable[[bytes], None]) -> None:
        self._store.packs.open_stream(oid, write)


def rewind(
    context: LockedContext,
    target: Checkpoint,
    scope: Scope,
    overrides: Overrides,
    *,
    shown: Plan | None = None,
    facts: Facts = NO_FACTS,
    kind: OperationKind = REWIND,
    of: Move | None = None,
    cut: Cut | None = None,
    about: str | None = None,
) -> Outcome:
    """Carries out a plan. The caller has recovered an interrupted operation before.

    ``cut`` says what becomes of the conversation, ``of`` which operation an undo or redo is
    about, ``about`` where it goes in words.

    ``shown`` is the plan that a person said yes to; if the workspace has changed so much
    that another one would be carried out, it is refused. Raises Refused or WriteFailed; the
    outcome names what was left alone.
    """
    captured = capture(context)
    captured.keep()
    record_waiting(context, captured)
    close_gone(context, captured)
    with Translated(f"the {kind}", undo=captured.sink.discard):
        facts = until_now(context, captured, facts)
        changes = prepare(context, captured, target, scope, overrides, facts, save=True)
        made = describe(context, captured, target, scope, changes, overrides, facts)
    if shown is not None and not made.same_changes(shown):
        captured.sink.discard()
        raise Refused(
            "the workspace changed since the plan was shown",
            hint="run the command again to see the new plan",
        )
    if made.refused:
        captured.sink.discard()
        raise refused(made)
    if made.is_empty and kind == REWIND and _is_there(cut, facts):
        nothing = _nothing_done(kind, target, made.left_alone, scope=_moved(scope, cut))
        nothing = nothing.replace(about=about)
        return nothing if cut is None else _with_cut(nothing, cut)
    if target.amid is not None and shown is None:  # a plan that was shown has said it
        context.reporter.note(made.warnings[-1])
    drafted = _operation(context, made, kind, of, cut, about, scope)
    return _carry_out(context, captured, changes, made, drafted, cut)


def refused(plan: Plan) -> Refused:
    """Returns the error that says everything that speaks against a plan, each once."""
    reasons = "; and ".join(dict.fromkeys(one.message for one in plan.refused))
    flags = list(dict.fromkeys(one.flag for one in plan.refused))
    if not all(flags):
        return Refused(reasons, hint="nothing was changed")
    return Refused(reasons, hint=f"to do it all the same: {' '.join(flags)}", flag=flags[0])


def _operation(
    context: Context,
    made: Plan,
    kind: OperationKind,
    of: Move | None,
    cut: Cut | None,
    about: str | None,
    scope: Scope,
) -> Move:
    """Returns the line of the log as far as it is known before anything is done."""
    target = made.target
    child = cut.child if cut is not None else None
    return Move(
        id=new_operation_id(),
        kind=kind,
        session=target.session if of is None else of.session,
        time=context.clock.now(),
        sequence=0,  # numbered when it is written
        target=target.id,
        before=CheckpointId(""),
        after=target.snapshot,
        paths=made.paths,
        of=None if of is None else of.id,
        scope=_moved(scope, cut) if of is None else of.scope,
        child=child.id if child is not None else None,
        directory=child.worktree if child is not None else None,
        about=about,
        target_sequence=target.sequence,
    )


def _moved(scope: Scope, cut: Cut | None) -> ScopeKind:
    """Says what a rewind or fork moves."""
    if cut is None:
        return FILES
    return BOTH if scope.files else CONVERSATION


def _is_there(cut: Cut | None, facts: Facts) -> bool:
    """Tells whether the conversation need not move: it is at the very session already.

    Going to that session again after an undo is an operation, or there would be nothing to undo.
    """
    if cut is None:
        return True
    if cut.child is None:
        return facts.current is None
    return cut.reused and facts.current == cut.child.id


def _carry_out(
    context: LockedContext,
    captured: Captured,
    changes: Preparation,
    made: Plan,
    operation: Move,
    cut: Cut | None,
) -> Outcome:
    store, target, kind = context.store, made.target, operation.kind
    units = make_units(changes.writes, changes.deletes, changes.displaced)
    token = operation.id
    undo = draft(context, kind=UNDO, session=target.session)
    undo = undo.replace(prompt=f"before {kind} to {target.id}", operation=token)
    before = record(context, captured, undo, extra=changes.saved)
    operation = operation.replace(
        before=before.id,
        was=before.snapshot,
        time=context.clock.now(),
        sequence=before.sequence,
    )
    child = cut.child if cut is not None else None
    entry = JournalEntry(operation, tuple(units), made.left_alone, child)
    with Translated(f"the {kind}"):
        journal_entry.write(context.lock, entry)
    apply = Apply(context.workspace.fd, units, token, StoreBlobs(store), context.reporter)
    try:
        applied = apply.run()
    except OSError as error:
        if apply.changed_nothing:
            apply.discard_staged()
            with Translated(f"the {kind}"):
                journal.remove(context.lock)
        raise WriteFailed.of(f"the {kind}", error) from error
    outcome = finish(context, operation, before, target, units, applied, made.left_alone, child)
    return outcome if cut is None else _with_cut(outcome, cut)


def _with_cut(outcome: Outcome, cut: Cut) -> Outcome:
    if outcome.conversation_error is not None:
        return outcome
    session = cut.child.id if cut.child is not None else None
    return outcome.replace(session=session, resume=cut.resume, prompt=cut.prompt)


def finish(
    context: LockedContext,
    operation: Move,
    before: Checkpoint,
    target: Checkpoint,
    units: list[Unit],
    applied: Applied,
    planned: tuple[LeftAlone, ...],
    child: Child | None = None,
    *,
    recovered: bool = False,
) -> Outcome:
    """Looks at the result, writes the new session, then the log, and ends the journal.

    A session that cannot be written is named in the outcome; the
    files are done all the same, and the log says what was done.
    """
    after = capture(context, brought=Brought(context, operation, target))
    after.keep()
    seen = Verification(context, operation, before, target, after, units, applied)
    left = seen.left_alone((*planned, *applied.left_alone))
    named = tuple(item for _, item in sorted(left.items()))
    verified = seen.is_at_target(left)
    nothing = not applied.written and not applied.deleted
    if operation.kind == REWIND and nothing and not operation.moves_conversation:
        with Translated(f"the {operation.kind}"):
            journal.remove(context.lock)
        idle = _nothing_done(operation.kind, target, named, verified=verified)
        return idle.replace(about=operation.about)
    asked, failure = operation.scope, _new_session(context, child, target)
    if failure is not None:  # the log says what was done: the conversation is where it was
        operation = operation.replace(child=None, scope=FILES)
    with Translated(f"the {operation.kind}", undo=after.sink.discard):
        write_operation(
            context.lock,
            after.sink,
            operation.replace(
                after=after.snapshot,
                written=len(applied.written),
                deleted=len(applied.deleted),
                left_alone=len(left),
                recovered=recovered,
                touched=seen.touched(),
            ),
        )
        journal.remove(context.lock)
    return Outcome(
        operation=operation.id,
        kind=operation.kind,
        target=target,
        undo=operation.before,
        written=applied.written,
        deleted=applied.deleted,
        left_alone=named,
        verified=verified,
        recovered=recovered,
        directories=applied.directories,
        scope=asked,
        conversation_error=failure,
        about=operation.about,
    )


def _new_session(context: LockedContext, child: Child | None, target: Checkpoint) -> str | None:
    """Writes the cut conversation as a session of its own; returns why it could not be."""
    if child is None:
        return None
    try:
        write_child(context, child, target, StoreBlobs(context.store))
    except TakebackError as error:
        return error.message
    return None


def _nothing_done(
    kind: OperationKind,
    target: Checkpoint,
    left: tuple[LeftAlone, ...],
    *,
    verified: bool = True,
    scope: ScopeKind = FILES,
) -> Outcome:
    """Nothing had to change, or all that should have had to be left alone: nothing to undo."""
    verified = verified and all(item.by_rule for item in left)
    return Outcome(None, kind, target, None, (), (), left, verified=verified, scope=scope)
