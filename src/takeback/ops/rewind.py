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
from takeback.errors import Refused, StoreDamaged
from takeback.model.checkpoint import UNDO, Checkpoint
from takeback.model.ids import new_operation_id
from takeback.model.operation import REWIND, Operation
from takeback.model.path_text import covers
from takeback.model.plan import LeftAlone, Outcome
from takeback.model.snapshot import entry_mode
from takeback.ops.capture import capture, record
from takeback.ops.failures import Translated, write_failed
from takeback.ops.plan import describe
from takeback.ops.prepare import Preparation
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
    from takeback.model.ids import OperationId, SnapshotId
    from takeback.model.plan import Plan
    from takeback.model.policy import Overrides
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context
    from takeback.ops.prepare import Scope
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
    last_seen: SnapshotId | None = None,
    kind: str = REWIND,
    of: OperationId | None = None,
) -> Outcome:
    """Carries out a plan. The caller has recovered an interrupted operation before.

    ``shown`` is the plan that a person said yes to; if the workspace has changed so much
    that another one would be carried out, it is refused. Raises Refused or WriteFailed; the
    outcome names what was left alone.
    """
    with context.locked():
        captured = capture(context)
        captured.keep()
        with Translated(f"the {kind}", undo=captured.sink.discard):
            changes = Preparation(context, captured, target, scope, save=True)
            made = describe(context, captured, target, scope, changes, overrides, last_seen)
        if shown is not None and not made.same_changes(shown):
            captured.sink.discard()
            raise Refused(
                "the workspace changed since the plan was shown",
                hint="run the command again to see the new plan",
            )
        if made.refused:
            captured.sink.discard()
            raise refused(made)
        if made.is_empty and kind == REWIND:
            return Outcome(None, kind, target, None, (), (), made.left_alone, verified=True)
        return _carry_out(context, captured, changes, made, kind, of)


def refused(plan: Plan) -> Refused:
    """Returns the error for the first refusal of a plan."""
    first = plan.refused[0]
    flags = " ".join(r.flag for r in plan.refused if r.flag)
    hint = f"to do it all the same: {flags}" if first.flag else "nothing was changed"
    return Refused(first.message, hint=hint, flag=first.flag)


def _carry_out(
    context: Context,
    captured: Captured,
    changes: Preparation,
    made: Plan,
    kind: str,
    of: OperationId | None,
) -> Outcome:
    store, target = context.store, made.target
    units = make_units(changes.writes, changes.deletes, changes.displaced)
    token = new_operation_id()
    before = record(
        context,
        captured,
        kind=UNDO,
        session=target.session,
        prompt=f"before {kind} to {target.id}",
        operation=token,
        extra=changes.extra,
    )
    operation = Operation(
        id=token,
        kind=kind,
        session=target.session,
        time=context.clock.now(),
        target=target.id,
        before=before.id,
        after=target.snapshot,
        paths=made.paths,
        saved=tuple(sorted({*changes.extra, *changes.ignored_paths})),
        of=of,
    )
    entry = journal_record(operation, units, made.left_alone)
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
        raise write_failed(f"the {kind}", error) from error
    return finish(context, operation, before, target, applied, made.left_alone)


def journal_record(
    operation: Operation, units: list[Any], left_alone: tuple[LeftAlone, ...]
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
    *,
    recovered: bool = False,
) -> Outcome:
    """Looks at the result, writes the log and ends the journal. The caller holds the lock."""
    after = capture(context)
    after.keep()
    left = {item.path: item for item in (*planned, *applied.left_alone)}
    surfaced = _surfaced(context, after.tree, target, before, operation.paths)
    left.update((item.path, item) for item in surfaced)
    left = {
        path: item
        for path, item in left.items()
        if item.reason in KEPT_BESIDE or not _same(context, after.tree, target, path)
    }
    verified = _is_at_target(context, after.tree, target, operation, set(left))
    if operation.kind == REWIND and not applied.written and not applied.deleted:
        with Translated(f"the {operation.kind}"):
            journal.remove(context.store)
        return _nothing_done(operation, target, left, verified)
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
    )


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
