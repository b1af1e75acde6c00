"""History written anew: sessions whose checkpoints lose their files, and what that puts aside."""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.git.objects import COMMIT, encode_commit
from takeback.model.ids import CheckpointId, SessionId
from takeback.model.value import Value
from takeback.store.namespace import (
    LABELS,
    LOCAL,
    SESSIONS,
    TRASH,
    by_machine,
    labelled_by,
    session_of,
    trash_ref,
)
from takeback.store.records import (
    CONVERSATION,
    FILES,
    META,
    chain,
    read_record,
    taken_off,
    write_record,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Any

    from takeback.store.lock import Locked
    from takeback.store.records import Record
    from takeback.store.sink import PackSink
    from takeback.store.store import Store

    Content = tuple[dict[str, Any], dict[bytes, tuple[int, bytes]]]
    """What is to stand in a record instead: its meta.json and its other entries."""
    Replace = Callable[[Record], Content | None]

# -- the chains of all sessions, read without the lock and brought up to date under it
#
# Records never change, so what was read once is good for ever; only the tips move. A session that
# does not read whole is left out, and named: what cannot be read cannot be written anew.


class Chain:
    """The records of one ref, oldest first, and the record of another session that it begins at.

    Where two machines wrote to one session, what the second knew of the first is part of both.
    """

    __slots__ = ("base", "records", "tip")

    def __init__(self, tip: bytes, records: list[Record], base: Record | None) -> None:
        self.tip = tip
        self.records = records
        self.base = base


class Chains:
    """What the refs of sessions lead to, by ref; ``unread`` says why a session is left out."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[bytes, Record] = {}
        self._texts: dict[str, str] = {}
        self._names: dict[bytes, bytes] = {}
        self.checkpoints: dict[str, Chain] = {}
        """Those of the sessions' checkpoints."""
        self.local: dict[str, Chain] = {}
        """Those of what sessions saved for this machine."""
        self.unread: dict[SessionId, str] = {}
        self.refresh()

    def refresh(self) -> None:
        """Reads what came since, and forgets what is gone.

        Raises StoreDamaged if a ref does not read: nobody knows what it leads to.
        """
        self.unread = {}
        for kind, known in ((SESSIONS, self.checkpoints), (LOCAL, self.local)):
            tips = self._store.refs.list(kind)
            for ref in [*known]:
                if ref not in tips:
                    del known[ref]
            for ref, tip in tips.items():
                if ref in known and known[ref].tip == tip:
                    continue
                try:
                    known[ref] = self._chain(session_of(ref), tip)
                except StoreDamaged as error:
                    self.unread[session_of(ref)] = error.message
        for session, reason in [*self.unread.items()]:
            self.leave_out(session, reason)

    def _chain(self, session: SessionId, tip: bytes) -> Chain:
        records: list[Record] = []
        oid: bytes | None = tip
        while oid is not None:
            record = self.record(oid)
            if record.meta.get("session", session) != session:
                return Chain(tip, records[::-1], record)
            records.append(record)
            oid = record.commit.parents[0] if record.commit.parents else None
        return Chain(tip, records[::-1], None)

    def record(self, oid: bytes) -> Record:
        """Reads a record, once; raises StoreDamaged."""
        found = self._read.get(oid)
        if found is None:
            found = self._read[oid] = read_record(self._store, oid)
            found.meta = self._shared(found.meta)
            found.entries = {self._name(name): entry for name, entry in found.entries.items()}
        return found

    def _shared(self, value: Any) -> Any:
        """Returns a part of a record, its texts being those of the records before.

        Thousands of records say the same of one session, under the same keys. Without this they
        take three times as much.
        """
        if isinstance(value, str):
            return self._texts.setdefault(value, value)
        if isinstance(value, list):
            return [self._shared(one) for one in value]
        if isinstance(value, dict):
            return {self._shared(key): self._shared(one) for key, one in value.items()}
        return value

    def _name(self, name: bytes) -> bytes:
        return self._names.setdefault(name, name)

    def leave_out(self, session: SessionId, reason: str) -> None:
        """Takes a session out of which something does not read."""
        self.unread[session] = reason
        for known in (self.checkpoints, self.local):
            for ref in refs_of(session, known):
                del known[ref]

    def sessions(self) -> list[SessionId]:
        """Returns every session that reads whole."""
        return [*dict.fromkeys(map(session_of, self.checkpoints))]

    def records_of(self, session: SessionId) -> list[Record]:
        """Returns the records of a session's checkpoints, of all machines, each once."""
        found: dict[bytes, Record] = {}
        for ref in refs_of(session, self.checkpoints):
            found.update((record.oid, record) for record in self.checkpoints[ref].records)
        return [*found.values()]

    def all_records(self) -> Iterator[Record]:
        """Yields every record of every session, and of what each saved for this machine."""
        for known in (self.checkpoints, self.local):
            for one in known.values():
                yield from one.records

    def parent(self, session: SessionId) -> SessionId | None:
        """Returns the session that another one descends from."""
        for ref in refs_of(session, self.checkpoints):
            base = self.checkpoints[ref].base
            found = None if base is None else base.optional_text("session")
            if found is not None:
                return SessionId(found)
        return None

    def line(self, session: SessionId) -> SessionId:
        """Returns the first of the sessions that one descends from, itself if from none."""
        seen = {session}
        parent = self.parent(session)
        while parent is not None and parent not in seen:
            seen.add(parent)
            session, parent = parent, self.parent(parent)
        return session

    def parents_first(self) -> list[SessionId]:
        """Returns the sessions so that each comes after the one that it descends from."""
        there, found = self.sessions(), dict[SessionId, None]()
        for session in there:
            above = [session]
            parent = self.parent(session)
            while parent in there and parent not in above:
                above.append(parent)
                parent = self.parent(parent)
            found.update(dict.fromkeys(reversed(above)))
        return [*found]


def refs_of(session: SessionId, known: Iterable[str]) -> list[str]:
    """Returns those of some refs that are a session's."""
    return [ref for ref in known if session_of(ref) == session]


# -- expiry: checkpoints lose their files and stay in their session, which is written anew for it
#
#     before    a1 ── a2 ── a3 ── a4          each with its files and its conversation
#                           ╰──── b1
#
#   after     a1 ── a2' ─ a3'── a4'         a2 and a3 have expired: what they say of themselves and
#                         ╰──── b1'         their conversation is kept, their files are not
#
#     trash     the tips of before            until the grace is over all of it is there, and
#                                             ``restored`` puts the files back
#
# Only records are written, all into one pack, and then each ref is moved in one step: that of the
# trash first, then the sessions'. Killed anywhere, each session is as it was or as it should be,
# and what was dropped is in the trash.


_TYPE = "trash"


class Trash(Value):
    """What one sweep dropped, and the tips that still hold it."""

    id: str
    time: float
    dropped: dict[SessionId, tuple[CheckpointId, ...]]
    tips: dict[str, bytes]
    excess: bool = False
    """Whether all of it was added by single turns beyond their part: then it has no grace."""

    def refs_of(self, session: SessionId, kind: str) -> list[str]:
        """Returns the refs of a session, of a kind, that it has the tips of."""
        return [ref for ref in refs_of(session, self.tips) if ref.startswith(kind)]


class Rewriting:
    """Writes the chains of some sessions anew; no ref moves before ``finish``.

    A session has to come after the one that it descends from, since it begins there. ``chains``
    is what the refs lead to now.
    """

    def __init__(self, sink: PackSink, chains: Chains) -> None:
        self._locked = sink.locked
        self._sink = sink
        self._chains = chains
        self._checkpoints: dict[str, bytes] = {}
        """The commit that each checkpoint has now."""
        self._moves: dict[str, tuple[bytes | None, bytes | None]] = {}

    def session(
        self, session: SessionId, replace: Replace, *, without: Collection[str] = ()
    ) -> None:
        """Writes a session anew with other contents where ``replace`` gives them.

        What two of its refs have in common comes out the same for both. The checkpoints of
        ``without`` are left out.
        """
        for ref in refs_of(session, self._chains.checkpoints):
            found = self._chains.checkpoints[ref]
            kept = [record for record in found.records if record.meta.get("id") not in without]
            self._move(ref, found.tip, self._anew(kept, replace, self._base(found)))

    def insert(self, session: SessionId, trash: Trash, ids: Collection[str]) -> None:
        """Puts checkpoints back into a session, each at its place, as they are in the trash."""
        store = self._locked.store
        for ref in trash.refs_of(session, SESSIONS):
            now = self._chains.checkpoints.get(ref)
            if now is None:
                continue
            there = [record for record in now.records if record.meta.get("id") not in ids]
            old = own_records(store, trash.tips[ref], session)
            there += [record for record in old if record.meta.get("id") in ids]
            there.sort(key=lambda record: record.number("sequence"))
            self._move(ref, now.tip, self._anew(there, unchanged, self._base(now)))

    def _base(self, found: Chain) -> bytes | None:
        """Returns where a session begins: at its parent's checkpoint as that is now."""
        if found.base is None:
            return None
        return self._checkpoints.get(str(found.base.meta.get("id")), found.base.oid)

    def local(self, session: SessionId, keep: Callable[[Record], bool]) -> None:
        """Writes what a session saved for this machine anew, without what is not to be kept."""
        for ref in refs_of(session, self._chains.local):
            found = self._chains.local[ref]
            if not all(map(keep, found.records)):
                kept = [record for record in found.records if keep(record)]
                self._move(ref, found.tip, self._anew(kept, unchanged, None))

    def drop(self, session: SessionId) -> None:
        """Takes a whole session away."""
        for known in (self._chains.checkpoints, self._chains.local):
            for ref in refs_of(session, known):
                self._move(ref, known[ref].tip, None)

    def rejoin(self, session: SessionId, trash: Trash) -> None:
        """Puts a session back that is in the trash whole; what was recorded of it since follows."""
        for ref in trash.refs_of(session, SESSIONS):
            self._rejoin(ref, self._chains.checkpoints.get(ref), trash.tips[ref])
        self.rejoin_local(session, trash)

    def rejoin_local(self, session: SessionId, trash: Trash) -> None:
        """Puts what a session had saved for this machine back, below what it saved since."""
        for ref in trash.refs_of(session, LOCAL):
            self._rejoin(ref, self._chains.local.get(ref), trash.tips[ref])

    def _rejoin(self, ref: str, now: Chain | None, old: bytes) -> None:
        if now is None:
            self._move(ref, None, old)
            return
        there = {record.commit.tree for record in chain(self._locked.store, old)}
        more = [record for record in now.records if record.commit.tree not in there]
        self._move(ref, now.tip, self._anew(more, unchanged, old))

    def _anew(
        self, records: Iterable[Record], replace: Replace, base: bytes | None
    ) -> bytes | None:
        """Writes records of a chain, oldest first, as far as they change; returns the tip."""
        parent = base
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

    def _labels(self, *, drops: bool) -> None:
        """Lets each label lead to its checkpoint where it is now, so that it leads to no other.

        Those that were taken off go, into the trash, if it ``drops`` anything at all.
        """
        store = self._locked.store
        gone = taken_off(store) if drops else ()
        for ref, tip in store.refs.list(LABELS, damaged={}).items():
            if labelled_by(ref) in gone:
                self._move(ref, tip, None)
                continue
            commit = self._checkpoints.get(labelled_by(ref))
            if commit is not None and store.commit(tip).parents != (commit,):
                moved = store.commit(tip).replace(parents=(commit,))
                self._move(ref, tip, self._sink.add(COMMIT, encode_commit(moved)))

    def _move(self, ref: str, old: bytes | None, new: bytes | None) -> None:
        if old != new:
            self._moves[ref] = old, new

    def finish(
        self,
        trash: str,
        time: float,
        dropped: Mapping[SessionId, Iterable[str]],
        *,
        excess: bool = False,
    ) -> None:
        """Moves the refs; what they were is in the trash before the first of them moves.

        Where nothing is dropped there is nothing to keep in the trash.
        """
        store = self._locked.store
        drops = any(dropped.values())
        self._labels(drops=drops)
        if drops:
            self._write_trash(trash, time, dropped, excess=excess)
        else:
            self._sink.publish()
        for ref, (old, new) in self._moves.items():
            if new is not None:
                store.refs.write(ref, new, expect=old)
            elif old is not None:
                store.refs.delete(ref, expect=old)

    def _write_trash(
        self, trash: str, time: float, dropped: Mapping[SessionId, Iterable[str]], *, excess: bool
    ) -> None:
        tips = {ref: old for ref, (old, _) in self._moves.items() if old is not None}
        commit = write_record(
            self._sink,
            {
                "type": _TYPE,
                "id": trash,
                "time": time,
                "dropped": {session: sorted(ids) for session, ids in dropped.items()},
                "tips": {ref: tip.hex() for ref, tip in tips.items()},
                **({"excess": True} if excess else {}),
            },
            parents=tuple(dict.fromkeys(tips.values())),
            time=time,
            message=f"dropped {sum(len(tuple(ids)) for ids in dropped.values())} checkpoints",
        )
        self._sink.publish()
        locked = self._locked
        locked.store.refs.write(trash_ref(locked.machine, trash), commit, expect=None)


def unchanged(record: Record) -> None:
    """Leaves a record as it is."""


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


def restored(
    store: Store, trash: Trash, session: SessionId, ids: Collection[CheckpointId]
) -> Replace:
    """Returns what gives some checkpoints of a session their files back from the trash."""
    originals = {
        record.meta.get("id"): record
        for ref in trash.refs_of(session, SESSIONS)
        for record in own_records(store, trash.tips[ref], session)
        if "expired" not in record.meta and record.meta.get("id") in ids
    }

    def replace(record: Record) -> Content | None:
        original = originals.get(record.meta.get("id"))
        if original is None or "expired" not in record.meta:
            return None
        entries = {name: entry for name, entry in original.entries.items() if name != META}
        return {key: value for key, value in original.meta.items() if key != "v"}, entries

    return replace


def own_records(
    store: Store,
    tip: bytes | None,
    session: SessionId,
    read: Callable[[bytes], Record] | None = None,
) -> Iterator[Record]:
    """Yields a session's own records from ``tip`` back."""
    for record in chain(store, tip, over_damage=True, read=read):
        if record.meta.get("session", session) != session:
            return
        yield record


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
        excess=record.meta.get("excess") is True,
    )


def trashed_records(store: Store, trash: Trash, chains: Chains) -> list[Record]:
    """Returns the records of all that one sweep dropped; what does not read is passed over.

    ``chains`` has most of them: a sweep keeps more than it drops.
    """
    return [
        record
        for ref, tip in trash.tips.items()
        if ref.startswith((SESSIONS, LOCAL))
        for record in own_records(store, tip, session_of(ref), chains.record)
    ]


def remove_trash(locked: Locked, trash: Trash) -> None:
    """Gives up what is in the trash: nothing leads to it any more, and repacking drops it."""
    refs = locked.store.refs
    for machine, tip in by_machine(refs, TRASH, trash.id).items():
        refs.delete(trash_ref(machine, trash.id), expect=tip)
