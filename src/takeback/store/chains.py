"""The chains of all sessions, read without the lock and brought up to date under it.

Records never change, so what was read once is good for ever; only the tips move. A session that
does not read whole is left out, and named: what cannot be read cannot be written anew.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.model.ids import SessionId
from takeback.store.namespace import LOCAL, SESSIONS, session_of
from takeback.store.records import read_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from takeback.store.records import Record
    from takeback.store.store import Store


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
            for chain in known.values():
                yield from chain.records

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
