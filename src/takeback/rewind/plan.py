"""A plan: what is asked for, in which scope, and the list of changes that it would make."""

from __future__ import annotations

from takeback.capture.capture import capture
from takeback.context import Translated
from takeback.errors import Command, NoSuchCheckpoint, Option, Refused, StoreDamaged, UsageError
from takeback.git.diff import unified
from takeback.ledger import lists
from takeback.ledger import sessions as questions
from takeback.ledger.attribute import counted, lines_between
from takeback.merge.deeds import deeds
from takeback.model.coverage import NO_OVERRIDES, Overrides
from takeback.model.ids import SnapshotId
from takeback.model.merge import NOTHING_CHOSEN, ConflictChoices
from takeback.model.operation import (
    BOTH,
    CONVERSATION,
    FILES,
    REWIND,
    Between,
    FileDiff,
    Goal,
    Plan,
    Portion,
    Preview,
    Side,
)
from takeback.model.path_text import covers, to_text
from takeback.model.timeline import ReviewedChange
from takeback.model.turn import STEER
from takeback.model.value import Value
from takeback.rewind.prepare import prepare
from takeback.rewind.refuse import NO_FACTS, Facts, others, refusals, until_now, warnings
from takeback.store import trees
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Final, Literal

    from takeback.capture.capture import Captured
    from takeback.context import Context
    from takeback.fork.fork import Cut
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Change, Checkpoint, CountedChange, Entry
    from takeback.model.merge import Conflict, ConflictChoice
    from takeback.model.operation import Move, OperationKind, ScopeKind
    from takeback.model.timeline import Turn
    from takeback.rewind.prepare import Prepared
    from takeback.store.store import Store

    Kept = Literal["nothing", "edits", "all others", "picked"]
    Asked = Callable[[Captured], "Request"]

# -- what a rewind keeps of the time since its target, merged into it


NOTHING: Final = "nothing"
EDITS: Final = "edits"
"""What the person changed by hand."""
ALL_OTHERS: Final = "all others"
"""Everything but what the target's own session changed."""
PICKED: Final = "picked"
"""Everything but the hunks that a person picked: ``ConflictChoices.picked``."""
KEPT: dict[str, Kept] = {NOTHING: NOTHING, EDITS: EDITS, "mine": ALL_OTHERS, ALL_OTHERS: ALL_OTHERS}
"""What programs ask for; ``mine`` is the word of the command line, which takes back only that."""


class Keeping(Value):
    """What is kept, and what is chosen where it is in conflict with what goes."""

    what: Kept = NOTHING
    choices: ConflictChoices = NOTHING_CHOSEN


KEEP_NOTHING = Keeping()


def keeping_of(what: Kept, conflicts: ConflictChoice | None) -> Keeping:
    """Returns what is kept, with one choice about all conflicts, if that is said.

    Raises UsageError for a choice about conflicts that there cannot be.
    """
    if conflicts is not None and what == NOTHING:
        raise UsageError(
            "there are no conflicts to choose about: nothing is merged",
            hint=("to keep what you typed since: ", Option("--keep-edits")),
        )
    return Keeping(what, ConflictChoices(otherwise=conflicts))


def kept_named(name: str) -> Kept:
    """Returns what is kept by that name; raises UsageError."""
    found = KEPT.get(name)
    if found is None:
        raise UsageError(f"{name!r} cannot be kept; there are: {', '.join(KEPT)}")
    return found


# -- scope: what is wanted of a goal


