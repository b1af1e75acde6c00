"""Looking: what differs, what a file held, what was said or written, and where things stand."""

from __future__ import annotations

import os
import time

from takeback.capture.capture import capture, saved_since
from takeback.capture.watching import SensitiveFiles, sensitive_files
from takeback.check.finding import BROKEN, FIX, OFFER, WHO_LOST, Finding
from takeback.errors import Command, Expired, NoSuchCheckpoint, StoreDamaged, UsageError
from takeback.git.diff import unified
from takeback.git.objects import is_tree
from takeback.ledger import by_session as questions
from takeback.ledger.attribute import counted_changes
from takeback.ledger.ledger import missing_refs
from takeback.ledger.lists import folded
from takeback.model.checkpoint import ADDED, MODE, UNDO
from takeback.model.coverage import then
from takeback.model.operation import history
from takeback.model.path_text import covers, parents, to_text
from takeback.model.value import Value
from takeback.retention.due import advice, maintenance_shortage, room_at
from takeback.rewind.review import reviewed
from takeback.store import journal, notes, pending, trees
from takeback.store.notes import Failure
from takeback.store.records import read_coverage, read_operations
from takeback.store.repack import floor, size_on_disk
from takeback.store.trust import Trust
from takeback.store.weight import Consumer, heaviest
from takeback.timeline.sessions import Dirty, SessionEntry, Standing, disagreeing, standing
from takeback.turns.receive import is_first_left
from takeback.turns.running import RunningTurn, running_turns
from takeback.workspaces import lost_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from takeback.context import Context
    from takeback.errors import NotAWorkspace
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint, CountedChange
    from takeback.model.entries import OwnedChange
    from takeback.model.operation import Between
    from takeback.turns.left_running import LeftRunning


# -- diff: what differs between two states, as a patch for people to read


def present_tree(context: Context) -> bytes:
    """Captures the workspace without a checkpoint and returns its tree."""
    with context.locked() as locked:
        captured = capture(locked)
        captured.keep()
    return captured.tree


def patch(
    context: Context,
    between: Between,
    paths: tuple[bytes, ...] = (),
    *,
    hides: Callable[[bytes], bool] | None = None,
    color: bool = False,
) -> bytes:
    """Returns a unified diff, followed by words about permission bits that git does not see.

    What a turn did to a file that others changed meanwhile is in several parts. Of what ``hides``
    names, only that it differs is said.
    """
    changed = () if hides is None else tuple(one.path for one in changes(context, between, paths))
    hidden = tuple(sorted(filter(hides, changed)))
    if between.parts is None:
        only = _beside(changed, hidden) if hidden else None
        text = _patch(context, between.old, between.new, paths, only, color=color)
        return text + _hidden_line(hidden)
    found = []
    for part in between.parts:
        some = tuple(sorted(path for path in part.paths if covers(paths, path)))
        only = _beside(some, hidden) if hidden else None
        found.append(_patch(context, part.old, part.new, some, only, color=color) if some else b"")
    return b"".join(found) + _hidden_line(hidden)


def _beside(paths: Sequence[bytes], hidden: Sequence[bytes]) -> tuple[bytes, ...]:
    """Returns the paths that neither are hidden nor have one below them."""
    above = {*hidden, b"", *(each for one in hidden for each in parents(one))}
    return tuple(sorted(path for path in paths if path not in above))


def _hidden_line(hidden: Sequence[bytes]) -> bytes:
    """Returns a line that names what differs and is not shown, if anything is not."""
    if not hidden:
        return b""
    names = ", ".join(map(to_text, hidden))
    said = f"not shown to a model, as their names speak of secrets: {names}\n"
    return said.encode("utf-8", "surrogateescape")


def _patch(
    context: Context,
    before: str,
    after: str,
    paths: tuple[bytes, ...],
    only: tuple[bytes, ...] | None,
    *,
    color: bool,
) -> bytes:
    """Returns what differs at some paths; if ``only`` some of it is shown, the lines of that."""
    old, new = bytes.fromhex(before), bytes.fromhex(after)
    shown = paths if only is None else only
    text = b"" if only == () else unified(context.store.git, old, new, paths=shown, color=color)
    return text + b"".join(_mode_lines(context, old, new, paths))


