"""``Takeback``: the one place where everything is wired together, and the public Python API.

from takeback import Takeback

with Takeback.open(".") as tb:
    before = tb.checkpoint(label="before the agent").checkpoint
    ...
    plan = tb.plan(before)
    done = tb.rewind(before)
    tb.undo()
"""

from __future__ import annotations

import os

from takeback import config, ops
from takeback.errors import RecoveredInstead, UsageError
from takeback.model.path_text import to_text
from takeback.model.policy import NO_OVERRIDES, Overrides
from takeback.ops.context import Context
from takeback.ops.open import locate, open_store, open_workspace
from takeback.paths import config_file, takeback_home
from takeback.ports import SilentReporter, SystemClock
from takeback.store import journal

_UNDO, _REDO = "undo", "redo"  # the kinds of operation.py, which a capture need not import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import TypeVar

    from takeback.ledger.ledger import Ledger
    from takeback.model.change import CountedChange
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId, SnapshotId
    from takeback.model.operation import Operation, Step
    from takeback.model.plan import Outcome, Plan
    from takeback.ops.catch_up import Index
    from takeback.ops.checkpoint import Made
    from takeback.ops.doctor import Finding
    from takeback.ops.prepare import Scope
    from takeback.ops.recover import Recovered
    from takeback.ops.status import Status
    from takeback.ops.timeline import Shown, TimelineEntry
    from takeback.ops.verify import Verified
    from takeback.ports import Clock, Reporter
    from takeback.store.place import Place

    CheckpointLike = str | Checkpoint
    T = TypeVar("T")


