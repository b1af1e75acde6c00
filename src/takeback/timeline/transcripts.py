"""Conversations: their messages, cut into turns, and read a page at a time."""

from __future__ import annotations

import marshal
import threading
import zlib
from collections import deque

from takeback.errors import FILES_ALONE, Refused
from takeback.kernel import give_back_memory
from takeback.ledger import by_session as questions
from takeback.ledger import lists as conversations
from takeback.ledger.expired import position_of
from takeback.ledger.lists import PromptPlace, amount_until
from takeback.model.agent import USER, Message, MessagePage, PlacedMessage, ToolUse
from takeback.model.checkpoint import MANUAL, UNDO, TranscriptPart
from takeback.model.turn import (
    BRANCH,
    COMPACTION,
    FORK,
    PROMPT,
    ROUND,
    SESSION_END,
    SESSION_START,
    SHELL,
    TURN_END,
)
from takeback.model.value import Value
from takeback.remembered import Remembered
from takeback.store.tombstones import FILE as PURGED
from takeback.turns.said import identity_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from takeback.context import Context
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId
    from takeback.ports import MessageReader


# -- messages: a conversation as a person reads it, with the places that one can go back to
#
# An agent's transcript knows nothing of checkpoints. A prompt in it belongs to the checkpoint
# that was made before it; which one that is, the ids tell that agents give to turns and entries,
# else the words, in the order in which they were typed.


_NO_PROMPTS = (
    ROUND,
    TURN_END,
    SHELL,
    COMPACTION,
    FORK,
    BRANCH,
    SESSION_START,
    SESSION_END,
    MANUAL,
    UNDO,
)
_COMPARED = 200
"""Characters of a prompt by which it is recognised."""


class Prompts(Value):
    """The checkpoints before the prompts that led to a place, oldest first.

    ``told`` are in the history that is read, ``since`` came after it: the host did not hand over
    its conversation with them.
    """

    told: tuple[PromptPlace, ...]
    since: tuple[PromptPlace, ...] = ()


def page(said: Iterable[PlacedMessage], *, offset: int, limit: int | None) -> MessagePage:
    """Returns some of all messages; raises Refused as ``said`` does."""
    end = None if limit is None else offset + limit
    found: list[PlacedMessage] = []
    total = 0
    for message in said:
        if total >= offset and (end is None or total < end):
            found.append(message)
        total += 1
    following = offset + len(found)
    return MessagePage(tuple(found), total, following if found and following < total else None)


def placed(
    history: bytes, reader: MessageReader | None, prompts: Prompts
) -> Iterator[PlacedMessage]:
    """Yields the messages of a history; raises Refused if another package's reader fails.

    Where the history says nothing, the prompts are all that is known.
    """
    try:
        yield from _placed(history, reader, prompts)
    except ValueError as error:
        raise Refused(
            f"the conversation cannot be shown: {error}", hint=("the files: ", FILES_ALONE)
        ) from None


def last_told(ledger: Ledger, target: Checkpoint) -> Checkpoint | None:
    """Returns the newest checkpoint of the session, up to a place, that keeps a conversation."""
    return target if target.transcript else conversations.last_told(ledger, target)


def prompts_until(ledger: Ledger, target: Checkpoint, told: Checkpoint | None) -> Prompts:
    """Returns the prompts of a session up to a place, and of its ancestors.

    ``told`` is the checkpoint whose history is read.
    """
    found: list[PromptPlace] = []
    left: CheckpointId | None = target.id
    for session in questions.line(ledger, target.session):
        if left is None:
            break
        found += conversations.prompt_places(ledger, session, until=left, without=_NO_PROMPTS)
        row = questions.session_by_id(ledger, session)
        left = None if row is None else row.origin
    found.reverse()
    if told is None:
        return Prompts((), tuple(found))
    end = position_of(ledger, told.id)
    before = tuple(one for one in found if one.position < end)
    return Prompts(before, tuple(found[len(before) :]))


def _placed(
    history: bytes, reader: MessageReader | None, prompts: Prompts
) -> Iterator[PlacedMessage]:
    places = _Places(prompts.told)
    number = 0
    for message in () if reader is None else reader(history):
        place = places.of(message) if message.role == USER else None
        yield _with_place(number, message, place)
        number += 1
    for place in prompts.since if number else (*prompts.told, *prompts.since):
        if place.prompt:
            yield _with_place(number, Message(USER, place.prompt, place.time), place)
            number += 1


def _with_place(number: int, message: Message, place: PromptPlace | None) -> PlacedMessage:
    if place is None:
        return PlacedMessage(number, message)
    return PlacedMessage(number, message, place.id, place.turn or None)


class _Places:
    """The checkpoints that prompts are looked up in; each belongs to one prompt.

    A prompt that was typed into a running turn has the id of that turn, and a leaf can be come back
    to: so the words are compared as well, and if they are none that is known, the turn's beginning
    counts, and the last checkpoint at the leaf.
    """

    def __init__(self, prompts: tuple[PromptPlace, ...]) -> None:
        self._prompts = prompts
        self._next = 0
        self._used: set[int] = set()
        self._keyed: dict[tuple[str | None, ...], deque[int]] = {}
        for number, one in enumerate(prompts):
            words = _words(one.prompt)
            for kind, id in (("turn", one.turn_id), ("leaf", one.leaf)):
                if id is not None:
                    self._keyed.setdefault((kind, id, words), deque()).append(number)
                    if kind == "leaf" or one.kind == PROMPT:
                        self._keyed.setdefault((kind, id), deque()).append(number)
            if words:
                self._keyed.setdefault(("words", words), deque()).append(number)

    def of(self, message: Message) -> PromptPlace | None:
        """Returns the checkpoint before a prompt; None if there is none."""
        words = _words(message.text)
        turn, leaf = ("turn", message.turn), ("leaf", message.after)
        number = self._first((*turn, words))
        if number is None:
            number = self._last((*leaf, words))
        if number is None:
            number = self._first(turn)
        if number is None:
            number = self._last(leaf)
        if number is None:
            number = self._first(("words", words), least=self._next)
        if number is None:
            number = self._unsaid()
        if number is None:
            return None
        self._used.add(number)
        self._next = max(self._next, number + 1)
        return self._prompts[number]

    def _first(self, key: tuple[str | None, ...], *, least: int = 0) -> int | None:
        numbers = self._keyed.get(key)
        while numbers:
            number = numbers.popleft()
            if number >= least and number not in self._used:
                return number
        return None

    def _last(self, key: tuple[str | None, ...]) -> int | None:
        numbers = self._keyed.get(key)
        while numbers:
            number = numbers.pop()
            if number not in self._used:
                return number
        return None

    def _unsaid(self) -> int | None:
        """Returns the next checkpoint if nothing is known of its prompt: the order decides."""
        if self._next >= len(self._prompts):
            return None
        one = self._prompts[self._next]
        return self._next if (one.prompt, one.turn_id, one.leaf) == (None, None, None) else None


def _words(text: str | None) -> str | None:
    """Returns what is compared of a prompt: its first words, however they are spaced."""
    return None if text is None else " ".join(text[: 4 * _COMPARED].split())[:_COMPARED]


# -- conversations that were read lately, so that a page of one costs what it shows
#
# A transcript is read whole to be cut at a place: entries name the one before them, and only
# together say what was abandoned. So what was made of it is kept, packed, as long as the same
# would come of it. While an agent works, that is until its next event; for a place that it has
# left behind, until its transcript is another file.


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
