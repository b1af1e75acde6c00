"""Redaction: everything that refs lead to, written anew without a secret; no ref moves.

    files/ outside/    without the paths and the contents of the secret
    coverage           names what went, as purged: no rewind touches it
    conversation/      the same pieces, with stars where they quote the secret
    meta.json          the same with other ids of snapshots, and stars
    commit             the same with other parents

Ids of checkpoints, numbers, times and order stay. A record in which nothing changes stays the
object that it is, if those before it do.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.git.objects import BLOB, COMMIT, EMPTY_TREE, TREE, encode_commit, encode_tree, is_tree
from takeback.model.coverage import PURGED, Coverage, NotHeld
from takeback.model.needles import blank
from takeback.model.path_text import to_bytes
from takeback.model.snapshot import SANDBOX
from takeback.model.value import Value
from takeback.store.checkpoints import (
    CONVERSATION,
    COVERAGE,
    FILES,
    OUTSIDE,
    decoded_coverage,
    message_of,
)
from takeback.store.conversation import PIECE, with_pieces
from takeback.store.quotes import Quotes
from takeback.store.records import META, write_record
from takeback.store.traces import SNAPSHOTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from takeback.model.needles import Span
    from takeback.model.secret import Secret
    from takeback.store.records import Record
    from takeback.store.sink import PackSink

    Pruned = tuple[bytes, tuple[bytes, ...]]
    """A tree without the secret, and the paths that went from it."""

_NAMES = frozenset(
    (
        *("v", "type", "id", "session", "kind", "machine", "agent", "native", "checkpoint"),
        *("operation", "head", "before", "target", "child", "of", "origin", "tips", "dropped"),
        *("turn_id", "phase", "leaf", "entry", "noted", "amid", "staged", "restored", "sessions"),
        *("follows", "process", "namespace", "transcript_places", "scope"),
        *("directory", "branch", "resume", "transcript", "paths"),
        *SNAPSHOTS,
    )
)
"""The fields of a record that name things, and hold no text that anybody wrote."""
_TOUCHED, _SAVED, _AFTER = "touched", "saved", "after"


class _Anew(Value):
    """The entries of a record without the secret.

    ``gone`` is how many files went from its snapshot, ``not_held`` how many its coverage names by
    now; None if that is as it was.
    """

    entries: dict[bytes, tuple[int, bytes]]
    gone: int
    not_held: int | None


class Redaction:
    """Takes a secret out of records, one after the other, each after its parents."""

    def __init__(self, sink: PackSink, secret: Secret) -> None:
        self._sink = sink
        self._store = sink.locked.store
        self._secret = secret
        self._trees: dict[tuple[bytes, bytes, bool], Pruned] = {}
        self._told = Quotes(self._store, secret.needles)
        self._blanks: dict[tuple[bytes, tuple[Span, ...]], bytes] = {}
        self.commits: dict[bytes, bytes] = {}
        """What stands in the place of each commit."""
        self.kept: set[bytes] = set()
        """Trees that operations left, to which no commit leads."""
        self.quotes = 0
        """How many pieces of conversations, and how many records, had a quote."""

    def run(self, records: Iterable[Record]) -> None:
        """Writes records anew, as far as they change."""
        self._sink.add(TREE, b"")
        for record in records:
            self.commits[record.oid] = self._commit(record)

    def _commit(self, record: Record) -> bytes:
        parents = tuple(self.commits[parent] for parent in record.commit.parents)
        anew = self._entries(record)
        meta = self._meta(record, anew)
        if meta == record.meta and anew.entries == record.entries:
            if parents == record.commit.parents:
                return record.oid
            moved = record.commit.replace(parents=parents)
            return self._sink.add(COMMIT, encode_commit(moved))
        return write_record(
            self._sink,
            {key: value for key, value in meta.items() if key != "v"},
            parents=parents,
            time=record.commit.time,
            message=self._message(record, meta),
            entries=tuple(
                (mode, name, oid) for name, (mode, oid) in anew.entries.items() if name != META
            ),
        )

    def _message(self, record: Record, meta: dict[str, Any]) -> str:
        if COVERAGE in record.entries or "expired" in meta:  # a prompt may be cut in it
            return message_of(str(meta.get("kind")), str(meta.get("id")), meta.get("prompt"))
        return self._secret.needles.blanked_text(record.commit.message)

    # -- what a record has beside its meta.json

    def _entries(self, record: Record) -> _Anew:
        made = dict(record.entries)
        gone: tuple[bytes, ...] = ()
        not_held = None
        is_checkpoint = COVERAGE in made
        if FILES in made:
            mode, oid = made[FILES]
            tree, gone = self.files(oid, empty=is_checkpoint)
            made[FILES] = mode, tree
        if OUTSIDE in made:
            mode, oid = made[OUTSIDE]
            made[OUTSIDE] = mode, self._tree(oid, b"/", empty=False)[0]
        if CONVERSATION in made and self._secret.needles:
            mode, oid = made[CONVERSATION]
            made[CONVERSATION] = mode, with_pieces(self._store, self._sink, oid, self._pieces)
        if is_checkpoint:
            saved = self._named(record.meta.get(_SAVED), empty=False)
            lost = (*gone, *(saved[1] if saved is not None else ()))
            if lost:
                mode, oid = made[COVERAGE]
                known = decoded_coverage(self._store, oid).not_held
                now = Coverage((*known, *(NotHeld(path, PURGED) for path in lost)))
                made[COVERAGE] = mode, self._sink.add(BLOB, now.encode())
                not_held = len(now.not_held)
        return _Anew(made, len(gone), not_held)

    def files(self, root: bytes, *, empty: bool) -> Pruned:
        """Returns a tree of files without the secret; ``empty`` keeps directories that it empties.

        A snapshot has those, as a capture would; among saved files there is no directory without
        one.
        """
        return self._tree(root, b"", empty=empty)

    def _tree(self, root: bytes, above: bytes, *, empty: bool) -> Pruned:
        first = (above, root, empty)
        stack = [first]
        while stack:
            prefix, oid, _ = stack[-1]
            entries = self._store.tree(oid)
            below = [(prefix + n + b"/", o, empty) for mode, n, o in entries if is_tree(mode)]
            missing = [one for one in below if one not in self._trees]
            if missing:
                stack += missing
                continue
            self._trees[stack.pop()] = self._pruned(prefix, oid, empty=empty)
        return self._trees[first]

    def _pruned(self, prefix: bytes, oid: bytes, *, empty: bool) -> Pruned:
        """Returns one directory without the secret; those below it are known."""
        made, gone = [], list[bytes]()
        entries = self._store.tree(oid)
        for mode, name, child in entries:
            path = prefix + name
            if is_tree(mode):
                tree, lost = self._trees[path + b"/", child, empty]
                gone += lost
                if not lost or tree != EMPTY_TREE or (empty and name not in SANDBOX):
                    made.append((mode, name, tree))
            elif self._secret.is_at(path, child):
                gone.append(path)
            else:
                made.append((mode, name, child))
        return (self._sink.add(TREE, encode_tree(made)) if gone else oid), tuple(gone)

    def _pieces(self, pieces: list[bytes]) -> list[bytes]:
        """Returns the pieces of a file of a conversation, with stars."""
        within = self._told.within(pieces)
        return [
            self._piece(piece, within[number]) if number in within else piece
            for number, piece in enumerate(pieces)
        ]

    def _piece(self, piece: bytes, spans: tuple[Span, ...]) -> bytes:
        """Returns a piece with stars in some places."""
        key = (piece, spans)
        if key not in self._blanks:
            data = self._store.blob(piece, PIECE)
            made = blank(data, spans)
            self.quotes += made != data
            self._blanks[key] = piece if made == data else self._sink.add(BLOB, made)
        return self._blanks[key]

    # -- meta.json

    def _meta(self, record: Record, anew: _Anew) -> dict[str, Any]:
        made = {
            key: value if key in _NAMES else self._blanked(value)
            for key, value in record.meta.items()
        }
        self.quotes += made != record.meta
        for field in SNAPSHOTS:
            tree = self._named(record.meta.get(field), empty=field != _SAVED)
            if tree is not None:
                made[field] = tree[0].hex()
                if field == _AFTER:
                    self.kept.add(tree[0])
        if isinstance(made.get("tips"), dict):
            made["tips"] = {ref: self._moved(tip) for ref, tip in made["tips"].items()}
        if isinstance(made.get(_TOUCHED), list):
            made[_TOUCHED] = [row for row in made[_TOUCHED] if not self._is_about_it(row)]
        if anew.gone and isinstance(made.get("files"), int):
            made["files"] -= anew.gone
        if anew.not_held is not None:
            made["not_held"] = anew.not_held
        return made

    def _blanked(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._secret.needles.blanked_text(value)
        if isinstance(value, list):
            return [self._blanked(one) for one in value]
        if isinstance(value, dict):
            return {key: self._blanked(one) for key, one in value.items()}
        return value

    def _named(self, value: object, *, empty: bool) -> Pruned | None:
        """Returns a tree that a record names by its id, without the secret; None if it has none.

        What was fetched from another machine may name what stayed there.
        """
        if not isinstance(value, str) or not value:
            return None
        oid = bytes.fromhex(value)
        return self.files(oid, empty=empty) if self._store.packs.has(oid) else None

    def _moved(self, tip: str) -> str:
        oid = bytes.fromhex(tip)
        if oid not in self.commits:
            raise StoreDamaged(f"what was pruned leads to {tip}, which is not in the store")
        return self.commits[oid].hex()

    def _is_about_it(self, row: Any) -> bool:
        """Tells whether a row of what an operation touched names the secret."""
        path, *entries = row
        ids = [bytes.fromhex(entry[1]) for entry in entries if entry]
        return any(self._secret.is_at(to_bytes(path), oid) for oid in ids)
