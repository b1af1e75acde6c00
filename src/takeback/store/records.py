"""Records in commits: checkpoints, operations, and the labels that lead to them."""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.git.objects import (
    BLOB,
    COMMIT,
    EMPTY_TREE,
    TREE,
    Commit,
    encode_commit,
    encode_tree,
    is_tree,
)
from takeback.model import json_text
from takeback.model.checkpoint import DIRECTORY, Checkpoint, time_of
from takeback.model.checkpoint import decode as decode_checkpoint
from takeback.model.coverage import Coverage
from takeback.model.ids import SnapshotId
from takeback.model.value import Value
from takeback.store import location
from takeback.store.namespace import (
    LABELS,
    OPERATIONS,
    SESSIONS,
    by_machine,
    label_ref,
    labelled_by,
    local_ref,
    log_ref,
    machine_of,
    session_ref,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from takeback.model.ids import CheckpointId
    from takeback.model.operation import Operation
    from takeback.ports import ObjectSink
    from takeback.store.sink import PackSink
    from takeback.store.store import Store


# -- reads and writes the commits that carry a record: a tree with ``meta.json`` and more
#
# The commit's message is for people who run ``git log`` in the store; meta.json is the record.


_FILE = 0o100644
_LARGEST = 1 << 62
_LONGEST = 1 << 29
"""No record is longer: a hook takes 64 MB, and each character becomes at most six."""
META = b"meta.json"


def write_record(
    sink: ObjectSink,
    meta: dict[str, Any],
    *,
    parents: tuple[bytes, ...],
    time: float,
    message: str,
    entries: tuple[tuple[int, bytes, bytes], ...] = (),
) -> bytes:
    """Adds the objects of one record to ``sink`` and returns its commit; moves no ref."""
    text = json_text.dumps({"v": 1, **meta}) + "\n"
    blob = sink.add(BLOB, text.encode())
    tree = sink.add(TREE, encode_tree([*entries, (_FILE, META, blob)]))
    return sink.add(COMMIT, encode_commit(Commit(tree, parents, int(time), message)))


class Record:
    """One record as it is in the store: its commit, its meta.json, its other entries."""

    __slots__ = ("commit", "entries", "meta", "oid")

    def __init__(
        self,
        oid: bytes,
        commit: Commit,
        meta: dict[str, Any],
        entries: dict[bytes, tuple[int, bytes]],
    ) -> None:
        self.oid = oid
        self.commit = commit
        self.meta = meta
        self.entries = entries

    def trees(self) -> list[bytes]:
        """Returns the trees that it keeps: files, a conversation."""
        return [oid for mode, oid in self.entries.values() if is_tree(mode)]

    def text(self, key: str) -> str:
        """Returns a field that must be a string."""
        value = self.meta.get(key)
        if not isinstance(value, str):
            raise StoreDamaged(f"record {self.oid.hex()} has no {key}")
        return value

    def optional_text(self, key: str) -> str | None:
        value = self.meta.get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str) -> float:
        value = self.meta.get(key)
        if not isinstance(value, (int, float)) or not abs(value) < _LARGEST:
            raise StoreDamaged(f"record {self.oid.hex()} has no {key}")
        return float(value)

    def time(self) -> float:
        """Returns when it was made; raises StoreDamaged if no calendar has that time."""
        try:
            return time_of(self.number("time"))
        except ValueError as error:
            raise StoreDamaged(f"record {self.oid.hex()}: {error}") from None

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.meta.get(key)
        return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def read_record(store: Store, oid: bytes) -> Record:
    """Reads one record; raises StoreDamaged if it is not one."""
    commit = store.commit(oid)
    entries = {name: (mode, child) for mode, name, child in store.tree(commit.tree)}
    if META not in entries:
        raise StoreDamaged(f"commit {oid.hex()} has no meta.json")
    try:
        meta = json_text.loads(store.blob(entries[META][1], _LONGEST).decode())
    except ValueError:
        raise StoreDamaged(f"meta.json of commit {oid.hex()} is not JSON") from None
    if not isinstance(meta, dict):
        raise StoreDamaged(f"meta.json of commit {oid.hex()} is not an object")
    return Record(oid, commit, meta, entries)


