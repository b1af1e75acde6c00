"""Rewind: brings the files back to a checkpoint. Undo, redo and recovery end the same way."""

from __future__ import annotations

import os

from takeback import kernel
from takeback.capture.capture import After, capture, draft, record
from takeback.context import Translated
from takeback.errors import Command, Refused, StoreDamaged, StoreTooNew, TakebackError, WriteFailed
from takeback.fork.fork import Child, write_child
from takeback.model import codec
from takeback.model.checkpoint import Change
from takeback.model.coverage import Coverage
from takeback.model.ids import CheckpointId, MachineId, SnapshotId, new_operation_id
from takeback.model.operation import FILES, GOES, UNDO, Goal, LeftAlone, Move, Outcome, history, way
from takeback.model.operation import decode as decode_operation
from takeback.model.path_text import covers, parents, to_bytes, to_text
from takeback.model.value import Value
from takeback.rewind.plan import describe
from takeback.rewind.prepare import goal_of, prepare
from takeback.rewind.refuse import about_its_files, until_now
from takeback.rewind.request import NOTHING, Request, Scope
from takeback.rewind.safekeeping import Brought, Verification
from takeback.store import journal, trees
from takeback.store.records import known_operations, read_operations, write_operation
from takeback.store.sink import StoreBlobs
from takeback.turns.receive import close_gone, record_waiting
from takeback.visible import shown
from takeback.worktree import apply as units
from takeback.worktree.apply import Apply, make_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from takeback.capture.capture import Captured
    from takeback.context import Context, LockedContext
    from takeback.fork.fork import Cut
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SessionId
    from takeback.model.operation import OperationKind, Plan, ScopeKind, Step, StepKind
    from takeback.rewind.prepare import Prepared
    from takeback.rewind.request import Facts
    from takeback.store.lock import Locked
    from takeback.store.store import Store
    from takeback.worktree.apply import Applied, Unit


# -- what the journal keeps of an operation under way: its line of the log, and what is left to do


class JournalEntry(Value):
    """Everything that recovery needs to finish an operation, or to roll it back.

    ``operation`` is the line of the log as far as it is known before the end, ``left_alone`` what
    the plan leaves alone, ``child`` the session to be written. ``goal`` is where it goes if that is
    not a checkpoint, which the operation would name. ``back`` says that a roll-back has begun,
    after which there is no way forward.
    """

    operation: Move
    units: tuple[Unit, ...]
    left_alone: tuple[LeftAlone, ...] = ()
    child: Child | None = None
    goal: Goal | None = None
    back: bool = False


def write(locked: Locked, entry: JournalEntry) -> None:
    """Keeps the entry, flushed."""
    record = {
        "operation": codec.encode(entry.operation),
        "units": [units.encode(unit) for unit in entry.units],
        "left_alone": [codec.encode(item) for item in entry.left_alone],
        "child": None if entry.child is None else codec.encode(entry.child),
        "goal": None if entry.goal is None else _encode_goal(entry.goal),
        "back": entry.back,
    }
    journal.write(locked, record)


def read(store: Store) -> JournalEntry | None:
    """Returns the entry, None if no operation is under way.

    Raises StoreDamaged if it cannot be read, StoreTooNew if a newer takeback began it.
    """
    record = journal.read(store)
    if record is None:
        return None
    try:
        return _decode(record)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise StoreDamaged(
            f"the journal {store.path('journal')} is not readable",
            hint=("run: ", Command("doctor", "--fix")),
        ) from None


def _decode(record: dict[str, Any]) -> JournalEntry:
    operation = decode_operation(record["operation"])
    if not isinstance(operation, Move):
        raise StoreTooNew(
            f"an interrupted {operation.kind} was found, which a newer takeback began",
            hint="upgrade takeback; nothing was changed",
        )
    child, goal = record["child"], record["goal"]
    return JournalEntry(
        operation,
        tuple(units.decode(unit) for unit in record["units"]),
        tuple(codec.decode(LeftAlone, item) for item in record["left_alone"]),
        None if child is None else codec.decode(Child, child),
        None if goal is None else _decode_goal(goal, operation.about),
        record["back"] is True,
    )


