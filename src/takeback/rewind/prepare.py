"""Works out what going to a goal means for each path, and saves what would be lost."""

from __future__ import annotations

import os
from stat import S_ISDIR

from takeback.capture.capture import saved_since
from takeback.errors import Command, StoreDamaged, UsageError
from takeback.model.checkpoint import ADDED, DIRECTORY, Change, Entry
from takeback.model.coverage import MOUNT, OTHER_WORKSPACE, SENSITIVE, UNSTABLE, Coverage, then
from takeback.model.operation import NOT_ASKED, Goal, LeftAlone
from takeback.model.path_text import covers, is_inside_git, parents, to_text
from takeback.model.value import Value
from takeback.rewind.safekeeping import Safekeeping, Unsavable, Vouching
from takeback.store import tombstones, trees
from takeback.store.records import read_coverage
from takeback.store.trees import Held
from takeback.worktree.read import Intake
from takeback.worktree.rules import LeftOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from takeback.capture.capture import Captured
    from takeback.context import Context
    from takeback.model.checkpoint import Checkpoint
    from takeback.rewind.request import Request, Scope
    from takeback.store.store import Store
    from takeback.worktree.apply import Inside


# -- destination: everything that is known about the state that an operation goes to


class Destination(Value):
    """A goal as an operation needs it: what it holds, what it saved beside, what it vouches for."""

    goal: Goal
    tree: bytes
    held: Held
    saved: dict[bytes, Entry]
    vouching: Vouching


def goal_of(store: Store, checkpoint: Checkpoint, about: str | None = None) -> Goal:
    """Returns the state of a checkpoint as a goal; one whose coverage is damaged covers nothing."""
    try:
        coverage = read_coverage(store, checkpoint.commit)
    except StoreDamaged:
        coverage = Coverage.of_nothing()
    return Goal(checkpoint.snapshot, coverage, checkpoint.saved, about, checkpoint)


def destination(context: Context, request: Request) -> Destination:
    """Looks the goal of a request up in the store; its snapshot only if files are to go there.

    The family are the sessions that continued from it: what their tools saved also counts.
    Raises Expired if files are wanted that are not kept any more.
    """
    goal, tree = request.goal, b""
    if request.scope.files:
        tree = bytes.fromhex(goal.tree) if goal.checkpoint is None else goal.checkpoint.tree
    held, saved = Held(context.store, tree), _saved(context, goal, request.facts.family)
    return Destination(goal, tree, held, saved, Vouching(goal, held, saved))


def _saved(context: Context, goal: Goal, family: frozenset[str]) -> dict[bytes, Entry]:
    before_tools: dict[bytes, Entry] = {}
    if goal.checkpoint is not None:
        before_tools = saved_since(context.store, goal.checkpoint, family).inside
    if goal.saved is None:
        return before_tools
    try:
        return {**before_tools, **dict(trees.walk(context.store, bytes.fromhex(goal.saved)))}
    except StoreDamaged as error:
        context.reporter.note(
            f"The ignored files saved with {goal.name} cannot be read: {error.message}."
        )
        return before_tools


# -- situation: what an operation is worked out from, read once


class Situation(Value):
    """The files as they are, where they go, and what is wanted of that.

    ``now`` is what the capture holds; ``safe`` keeps what it does not hold. ``kept`` are paths that
    are left alone in any case, and why.
    """

    store: Store
    captured: Captured
    going: Destination
    scope: Scope
    now: Held
    safe: Safekeeping
    kept: dict[bytes, str]


def situation(context: Context, captured: Captured, request: Request, *, save: bool) -> Situation:
    """Reads the situation of a request; with ``save`` also saves what would be lost."""
    now = Held(context.store, captured.tree)
    intake = Intake(captured.sink, purged=tombstones.load(context.store))
    return Situation(
        store=context.store,
        captured=captured,
        going=destination(context, request),
        scope=request.wanted,
        now=now,
        safe=Safekeeping(context.workspace.fd, intake, now, LeftOut(context.policy), save=save),
        kept=request.kept,
    )


# -- differences: the paths in a scope that differ from the destination
#
# The two snapshots show most of them. The others are ignored files that are wanted, the directories
# that lead to a wanted path, and what an undone operation did that no snapshot shows.


