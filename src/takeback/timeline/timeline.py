"""The timeline: checkpoints with what changed in each, and the operations between them.

``timeline`` reads what a list needs in full, ``browse`` the rows of all of it at once, cheap enough
for ten thousand turns.
"""

from __future__ import annotations

from bisect import bisect_left

from takeback.bisect.bisect import KnownTests, verdicts
from takeback.fork.fork import NO_OFFSHOOTS, Offshoots, offshoots
from takeback.ledger import by_session as ledger_sessions
from takeback.ledger import by_session as session_questions
from takeback.ledger import by_session as ways
from takeback.ledger import lists
from takeback.ledger import lists as ledger_browse
from takeback.ledger import lists as page
from takeback.ledger.attribute import beyond, count_lines
from takeback.model.checkpoint import UNDO
from takeback.model.entries import BEGAN, ENDED, OUTSIDE, NewsMark
from takeback.model.ids import WORKSPACE_SESSION
from takeback.model.operation import BEGINS, PRUNE, PURGE, moves
from takeback.model.path_text import covers
from takeback.model.row import LEFT, TAKEN_BACK
from takeback.model.turn import FOLDED, PROMPT, SHELL, STEER, TURN_END
from takeback.model.value import Value
from takeback.store import namespace
from takeback.store.records import known_operations, read_coverage
from takeback.timeline.sessions import beginning_of, current_place, row_of
from takeback.turns.running import as_it_stands, open_states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from takeback.context import Context
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import NotHeld
    from takeback.model.entries import OwnedChange, Session, Turn
    from takeback.model.ids import CheckpointId, SnapshotId
    from takeback.model.operation import Move, Operation
    from takeback.model.row import Spot, TimelineRow, TurnState
    from takeback.store.store import Store
    from takeback.timeline.operations import Logged
    from takeback.timeline.sessions import Place
    from takeback.turns.processes import IsOver

    Found = tuple[Checkpoint, Checkpoint]
    """A checkpoint that is new, and the one to show for it: where its turn begins."""
    Timed = tuple[float, "Happening"]

# -- the timeline


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
        from takeback.blame import path_history

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
        tuple(ledger_sessions.sessions(ledger)),
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
    for one in ledger_sessions.line(ledger, session):
        for checkpoint in ledger.checkpoints(session=one, without=(*FOLDED, UNDO), labelled=True):
            if len(found) == limit:
                break
            is_turn = checkpoint.kind in (PROMPT, SHELL) or checkpoint.label is not None
            if is_turn and _is_behind(checkpoint, origin):
                found.append(checkpoint)
        row = ledger_sessions.session_by_id(ledger, one)
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
    caused = {c.id: lists.after_steer(ledger, c.id) for c in checkpoints if c.kind == STEER}
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
            effects = tuple(lists.changes_of(ledger, one, caused[one.id]))
            found.append(TimelineEntry(one, changes.get(one.id, ()), done=effects))
            continue
        turn = as_it_stands(turns.get(one.id), states)
        earlier = tuple(lists.outside_before(ledger, one.id)) if one.id in started else ()
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


# -- browse: the whole timeline at once, cheap enough for ten thousand turns, and what is new


class Browsed(Value):
    """The timeline, newest first.

    ``whole`` is False if only the newest rows were asked for and there are more. ``origins`` says
    where each session that descends from another began. ``here`` is the row that the files are at;
    ``gone`` the turns that an operation took back or left; ``resumed`` the sessions that are shown
    on another row because they were not continued. ``mark`` changes whenever any of this may have
    changed.
    """

    rows: tuple[TimelineRow, ...]
    sessions: tuple[Session, ...]
    origins: Mapping[str, Spot]
    here: Place | None
    gone: Mapping[str, str]
    mark: str
    whole: bool = True
    resumed: Mapping[str, tuple[str, ...]] = {}


