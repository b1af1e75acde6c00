"""Bisect: finds the turn that broke a command, by running it on the files of checkpoints.

The states are those at the ends of turns, in the order in which the files went through them. What a
rewind has taken back is left out, and so is what has expired. A state between two turns counts, too
if something changed there: then it was no turn.
"""

from __future__ import annotations

from shlex import join

from takeback.errors import Command, Refused, UsageError
from takeback.ledger import sessions as questions
from takeback.model.bisection import SKIP, Judged, search
from takeback.model.operation import moves
from takeback.model.value import Value
from takeback.ops.facts import lineage_of
from takeback.ops.failures import Translated
from takeback.ops.trial import Trial
from takeback.ops.turn_names import NamedTurn, whole
from takeback.ops.workbench import Workbench
from takeback.store import bisections
from takeback.store.operations import known_here
from takeback.store.verdicts import CommandRun, add_verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import IO

    from takeback.ledger.ledger import Ledger
    from takeback.model.bisection import Inquiry, Narrowed
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import Order, SnapshotId
    from takeback.ops.context import Context


class Place(Value):
    """One state of the files that can be tried.

    ``turn`` is the one that led to it; None for the first, and for what changed between turns.
    """

    checkpoint: Checkpoint
    turn: NamedTurn | None = None

    @property
    def snapshot(self) -> SnapshotId:
        return self.checkpoint.snapshot


class Run(Value):
    """One run of the command, and how many may follow."""

    place: Place
    judged: Judged
    runs_left: int


class Bisected(Value):
    """The end: the last place that is good and what may have broken it, the first bad one last.

    More than one place means that those before the last could not be judged.
    """

    good: Place
    broken: tuple[Place, ...]
    said: tuple[Judged, ...]

    @property
    def told(self) -> bool:
        """True if it is known which one it was."""
        return len(self.broken) == 1


def places(context: Context, ledger: Ledger, good: Checkpoint, bad: Checkpoint) -> list[Place]:
    """Returns the states to be searched, ``good`` first and ``bad`` last; raises UsageError."""
    if good.order > bad.order:
        raise UsageError(
            f"{good.id}, which is said to be good, is later than {bad.id}",
            hint="name the earlier checkpoint first: what broke since then is looked for",
        )
    here = lineage_of(context.store, ledger)
    turns = [
        turn
        for found in reversed(questions.turns(ledger))
        if here.holds((turn := whole(ledger, found)).after)
        and turn.before.order < bad.order
        and turn.after.order > good.order
    ]
    gone = _taken_back(context, ledger, good.order, bad.order)
    found = [Place(good)]
    for place in sorted(_states(turns), key=lambda place: place.checkpoint.order):
        here_is = place.checkpoint
        if not good.order < here_is.order < bad.order or here_is.expired or here_is.amid:
            continue
        if not any(after < here_is.order < before for after, before in gone):
            found.append(place)
    found.append(Place(bad, _around(turns, bad)))
    return _different(found)


def _states(turns: Sequence[NamedTurn]) -> list[Place]:
    """Returns the states around turns; where another turn was running, only the ends."""
    return [
        *(Place(turn.after, turn) for turn in turns),
        *(Place(turn.before) for turn in turns if _around(turns, turn.before) is None),
    ]


def _around(turns: Sequence[NamedTurn], checkpoint: Checkpoint) -> NamedTurn | None:
    """Returns a turn that a checkpoint is in the middle or at the end of."""
    order = checkpoint.order
    return next((t for t in turns if t.before.order < order <= t.after.order), None)


def _taken_back(
    context: Context, ledger: Ledger, since: Order, until: Order
) -> list[tuple[Order, Order]]:
    """Returns the stretches of time whose changes a rewind took out of the files.

    turn 2 ── turn 3 ── turn 4 ── rewind to before turn 3 ── turn 5
              └── gone: what led to turn 5 is turn 2 ──┘
    """
    found: list[tuple[Order, Order]] = []
    for done in reversed(moves(known_here(context.store))):
        if not done.moves_files or done.paths or not since < done.order < until:
            continue
        target = None if done.target is None else ledger.by_id(done.target)
        if target is not None and since <= target.order < done.order:
            found.append((target.order, done.order))
            until = target.order
    return found