class Differences:
    """What has to be decided, by path, and what need not be.

    ``ignored`` are paths of ``changes`` that no snapshot holds. ``wanted`` are decided whatever
    happens to the directory above them. ``damaged`` and ``not_asked`` are left alone, with the
    reasons.
    """

    def __init__(self, at: Situation) -> None:
        self._store = at.store
        self._going = at.going
        self._captured = at.captured
        self._then = at.going.held
        self._saved = at.going.saved
        self._scope = at.scope
        self._now = at.now
        self._safe = at.safe
        self.changes: dict[bytes, Change] = {}
        self.ignored: list[bytes] = []
        self.wanted: set[bytes] = set()
        self.damaged: dict[bytes, str] = {}
        self.not_asked: dict[bytes, str] = {}

    def compare(self) -> None:
        """Compares what was captured with the tree of the goal, and looks beside both."""
        leading = self._leading()
        self.changes = {
            change.path: change
            for change in self._between()
            if self._scope.holds(change.path)
            or (change.path in leading and _makes_directory(change))
        }
        for path in self._right_beside():
            self.changes.pop(path, None)
        self.changes.update((change.path, change) for change in self._ignored_changes())
        self._take_back()

    def _between(self) -> Iterator[Change]:
        if not self._scope.files:
            return iter(())
        return trees.diff(
            self._store, self._captured.tree, self._going.tree, on_damage=self._note_damage
        )

    def _note_damage(self, path: bytes, error: StoreDamaged) -> None:
        """A directory cannot be read in one of the snapshots: nothing in it is touched."""
        below = path + b"/" if path else b""
        if self._scope.holds(path) or any(p.startswith(below) for p in self._scope.paths):
            self.damaged[path] = f"cannot be restored: {error.message}"

    def _leading(self) -> set[bytes]:
        """Returns the directories that must exist for a wanted path to be written into them."""
        held = (self._then, self._saved)
        written = [path for path in self._scope.paths if any(path in tree for tree in held)]
        written += [path for path, done in self._scope.touched.items() if done.old is not None]
        return {above for path in written for above in parents(path)}

    def _right_beside(self) -> Iterator[bytes]:
        """Yields what the target ignored but saved, if it is now held with the same bytes."""
        for path, kept in self._saved.items():
            if path not in self._then and not kept.is_directory and self._now[path] == kept:
                yield path

    def _ignored_changes(self) -> Iterator[Change]:
        unreadable = tuple(self.damaged)
        for path in sorted(self._captured.saved.keys() | self._saved.keys()):
            if path in self._scope.touched or path in self._then:
                continue  # what it should be follows from the operation or the snapshot
            if unreadable and covers(unreadable, path):
                continue
            then = self._saved.get(path)
            now = self._now[path] or self._captured.saved.get(path)
            if then is not None and then.is_directory:
                if self._is_needed(path):
                    self.wanted.add(path)
                    yield Change(path, now, then)
            elif now == then or (then is None and path in self._now):
                continue
            elif self._scope.wants_ignored(path):
                self.ignored.append(path)
                self.wanted.add(path)
                yield Change(path, now, then)
            elif self._scope.holds(path):
                self.not_asked[path] = NOT_ASKED

    def _is_needed(self, path: bytes) -> bool:
        """Tells whether a directory of the saved files has to be created or get its bits back."""
        if self._scope.puts_back(path):
            return True
        below = path + b"/"
        wanted = self._scope.wants_ignored(path) or any(
            other.startswith(below) and self._scope.wants_ignored(other) for other in self._saved
        )
        return wanted and not self._safe.is_directory(path)

    def _take_back(self) -> None:
        """Adds what an undo or redo does besides what the two snapshots show."""
        for path, done in self._scope.touched.items():
            now, then = self._now[path], done.old
            if _is_right(now, then) or (then is None and now is None and self._is_gone(path)):
                self.changes.pop(path, None)
                continue
            if now is None and (then is None or not then.is_directory):
                self.ignored.append(path)
            self.changes[path] = Change(path, now, then)

    def _is_gone(self, path: bytes) -> bool:
        try:
            return self._safe.status(path) is None
        except OSError:
            return False  # it is reported when it is decided


def _makes_directory(change: Change) -> bool:
    return change.new is not None and change.new.is_directory


def _is_right(now: Entry | None, then: Entry | None) -> bool:
    """Tells whether a file is as it was; for a directory its bits are checked on the disk."""
    return then is not None and not then.is_directory and now == then