def chain(
    store: Store,
    tip: bytes | None,
    until: bytes | None = None,
    *,
    over_damage: bool = False,
    read: Callable[[bytes], Record] | None = None,
) -> Iterator[Record]:
    """Yields the records from ``tip`` back along first parents, up to but not including ``until``.

    Raises StoreDamaged at an unreadable one. With ``over_damage`` that is skipped, and only an
    unreadable commit ends the chain: nothing says what came before it. ``read`` is for one who
    has read many of them before.
    """
    oid = tip
    while oid is not None and oid != until:
        try:
            record = read_record(store, oid) if read is None else read(oid)
            yield record
            parents = record.commit.parents
        except StoreDamaged:
            if not over_damage:
                raise
            parents = parents_of(store, oid)
        oid = parents[0] if parents else None


def leads_to(store: Store, tip: bytes, wanted: bytes) -> bool:
    """Tells whether first parents lead from ``tip`` to a commit; damage on the way ends it."""
    oid: bytes | None = tip
    while oid is not None and oid != wanted:
        parents = parents_of(store, oid)
        oid = parents[0] if parents else None
    return oid is not None


def parents_of(store: Store, oid: bytes) -> tuple[bytes, ...]:
    """Returns the parents of a commit; none if it cannot be read."""
    try:
        return store.commit(oid).parents
    except StoreDamaged:
        return ()


# -- checkpoints as commits: ``files/`` is the snapshot, ``coverage`` what it does not hold,
#
# ``conversation/`` the transcript at that moment.
#
#         ref of the session     ->  newest checkpoint  ->  the one before  ->  ...
#         ref of what is local   ->  saved files of the newest  ->  ...
#
# A session belongs to the machine that its agent runs on. If two machines wrote to one all the
# same, each has a ref of its own, which continues from what it knew of the other's.
#
# Saved files (ignored ones) are commits of their own, written before the checkpoint that names
# their tree, so that they can be left out of what leaves this machine.


FILES = b"files"
OUTSIDE = b"outside"
"""Files outside the workspace that were saved before a tool, by their absolute path."""
COVERAGE = b"coverage"
CONVERSATION = b"conversation"
_LONGEST_COVERAGE = 1 << 28


def write_checkpoint(
    sink: PackSink,
    checkpoint: Checkpoint,
    coverage: Coverage | None,
    *,
    conversation: bytes | None = None,
    base: bytes | None = None,
) -> Checkpoint:
    """Keeps a checkpoint and returns it with its commit.

    ``coverage`` is None for one that has expired: it is the copy of another whose files are not
    kept any more. ``conversation`` is the tree of the transcript's bytes. The first checkpoint of a
    session that descends from another has the one it came from, ``base``, as its parent.

    On disk afterwards: the pack, flushed; then the ref of the saved files; then, as the
    commit point, the ref of the session. A crash before that leaves no checkpoint. The
    snapshot's own objects were added to the same sink before.
    """
    locked = sink.locked
    store, ref = locked.store, session_ref(locked.machine, checkpoint.session)
    tip = store.refs.read(ref)
    checkpoint = checkpoint.replace(
        # a draft has the number of the checkpoint that it follows
        sequence=locked.next_sequence(above=checkpoint.sequence, first=tip is None),
        machine=locked.machine,
    )
    meta, entries = checkpoint.encode(), list[tuple[int, bytes, bytes]]()
    if coverage is None:
        meta["snapshot"] = checkpoint.snapshot
    else:
        if checkpoint.tree == EMPTY_TREE:
            sink.add(TREE, b"")
        meta["not_held"] = len(coverage)
        entries = [
            (DIRECTORY, FILES, checkpoint.tree),
            (0o100644, COVERAGE, sink.add(BLOB, coverage.encode())),
        ]
    if conversation is not None:
        entries.append((DIRECTORY, CONVERSATION, conversation))
    local_tip, local = _write_saved(store, sink, checkpoint)
    parent = tip or base or _newest_tip(store, checkpoint.session)
    commit = write_record(
        sink,
        meta,
        parents=() if parent is None else (parent,),
        time=checkpoint.time,
        message=message_of(checkpoint.kind, checkpoint.id, checkpoint.prompt),
        entries=tuple(entries),
    )
    after = sink.publish_for_ref()
    if local is not None:
        saved_ref = local_ref(checkpoint.machine, checkpoint.session)
        store.refs.write(saved_ref, local, expect=local_tip, after=after)
        after = None
    store.refs.write(ref, commit, expect=tip, after=after)
    sink.settle()
    return checkpoint.replace(commit=commit)