def _encode_goal(goal: Goal) -> dict[str, Any]:
    coverage = to_text(goal.coverage.encode())
    return {"tree": goal.tree, "saved": goal.saved, "coverage": coverage}


def _decode_goal(record: dict[str, Any], about: str | None) -> Goal:
    coverage = Coverage.decode(to_bytes(record["coverage"]))
    return Goal(SnapshotId(record["tree"]), coverage, record["saved"], about)


# -- conclude: the end of every operation, whether it went through at once or was recovered
#
# files are done        worktree/apply.py
# capture               where it wrote, up to the root, compared with the goal
# new session  durable  if the conversation moves
# operation log durable undo finds it here
# journal removed


class Carried(Value):
    """An operation whose changes are made: its journal, where it went, from where, what it did.

    ``seen`` is the capture that it began with, under the same lock; a recovery has none.
    """

    entry: JournalEntry
    goal: Goal
    before: Checkpoint
    applied: Applied
    seen: Captured | None = None


def conclude(context: LockedContext, carried: Carried) -> Outcome:
    """Checks the result, writes the new session, then the log, and ends the journal.

    A session that cannot be written is reported in the outcome; the files are done all the same,
    and the log says what was done.
    """
    operation, goal, applied = carried.entry.operation, carried.goal, carried.applied
    after = capture(context, after=_after(context, carried)).revealed()
    seen = Verification(context, carried, after)
    left = seen.left_alone((*carried.entry.left_alone, *applied.left_alone))
    named = tuple(item for _, item in sorted(left.items()))
    verified = seen.is_at_target(left)
    nothing = not applied.written and not applied.deleted
    if operation.kind in GOES and nothing and not operation.moves_conversation:
        after.keep()
        with Translated(f"the {operation.kind}"):
            journal.remove(context.lock)
        return nothing_done(operation.kind, goal, named, verified=verified)
    asked, failure = operation.scope, _new_session(context, carried)
    if failure is not None:  # the log says what was done: the conversation is where it was
        operation = operation.replace(child=None, scope=FILES)
    with Translated(f"the {operation.kind}", undo=after.sink.discard):
        write_operation(
            after.sink,
            operation.replace(
                after=after.snapshot,
                written=len(applied.written),
                deleted=len(applied.deleted),
                left_alone=len(left),
                touched=seen.touched(),
            ),
        )
        after.scan.remember()
        journal.remove(context.lock)
    return Outcome(
        operation=operation.id,
        kind=operation.kind,
        goal=goal,
        undo=operation.before,
        written=applied.written,
        deleted=applied.deleted,
        left_alone=named,
        verified=verified,
        recovered=operation.recovered,
        directories=applied.directories,
        scope=asked,
        conversation_error=failure,
    )


def _after(context: LockedContext, carried: Carried) -> After:
    """Returns what was done, and where: in every directory of a unit, up to the root.

    Everything else is as the operation found it. What others change there meanwhile is theirs, and
    the next capture says so.
    """
    brought = Brought(context.store, carried.entry.operation, carried.goal)
    written = {unit.path for unit in carried.entry.units}
    above = {directory for path in written for directory in parents(path)}
    return After(brought, carried.seen, frozenset({b"", *written, *above}))


def _new_session(context: LockedContext, carried: Carried) -> str | None:
    """Writes the cut conversation as a session of its own; returns the reason if that fails."""
    child, operation = carried.entry.child, carried.entry.operation
    if child is None:
        return None
    blobs = StoreBlobs(context.store)
    try:
        write_child(context, child, carried.goal, blobs, again=operation.recovered)
    except TakebackError as error:
        return error.message
    return None


