"""Pictures of every stage between the timeline and what was done."""

from __future__ import annotations

import errno
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from takeback import durable
from takeback.tui.dialog import ActionsScreen, ConflictScreen, TroubleScreen
from takeback.tui.picker import PickerApp
from takeback.tui.plan import AfterScreen, PlanScreen, RefusalScreen
from tests.tui import pictures, recording, talk, world
from tests.tui.stage import said, screen_text, shows, until
from tests.tui.test_trouble import FailingFrom


@pytest.fixture
def root() -> Iterator[Path]:
    with talk.shop() as made:
        yield made
    durable.faults = None


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of that name, for the agent to be resumed with."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def play(root: Path, story: Callable[[PickerApp, Pilot[None]], Awaitable[None]]) -> None:
    app = world.open_app(root, talk.clock_at_noon(), theme="textual-dark")
    world.play(app, story)


async def assert_picture(app: PickerApp, name: str) -> None:
    await pictures.assert_picture(app, name, settle=talk.settled)


async def choose(app: PickerApp, pilot: Pilot[Any], *keys: str) -> None:
    """Goes to a row by keys and presses Enter."""
    await pilot.press(*keys, "enter")
    await shows(pilot, ActionsScreen)


@pytest.mark.long
def test_actions_plan_and_what_was_done(root: Path, claude: None) -> None:
    async def keys(app: PickerApp, pilot: Pilot[None]) -> None:
        await assert_picture(app, "before")
        await choose(app, pilot)
        await assert_picture(app, "actions")
        await pilot.press("b")
        assert "your own edit since then" in said(await shows(pilot, PlanScreen))
        await assert_picture(app, "plan")
        await pilot.press("y")
        assert "Resume the agent (r)" in said(await shows(pilot, AfterScreen))
        await assert_picture(app, "after")
        await pilot.press("escape")
        await until(pilot, lambda: "taken back" in screen_text(app))
        await assert_picture(app, "taken-back")

    play(root, keys)


def test_the_recording_is_made_of_these_pictures() -> None:
    shots = (
        ("before", "turn 3 went wrong", 3.0),
        ("actions", "Enter: what can be done there", 3.0),
        ("plan", "b: the plan, before anything happens", 4.0),
        ("after", "y: done, and how it goes on", 4.0),
        ("taken-back", "Esc: the turn is taken back; u brings it back", 3.0),
    )
    frames = [
        recording.Frame((pictures.PICTURES / f"{name}.svg").read_text(), caption, seconds)
        for name, caption, seconds in shots
    ]
    pictures.assert_text(recording.film(frames), "recording")


def test_refusals(root: Path) -> None:
    talk.crowd(root)

    async def keys(app: PickerApp, pilot: Pilot[None]) -> None:
        await choose(app, pilot, "down")
        await pilot.press("b")
        await shows(pilot, PlanScreen)
        await pilot.press("y")
        await shows(pilot, RefusalScreen)
        await pilot.press("2")
        await until(pilot, lambda: bool(app.screen.query("#word")))
        await pilot.press(*"del")
        await assert_picture(app, "refusal")

    play(root, keys)


def test_conflicts(root: Path) -> None:
    async def keys(app: PickerApp, pilot: Pilot[None]) -> None:
        await choose(app, pilot)
        await pilot.press("v")
        assert "1 question first" in said(await shows(pilot, PlanScreen))
        await pilot.press("y")
        await shows(pilot, ConflictScreen)
        await assert_picture(app, "conflict")

    play(root, keys)


def test_trouble(root: Path) -> None:
    async def keys(app: PickerApp, pilot: Pilot[None]) -> None:
        await choose(app, pilot)
        await pilot.press("f")
        await shows(pilot, PlanScreen)
        durable.faults = FailingFrom("unlink", errno.ENOSPC)
        await pilot.press("y")
        await shows(pilot, TroubleScreen)
        await assert_picture(app, "trouble")
        durable.faults = None

    play(root, keys)
