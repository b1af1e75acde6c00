"""Real failures in the middle of a rewind: what happened, what to do, and the picker goes on."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from takeback import durable
from takeback.app.engine import Engine
from takeback.model.path_text import to_text
from takeback.tui.dialog import ActionsScreen, SaidScreen, TroubleScreen
from takeback.tui.plan import AfterScreen, PlanScreen
from tests.support.engine import garble
from tests.support.faults import Faults, run
from tests.tui.stage import (
    Stage,
    files_of,
    lock_held,
    play,
    said,
    screen_text,
    shows,
    tell_story,
    until,
)
from tests.tui.test_flow import BEFORE_TIDYING, NOW, at_timeline, operations, to_plan


@pytest.fixture
def story(workspace: Path) -> Path:
    tell_story(workspace)
    return workspace


@pytest.fixture(autouse=True)
def well() -> Iterator[None]:
    """The disk is well again after each test."""
    yield
    durable.faults = None


class FailingFrom(Faults):
    """A disk that fails from the first step of a name on."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(errno=number, sticky=True)
        self._name = name

    def step(self, name: str) -> None:
        if name == self._name and not self.at:
            self.at = len(self.names) + 1
        super().step(name)


async def goes_on(stage: Stage, pilot: Pilot[None]) -> None:
    """The picker is at the timeline again, and the same rewind now succeeds."""
    await at_timeline(stage, pilot)
    await to_plan(stage, pilot, "f")
    await pilot.press("y")
    await shows(pilot, AfterScreen)
    await pilot.press("escape")
    await at_timeline(stage, pilot)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_before_anything_is_changed(story: Path, number: int) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "f")
        durable.faults = Faults(at=1, errno=number, sticky=True)
        await pilot.press("y")
        trouble = said(await shows(pilot, TroubleScreen))
        assert os.strerror(number) in trouble
        assert "No file was changed." in trouble
        assert "recover" not in trouble.lower()
        assert files_of(story) == NOW
        durable.faults = None
        await pilot.press("escape")
        await goes_on(stage, pilot)

    play(story, keys)
    assert files_of(story) == BEFORE_TIDYING
    assert operations(story) == [("rewind", "files")]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_in_the_middle_and_is_recovered_by_a_key(
    story: Path, number: int
) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "f")
        durable.faults = FailingFrom("unlink", number)
        await pilot.press("y")
        trouble = said(await shows(pilot, TroubleScreen))
        assert f"The rewind failed: {os.strerror(number)}" in trouble
        assert "An operation was interrupted here" in trouble
        assert "nothing is lost" in trouble
        assert "No file was changed." not in trouble
        await pilot.press("r")  # the disk is still full: not even the lock can be had
        await until(pilot, lambda: "Locking the workspace failed" in said(screen_text(stage)))
        durable.faults = None
        await pilot.press("r")
        assert "An interrupted rewind was found and finished." in said(
            await shows(pilot, SaidScreen)
        )
        assert files_of(story) == BEFORE_TIDYING
        await pilot.press("escape")
        await at_timeline(stage, pilot)
        await stage.step("undo")
        await shows(pilot, PlanScreen)
        await pilot.press("y")
        await shows(pilot, AfterScreen)

    play(story, keys)
    assert files_of(story) == NOW


def test_what_was_interrupted_before_is_recovered_before_anything_is_asked(story: Path) -> None:
    def killed() -> None:
        with Engine.open(story) as tb:
            tb.rewind("turn:3", scope="files")

    steps = run(killed, Faults(at=10_000)).steps
    with Engine.open(story) as tb:
        tb.undo()
    assert run(killed, Faults(at=steps.index("exchange") + 2)).killed

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await stage.travel()
        assert "An operation was interrupted here" in said(await shows(pilot, TroubleScreen))
        await pilot.press("escape")
        await at_timeline(stage, pilot)
        await stage.step("undo")
        await shows(pilot, TroubleScreen)
        await pilot.press("r")
        assert "An interrupted rewind was found" in said(await shows(pilot, SaidScreen))
        await pilot.press("escape")
        assert "Undo the rewind to before turn 3" in said(await shows(pilot, PlanScreen))

    play(story, keys)


def test_a_lock_that_another_process_holds(story: Path, tmp_path: Path) -> None:
    config = tmp_path / "home" / ".config" / "takeback"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("lock_wait_seconds = 0.2\n")

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "f")
        with lock_held(story) as holder:
            await pilot.press("y")
            trouble = said(await shows(pilot, TroubleScreen))
            assert f"in use by process {holder.pid} (somebody else)" in trouble
            assert "No file was changed." in trouble
            await pilot.press("escape")
        await goes_on(stage, pilot)

    play(story, keys)
    assert files_of(story) == BEFORE_TIDYING


def test_a_damaged_object_leaves_its_file_alone_and_the_rest_goes_back(story: Path) -> None:
    with Engine.open(story) as tb:
        plan = tb.plan("turn:3", scope="files")
        [broken] = [c.new for c in plan.writes if to_text(c.path) == "c.txt"]
        assert broken is not None
        garble(tb._context.store, broken.oid)

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "f")
        await pilot.press("y")
        after = said(await shows(pilot, AfterScreen))
        assert "Done in part: Rewound 1 file" in after
        assert "Left alone: c.txt: cannot be restored: object" in after
        await pilot.press("escape")
        await at_timeline(stage, pilot)

    play(story, keys)
    assert files_of(story) == {**NOW, "a.txt": b"1\n"}


def test_a_damaged_snapshot_is_told_and_the_others_can_be_gone_to(story: Path) -> None:
    with Engine.open(story) as tb:
        garble(tb._context.store, bytes.fromhex(tb.find("turn:3").snapshot))

    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        plan = await to_plan(stage, pilot, "f")
        assert "Nothing can be changed: what is left alone cannot go to" in plan
        assert "is damaged" in plan
        await pilot.press("escape")
        await shows(pilot, ActionsScreen)
        await pilot.press("escape")
        await at_timeline(stage, pilot)
        await to_plan(stage, pilot, "f", 2)
        await pilot.press("y")
        await shows(pilot, AfterScreen)

    play(story, keys)
    assert files_of(story) == {"a.txt": b"0\n", "c.txt": b"c\n"}


def test_a_bug_is_told_as_one_and_the_picker_goes_on(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await to_plan(stage, pilot, "f")

        class Broken(Faults):
            def step(self, name: str) -> None:
                raise ZeroDivisionError("division by [zero]")

        durable.faults = Broken()
        await pilot.press("y")
        trouble = said(await shows(pilot, TroubleScreen))
        assert "This is a bug in takeback: ZeroDivisionError: division by [zero]" in trouble
        durable.faults = None
        await pilot.press("escape")
        await goes_on(stage, pilot)

    play(story, keys)
    assert files_of(story) == BEFORE_TIDYING


def test_nothing_to_undo_is_said(story: Path) -> None:
    async def keys(stage: Stage, pilot: Pilot[None]) -> None:
        await stage.step("undo")
        assert "There is nothing to undo." in said(await shows(pilot, TroubleScreen))
        await pilot.press("escape")
        await at_timeline(stage, pilot)

    play(story, keys)