def nothing_done(
    kind: OperationKind,
    goal: Goal,
    left: tuple[LeftAlone, ...],
    *,
    verified: bool = True,
    scope: ScopeKind = FILES,
) -> Outcome:
    """Nothing had to change, or everything that should have was left alone: nothing to undo."""
    verified = verified and all(item.by_rule for item in left)
    return Outcome(None, kind, goal, None, (), (), left, verified=verified, scope=scope)


# -- rewind
#
# lock                     one operation at a time
# capture                  what is there now
# prepare                  every change decided, everything in the way saved
# undo snapshot   durable  from here on nothing can be lost
# journal         durable  from here on the operation is finished or rolled back
# apply                    worktree/apply.py
# capture                  where it wrote, compared with the target; the stat cache saved
# operation log   durable  undo finds it here
# journal removed


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
        write(context.lock, entry)
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


# -- undo and redo: walk back and forth over the operation log, without end


def next_step(context: Context, kind: StepKind) -> Step:
    """Returns what undo or redo would do now; raises Refused if there is nothing.

    Raises StoreDamaged if it cannot be known: the log is there and cannot be read.
    """
    damaged: list[str] = []
    stacks = history(read_operations(context.store, damaged))
    steps = stacks.undo if kind == UNDO else stacks.redo
    if not steps and damaged:
        raise StoreDamaged(
            f"what there is to {kind} cannot be read: {damaged[0]}",
            hint=("what else is damaged: ", Command("verify")),
        )
    if not steps:
        raise Refused(
            f"there is nothing to {kind}",
            hint=("the log of operations: ", Command("log", "--operations")),
        )
    return steps[-1]


def _scope(context: Context, step: Step, goal: Goal) -> Scope:
    """Keeps to the scope of the operation, and takes back everything else that it touched."""
    changed = step.last.written + step.last.deleted + len(step.last.touched)
    if not step.operation.moves_files or not changed:
        # What it left alone is left alone again.
        return Scope(step.operation.paths, files=False, asked=False)
    touched = {change.path: change for change in _made(context, step, goal)}
    touched.update((change.path, change) for change in step.last.touched)
    return Scope(step.operation.paths, touched=touched, asked=False)


def _made(context: Context, step: Step, goal: Goal) -> Iterator[Change]:
    """Yields what the operation made that both its snapshots show.

    A later ignore rule would hide it from the capture, and undo would leave it. What the state
    before does not vouch for may have existed and must not be removed.
    """
    if goal.checkpoint is not None and goal.checkpoint.expired is not None:
        return  # going there is refused
    store, paths = context.store, step.operation.paths
    before, after = bytes.fromhex(goal.tree), bytes.fromhex(step.last.after)
    for change in trees.diff(store, before, after, on_damage=lambda path, error: None):
        vouched = change.old is None and goal.coverage.reason_for(change.path) is None
        if vouched and covers(paths, change.path):
            yield change


def request(context: Context, kind: StepKind, step: Step, goes_to: Checkpoint) -> Request:
    """Returns the request to carry out a step, an undo or redo; nothing is known or waived yet.

    ``goes_to`` is the checkpoint that the step names.
    """
    goal = goal_of(context.store, goes_to)
    return Request(goal, _scope(context, step, goal), kind=kind, of=step.operation)


def relevant(facts: Facts) -> Facts:
    """Undo and redo restore the operation's own saved files, and no others."""
    return facts.replace(ignored=())


# -- recovery: finishes an interrupted operation, or rolls it back if it cannot be finished
#
# Forward if every blob that is still to be written can be read; else back to the state of the undo
# snapshot. Both can be killed and run again.


class Recovered(Value):
    """What recovery did with the operation that it found."""

    kind: OperationKind
    finished: bool
    left_alone: tuple[LeftAlone, ...]
    session: SessionId | None = None
    conversation_error: str | None = None

    def sentence(self) -> str:
        """Describes it in one sentence, with each path that was left alone."""
        how = "finished" if self.finished else "rolled back"
        named = ", ".join(f"{to_text(item.path)} ({item.reason})" for item in self.left_alone)
        rest = f"; left alone: {named}" if named else ""
        if self.conversation_error is not None:
            rest += f"; its conversation was not written: {self.conversation_error}"
        elif self.session is not None:
            rest += f"; its conversation goes on as session {self.session}"
        return shown(f"An interrupted {self.kind} was found and {how}{rest}.")