def _write_saved(
    store: Store, sink: ObjectSink, checkpoint: Checkpoint
) -> tuple[bytes | None, bytes | None]:
    """Adds the commit that keeps the saved files; None if the newest one has them already."""
    tip = store.refs.read(local_ref(checkpoint.machine, checkpoint.session))
    if checkpoint.saved is None:
        return tip, None
    tree = bytes.fromhex(checkpoint.saved)
    if tip is not None and _keeps(store, tip, tree):
        return tip, None
    commit = write_record(
        sink,
        {"type": "saved", "checkpoint": checkpoint.id},
        parents=() if tip is None else (tip,),
        time=checkpoint.time,
        message=f"ignored files saved with {checkpoint.id}",
        entries=((DIRECTORY, FILES, tree),),
    )
    return tip, commit


def _keeps(store: Store, tip: bytes, tree: bytes) -> bool:
    """Tells whether the newest commit of saved files exists and holds this tree."""
    try:
        return read_record(store, tip).entries.get(FILES) == (DIRECTORY, tree)
    except StoreDamaged:
        return False


def _newest_tip(store: Store, session: str) -> bytes | None:
    """Returns the newest that other machines wrote to a session: this one continues from there."""
    newest = newest_checkpoint(store, session)
    return None if newest is None else newest.commit


def message_of(kind: str, id: str, prompt: str | None) -> str:
    """Returns the message of a checkpoint's commit, for people who look into the store."""
    first_line = (prompt or "").strip().split("\n")[0][:100]
    return f"{kind} {id}" + (f": {first_line}" if first_line else "")


def checkpoint_of(record: Record) -> Checkpoint:
    """Returns the checkpoint that a record describes; raises StoreDamaged."""
    files = record.entries.get(FILES)
    if files is None and "expired" not in record.meta:
        raise StoreDamaged(f"checkpoint {record.oid.hex()} has no files")
    snapshot = files[1].hex() if files is not None else record.text("snapshot")
    try:
        return decode_checkpoint(record.meta, snapshot=SnapshotId(snapshot), commit=record.oid)
    except ValueError as error:
        raise StoreDamaged(f"record {record.oid.hex()} is no checkpoint: {error}") from None


def checkpoints_back(store: Store, tip: bytes | None) -> Iterator[Checkpoint]:
    """Yields the readable checkpoints from ``tip`` back, also beyond the beginning of a session."""
    for record in chain(store, tip, over_damage=True):
        try:
            yield checkpoint_of(record)
        except StoreDamaged:
            continue


def newest_checkpoint(store: Store, session: str) -> Checkpoint | None:
    """Returns the newest readable checkpoint of a session, of any machine; None if it has none.

    An unreadable one must not be the end of its session: the next one follows the one before it,
    and ``verify`` reports it.
    """
    tips = by_machine(store.refs, SESSIONS, session).values()
    found = [next(checkpoints_back(store, tip), None) for tip in tips]
    own = [newest for newest in found if newest is not None and newest.session == session]
    return max(own, key=lambda checkpoint: checkpoint.order, default=None)