def _mode_lines(context: Context, old: bytes, new: bytes, paths: tuple[bytes, ...]) -> list[bytes]:
    lines = []
    for change in trees.diff(context.store, old, new):
        if change.kind != MODE or not covers(paths, change.path):
            continue
        if change.old is not None and change.new is not None:
            was, now = change.old.mode & 0o777, change.new.mode & 0o777
            if was != now:
                line = f"mode {was:04o} -> {now:04o} {to_text(change.path)}\n"
                lines.append(line.encode("utf-8", "surrogateescape"))
    return lines


def check_known(context: Context, paths: tuple[bytes, ...], old: bytes, new: bytes) -> None:
    """Raises UsageError for a path that is in neither state, and not in the workspace."""
    for path in paths:
        there = os.path.lexists(os.path.join(context.workspace.root, path))
        known = (trees.lookup(context.store, root, path) is not None for root in (old, new))
        if path and not there and not any(known):
            raise UsageError(
                f"{to_text(path)} is in neither of the two states",
                hint=("where it was changed: ", Command("search", to_text(path))),
            )


def changes(
    context: Context, between: Between, paths: tuple[bytes, ...] = ()
) -> list[CountedChange]:
    """Returns the changed paths with their line counts."""
    if between.parts is None:
        old, new = bytes.fromhex(between.old), bytes.fromhex(between.new)
        found = counted_changes(context.store, old, new)
    else:
        found = folded(one.counted for one in reviewed(context.store, between))
    return [change for change in found if covers(paths, change.path)]


# -- cat: the bytes of one file as a checkpoint has them


def cat(context: Context, checkpoint: Checkpoint, path: bytes) -> bytes:
    """Returns the bytes, hash-checked; looks among the saved ignored files too."""
    store = context.store
    if not path:
        raise NoSuchCheckpoint(
            "the workspace itself is a directory; name a file in it",
            hint=("what changed in it: ", Command("diff", checkpoint.id, "--stat")),
        )
    for root in (checkpoint.tree, bytes.fromhex(checkpoint.saved or "")):
        entry = trees.lookup(store, root, path) if root else None
        if entry is not None and not entry.is_directory:
            return store.blob(entry.oid)
        if entry is not None:
            raise NoSuchCheckpoint(
                f"{to_text(path)} is a directory in {checkpoint.id}", hint="name a file in it"
            )
    saved = saved_since(store, checkpoint)
    if path in saved.inside:
        return store.blob(saved.inside[path].oid)
    reason = read_coverage(store, checkpoint.commit).reason_for(path)
    why = f" ({then(reason)})" if reason else ""
    raise NoSuchCheckpoint(
        f"{checkpoint.id} does not hold {to_text(path)}{why}",
        hint=("where it was changed: ", Command("search", to_text(path))),
    )


def cat_outside(context: Context, checkpoint: Checkpoint, path: bytes) -> bytes:
    """Returns the bytes of a file outside the workspace, as the next edit tool found it.

    ``path`` is absolute. Such a file is saved before a tool changes it and never written back.
    """
    saved = saved_since(context.store, checkpoint).outside
    entry = saved.get(path.lstrip(b"/"))
    if entry is None:
        raise NoSuchCheckpoint(
            f"no tool changed {to_text(path)} after {checkpoint.id}",
            hint=(
                "outside the workspace only what an edit tool changed is kept: ",
                Command("show"),
            ),
        )
    return context.store.blob(entry.oid)


def names_in(context: Context, checkpoint: Checkpoint, path: bytes) -> list[tuple[str, bool]]:
    """Returns the names in a directory of a checkpoint, and whether each is a directory."""
    if checkpoint.expired is not None:
        return []
    store, root = context.store, checkpoint.tree
    entry = trees.lookup(store, root, path) if path else None
    if path and (entry is None or not entry.is_directory):
        return []
    held = store.tree(root if entry is None else entry.oid)
    return [(to_text(name), is_tree(mode)) for mode, name, _ in held]


