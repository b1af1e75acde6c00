"""Messages: a conversation as a person reads it, with the places that one can go back to.

An agent's transcript knows nothing of checkpoints. A prompt in it belongs to the checkpoint that
was made before it; which one that is, the ids tell that agents give to turns and entries, else the
words, in the order in which they were typed.
"""

from __future__ import annotations

from collections import deque

from takeback.errors import FILES_ALONE, Refused
from takeback.ledger import sessions as questions
from takeback.ledger import told as conversations
from takeback.ledger.expired import position_of
from takeback.ledger.told import PromptPlace
from takeback.model.checkpoint import MANUAL, UNDO
from takeback.model.message import USER, Message, MessagePage, PlacedMessage
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId
    from takeback.ports import MessageReader

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