def _different(found: Sequence[Place]) -> list[Place]:
    """Leaves out each state that is the one before it: what led to it changed no file."""
    kept = list(found[:1])
    for place in found[1:]:
        if place.snapshot != kept[-1].snapshot:
            kept.append(place)
    if kept[-1].snapshot != found[-1].snapshot or len(kept) == 1:
        raise UsageError(
            "the files are the same at both checkpoints",
            hint=("the checkpoints: ", Command("log")),
        )
    return kept


class Bisection:
    """One search, carried on run by run. Every verdict is kept before the next run begins."""

    def __init__(self, context: Context, inquiry: Inquiry, among: Sequence[Place]) -> None:
        self._context = context
        self._inquiry = inquiry
        self._places = among
        self._said: dict[SnapshotId, Judged] = {}

    @property
    def most_runs(self) -> int:
        """Returns how many runs it takes at most, if none is skipped."""
        return max(2, (len(self._places) - 2).bit_length() + 1)

    def run(self, heard: Callable[[Run], None], output: IO[str] | None = None) -> Bisected:
        """Runs the command until the answer is known; one process at a time.

        Raises UsageError if GOOD or BAD is not what it is said to be, BrokenOff if the command is
        killed, InUse.
        """
        store = self._context.store
        with bisections.Bisecting(store), Translated("a bisection"):
            kept = bisections.read_bisection(store)
            if kept is None:
                bisections.write_bisection(store, self._inquiry, ())
            else:
                self._said = {one.snapshot: one for one in kept[1]}
            try:
                found = self._search(heard, output)
            except UsageError:  # nothing more can be found out this way
                bisections.remove_bisection(store)
                raise
            bisections.remove_bisection(store)
        broken = tuple(self._places[found.good + 1 : found.bad + 1])
        return Bisected(self._places[found.good], broken, tuple(self._said.values()))

    def _search(self, heard: Callable[[Run], None], output: IO[str] | None) -> Narrowed:
        names = [place.snapshot for place in self._places]
        now = search(names, self._said)
        if now.next is None:
            return now
        with Workbench(self._context, self._inquiry.copies) as bench:
            trial = Trial(self._inquiry, self._context.environ, bench.moved, output)
            while now.next is not None:
                place = self._places[now.next]
                bench.go_to(place.checkpoint.tree)
                status, seconds = trial.run(bench.path)
                judged = Judged(place.snapshot, status, seconds, self._context.clock.now())
                self._keep(judged)
                now = _next(names, self._said, place, judged, heard)
        return now

    def _keep(self, judged: Judged) -> None:
        store = self._context.store
        self._said[judged.snapshot] = judged
        bisections.write_bisection(store, self._inquiry, self._said.values())
        if judged.word != SKIP:
            words = join(self._inquiry.command)
            add_verdict(store, CommandRun(judged.snapshot, judged.status == 0, words, judged.time))


def _next(
    names: Sequence[SnapshotId],
    said: dict[SnapshotId, Judged],
    place: Place,
    judged: Judged,
    heard: Callable[[Run], None],
) -> Narrowed:
    """Says what a run gave, then where the search stands."""
    try:
        now = search(names, said)
    except UsageError:
        heard(Run(place, judged, 0))
        raise
    heard(Run(place, judged, now.runs_left if now.next is not None else 0))
    return now


def kept(context: Context) -> Inquiry:
    """Returns what the bisection under way asks; raises Refused if there is none."""
    found = bisections.read_bisection(context.store)
    if found is None:
        raise Refused(
            "no bisection is under way",
            hint=("begin one: ", Command("bisect", "GOOD", "BAD", "--", "make", "test")),
        )
    return found[0]


def refuse_second(context: Context, inquiry: Inquiry) -> None:
    """Raises Refused if another bisection is under way; the same one is carried on."""
    found = bisections.read_bisection(context.store)
    if found is not None and found[0] != inquiry:
        raise Refused(
            "another bisection is under way here",
            hint=(
                "carry it on: ",
                Command("bisect", "--resume"),
                "; or give it up: ",
                Command("bisect", "--reset"),
            ),
        )


def reset(context: Context) -> bool:
    """Gives up the bisection under way; False if there is none."""
    with bisections.Bisecting(context.store), Translated("giving up a bisection"):
        return bisections.remove_bisection(context.store)