# -- decisions: what happens to each path that differs from the goal
#
# What is in the way and in no snapshot is saved first; what cannot be saved is left alone.


class Decisions:
    """The changes that are made, in the order in which they were decided.

    ``displaced`` are directories that make way, with their contents. ``unnamed`` are files and
    links that were not named but make way for the directory of a named path. ``by_rule`` are paths
    that are left alone on purpose.
    """

    def __init__(self, at: Situation, ignored: Collection[bytes]) -> None:
        self._captured = at.captured
        self._scope = at.scope
        self._now = at.now
        self._safe = at.safe
        self._going = at.going
        self._leave = at.kept
        self._ignored = frozenset(ignored)
        self.above_kept = {above for path in at.kept for above in parents(path)}
        self.writes: list[Change] = []
        self.deletes: list[Change] = []
        self.displaced: dict[bytes, Inside] = {}
        self.unnamed: list[bytes] = []
        self.by_rule: set[bytes] = set()

    def decide(self, change: Change) -> str | None:
        """Sorts one change; returns the reason if it is left alone."""
        if change.path in self._leave:
            self.by_rule.add(change.path)
            return self._leave[change.path]
        if is_inside_git(change.path):
            return "takeback does not write to .git"
        elsewhere = self._captured.coverage.reason_for(change.path)
        if elsewhere in (MOUNT, OTHER_WORKSPACE):
            return f"not part of the workspace now ({elsewhere})"
        if elsewhere == SENSITIVE:
            if change.path not in self._scope.asked_for:
                self.by_rule.add(change.path)
            return "your settings leave it out (sensitive), so it is neither saved nor replaced"
        if change.new is None:
            return self._decide_deletion(change)
        asked = self._scope.holds(change.path) or change.path in self._scope.touched
        found = self._safe.status(change.path)
        if found is None:
            self.writes.append(change.replace(old=None))
            return None
        if S_ISDIR(found.st_mode) and change.new.is_directory:
            if asked and found.st_mode & 0o777 != change.new.mode & 0o777:
                present = self._safe.keep_bits(change.path, found.st_mode)
                self.writes.append(Change(change.path, present, change.new))
            return None
        if S_ISDIR(found.st_mode):
            return self._decide_displaced(change)
        if change.new.is_directory and self._going.vouching.was_moving(change.path):
            return f"the target does not hold it ({UNSTABLE} then)"
        reason = self._decide_replacement(change)
        if reason is None and not asked:
            self.unnamed.append(change.path)
        return reason

    def _shelters(self, path: bytes) -> bool:
        """Tells whether a directory contains something that is to be kept."""
        if path not in self.above_kept:
            return False
        below = path + b"/"
        return any(
            kept.startswith(below) and self._safe.status(kept) is not None for kept in self._leave
        )

    def _decide_deletion(self, change: Change) -> str | None:
        path = change.path
        if self._shelters(path):
            return None  # it stays with what is kept in it, and that is reported
        done = self._scope.touched.get(path)
        if done is not None and done.old is None and done.new is not None:
            return self._decide_unmaking(path, done.new)
        reason = self._going.vouching.reason_for(path)
        if reason is not None and any(above in self.displaced for above in parents(path)):
            return None  # it goes, saved, with the directory that makes way
        if reason is not None:
            # It exists, and nobody can say what it was then: that is not a failure of this rewind
            # if a rule left it out, unless this very path was asked for.
            tells = self._going.vouching.tells(path, self._safe.status(path))
            if tells and path not in self._scope.asked_for:
                self.by_rule.add(path)
            return f"the target does not hold it ({then(reason)})"
        return self._delete(change)

    def _delete(self, change: Change) -> str | None:
        if change.path in self._ignored:
            saved = self._safe.kept(change.path)
            if saved is None:
                return "its content cannot be saved"
            change = change.replace(old=saved)
        self.deletes.append(change)
        return None

    def _decide_unmaking(self, path: bytes, made: Entry) -> str | None:
        """Removes what the operation made where nothing was, if it is still exactly that.

        Within its scope it is removed whatever it is by now, if it is held, or if it is ignored,
        saved and wanted.
        """
        found, now = self._safe.status(path), self._now[path]
        if found is None:
            return None
        vouched = self._scope.holds(path) and self._going.vouching.reason_for(path) is None
        wanted = path in self._captured.saved and self._scope.wants_ignored(path)
        if vouched and (now is not None or wanted):
            return self._delete(Change(path, now, None))
        if any(above in self.displaced for above in parents(path)):
            return None  # it goes, saved, with the directory that makes way
        if not self._safe.is_still(path, made):
            return "changed since the operation made it"
        if S_ISDIR(found.st_mode):
            self._safe.keep_bits(path, found.st_mode)
        elif now is None and self._safe.kept(path) != made:
            self._safe.extra.pop(path, None)
            return "its content cannot be saved"
        self.deletes.append(Change(path, made, None))
        return None

    def _decide_replacement(self, change: Change) -> str | None:
        if change.path not in self._now:
            saved = self._safe.kept(change.path)
            if saved is None:
                return "in the way, and its content cannot be saved"
            if saved == change.new:  # it is merely ignored now; what is right is not touched
                del self._safe.extra[change.path]
                return None
            change = change.replace(old=saved)
        self.writes.append(change)
        return None

    def _decide_displaced(self, change: Change) -> str | None:
        """A directory makes way for a file or link: all of it must be saved."""
        path = change.path
        if self._shelters(path):
            self.by_rule.add(path)
            return "it holds what is kept"
        try:
            inside = self._safe.inside(path)
            if not self._scope.holds(path) and not all(
                self._may_go(path + b"/" + place, entry) for place, entry in inside
            ):
                return "it holds what the operation did not make"
            directory = self._safe.keep_directory(path, inside)
        except (OSError, Unsavable) as error:
            return f"in the way, and not all in it can be saved: {error}"
        self.displaced[path] = inside
        self.writes.append(change.replace(old=directory))
        return None

    def _may_go(self, path: bytes, present: Entry) -> bool:
        """Tells whether a path below an unnamed one was made by the operation itself."""
        done = self._scope.touched.get(path)
        if self._scope.holds(path) or done is None or done.new is None:
            return self._scope.holds(path)
        if present.is_directory:
            return present.mode == done.new.mode
        return present == done.new


