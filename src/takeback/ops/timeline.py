"""The timeline: checkpoints with what changed in each, and the operations between them."""

from __future__ import annotations

from takeback.ledger import listed as page
from takeback.ledger import sessions as questions
from takeback.ledger import steps, ways
from takeback.model.checkpoint import UNDO
from takeback.model.path_text import covers
from takeback.model.timeline import OUTSIDE
from takeback.model.turn import FOLDED, PROMPT, SHELL, STEER
from takeback.model.value import Value
from takeback.ops.beyond import beyond
from takeback.ops.counting import count_lines
from takeback.ops.green import KnownTests, verdicts
from takeback.ops.here import current_place, row_of
from takeback.ops.offshoots import NO_OFFSHOOTS, Offshoots, offshoots
from takeback.ops.running import as_it_stands, open_states
from takeback.store.checkpoints import read_coverage
from takeback.store.operations import known_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import NotHeld
    from takeback.model.ids import CheckpointId, SnapshotId
    from takeback.model.operation import Operation
    from takeback.model.timeline import OwnedChange, Session, Turn, TurnState
    from takeback.ops.context import Context
    from takeback.ops.here import Place
    from takeback.ops.running import IsOver
    from takeback.store.store import Store


class TimelineEntry(Value):
    """One checkpoint, and what changed since the state before it.

    If a turn begins here, ``turn`` is that turn and ``done`` everything that it changed; for a
    prompt typed during a turn ``done`` is what followed from it. ``earlier`` are the person's edits
    that were found when the session of a turn started again. ``tests`` is what tests said of the
    files: of those that the turn left, or those of the checkpoint.
    """

    checkpoint: Checkpoint
    changes: tuple[OwnedChange, ...]
    turn: Turn | None = None
    done: tuple[OwnedChange, ...] = ()
    earlier: tuple[OwnedChange, ...] = ()
    tests: KnownTests | None = None
    abandoned: bool = False
    """Whether the agent of its turn has gone back by itself before it."""

    @property
    def shown(self) -> tuple[OwnedChange, ...]:
        """What its line shows: what the prompt caused, else what was found changed."""
        return self.done if self.is_prompted else self.changes

    @property
    def is_prompted(self) -> bool:
        """True for a turn's beginning, and for a prompt typed into a running one."""
        return self.turn is not None or self.checkpoint.kind == STEER

    @property
    def outside(self) -> tuple[OwnedChange, ...]:
        """What the person changed by hand before it."""
        return tuple(one for one in self.before if one.who == OUTSIDE)

    @property
    def before(self) -> tuple[OwnedChange, ...]:
        """What was found changed when a turn began, and when its session had started again."""
        found = {change.path: change for change in (*self.earlier, *self.changes)}
        return tuple(one for _, one in sorted(found.items()))

    def limited_to(self, paths: tuple[bytes, ...]) -> TimelineEntry:
        """Returns the entry with only the changes of some paths, and of what is below them."""
        changes, done, earlier = (
            tuple(one for one in some if covers(paths, one.path))
            for some in (self.changes, self.done, self.earlier)
        )
        return self.replace(changes=changes, done=done, earlier=earlier)

    @property
    def added(self) -> int:
        return sum(change.added or 0 for change in self.shown)

    @property
    def deleted(self) -> int:
        return sum(change.deleted or 0 for change in self.shown)


class Listing(Value):
    """A part of the timeline as a list shows it, newest first.

    ``here`` is the entry that the files are at, None if it is not among them. ``resumed`` are the
    sessions that are shown on an entry because they were not continued yet; ``more`` is how many
    older entries there are; ``elsewhere`` the place where the files are if that is none of the
    entries.
    """

    entries: tuple[TimelineEntry, ...]
    sessions: tuple[Session, ...]
    here: Place | None
    resumed: Mapping[str, tuple[str, ...]]
    more: int = 0
    elsewhere: Checkpoint | None = None


class Wanted(Value):
    """Which checkpoints are wanted: of one session or of all, and how many at most (-1: all).

    Parts of turns and undo snapshots only with ``everything``. With ``paths``, those at which one
    of them changed, whatever they are. With ``before``, only those older than that checkpoint.
    """

    session: str | None = None
    everything: bool = False
    limit: int = -1
    paths: tuple[bytes, ...] = ()
    before: CheckpointId | None = None

    @property
    def left_out(self) -> tuple[str, ...]:
        return () if self.everything else (*FOLDED, UNDO)