# -- search: finds again what was asked, which files changed, and what was in them
#
# Each answer has the place to go back to: before a prompt, before the change or deletion of a file,
# after it was created, or the newest checkpoint that holds a content. All words must be in one
# prompt, path or line of a file.


PROMPT, PATH, CONTENT = "prompt", "path", "content"
_KINDS = {"added": "created", "deleted": "deleted"}
_LARGEST = 1 << 20
_MOST_BYTES = 1 << 28
_SECONDS = 30.0
_HEAD = 8000
_EVERY = 200
_LINK = 0o120000


class Found(Value):
    """One thing that a search found, and where in it the text is.

    ``checkpoint`` is where it was found, ``place`` where to go back to. For a path ``change`` says
    what happened to it: created, changed or deleted.
    """

    checkpoint: Checkpoint
    what: str
    text: str
    place: Checkpoint
    path: bytes | None = None
    change: str | None = None


def search(
    context: Context, ledger: Ledger, words: Sequence[str], *, limit: int = -1
) -> list[Found]:
    """Returns the prompts and changed paths that hold all words, newest first.

    A path that changed several times within a turn is one answer.
    """
    found: list[Found] = []
    known: set[tuple[str, bytes]] = set()
    for id, what, text in questions.search(ledger, words):
        if len(found) == limit:
            break
        checkpoint = ledger.by_id(id)
        if checkpoint is None:
            continue
        if what == PROMPT:
            found.append(Found(checkpoint, what, text, checkpoint))
            continue
        for change in ledger.changes(checkpoint.id):
            if change.path.decode("utf-8", "replace") != text:
                continue
            owner = (change.turn or checkpoint.id, change.path)
            if owner not in known:
                known.add(owner)
                found.append(_changed(context, ledger, checkpoint, change, text))
    return found


def _changed(
    context: Context, ledger: Ledger, checkpoint: Checkpoint, change: OwnedChange, text: str
) -> Found:
    turn = questions.turn_by_id(ledger, change.turn) if change.turn is not None else None
    kind = change.kind
    if turn is not None:  # what happened to it altogether
        in_all = {one.path: one.kind for one in questions.turn_changes(ledger, turn.id)}
        kind = in_all.get(change.path, kind)
    if kind == ADDED:
        end = ledger.by_id(turn.after) if turn is not None and turn.after is not None else None
        places = [end, checkpoint]
    else:
        before = ledger.by_id(turn.before) if turn is not None else None
        places = [before, ledger.previous(checkpoint)]
    there = [place for place in places if place is not None]
    place = _that_holds(context, there, change.path) or checkpoint
    return Found(checkpoint, PATH, text, place, change.path, _KINDS.get(kind, "changed"))


def _that_holds(context: Context, places: Sequence[Checkpoint], path: bytes) -> Checkpoint | None:
    """Returns the first of some places that holds a path, else one with its files, else any."""
    kept = [place for place in places if place.expired is None]
    right = (place for place in kept if _holds(context, place, path))
    return next(iter((*right, *kept, *places)), None)


def _holds(context: Context, place: Checkpoint, path: bytes) -> bool:
    try:
        return trees.lookup(context.store, place.tree, path) is not None
    except (StoreDamaged, Expired):
        return False


def search_contents(
    context: Context,
    ledger: Ledger,
    words: Sequence[str],
    *,
    limit: int = -1,
    hides: Callable[[bytes], bool],
) -> list[Found]:
    """Returns the files of snapshots that have a line with all words, newest first.

    Each version of a file is read once, and the newest checkpoint that holds it is the answer.
    Larger files, what ``hides`` names, and what is left when time or bytes run out, are reported to
    the reporter.
    """
    return _Contents(context, [word.casefold() for word in words], hides).search(ledger, limit)


