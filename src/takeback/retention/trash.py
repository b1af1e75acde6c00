"""The trash: what comes back from it, what is used although no ref leads to it, what is left."""

from __future__ import annotations

import os
import time

from takeback import durable
from takeback.context import Translated
from takeback.errors import CONVERSATION_ALONE, Command, Expired, NoSuchCheckpoint, Refused
from takeback.git.pack import TEMPORARY
from takeback.model.address import address
from takeback.model.ids import CheckpointId, new_operation_id
from takeback.model.operation import PRUNE, Move, Pruned
from takeback.model.value import Value
from takeback.ordinary import all_names
from takeback.store.history import (
    Chains,
    Rewriting,
    all_trash,
    own_records,
    remove_trash,
    restored,
    unchanged,
)
from takeback.store.lock import Lock
from takeback.store.namespace import SESSIONS
from takeback.store.records import known_operations, operations_back, write_operation
from takeback.store.sink import PackSink
from takeback.worktree.cache import StatCache
from takeback.worktree.directory import CacheDamaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from takeback.context import Context
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SessionId
    from takeback.retention.prune import Upkeep
    from takeback.store.history import Trash
    from takeback.store.lock import Locked
    from takeback.store.store import Store

    Ids = Mapping[SessionId, Collection[CheckpointId]]

# -- the trash


# -- handed out: objects that are used although no ref leads to them
#
# The stat cache hands out ids without asking the store. The state that an operation left is what
# the next checkpoint is compared with; it is kept as long as the operation's undo snapshot is.


class HandedOut:
    """Asked under the lock; what takes long to read is read before."""

    def __init__(self, store: Store, chains: Chains) -> None:
        self._store = store
        records = (record for chain in chains.checkpoints.values() for record in chain.records)
        kept = {record.meta.get("id") for record in records if "expired" not in record.meta}
        known = [one for one in known_operations(store) if isinstance(one, Move)][::-1]
        self._newest = known[0].sequence if known else -1
        self._after = [one.after for one in known[:1]]
        self._after += [one.after for one in known[1:] if one.before in kept]

    def __call__(self) -> list[bytes]:
        found = [*self._of_the_cache(), *map(bytes.fromhex, self._after)]
        for one in operations_back(self._store):
            if one.sequence <= self._newest:
                break
            if isinstance(one, Move):
                found.append(bytes.fromhex(one.after))
        return [oid for oid in found if self._store.packs.has(oid)]

    def _of_the_cache(self) -> Iterator[bytes]:
        cache = StatCache.load(self._store.path("stat"))
        try:
            special = cache.known.special()
        except CacheDamaged:  # a capture asks the same, and hands out nothing of it either
            return
        if cache.header.tree:
            yield cache.header.tree
        for *_, oid in cache.header.inside:
            yield oid
        for directory in special:
            for _, _, oid in directory.saved:
                yield oid


# -- kept: says of a checkpoint whose files have expired where the nearest are that have theirs
#
# Everything that needs the files of a checkpoint that a person named comes through here; what is
# below reads ``Checkpoint.tree``, which has them or raises the same error.


def as_it_is(context: Context, ledger: Ledger, checkpoint: Checkpoint) -> Checkpoint:
    """Returns a checkpoint, of which a face may know an older state, where the store has it now.

    Raises Expired if its files are not kept any more, with what can be done instead.
    """
    now = ledger.by_id(checkpoint.id)
    if now is not None:
        checkpoint = checkpoint.replace(commit=now.commit, expired=now.expired, saved=now.saved)
    if checkpoint.expired is not None:
        raise _expired(context, ledger, checkpoint)
    return checkpoint


def _expired(context: Context, ledger: Ledger, checkpoint: Checkpoint) -> Expired:
    now = context.clock.now()
    hints: list[str | Command] = []
    if is_in_trash(context, checkpoint):
        hints += ["bring them back: ", Command("prune", "--restore", checkpoint.id), "; "]
    near = [
        f"{one.id} ({address(one, now)})"
        for one in ledger.nearest_kept(checkpoint)
        if one is not None
    ]
    if near:
        hints.append(f"the nearest that have their files: {', '.join(near)}; ")
    if checkpoint.transcript:
        hints += ["its conversation is there: ", CONVERSATION_ALONE, "; "]
    return Expired(
        f"the files of {checkpoint.id} ({address(checkpoint, now)}) have expired",
        hint=tuple(_without_last_mark(hints)),
    )


def _without_last_mark(hints: list[str | Command]) -> list[str | Command]:
    last = hints[-1] if hints else None
    return [*hints[:-1], last.removesuffix("; ")] if isinstance(last, str) else hints


def is_in_trash(context: Context, checkpoint: Checkpoint) -> bool:
    """Tells whether the files of an expired checkpoint can still be brought back."""
    from takeback.store.history import all_trash  # most checkpoints have their files

    return any(
        checkpoint.id in trash.dropped.get(checkpoint.session, ())
        for trash in all_trash(context.store)
    )


# -- restore: what was pruned comes back from the trash, as long as it is there


class Restored(Value):
    """What came back: the checkpoints, and the sessions that were gone whole."""

    checkpoints: tuple[CheckpointId, ...]
    sessions: tuple[SessionId, ...]
    operation: str


