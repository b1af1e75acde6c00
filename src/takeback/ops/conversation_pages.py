"""Conversations that were read lately, so that a page of one costs what it shows.

A transcript is read whole to be cut at a place: entries name the one before them, and only together
say what was abandoned. So what was made of it is kept, packed, as long as the same would come of
it. While an agent works, that is until its next event; for a place that it has left behind, until
its transcript is another file.
"""

from __future__ import annotations

import marshal
import threading
import zlib

from takeback.kernel import give_back_memory
from takeback.ledger import sessions as questions
from takeback.ledger.told import amount_until
from takeback.model.message import Message, MessagePage, PlacedMessage, ToolUse
from takeback.model.session import TranscriptPart
from takeback.model.value import Value
from takeback.ops.transcript import identity_of
from takeback.remembered import Remembered
from takeback.store.tombstones import FILE as PURGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId
    from takeback.ops.context import Context

_TOGETHER = 100
"""So many messages are packed together: about a page."""
_PACKED = 16 << 20
"""Bytes of packed messages that are kept: some dozen of very long conversations."""
_MANY = 1000
"""More messages than this were made of so much that it does not stay with us."""
_LEFT_BEHIND = 2
"""After so many turns nothing that an agent appends belongs to a place any more."""


class Source(Value):
    """All that the messages up to a place depend on: as long as it is equal, they are."""

    place: str
    told: str
    """The commit that keeps the conversation; empty if none does."""
    before: tuple[tuple[str, int], ...]
    """The session and its ancestors, each with how many checkpoints led to the place."""
    later: tuple[object, ...]
    """What the conversation is looked up in that came later."""
    purged: tuple[str | int, ...]


def source(
    context: Context,
    ledger: Ledger,
    place: Checkpoint,
    told: Checkpoint | None,
    newest: Checkpoint | None,
) -> Source:
    """Returns what the messages up to a place are made of.

    ``told`` keeps their conversation, ``newest`` is the last of the session that keeps one.
    """
    before = []
    left: CheckpointId | None = place.id
    for session in questions.line(ledger, place.session):
        if left is None:
            break
        before.append((str(session), amount_until(ledger, session, left)))
        row = questions.session_by_id(ledger, session)
        left = None if row is None else row.origin
    later: list[object] = []
    if told is not None:
        grown = newest is not None and (newest.turn or 0) >= (told.turn or 0) + _LEFT_BEHIND
        later += [identity_of(part, grown=grown) for part in told.transcript]
        later.append("" if newest is None or grown else newest.commit)
    return Source(
        place.id,
        "" if told is None else told.commit.hex(),
        tuple(before),
        tuple(later),
        identity_of(TranscriptPart(context.store.path(PURGED), 0), grown=False),
    )


class KeptConversations:
    """What was read of conversations lately, for all threads of a process."""

    def __init__(self) -> None:
        self._found: Remembered[Source, _Packed] = Remembered(_PACKED)
        self._lock = threading.Lock()

    def get(self, of: Source) -> _Packed | None:
        with self._lock:
            return self._found.get(of)

    def add(self, of: Source, read: _Packed) -> None:
        with self._lock:
            self._found.add(of, read, read.weight)


class ConversationPages:
    """Pages of the conversations of one workspace, for all threads that look at it."""

    def __init__(self, kept: KeptConversations) -> None:
        self._kept = kept
        self._reading = threading.Lock()

    def at_hand(self, of: Source, *, offset: int, limit: int | None) -> MessagePage | None:
        """Returns some messages; None if they would have to be read."""
        known = self._kept.get(of)
        return None if known is None else known.page(offset, limit)

    def page(
        self,
        of: Source,
        read: Callable[[], Iterable[PlacedMessage]],
        *,
        offset: int,
        limit: int | None,
    ) -> MessagePage:
        """Returns some messages; ``read`` is asked for all of them if they are not known.

        Only one conversation is read at a time: it takes several times its size in memory.
        """
        known = self._kept.get(of)
        if known is None:
            with self._reading:
                known = self._kept.get(of)  # somebody else may have wanted the same
                if known is None:
                    known = _Packed(read())
                    self._kept.add(of, known)
                    if known.total > _MANY:
                        give_back_memory()
        return known.page(offset, limit)


class _Packed:
    """All messages of a conversation, in packets."""

    def __init__(self, said: Iterable[PlacedMessage]) -> None:
        self.total = 0
        self._packets: list[bytes] = []
        packet: list[tuple[object, ...]] = []
        for message in said:
            packet.append(_fields(message))
            self.total += 1
            if len(packet) == _TOGETHER:
                self._packets.append(_pack(packet))
                packet = []
        if packet:
            self._packets.append(_pack(packet))

    @property
    def weight(self) -> int:
        return sum(map(len, self._packets)) + 200 * (len(self._packets) + 5)

    def page(self, offset: int, limit: int | None) -> MessagePage:
        end = self.total if limit is None else min(offset + limit, self.total)
        found: list[PlacedMessage] = []
        for number in range(offset // _TOGETHER, -(-end // _TOGETHER)):
            for fields in marshal.loads(zlib.decompress(self._packets[number])):
                if offset <= fields[0] < end:
                    found.append(_message(fields))
        following = offset + len(found)
        more = found and following < self.total
        return MessagePage(tuple(found), self.total, following if more else None)


def _pack(packet: list[tuple[object, ...]]) -> bytes:
    return zlib.compress(marshal.dumps(packet), 1)


def _fields(placed: PlacedMessage) -> tuple[object, ...]:
    """Returns a message as plain values."""
    said = placed.message
    tool = said.tool
    called = None if tool is None else (tool.name, tool.input, tool.failed)
    own = (said.role, said.text, said.time, called, said.entry, said.turn, said.after, said.cut)
    return placed.number, own, placed.checkpoint, placed.turn


def _message(fields: tuple[object, ...]) -> PlacedMessage:
    number, own, checkpoint, turn = fields
    assert isinstance(own, tuple)
    role, text, time, called, *rest = own
    tool = None if called is None else ToolUse(*called)
    said = Message(role, text, time, tool, *rest)
    return PlacedMessage(number, said, checkpoint, turn)  # type: ignore[arg-type]