def conversation_tree(record: Record) -> bytes | None:
    """Returns the tree of the transcript's bytes that a checkpoint keeps, if any."""
    entry = record.entries.get(CONVERSATION)
    return None if entry is None else entry[1]


def read_coverage(store: Store, commit: bytes) -> Coverage:
    """Returns what a checkpoint does not hold; raises StoreDamaged."""
    entry = read_record(store, commit).entries.get(COVERAGE)
    if entry is None:
        raise StoreDamaged(f"checkpoint {commit.hex()} does not say what it covers")
    return decoded_coverage(store, entry[1])


def decoded_coverage(store: Store, blob: bytes) -> Coverage:
    """Returns the coverage that a blob has; raises StoreDamaged."""
    try:
        return Coverage.decode(store.blob(blob, _LONGEST_COVERAGE))
    except ValueError:
        raise StoreDamaged(f"the coverage in {blob.hex()} is not readable") from None


# -- the operation log: one commit per line, and one chain per machine
#
#         a1 -- a2 -- a3                 operations/A: what was done on A
#                \
#                 b3 -- b4               operations/B: a copy of the store, made when A was at a2
#
# What was done to the files *here* is the chain of this machine: undo and redo walk it. A copied
# store continues from the log that it came with. What the others did is shown beside it, in one
# order.


def write_operation(sink: PackSink, operation: Operation) -> None:
    """Appends a line to this machine's log; durable when it returns."""
    from takeback.model.codec import encode

    locked = sink.locked
    store, ref = locked.store, log_ref(locked.machine)
    tip = store.refs.read(ref)
    parent = tip or newest_here(store)
    numbered = operation.replace(
        sequence=locked.next_sequence(above=operation.sequence), machine=locked.machine
    )
    commit = write_record(
        sink,
        {"type": "operation", **encode(numbered)},
        parents=() if parent is None else (parent,),
        time=operation.time,
        message=f"{operation.kind} {operation.id}",
    )
    after = sink.publish_for_ref()
    store.refs.write(ref, commit, expect=tip, after=after)
    sink.settle()


def newest_here(store: Store) -> bytes | None:
    """Returns the commit of the newest line of what was done here; None if nothing was.

    Raises StoreDamaged if the ref cannot be read.
    """
    logs = store.refs.names(OPERATIONS)
    if not logs:
        return None
    if store.machine not in logs:  # a copy, in which nothing has been done yet
        known = location.read_location(store.directory)
        return None if known is None else store.refs.read(log_ref(known.machine))
    return store.refs.read(log_ref(store.machine))


def operation_of(record: Record) -> Operation:
    """Returns the operation that a record describes; raises StoreDamaged."""
    from takeback.model.operation import decode  # a hook only asks for an id

    try:
        return decode(record.meta)
    except ValueError as error:
        raise StoreDamaged(f"record {record.oid.hex()} is no operation: {error}") from None


def operations_back(store: Store) -> Iterator[Operation]:
    """Yields what was done here, newest first, as far back as it can be read."""
    try:
        for record in chain(store, newest_here(store)):
            yield operation_of(record)
    except StoreDamaged:
        return


def newest_id(store: Store) -> str | None:
    """Returns the id of what was done here last; None if nothing was, or it cannot be read."""
    try:
        tip = newest_here(store)
        found = None if tip is None else read_record(store, tip).meta.get("id")
    except StoreDamaged:
        return None
    return found if isinstance(found, str) else None


