"""Picking: of what an operation would change, only what a person has picked, or what others did.

What is asked about is a plan, path by path. A text has hunks; whatever else differs (a binary, a
link, permission bits, a file that comes or goes) is one question. What was picked is brought into
the files as they are, and that is the goal.
"""

from __future__ import annotations

from takeback.errors import Refused
from takeback.git.diff import LARGEST_SHOWN, hunks_of_blobs
from takeback.git.objects import BLOB
from takeback.merge import revert
from takeback.merge.merge import Sides, merge
from takeback.merge.revert import only_who_is_at_work, without
from takeback.model.checkpoint import Entry
from takeback.model.conflicts import Chooser, Pick, TextChange
from takeback.model.ids import SnapshotId
from takeback.model.lines import LineHunk, is_binary, split
from takeback.model.path_text import covers, parents, to_text
from takeback.model.value import Value
from takeback.rewind.request import ALL_OTHERS, EDITS, PICKED
from takeback.store import trees
from takeback.store.trees import Held, edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from takeback.capture.capture import Captured
    from takeback.merge.revert import Edit, Taken
    from takeback.model.checkpoint import Change
    from takeback.model.conflicts import Conflict, ConflictChoices
    from takeback.model.operation import Plan
    from takeback.rewind.request import Request
    from takeback.store.store import Store

    Picked = Mapping[bytes, Pick]

# -- keeping: a rewind that leaves in place what others did since its target
#
# edits        the target, with each stretch of a person's edits since merged into it
# all others   the files as they are, without the turns of the target's session since


_EDITS = "your edits"
_WITH_EDITS = "with your edits since"
_OWN_ONLY = "only what its session changed"


def keep_edits(
    captured: Captured, request: Request, edits: Sequence[Edit], choices: ConflictChoices
) -> Request:
    """Returns a request for a checkpoint as one for the same with a person's edits in it."""
    sink, chooser, facts = captured.sink, Chooser(choices, edits=True), request.facts
    latest = _since_last_look(captured, request)
    tree = bytes.fromhex(request.goal.tree)
    names = (request.goal.about or request.goal.name, _EDITS)
    for edit in (*edits, *latest):
        theirs = edit.alone(sink)
        sink.publish()
        tree = merge(sink, Sides(edit.before, tree, theirs, names), chooser).tree
        sink.publish()
    kept = frozenset[bytes]().union(*(edit.paths for edit in (*edits, *latest)))
    goal = request.goal.merged(SnapshotId(tree.hex()), _WITH_EDITS)
    return request.replace(
        goal=goal,
        facts=facts.replace(own=facts.own - kept, last_seen=None),
        conflicts=_within(request, chooser),
        keeping=EDITS,
        edits=tuple(sorted(path for path in kept if covers(request.scope.paths, path))),
    )


def _since_last_look(captured: Captured, request: Request) -> list[Edit]:
    """Returns the edits that no checkpoint has yet; while an agent works, they may be its own."""
    facts = request.facts
    if facts.at_work or facts.last_seen is None:
        return []
    seen, store = bytes.fromhex(facts.last_seen), captured.sink.locked.store
    paths = frozenset(change.path for change in trees.diff(store, seen, captured.tree))
    return revert.until(facts.last_seen, captured.tree, paths)


def keep_all_others(
    captured: Captured, request: Request, taken: Sequence[Taken], choices: ConflictChoices
) -> Request:
    """Returns a request for a checkpoint as one that takes back only what some turns did."""
    chooser = Chooser(choices)
    tree = without(captured, taken, chooser)
    goal = request.goal.merged(SnapshotId(tree.hex()), _OWN_ONLY)
    facts = only_who_is_at_work(request.facts)
    return request.replace(
        goal=goal,
        facts=facts.replace(current=request.facts.current),
        conflicts=_within(request, chooser),
        keeping=ALL_OTHERS,
    )


def _within(request: Request, chooser: Chooser) -> tuple[Conflict, ...]:
    paths = request.scope.paths
    return tuple(one for one in chooser.unsettled if covers(paths, one.path))


# -- picking


_PICKED = "only what was picked"


class Offer(Value):
    """A change that can be picked; ``below`` are those that go with it."""

    change: Change
    below: tuple[Change, ...] = ()

    def whole(self) -> dict[bytes, Pick]:
        """Returns what picking all of it means."""
        return {one.path: Pick(one.old, one.new) for one in (self.change, *self.below)}