class Scope(Value):
    """What is wanted of the goal: all of it or some paths, with or without ignored files.

    ``also`` are paths of ignored files that are wanted whatever the rest says. ``touched`` is what
    the operation that is being undone or redone did, by path: each path goes back to what it was
    before, wherever it is, and what the operation made is removed if it is still exactly that. With
    ``files`` false no file is wanted, as for a conversation alone. ``asked`` if a person has just
    named the paths: one that is nowhere is then a typo.
    """

    paths: tuple[bytes, ...] = ()
    ignored: bool = False
    also: frozenset[bytes] = frozenset()
    touched: Mapping[bytes, Change] = {}
    files: bool = True
    asked: bool = True

    @property
    def asked_for(self) -> tuple[bytes, ...]:
        """Returns the paths that a person named."""
        return self.paths if self.asked else ()

    def holds(self, path: bytes) -> bool:
        return self.files and (covers(self.paths, path) or path in self.also)

    def puts_back(self, path: bytes) -> bool:
        """Tells whether this very ignored path goes back to what it was."""
        done = self.touched.get(path)
        return path in self.also or (done is not None and done.old is not None)

    def wants_ignored(self, path: bytes) -> bool:
        if not self.files:
            return False
        if path in self.paths or self.puts_back(path):
            return True
        if self.also and covers(tuple(self.also), path):
            return True
        return self.ignored and covers(self.paths, path)


# -- request: one rewind, fork, undo or redo that is asked for, from its plan to its end


class Request(Value):
    """Where it goes, what is wanted of that, what is waived, what is known about the time since.

    ``of`` is the operation that an undo or redo is about, ``cut`` what happens to the conversation
    (None: it stays). ``conflicts`` are those that nobody has chosen about, in the goal of a merge;
    ``keeping`` is what was merged into it, ``edits`` the paths of a person's edits among that.
    ``mentioned`` are paths that a merge has looked at, though neither side of it may hold them now.
    """

    goal: Goal
    scope: Scope = Scope()
    overrides: Overrides = NO_OVERRIDES
    facts: Facts = NO_FACTS
    kind: OperationKind = REWIND
    of: Move | None = None
    cut: Cut | None = None
    conflicts: tuple[Conflict, ...] = ()
    keeping: Kept = NOTHING
    edits: tuple[bytes, ...] = ()
    mentioned: frozenset[bytes] = frozenset()

    @property
    def moves(self) -> ScopeKind:
        """Returns what it moves: files, conversation or both."""
        if self.of is not None:
            return self.of.scope
        if self.cut is None:
            return FILES
        return BOTH if self.scope.files else CONVERSATION

    @property
    def wanted(self) -> Scope:
        """Returns the scope with the ignored files that a turn changed, unless paths are named."""
        if self.scope.paths:
            return self.scope
        return self.scope.replace(also=self.scope.also | frozenset(self.facts.ignored))

    @property
    def kept(self) -> dict[bytes, str]:
        """Returns the paths that are left alone because others changed them, and why."""
        if not self.overrides.keep_others:
            return {}
        return {
            path: f"changed by another session ({session}) and kept"
            for path, session in self.facts.others.items()
        }


# -- plan: the list of changes that a rewind would make, shown before it is carried out


_MANY = 1000
"""With more files than this in a plan, nobody reads the numbers of each."""
_PATIENCE = 1.0


class Look(Value):
    """A plan, and the state of the files that it was made for."""

    plan: Plan
    tree: bytes


def plan(context: Context, request: Request | Asked) -> Plan:
    """Works out a plan without changing anything; the lock is released when it returns."""
    return _counted(context, look(context, request))


def look(context: Context, request: Request | Asked) -> Look:
    """Captures the files and works out what a request would change; no lines are counted.

    What is asked for may depend on the files as they are, and is then made from them.
    """
    with context.locked() as locked:
        captured = capture(locked)
        captured.keep()
        with Translated("the plan"):
            if callable(request):
                request = request(captured)
            request = request.replace(facts=until_now(context, captured, request.facts))
            changes = prepare(context, captured, request, save=False)
            return Look(describe(context, captured, request, changes), captured.tree)


