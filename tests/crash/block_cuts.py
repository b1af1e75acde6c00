"""A program: a day's work on a disk whose power is then cut at many moments.

    block_cuts.py FS SEED CUTS DIRECTORY [--same-run]

It runs in a mount namespace of its own, as root. Workspace and store lie under a real file system,
on a disk whose every write and flush is logged (``logged_disk.py``). Each cut makes the disk anew
as it may be then, mounts it, and holds it against what had been acknowledged by then. The machine
has run anew since: its boot id, a file of this namespace, is another one (not with
``--same-run``). Each finding is a line of JSON, the sums are the last.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

from takeback import Takeback, kernel
from takeback.errors import Refused
from takeback.model.checkpoint import Checkpoint
from takeback.model.coverage import Overrides
from takeback.store.repack import combine_packs
from tests.support.logged_disk import POLICIES, Cuts, LoggedDisk
from tests.support.processes import reap
from tests.support.trees import Entry, differences, tree_state

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_STEPS = 16
NOT_POSSIBLE = 77
"""The exit status where no such disk can be made or mounted; why is said on stderr."""
_TAKES = 120
"""Seconds after which a day, or the check of one cut, has hung."""
_PLACES = ("src", "src/deep", "docs", "data")

State = dict[bytes, Entry]
T = TypeVar("T")


class FileSystem(NamedTuple):
    """How one is made and mounted, and how large it has to be."""

    make: tuple[str, ...]
    megabytes: int
    options: str = "loop"


_EXT4 = ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0")
FILE_SYSTEMS = {
    "ext4": FileSystem(_EXT4, 256),
    "ext4-writeback": FileSystem(_EXT4, 256, "loop,data=writeback"),
    "xfs": FileSystem(("mkfs.xfs", "-q", "-f"), 512),
    "btrfs": FileSystem(("mkfs.btrfs", "-q", "-f"), 512),
}


class Promise(NamedTuple):
    """What was acknowledged at a moment, and what has to be so after any cut from then on.

    ``checkpoint`` is a checkpoint's id with its ``state``; else ``operation`` has left that state,
    which stands until the moment ``stands``, if all that it found had been flushed.
    """

    moment: int
    state: State
    checkpoint: str = ""
    operation: str = ""
    stands: int = 0


class Span(NamedTuple):
    """One step: what it was, when it began and ended; for an operation the states around it."""

    kind: str
    began: int
    ended: int
    old: State | None = None
    new: State | None = None


class Day:
    """Works for a while, and notes what was acknowledged when."""

    def __init__(
        self, root: Path, environ: dict[str, str], chance: Random, moment: Callable[[], int]
    ) -> None:
        self.root = root
        self.environ = environ
        self.chance = chance
        self.moment = moment
        self.promises: list[Promise] = []
        self.spans: list[Span] = []
        self.expired: dict[str, int] = {}
        self._turns = 0

    def work(self) -> None:
        self.root.mkdir()
        (self.root / ".gitignore").write_bytes(b"*.ign\n")
        for _ in range(12):
            self._edit()
        self._flush()
        self._checkpoint()
        for _ in range(_STEPS):
            for _ in range(self.chance.randrange(1, 5)):
                self._edit()
            is_flushed = self.chance.random() < 0.7
            if is_flushed:
                self._flush()
            # a busy machine flushes file by file, a quiet one all at once
            unwritten = 0 if self.chance.random() < 0.5 else 1 << 40
            kernel.unwritten_bytes = lambda unwritten=unwritten: unwritten  # type: ignore[misc]
            kinds = ("checkpoint", "turn", "rewind", "undo", "label", "prune", "pack")
            [kind] = self.chance.choices(kinds, (4, 6, 6, 3, 1, 1, 2))
            began = self.moment()
            old = tree_state(self.root)
            getattr(self, f"_{kind}")()
            ended = self.moment()
            span = Span(kind, began, ended)
            is_new = self.promises[-1].moment > began
            if kind in ("rewind", "undo") and is_flushed and is_new:
                self.promises[-1] = self.promises[-1]._replace(stands=ended)
                span = span._replace(old=old, new=tree_state(self.root))
            self.spans.append(span)
        self._flush()
        self.spans.append(Span("the end", self.moment(), self.moment()))

    @contextmanager
    def _open(self) -> Iterator[Takeback]:
        with Takeback.open(self.root, environ=self.environ) as takeback:
            yield takeback

    def _edit(self) -> None:
        place = self.root / self.chance.choice(_PLACES)
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"f{self.chance.randrange(8)}{self.chance.choice(('', '', '.ign'))}"
        if path.exists() and self.chance.random() < 0.2:
            path.unlink()
            return
        data = self.chance.randbytes(self.chance.choice((0, 10, 500, 5000, 40_000)))
        if self.chance.random() < 0.5:
            path.write_bytes(data)
        else:  # as editors do
            new = path.with_name(f".{path.name}.new")
            new.write_bytes(data)
            new.rename(path)

    def _flush(self) -> None:
        fd = os.open(self.root, os.O_RDONLY)
        assert kernel.flush_file_system(fd)
        os.close(fd)

    def _keep(self, checkpoint: str, state: State) -> None:
        held = {path: entry for path, entry in state.items() if not path.endswith(b".ign")}
        self.promises.append(Promise(self.moment(), held, checkpoint=checkpoint))

    def _checkpoint(self) -> None:
        with self._open() as takeback:
            made = takeback.checkpoint().checkpoint
        self._keep(made.id, tree_state(self.root))

    def _turn(self) -> None:
        with self._open() as takeback:
            session = takeback.session("mine", f"s{self.chance.randrange(3)}")
            self._turns += 1
            before = tree_state(self.root)
            said = b"turn %d\n" % self._turns * 50
            with session.turn(f"turn {self._turns}", conversation=said) as turn:
                self._keep(turn.before.id, before)
                for _ in range(self.chance.randrange(4)):
                    self._edit()
                if self.chance.random() < 0.5:
                    turn.round()
                    self._edit()
            self._keep(turn.after.id, tree_state(self.root))

    def _kept(self) -> list[Promise]:
        return [
            one for one in self.promises if one.checkpoint and one.checkpoint not in self.expired
        ]

    def _rewind(self) -> None:
        goal = self.chance.choice(self._kept()).checkpoint
        with self._open() as takeback:
            done = takeback.rewind(goal, scope="files", overrides=Overrides.all())
        self._note_operation(done.operation)

    def _undo(self) -> None:
        with self._open() as takeback:
            try:
                done = takeback.undo(overrides=Overrides.all())
            except Refused:  # there is nothing to undo
                return
        self._note_operation(done.operation)

    def _note_operation(self, operation: str | None) -> None:
        if operation is not None:
            state = tree_state(self.root)
            self.promises.append(Promise(self.moment(), state, operation=operation))

    def _label(self) -> None:
        with self._open() as takeback:
            takeback.label(self.chance.choice(self._kept()).checkpoint, f"l{self.moment()}")

    def _prune(self) -> None:
        kept = self._kept()
        if len(kept) < 6:
            return
        now = self.moment()
        with self._open() as takeback:
            planned = takeback.plan_prune([self.chance.choice(kept[:-3]).checkpoint])
            try:
                takeback.prune(planned)
            except Refused:  # it has a label
                return
            gone = {
                e.checkpoint.id
                for e in takeback.checkpoints(everything=True)
                if e.checkpoint.expired
            }
        for one in gone:
            self.expired.setdefault(one, now)

    def _pack(self) -> None:
        with self._open() as takeback:
            combine_packs(takeback.engine._context.store, disk_floor=0)


# -- after a cut


class Check:
    """Holds a disk after a cut against what had been acknowledged."""

    def __init__(self, day: Day, moment: int, chance: Random) -> None:
        self._root = day.root
        self._environ = day.environ
        self._day = day
        self._moment = moment
        self._chance = chance
        self._kept = [one for one in day.promises if one.moment <= moment]
        self.findings: list[str] = []

    def __call__(self) -> dict[str, Any]:
        """Returns what was found, and how often something was recovered, and was exact."""
        counts = {"recovered": 0, "exact": 0}
        try:
            self._look(counts)
        except Exception:  # noqa: BLE001 - whatever goes wrong after a cut is a finding
            self.findings.append(traceback.format_exc()[-500:])
        return {**counts, "findings": self.findings}

    def _look(self, counts: dict[str, int]) -> None:
        self._each_file_is_old_or_new()
        with self._open() as takeback:
            found = takeback.verify().problems
            self._need(not found, f"verify, before anything else: {_said(found)}")
            if takeback.interrupted:
                takeback.recover()
                counts["recovered"] = 1
        self._what_stands_stands()
        with self._open() as takeback:
            numbers = self._everything_is_there(takeback)
            with takeback.session("mine", f"after {self._moment}").turn("after the cut") as turn:
                (self._root / "after").write_bytes(b"the cut")
            made = [turn.before, turn.after, takeback.checkpoint().checkpoint]
            for one in made:
                self._need(
                    one.sequence > max(numbers, default=0),
                    f"{one.kind} after the cut got {one.sequence} below {max(numbers)}",
                )
                numbers.append(one.sequence)
            self._goes_there_and_back(takeback, counts)
            found = takeback.verify(read_data=True).problems
            self._need(not found, f"verify --read-data: {_said(found)}")

    @contextmanager
    def _open(self) -> Iterator[Takeback]:
        with Takeback.open(self._root, environ=self._environ) as takeback:
            yield takeback

    def _each_file_is_old_or_new(self) -> None:
        for span in self._day.spans:
            if span.old is None or span.new is None or not span.began <= self._moment <= span.ended:
                continue
            for path, entry in tree_state(self._root).items():
                if entry.kind == "directory" or b".takeback-" in path:
                    continue
                wanted = (_bare(span.old.get(path)), _bare(span.new.get(path)))
                self._need(
                    _bare(entry) in wanted, f"{path!r} is neither old nor new: {_short(entry)}"
                )

    def _what_stands_stands(self) -> None:
        """Right after an operation the files are as it left them, and no temporary file is left."""
        now = tree_state(self._root)
        left = [path for path in now if b".takeback-" in path]
        self._need(not left, f"temporary files are left: {left}")
        last = max(self._kept, key=lambda one: one.moment, default=None)
        if last is not None and last.operation and self._moment <= last.stands:
            lines = differences(last.state, now)
            self._need(not lines, f"{last.operation} had ended, and then: {lines[:5]}")

    def _everything_is_there(self, takeback: Takeback) -> list[int]:
        found: dict[str, Checkpoint] = {}
        for entry in takeback.checkpoints(everything=True):
            found[entry.checkpoint.id] = entry.checkpoint
        done: dict[str, int] = {one.id: one.sequence for one in takeback.operations()}
        last = 0
        for one in self._kept:
            if one.operation:
                self._need(one.operation in done, f"operation {one.operation} is lost")
                number = done[one.operation]
            else:
                self._need(one.checkpoint in found, f"checkpoint {one.checkpoint} is lost")
                kept = found[one.checkpoint]
                number = kept.sequence
                gone = self._day.expired.get(one.checkpoint)
                if kept.expired is not None:
                    self._need(
                        gone is not None and gone <= self._moment, f"{one.checkpoint} has expired"
                    )
                else:
                    self._has_its_bytes(takeback, one)
            self._need(number > last, f"number {number} follows {last}")
            last = number
        return [*(one.sequence for one in found.values()), *done.values()]

    def _has_its_bytes(self, takeback: Takeback, promise: Promise) -> None:
        for path, entry in promise.state.items():
            if entry.kind == "file":
                data = takeback.cat(promise.checkpoint, path)
                self._need(
                    data == entry.content, f"{promise.checkpoint} has other bytes of {path!r}"
                )

    def _need(self, is_so: bool, otherwise: str) -> None:
        if not is_so:
            self.findings.append(otherwise)

    def _goes_there_and_back(self, takeback: Takeback, counts: dict[str, int]) -> None:
        gone = self._day.expired
        made = [one for one in self._kept if one.checkpoint]
        goals = [one for one in made if gone.get(one.checkpoint, self._moment + 1) > self._moment]
        if not goals:
            return
        goal = goals[-1] if self._chance.random() < 0.5 else self._chance.choice(goals)
        before = tree_state(self._root)
        done = takeback.rewind(goal.checkpoint, scope="files", overrides=Overrides.all())
        here = tree_state(self._root)
        # a directory in which an ignored file lies stays, and is named
        stays = {os.path.dirname(path) for path in here if path.endswith(b".ign")}
        left = [one for one in done.left_alone if not one.by_rule and one.path not in stays]
        self._need(not left, f"the rewind to {goal.checkpoint} left {left}")
        stays -= goal.state.keys()
        now = {p: e for p, e in here.items() if not p.endswith(b".ign") and p not in stays}
        lines = differences(goal.state, now)
        self._need(not lines, f"the rewind to {goal.checkpoint} is not exact: {lines[:5]}")
        takeback.undo(overrides=Overrides.all())
        lines = differences(before, tree_state(self._root))
        self._need(not lines, f"the undo is not exact: {lines[:5]}")
        counts["exact"] = 1


def _bare(entry: Entry | None) -> tuple[str, bytes] | None:
    return None if entry is None else (entry.kind, entry.content)


def _short(entry: Entry) -> str:
    return f"{entry.kind} of {len(entry.content)} bytes {entry.content[:20]!r}"


def _said(problems: Any) -> str:
    return "; ".join(f"{one.what}: {one.detail}" for one in problems)[:600]


# -- the machine


class Machine:
    """One disk, and the place where it is mounted."""

    def __init__(self, name: str, seed: int, top: Path) -> None:
        self.name = name
        self.top = top
        self.chance = Random(f"{name} {seed}")
        self._kind = FILE_SYSTEMS[name]
        self.place = top / "mounted"
        self.place.mkdir(parents=True)
        self._boot = top / "boot_id"
        self._boot.write_text(f"{uuid.uuid4()}\n")
        _run("mount", "--bind", self._boot, _BOOT)

    def begin_another_run(self) -> None:
        self._boot.write_text(f"{uuid.uuid4()}\n")

    @contextmanager
    def mounted(self, image: Path) -> Iterator[None]:
        _run("mount", "-o", self._kind.options, image, self.place)
        try:
            yield
        finally:
            _run("umount", self.place)

    def make_disk(self) -> Path:
        image = self.top / "image"
        with image.open("wb") as file:
            file.truncate(self._kind.megabytes << 20)
        _run(*self._kind.make, image)
        _run("fallocate", "--dig-holes", image)
        return image

    def try_disk(self) -> None:
        """Raises OSError or CalledProcessError where no such disk can be mounted."""
        image, log = self.make_disk(), self.top / "log"
        with LoggedDisk(image, log, self.top / "door") as disk, self.mounted(disk.door):
            pass
        log.unlink()

    def record(self) -> tuple[Day, Path, Path]:
        """Works for a day; returns it, the disk as it was before, and the log."""
        image = self.make_disk()
        first, log = self.top / "first", self.top / "log"
        shutil.copyfile(image, first)
        _run("fallocate", "--dig-holes", first)
        environ = {
            "HOME": str(self.place),
            "TAKEBACK_HOME": str(self.place / "home"),
            "PATH": os.environ["PATH"],
        }
        with LoggedDisk(image, log, self.top / "door") as disk, self.mounted(disk.door):
            day = in_a_child(lambda: worked(self.place / "work", environ, self.chance, disk))
        return day, first, log


def _run(*argv: str | Path) -> None:
    done = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise OSError(f"{argv[0]} ended with {done.returncode}: {said}")


def worked(root: Path, environ: dict[str, str], chance: Random, disk: LoggedDisk) -> Day:
    day = Day(root, environ, chance, disk.moment)
    day.work()
    del day.moment
    return day


def in_a_child(act: Callable[[], T]) -> T:
    """Does something in a process of its own, which the cut ends and which knows of no other."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.close(reads)
        signal.alarm(_TAKES)
        try:
            with os.fdopen(writes, "wb") as told:
                pickle.dump(act(), told)
        except BaseException:  # noqa: BLE001 - nothing may return from a forked process
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as heard:
        data = heard.read()
    status = reap(child)
    if not data or status:
        raise OSError(f"it ended with {os.waitstatus_to_exitcode(status)}")
    done: T = pickle.loads(data)
    return done