def offers(store: Store, plan: Plan) -> Iterator[Offer]:
    """Yields what can be picked of a plan, by path; ignored files, in no snapshot, cannot."""
    then = Held(store, bytes.fromhex(plan.goal.tree))
    changes = [
        one
        for one in sorted((*plan.writes, *plan.deletes), key=lambda one: one.path)
        if one.path and one.path not in plan.saved and _is_same(then[one.path], one.new)
    ]
    done: tuple[bytes, ...] = ()
    for at, one in enumerate(changes):
        if done and covers(done, one.path):
            continue
        if _is_directory(one.old) or _is_directory(one.new):
            below = tuple(other for other in changes[at + 1 :] if covers((one.path,), other.path))
            if one.old is None or one.new is None:
                if below:
                    continue  # it comes and goes with what is in it
            elif not (_is_directory(one.old) and _is_directory(one.new)):
                done = (*done, one.path)
                yield Offer(one, below)
                continue
        yield Offer(one)


def _is_same(held: Entry | None, planned: Entry | None) -> bool:
    """Tells whether a snapshot has what a plan says; plans do not know the ids of directories."""
    if _is_directory(held) and _is_directory(planned):
        return held is not None and planned is not None and held.mode == planned.mode
    return held == planned


def _is_directory(entry: Entry | None) -> bool:
    return entry is not None and entry.is_directory


def text_of(store: Store, change: Change) -> TextChange | None:
    """Returns the lines of a changed text; None if it has none, or none that differ.

    Raises StoreDamaged or GitFailed.
    """
    entries = [entry for entry in (change.old, change.new) if entry is not None]
    if not all(entry.is_file for entry in entries):
        return None
    if any(store.packs.size_of(entry.oid) > LARGEST_SHOWN for entry in entries):
        return None
    old, new = (
        b"" if entry is None else store.blob(entry.oid, LARGEST_SHOWN)
        for entry in (change.old, change.new)
    )
    if old == new:
        return None
    found: tuple[LineHunk, ...] | None
    if change.old is not None and change.new is not None:
        found = hunks_of_blobs(store.git, change.old.oid, change.new.oid)
    elif is_binary(old + new):
        found = None
    else:
        found = (LineHunk(0, len(split(old)), 0, len(split(new))),)
    return None if found is None else TextChange(split(old), split(new), found)


def only(captured: Captured, request: Request, picked: Picked) -> Request:
    """Returns a request as one for the files as they are with what was picked brought in.

    Raises Refused if one of them changed since the person was asked about it. Each change was
    looked at, so of what is known only who is at work counts.
    """
    sink = captured.sink
    store = sink.locked.store
    now, then = Held(store, captured.tree), Held(store, bytes.fromhex(request.goal.tree))
    changes: dict[bytes, Entry | None] = {}
    for path, pick in sorted(picked.items()):
        if not _is_as_seen(now, path, picked):
            raise Refused(
                f"you chose from another {to_text(path)}: it changed since",
                hint="look at what would change now, and choose again",
            )
        entry = pick.entry
        if entry is not None and pick.text is not None:
            entry = Entry(entry.mode, sink.add(BLOB, pick.text))
        changes[path] = entry
    emptied = _emptied(now, then, changes)
    above = _made_above(now, then, changes)
    tree = edited(store, sink, captured.tree, {**above, **changes, **emptied})
    sink.publish()
    goal = request.goal.merged(SnapshotId(tree.hex()), _PICKED)
    paths = tuple(sorted((*changes, *emptied)))
    return request.replace(
        goal=goal,
        scope=request.scope.replace(paths=paths, asked=False),
        facts=only_who_is_at_work(request.facts),
        conflicts=tuple(one for one in request.conflicts if one.path in changes),
        keeping=PICKED,
        edits=(),
    )


def _is_as_seen(now: Held, path: bytes, picked: Picked) -> bool:
    """Tells whether a path is as the person saw it, and for a directory that goes, all in it."""
    pick = picked[path]
    if not _is_same(now[path], pick.seen):
        return False
    goes = _is_directory(pick.seen) and not _is_directory(pick.entry)
    return not goes or all(path + b"/" + name in picked for name in now.below(path))


def _made_above(
    now: Held, then: Held, changes: Mapping[bytes, Entry | None]
) -> dict[bytes, Entry | None]:
    """Returns the directories that come with what is in them, as they were."""
    return {
        above: then[above]
        for path, entry in changes.items()
        if entry is not None
        for above in parents(path)
        if above and above not in now and above in then and above not in changes
    }


def _emptied(
    now: Held, then: Held, changes: Mapping[bytes, Entry | None]
) -> dict[bytes, Entry | None]:
    """Returns the directories that go because all that was in them goes, deepest first."""
    gone: dict[bytes, Entry | None] = {p: None for p, entry in changes.items() if entry is None}
    found: dict[bytes, Entry | None] = {}
    above = {one for path in gone for one in parents(path) if one and one not in then}
    for directory in sorted(above, key=lambda path: path.count(b"/"), reverse=True):
        inside = (directory + b"/" + name for name in now.below(directory))
        if all(path in gone or path in found for path in inside):
            found[directory] = None
    return found
