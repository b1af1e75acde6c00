"""A stage for the detail alone: an app with nothing else in it, on a real workspace."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from takeback.app.engine import Engine
from takeback.app.threads import WorkspaceThread
from takeback.model.event import EDIT, SHELL, ToolCall
from takeback.timeline.timeline import TimelineEntry
from takeback.tui.detail.files import FileList
from takeback.tui.detail.lines import Lines
from takeback.tui.detail.pane import DiffPane
from takeback.tui.detail.view import CoverageView, DetailView, Heading
from tests.support.engine import NOON, TestClock

_PATIENCE = 6000
T = TypeVar("T")


class CountingDesk(WorkspaceThread):
    """Counts what it is asked."""

    asked = 0

    async def ask(self, job: Callable[[Engine], T]) -> T:
        self.asked += 1
        return await super().ask(job)


class Stage(App[None]):
    """Shows one entry."""

    def __init__(self, root: Path, entry: TimelineEntry | None) -> None:
        super().__init__()
        self.workspace = CountingDesk(lambda: Engine.open(root, clock=TestClock(NOON + 600)))
        self._entry = entry
        self.detail = DetailView(self.workspace, now=lambda: NOON + 600)

    def compose(self) -> ComposeResult:
        yield self.detail

    def on_mount(self) -> None:
        self.detail.show(self._entry)
        self.detail.focus()

    def on_unmount(self) -> None:
        self.workspace.close()

    def lines(self, kind: type[Lines] | str) -> list[str]:
        """Returns the lines of a pane as they stand on the screen, its heading first."""
        pane = self.query_one(kind, Lines) if isinstance(kind, str) else self.query_one(kind)
        title = "" if pane._border_title is None else pane._border_title.plain
        height = pane.scrollable_content_region.height
        return [title, *(pane.render_line(y).text.rstrip() for y in range(height))]

    @property
    def place(self) -> list[str]:
        return self.lines(Heading)

    @property
    def files(self) -> list[str]:
        return self.lines(FileList)

    @property
    def diff(self) -> list[str]:
        return self.lines(DiffPane)

    @property
    def coverage(self) -> list[str]:
        return self.lines(CoverageView)


async def settled(pilot: Pilot[None]) -> None:
    """Waits until everything that was asked for is on the screen."""
    quiet = 0
    for _ in range(_PATIENCE):
        await pilot.pause(0.01)
        busy = any(not worker.is_finished for worker in pilot.app.workers)
        quiet = 0 if busy else quiet + 1
        if quiet > 2:
            return
    raise AssertionError("the screen does not come to rest")


def shows(
    root: Path,
    entry: TimelineEntry | None,
    play: Callable[[Stage, Pilot[None]], Awaitable[None]],
    *,
    size: tuple[int, int] = (120, 40),
) -> None:
    """Opens the stage, waits until it is filled, and plays."""
    import asyncio

    async def run() -> None:
        stage = Stage(root, entry)
        async with stage.run_test(size=size) as pilot:
            await settled(pilot)
            await play(stage, pilot)

    asyncio.run(run())


@contextmanager
def takeback(root: Path) -> Iterator[tuple[Engine, TestClock]]:
    """Opens a workspace with a clock that stands still until it is moved."""
    clock = TestClock()
    with Engine.open(root, clock=clock) as tb:
        yield tb, clock


def edit(*paths: str, name: str = "Edit") -> ToolCall:
    return ToolCall(name, EDIT, paths)


def ran(name: str = "Bash") -> ToolCall:
    return ToolCall(name, SHELL, ())


BEFORE = '''\
"""Signs people in."""

import hashlib

USERS = {"you": "5e884898"}


def check(name, password):
    # look the user up
    found = USERS.get(name)
    if found is None:
        return False
    digest = hashlib.md5(password.encode()).hexdigest()
    return digest[:8] == found


def sign_out(session):
    session.clear()
'''
AFTER = '''\
"""Signs people in."""

import hashlib
import hmac

USERS = {"you": "5e884898"}


def check(name, password):
    # look the user up
    found = USERS.get(name)
    if found is None:
        return False
    digest = hashlib.sha256(password.encode()).hexdigest()
    return hmac.compare_digest(digest[:8], found)


def sign_out(session):
    session.clear()
'''
TEST = """\
from src.login import check


def test_prefix():
    assert not check('you', 'x')
"""
PROMPT = """\
The login accepts wrong passwords when the hash starts with the right letters. Compare the \
digests in constant time, use SHA-256, and add a test that fails today.

Leave the session handling alone."""


def login_turn(root: Path) -> TimelineEntry:
    """Plays a turn of a person who has a login fixed, and returns it."""
    (root / "src").mkdir()
    (root / "src" / "login.py").write_text(BEFORE)
    (root / "run.sh").write_text("#!/bin/sh\npython -m app\n")
    (root / "logo.png").write_bytes(b"\x89PNG\0" + bytes(12_000))
    (root / "old.txt").write_text("one\ntwo\n")
    (root / ".gitignore").write_text("build/\n")
    (root / "build").mkdir()
    (root / "build" / "out.bin").write_bytes(b"\0")
    with takeback(root) as (tb, clock):
        session = tb.session(agent="claude", native="2a8f")
        with session.turn("set the project up"):
            clock.time += 20
        clock.time += 40
        with session.turn(PROMPT) as turn:
            clock.time += 30
            (root / "src" / "login.py").write_text(AFTER)
            (root / "tests").mkdir()
            (root / "tests" / "test_login.py").write_text(TEST)
            turn.round([edit("src/login.py"), edit("tests/test_login.py", name="Write")])
            clock.time += 10
            os.chmod(root / "run.sh", 0o755)
            (root / "logo.png").write_bytes(b"\x89PNG\0" + bytes(14_000))
            (root / "old.txt").unlink()
            turn.round([ran()])
            clock.time += 10
        return next(e for e in tb.checkpoints() if e.checkpoint.id == turn.before.id)
