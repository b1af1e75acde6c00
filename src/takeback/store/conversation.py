"""A conversation's bytes in the store, in pieces, so that an append costs only what is new.

    conversation/  one tree per file of the transcript
      0/           one tree per group of pieces
        00000/     128 pieces of 32 KB; only the last one changes when the file grows
          000

Pieces have a fixed size, so equal beginnings have equal pieces, however they were appended. A
transcript of 20 MB is five groups: an append writes one piece, one group and two small trees.

Of a file whose beginning an earlier checkpoint has, that beginning need not even be read:
``Landmarks`` are what it is recognized by (turns/said.py).
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.git.objects import BLOB, TREE, encode_tree, object_id
from takeback.model.checkpoint import DIRECTORY
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from takeback.ports import ObjectSink
    from takeback.store.store import Store

PIECE = 1 << 15
_GROUP = 128
_FILE = 0o100644


class Beginning(Value):
    """The beginning of a file as the store has it: whole groups, then pieces of the next one."""

    groups: tuple[bytes, ...] = ()
    pieces: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        """How many bytes that is."""
        return (len(self.groups) * _GROUP + len(self.pieces)) * PIECE


class Part(Value):
    """One file of a conversation that is to be kept: bytes, after what the store has of it.

    ``ids`` are those of the pieces of ``data``, if somebody has worked them out.
    """

    data: bytes
    after: Beginning = Beginning()
    ids: tuple[bytes, ...] | None = None


class Landmarks(Value):
    """The whole pieces of a file at an earlier checkpoint, and by what its beginning is recognized.

    ``first`` and ``last`` are the ids of the first and the last of them, ``rest`` that of the
    incomplete one after them, None if there is none.
    """

    known: Beginning
    first: bytes
    last: bytes
    rest: bytes | None


def piece_ids(data: bytes) -> tuple[bytes, ...]:
    """Returns the ids of the pieces that bytes are kept in."""
    view = memoryview(data)
    return tuple(
        object_id(BLOB, bytes(view[start : start + PIECE])) for start in range(0, len(data), PIECE)
    )


def kept_beginning(store: Store, tree: bytes, number: int, size: int) -> Landmarks | None:
    """Returns what is kept of one file of a conversation, which had ``size`` bytes then.

    Reads only the groups at both ends. None if it has no whole piece, or is not what it should be;
    raises StoreDamaged.
    """
    whole, left = divmod(size, PIECE)
    part = {name: oid for _, name, oid in store.tree(tree)}.get(b"%d" % number)
    if part is None or not whole:
        return None
    groups = [oid for _, _, oid in store.tree(part)]
    if len(groups) != -(-size // (PIECE * _GROUP)):
        return None
    full, beyond = divmod(whole, _GROUP)
    first = _pieces(store, groups[0])
    before = first if whole <= _GROUP else _pieces(store, groups[(whole - 1) // _GROUP])
    newest = _pieces(store, groups[full]) if full < len(groups) else []
    if len(newest) != beyond + bool(left):
        return None
    return Landmarks(
        Beginning(tuple(groups[:full]), tuple(newest[:beyond])),
        first[0],
        before[(whole - 1) % _GROUP],
        newest[beyond] if left else None,
    )


def kept_ids(store: Store, tree: bytes, number: int) -> tuple[bytes, ...]:
    """Returns the ids of all pieces that are kept of one file; raises StoreDamaged."""
    part = {name: oid for _, name, oid in store.tree(tree)}.get(b"%d" % number)
    if part is None:
        raise StoreDamaged(f"conversation {tree.hex()} has no file {number}")
    return tuple(piece for _, _, group in store.tree(part) for piece in _pieces(store, group))


def _pieces(store: Store, group: bytes) -> list[bytes]:
    return [oid for _, _, oid in store.tree(group)]


def write_conversation(sink: ObjectSink, parts: Sequence[Part]) -> bytes:
    """Adds the bytes of each file to ``sink`` and returns the tree that holds them."""
    entries = [
        (DIRECTORY, b"%d" % number, _write_part(sink, part)) for number, part in enumerate(parts)
    ]
    return _keep(sink, TREE, encode_tree(entries))


def _write_part(sink: ObjectSink, part: Part) -> bytes:
    view = memoryview(part.data)
    pieces = list(part.after.pieces)
    ids = piece_ids(part.data) if part.ids is None else part.ids
    for number, oid in enumerate(ids):
        if not sink.has(oid):
            sink.add(BLOB, bytes(view[number * PIECE : (number + 1) * PIECE]), oid)
        pieces.append(oid)
    groups = list(part.after.groups)
    for start in range(0, len(pieces), _GROUP):
        group = [
            (_FILE, b"%03d" % number, oid)
            for number, oid in enumerate(pieces[start : start + _GROUP])
        ]
        groups.append(_keep(sink, TREE, encode_tree(group)))
    named = [(DIRECTORY, b"%05d" % number, oid) for number, oid in enumerate(groups)]
    return _keep(sink, TREE, encode_tree(named))


def _keep(sink: ObjectSink, kind: int, data: bytes) -> bytes:
    oid = object_id(kind, data)
    return oid if sink.has(oid) else sink.add(kind, data, oid)


def with_pieces(
    store: Store, sink: ObjectSink, tree: bytes, replace: Callable[[list[bytes]], list[bytes]]
) -> bytes:
    """Returns the tree of the same conversation with other pieces of the same sizes.

    ``replace`` gets the ids of the pieces of one file, and returns those of what stands in their
    place.
    """
    parts = store.tree(tree)
    made = [(mode, name, _part_with(store, sink, part, replace)) for mode, name, part in parts]
    return tree if made == parts else sink.add(TREE, encode_tree(made))


def pieces_of(store: Store, tree: bytes) -> Iterator[list[bytes]]:
    """Yields the ids of the pieces of each file of a conversation; raises StoreDamaged."""
    for _, _, part in store.tree(tree):
        yield [piece for _, _, group in store.tree(part) for piece in _pieces(store, group)]


def _part_with(
    store: Store, sink: ObjectSink, part: bytes, replace: Callable[[list[bytes]], list[bytes]]
) -> bytes:
    groups = [(mode, name, store.tree(group)) for mode, name, group in store.tree(part)]
    pieces = [oid for _, _, group in groups for _, _, oid in group]
    made = replace(pieces)
    if made == pieces:
        return part
    left = iter(made)
    anew = [
        (mode, name, sink.add(TREE, encode_tree([(m, n, next(left)) for m, n, _ in group])))
        for mode, name, group in groups
    ]
    return sink.add(TREE, encode_tree(anew))


class Conversation:
    """The bytes of each file of a conversation, hash-checked; raises StoreDamaged.

    What an ``earlier`` one has read already is not read again: of two that begin alike, the store
    is asked once for what they have in common.
    """

    def __init__(self, store: Store, tree: bytes, earlier: Conversation | None = None) -> None:
        known = {} if earlier is None else earlier._pieces()
        self._ids: list[tuple[bytes, ...]] = []
        found = []
        for _, _, part in sorted(store.tree(tree), key=lambda entry: int(entry[1])):
            groups = [group for _, _, group in store.tree(part)]
            ids = tuple(piece for group in groups for piece in _pieces(store, group))
            found.append(b"".join(known.get(id) or store.blob(id, PIECE) for id in ids))
            self._ids.append(ids)
        self.parts = tuple(found)

    def _pieces(self) -> dict[bytes, memoryview]:
        return {
            id: memoryview(data)[number * PIECE : (number + 1) * PIECE]
            for ids, data in zip(self._ids, self.parts, strict=True)
            for number, id in enumerate(ids)
        }


def read_conversation(store: Store, tree: bytes) -> tuple[bytes, ...]:
    """Returns the bytes of each file, hash-checked; raises StoreDamaged."""
    return Conversation(store, tree).parts
