"""The part of the Python API that keeps the store in order."""

from __future__ import annotations

from takeback.app.engine import Engine
from takeback.app.given import checked, one_at_a_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from takeback.app.workspace import CheckpointLike
    from takeback.check.check import Verified
    from takeback.check.finding import Finding
    from takeback.purge.purge import Purge, Purging
    from takeback.retention.earlier import Discarded
    from takeback.retention.prune import Prune, Pruning
    from takeback.retention.trash import Restored
    from takeback.store.history import Trash
    from takeback.workspaces import KnownWorkspace


@one_at_a_time
@checked
class PublicUpkeep:
    """Everything that checks what is kept, and drops it."""

    engine: Engine

    # -- keeping house

    @staticmethod
    def workspaces(*, environ: Mapping[str, str] | None = None) -> list[KnownWorkspace]:
        """Returns every workspace that something is kept of, by path; opens none of them."""
        return Engine.workspaces(environ=environ)

    def verify(self, *, read_data: bool = False) -> Verified:
        """Checks that everything kept can be read back."""
        return self.engine.verify(read_data=read_data)

    def doctor(self, *, rebuild: bool = False, fix: bool = False) -> list[Finding]:
        """Reports what is wrong; with ``fix`` it mends what can safely be mended."""
        return self.engine.doctor(rebuild=rebuild, fix=fix)

    def plan_prune(
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
        return self.engine.plan_prune(checkpoints, session=session, everything=everything)

    def prune(self, planned: Prune) -> Pruning:
        """Carries out a prune, and empties the trash of what was there long enough.

        By the settings, of all sessions, it brings all stores within ``max_total_bytes``, too.
        """
        return self.engine.prune(planned)

    def restore(self, name: str | None = None) -> Restored:
        """Brings back what was pruned: the newest, or what the id of a prune or a checkpoint means.

        Of a checkpoint its turn comes back. Raises Refused if the trash is empty.
        """
        return self.engine.restore(name)

    def trash(self) -> list[Trash]:
        """Returns what was dropped and can be brought back, the oldest first."""
        return self.engine.trash()

    def plan_purge(self, *names: str) -> Purge:
        """Returns a purge that is not carried out: its ``outlook`` says what it would remove.

        A name is a path, which starts where the workspace was opened, or a pattern, which starts
        at its root and matches at any depth if it has no slash.
        """
        return self.engine.plan_purge(*names)

    def purge(self, planned: Purge) -> Purging:
        """Removes what it is about from everything that is kept, for good; proves it."""
        return self.engine.purge(planned)

    def forget(self, *, now: bool = False) -> Discarded | None:
        """Puts every checkpoint of this workspace into the trash; its files are not touched.

        Returns what is there then; None if it is gone for good: with ``now``, or where its settings
        give no grace.
        """
        return self.engine.forget(now=now)
