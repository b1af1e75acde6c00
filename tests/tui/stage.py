"""A stage for the picker's questions: a workspace with a story, an app with an empty timeline."""

from __future__ import annotations

import asyncio
import html
import re
import subprocess
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from takeback.app.engine import Engine
from takeback.app.proposal import Ticked
from takeback.app.threads import PolledReporter, WorkspaceThread
from takeback.model.checkpoint import Resume
from takeback.timeline.timeline import TimelineEntry
from takeback.tui.flow import Flow
from tests.support.journey import write_files
from tests.support.processes import lock_holder

if TYPE_CHECKING:
    from takeback.tui.picker import PickerApp

PATIENCE = 60.0


class Stage(App[None]):
    """An app that a flow can be played in; its ``workspace`` has the workspace."""

    def __init__(self, workspace: Path) -> None:
        super().__init__()
        self.resume_with: Resume | None = None
        reporter = PolledReporter()
        self.workspace = WorkspaceThread(
            lambda: Engine.open(workspace, reporter=reporter), reporter
        )
        self.answer: object = None
        self.told: list[str] = []

    def compose(self) -> ComposeResult:
        yield Static("the timeline")

    @property
    def picker(self) -> PickerApp:
        """Itself, as flows know it."""
        return cast("PickerApp", self)

    @property
    def flow(self) -> Flow:
        return Flow(self.picker, self.workspace)

    def note_done(self, lines: Iterable[str]) -> None:
        """Keeps what the picker would tell in the terminal when it has closed."""
        self.told += lines

    def begin(self, flow: Coroutine[Any, Any, object]) -> None:
        """Starts a flow in a worker, as the picker does."""

        async def played() -> None:
            self.answer = await flow

        self.run_worker(played(), exit_on_error=True)

    async def entries(self) -> list[TimelineEntry]:
        """Returns the timeline, newest first."""
        return await self.workspace.ask(lambda tb: tb.checkpoints())

    async def travel(self, number: int = 0, *ticked: bytes) -> None:
        """Presses Enter at an entry, the newest if none is named."""
        entry = (await self.entries())[number]
        self.begin(self.flow.travel(entry, Ticked(frozenset(ticked))))

    async def step(self, kind: Any) -> None:
        self.begin(self.flow.step(kind))

    async def label(self, number: int = 0) -> None:
        self.begin(self.flow.label((await self.entries())[number]))


def play(
    workspace: Path,
    story: Callable[[Stage, Pilot[None]], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
) -> Stage:
    """Runs a story on a stage and closes it."""
    stage = Stage(workspace)

    async def played() -> None:
        async with stage.run_test(size=size, notifications=True) as pilot:
            await story(stage, pilot)

    try:
        asyncio.run(played())
    finally:
        stage.workspace.close()
    return stage


@contextmanager
def lock_held(workspace: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the workspace's lock until it is killed, or to the end."""
    with Engine.open(workspace) as tb:
        lock = str(Path(tb.store_directory, "lock"))
    with lock_holder(lock) as holder:
        yield holder


async def until(pilot: Pilot[Any], condition: Callable[[], bool]) -> None:
    """Waits until something is so; fails with what is on the screen."""
    end = asyncio.get_running_loop().time() + PATIENCE
    while not condition():
        if asyncio.get_running_loop().time() > end:
            raise AssertionError(f"it did not happen; on the screen:\n{screen_text(pilot.app)}")
        await pilot.pause(0.01)
    await pilot.pause()


async def shows(pilot: Pilot[Any], screen: type[object]) -> str:
    """Waits for a stage of the flow; returns what is on the screen."""
    await until(pilot, lambda: type(pilot.app.screen) is screen)
    await pilot.pause()
    return screen_text(pilot.app)


def screen_text(app: App[Any]) -> str:
    """Returns the words on the screen, line by line."""
    lines: dict[float, list[tuple[float, str]]] = {}
    pattern = r'<text [^>]*?x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>'
    for x, y, words in re.findall(pattern, app.export_screenshot()):
        text = html.unescape(words).replace("\xa0", " ")
        lines.setdefault(float(y), []).append((float(x), text))
    return "\n".join("".join(t for _, t in sorted(lines[y])).rstrip() for y in sorted(lines))


def said(text: str) -> str:
    """Returns the words of a screen as one line, the frame's lines and line ends left out."""
    return " ".join(re.sub(r"[│╭╮╰╯─▁▔▊▎▌]", " ", text).split())


def framed(text: str) -> str:
    """Returns the words inside the frame of a dialog as one line, without what is around it."""
    inside = (re.search(r"│(.*)│", line) for line in text.splitlines())
    return said(" ".join(found[1] for found in inside if found is not None))


def tell_story(workspace: Path, *, conversation: bool = True) -> None:
    """Three turns of an agent: a is changed, b comes, a changes again and c goes."""
    write_files(workspace, {"a.txt": b"0\n", "c.txt": b"c\n"})
    steps: list[tuple[str, dict[str, bytes | None]]] = [
        ("fix the login bug", {"a.txt": b"1\n"}),
        ("add a page", {"b.txt": b"b\n"}),
        ("tidy up", {"a.txt": b"2\n", "c.txt": None}),
    ]
    with Engine.open(workspace) as tb:
        session = tb.session(agent="mine", native="s1")
        said: list[dict[str, str]] = []
        for prompt, files in steps:
            with session.turn(prompt, conversation=list(said) if conversation else None) as turn:
                change(workspace, files)
                said += [{"role": "user", "text": prompt}, {"role": "assistant", "text": "done"}]
                turn.end(conversation=said if conversation else None)


def change(workspace: Path, files: dict[str, bytes | None]) -> None:
    """Writes files, and deletes those that are None."""
    for name, content in files.items():
        if content is None:
            (workspace / name).unlink()
        else:
            write_files(workspace, {name: content})


def files_of(workspace: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(workspace.iterdir()) if p.is_file()}