def describe(context: Context, captured: Captured, request: Request, changes: Prepared) -> Plan:
    """Puts the decided changes into the form that people and programs read."""
    scope, facts = request.scope, request.facts
    unnamed = (
        f"{to_text(path)} was not named, but is in the way: it becomes a directory; "
        "undo brings it back"
        for path in changes.unnamed
    )
    return Plan(
        goal=request.goal,
        writes=tuple(sorted(changes.writes, key=lambda c: c.path)),
        deletes=tuple(sorted(changes.deletes, key=lambda c: c.path)),
        left_alone=changes.left_alone,
        outside=tuple(sorted(changes.paths & facts.own)),
        others=others(changes, facts),
        warnings=tuple(shown(line) for line in (*unnamed, *warnings(context, request))),
        refused=refusals(context, captured, request, changes),
        saved=tuple(sorted(changes.extra)),
        paths=scope.paths,
        ignored=scope.ignored,
        scope=request.moves,
        turns=tuple(turn for turn, paths in facts.turns if paths & changes.paths),
        beyond=facts.beyond if scope.files and not scope.paths else (),
        kind=request.kind,
        conflicts=request.conflicts,
        edits=request.edits,
    )


def _counted(context: Context, looked: Look) -> Plan:
    """Adds how many lines each file gains and loses, if that is quick."""
    from takeback.git.diff import BINARY
    from takeback.ledger.attribute import Limits, lines_between

    made = looked.plan
    planned = {change.path for change in (*made.writes, *made.deletes)}
    if not planned or len(planned) > _MANY:
        return made
    then = bytes.fromhex(made.goal.tree)
    lines = lines_between(context.store, looked.tree, then, limits=Limits(patience=_PATIENCE))
    known = {path: n for path, n in lines.items() if path in planned and n != BINARY}
    return made.replace(lines=known)


# -- preview: what a turn changed, and what going to a checkpoint would change now, file by file


LARGEST = 8 << 20
"""The largest file, in bytes, that is compared while somebody waits: git needs 0.3 s for it."""


def states(store: Store, ledger: Ledger, checkpoint: Checkpoint) -> Between:
    """Returns the states before and after a prompt, or before and at a plain checkpoint.

    Of a prompt, its parts are what it caused, and not what others did meanwhile. Raises
    NoSuchCheckpoint, or Expired, if one of them is no longer kept.
    """
    turn = questions.turn_by_id(ledger, checkpoint.id)
    if checkpoint.kind == STEER:
        caused = lists.after_steer(ledger, checkpoint.id)
        last = ledger.by_id(caused[-1]) if caused else None
        steered = questions.turn_of(ledger, checkpoint)
        return _done(store, ledger, steered, (checkpoint, last or checkpoint))
    if turn is None:
        before = ledger.state_before(checkpoint)
        return _between(checkpoint, checkpoint, before)
    first, last = (ledger.by_id(id) for id in (turn.before, turn.after))
    if first is None or last is None:
        raise NoSuchCheckpoint(f"not both ends of the turn of {checkpoint.id} are kept")
    return _done(store, ledger, turn, (first, last))


def _done(
    store: Store, ledger: Ledger, turn: Turn | None, ends: tuple[Checkpoint, Checkpoint]
) -> Between:
    """Returns what a turn did between two of its checkpoints; raises Expired."""
    found = _between(*ends)
    if turn is None:
        return found
    parts = (
        Portion(SnapshotId(one.before.hex()), SnapshotId(one.after.hex()), one.paths)
        for one in deeds(store, ledger, turn, ends)
    )
    return found.replace(parts=tuple(parts))


def _between(old: Checkpoint, new: Checkpoint, state: SnapshotId | None = None) -> Between:
    """Returns two states, the older one ``state`` if it is given; raises Expired."""
    was = SnapshotId(old.tree.hex()) if state is None else state
    return Between(was, SnapshotId(new.tree.hex()))


