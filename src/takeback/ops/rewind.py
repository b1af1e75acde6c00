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

import os

from takeback import kernel
from takeback.errors import Refused, StoreDamaged, TakebackError, WriteFailed
from takeback.model.checkpoint import UNDO, Checkpoint
from takeback.model.ids import CheckpointId, new_operation_id
from takeback.model.operation import BOTH, CONVERSATION, FILES, REWIND, Operation
from takeback.model.path_text import covers
from takeback.model.plan import LeftAlone, Outcome
from takeback.model.snapshot import entry_mode
from takeback.ops.capture import capture, draft, record
from takeback.ops.child import encode as encode_child
from takeback.ops.child import write_child
from takeback.ops.facts import NO_FACTS, Facts
from takeback.ops.failures import Translated
from takeback.ops.plan import describe, prepare
from takeback.ops.receive import record_waiting
from takeback.store import journal, trees
from takeback.store.checkpoints import read_coverage
from takeback.store.operations import write_operation
from takeback.worktree import ondisk
from takeback.worktree.apply import Apply
from takeback.worktree.resume import KEPT_BESIDE, is_exactly
from takeback.worktree.unit import encode, make_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from takeback.model.change import Change
    from takeback.model.plan import Plan
    from takeback.model.policy import Overrides
    from takeback.ops.capture import Captured
    from takeback.ops.child import Child, Cut
    from takeback.ops.context import Context
    from takeback.ops.prepare import Preparation, Scope
    from takeback.store.store import Store
    from takeback.worktree.apply import Applied


