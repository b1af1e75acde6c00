"""The part of the awaited Python API that changes files: it plans, goes, and takes that back.

Made by scripts/async_api.py of ``app/public/moving.py``: change that, and run ``make docs``.
"""

from __future__ import annotations

from takeback.app.given import checked
from takeback.model.coverage import NO_OVERRIDES
from takeback.model.merge import NOTHING_CHOSEN
from takeback.rewind.request import KEEP_NOTHING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.app.forks import Maker
    from takeback.app.threads import Asking
    from takeback.app.travel import TurnLike, Turns
    from takeback.app.workspace import CheckpointLike
    from takeback.merge.revert import CarriedTurn
    from takeback.model.agent import SummaryWay
    from takeback.model.coverage import Overrides
    from takeback.model.merge import ConflictChoices
    from takeback.model.operation import Outcome, Plan, ScopeKind
    from takeback.rewind.request import Keeping
    from takeback.rewind.rewind import Recovered

    Paths = Iterable[str | bytes]


@checked
class AwaitedMoving:
    """Everything that moves files and conversations, and what looks ahead to it."""

    _asking: Asking

    # -- going back and forth

    async def plan(
        self,
        checkpoint: CheckpointLike,
        paths: Paths = (),
        *,
        scope: ScopeKind | None = None,
        ignored: bool = False,
        overrides: Overrides = NO_OVERRIDES,
        keeping: Keeping = KEEP_NOTHING,
    ) -> Plan:
        """Returns what a rewind would change; changes nothing."""
        return await self._asking.work(
            lambda tb: tb.plan(
                checkpoint,
                paths,
                scope=scope,
                ignored=ignored,
                overrides=overrides,
                keeping=keeping,
            )
        )

    async def rewind(
        self,
        checkpoint: CheckpointLike,
        paths: Paths = (),
        *,
        scope: ScopeKind | None = None,
        ignored: bool = False,
        overrides: Overrides = NO_OVERRIDES,
        keeping: Keeping = KEEP_NOTHING,
        shown: Plan | None = None,
    ) -> Outcome:
        """Goes to a checkpoint. ``shown`` is the plan a person agreed to.

        ``keeping`` says what of the time since is kept, merged into it: a person's edits, or all
        but what the checkpoint's session changed.
        """
        return await self._asking.work(
            lambda tb: tb.rewind(
                checkpoint,
                paths,
                scope=scope,
                ignored=ignored,
                overrides=overrides,
                keeping=keeping,
                shown=shown,
            )
        )

    async def plan_revert(
        self,
        turns: Turns,
        paths: Paths = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
    ) -> Plan:
        """Returns what ``revert`` would change; changes nothing. Its ``conflicts`` need choices."""
        return await self._asking.work(
            lambda tb: tb.plan_revert(turns, paths, choices=choices, overrides=overrides)
        )

    async def revert(
        self,
        turns: Turns,
        paths: Paths = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
        shown: Plan | None = None,
    ) -> Outcome:
        """Takes some turns out of the files, and leaves what came after them.

        A turn is ``turn:3``, one of its steps ``turn:3.2``, any checkpoint within it, or the value.
        """
        return await self._asking.work(
            lambda tb: tb.revert(turns, paths, choices=choices, overrides=overrides, shown=shown)
        )

    async def plan_apply(
        self,
        turn: TurnLike | CarriedTurn,
        paths: Paths = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
    ) -> Plan:
        """Returns what ``apply`` would change; changes nothing. Its ``conflicts`` need choices."""
        return await self._asking.work(
            lambda tb: tb.plan_apply(turn, paths, choices=choices, overrides=overrides)
        )

    async def apply(
        self,
        turn: TurnLike | CarriedTurn,
        paths: Paths = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
        shown: Plan | None = None,
    ) -> Outcome:
        """Brings what a turn changed into the files, merged with what is there.

        The turn is one of another session here, ``other/turn:3``, or ``brought`` from elsewhere.
        """
        return await self._asking.work(
            lambda tb: tb.apply(turn, paths, choices=choices, overrides=overrides, shown=shown)
        )

    async def brought(self, turn: TurnLike, *, elsewhere: bool = False) -> CarriedTurn:
        """Returns what a turn changed, for ``apply``, with ``elsewhere`` that of another workspace.

        This one has to stay open until then. Raises Refused if a model asks for another workspace
        from inside its turn.
        """
        return await self._asking.work(lambda tb: tb.brought(turn, elsewhere=elsewhere))

    async def plan_fork(
        self,
        checkpoint: CheckpointLike,
        *,
        files: bool = True,
        worktree: str | None = None,
        git: bool = False,
        overrides: Overrides = NO_OVERRIDES,
    ) -> Plan:
        """Returns what a fork would change; changes nothing. ``worktree`` is checked, too."""
        return await self._asking.work(
            lambda tb: tb.plan_fork(
                checkpoint, files=files, worktree=worktree, git=git, overrides=overrides
            )
        )

    async def fork(
        self,
        checkpoint: CheckpointLike,
        *,
        files: bool = False,
        worktree: str | None = None,
        git: bool = False,
        overrides: Overrides = NO_OVERRIDES,
        shown: Plan | None = None,
    ) -> Outcome:
        """Begins a new session from a checkpoint: its conversation and, if asked, its files.

        With ``worktree`` the files go into a new directory, and those here stay; with ``git`` it
        becomes a worktree of the project's git repository.
        """
        return await self._asking.work(
            lambda tb: tb.fork(
                checkpoint,
                files=files,
                worktree=worktree,
                git=git,
                overrides=overrides,
                shown=shown,
            )
        )

    async def plan_summary(
        self,
        checkpoint: CheckpointLike,
        way: SummaryWay,
        *,
        by: Maker | None = None,
        text: str | None = None,
        session: str | None = None,
    ) -> Plan:
        """Returns what a summary would be made of, and who would be sent it; sends nothing."""
        return await self._asking.work(
            lambda tb: tb.plan_summary(checkpoint, way, by=by, text=text, session=session)
        )

    async def summarise(
        self,
        checkpoint: CheckpointLike,
        way: SummaryWay,
        *,
        by: Maker | None = None,
        text: str | None = None,
        session: str | None = None,
        shown: Plan | None = None,
    ) -> Outcome:
        """Begins a new session in which what was said from, or up to, a place is a summary.

        The rest of the conversation is kept, the session that it comes from stays, and no file is
        touched. The summary is ``text``, what ``by`` makes of the text it is given, or that of the
        command of the settings, else of the agent itself: these are sent the conversation.
        ``session`` says whose conversation, if not that of the checkpoint. Nothing is locked while
        the summary is made; if the conversation went on meanwhile, it is refused.
        """
        return await self._asking.aside(
            lambda tb: tb.summarise(checkpoint, way, by=by, text=text, session=session, shown=shown)
        )

    async def plan_undo(self, *, overrides: Overrides = NO_OVERRIDES) -> Plan:
        """Returns what ``undo`` would change; changes nothing."""
        return await self._asking.work(lambda tb: tb.plan_undo(overrides=overrides))

    async def undo(
        self, *, overrides: Overrides = NO_OVERRIDES, shown: Plan | None = None
    ) -> Outcome:
        """Takes back the newest operation that has not been taken back."""
        return await self._asking.work(lambda tb: tb.undo(overrides=overrides, shown=shown))

    async def plan_redo(self, *, overrides: Overrides = NO_OVERRIDES) -> Plan:
        """Returns what ``redo`` would change; changes nothing."""
        return await self._asking.work(lambda tb: tb.plan_redo(overrides=overrides))

    async def redo(
        self, *, overrides: Overrides = NO_OVERRIDES, shown: Plan | None = None
    ) -> Outcome:
        """Does again what the last undo took back."""
        return await self._asking.work(lambda tb: tb.redo(overrides=overrides, shown=shown))

    async def interrupted(self) -> bool:
        """True if an operation was interrupted and not yet recovered."""
        return await self._asking.work(lambda tb: tb.interrupted)

    async def recover(self) -> Recovered | None:
        """Finishes or rolls back an interrupted operation; None if there is none."""
        return await self._asking.work(lambda tb: tb.recover())
