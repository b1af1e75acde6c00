"""Reading conversations: in the agent's own format, and as a person reads them."""

from __future__ import annotations

from takeback import rooms
from takeback.adapters import adapter_of
from takeback.app.border import guarded
from takeback.app.browsing import Browsing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.app.workspace import CheckpointLike
    from takeback.model.agent import MessagePage, PlacedMessage
    from takeback.model.checkpoint import Checkpoint
    from takeback.timeline.conversation import Source


@guarded
class Conversations(Browsing):
    """What was said up to a checkpoint."""

    def conversation(self, checkpoint: CheckpointLike) -> bytes:
        """Returns the conversation at a checkpoint, in the agent's own format."""
        found = self._told_here(checkpoint)
        newest = self._newest_conversation(found)
        adapter = adapter_of(found.agent or "")
        return rooms.fork.history_at(self._context, adapter, found, newest)

    def said_last(self, checkpoint: Checkpoint) -> bytes:
        """Returns the newest conversation that is kept of a session at a checkpoint or before."""
        from takeback.timeline import conversation as conversation_room

        told = self._ask(lambda ledger: conversation_room.last_told(ledger, checkpoint))
        return b"" if told is None else self.conversation(told)

    def messages(
        self, checkpoint: CheckpointLike, *, offset: int = 0, limit: int | None = None
    ) -> MessagePage:
        """Returns what was said up to a checkpoint, with the place before each prompt.

        With ``offset`` and ``limit``, only some of it: numbers count from 0.
        """
        from takeback.timeline import conversation as conversation_room

        found = self._told_here(checkpoint)
        told = self._ask(lambda ledger: conversation_room.last_told(ledger, found))
        offset = max(0, offset)
        if self._pages is None:
            return conversation_room.page(self._said(found, told), offset=offset, limit=limit)
        of = self._source(found, told)
        return self._pages.page(of, lambda: self._said(found, told), offset=offset, limit=limit)

    def messages_at_hand(
        self, checkpoint: CheckpointLike, *, offset: int = 0, limit: int | None = None
    ) -> MessagePage | None:
        """Returns what ``messages`` does, if the conversation need not be read for it."""
        from takeback.timeline import conversation as conversation_room

        found = self._told_here(checkpoint)
        told = self._ask(lambda ledger: conversation_room.last_told(ledger, found))
        if self._pages is None:
            return None
        return self._pages.at_hand(self._source(found, told), offset=max(0, offset), limit=limit)

    def _told_here(self, checkpoint: CheckpointLike) -> Checkpoint:
        """Returns a checkpoint; raises Refused for a model if a model told of its session.

        It may have named the conversation of another workspace as that session's.
        """
        found = self.find(checkpoint)
        if found.below is not None:
            what, why = f"what was said in {found.session}", f"a tool of {found.below} told of it"
            self.refuse_to_show(what, why)
        return found

    def _source(self, place: Checkpoint, told: Checkpoint | None) -> Source:
        newest = None if told is None else self._newest_conversation(told)
        return self._ask(
            lambda ledger: rooms.conversation.source(self._context, ledger, place, told, newest)
        )

    def _said(self, place: Checkpoint, told: Checkpoint | None) -> Iterator[PlacedMessage]:
        """Returns all that was said up to a place; ``told`` keeps the conversation."""
        from takeback.adapters import message_reader
        from takeback.timeline import conversation as conversation_room

        prompts = self._ask(lambda ledger: conversation_room.prompts_until(ledger, place, told))
        history = b"" if told is None else self.conversation(told)
        return conversation_room.placed(history, message_reader(place.agent or ""), prompts)

    def _newest_conversation(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """Returns the newest checkpoint of the session after one that keeps a conversation."""
        from takeback.ledger.lists import told_since

        return self._ask(lambda ledger: told_since(ledger, checkpoint))
