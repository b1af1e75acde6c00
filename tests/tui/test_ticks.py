"""Hunks that are ticked in the detail, and the boxes of the files they are in."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from takeback.app.engine import Engine
from takeback.tui.bars import KeyBar
from takeback.tui.detail.pane import DiffPane
from takeback.tui.dialog import ActionsScreen, TroubleScreen
from takeback.tui.picker import PickerApp
from takeback.tui.plan import AfterScreen, PlanScreen
from takeback.words.changes import TICK_ELSEWHERE
from tests.support.engine import NOON, TestClock
from tests.support.trees import tree_state
from tests.tui.detail_stage import AFTER, Stage, login_turn, settled, shows, takeback
from tests.tui.pictures import assert_picture
from tests.tui.stage import framed, said, until
from tests.tui.stage import shows as screen
from tests.tui.world import main, open_app, play

LOGIN = b"src/login.py"
FIRST = AFTER.replace("import hmac\n", "")
"""The file with the first of its two hunks taken back."""


def heads(stage: Stage) -> list[str]:
    return [line for line in stage.diff if "@@ -" in line]


def box_of(stage: Stage, path: str) -> str:
    [line] = [line for line in stage.files if path in line]
    return line[1:4]


async def at_login(stage: Stage, pilot: Pilot[None]) -> None:
    """Goes to the diff of src/login.py, where going there shows what it would change."""
    await pilot.press("v")
    await settled(pilot)
    await pilot.press("end", "up")
    await settled(pilot)
    assert stage.diff[0] == "src/login.py"
    await pilot.press("tab")


def hunks(stage: Stage) -> list[set[int]]:
    return [set(one.numbers) for one in stage.detail.ticked.hunks]


def test_space_in_the_diff_ticks_a_hunk(workspace: Path) -> None:
    """A file's tick is all of its hunks, and the other way round; in part is said as such."""
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await at_login(stage, pilot)
        assert [head[:7] for head in heads(stage)] == [">[ ] @@", " [ ] @@"]
        assert heads(stage)[1].endswith("def check(name, password):"), "git's own heads"
        await pilot.press("space")
        assert [head[:4] for head in heads(stage)] == [">[x]", " [ ]"]
        assert box_of(stage, "src/login.py") == "[-]"
        assert stage.files[0].endswith(", 1 partly")
        assert hunks(stage) == [{0}]
        await pilot.press("n", "space")
        assert [head[:4] for head in heads(stage)] == [" [x]", ">[x]"]
        assert box_of(stage, "src/login.py") == "[x]"
        assert (stage.detail.ticked.files, hunks(stage)) == (frozenset({LOGIN}), [])
        await pilot.press("n", "space")  # after the last comes the first
        assert [head[:4] for head in heads(stage)] == [">[ ]", " [x]"]
        assert hunks(stage) == [{1}]
        await pilot.press("p", "space")
        assert box_of(stage, "src/login.py") == "[ ]"
        assert not stage.detail.ticked.paths
        await pilot.press("space", "shift+tab", "space")  # in part becomes whole
        assert [head[:4] for head in heads(stage)] == [" [x]", ">[x]"]
        assert (stage.detail.ticked.files, hunks(stage)) == (frozenset({LOGIN}), [])
        await pilot.press("space")
        assert [head[:4] for head in heads(stage)] == [" [ ]", ">[ ]"]

    shows(workspace, entry, play)


def test_hunks_of_what_a_turn_changed_cannot_be_ticked(workspace: Path) -> None:
    """They may be others by now: it says where they can be."""
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.press("end", "up")
        await settled(pilot)
        await pilot.press("tab", "space")
        await pilot.pause()
        assert [head[:3] for head in heads(stage)] == ["@@ ", "@@ "]
        assert not stage.detail.ticked.paths
        assert [note.message for note in stage._notifications] == [TICK_ELSEWHERE]

    shows(workspace, entry, play)


