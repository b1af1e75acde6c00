"""takeback's parts put together in the test's own process, with a clock that tests can move."""

from __future__ import annotations

import marshal
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from takeback.capture.capture import Captured, capture
from takeback.context import Context, LockedContext
from takeback.git.objects import BLOB, object_id
from takeback.ledger.follow import open_ledger
from takeback.model.checkpoint import FILE, LINK, Checkpoint, Entry
from takeback.model.coverage import Policy
from takeback.model.ids import CheckpointId
from takeback.model.operation import Outcome, Plan
from takeback.rewind.prepare import goal_of
from takeback.rewind.request import Request
from takeback.rewind.rewind import rewind, take_in
from takeback.store.namespace import local_ref, session_ref
from takeback.store.sink import PackSink
from takeback.store.store import Store
from takeback.turns import making as checkpoints
from takeback.workspaces import locate, open_store, open_workspace

Result = TypeVar("Result")
NOON = 1_794_744_000.0
"""2026-11-15 12:00 UTC, when a test's clock starts."""
TICK = 0.06
"""Longer than the time in which an edit may be invisible in a file's times."""


class TestClock:
    """Stands still until a test moves it."""

    __test__ = False

    def __init__(self, now: float = NOON) -> None:
        self.time = now

    def now(self) -> float:
        return self.time


class Heard:
    """A reporter that remembers what it was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.steps: list[tuple[str, int, int]] = []

    def progress(self, what: str, done: int, total: int) -> None:
        self.steps.append((what, done, total))

    def note(self, text: str) -> None:
        self.notes.append(text)


@contextmanager
def opened(
    root: Path, *, policy: Policy | None = None, reporter: Heard | None = None
) -> Iterator[Context]:
    """Opens a workspace with its store, as ``Takeback.open`` does, and closes both."""
    heard = reporter or Heard()
    location = locate(os.fsencode(root), os.environ, foreign_owner=False)
    context = Context(
        workspace=open_workspace(location),
        store=open_store(location, os.environ, heard, create=True),
        policy=policy or Policy(lock_wait=5),
        clock=TestClock(),
        reporter=heard,
        environ=os.environ,
        holder="a test",
    )
    try:
        yield context
    finally:
        context.store.close()
        context.workspace.close()


def clock_of(context: Context) -> TestClock:
    assert isinstance(context.clock, TestClock)
    return context.clock


def heard_by(context: Context) -> Heard:
    assert isinstance(context.reporter, Heard)
    return context.reporter


def checkpoint(context: Context, **options: str) -> Checkpoint:
    """Makes a checkpoint, one second after the one before it."""
    clock_of(context).time += 1
    return checkpoints.checkpoint(context, **options).checkpoint  # type: ignore[arg-type]


def start_machine_anew(store: Path) -> None:
    """Makes a store's table of packs look as if the machine was started anew since."""
    _, packs = known_packs(store)
    (store / "trust").write_bytes(marshal.dumps(("another run of the machine", packs)))


def known_packs(store: Path) -> tuple[str, dict[str, Any]]:
    """Returns the table of a store's packs, with those that came since, and whose run it is of."""
    run, packs = marshal.loads((store / "trust").read_bytes())
    new = store / "trust.new"
    for line in filter(None, new.read_bytes().splitlines() if new.exists() else ()):
        _, _, pack, *numbers = line.decode().split()
        packs[pack] = ("sound", tuple(map(int, numbers)))
    return run, packs


def captured(context: Context) -> Captured:
    """Captures the workspace, without a checkpoint, and keeps what was learnt."""
    with context.locked() as locked:
        made = capture(locked)
        made.keep()
    return made


def request(context: Context, target: Checkpoint, **fields: object) -> Request:
    """Returns the request of going to a checkpoint, the whole of it unless told otherwise."""
    return Request(goal_of(context.store, target)).replace(**fields)


def find_in(context: Context) -> Callable[[CheckpointId], Checkpoint]:
    """Returns what finds a checkpoint by its id, as recovery and undo ask for it."""

    def find(name: CheckpointId) -> Checkpoint:
        ledger = open_ledger(context.store, context.reporter)
        found = ledger.by_id(name)
        ledger.close()
        assert found is not None
        return found

    return find


def carry_out(context: LockedContext, asked: Request, *, shown: Plan | None = None) -> Outcome:
    """Does what is asked for, on the files as they are now."""
    return rewind(context, take_in(context), asked, shown=shown)


def under_lock(context: Context, act: Callable[[LockedContext], Result]) -> Result:
    """Does what needs the lock, and lets go of it."""
    with context.locked() as locked:
        return act(locked)


@contextmanager
def packing(context: Context) -> Iterator[PackSink]:
    """Holds the lock and yields a sink of the store."""
    with context.locked() as locked:
        yield PackSink(locked.lock)


def settle() -> None:
    """Waits until what was just written is old enough for its times to be believed."""
    time.sleep(TICK)


def packs_of(store: Store) -> list[Path]:
    """Returns the pack files of a store, oldest first."""
    found = Path(store.git_dir, "objects", "pack").glob("*.pack")
    times = {}
    for path in found:
        try:
            times[path] = path.stat().st_mtime_ns
        except FileNotFoundError:  # combined with others just now
            continue
    return sorted(times, key=times.__getitem__)


def garble(store: Store, oid: bytes) -> None:
    """Overwrites the bytes of one object in its pack; the pack's size stays the same."""
    place = store.packs.find(oid)
    assert place is not None
    path = Path(store.git_dir, "objects", "pack", place[0] + ".pack")
    path.chmod(0o600)
    data = bytearray(path.read_bytes())
    for at in range(place[1] + 2, place[1] + 6):
        data[at] ^= 0xFF
    path.write_bytes(data)


def file_entry(data: bytes, mode: int = 0o644) -> Entry:
    """Returns the entry of a file with these bytes."""
    return Entry(FILE | mode, object_id(BLOB, data))


def link_entry(target: bytes) -> Entry:
    """Returns the entry of a symbolic link."""
    return Entry(LINK, object_id(BLOB, target))


class Killed(BaseException):
    """Ends a run as a signal would: nothing of ours catches it."""


class KillAt:
    """Put it at ``durable.faults``: ends the run at the n-th step of a name, before the step."""

    def __init__(self, step: str, number: int = 1) -> None:
        self._step = step
        self._left = number

    def step(self, name: str) -> None:
        if name == self._step:
            self._left -= 1
            if self._left == 0:
                raise Killed


class Blobs:
    """The bytes of some blobs, as a store would hand them out."""

    def __init__(self, *known: bytes) -> None:
        self._known = {object_id(BLOB, data): data for data in known}

    def blob(self, oid: bytes) -> bytes:
        return self._known[oid]

    def stream(self, oid: bytes, write: Callable[[bytes], None]) -> None:
        data = self._known[oid]
        for start in range(0, len(data), 5):  # far less than a store's, so that pieces matter
            write(data[start : start + 5])


@contextmanager
def as_nobody() -> Iterator[None]:
    """Makes permission bits count, also when the tests run as root.

    Only what is reached through a descriptor that is open already can be used inside: the
    test's own directory is closed to others.
    """
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def refs_of(store: Store, session: str) -> tuple[str, str]:
    """Returns the refs that this machine writes for a session: of checkpoints, of saved files."""
    machine = store.machine or ""
    return session_ref(machine, session), local_ref(machine, session)