class Takeback:
    """One workspace and everything that can be done with it. Close it, or use ``with``."""

    def __init__(self, context: Context, settings: config.Settings) -> None:
        self._context = context
        self._index: Index | None = None
        self.settings = settings

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        create: bool = True,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        reporter: Reporter | None = None,
        holder: str = "python",
    ) -> Takeback:
        """Opens the workspace that ``path`` lies in; raises NotAWorkspace.

        Its store is made when there is none, unless ``create`` is false.
        """
        environ = os.environ if environ is None else environ
        reporter = reporter or SilentReporter()
        place = _place(path, environ)
        store = open_store(place, environ, reporter, create=create)
        settings = config.load([config_file(environ), store.path("config.toml")])
        context = Context(
            workspace=open_workspace(place),
            store=store,
            policy=settings.policy(),
            clock=clock or SystemClock(),
            reporter=reporter,
            environ=environ,
            holder=holder,
        )
        return cls(context, settings)

    def close(self) -> None:
        """Gives back files and descriptors."""
        if self._index is not None:
            self._index.close()
            self._index = None
        self._context.store.close()
        self._context.workspace.close()

    def __enter__(self) -> Takeback:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- looking

    @property
    def root(self) -> bytes:
        """The root of the workspace."""
        return self._context.workspace.root

    @property
    def store_directory(self) -> str:
        """Where this workspace's store is."""
        return self._context.store.directory

    def _ask(self, question: Callable[[Ledger], T]) -> T:
        if self._index is None:
            self._index = ops.catch_up.Index(self._context.store, self._context.reporter)
        return self._index.ask(question)

    def find(self, name: CheckpointLike) -> Checkpoint:
        """Returns the checkpoint that a name means; raises NoSuchCheckpoint."""
        if not isinstance(name, str):
            return name
        now = self._context.clock.now()
        return self._ask(lambda ledger: ops.names.find(ledger, name, now=now))

    def _by_id(self, checkpoint: CheckpointId) -> Checkpoint:
        now = self._context.clock.now()
        return self._ask(lambda ledger: ops.names.find(ledger, checkpoint, now=now))

    def checkpoints(
        self, *, session: str | None = None, undo: bool = False, limit: int = -1
    ) -> list[TimelineEntry]:
        """Returns checkpoints with what changed in each, newest first."""
        return self._ask(
            lambda ledger: ops.timeline.timeline(ledger, session=session, undo=undo, limit=limit)
        )

    def show(self, checkpoint: CheckpointLike) -> Shown:
        """Returns one checkpoint in full, with what it does not hold."""
        found = self.find(checkpoint)
        return self._ask(lambda ledger: ops.timeline.show(self._context.store, ledger, found))

    def operations(self) -> list[Operation]:
        """Returns the operation log, oldest first."""
        return ops.timeline.operations(self._context.store)

    def cat(self, checkpoint: CheckpointLike, path: str | bytes) -> bytes:
        """Returns the bytes of one file as a checkpoint has them."""
        return ops.cat.cat(self._context, self.find(checkpoint), self.path(path))

    def diff(
        self,
        old: CheckpointLike,
        new: CheckpointLike | None = None,
        paths: Iterable[str | bytes] = (),
        *,
        color: bool = False,
    ) -> bytes:
        """Returns a unified diff from ``old`` to ``new``, or to the files as they are now."""
        a, b = self._trees(old, new)
        return ops.diff.patch(self._context, a, b, paths=self._paths(paths), color=color)

    def compare(
        self,
        old: CheckpointLike,
        new: CheckpointLike | None = None,
        paths: Iterable[str | bytes] = (),
    ) -> tuple[list[CountedChange], bytes]:
        """Returns the changed paths with line counts, and the diff, of one and the same state."""
        a, b = self._trees(old, new)
        scope = self._paths(paths)
        changes = ops.diff.changes(self._context, a, b, paths=scope)
        return changes, ops.diff.patch(self._context, a, b, paths=scope)

    def _trees(self, old: CheckpointLike, new: CheckpointLike | None) -> tuple[bytes, bytes]:
        a = bytes.fromhex(self.find(old).snapshot)
        if new is None:
            return a, ops.diff.present_tree(self._context)
        return a, bytes.fromhex(self.find(new).snapshot)

    def status(self) -> Status:
        """Returns what is kept, where, how large, and what went wrong."""
        return self._ask(lambda ledger: ops.status.status(self._context, ledger))

    def verify(self, *, read_data: bool = False) -> Verified:
        """Checks that everything kept reads back."""
        return ops.verify.verify(self._context, read_data=read_data)

    @property
    def interrupted(self) -> bool:
        """True when an operation was interrupted and not yet recovered."""
        return journal.exists(self._context.store)

    # -- changing

    def recover(self) -> Recovered | None:
        """Finishes or rolls back an interrupted operation; None if there is none."""
        return ops.recover.recover(self._context, self._by_id)

    def _recover_and_say(self) -> Recovered | None:
        if not self.interrupted:
            return None
        done = self.recover()
        if done is not None:
            self._context.reporter.note(done.sentence())
        return done

    def checkpoint(
        self, label: str | None = None, *, message: str | None = None, allow_large: bool = False
    ) -> Made:
        """Makes a checkpoint of the files as they are now."""
        self._recover_and_say()
        if label is not None:
            wanted = label
            self._ask(lambda ledger: ops.label.check_new_label(self._context, ledger, wanted))
        return ops.checkpoint.checkpoint(
            self._context, label=label, prompt=message, allow_large=allow_large
        )

    def label(self, checkpoint: CheckpointLike, name: str | None) -> Checkpoint:
        """Gives a checkpoint a name, or takes it off (None)."""
        found = self.find(checkpoint)
        return self._ask(lambda ledger: ops.label.label(self._context, ledger, found, name))

    def plan(
        self,
        checkpoint: CheckpointLike,
        paths: Iterable[str | bytes] = (),
        *,
        ignored: bool = False,
        overrides: Overrides = NO_OVERRIDES,
    ) -> Plan:
        """Returns what a rewind would change; changes nothing."""
        return ops.plan.plan(
            self._context,
            self.find(checkpoint),
            self._scope(paths, ignored),
            overrides,
            last_seen=self._last_seen(),
        )

    def rewind(
        self,
        checkpoint: CheckpointLike,
        paths: Iterable[str | bytes] = (),
        *,
        ignored: bool = False,
        overrides: Overrides = NO_OVERRIDES,
        shown: Plan | None = None,
    ) -> Outcome:
        """Brings the files back to a checkpoint. ``shown`` is the plan a person agreed to."""
        self._recover_and_say()
        return ops.rewind.rewind(
            self._context,
            self.find(checkpoint),
            self._scope(paths, ignored),
            overrides,
            shown=shown,
            last_seen=self._last_seen(),
        )

    def _last_seen(self) -> SnapshotId | None:
        return self._ask(lambda ledger: ops.timeline.last_seen(self._context.store, ledger))

    def next_undo(self) -> Step:
        """Returns the operation that undo would take back; raises Refused."""
        return ops.undo.next_step(self._context, _UNDO)

    def next_redo(self) -> Step:
        """Returns the operation that redo would do again; raises Refused."""
        return ops.undo.next_step(self._context, _REDO)

    def plan_undo(self, *, overrides: Overrides = NO_OVERRIDES) -> Plan:
        """Returns what ``undo`` would change; changes nothing."""
        return self._plan_step(_UNDO, overrides)

    def plan_redo(self, *, overrides: Overrides = NO_OVERRIDES) -> Plan:
        """Returns what ``redo`` would change; changes nothing."""
        return self._plan_step(_REDO, overrides)

    def _plan_step(self, kind: str, overrides: Overrides) -> Plan:
        step = ops.undo.next_step(self._context, kind)
        return ops.undo.plan_step(
            self._context, step, self._by_id, overrides, last_seen=self._last_seen()
        )

    def undo(self, *, overrides: Overrides = NO_OVERRIDES, shown: Plan | None = None) -> Outcome:
        """Takes back the newest operation that is not yet taken back."""
        return self._step(_UNDO, overrides, shown)

    def redo(self, *, overrides: Overrides = NO_OVERRIDES, shown: Plan | None = None) -> Outcome:
        """Does again what the last undo took back."""
        return self._step(_REDO, overrides, shown)

    def recover_instead_of(self, kind: str) -> None:
        """Recovers what was interrupted, if anything, and then raises RecoveredInstead.

        After a recovery ``undo`` and ``redo`` mean another operation than the caller saw.
        """
        if self._recover_and_say() is not None:
            raise RecoveredInstead(
                f"an interrupted operation was recovered first, so {kind} now means something else",
                hint=f"look at the files, then run it again: takeback {kind}",
            )

    def _step(self, kind: str, overrides: Overrides, shown: Plan | None) -> Outcome:
        self.recover_instead_of(kind)
        return ops.undo.take_step(
            self._context,
            kind,
            ops.undo.next_step(self._context, kind),
            self._by_id,
            overrides,
            shown=shown,
            last_seen=self._last_seen(),
        )

    # -- keeping house

    def doctor(self, *, rebuild: bool = False) -> list[Finding]:
        """Names what is wrong and mends what can safely be mended."""
        found = ops.doctor.doctor(
            self._context, self.recover, home=takeback_home(self._context.environ)
        )
        if rebuild:
            if self._index is not None:
                self._index.close()
            self._index = ops.catch_up.Index(
                self._context.store, self._context.reporter, rebuild=True
            )
            checkpoints, _, _ = self._ask(lambda ledger: ledger.counts())
            message = f"made anew from the store: {checkpoints} checkpoints"
            found.append(ops.doctor.Finding("ledger", ops.doctor.MENDED, message))
        return found

    @classmethod
    def earlier(
        cls, path: str | os.PathLike[str] = ".", *, environ: Mapping[str, str] | None = None
    ) -> list[Finding]:
        """Returns the stores of what stood at this path before, as offers to take them over."""
        environ = os.environ if environ is None else environ
        return ops.doctor.earlier(_place(path, environ), takeback_home(environ))

    @classmethod
    def adopt(
        cls,
        name: str,
        path: str | os.PathLike[str] = ".",
        *,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Takes over the store of what stood at this path before; the present one is set aside."""
        environ = os.environ if environ is None else environ
        ops.open.adopt(_place(path, environ), name, environ)

    def forget(self) -> None:
        """Deletes every checkpoint of this workspace for good; its files are not touched."""
        ops.forget.forget(self._context.store)

    # -- paths

    def _scope(self, paths: Iterable[str | bytes], ignored: bool) -> Scope:
        return ops.prepare.Scope(self._paths(paths), ignored=ignored)

    def _paths(self, paths: Iterable[str | bytes]) -> tuple[bytes, ...]:
        return tuple(self.path(path) for path in paths)

    def path(self, path: str | bytes) -> bytes:
        """Returns a path relative to the root; a relative one starts at the current directory."""
        given = os.fsencode(path)
        try:
            return self._context.workspace.relative(given, base=os.getcwdb())
        except ValueError:
            raise UsageError(
                f"{to_text(given)} is outside the workspace {to_text(self.root)}"
            ) from None


def _place(path: str | os.PathLike[str], environ: Mapping[str, str]) -> Place:
    foreign_owner = config.load([config_file(environ)])["foreign_owner"]
    return locate(os.fsencode(path), environ, foreign_owner=foreign_owner)
