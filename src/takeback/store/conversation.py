"""A conversation's bytes in the store, in pieces, so that an append costs only what is new.

    conversation/  one tree per file of the transcript
      0/           one tree per group of pieces
        00000/     128 pieces of 32 KiB; only the last one changes when the file grows
          000

Pieces have a fixed size, so equal beginnings have equal pieces, however they were appended. A
transcript of 20 MB is five groups: an append writes one piece, one group and two small trees.
"""

from __future__ import annotations

from takeback.git.objects import BLOB, TREE, encode_tree, object_id
from takeback.model.snapshot import DIRECTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from takeback.ports import ObjectSink
    from takeback.store.store import Store

PIECE = 1 << 15
_GROUP = 128
_FILE = 0o100644


def write_conversation(sink: ObjectSink, parts: Sequence[bytes]) -> bytes:
    """Adds the bytes of each file to ``sink`` and returns the tree that holds them."""
    entries = [
        (DIRECTORY, b"%d" % number, _write_part(sink, data)) for number, data in enumerate(parts)
    ]
    return _keep(sink, TREE, encode_tree(entries))


def _write_part(sink: ObjectSink, data: bytes) -> bytes:
    view = memoryview(data)
    pieces = [
        _keep(sink, BLOB, bytes(view[start : start + PIECE]))
        for start in range(0, len(data), PIECE)
    ]
    groups = []
    for start in range(0, len(pieces), _GROUP):
        group = [
            (_FILE, b"%03d" % number, oid)
            for number, oid in enumerate(pieces[start : start + _GROUP])
        ]
        tree = _keep(sink, TREE, encode_tree(group))
        groups.append((DIRECTORY, b"%05d" % (start // _GROUP), tree))
    return _keep(sink, TREE, encode_tree(groups))


def _keep(sink: ObjectSink, kind: int, data: bytes) -> bytes:
    oid = object_id(kind, data)
    return oid if sink.has(oid) else sink.add(kind, data, oid)


def with_pieces(
    store: Store, sink: ObjectSink, tree: bytes, replace: Callable[[bytes, bytes, bytes], bytes]
) -> bytes:
    """Returns the tree of the same conversation with other pieces of the same sizes.

    ``replace`` gets the id of the piece before one, its own and that of the piece after it, an
    empty one where there is none, and returns the id of what stands in its place.
    """
    parts = store.tree(tree)
    made = [(mode, name, _part_with(store, sink, part, replace)) for mode, name, part in parts]
    return tree if made == parts else sink.add(TREE, encode_tree(made))


def _part_with(
    store: Store, sink: ObjectSink, part: bytes, replace: Callable[[bytes, bytes, bytes], bytes]
) -> bytes:
    groups = [(mode, name, store.tree(group)) for mode, name, group in store.tree(part)]
    pieces = [oid for _, _, group in groups for _, _, oid in group]
    around = zip((b"", *pieces), pieces, (*pieces[1:], b""), strict=False)
    made = [replace(*three) for three in around]
    if made == pieces:
        return part
    left = iter(made)
    anew = [
        (mode, name, sink.add(TREE, encode_tree([(m, n, next(left)) for m, n, _ in group])))
        for mode, name, group in groups
    ]
    return sink.add(TREE, encode_tree(anew))


def read_conversation(store: Store, tree: bytes) -> tuple[bytes, ...]:
    """Returns the bytes of each file, hash-checked; raises StoreDamaged."""
    parts = sorted(store.tree(tree), key=lambda entry: int(entry[1]))
    return tuple(
        b"".join(
            store.blob(piece, PIECE)
            for _, _, group in store.tree(part)
            for _, _, piece in store.tree(group)
        )
        for _, _, part in parts
    )