class StoreBlobs:
    """The bytes of a store's blobs, hash-checked, for the code that writes files."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def blob(self, oid: bytes) -> bytes:
        return self._store.blob(oid)

    def size_of(self, oid: bytes) -> int:
        return self._store.packs.size_of(oid)

    def stream(self, oid: bytes, write: Callable[[bytes], None]) -> None:
        self._store.packs.open_stream(oid, write)


def rewind(
    context: Context,
    target: Checkpoint,
    scope: Scope,
    overrides: Overrides,
    *,
    shown: Plan | None = None,
    facts: Facts = NO_FACTS,
    kind: str = REWIND,
    of: Operation | None = None,
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
    with context.locked():
        captured = capture(context)
        captured.keep()
        record_waiting(context, captured)
        with Translated(f"the {kind}", undo=captured.sink.discard):
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
        if made.is_empty and kind == REWIND and (cut is None or cut.reused):
            nothing = Outcome(None, kind, target, None, (), (), made.left_alone, verified=True)
            return nothing if cut is None else _with_cut(nothing, cut)
        if target.amid is not None and shown is None:  # a plan that was shown has said it
            context.reporter.note(made.warnings[-1])
        drafted = _operation(context, made, changes, kind, of, cut, about, scope)
        return _carry_out(context, captured, changes, made, drafted, cut)


def refused(plan: Plan) -> Refused:
    """Returns the error for the first refusal of a plan."""
    first = plan.refused[0]
    flags = " ".join(r.flag for r in plan.refused if r.flag)
    hint = f"to do it all the same: {flags}" if first.flag else "nothing was changed"
    return Refused(first.message, hint=hint, flag=first.flag)


def _operation(
    context: Context,
    made: Plan,
    changes: Preparation,
    kind: str,
    of: Operation | None,
    cut: Cut | None,
    about: str | None,
    scope: Scope,
) -> Operation:
    """Returns the line of the log as far as it is known before anything is done."""
    target = made.target
    child = cut.child if cut is not None else None
    if of is not None:
        moved = of.scope
    else:
        moved = (BOTH if scope.files else CONVERSATION) if cut is not None else FILES
    return Operation(
        id=new_operation_id(),
        kind=kind,
        session=target.session if of is None else of.session,
        time=context.clock.now(),
        target=target.id,
        before=CheckpointId(""),
        after=target.snapshot,
        paths=made.paths,
        saved=tuple(sorted({*changes.extra, *changes.ignored_paths})),
        of=None if of is None else of.id,
        scope=moved,
        child=child.id if child is not None else None,
        directory=child.worktree if child is not None else None,
        about=about,
        target_sequence=target.sequence,
    )


def _carry_out(
    context: Context,
    captured: Captured,
    changes: Preparation,
    made: Plan,
    operation: Operation,
    cut: Cut | None,
) -> Outcome:
    store, target, kind = context.store, made.target, operation.kind
    units = make_units(changes.writes, changes.deletes, changes.displaced)
    token = operation.id
    undo = draft(context, kind=UNDO, session=target.session)
    undo = undo.replace(prompt=f"before {kind} to {target.id}", operation=token)
    before = record(context, captured, undo, extra=changes.extra)
    operation = operation.replace(
        before=before.id, time=context.clock.now(), sequence=before.sequence
    )
    child = cut.child if cut is not None else None
    entry = journal_record(operation, units, made.left_alone, child)
    with Translated(f"the {kind}"):
        journal.write(store, entry)
    apply = Apply(context.workspace.fd, units, token, StoreBlobs(store), context.reporter)
    try:
        applied = apply.run()
    except OSError as error:
        if apply.changed_nothing:
            apply.discard_staged()
            with Translated(f"the {kind}"):
                journal.remove(store)
        raise WriteFailed.of(f"the {kind}", error) from error
    outcome = finish(context, operation, before, target, applied, made.left_alone, child)
    return outcome if cut is None else _with_cut(outcome, cut)


def _with_cut(outcome: Outcome, cut: Cut) -> Outcome:
    if outcome.conversation_error is not None:
        return outcome
    session = cut.child.id if cut.child is not None else None
    return outcome.replace(session=session, resume=cut.resume, prompt=cut.prompt)


def journal_record(
    operation: Operation,
    units: list[Any],
    left_alone: tuple[LeftAlone, ...],
    child: Child | None,
) -> dict[str, Any]:
    """Returns all that recovery needs to finish the operation or roll it back."""
    from takeback.model.path_text import to_text

    return {
        "id": operation.id,
        "kind": operation.kind,
        "session": operation.session,
        "time": operation.time,
        "target": operation.target,
        "before": operation.before,
        "paths": [to_text(path) for path in operation.paths],
        "saved": [to_text(path) for path in operation.saved],
        "of": operation.of,
        "left_alone": [[to_text(item.path), item.reason, item.by_rule] for item in left_alone],
        "scope": operation.scope,
        "about": operation.about,
        "target_sequence": operation.target_sequence,
        "directory": operation.directory,
        "child": None if child is None else encode_child(child),
        "back": False,
        "units": [encode(unit) for unit in units],
    }


def finish(
    context: Context,
    operation: Operation,
    before: Checkpoint,
    target: Checkpoint,
    applied: Applied,
    planned: tuple[LeftAlone, ...],
    child: Child | None = None,
    *,
    recovered: bool = False,
) -> Outcome:
    """Looks at the result, writes the new session, then the log, and ends the journal.

    The caller holds the lock. A session that cannot be written is named in the outcome; the
    files are done all the same, and the log says what was done.
    """
    after = capture(context)
    after.keep()
    left = {item.path: item for item in (*planned, *applied.left_alone)}
    if operation.moves_files:
        surfaced = _surfaced(context, after.tree, target, before, operation.paths)
        left.update((item.path, item) for item in surfaced)
    left = {
        path: item
        for path, item in left.items()
        if item.reason in KEPT_BESIDE or not _same(context, after.tree, target, path)
    }
    verified = not operation.moves_files or _is_at_target(
        context, after.tree, target, operation, set(left)
    )
    nothing = not applied.written and not applied.deleted
    if operation.kind == REWIND and nothing and not operation.moves_conversation:
        with Translated(f"the {operation.kind}"):
            journal.remove(context.store)
        return _nothing_done(operation, target, left, verified)
    failure = _new_session(context, child, target)
    if failure is not None:
        operation = operation.replace(child=None)
    with Translated(f"the {operation.kind}", undo=after.sink.discard):
        write_operation(
            context.store,
            after.sink,
            operation.replace(
                after=after.snapshot,
                written=len(applied.written),
                deleted=len(applied.deleted),
                left_alone=len(left),
                recovered=recovered,
            ),
        )
        journal.remove(context.store)
    return Outcome(
        operation=operation.id,
        kind=operation.kind,
        target=target,
        undo=operation.before,
        written=applied.written,
        deleted=applied.deleted,
        left_alone=tuple(item for _, item in sorted(left.items())),
        verified=verified,
        recovered=recovered,
        directories=applied.directories,
        scope=operation.scope,
        conversation_error=failure,
    )


def _new_session(context: Context, child: Child | None, target: Checkpoint) -> str | None:
    """Writes the cut conversation as a session of its own; returns why it could not be."""
    if child is None:
        return None
    try:
        write_child(context, child, target, StoreBlobs(context.store))
    except TakebackError as error:
        return error.message
    return None


def _is_on_disk(context: Context, change: Change) -> bool:
    if change.new is None:
        return False
    parent, _, name = change.path.rpartition(b"/")
    try:
        fd = kernel.open_directory_beneath(context.workspace.fd, parent)
    except OSError:
        return False
    try:
        if change.new.is_directory:
            found = ondisk.status(fd, name)
            return found is not None and entry_mode(found.st_mode) == change.new.mode
        return is_exactly(fd, name, change.new)
    finally:
        os.close(fd)


def _same(context: Context, tree: bytes, target: Checkpoint, path: bytes) -> bool:
    """Tells whether a path that was left alone is as the target has it all the same."""
    try:
        wanted = trees.lookup(context.store, bytes.fromhex(target.snapshot), path)
        return wanted is not None and trees.lookup(context.store, tree, path) == wanted
    except StoreDamaged:
        return False


def _surfaced(
    context: Context,
    tree: bytes,
    target: Checkpoint,
    before: Checkpoint,
    scope: tuple[bytes, ...],
) -> list[LeftAlone]:
    """Names what no snapshot held when the rewind began and what the target does not know.

    An ignored directory, say, whose ignore rule the rewind took back: it stays, and shows now.
    """
    hidden = read_coverage(context.store, before.commit)
    wanted = bytes.fromhex(target.snapshot)
    found: dict[bytes, LeftAlone] = {}
    for change in trees.diff(context.store, tree, wanted, on_damage=lambda path, error: None):
        reason = hidden.reason_for(change.path)
        if change.new is not None or reason is None or not covers(scope, change.path):
            continue
        if not (found and covers(tuple(found), change.path)):
            text = f"not captured when the rewind began ({reason})"
            found[change.path] = LeftAlone(change.path, text, by_rule=True)
    return list(found.values())


def _nothing_done(
    operation: Operation, target: Checkpoint, left: dict[bytes, LeftAlone], verified: bool
) -> Outcome:
    """Every path that should have changed had to be left alone: there is nothing to undo."""
    named = tuple(item for _, item in sorted(left.items()))
    return Outcome(None, operation.kind, target, None, (), (), named, verified=verified)


def _is_at_target(
    context: Context, tree: bytes, target: Checkpoint, operation: Operation, left: set[bytes]
) -> bool:
    """Compares the workspace with the target, leaving out what was left alone and its parents."""
    allowed = tuple(left)
    wanted = bytes.fromhex(target.snapshot)
    for change in trees.diff(context.store, tree, wanted, on_damage=lambda path, error: None):
        if not covers(operation.paths, change.path):
            continue
        if allowed and covers(allowed, change.path):
            continue
        if any(path.startswith(change.path + b"/") for path in left):
            continue
        if change.path in operation.saved:
            continue  # an ignored file that came back beside the snapshot
        if change.old is None and _is_on_disk(context, change):
            continue  # right, and only ignored by a rule that came to light
        return False
    return True
