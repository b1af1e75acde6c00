"""Bisect: finds the turn that broke a command, by running it on the files of checkpoints.

    0     1     2     3     4     5     6     7     8        places; 0 is good, the last one bad
    good              .     run          .           bad     the middle of what is open is run next

The states are those at the ends of turns, in the order in which the files went through them. What a
rewind has taken back is left out, and so is what has expired. A state between two turns counts, too
if something changed there: then it was no turn. What is skipped is not judged: if only such places
are left between the last good one and the first bad one, the answer is a range.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from shlex import join

from takeback import durable
from takeback.bisect.workbench import Workbench
from takeback.context import Translated
from takeback.errors import (
    BrokenOff,
    Command,
    InUse,
    NoSuchCheckpoint,
    Option,
    Refused,
    StoreDamaged,
    UsageError,
)
from takeback.ledger import by_session as questions
from takeback.model import codec, json_text
from takeback.model.checkpoint import UNDO
from takeback.model.ids import CheckpointId, SnapshotId
from takeback.model.naming import GREEN, split_name
from takeback.model.operation import moves
from takeback.model.turn import PROMPT
from takeback.model.value import Value
from takeback.ordinary import ordinary
from takeback.rewind.refuse import lineage_of
from takeback.scratch import ELSEWHERE, Unbroken, end, kill_group
from takeback.store.lock import Lock
from takeback.store.records import known_here
from takeback.timeline.names import NamedTurn, whole
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import IO, Any, Final, Literal

    from takeback.bisect.workbench import Removal
    from takeback.context import Context
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import Order
    from takeback.store.store import Store
    from takeback.timeline.names import Meaning

    VerdictWord = Literal["good", "bad", "skip"]

# -- a bisection: which of a row of states is the first one that a command calls bad
#
# What is skipped is not judged: if only such places are left between the last good one and the
# first bad one, the answer is a range.


GOOD: Final = "good"
BAD: Final = "bad"
SKIP: Final = "skip"
TOO_LONG: Final = 124
"""The exit status of a command that took too long, as with timeout(1)."""
SKIPPED: Final = 125
"""The exit status of a command that cannot judge the files."""
_BROKEN_OFF = 128


class Judged(Value):
    """What a command said of the files of a snapshot: its exit status, and how long it took."""

    snapshot: SnapshotId
    status: int
    seconds: float
    time: float

    @property
    def word(self) -> VerdictWord:
        """Says what its exit status means, as in ``git bisect run``."""
        if self.status == 0:
            return GOOD
        return SKIP if self.status == SKIPPED else BAD


class Inquiry(Value):
    """What is asked: from where to where, with which command.

    ``copies`` are paths in the workspace that no checkpoint holds, of which the command gets a
    copy. A run of more than ``timeout`` seconds counts as bad.
    """

    good: CheckpointId
    bad: CheckpointId
    command: tuple[str, ...]
    copies: tuple[bytes, ...] = ()
    timeout: float | None = None


class Narrowed(Value):
    """How far a search has got: the last good place, the first bad one, and which is to be run.

    Without ``next`` it is over; then nothing between the two could be judged.
    """

    good: int
    bad: int
    next: int | None = None

    @property
    def runs_left(self) -> int:
        """Returns how many more runs it takes at most, if none is skipped."""
        return max(self.bad - self.good - 1, 0).bit_length()


def says_anything(status: int) -> bool:
    """Tells whether an exit status is a verdict; a command that was killed says nothing."""
    return 0 <= status < _BROKEN_OFF


def search(places: Sequence[SnapshotId], said: Mapping[SnapshotId, Judged]) -> Narrowed:
    """Returns where a search among places stands, of which the first is good and the last is bad.

    The same snapshot has the same answer, and is not run again. That the first is good is tried out
    only if nothing else was good, that the last is bad only if nothing else was bad: otherwise each
    run has shown that the command can say so. Raises UsageError if it is the other way round.
    """
    good, bad = 0, len(places) - 1
    while True:
        middle = _middle(places, said, good, bad)
        if middle is None:
            break
        found = said.get(places[middle])
        if found is None:
            return Narrowed(good, bad, middle)
        good, bad = (middle, bad) if found.word == GOOD else (good, middle)
    for place, last, wrong in ((bad, len(places) - 1, GOOD), (good, 0, BAD)):
        found = said.get(places[place])
        if found is None:
            return Narrowed(good, bad, place)
        if place == last and found.word == wrong:
            raise _the_other_way_round(wrong)
    return Narrowed(good, bad)


def _middle(
    places: Sequence[SnapshotId], said: Mapping[SnapshotId, Judged], good: int, bad: int
) -> int | None:
    """Returns the place nearest to the middle of two that was not skipped, if there is one."""
    open_places = (
        place
        for place in range(good + 1, bad)
        if (known := said.get(places[place])) is None or known.word != SKIP
    )
    return min(open_places, key=lambda place: (abs(2 * place - good - bad), place), default=None)


def _the_other_way_round(word: VerdictWord) -> UsageError:
    said, of = ("good (0)", "BAD") if word == GOOD else ("bad", "GOOD")
    return UsageError(
        f"the command says {said} of {of}, so there is nothing to be found in between",
        hint="run it by hand, or name another checkpoint",
    )


# -- bursts: when changes that come without notice have come to rest; pure, time is handed in


QUIET = 1.0
"""Seconds without a change after which a burst is over."""


class Burst(Value):
    """Changes since ``first``, the newest at ``newest``; by the clock of whoever hears them.

    ``since`` is when it was last kept, ``first`` if it was not.
    """

    first: float
    newest: float
    since: float

    @classmethod
    def begin(cls, now: float) -> Burst:
        return cls(now, now, now)

    def goes_on(self, now: float) -> Burst:
        """Returns it with a change just now."""
        return self.replace(newest=now)

    def kept(self, now: float) -> Burst:
        """Returns it with everything up to now kept."""
        return self.replace(since=now)

    def is_over(self, now: float) -> bool:
        return now - self.newest >= QUIET

    def is_long(self, now: float, every: float) -> bool:
        """Tells whether something has to be kept although it goes on."""
        return now - self.since >= every

    def rest(self, now: float, every: float) -> float:
        """Returns how many seconds there are until one of both can be true."""
        return max(0.0, min(self.newest + QUIET, self.since + every) - now)


# -- the bisection under way: what is asked, and what the command has said so far
#
#     bisect.json    the inquiry, and each verdict; replaced as a whole after every run
#     bisect.lock    held by the process that runs the command
#
# A process that is killed loses the run under way, nothing more.


_INQUIRY = "bisect.json"
_LOCK = "bisect.lock"


def read_bisection(store: Store) -> tuple[Inquiry, list[Judged]] | None:
    """Returns the one under way, None if there is none; raises StoreDamaged."""
    try:
        with open(store.path(_INQUIRY), encoding="utf-8", opener=ordinary) as file:
            record: Any = json_text.loads(file.read())
        said = [codec.decode(Judged, one) for one in record["said"]]
        return codec.decode(Inquiry, record), said
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise StoreDamaged(
            f"the bisection under way cannot be read: {error}",
            hint=("give it up: ", Command("bisect", "--reset")),
        ) from None


def write_bisection(store: Store, inquiry: Inquiry, said: Iterable[Judged]) -> None:
    """Keeps it, on the disk when it returns; raises OSError."""
    record = {"v": 1, **codec.encode(inquiry), "said": [codec.encode(one) for one in said]}
    durable.replace_file(store.path(_INQUIRY), (json_text.dumps(record) + "\n").encode())


def remove_bisection(store: Store) -> bool:
    """Gives it up; False if there is none. Raises OSError."""
    try:
        durable.unlink(store.path(_INQUIRY))
    except FileNotFoundError:
        return False
    durable.sync_directory(store.directory)
    return True


class Bisecting:
    """Lets one process at a time run the command of a workspace's bisection; raises InUse."""

    def __init__(self, store: Store) -> None:
        self._lock = Lock(store.path(_LOCK))

    def __enter__(self) -> None:
        try:
            self._lock.acquire("bisect", wait=0)
        except InUse:
            raise InUse(
                "another process runs the bisection of this workspace",
                hint="wait for it to end, or end it",
            ) from None

    def __exit__(self, *exc: object) -> None:
        self._lock.release()


