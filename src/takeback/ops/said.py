"""Said: a transcript as a checkpoint keeps it, of which only what was appended is read.

    prompt, turn end ...   all of it is read
    rounds between them    [first piece] ...taken over... [last whole piece][the rest][appended]
                               read                             read           read      read

A transcript grows by lines at its end. So at a round what the newest checkpoint of the session has
of it is taken over by its ids, if this is still the same file, no shorter, and both ends of what
was there hash the same; else all of it is read. The checkpoint says how much it took over
(``known``). An agent does not change the middle of its transcript, but another program can, and a
round would not notice. Then the round keeps what was in that place when it was last read: no byte
of it is made up, but the whole may never have existed. The next whole read, at the latest at the
end of the turn, compares everything that was taken over; what it finds different it says
(``rewritten``), and from then on nobody takes those rounds for the conversation (``disproved``).
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.git.objects import BLOB, object_id
from takeback.model.checkpoint import MANUAL, UNDO
from takeback.model.session import TranscriptPart
from takeback.model.value import Value
from takeback.ops.transcript import read_ends, read_part
from takeback.store import tombstones
from takeback.store.checkpoints import checkpoints_back, conversation_tree
from takeback.store.conversation import PIECE, Part, kept_beginning, kept_ids, piece_ids
from takeback.store.records import read_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.model.checkpoint import Checkpoint
    from takeback.store.store import Store

_FEWEST = 8
"""How many pieces a transcript has before any of them is taken over: so few are quickly read."""


class SaidPart(Value):
    """One file of a transcript: which part of it, and the bytes to keep."""

    part: TranscriptPart
    kept: Part

    def tail(self, most: int) -> bytes:
        """Returns the last bytes; those that were not read before are read now."""
        if len(self.kept.data) >= most or not self.kept.after.size:
            return self.kept.data[-most:]
        found = read_ends(self.part, 0, max(0, self.part.size - most))
        return self.kept.data if found is None else found[2]


def said_in(store: Store, data: bytes) -> SaidPart:
    """Returns the conversation that came with an event, blanked where it was purged."""
    purged = tombstones.load(store)
    kept = data if purged is None else purged.blanked(data)
    return SaidPart(TranscriptPart("", len(data)), Part(kept))


def said_now(
    store: Store, files: Sequence[TranscriptPart], newest: Checkpoint | None, *, whole: bool
) -> list[SaidPart]:
    """Returns the files of a transcript, up to the lengths that they had when an event came.

    ``newest`` is the session's newest checkpoint. Unless all of it is to be read as a ``whole``,
    what that one keeps is taken over. What was purged is blanked: the agent's own file still has
    it. Then, too, everything is read, because what is kept is not what the file holds.
    """
    purged = tombstones.load(store)
    before = _Before(store, newest)
    found = []
    for number, part in enumerate(files):
        said = None if whole or purged is not None else before.appended(number, part)
        if said is None:
            read = read_part(part)
            if read is None:
                continue
            data = read[1] if purged is None else purged.blanked(read[1])
            said = before.compared(number, read[0], data)
        found.append(said.replace(part=said.part.replace(epoch=store.epoch)))
    return found


def _told_by_the_agent(store: Store, newest: Checkpoint) -> Checkpoint:
    """Returns the newest checkpoint of a session that an event made: only those have a transcript.

    Somebody may have made one by hand since, an operation its undo snapshot, or takeback itself
    the end of a turn whose agent was gone.
    """
    if not _is_without_an_event(newest):
        return newest
    for one in checkpoints_back(store, newest.commit):
        if one.session != newest.session:
            break
        if not _is_without_an_event(one):
            return one
    return newest


def _is_without_an_event(one: Checkpoint) -> bool:
    return not one.transcript and (one.kind in (MANUAL, UNDO) or one.unfinished)


class _Before:
    """What the newest checkpoint of a session keeps of its transcript."""

    def __init__(self, store: Store, newest: Checkpoint | None) -> None:
        self._store = store
        self._newest = None if newest is None else _told_by_the_agent(store, newest)
        self._parts: Sequence[TranscriptPart] = ()
        if self._newest is not None and self._newest.machine == store.machine:
            self._parts = self._newest.transcript

    def _tree(self) -> bytes:
        assert self._newest is not None  # it has parts
        found = conversation_tree(read_record(self._store, self._newest.commit))
        if found is None:
            raise StoreDamaged(f"checkpoint {self._newest.id} has no conversation")
        return found

    def _part(self, number: int, path: str) -> TranscriptPart | None:
        found = self._parts[number] if number < len(self._parts) else None
        return None if found is None or found.path != path else found

    def appended(self, number: int, part: TranscriptPart) -> SaidPart | None:
        """Returns a file with only its end read; None if all of it must be read."""
        then = self._part(number, part.path)
        if then is None or not then.file or then.epoch != self._store.epoch:
            return None
        if then.size < _FEWEST * PIECE or part.size < then.size:
            return None
        try:
            kept = kept_beginning(self._store, self._tree(), number, then.size)
        except StoreDamaged:
            return None
        if kept is None:
            return None
        read = read_ends(part, PIECE, kept.known.size - PIECE)
        if read is None:
            return None
        now, head, tail = read
        last, data = tail[:PIECE], tail[PIECE:]
        rest = then.size - kept.known.size
        is_same = (
            (now.place, now.file) == (then.place, then.file)
            and now.size >= then.size
            and object_id(BLOB, head) == kept.first
            and object_id(BLOB, last) == kept.last
            and (kept.rest is None or object_id(BLOB, data[:rest]) == kept.rest)
        )
        if not is_same:
            return None
        return SaidPart(now.replace(known=kept.known.size), Part(data, kept.known))

    def compared(self, number: int, part: TranscriptPart, data: bytes) -> SaidPart:
        """Returns a file that was read whole; it says where it is not what was taken over."""
        ids = piece_ids(data)
        then = self._part(number, part.path)
        if then is not None and then.known:
            try:
                taken = kept_ids(self._store, self._tree(), number)[: then.known // PIECE]
            except StoreDamaged:
                taken = ()
            padded = (*ids, *[b""] * len(taken))
            differ = (at for at, oid in enumerate(taken) if padded[at] != oid)
            first = next(differ, None)
            part = part.replace(rewritten=None if first is None else first * PIECE)
        return SaidPart(part, Part(data, ids=ids))


def disproved(store: Store, target: Checkpoint, newest: Checkpoint | None) -> bool:
    """Tells whether what a checkpoint took over was not in the transcript when that was read whole.

    ``newest`` is a later checkpoint of the session.
    """
    if newest is None or not any(part.known for part in target.transcript):
        return False
    since: list[Checkpoint] = []
    for one in checkpoints_back(store, newest.commit):
        if one.id == target.id:
            break
        since.append(one)
    for one in reversed(since):
        if one.transcript and not any(part.known for part in one.transcript):
            both = zip(target.transcript, one.transcript, strict=False)
            return any(
                now.rewritten is not None and now.rewritten < then.known for then, now in both
            )
    return False