def recover(context: LockedContext, find: Callable[[CheckpointId], Checkpoint]) -> Recovered | None:
    """Finishes or rolls back what was interrupted; None if nothing was."""
    entry = read(context.store)
    if entry is None:
        return None
    operation = entry.operation
    if any(done.id == operation.id for done in known_operations(context.store)):
        with Translated("the recovery"):
            journal.remove(context.lock)
        return Recovered(operation.kind, True, ())
    forward = not entry.back and _all_readable(context, entry.units)
    if not forward and not entry.back:
        with Translated("the recovery"):
            write(context.lock, entry.replace(back=True))
    if forward:
        return _finish(context, entry, find)
    return _roll_back(context, operation, list(entry.units))


def _all_readable(context: Context, units: Iterable[Unit]) -> bool:
    for unit in units:
        entries = [entry for _, entry in unit.inside_new]
        if unit.new is not None:
            entries.append(unit.new)
        for entry in entries:
            if not entry.is_directory and not context.store.reads_back(entry.oid):
                return False
    return True


def _finish(
    context: LockedContext, entry: JournalEntry, find: Callable[[CheckpointId], Checkpoint]
) -> Recovered:
    entry = entry.replace(operation=entry.operation.replace(recovered=True))
    operation, child = entry.operation, entry.child
    applied = _go_on(context, list(entry.units), operation.id)
    carried = Carried(entry, _goal(context, entry, find), find(operation.before), applied)
    outcome = conclude(context, carried)
    return Recovered(
        operation.kind,
        True,
        outcome.left_alone,
        session=None if child is None else child.id,
        conversation_error=outcome.conversation_error,
    )


def _goal(
    context: Context, entry: JournalEntry, find: Callable[[CheckpointId], Checkpoint]
) -> Goal:
    target = entry.operation.target
    if entry.goal is not None:
        return entry.goal
    if target is None:
        raise StoreDamaged(
            "the journal of an interrupted operation does not say where it goes",
            hint=("run: ", Command("doctor", "--fix")),
        )
    return goal_of(context.store, find(target), entry.operation.about)


def _roll_back(context: LockedContext, operation: Move, units: list[Unit]) -> Recovered:
    """Restores the old version of every path, after removing temporary files of the way forward."""
    blobs = StoreBlobs(context.store)
    with Translated("the recovery"):
        forward = Apply(context.workspace.fd, units, operation.id, blobs, context.reporter)
        kept = forward.settle()
    applied = _go_on(context, _backward(context, units), operation.id)
    with Translated("the recovery"):
        journal.remove(context.lock)
    return Recovered(operation.kind, False, (*kept, *applied.left_alone))


def _backward(context: Context, units: list[Unit]) -> list[Unit]:
    """Returns the units that take these back; what went with its directory comes back with it.

    A directory that is gone is recreated with everything in it at once; in one that still exists
    each file comes back by itself.
    """
    numbers = {unit.path: unit.reversed().number for unit in units}
    gone = [
        Change(unit.path, None, unit.old)
        for unit in units
        if unit.new is None
        and unit.old is not None
        and not (unit.old.is_directory and _is_directory(context, unit.path))
    ]
    created = [unit.replace(number=numbers[unit.path]) for unit in make_units(gone, [], {})]
    return created + [unit.reversed() for unit in units if unit.new is not None]


def _is_directory(context: Context, path: bytes) -> bool:
    try:
        os.close(kernel.open_directory_beneath(context.workspace.fd, path))
    except OSError:
        return False
    return True


def _go_on(context: Context, units: list[Unit], token: str) -> Applied:
    apply = Apply(context.workspace.fd, units, token, StoreBlobs(context.store), context.reporter)
    try:
        return apply.run(recovering=True)
    except OSError as error:
        raise WriteFailed.of("the recovery", error) from error