def find_trash(store: Store, name: str | None = None) -> tuple[Trash, CheckpointId | None]:
    """Returns the part of the trash that a name means, and the checkpoint if it is one's name.

    The newest without a name. Raises Refused if there is none, NoSuchCheckpoint for any other name.
    """
    there = all_trash(store)
    if not there:
        raise Refused(
            "the trash is empty", hint=("what was pruned: ", Command("log", "--operations"))
        )
    if name is None:
        return there[-1], None
    for trash in reversed(there):
        if trash.id == name:
            return trash, None
        if any(name in ids for ids in trash.dropped.values()):
            return trash, CheckpointId(name)
    listed = ", ".join(trash.id for trash in there)
    raise NoSuchCheckpoint(f"{name!r} is not in the trash", hint=f"there is {listed}")


def restore(upkeep: Upkeep, trash: Trash, only: Collection[CheckpointId] | None = None) -> Restored:
    """Gives the checkpoints of one prune their files back; ``only`` some of them if it says so."""
    wanted = {
        session: [id for id in ids if only is None or id in only]
        for session, ids in trash.dropped.items()
    }
    with upkeep.locked() as locked, Translated("the restore"):
        if all(one.id != trash.id for one in all_trash(upkeep.store)):
            raise Refused("that has left the trash meanwhile", hint="nothing was changed")
        restoring = _Restoring(locked, trash, wanted)
        return restoring.run(upkeep.clock.now(), all_of_it=only is None)


class _Restoring:
    def __init__(self, locked: Locked, trash: Trash, wanted: Ids) -> None:
        self._locked = locked
        self._trash = trash
        self._wanted = wanted
        self._chains = Chains(locked.store)
        self._sessions: list[SessionId] = []

    def run(self, now: float, *, all_of_it: bool) -> Restored:
        sink = PackSink(self._locked)
        rewriting = Rewriting(sink, self._chains)
        try:
            there = self._chains.parents_first()
            for session in there:
                self._bring_back(rewriting, session)
            for session, wanted in self._wanted.items():
                if wanted and session not in there and session not in self._chains.unread:
                    self._rejoin(rewriting, session)
            rewriting.finish("", now, {})
            done = Pruned(
                id=new_operation_id(),
                kind=PRUNE,
                time=now,
                sequence=0,  # numbered when it is written
                machine=self._locked.machine,
                restored=tuple(id for ids in self._wanted.values() for id in ids),
                sessions=tuple(self._sessions),
            )
            write_operation(sink, done)
        except BaseException:
            sink.discard()
            raise
        if all_of_it and not self._chains.unread:
            remove_trash(self._locked, self._trash)
        return Restored(done.restored, done.sessions, done.id)

    def _bring_back(self, rewriting: Rewriting, session: SessionId) -> None:
        """Gives what has expired in a session its files back."""
        wanted = self._wanted.get(session)
        if not wanted:
            rewriting.session(session, unchanged)
            return
        there = {record.meta.get("id") for record in self._chains.records_of(session)}
        if not there.intersection(self._had(session)):  # it went whole, and was gone on with since
            self._rejoin(rewriting, session)
            return
        if there.issuperset(wanted):
            rewriting.session(session, restored(self._locked.store, self._trash, session, wanted))
        else:
            rewriting.insert(session, self._trash, wanted)
        rewriting.rejoin_local(session, self._trash)

    def _had(self, session: SessionId) -> set[object]:
        """Returns the checkpoints that a session had when the prune began."""
        tips = [self._trash.tips[ref] for ref in self._trash.refs_of(session, SESSIONS)]
        found = (own_records(self._locked.store, tip, session) for tip in tips)
        return {record.meta.get("id") for records in found for record in records}

    def _rejoin(self, rewriting: Rewriting, session: SessionId) -> None:
        self._sessions.append(session)
        rewriting.rejoin(session, self._trash)


# -- what dead processes of takeback left in a store: temporary packs and temporary files
#
# The lock ensures that no capture has a temporary pack now, the maintenance lock that git has none.
# Other files of ours are written without a lock, by any live process: those have to be old.


_OLD = 3600.0
"""No process takes this long to write and rename a file of ours."""
_OF_GIT = ("tmp_pack_", "tmp_idx_", ".tmp-")


class Leftovers:
    """The temporary files of dead processes, found while the lock is held."""

    def __init__(self, locked: Locked) -> None:
        self.paths = [*_packs(locked.store), *_files(locked.store)]

    @property
    def bytes(self) -> int:
        return sum(_size(path) for path in self.paths)

    def remove(self) -> int:
        """Removes them and returns how many there were."""
        removed = 0
        for path in self.paths:
            try:
                durable.unlink(path)
                removed += 1
            except FileNotFoundError:
                continue
        return removed


def _packs(store: Store) -> Iterator[str]:
    prefixes = (TEMPORARY, *(_OF_GIT if Lock(store.path("maintenance.lock")).is_free else ()))
    directory = os.path.join(store.git_dir, "objects", "pack")
    for name in _listing(directory):
        if name.startswith(prefixes):
            yield os.path.join(directory, name)


def _files(store: Store) -> Iterator[str]:
    """Yields what ``durable.replace_file`` leaves when it is killed: ``.NAME.PID.tmp``."""
    now = time.time()
    waiting = [store.directory]
    while waiting:
        directory = waiting.pop()
        for name in _listing(directory):
            path = os.path.join(directory, name)
            if name == "objects" and directory == store.git_dir:
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                waiting.append(path)
            elif _is_temporary(name) and now - _changed(path, now) > _OLD:
                yield path


def _is_temporary(name: str) -> bool:
    stem, _, pid = name.removesuffix(".tmp").rpartition(".")
    return name.startswith(".") and name.endswith(".tmp") and len(stem) > 1 and pid.isdigit()


def _listing(directory: str) -> list[str]:
    try:
        return sorted(all_names(directory))
    except OSError:
        return []


def _changed(path: str, now: float) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return now


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
