"""Expiry: checkpoints lose their files and stay in their session, which is written anew for it.

    before    a1 ── a2 ── a3 ── a4          each with its files and its conversation
                          ╰──── b1

    after     a1 ── a2' ─ a3'── a4'         a2 and a3 have expired: what they say of themselves and
                          ╰──── b1'         their conversation is kept, their files are not

    trash     the tips of before            until the grace is over all of it is there, and
                                            ``restored`` puts the files back

Only records are written, all into one pack, and then each ref is moved in one step: that of the
trash first, then the sessions'. Killed anywhere, each session is as it was or as it should be,
and what was dropped is in the trash.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.git.objects import COMMIT, encode_commit
from takeback.model.ids import CheckpointId, SessionId
from takeback.model.value import Value
from takeback.store.checkpoints import CONVERSATION, FILES
from takeback.store.namespace import (
    LABELS,
    TRASH,
    labelled_by,
    local_ref,
    session_ref,
    trash_ref,
)
from takeback.store.records import META, chain, read_record, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Any

    from takeback.ports import ObjectSink
    from takeback.store.locked import Locked
    from takeback.store.records import Record
    from takeback.store.store import Store

    Content = tuple[dict[str, Any], dict[bytes, tuple[int, bytes]]]
    """What is to stand in a record instead: its meta.json and its other entries."""
    Replace = Callable[[Record], Content | None]

_TYPE = "trash"


class Trash(Value):
    """What one sweep dropped, and the tips that still hold it."""

    id: str
    time: float
    dropped: dict[SessionId, tuple[CheckpointId, ...]]
    tips: dict[str, bytes]


class Rewriting:
    """Writes the chains of some sessions anew; no ref moves before ``finish``.

    A session has to come after the one that it descends from, since it begins there.
    """

    def __init__(self, locked: Locked, sink: ObjectSink) -> None:
        self._locked = locked
        self._sink = sink
        self._commits: dict[bytes, bytes] = {}
        """The new commit of each that was written anew."""
        self._checkpoints: dict[str, bytes] = {}
        """The commit that each checkpoint has now."""
        self._moves: dict[str, tuple[bytes | None, bytes | None]] = {}

    def session(self, session: SessionId, replace: Replace) -> None:
        """Writes a session anew with other contents where ``replace`` gives them.

        Raises StoreDamaged if not all of it reads: what cannot be read cannot be kept.
        """
        store, ref = self._locked.store, session_ref(session)
        tip = store.refs.read(ref)
        own, base = [], None
        for record in chain(store, tip):
            if record.meta.get("session") != session:
                base = record.oid
                break
            own.append(record)
        self._move(ref, tip, self._anew(reversed(own), replace, base))

    def local(self, session: SessionId, keep: Callable[[Record], bool]) -> None:
        """Writes what a session saved for this machine anew, without what is not to be kept."""
        store, ref = self._locked.store, local_ref(session)
        tip = store.refs.read(ref)
        records = list(chain(store, tip))
        kept = [record for record in reversed(records) if keep(record)]
        if len(kept) < len(records):
            self._move(ref, tip, self._anew(kept, lambda record: None, None))

    def drop(self, session: SessionId) -> None:
        """Takes a whole session away."""
        for ref in (session_ref(session), local_ref(session)):
            self._move(ref, self._locked.store.refs.read(ref), None)

    def continue_from(self, ref: str, tip: bytes) -> None:
        """Puts an earlier tip below what a ref has now, or in its place if it has nothing."""
        store = self._locked.store
        now = store.refs.read(ref)
        records = list(chain(store, now))
        self._move(ref, now, self._anew(reversed(records), lambda record: None, tip))

    def _anew(
        self, records: Iterable[Record], replace: Replace, base: bytes | None
    ) -> bytes | None:
        """Writes records of a chain, oldest first, as far as they change; returns the tip."""
        parent = None if base is None else self._commits.get(base, base)
        for record in records:
            parents = () if parent is None else (parent,)
            content = replace(record)
            if content is not None:
                parent = self._write(record, content, parents)
            elif record.commit.parents != parents:
                moved = record.commit.replace(parents=parents)
                parent = self._sink.add(COMMIT, encode_commit(moved))
            else:
                parent = record.oid
            if parent != record.oid:
                self._commits[record.oid] = parent
            self._checkpoints[str(record.meta.get("id"))] = parent
        return parent

    def _write(self, record: Record, content: Content, parents: tuple[bytes, ...]) -> bytes:
        meta, entries = content
        return write_record(
            self._sink,
            meta,
            parents=parents,
            time=record.commit.time,
            message=record.commit.message,
            entries=tuple((mode, name, oid) for name, (mode, oid) in entries.items()),
        )

    def _labels(self) -> None:
        """Lets each label lead to its checkpoint where it is now, so that it leads to no other."""
        store = self._locked.store
        for ref, tip in store.refs.list(LABELS, damaged={}).items():
            commit = self._checkpoints.get(labelled_by(ref))
            if commit is not None and store.commit(tip).parents != (commit,):
                moved = store.commit(tip).replace(parents=(commit,))
                self._move(ref, tip, self._sink.add(COMMIT, encode_commit(moved)))

    def _move(self, ref: str, old: bytes | None, new: bytes | None) -> None:
        if old != new:
            self._moves[ref] = old, new

    def finish(self, trash: str, time: float, dropped: Mapping[SessionId, Iterable[str]]) -> None:
        """Moves the refs; what they were is in the trash before the first of them moves."""
        store = self._locked.store
        self._labels()
        if not self._moves:
            return
        tips = {ref: old for ref, (old, _) in self._moves.items() if old is not None}
        commit = write_record(
            self._sink,
            {
                "type": _TYPE,
                "id": trash,
                "time": time,
                "dropped": {session: sorted(ids) for session, ids in dropped.items()},
                "tips": {ref: tip.hex() for ref, tip in tips.items()},
            },
            parents=tuple(dict.fromkeys(tips.values())),
            time=time,
            message=f"dropped {sum(len(list(ids)) for ids in dropped.values())} checkpoints",
        )
        self._sink.publish()
        store.refs.write(trash_ref(trash), commit, expect=None)
        for ref, (old, new) in self._moves.items():
            if new is not None:
                store.refs.write(ref, new, expect=old)
            elif old is not None:
                store.refs.delete(ref, expect=old)


def expired(ids: Collection[CheckpointId], now: float) -> Replace:
    """Returns what takes the files off some checkpoints, and leaves the others as they are."""

    def replace(record: Record) -> Content | None:
        if record.meta.get("id") not in ids or "expired" in record.meta:
            return None
        files = record.entries.get(FILES)
        snapshot = files[1].hex() if files is not None else ""
        kept = (
            {CONVERSATION: record.entries[CONVERSATION]} if CONVERSATION in record.entries else {}
        )
        meta = {key: value for key, value in record.meta.items() if key not in ("v", "saved")}
        return {**meta, "snapshot": snapshot, "expired": now}, kept

    return replace


def restored(store: Store, trash: Trash, session: SessionId) -> Replace:
    """Returns what gives the checkpoints of a session their files back that are in the trash."""
    originals = {
        record.meta.get("id"): record
        for record in _own(store, trash.tips.get(session_ref(session)), session)
        if "expired" not in record.meta
    }

    def replace(record: Record) -> Content | None:
        original = originals.get(record.meta.get("id"))
        if original is None or "expired" not in record.meta:
            return None
        entries = {name: entry for name, entry in original.entries.items() if name != META}
        return {key: value for key, value in original.meta.items() if key != "v"}, entries

    return replace


def _own(store: Store, tip: bytes | None, session: SessionId) -> Iterator[Record]:
    """Yields a session's own records from ``tip`` back."""
    for record in chain(store, tip, over_damage=True):
        if record.meta.get("session") != session:
            return
        yield record