def listing(context: Context, ledger: Ledger, wanted: Wanted, *, is_over: IsOver) -> Listing:
    """Returns what a list of the timeline shows; sessions without a turn are where they begin."""
    if wanted.paths:
        # The history of files needs to look at the workspace, a list of turns does not.
        from takeback.ops.path_history import path_history

        history = path_history(context, ledger, wanted.paths)
        there = history.checkpoints(wanted.session)
        found = there if wanted.limit < 0 else there[: wanted.limit]
        listed = _listed(context, ledger, found, is_over)
        shown = tuple(entry.limited_to(history.paths) for entry in listed.entries)
        return listed.replace(entries=shown, more=len(there) - len(found))
    unused = NO_OFFSHOOTS if wanted.everything else offshoots(ledger)
    found = ledger.checkpoints(
        session=wanted.session,
        without=wanted.left_out,
        labelled=True,
        besides=unused.hidden,
        limit=wanted.limit,
    )
    more = 0
    if len(found) == wanted.limit:
        more = ledger.amount(
            session=wanted.session, without=wanted.left_out, besides=unused.hidden
        ) - len(found)
    return _listed(context, ledger, found, is_over, unused).replace(more=more)


def _listed(
    context: Context,
    ledger: Ledger,
    found: Sequence[Checkpoint],
    is_over: IsOver,
    unused: Offshoots = NO_OFFSHOOTS,
) -> Listing:
    shown = entries(context.store, ledger, found, open_states(context, ledger, is_over))
    place = unused.shown_as(current_place(context, ledger))
    here = row_of(ledger, [_row(entry) for entry in shown], place)
    return Listing(
        tuple(shown),
        tuple(questions.sessions(ledger)),
        here,
        unused.on,
        elsewhere=ledger.by_id(place) if place is not None and here is None else None,
    )


def _row(entry: TimelineEntry) -> tuple[str, str | None, str | None]:
    turn = entry.turn
    if turn is None:
        return entry.checkpoint.id, None, None
    return entry.checkpoint.id, turn.before, turn.after


def timeline(
    context: Context, ledger: Ledger, wanted: Wanted, *, is_over: IsOver
) -> list[TimelineEntry]:
    """Returns checkpoints, newest first; a labelled part of a turn is a place of its own."""
    if wanted.paths:
        return list(listing(context, ledger, wanted, is_over=is_over).entries)
    found = ledger.checkpoints(
        session=wanted.session,
        without=wanted.left_out,
        labelled=True,
        limit=wanted.limit,
        before=wanted.before,
    )
    return entries(context.store, ledger, found, open_states(context, ledger, is_over))


def behind(
    context: Context, ledger: Ledger, session: str, *, is_over: IsOver, limit: int
) -> Listing:
    """Returns the newest turns and labelled places of a session's line: its own, its parents'.

    Of a parent, those before the child's beginning: they are what ``turn:N`` means there.
    """
    found: list[Checkpoint] = []
    origin: Checkpoint | None = None
    for one in questions.line(ledger, session):
        for checkpoint in ledger.checkpoints(session=one, without=(*FOLDED, UNDO), labelled=True):
            if len(found) == limit:
                break
            is_turn = checkpoint.kind in (PROMPT, SHELL) or checkpoint.label is not None
            if is_turn and _is_behind(checkpoint, origin):
                found.append(checkpoint)
        row = questions.session_by_id(ledger, one)
        origin = ledger.by_id(row.origin) if row is not None and row.origin else None
        if origin is None:
            break
    return _listed(context, ledger, found, is_over)


def _is_behind(checkpoint: Checkpoint, origin: Checkpoint | None) -> bool:
    """Tells whether a checkpoint comes before the place that a child was cut at."""
    if origin is None or checkpoint.sequence < origin.sequence:
        return True
    return checkpoint.id == origin.id and origin.kind != PROMPT


