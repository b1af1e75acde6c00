"""Steps: undo and redo, for whatever moved files, conversation, or both."""

from __future__ import annotations

import os

from takeback import rooms
from takeback.adapters import adapter_of
from takeback.app.border import guarded
from takeback.app.summaries import Summarising
from takeback.errors import Command, Expired, NoSuchCheckpoint, RecoveredInstead
from takeback.model.coverage import NO_OVERRIDES, Overrides

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from takeback.context import LockedContext
    from takeback.model.checkpoint import Checkpoint, Resume
    from takeback.model.ids import SessionId
    from takeback.model.operation import Move, Outcome, Plan, Step, StepKind
    from takeback.rewind.request import Request

# the kinds of operation.py, which a capture need not import
_UNDO: Final = "undo"
_REDO: Final = "redo"


@guarded
class Steps(Summarising):
    """Everything that goes back or forth over the operation log."""

    def next_undo(self) -> Step:
        """Returns the operation that undo would take back; raises Refused."""
        return rooms.rewind.next_step(self._context, _UNDO)

    def next_redo(self) -> Step:
        """Returns the operation that redo would do again; raises Refused."""
        return rooms.rewind.next_step(self._context, _REDO)

    def plan_undo(self, *, overrides: Overrides = NO_OVERRIDES) -> Plan:
        """Returns what ``undo`` would change; changes nothing."""
        return self._plan_step(_UNDO, overrides)

    def plan_redo(self, *, overrides: Overrides = NO_OVERRIDES) -> Plan:
        """Returns what ``redo`` would change; changes nothing."""
        return self._plan_step(_REDO, overrides)

    def _plan_step(self, kind: StepKind, overrides: Overrides) -> Plan:
        step = rooms.rewind.next_step(self._context, kind)
        made = rooms.plan.plan(self._context, self._request_of_step(kind, step, overrides))
        if not step.operation.moves_conversation:
            return made
        return made.replace(goes_on=self._current(step.operation, before=step.last))

    def _request_of_step(self, kind: StepKind, step: Step, overrides: Overrides) -> Request:
        goes_to = self._goes_to(step)
        facts = rooms.rewind.relevant(self._facts(goes_to))
        request = rooms.rewind.request(self._context, kind, step, goes_to)
        return request.replace(overrides=overrides, facts=facts)

    def _goes_to(self, step: Step) -> Checkpoint:
        """Returns where a step goes; raises Expired if files are to come from there and cannot."""
        try:
            found = self._by_id(step.goes_to)
        except NoSuchCheckpoint:
            raise Expired(
                f"the files of {step.goes_to} have expired, and its session is gone",
                hint=("what was pruned: ", Command("log", "--operations")),
            ) from None
        return self.find_kept(found) if step.operation.moves_files else found

    def undo(self, *, overrides: Overrides = NO_OVERRIDES, shown: Plan | None = None) -> Outcome:
        """Takes back the newest operation that has not been taken back."""
        return self._step(_UNDO, overrides, shown)

    def redo(self, *, overrides: Overrides = NO_OVERRIDES, shown: Plan | None = None) -> Outcome:
        """Does again what the last undo took back."""
        return self._step(_REDO, overrides, shown)

    def recover_instead_of(self, kind: StepKind) -> None:
        """Recovers what was interrupted, if anything, and then raises RecoveredInstead.

        After a recovery ``undo`` and ``redo`` mean an operation other than the caller saw.
        """
        if self.interrupted:
            with self._context.locked() as locked:
                self._recover_instead_of(locked, kind)

    def _recover_instead_of(self, locked: LockedContext, kind: str) -> None:
        if self._recover_and_say(locked) is not None:
            raise RecoveredInstead(
                f"an interrupted operation was recovered first, so {kind} now means something else",
                hint=("look at the files, then run it again: ", Command(kind)),
            )

    def _step(self, kind: StepKind, overrides: Overrides, shown: Plan | None) -> Outcome:
        with self._context.locked() as locked:  # from the decision until it is done
            self._recover_instead_of(locked, kind)
            with self._taken_in(locked) as captured:
                step = rooms.rewind.next_step(locked, kind)
                request = self._request_of_step(kind, step, overrides)
            outcome = rooms.rewind.rewind(locked, captured, request, shown=shown)
        return self._with_session(outcome, step.operation)

    def _with_session(self, outcome: Outcome, operation: Move) -> Outcome:
        """Says which session to continue with after an undo or redo that moved a conversation."""
        if not operation.moves_conversation:
            return outcome
        wanted = self._current(operation)
        newest = None
        if wanted is not None:
            session = wanted
            newest = self._ask(lambda ledger: rooms.names.newest_of(ledger, session))
        if newest is None:
            return outcome.replace(resume=self._fresh_start(operation))
        resume = rooms.fork.resume_of(self._context, newest, adapter_of(newest.agent or ""))
        moved = outcome.replace(session=wanted, resume=resume)
        return self._in_agents_hands(moved, newest.agent or "", newest.native or "", resume.cwd)

    def _current(self, operation: Move, before: Move | None = None) -> SessionId | None:
        """Returns the session that the conversation of an operation is at, or was at before one."""
        return self._ask(
            lambda ledger: rooms.refuse.current_session(
                self._context, ledger, operation.session, before=before
            )
        )

    def _fresh_start(self, operation: Move) -> Resume | None:
        """Returns how a conversation starts over, if an undo leads to before its first prompt."""
        if operation.target is None:
            return None
        try:
            target = self._by_id(operation.target)
        except NoSuchCheckpoint:  # its session is gone
            return None
        adapter = adapter_of(target.agent or "")
        where = target.directory or os.fsdecode(self.root)
        return rooms.fork.resume_line(self._context, target, adapter.start(where))