def rejoin(rewriting: Rewriting, trash: Trash, session: SessionId) -> None:
    """Puts a whole session back that is in the trash; what was recorded of it since follows."""
    for ref in (session_ref(session), local_ref(session)):
        if ref in trash.tips:
            rewriting.continue_from(ref, trash.tips[ref])


def all_trash(store: Store) -> list[Trash]:
    """Returns what the sweeps dropped, oldest first; what does not read is passed over."""
    found = []
    for tip in store.refs.list(TRASH, damaged={}).values():
        try:
            found.append(_trash_of(read_record(store, tip)))
        except (StoreDamaged, ValueError):
            continue
    return sorted(found, key=lambda trash: (trash.time, trash.id))


def _trash_of(record: Record) -> Trash:
    dropped, tips = record.meta.get("dropped"), record.meta.get("tips")
    if not isinstance(dropped, dict) or not isinstance(tips, dict):
        raise StoreDamaged(f"record {record.oid.hex()} is no trash")
    return Trash(
        id=record.text("id"),
        time=record.time(),
        dropped={
            SessionId(session): tuple(CheckpointId(str(one)) for one in ids)
            for session, ids in dropped.items()
        },
        tips={ref: bytes.fromhex(tip) for ref, tip in tips.items()},
    )


def remove_trash(locked: Locked, trash: Trash) -> None:
    """Gives up what is in the trash: nothing leads to it any more, and repacking drops it."""
    ref = trash_ref(trash.id)
    tip = locked.store.refs.read(ref)
    if tip is not None:
        locked.store.refs.delete(ref, expect=tip)
