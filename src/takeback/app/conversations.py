"""Reading conversations: in the agent's own format, and as a person reads them."""

from __future__ import annotations

from takeback import ops
from takeback.adapters import adapter_of
from takeback.app.border import guarded
from takeback.app.browsing import Browsing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.workspace import CheckpointLike
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.message import MessagePage


@guarded
class Conversations(Browsing):
    """What was said up to a checkpoint."""

    def conversation(self, checkpoint: CheckpointLike) -> bytes:
        """Returns the conversation at a checkpoint, in the agent's own format."""
        found = self.find(checkpoint)
        newest = self._newest_conversation(found)
        adapter = adapter_of(found.agent or "")
        return ops.child.history_at(self._context, adapter, found, newest)

    def messages(
        self, checkpoint: CheckpointLike, *, offset: int = 0, limit: int | None = None
    ) -> MessagePage:
        """Returns what was said up to a checkpoint, with the place before each prompt.

        With ``offset`` and ``limit``, only some of it: numbers count from 0.
        """
        from takeback.adapters import message_reader
        from takeback.ops import messages

        found = self.find(checkpoint)
        told = self._ask(lambda ledger: messages.last_told(ledger, found))
        prompts = self._ask(lambda ledger: messages.prompts_until(ledger, found, told))
        reader = message_reader(found.agent or "")
        history = b"" if told is None else self.conversation(told)
        return messages.page(history, reader, prompts, offset=max(0, offset), limit=limit)

    def _newest_conversation(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """Returns the newest checkpoint of the session after one that keeps a conversation."""
        found = self._ask(lambda ledger: ledger.after(checkpoint))
        return next((later for later in reversed(found) if later.transcript), None)