def moments(day: Day, many: int, chance: Random) -> list[tuple[int, str]]:
    """Chooses cuts, in the order of time: anywhere in a step, and right after an answer."""
    first = day.promises[0].moment
    found = []
    for _ in range(many):
        span = chance.choice(day.spans)
        at = chance.randrange(max(span.began, first), max(span.ended, first) + 1)
        if chance.random() < 0.3:
            at = chance.choice(day.promises).moment
        found.append((at, chance.choice(POLICIES)))
    return sorted(found)


def main(name: str, seed: int, many: int, top: Path, *, is_same_run: bool = False) -> None:
    try:
        machine = Machine(name, seed, top)
        machine.try_disk()
    except (OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(NOT_POSSIBLE)
    began = time.monotonic()
    day, first, log = machine.record()
    cuts = Cuts(first, log)
    sums = {"cuts": 0, "findings": 0, "pending": 0, "lost": 0, "recovered": 0, "exact": 0}
    for number, (moment, policy) in enumerate(moments(day, many, machine.chance)):
        lost = cuts.make(top / "cut", moment, policy, machine.chance)
        if not is_same_run:
            machine.begin_another_run()
        check = Check(day, moment, Random(f"{name} {seed} {number}"))
        try:
            with machine.mounted(top / "cut"):
                said = in_a_child(check)
        except OSError as error:
            said = {"findings": [str(error)]}
        sums["cuts"] += 1
        sums["pending"] += lost.pending
        sums["lost"] += lost.lost
        for key in ("recovered", "exact"):
            sums[key] += said.get(key, 0)
        if said["findings"]:
            sums["findings"] += 1
            span = next((one.kind for one in day.spans if moment <= one.ended), "the end")
            said |= {
                "cut": number,
                "moment": moment,
                "policy": policy,
                "step": span,
                **lost._asdict(),
            }
            _tell(said)
    cuts.close()
    flushes = sum(not one.size for one in cuts.records)
    seconds = time.monotonic() - began
    sums |= {"records": len(cuts.records), "flushes": flushes, "acknowledged": len(day.promises)}
    _tell({"file system": name, "seed": seed, **sums, "seconds": round(seconds, 1)})


def _tell(said: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(said)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(
        sys.argv[1],
        int(sys.argv[2]),
        int(sys.argv[3]),
        Path(sys.argv[4]),
        is_same_run="--same-run" in sys.argv,
    )
