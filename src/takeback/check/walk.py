"""Walks from the refs to everything that they lead to, and says who lost what.

An object is checked once, however many checkpoints share it. Only if one is lost are the trees
walked again, to name every checkpoint that it belonged to.
"""

from __future__ import annotations

import os

from takeback.errors import StoreDamaged
from takeback.git.objects import is_tree
from takeback.git.packs import loose_objects
from takeback.model.value import Value
from takeback.store import trees
from takeback.store.namespace import LABELS, prune_of, session_of
from takeback.store.records import (
    checkpoint_of,
    conversation_tree,
    parents_of,
    read_coverage,
    read_record,
)
from takeback.store.repack import checksum_holds, name_fits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.check.check import Witness
    from takeback.context import Context
    from takeback.store.store import Store

    Lost = dict[bytes, bytes]
    """The ids of lost objects, by the path that they had."""

# -- walks from the refs to everything that they lead to, and says who lost what


_NAMED = 5
"""How many are named in a sentence; all lost paths are in ``paths``."""


class Problem(Value):
    """One thing that cannot be read back, and what it means for the user.

    ``checkpoint`` is the one whose files are lost, if any, and ``paths`` which ones.
    """

    what: str
    detail: str
    checkpoint: str | None = None
    paths: tuple[bytes, ...] = ()


class _Owner(Value):
    """Who a tree belongs to; ``checkpoint`` is the one whose files they are."""

    name: str
    checkpoint: str | None = None


class Walk:
    """One walk through a store; ``checkpoints`` counts those that were met."""

    def __init__(
        self, context: Context, known: Witness, *, damaged: frozenset[bytes] = frozenset()
    ) -> None:
        """``damaged`` are objects that are there, and whose bytes are not theirs."""
        self._store = context.store
        self._reporter = context.reporter
        self._names = {commit: id for id, commit in known.commits}
        self._commits: set[bytes] = set()
        self._seen: set[bytes] = set()
        self._lost = set(damaged)
        self._roots: list[tuple[_Owner, bytes]] = []
        self._problems: list[Problem] = []
        self._holding: dict[bytes, Lost] = {}
        self.checkpoints = 0

    def session(self, ref: str, tip: bytes) -> None:
        """Follows the checkpoints of a session back to what has been walked already."""
        oid: bytes | None = tip
        while oid is not None and oid not in self._commits:
            self._commits.add(oid)
            if not self._checkpoint(oid, f"session {session_of(ref)}"):
                parents = parents_of(self._store, oid)
            else:
                parents = self._store.commit(oid).parents
            oid = parents[0] if parents else None

    def _checkpoint(self, oid: bytes, whose: str) -> bool:
        """Checks one checkpoint and all of its trees; False if its record cannot be read."""
        try:
            record = read_record(self._store, oid)
            checkpoint = checkpoint_of(record)
            if checkpoint.expired is None:
                read_coverage(self._store, oid)
        except StoreDamaged as error:
            id = self._names.get(oid)
            what = whose if id is None else f"checkpoint {id}"
            self._problems.append(Problem(what, error.message, id))
            return False
        self.checkpoints += 1
        self._reporter.progress("checking checkpoints", self.checkpoints, 0)
        name = f"checkpoint {checkpoint.id}"
        files = _Owner(name, checkpoint.id)
        if checkpoint.expired is None:
            self._look(files, checkpoint.tree, snapshot=True)
        if checkpoint.saved:
            self._look(files, bytes.fromhex(checkpoint.saved))
        conversation = conversation_tree(record)
        if conversation is not None:
            self._look(_Owner(f"the conversation of {name}"), conversation)
        return True

    def other(self, ref: str, tip: bytes) -> None:
        """Follows saved files, labels or operations, and what they hold."""
        oid: bytes | None = tip
        while oid is not None and oid not in self._commits:
            self._commits.add(oid)
            try:
                record = read_record(self._store, oid)
            except StoreDamaged as error:
                self._problems.append(Problem(ref, error.message))
                parents = parents_of(self._store, oid)
            else:
                self._look(_Owner(ref), record.commit.tree)
                parents = record.commit.parents
            # the parent of a label is its checkpoint
            oid = parents[0] if parents and not ref.startswith(LABELS) else None

    def trashed(self, ref: str, tip: bytes) -> None:
        """Follows what a prune dropped; damage there takes nothing from what is kept."""
        owner = _Owner(f"the trash of prune {prune_of(ref)}")
        behind = [tip]
        while behind:
            oid = behind.pop()
            if oid in self._commits:
                continue
            self._commits.add(oid)
            try:
                record = read_record(self._store, oid)
            except StoreDamaged as error:
                self._problems.append(Problem(owner.name, error.message))
                behind += parents_of(self._store, oid)
                continue
            for tree in record.trees():
                self._look(owner, tree)
            behind += record.commit.parents

    def unreached(self, known: Witness) -> None:
        """Checks the checkpoints that only the ledger leads to: they are beyond damage."""
        behind = [(id, commit) for id, commit in known.commits if commit not in self._commits]
        whole = [id for id, commit in behind if self._checkpoint(commit, f"checkpoint {id}")]
        if whole:
            detail = "they read back, but damage to a newer one leaves only the ledger to find them"
            self._problems.append(Problem(f"checkpoints {some(whole)}", detail))

    def _look(self, owner: _Owner, root: bytes, *, snapshot: bool = False) -> None:
        self._roots.append((owner, root))
        if root in self._seen:
            return
        for _, found in trees.unsound_entries(self._store, root, self._seen, snapshot=snapshot):
            self._lost.add(found)

    def problems(self) -> list[Problem]:
        """Returns everything that was found; a checkpoint that lost files is named once."""
        owners: dict[_Owner, Lost] = {}
        for owner, root in self._roots if self._lost else ():
            lost = self._lost_below(root)
            if lost:
                owners.setdefault(owner, {}).update(lost)
        return [*self._problems, *(_problem(owner, lost) for owner, lost in owners.items())]

    def _lost_below(self, root: bytes) -> Lost:
        """Returns what is lost below a tree, each tree read once."""
        if root in self._lost:
            return {b"": root}
        known = self._holding.get(root)
        if known is None:
            known = self._holding[root] = {}
            for mode, name, child in self._store.tree(root):
                if child in self._lost:
                    known[name] = child
                elif is_tree(mode):
                    below = self._lost_below(child)
                    known.update((name + b"/" + path, oid) for path, oid in below.items())
        return known