def browse(context: Context, ledger: Ledger, *, is_over: IsOver, limit: int = -1) -> Browsed:
    """Returns every row of the timeline, or the newest ones."""
    seen = mark(context.store)
    asked = limit + 1 if limit >= 0 else limit
    unused = offshoots(ledger)
    rows = ledger_browse.timeline_rows(
        ledger, without=(*FOLDED, UNDO), hidden=unused.hidden, limit=asked
    )
    states = open_states(context, ledger, is_over)
    if states:
        rows = tuple(r._replace(state=states[r.id]) if r.id in states else r for r in rows)
    sessions = tuple(session_questions.sessions(ledger))
    spots = ledger_browse.spots(ledger, [s.origin for s in sessions if s.origin is not None])
    log = moves(known_operations(context.store))
    whole = limit < 0 or len(rows) <= limit
    rows = rows if whole else rows[:limit]
    return Browsed(
        rows=rows,
        sessions=sessions,
        origins={s.id: spots[s.origin] for s in sessions if s.origin in spots},
        here=row_of(
            ledger,
            [(r.id, r.before if r.is_turn else None, r.after) for r in rows],
            unused.shown_as(current_place(context, ledger)),
        ),
        gone=_gone(ledger, rows, sessions, log),
        mark=seen,
        whole=whole,
        resumed=unused.on,
    )


def mark(store: Store) -> str:
    """Returns a word that changes whenever a checkpoint, a label or an operation is new.

    Costs a listing of the refs: cheap enough to be asked once a second.
    """
    tips = namespace.listed(store.refs, namespace.SHOWN, {})
    return " ".join(f"{ref}={tip.hex()}" for ref, tip in tips.items())


def rows_in_full(
    context: Context, ledger: Ledger, ids: Iterable[str], *, is_over: IsOver
) -> dict[str, TimelineEntry]:
    """Returns rows in full, by id: the files that changed, how much, and who did it."""
    found = [one for one in (ledger.by_id(id) for id in ids) if one is not None]
    states = open_states(context, ledger, is_over)
    shown = entries(context.store, ledger, found, states)
    return {entry.checkpoint.id: entry for entry in shown}


def matching(ledger: Ledger, words: Sequence[str], *, only_paths: bool = False) -> frozenset[str]:
    """Returns the rows that have all words in a prompt or changed path.

    What was found in a part of a turn (a round, its end) counts for the turn.
    """
    found = ledger_browse.checkpoints_with(ledger, words, only_paths=only_paths)
    turns = ledger_browse.turns_by_number(ledger)
    rows = set()
    for id, spot in ledger_browse.spots(ledger, sorted(found)).items():
        folded = spot.kind in FOLDED and spot.turn is not None
        rows.add(turns.get((spot.session, spot.turn or 0), id) if folded else id)
    return frozenset(rows)


def _gone(
    ledger: Ledger,
    rows: Sequence[TimelineRow],
    sessions: Sequence[Session],
    log: Sequence[Move],
) -> dict[str, str]:
    if not log:
        return {}
    targets = ledger_browse.spots(ledger, [one.target for one in log if one.target is not None])
    return gone(rows, sessions, log, targets, ledger_browse.operation_positions(ledger))


def gone(
    rows: Sequence[TimelineRow],
    sessions: Sequence[Session],
    log: Iterable[Move],
    targets: Mapping[str, Spot],
    positions: Mapping[str, int],
) -> dict[str, str]:
    """Says for each turn that is no longer in the files how it went. Pure.

        turn 1 ─ turn 2 ─ turn 3 ─ rewind to before turn 2      2 and 3 are taken back
                                 ─ turn 4                       4 is there
                                 ─ rewind to before turn 4      4 too, and 2 and 3 as they were then
                                 ─ rewind to the end of turn 3  4, but neither 2 nor 3
                                 ─ undo                         what it was before that

    An operation makes the same turns gone as at its target, and those that came after it. An undo
    is no exception: its target is the undo snapshot. ``log`` is the operation log, oldest first;
    ``targets`` has the positions of their targets, ``positions`` those of the operations.
    """
    by_id: dict[str, Session] = {s.id: s for s in sessions}
    owners = {row.id: row.session for row in rows}
    ascending = rows[::-1]
    order = [row.position for row in ascending]
    states: list[tuple[int, dict[str, str]]] = [(-1, {})]
    for operation in log:
        target, end = targets.get(operation.target or ""), positions.get(operation.id)
        only_beside = operation.kind in BEGINS and not operation.moves_files
        if target is None or end is None or operation.paths or only_beside:
            continue
        family = _moved(by_id, operation, target)
        then = next(state for at, state in reversed(states) if at < target.position)
        found = {id: way for id, way in states[-1][1].items() if owners[id] not in family}
        found |= {id: way for id, way in then.items() if owners[id] in family}
        first = target.position if target.kind == PROMPT else target.position + 1
        for row in ascending[bisect_left(order, first) : bisect_left(order, end)]:
            if row.session in family and (row.is_turn or row.kind == STEER):
                found[row.id] = TAKEN_BACK if operation.moves_files else LEFT
        states.append((end, found))
    return states[-1][1]


