"""The part of the awaited Python API that keeps the store in order.

Made by scripts/async_api.py of ``app/public/upkeep.py``: change that, and run ``make docs``.
"""

from __future__ import annotations

from takeback.app.engine import Engine
from takeback.app.given import checked
from takeback.app.threads import beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from takeback.app.threads import Asking
    from takeback.app.workspace import CheckpointLike
    from takeback.check.check import Verified
    from takeback.check.finding import Finding
    from takeback.purge.purge import Purge, Purging
    from takeback.retention.earlier import Discarded
    from takeback.retention.prune import Prune, Pruning
    from takeback.retention.trash import Restored
    from takeback.store.history import Trash
    from takeback.workspaces import KnownWorkspace


@checked
class AwaitedUpkeep:
    """Everything that checks what is kept, and drops it."""

    _asking: Asking

    # -- keeping house

    @staticmethod
    async def workspaces(*, environ: Mapping[str, str] | None = None) -> list[KnownWorkspace]:
        """Returns every workspace that something is kept of, by path; opens none of them."""
        return await beside(lambda: Engine.workspaces(environ=environ))

    async def verify(self, *, read_data: bool = False) -> Verified:
        """Checks that everything kept can be read back."""
        return await self._asking.work(lambda tb: tb.verify(read_data=read_data))

    async def doctor(self, *, rebuild: bool = False, fix: bool = False) -> list[Finding]:
        """Reports what is wrong; with ``fix`` it mends what can safely be mended."""
        return await self._asking.work(lambda tb: tb.doctor(rebuild=rebuild, fix=fix))

    async def plan_prune(
        self,
        checkpoints: Iterable[CheckpointLike] = (),
        *,
        session: str | None = None,
        everything: bool = False,
    ) -> Prune:
        """Returns a prune that is decided and not carried out: its ``outlook`` says what it does.

        By the settings, or of the checkpoints that are named; of one session only, or with
        ``everything`` all of that session.
        """
        return await self._asking.work(
            lambda tb: tb.plan_prune(checkpoints, session=session, everything=everything)
        )

    async def prune(self, planned: Prune) -> Pruning:
        """Carries out a prune, and empties the trash of what was there long enough.

        By the settings, of all sessions, it brings all stores within ``max_total_bytes``, too.
        """
        return await self._asking.work(lambda tb: tb.prune(planned))

    async def restore(self, name: str | None = None) -> Restored:
        """Brings back what was pruned: the newest, or what the id of a prune or a checkpoint means.

        Of a checkpoint its turn comes back. Raises Refused if the trash is empty.
        """
        return await self._asking.work(lambda tb: tb.restore(name))

    async def trash(self) -> list[Trash]:
        """Returns what was dropped and can be brought back, the oldest first."""
        return await self._asking.look(lambda tb: tb.trash())

    async def plan_purge(self, *names: str) -> Purge:
        """Returns a purge that is not carried out: its ``outlook`` says what it would remove.

        A name is a path, which starts where the workspace was opened, or a pattern, which starts
        at its root and matches at any depth if it has no slash.
        """
        return await self._asking.work(lambda tb: tb.plan_purge(*names))

    async def purge(self, planned: Purge) -> Purging:
        """Removes what it is about from everything that is kept, for good; proves it."""
        return await self._asking.work(lambda tb: tb.purge(planned))

    async def forget(self, *, now: bool = False) -> Discarded | None:
        """Puts every checkpoint of this workspace into the trash; its files are not touched.

        Returns what is there then; None if it is gone for good: with ``now``, or where its settings
        give no grace.
        """
        return await self._asking.work(lambda tb: tb.forget(now=now))