# -- works out what going to a goal means for each path, and saves what would be lost
#
# The undo snapshot holds what the capture held. Whatever else is in the way (an ignored file, one
# above the size limit, a whole ignored directory where the target has a file) is saved beside it
# first; what cannot be saved is left alone and reported.


class Prepared(Value):
    """The changes, sorted into what is done and what is left alone.

    ``displaced`` are directories that make way, with their contents. ``unnamed`` are files and
    links that were not named but make way for the directory of a named path, ``ignored`` the
    changed paths that no snapshot holds. ``extra`` is what no snapshot holds and was saved because
    it is replaced or removed, ``saved`` everything that the undo snapshot must keep besides what is
    captured.
    """

    writes: tuple[Change, ...]
    deletes: tuple[Change, ...]
    left_alone: tuple[LeftAlone, ...]
    displaced: Mapping[bytes, Inside]
    unnamed: tuple[bytes, ...]
    ignored: frozenset[bytes]
    extra: Mapping[bytes, Entry]
    saved: dict[bytes, Entry]

    @property
    def paths(self) -> frozenset[bytes]:
        """Returns every path that is written or deleted."""
        return frozenset(change.path for change in (*self.writes, *self.deletes))


def prepare(context: Context, captured: Captured, request: Request, *, save: bool) -> Prepared:
    """Works out what happens to each path; with ``save`` also saves what would be lost."""
    at = situation(context, captured, request, save=save)
    for path in at.scope.asked_for:
        if path not in request.mentioned:
            _check_known(at, path)
    found = Differences(at)
    found.compare()
    return _Preparation(at, found).work_out()


def _check_known(at: Situation, path: bytes) -> None:
    """Raises UsageError for a path that is nowhere: a typo must not read as "nothing to do"."""
    if path and not (
        path in at.now
        or path in at.going.held
        or path in at.going.saved
        or at.captured.coverage.reason_for(path) is not None
        or at.going.vouching.reason_for(path) is not None
        or at.safe.status(path) is not None
    ):
        goal = at.going.goal
        target = goal.name if goal.id is None else f"checkpoint {goal.id}"
        looked = () if goal.id is None else ("what it changed: ", Command("show", goal.id), "; or ")
        raise UsageError(
            f"{to_text(path)} is neither in the workspace nor in {target}",
            hint=(*looked, "look for it: ", Command("search")),
        )