def read_operations(store: Store, damaged: list[str] | None = None) -> list[Operation]:
    """Returns what was done here, oldest first, as far back as it can be read without a gap.

    For undo and redo: a lost line must not keep later ones from being undone, but across a gap they
    could go to the wrong place. Why it goes no further is added to ``damaged``.
    """
    found: list[Operation] = []
    try:
        for record in chain(store, newest_here(store)):
            found.append(operation_of(record))
    except StoreDamaged as error:
        if damaged is not None:
            damaged.append(error.message)
    return found[::-1]


def known_here(store: Store) -> list[Operation]:
    """Returns the readable lines of what was done here, oldest first; only for display."""
    try:
        tip = newest_here(store)
    except StoreDamaged:
        return []
    return [operation for _, operation in _readable(store, tip)][::-1]


def known_operations(store: Store) -> list[Operation]:
    """Returns the readable lines of all machines' logs, oldest first; only for display."""
    found: dict[bytes, Operation] = {}
    for tip in store.refs.list(OPERATIONS, damaged={}).values():
        for commit, operation in _readable(store, tip):
            if commit in found:  # a log that continues another one
                break
            found[commit] = operation
    return sorted(found.values(), key=lambda operation: operation.order)


def _readable(store: Store, tip: bytes | None) -> Iterator[tuple[bytes, Operation]]:
    for record in chain(store, tip, over_damage=True):
        try:
            yield record.oid, operation_of(record)
        except StoreDamaged:
            continue


# -- labels: a name on a checkpoint. The ref pins the checkpoint against pruning
#
# Each machine has the names that it gave; the newest of them counts. To remove a name is to give an
# empty one: a ref that were deleted could not be told from one that was lost, and another machine
# may have given the name. Pruning drops what is left of it.


class Label(Value):
    """A name, and the agent whose model gave it: None for a person, as for all of older stores."""

    name: str
    agent: str | None = None


def write_label(sink: PackSink, checkpoint: Checkpoint, label: Label, time: float) -> None:
    """Names a checkpoint, replacing its former name."""
    locked = sink.locked
    store, ref = locked.store, label_ref(locked.machine, checkpoint.id)
    tip = store.refs.read(ref)
    commit = write_record(
        sink,
        {
            "type": "label",
            "checkpoint": checkpoint.id,
            "name": label.name,
            **({} if label.agent is None else {"agent": label.agent}),
            "sequence": locked.next_sequence(above=checkpoint.sequence),
        },
        # the former one too, so that a machine that has fetched it can continue from it
        parents=(checkpoint.commit,) if tip is None else (checkpoint.commit, tip),
        time=time,
        message=f"label {label.name}",
    )
    sink.publish()
    store.refs.write(ref, commit, expect=tip)


def remove_label(sink: PackSink, checkpoint: Checkpoint, time: float) -> bool:
    """Removes the name of a checkpoint; False if it had none."""
    if not read_labels(sink.locked.store).get(checkpoint.id):
        return False
    write_label(sink, checkpoint, Label(""), time)
    return True


def read_labels(store: Store) -> dict[CheckpointId, Label]:
    """Returns the label of each labelled checkpoint; a damaged one is skipped."""
    return {checkpoint: label for checkpoint, label in _newest(store).items() if label.name}


def taken_off(store: Store) -> set[CheckpointId]:
    """Returns the checkpoints that had a label and have none any more."""
    return {checkpoint for checkpoint, label in _newest(store).items() if not label.name}


def _newest(store: Store) -> dict[CheckpointId, Label]:
    found: dict[CheckpointId, tuple[float, str]] = {}
    labels: dict[CheckpointId, Label] = {}
    for ref, oid in store.refs.list(LABELS, damaged={}).items():
        try:
            record = read_record(store, oid)
            given = (record.number("sequence"), machine_of(ref))
            label = Label(record.text("name"), record.optional_text("agent"))
        except StoreDamaged:
            continue  # verify reports it
        checkpoint = labelled_by(ref)
        if given >= found.get(checkpoint, given):
            found[checkpoint], labels[checkpoint] = given, label
    return labels