# -- verdicts: what a command that was run on a snapshot's files said of them
#
#     verdicts.json    one entry a snapshot, the newest last; of more than 5,000 the oldest go
#
# It is about files, so every checkpoint with the same files has the same verdict.


_VERDICTS = "verdicts.json"
_MOST = 5000


class CommandRun(Value):
    """One run of a command on the files of a snapshot: whether it passed, and which it was."""

    snapshot: SnapshotId
    passed: bool
    command: str
    time: float


def read_verdicts(store: Store) -> dict[SnapshotId, CommandRun]:
    """Returns the newest verdict on each snapshot; one that cannot be read is none."""
    try:
        with open(store.path(_VERDICTS), encoding="utf-8", opener=ordinary) as file:
            record: Any = json_text.loads(file.read())
        found = [codec.decode(CommandRun, one) for one in record["runs"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    return {one.snapshot: one for one in found}


def add_verdict(store: Store, run: CommandRun) -> None:
    """Keeps one more; raises OSError. Called by the one process that runs a bisection."""
    known = read_verdicts(store)
    known.pop(run.snapshot, None)
    runs = [*known.values(), run][-_MOST:]
    record = {"v": 1, "runs": [codec.encode(one) for one in runs]}
    durable.replace_file(store.path(_VERDICTS), (json_text.dumps(record) + "\n").encode())


# -- green: the files at which tests passed, as agents' shells and bisections have seen it
#
# A verdict is about files: every checkpoint with the same snapshot has it. The newest one counts.


class KnownTests(Value):
    """What tests said of some files: whether they passed, and which command it was."""

    passed: bool
    command: str
    time: float


def verdicts(store: Store, ledger: Ledger) -> dict[SnapshotId, KnownTests]:
    """Returns what is known of each snapshot."""
    found: dict[SnapshotId, KnownTests] = {}
    for one in questions.tested(ledger):
        for ran in (*one.tested_earlier, *([] if one.tested is None else [one.tested])):
            whose = one if ran.checkpoint is None else ledger.by_id(ran.checkpoint)
            if whose is not None:
                found[whose.snapshot] = KnownTests(ran.passed, ran.command, one.time)
    for snapshot, run in read_verdicts(store).items():
        known = found.get(snapshot)
        if known is None or known.time < run.time:
            found[snapshot] = KnownTests(run.passed, run.command, run.time)
    return found


def is_green_name(text: str) -> bool:
    """Tells whether a name is ``green``, or that of a session: ``SESSION/green``."""
    return split_name(text)[1] == GREEN


def find_green(store: Store, ledger: Ledger, text: str, *, meant: Meaning) -> Checkpoint:
    """Returns the newest checkpoint of a session's line at which tests passed.

    The end of a turn has the same files as the beginning of the next: then it is the end. A label
    of that name counts first. Raises NoSuchCheckpoint.
    """
    whose, _ = split_name(text)
    named = ledger.by_label(GREEN)
    if named and whose is None:
        return named[0]
    session = meant(whose, GREEN)
    passed = {oid for oid, one in verdicts(store, ledger).items() if one.passed}
    line: Iterable[str | None] = [None] if session is None else questions.line(ledger, session)
    for one in line if passed else ():
        kept = [c for c in ledger.checkpoints(session=one, without=(UNDO,)) if c.expired is None]
        newest = next((c for c in kept if c.snapshot in passed), None)
        if newest is not None:
            same = (c for c in kept if c.snapshot == newest.snapshot and c.kind != PROMPT)
            return next(same, newest)
    raise NoSuchCheckpoint(
        "no checkpoint is known at which tests passed",
        hint=("find one: ", Command("bisect", "GOOD", "BAD", "--", "make", "test")),
    )


# -- a trial: one run of a command that the person gave, in a directory of takeback's own


def surroundings(environ: Mapping[str, str], moved: Removal) -> dict[str, str]:
    """Returns the environment of a command that must not know of the workspace.

    Wherever a variable names the workspace, it names the new place instead. git looks for no
    repository above that.
    """
    found = {
        name: _elsewhere(value, moved) for name, value in environ.items() if name not in ELSEWHERE
    }
    there = os.fsdecode(moved.there)
    return {**found, "PWD": there, "GIT_CEILING_DIRECTORIES": os.path.dirname(there)}


def _elsewhere(value: str, moved: Removal) -> str:
    text = moved.text(os.fsencode(value))
    return os.fsdecode(b":".join(moved.path(part) for part in text.split(b":")))


class Trial:
    """Runs the command of an inquiry, which finds itself in another place than the workspace.

    Its output goes to ``output``, or nowhere.
    """

    def __init__(
        self,
        inquiry: Inquiry,
        environ: Mapping[str, str],
        moved: Removal,
        output: IO[str] | None = None,
    ) -> None:
        words = (moved.text(os.fsencode(word)) for word in inquiry.command)
        self._command = [os.fsdecode(word) for word in words]
        self._environ = surroundings(environ, moved)
        self._timeout = inquiry.timeout
        self._output = output

    def run(self, directory: str) -> tuple[int, float]:
        """Returns its exit status and how many seconds it took.

        Its process group ends with it. Where a script of the project itself is not there (yet), the
        files cannot be judged. Raises UsageError if there is no such command at all, BrokenOff if
        its end says nothing; on Ctrl-C it is ended first.
        """
        begun = time.monotonic()
        process = None
        try:
            with Unbroken():
                process = self._started(directory)
            if process is None:
                return SKIPPED, 0.0
            status = process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            assert process is not None
            status = TOO_LONG
            end(process)
        except BaseException:
            if process is not None:
                end(process)
            raise
        kill_group(process, signal.SIGKILL)  # what it left running in the background
        if not says_anything(status):
            how = f"was ended by signal {-status}" if status < 0 else f"ended with {status}"
            raise BrokenOff(
                f"{shown(self._command[0])} {how}, which says nothing about the files",
                hint=("what was found so far is kept: ", Command("bisect", "--resume")),
            )
        return status, time.monotonic() - begun

    def _started(self, directory: str) -> subprocess.Popen[bytes] | None:
        program, silent = self._command[0], subprocess.DEVNULL
        output = silent if self._output is None else self._output
        try:
            return subprocess.Popen(
                self._command,
                cwd=directory,
                env=self._environ,
                stdin=silent,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            own = os.path.join(directory, program) if "/" in program else ""
            if own.startswith(directory) and not os.path.exists(own):
                return None
            raise UsageError(
                f"{shown(program)} cannot be run: {os.strerror(error.errno or 0)}",
                hint=(
                    "it is run on the files of a checkpoint; what those lack can be copied: ",
                    Option("--with", ".venv"),
                ),
            ) from None


# -- bisect


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
        with Bisecting(store), Translated("a bisection"):
            kept = read_bisection(store)
            if kept is None:
                write_bisection(store, self._inquiry, ())
            else:
                self._said = {one.snapshot: one for one in kept[1]}
            try:
                found = self._search(heard, output)
            except UsageError:  # nothing more can be found out this way
                remove_bisection(store)
                raise
            remove_bisection(store)
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
        write_bisection(store, self._inquiry, self._said.values())
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
    found = read_bisection(context.store)
    if found is None:
        raise Refused(
            "no bisection is under way",
            hint=("begin one: ", Command("bisect", "GOOD", "BAD", "--", "make", "test")),
        )
    return found[0]


def refuse_second(context: Context, inquiry: Inquiry) -> None:
    """Raises Refused if another bisection is under way; the same one is carried on."""
    found = read_bisection(context.store)
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
    with Bisecting(context.store), Translated("giving up a bisection"):
        return remove_bisection(context.store)