class _Preparation:
    """Decides about everything that differs from the goal, and names what stays as it is."""

    def __init__(self, at: Situation, found: Differences) -> None:
        self._captured = at.captured
        self._scope = at.scope
        self._leave = at.kept
        self._safe = at.safe
        self._going = at.going
        self._found = found
        self._decisions = Decisions(at, found.ignored)
        self._left_alone = {**found.damaged, **found.not_asked}

    def work_out(self) -> Prepared:
        """Decides everything; reads, and saves if asked."""
        found, made = self._found, self._decisions
        made.by_rule |= set(found.not_asked)
        self._decide_all(found.changes, found.wanted)
        self._compare_root()
        if self._scope.files:
            self._name_what_is_not_back()
        return Prepared(
            writes=tuple(made.writes),
            deletes=tuple(made.deletes),
            left_alone=tuple(
                LeftAlone(path, reason, path in made.by_rule)
                for path, reason in sorted(self._left_alone.items())
            ),
            displaced=made.displaced,
            unnamed=tuple(made.unnamed),
            ignored=frozenset(found.ignored),
            extra=self._safe.extra,
            saved={**self._safe.parents, **self._safe.extra},
        )

    # -- what becomes of each

    def _decide_all(self, changes: Mapping[bytes, Change], wanted: set[bytes]) -> None:
        """Decides parents first: below one that stays as it is there is nothing to do.

        What an undone operation did below a directory that has to stay is taken back all the same.
        """
        blocked: set[bytes] = set()
        stuck: set[bytes] = set()
        for path in sorted(changes):
            lost = stuck if path in self._scope.touched else blocked
            if path not in wanted and any(above in lost for above in parents(path)):
                continue
            try:
                reason = self._decisions.decide(changes[path])
            except OSError as error:
                reason = f"cannot be looked at: {os.strerror(error.errno or 0).lower()}"
            if reason is not None:
                self._left_alone[path] = reason
                blocked.add(path)
                if changes[path].new is not None:
                    stuck.add(path)
        self._make_no_directory_for_nothing()

    def _make_no_directory_for_nothing(self) -> None:
        """Drops directories into which nothing comes back, because all that was in them is kept."""
        made = self._decisions
        idle = {
            change.path
            for change in made.writes
            if change.path in made.above_kept and change.kind == ADDED and _is_directory(change)
        }
        if idle:
            written = (change.path for change in made.writes if change.path not in idle)
            idle -= {above for path in written for above in parents(path)}
            made.writes = [change for change in made.writes if change.path not in idle]

    # -- what the snapshots do not show

    def _compare_root(self) -> None:
        """Compares the permission bits of the root itself, for which no tree has an entry."""
        then, now = self._going.goal.root_mode, self._captured.root_mode
        if then is not None and then != now and self._scope.holds(b""):
            old, new = (Entry(DIRECTORY | mode, b"") for mode in (now, then))
            self._decisions.writes.append(Change(b"", old, new))

    def _name_what_is_not_back(self) -> None:
        for item in self._going.vouching.asked_for(self._scope):
            # if the path was named, a rule for something above it is not an answer
            if not self._is_named(item.path, besides=self._decisions.by_rule):
                self._name(item)
        found = (
            *self._going.vouching.gone(self._scope, self._safe.status, self._captured.coverage),
            *self._going.vouching.stays(self._scope, self._captured.coverage),
        )
        for item in found:
            # if the target wanted it but could not get it, being ignored now is not an answer
            weak = {item.path} & self._decisions.by_rule if not item.by_rule else set()
            if not self._is_named(item.path, besides=weak):
                self._name(item)

    def _is_named(self, path: bytes, *, besides: Collection[bytes]) -> bool:
        places = (path, *parents(path))
        return (
            path in self._scope.touched
            or path in self._leave
            or any(place in self._left_alone and place not in besides for place in places)
        )

    def _name(self, item: LeftAlone) -> None:
        self._left_alone[item.path] = item.reason
        if item.by_rule:
            self._decisions.by_rule.add(item.path)
        else:
            self._decisions.by_rule.discard(item.path)


def _is_directory(change: Change) -> bool:
    return change.new is not None and change.new.is_directory
