"""The part of the Python API that records."""

from __future__ import annotations

from takeback.app.given import checked, one_at_a_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.app.workspace import CheckpointLike
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import AgentEvent
    from takeback.turns.checkpoint import Made
    from takeback.turns.receive import Received


@one_at_a_time
@checked
class PublicKeeping:
    """Everything that makes checkpoints, and names them."""

    engine: Engine

    def receive(self, event: AgentEvent) -> Received:
        """Records an agent's event; see ``takeback.model.event``."""
        return self.engine.receive(event)

    def hear(self, agent: str, payload: Mapping[str, Any]) -> Received:
        """Records what an agent's hook says, for agents whose hooks are called in your program.

        ``payload`` is what it would give to ``takeback hook AGENT``; what takeback has no use for
        is passed over. Raises UsageError if it cannot be understood, or the agent works elsewhere.
        """
        return self.engine.hear(agent, payload)

    def checkpoint(
        self,
        label: str | None = None,
        *,
        message: str | None = None,
        session: str | None = None,
        allow_large: bool = False,
    ) -> Made:
        """Makes a checkpoint of the files as they are now, in ``session``."""
        return self.engine.checkpoint(
            label, message=message, session=session, allow_large=allow_large
        )

    def label(self, checkpoint: CheckpointLike, name: str | None) -> Checkpoint:
        """Gives a checkpoint a name, or removes it (None)."""
        return self.engine.label(checkpoint, name)