def test_what_has_no_hunks_is_ticked_as_a_whole(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.press("v")
        await settled(pilot)
        for at, path in enumerate([b"logo.png", b"old.txt", b"run.sh"]):
            await pilot.press("home", *["down"] * at)
            await settled(pilot)
            await pilot.press("tab", "space")
            await pilot.pause()
            assert path in stage.detail.ticked.files
            await pilot.press("shift+tab")
        assert hunks(stage) == []
        assert len(stage.detail.ticked.files) == 3

    shows(workspace, entry, play)


@pytest.mark.long
def test_hunks_that_are_others_now_are_no_longer_ticked(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await at_login(stage, pilot)
        await pilot.press("space", "v")
        await settled(pilot)
        assert box_of(stage, "src/login.py") == "[-]", "looking elsewhere unticks nothing"
        await pilot.press("v")
        await settled(pilot)
        assert hunks(stage) == [{0}]
        assert heads(stage)[0].startswith(">[x]")
        (workspace / "src" / "login.py").write_text("# by hand\n" + AFTER)
        await pilot.press("v", "v")
        await settled(pilot)
        assert not stage.detail.ticked.paths
        assert box_of(stage, "src/login.py") == "[ ]"
        [note] = [note.message for note in stage._notifications]
        assert note == "src/login.py changed meanwhile; tick its hunks again"

    shows(workspace, entry, play)


def many_hunks(workspace: Path) -> None:
    """A long file of which a turn changed every tenth line."""
    lines = [f"line {number}\n" for number in range(300)]
    (workspace / "long.txt").write_text("".join(lines))
    with takeback(workspace) as (tb, _), tb.session(agent="mine").turn("change"):
        lines[5::10] = [f"{number}\n" for number in range(30)]
        (workspace / "long.txt").write_text("".join(lines))


def test_the_cursor_is_on_a_hunk_that_can_be_seen(workspace: Path) -> None:
    many_hunks(workspace)
    with Engine.open(workspace) as tb:
        entry = tb.checkpoints(limit=1)[0]

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.press("v")
        await settled(pilot)
        pane = stage.query_one(DiffPane)
        await pilot.press("tab", "end")
        await until(pilot, lambda: pane.scroll_y == pane.max_scroll_y > 0)
        await settled(pilot)
        assert any(head.startswith(">[ ]") for head in heads(stage))
        await pilot.press("home")
        await until(pilot, lambda: pane.scroll_y == 0)
        assert any(head.startswith(">[ ]") for head in heads(stage))
        while pane._cursor:
            await pilot.press("p")
        await pilot.press(*["n"] * 12, "space")
        await settled(pilot)
        assert hunks(stage) == [{12}]
        assert any(head.startswith(">[x]") for head in heads(stage))
        await pilot.press("s")  # side by side has the same boxes
        await settled(pilot)
        assert pane.side_by_side
        await pilot.press("n", "p")
        await settled(pilot)
        assert any(head.startswith(">[x]") for head in heads(stage))
        [y] = [at for at, line in enumerate(stage.diff) if line.startswith(">[x]")]
        await pilot.click("#diff", offset=(2, y))
        assert hunks(stage) == []

    shows(workspace, entry, play)


@pytest.mark.long
def test_the_box_of_a_hunk_longer_than_the_screen_is_seen_when_it_is_ticked(
    workspace: Path,
) -> None:
    (workspace / "long.txt").write_text("".join(f"{number}\n" for number in range(200)))
    with takeback(workspace) as (tb, _):
        with tb.session(agent="mine").turn("change"):
            (workspace / "long.txt").write_text("".join(f"{-number}\n" for number in range(200)))
        entry = tb.checkpoints(limit=1)[0]

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.press("v")
        await settled(pilot)
        await pilot.press("tab", "end")
        pane = stage.query_one(DiffPane)
        await until(pilot, lambda: pane.scroll_y == pane.max_scroll_y > 0)
        assert heads(stage) == []
        await pilot.press("space")
        await until(pilot, lambda: heads(stage) != [])
        assert heads(stage)[0].startswith(">[x]")

    shows(workspace, entry, play)


def test_the_picture_of_ticked_hunks(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await at_login(stage, pilot)
        await pilot.press("n", "space")
        await settled(pilot)
        await assert_picture(stage, "detail-hunks")

    shows(workspace, entry, play, size=(96, 38))


@pytest.mark.parametrize("changes_meanwhile", [False, True])
def test_only_what_is_ticked(workspace: Path, changes_meanwhile: bool) -> None:
    """Through the picker: the plan, the yes, what was done, and back by one key."""
    login_turn(workspace)
    file = workspace / "src" / "login.py"

    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        detail, screen_of = main(app).detail, main(app)
        assert detail is not None
        await pilot.press("v", "tab")
        pane = detail.query_one(DiffPane)
        await until(pilot, lambda: detail.query_one("#files").virtual_size.height == 5)
        await pilot.press("end", "up")
        await until(pilot, lambda: pane.has_hunks and pane._boxes is not None)
        await pilot.press("tab")
        assert "n p hunk" in screen_of.query_one(KeyBar).render_line(0).text
        await pilot.press("space")
        await pilot.pause()
        assert len(detail.ticked.hunks) == 1
        if changes_meanwhile:
            file.write_text(AFTER + "# by hand\n")
        await pilot.press("enter")
        assert "t Only what is ticked: 1 hunk" in said(await screen(pilot, ActionsScreen))
        await pilot.press("t")
        if changes_meanwhile:
            text = framed(await screen(pilot, TroubleScreen))
            assert "The hunks of src/login.py are others now" in text
            assert "No file was changed." in text
            return
        plan = framed(await screen(pilot, PlanScreen))
        assert "src/login.py" in plan
        assert "run.sh" not in plan
        assert file.read_text() == AFTER
        await pilot.press("y")
        await screen(pilot, AfterScreen)
        assert file.read_text() == FIRST
        await pilot.press("u")
        await screen(pilot, PlanScreen)
        await pilot.press("y")
        await until(pilot, lambda: file.read_text() == AFTER)
        await screen(pilot, AfterScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen_of)
        assert not detail.ticked.hunks

    before = tree_state(workspace)
    play(open_app(workspace, TestClock(NOON + 600)), story, size=(120, 40))
    if not changes_meanwhile:
        assert tree_state(workspace) == before