class _Contents:
    def __init__(
        self, context: Context, words: Sequence[str], hides: Callable[[bytes], bool]
    ) -> None:
        self._hides = hides
        self._hidden: set[bytes] = set()
        self._store = context.store
        self._reporter = context.reporter
        self._words = words
        self._seen: set[bytes] = set()
        self._read = self._bytes = self._passed_over = 0
        self._end = time.monotonic() + _SECONDS

    def search(self, ledger: Ledger, limit: int) -> list[Found]:
        found = self._found(ledger, limit)
        if self._hidden:
            names = ", ".join(map(to_text, sorted(self._hidden)))
            self._reporter.note(f"not searched for a model, as they speak of secrets: {names}")
        return found

    def _found(self, ledger: Ledger, limit: int) -> list[Found]:
        found: list[Found] = []
        for checkpoint in ledger.checkpoints():
            for path, oid in self._versions(checkpoint):
                if len(found) == limit:
                    return found
                if self._bytes > _MOST_BYTES or time.monotonic() > self._end:
                    self._reporter.note(
                        f"the search stopped after {self._read:,} files; older ones were not read"
                    )
                    return found
                line = self._line(oid)
                if line is not None:
                    found.append(Found(checkpoint, CONTENT, line, checkpoint, path))
        if self._passed_over:
            larger = f"larger than {_LARGEST >> 20} MB or not readable"
            self._reporter.note(f"passed over, as {larger}: {self._passed_over:,}")
        return found

    def _versions(self, checkpoint: Checkpoint) -> Iterator[tuple[bytes, bytes]]:
        """Yields the files of a snapshot that no newer one has: path and blob."""
        waiting = [(b"", checkpoint.tree)] if checkpoint.expired is None else []
        while waiting:
            prefix, tree = waiting.pop()
            if tree in self._seen:
                continue
            self._seen.add(tree)
            try:
                entries = self._store.tree(tree)
            except StoreDamaged:
                self._passed_over += 1
                continue
            for mode, name, oid in entries:
                if self._hides(prefix + name + b"/" * is_tree(mode)):
                    self._hidden.add(prefix + name)
                elif is_tree(mode):
                    waiting.append((prefix + name + b"/", oid))
                elif mode != _LINK and oid not in self._seen:
                    self._seen.add(oid)
                    yield prefix + name, oid

    def _line(self, oid: bytes) -> str | None:
        """Returns the first line of a text that has all words."""
        self._read += 1
        if self._read % _EVERY == 0:
            self._reporter.progress("searching files", self._read, 0)
        try:
            data = self._store.blob(oid, _LARGEST)
        except StoreDamaged:
            self._passed_over += 1
            return None
        self._bytes += len(data)
        if b"\0" in data[:_HEAD]:
            return None
        text = data.decode("utf-8", "replace")
        folded = text.casefold()
        if not all(word in folded for word in self._words):
            return None
        for line in text.splitlines():
            low = line.casefold()
            if all(word in low for word in self._words):
                return line.strip()
        return None


# -- what ``status`` warns of early, in one line each: only what costs next to nothing to check


def warnings(context: Context, ledger: Ledger) -> Iterator[Finding]:
    """Yields what is wrong with the disk, the packs and the refs: a few stats for each pack."""
    room = room_at(context.store.directory, context.policy.disk_floor)
    if room.lacks is not None:
        yield Finding("disk", BROKEN, room.lacks, advice())
    elif room.is_nearly_full:
        yield Finding("disk", OFFER, f"the disk of the store is nearly full: {room}", advice())
    short = maintenance_shortage(context.store, context.policy.max_bytes, context.policy.disk_floor)
    if short is not None:
        yield Finding("maintenance", BROKEN, short, advice())
    broken = Trust(context.store).broken()
    if broken:
        message = f"{_are(len(broken), 'pack')} gone or not as written"
        yield Finding("packs", BROKEN, message, WHO_LOST)
    lost = lost_name(context.store)
    if lost is not None:
        yield Finding("machine", BROKEN, lost.detail, FIX)
    missing = missing_refs(ledger)
    if missing:
        message = f"{_are(len(missing), 'ref')} gone, and what is behind is not found"
        yield Finding("refs", BROKEN, message, ("bring them back: ", Command("doctor", "--fix")))


def _are(number: int, noun: str) -> str:
    return f"a {noun} of the store is" if number == 1 else f"{number} {noun}s of the store are"


# -- status: what is kept, where, how large, and what went wrong