def preview(context: Context, request: Request) -> Preview:
    """Works out a plan with all its lines counted, and the states that it leads from and to."""
    looked = look(context, request)
    plan, goal = looked.plan, request.goal.tree
    lines = lines_between(context.store, looked.tree, bytes.fromhex(goal))
    planned = sorted((*plan.writes, *plan.deletes), key=lambda change: change.path)
    between = Between.of_trees(looked.tree, bytes.fromhex(goal))
    return Preview(plan, tuple(counted(planned, lines)), between)


def file_diff(context: Context, between: Between, path: bytes) -> FileDiff:
    """Returns one path in both states; raises StoreDamaged if one of them cannot be read."""
    pairs = [(bytes.fromhex(old), bytes.fromhex(new)) for old, new in between.of(path)]
    if not pairs:
        return FileDiff(path, None, None)
    try:
        found = [_side(context.store, root, path) for two in pairs for root in two]
    except StoreDamaged as error:
        raise StoreDamaged(f"{to_text(path)} cannot be compared: {error.message}") from error
    was, now = found[0], found[-1]
    sides = [side for side in found if side is not None]
    if not sides or any(_is_directory(side) for side in sides):
        return FileDiff(path, was, now)
    if any(side.size > LARGEST for side in sides):
        return FileDiff(path, was, now, too_large=True)
    git = context.store.git
    patch = b"".join(unified(git, old, new, paths=(path,)) for old, new in pairs)
    return FileDiff(path, was, now, patch)


def _side(store: Store, root: bytes, path: bytes) -> Side | None:
    entry = trees.lookup(store, root, path)
    if entry is None or entry.is_directory:
        return None if entry is None else Side(entry.mode, 0)
    size = store.packs.size_of(entry.oid)
    # git does not check the hash of what it reads from a pack: so only what we read is shown
    data = store.blob(entry.oid) if size <= LARGEST else b""
    return Side(entry.mode, size, data if entry.is_link else None)


def _is_directory(side: Side) -> bool:
    from takeback.model.checkpoint import Entry

    return Entry(side.mode, b"").is_directory


# -- review: what differs between two states, each path with what it is on both sides


LARGEST_REVIEWED = 64 << 20
"""The largest file, in bytes, that is handed out as a whole."""


def reviewed(store: Store, between: Between) -> tuple[ReviewedChange, ...]:
    """Returns the changes from one state to another, by path, with their lines counted.

    What a turn did to a file that others changed meanwhile is several, one after the other.
    """
    if between.parts is None:
        return _reviewed(store, between.old, between.new)
    found = [
        one
        for part in between.parts
        for one in _reviewed(store, part.old, part.new)
        if one.change.path in part.paths
    ]
    return tuple(sorted(found, key=lambda one: one.change.path))


def _reviewed(store: Store, before: str, after: str) -> tuple[ReviewedChange, ...]:
    old, new = bytes.fromhex(before), bytes.fromhex(after)
    changes = list(trees.diff(store, old, new))
    lines = lines_between(store, old, new) if changes else {}
    return joined(changes, counted(changes, lines))


def joined(
    changes: Iterable[Change], numbers: Iterable[CountedChange]
) -> tuple[ReviewedChange, ...]:
    """Returns changes that were counted, by path."""
    by_path = {one.path: one for one in changes}
    found = (ReviewedChange(by_path[one.path], one) for one in numbers)
    return tuple(sorted(found, key=lambda one: one.change.path))


def content(store: Store, path: bytes, entry: Entry | None) -> bytes:
    """Returns the bytes of one side of a change; of a link, where it leads.

    Raises NoSuchCheckpoint if there is nothing on that side, and Refused if it is too large.
    """
    if entry is None or entry.is_directory:
        raise NoSuchCheckpoint(f"{to_text(path)} is no file on that side")
    if store.packs.size_of(entry.oid) > LARGEST_REVIEWED:
        raise Refused(
            f"{to_text(path)} is larger than {LARGEST_REVIEWED >> 20} MB",
            hint=("write it to a file: ", Command("cat")),
        )
    return store.blob(entry.oid)
