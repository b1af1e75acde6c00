"""The pictures of the picker in docs/pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from takeback.app.engine import Engine
from takeback.tui.detail.pane import DiffPane
from takeback.tui.picker import PickerApp
from takeback.tui.timeline.pane import FilterScreen
from takeback.words.listing import Columns
from takeback.words.status import status_lines
from takeback.words.text import Paint
from tests.support.engine import TestClock
from tests.tui.pictures import assert_picture, assert_printed
from tests.tui.stage import until
from tests.tui.world import (
    main,
    open_app,
    play,
    rows_of,
    step_back_ten_times,
    tell_story,
    title_of,
)


@pytest.fixture
def clock(workspace: Path) -> TestClock:
    return tell_story(workspace)


async def choose(app: PickerApp, pilot: Pilot[None], prompt: str) -> None:
    """Moves to a turn and waits until its diff is drawn."""
    for _ in range(20):
        chosen = rows_of(app).chosen
        if chosen is not None and (chosen.prompt or "").startswith(prompt):
            break
        await pilot.press("down")
    pane = main(app).query_one(DiffPane)
    await until(pilot, lambda: any("@@" in pane.render_line(y).text for y in range(8)))
    await pilot.pause(0.2)


def test_the_picker(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await choose(app, pilot, "fix the login bug")
        await assert_picture(app, "picker")

    # As many lines as there is to see: it is the README's.
    play(open_app(workspace, clock, theme="textual-dark"), story, size=(150, 27))


def test_the_picker_on_light_ground(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await choose(app, pilot, "fix the login bug")
        await assert_picture(app, "picker-light")

    play(open_app(workspace, clock, theme="textual-light"), story, size=(160, 48))


def test_the_picker_on_a_small_screen(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await choose(app, pilot, "only rename the cart")
        await assert_picture(app, "picker-80x24")

    play(open_app(workspace, clock, theme="textual-dark"), story, size=(80, 24))


def test_a_search_and_a_filter(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"login")
        await until(pilot, lambda: "search: login" in title_of(app))
        await choose(app, pilot, "fix the login bug")
        main(app).timeline.search.cursor_blink = False  # type: ignore[union-attr]
        await assert_picture(app, "picker-search")
        await pilot.press("escape")
        await until(pilot, lambda: "search: login" not in title_of(app))
        await pilot.press("home")
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, FilterScreen))
        app.screen.query_one("Input").cursor_blink = False  # type: ignore[attr-defined]
        await pilot.pause()
        await assert_picture(app, "picker-filter")

    play(open_app(workspace, clock, theme="textual-dark"), story, size=(80, 24))


def test_the_log(workspace: Path, clock: TestClock) -> None:
    with Engine.open(workspace, clock=clock) as tb:
        found = tb.listing(limit=30)
    for width, name in ((80, "log-80x24"), (160, "log-160x48")):
        columns = Columns(found, Paint(on=True), clock.now(), room=width)
        assert_printed(columns.all_lines(), name, width)


def test_the_status(workspace: Path, clock: TestClock) -> None:
    (workspace / "notes.txt").write_text("by hand\n")
    with Engine.open(workspace, clock=clock) as tb:
        found = tb.status(look=True)
    # Where it is and how large differs from one machine to the next.
    placed = found.replace(root=b"/home/dev/shop", store="/home/dev/.local/share/takeback/shop")
    sized = placed.replace(bytes=3 << 19, snapshot_bytes=1 << 20, growth=1 << 18)
    lines = list(status_lines(sized, Paint(on=True), clock.now()))
    for width, name in ((80, "status-80x24"), (160, "status-160x48")):
        assert_printed(lines, name, width)


def settled(svg: str) -> str:
    """Gives the sessions that rewinds made the same names in each run."""
    seen: dict[str, str] = {}
    return re.sub(
        r"s1\.([0-9a-f]{4,8})",
        lambda found: f"s1.{seen.setdefault(found[1][:4], f'{0xA1 + len(seen):04x}')}",
        svg,
    )


def test_after_ten_rewinds(workspace: Path) -> None:
    clock = step_back_ten_times(workspace)
    for size, name in (((80, 24), "rewinds-80x24"), ((160, 48), "rewinds-160x48")):

        async def story(app: PickerApp, pilot: Pilot[None], name: str = name) -> None:
            await until(pilot, lambda: rows_of(app).chosen is not None)
            await assert_picture(app, name, settle=settled)

        play(open_app(workspace, clock, theme="textual-dark"), story, size=size)