_DAY = 86400


class Status(Value):
    """``snapshot_bytes`` are those of ``bytes`` that hold files and conversations, ``growth`` those
    of them added in the last day.

    ``recording_off_by`` names what keeps agents' events from being recorded, None if nothing does.
    ``dirty`` is None if that was not checked.
    """

    root: bytes
    store: str
    checkpoints: int
    snapshots: int
    sessions: int
    bytes: int
    growth: int
    budget: int
    newest: Checkpoint | None
    can_undo: int
    can_redo: int
    interrupted: bool
    failures: tuple[Failure, ...]
    waiting: int = 0
    is_first_left: bool = False
    """Whether agents have gone on before the first capture was done, and it is not yet."""
    running: tuple[RunningTurn, ...] = ()
    disagree: tuple[SessionEntry, ...] = ()
    """Sessions whose conversation holds turns that an operation took back."""
    snapshot_bytes: int = 0
    standing: Standing | None = None
    dirty: Dirty | None = None
    recording_off_by: str | None = None
    warnings: tuple[Finding, ...] = ()
    """What is wrong with the store, its disk or the hooks, one line each."""
    expired: int = 0
    """Checkpoints whose files were dropped."""
    heaviest: tuple[Consumer, ...] = ()
    """The files that take a notable part of the store, the heaviest first."""
    sensitive: SensitiveFiles = SensitiveFiles()
    floor: int = 0
    """How large the last sweep left it that could not bring it within its bound; else 0."""
    never: NotAWorkspace | None = None
    """Why the directory can be no workspace, so that nothing is kept there."""

    @property
    def over_budget(self) -> bool:
        return 0 < self.budget < self.bytes

    @property
    def is_at_floor(self) -> bool:
        """True if what is never dropped alone is larger than it may be."""
        return self.over_budget and self.floor > self.budget


def status(
    context: Context,
    ledger: Ledger,
    *,
    home: str,
    is_over: Callable[[Checkpoint], bool],
    left: Iterable[LeftRunning] = (),
) -> Status:
    """Only reads. ``home`` is where the log of all hooks is, ``left`` what turns left running."""
    store = context.store
    checkpoints, snapshots, sessions = ledger.counts()
    size = size_on_disk(store, since=context.clock.now() - _DAY)
    failed = notes.unseen(store, home, context.workspace.root)
    damaged: list[str] = []
    stacks = history(read_operations(store, damaged))
    lost = "the operation log cannot be read further back"
    failed += [Failure("", f"{lost}: {why}") for why in damaged]
    newest = ledger.checkpoints(without=(UNDO,), limit=1)
    return Status(
        root=context.workspace.root,
        store=store.directory,
        checkpoints=checkpoints,
        snapshots=snapshots,
        sessions=sessions,
        bytes=size.all,
        growth=size.young,
        budget=context.policy.max_bytes,
        newest=newest[0] if newest else None,
        can_undo=len(stacks.undo),
        can_redo=len(stacks.redo),
        interrupted=journal.exists(store),
        failures=tuple(failed),
        waiting=len(pending.read(store)),
        is_first_left=is_first_left(context),
        running=running_turns(context, ledger, is_over, left),
        disagree=tuple(disagreeing(context, ledger, is_over=is_over)),
        snapshot_bytes=size.snapshots,
        expired=len(ledger.expired()),
        standing=standing(context, ledger),
        warnings=tuple(warnings(context, ledger)),
        heaviest=heaviest(store, size.snapshots),
        sensitive=sensitive_files(store),
        floor=floor(store),
    )


def nothing_yet(
    root: bytes, store: str, *, home: str, budget: int, recording_off_by: str | None
) -> Status:
    """Returns the status of a workspace before its first checkpoint: there is no store."""
    return Status(
        root=root,
        store=store,
        checkpoints=0,
        snapshots=0,
        sessions=0,
        bytes=0,
        growth=0,
        budget=budget,
        newest=None,
        can_undo=0,
        can_redo=0,
        interrupted=False,
        failures=tuple(notes.unseen(None, home, root)),
        recording_off_by=recording_off_by,
    )