def _moved(sessions: Mapping[str, Session], operation: Move, target: Spot) -> set[str]:
    """Returns the sessions whose turns an operation takes back or brings back.

    All of them if the files are exactly as they were at its target; else those of its line.
    """
    if not operation.moves_files:
        return {target.session}
    if operation.after == target.snapshot or target.session == WORKSPACE_SESSION:
        return set(sessions)
    return _family(sessions, target.session)


def _family(sessions: Mapping[str, Session], session: str) -> set[str]:
    """Returns a session with its ancestors and all its descendants."""
    family = {session}
    above = sessions.get(session)
    while above is not None and above.parent is not None and above.parent not in family:
        family.add(above.parent)
        above = sessions.get(above.parent)
    below: set[str] = {session}
    while below:
        below = {str(s.id) for s in sessions.values() if s.parent in below} - family
        family |= below
    return family


# -- news: what happened in a workspace since somebody last looked


MOST = 500
"""More than this at once is not told one by one."""


class Happening(Value):
    """One new checkpoint (``entry``) or operation (``logged``).

    ``turn`` says what became of the turn that the entry is, if it is about one; ``dropped`` that
    the operation took something out of the store.
    """

    session: str | None
    turn: str | None = None
    entry: TimelineEntry | None = None
    logged: Logged | None = None
    dropped: bool = False


def seen_now(ledger: Ledger, log: Sequence[Logged]) -> NewsMark:
    """Returns the present moment, to ask later what is new since."""
    position = ledger.last_position()
    operations = frozenset(one.operation.id for one in log)
    return NewsMark(position, ledger.id_at(position), operations)


def happened(
    context: Context, ledger: Ledger, log: Sequence[Logged], since: NewsMark, *, is_over: IsOver
) -> tuple[list[Happening] | None, NewsMark]:
    """Returns what is new, oldest first, and the moment up to which that is.

    None instead of what is new if that cannot be told one by one. What comes while this is asked
    is left for the next time: else it would be told twice.
    """
    now = seen_now(ledger, log)
    if ledger.id_at(since.position) != since.newest:  # counted anew, or dropped
        return None, now
    new = ledger.between(since.position, now.position, MOST + 1)
    if len(new) > MOST:
        return None, now
    places = [
        (one, beginning_of(ledger, one) if one.kind == TURN_END else one)
        for one in new
        if one.kind != UNDO
    ]
    shown = rows_in_full(context, ledger, {place.id for _, place in places}, is_over=is_over)
    return _in_order(list(_checkpoints(places, shown)), list(_operations(log, since))), now


def _in_order(checkpoints: list[Timed], operations: list[Timed]) -> list[Happening]:
    """Returns both in the order in which they happened; each has an order of its own already."""
    found = []
    for time, happening in checkpoints:
        while operations and operations[0][0] <= time:
            found.append(operations.pop(0)[1])
        found.append(happening)
    return [*found, *(happening for _, happening in operations)]


def _checkpoints(places: Sequence[Found], shown: Mapping[str, TimelineEntry]) -> Iterator[Timed]:
    for one, place in places:
        entry = shown.get(place.id)
        if entry is None:
            continue
        what = {PROMPT: BEGAN, TURN_END: ENDED, SHELL: ENDED}.get(one.kind)
        yield one.time, Happening(one.session, what, entry=entry)


def _operations(log: Sequence[Logged], since: NewsMark) -> Iterator[Timed]:
    for one in log:
        if one.operation.id not in since.operations:
            dropped = one.operation.kind in (PRUNE, PURGE)
            yield one.operation.time, Happening(one.session, logged=one, dropped=dropped)