def _problem(owner: _Owner, lost: Lost) -> Problem:
    paths = tuple(sorted(lost))
    named = some([os.fsdecode(path) or "all of it" for path in paths])
    detail = f"missing, damaged or out of place: {named}"
    return Problem(owner.name, detail, owner.checkpoint, paths if owner.checkpoint else ())


def some(names: list[str]) -> str:
    """Names the first few, and says how many there are besides."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


# -- reads every byte that a store keeps: each pack as a whole, and each object for its hash


_DOING = "reading objects"


class Everything(Value):
    """How many objects were read, which of them are damaged, and every problem found."""

    objects: int
    damaged: frozenset[bytes]
    problems: tuple[Problem, ...]


NOTHING_READ = Everything(0, frozenset(), ())


def read_everything(context: Context) -> Everything:
    """Reads all packs and loose objects, with progress by the object."""
    store, progress = context.store, context.reporter.progress
    packs = store.packs.names()
    total = sum(store.packs.count(pack) for pack in packs)
    problems: list[Problem] = []
    damaged: set[bytes] = set()
    count = 0
    for pack in packs:
        problems += _whole(store, pack)
        try:
            for oid in store.packs.iterate(pack):
                progress(_DOING, count, total)
                count += 1
                if not store.reads_back(oid):
                    damaged.add(oid)
                    problems.append(Problem(f"object {oid.hex()}", f"damaged in pack {pack}"))
        except StoreDamaged as error:
            problems.append(Problem(f"pack {pack}", error.message))
    for oid in loose_objects(os.path.join(store.git_dir, "objects")):
        progress(_DOING, count, max(count, total))
        count += 1
        if not store.reads_back(oid):
            damaged.add(oid)
            problems.append(Problem(f"object {oid.hex()}", "damaged, and in no pack"))
    progress(_DOING, count, count)
    return Everything(count, frozenset(damaged), tuple(problems))


def _whole(store: Store, pack: str) -> Iterator[Problem]:
    """Checks the name of a pack, and the checksums of its two files."""
    path = os.path.join(store.git_dir, "objects", "pack", pack)
    if not name_fits(f"{path}.pack", pack):
        store.blame(pack)
        yield Problem(f"pack {pack}", "its name is not its checksum")
    for suffix in (".pack", ".idx"):
        if not checksum_holds(path + suffix):
            store.blame(pack)
            yield Problem(f"pack {pack}", f"the checksum of {pack}{suffix} does not match")
