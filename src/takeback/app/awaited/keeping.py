"""The part of the awaited Python API that records.

Made by scripts/async_api.py of ``app/public/keeping.py``: change that, and run ``make docs``.
"""

from __future__ import annotations

from takeback.app.given import checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from takeback.app.threads import Asking
    from takeback.app.workspace import CheckpointLike
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import AgentEvent
    from takeback.turns.checkpoint import Made
    from takeback.turns.receive import Received


@checked
class AwaitedKeeping:
    """Everything that makes checkpoints, and names them."""

    _asking: Asking

    async def receive(self, event: AgentEvent) -> Received:
        """Records an agent's event; see ``takeback.model.event``."""
        return await self._asking.work(lambda tb: tb.receive(event))

    async def hear(self, agent: str, payload: Mapping[str, Any]) -> Received:
        """Records what an agent's hook says, for agents whose hooks are called in your program.

        ``payload`` is what it would give to ``takeback hook AGENT``; what takeback has no use for
        is passed over. Raises UsageError if it cannot be understood, or the agent works elsewhere.
        """
        return await self._asking.work(lambda tb: tb.hear(agent, payload))

    async def checkpoint(
        self,
        label: str | None = None,
        *,
        message: str | None = None,
        session: str | None = None,
        allow_large: bool = False,
    ) -> Made:
        """Makes a checkpoint of the files as they are now, in ``session``."""
        return await self._asking.work(
            lambda tb: tb.checkpoint(
                label, message=message, session=session, allow_large=allow_large
            )
        )

    async def label(self, checkpoint: CheckpointLike, name: str | None) -> Checkpoint:
        """Gives a checkpoint a name, or removes it (None)."""
        return await self._asking.work(lambda tb: tb.label(checkpoint, name))