def entries(
    store: Store, ledger: Ledger, checkpoints: Sequence[Checkpoint], states: Mapping[str, TurnState]
) -> list[TimelineEntry]:
    """Returns checkpoints with their changes, with lines counted if that is quick.

    ``states`` are those of ``running.open_states``.
    """
    caused = {c.id: steps.after_steer(ledger, c.id) for c in checkpoints if c.kind == STEER}
    ids = [id for c in checkpoints for id in (c.id, *caused.get(c.id, ()))]
    count_lines(store, ledger, ids)
    found = _with_changes(ledger, checkpoints, caused, states)
    tests = verdicts(store, ledger)
    return [_with_tests(ledger, entry, tests) for entry in found] if tests else found


def _with_tests(
    ledger: Ledger, entry: TimelineEntry, tests: Mapping[SnapshotId, KnownTests]
) -> TimelineEntry:
    end = ledger.by_id(entry.turn.after) if entry.turn is not None else entry.checkpoint
    return entry if end is None else entry.replace(tests=tests.get(end.snapshot))


def _with_changes(
    ledger: Ledger,
    checkpoints: Sequence[Checkpoint],
    caused: Mapping[CheckpointId, list[CheckpointId]],
    states: Mapping[str, TurnState],
) -> list[TimelineEntry]:
    """Returns checkpoints with their changes and, where one begins, their turn.

    ``caused`` are the parts of turns that show the effects of prompts typed into them.
    """
    ids = [one.id for one in checkpoints]
    changes = page.changes_at(ledger, ids)
    turns = page.turns_at(ledger, [id for id in ids if id not in caused])
    done = page.changed_by(ledger, list(turns))
    left = ways.abandoned(ledger)
    started = page.after_a_start(ledger, [c.id for c in checkpoints if c.kind == PROMPT])
    found = []
    for one in checkpoints:
        if one.id in caused:
            effects = tuple(steps.changes_of(ledger, one, caused[one.id]))
            found.append(TimelineEntry(one, changes.get(one.id, ()), done=effects))
            continue
        turn = as_it_stands(turns.get(one.id), states)
        earlier = tuple(steps.outside_before(ledger, one.id)) if one.id in started else ()
        own = changes.get(one.id, ())
        entry = TimelineEntry(one, own, turn, done.get(one.id, ()), earlier)
        found.append(entry.replace(abandoned=True) if one.id in left else entry)
    return found


def operations(store: Store) -> list[Operation]:
    """Returns the operation log, oldest first."""
    return known_operations(store)


class Shown(Value):
    """One checkpoint in full."""

    entry: TimelineEntry
    not_held: tuple[NotHeld, ...]
    tools: tuple[tuple[str, int], ...] = ()
    """The tools that its turn used, each with how often."""
    steps: tuple[TimelineEntry, ...] = ()
    """What follows it in its turn: rounds, prompts typed meanwhile, the end."""
    beyond: tuple[bytes, ...] = ()
    """Files outside the workspace that edit tools of its turn changed, by absolute path."""


def show(context: Context, ledger: Ledger, checkpoint: Checkpoint, *, is_over: IsOver) -> Shown:
    """Returns a checkpoint with its changes, its turn, and everything that it does not hold."""
    store, states = context.store, open_states(context, ledger, is_over)
    (shown,) = entries(store, ledger, [checkpoint], states)
    parts = _steps(store, ledger, shown)
    counts: dict[str, int] = {}
    for step in (shown, *parts):
        for tool in step.checkpoint.tools:
            counts[tool.name] = counts.get(tool.name, 0) + 1
    kept = checkpoint.expired is None
    not_held = read_coverage(store, checkpoint.commit).not_held if kept else ()
    outside = beyond(context.workspace, [step.checkpoint for step in (shown, *parts)])
    return Shown(shown, not_held, tuple(counts.items()), parts, outside)


def _steps(store: Store, ledger: Ledger, shown: TimelineEntry) -> tuple[TimelineEntry, ...]:
    if shown.turn is None or shown.turn.after == shown.checkpoint.id:
        return ()
    later = ledger.after(shown.checkpoint, until=shown.turn.after)
    found = [checkpoint for checkpoint in later if checkpoint.kind != UNDO]
    return tuple(entries(store, ledger, found, {}))
