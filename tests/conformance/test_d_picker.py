"""D. The picker: keys pressed in the real app, on a real workspace."""

from __future__ import annotations

import os
from pathlib import Path

from textual.pilot import Pilot

from takeback.app.engine import Engine
from takeback.model.coverage import Overrides
from takeback.tui.detail.files import FileList
from takeback.tui.detail.lines import Lines
from takeback.tui.detail.pane import DiffPane
from takeback.tui.dialog import ActionsScreen
from takeback.tui.main import MainScreen
from takeback.tui.picker import PickerApp
from takeback.tui.plan import AfterScreen, PlanScreen
from tests.support.engine import NOON, TestClock
from tests.support.journey import write_files
from tests.support.trees import git_state, tree_state
from tests.tui.stage import framed, shows, until
from tests.tui.talk import clock_at_noon, shop
from tests.tui.world import (
    DAY,
    HOUR,
    MINUTE,
    Agent,
    lines_of,
    main,
    open_app,
    play,
    tell_story,
    title_of,
)


def _seen(app: PickerApp, kind: type[Lines]) -> str:
    """Returns a pane of the detail as it stands on the screen."""
    pane = main(app).query_one(kind)
    height = pane.scrollable_content_region.height
    return "\n".join(pane.render_line(y).text.rstrip() for y in range(height))


def test_51_newest_first_with_all_that_tells_a_turn(workspace: Path) -> None:
    """Prompt, age, three files and how many more, counts, completeness, and where one stands."""
    clock = TestClock()
    write_files(workspace, {"a.txt": b"a\n"})
    with Engine.open(workspace, clock=clock) as tb:
        agent = Agent(tb, workspace, clock, "claude", "1")
        agent.turn("two days ago", 2 * DAY, {"a.txt": b"b\n"})
        names = [f"f{number}.txt" for number in range(5)]
        agent.turn("three hours ago", 3 * HOUR, dict.fromkeys(names, b"1\n2\n"))
        target = agent.prompt("five minutes ago", 5 * MINUTE).checkpoint
        write_files(workspace, {"a.txt": b"b\nc\n"})
        agent.tell("turn_end", 4 * MINUTE, turn=agent.turn_id)
        Path(tb.store_directory, "config.toml").write_text("size_limit_mb = 1\n")
    (workspace / "film.bin").write_bytes(os.urandom(1 << 21))
    with Engine.open(workspace, clock=clock) as tb:
        Agent(tb, workspace, clock, "codex", "2").turn("just now", 20, {"a.txt": b"d\n"})
    (workspace / "film.bin").unlink()
    clock.time = NOON
    lines: list[str] = []

    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: any("+1 -1" in line for line in lines_of(app)))
        lines[:] = lines_of(app)

    def seen() -> list[str]:
        play(open_app(workspace, clock), story, size=(90, 40))
        return [" ".join(line.split()) for line in lines if line.strip()]

    assert seen() == [
        "❯ ◆ ! turn 1 just now <- here 20s",
        "codex · a.txt incomplete +1 -2",
        "● ✓ turn 3 five minutes ago 5m",
        "│ claude · a.txt +1 -0",
        "● ✓ turn 2 three hours ago 3h",
        "│ claude · f0.txt, f1.txt, f2.txt +2 more +10 -0",
        "● ✓ turn 1 two days ago 2d",
        "claude · a.txt +1 -1",
    ]
    with Engine.open(workspace, clock=clock) as tb:
        assert target is not None
        tb.rewind(target, scope="files", overrides=Overrides.all())
    there = seen()
    assert there[0] == "○ ! turn 1 just now 20s"
    assert there[1] == "codex · a.txt incomplete taken back +1 -2"
    assert there[2] == "❯ ◆ ✓ turn 3 five minutes ago <- here, before it 5m", "it opens there"
    assert there[3] == "│ claude · a.txt taken back +1 -0"


def test_52_long_lists_wrap_search_and_escape(workspace: Path) -> None:
    """Windowed, wraps, search as you type; Esc steps back one stage and never destroys."""
    clock = TestClock()
    write_files(workspace, {"a.txt": b"a\n"})
    with Engine.open(workspace, clock=clock) as tb:
        agent = Agent(tb, workspace, clock, "claude", "1")
        for number in range(1, 61):
            agent.turn(f"step {number} of it", HOUR - number, {"a.txt": b"%d\n" % number})
    clock.time = NOON
    before = tree_state(workspace, identity=True)

    def at(app: PickerApp) -> str:
        return next(line for line in lines_of(app) if line.startswith("❯"))

    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        assert len(lines_of(app)) < 24
        assert "turn 60" in at(app)
        await pilot.press("up")
        await until(pilot, lambda: "turn 1 " in at(app))
        await pilot.press("down")
        await until(pilot, lambda: "turn 60" in at(app))
        await pilot.press("slash", *"step 3")
        await until(pilot, lambda: "search: step 3 · 15 turns" in title_of(app))
        await pilot.press(*"7")
        await until(pilot, lambda: "search: step 37 · 1 turn" in title_of(app))
        await pilot.press("enter", "enter")
        await shows(pilot, ActionsScreen)
        await pilot.press("f")
        await shows(pilot, PlanScreen)
        for screen in (ActionsScreen, MainScreen):
            await pilot.press("escape")
            await shows(pilot, screen)
        assert "search: step 37" in title_of(app)
        await pilot.press("escape")
        await until(pilot, lambda: "60 turns" in title_of(app) and "search" not in title_of(app))
        assert "turn 37" in at(app)
        await pilot.press("escape")
        await until(pilot, lambda: not app.is_running)

    play(open_app(workspace, clock), story)
    assert tree_state(workspace, identity=True) == before


def test_53_the_choices_and_why_not() -> None:
    """Files and conversation, either, ticked files, forks, undo, redo, cancel; why not in words."""

    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        text = framed(await shows(pilot, ActionsScreen))
        for offered in (
            "b Files and conversation",
            "c The conversation only",
            "f The files only",
            "t Only the ticked files (not possible: no file is ticked)",
            "v Revert this turn only, keep what came later",
            "n Fork: a new session with this conversation",
            "w Fork, and the files here go back too",
            "d Fork into a new directory, with its files",
            "s Summarise what was said from here on",
            "p Summarise what was said up to here",
            "u Undo the last rewind (not possible: nothing to undo)",
            "r Redo what was undone (not possible: nothing to redo)",
            "q Cancel",
        ):
            assert offered in text
        await pilot.press("u")  # not possible: it says so and stays
        await pilot.pause()
        assert isinstance(app.screen, ActionsScreen)
        await pilot.press("q")
        await until(pilot, lambda: app.screen is main(app))
        await pilot.press("tab", "space", "escape", "enter")
        assert "Only the 1 ticked file" in framed(await shows(pilot, ActionsScreen))
        await pilot.press("f")
        await shows(pilot, PlanScreen)
        await pilot.press("y")
        await shows(pilot, AfterScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main(app))
        await pilot.press("enter")
        text = framed(await shows(pilot, ActionsScreen))
        assert "u Undo the last rewind, to before turn 3: fix the login bug" in text

    with shop() as root:
        play(open_app(root, clock_at_noon()), story)


def test_54_a_diff_before_anything_is_done(workspace: Path) -> None:
    """What that turn changed, and what going there would change now; looking changes nothing."""
    clock = tell_story(workspace)
    (workspace / "notes.txt").write_bytes(b"pay\nand ship\n")
    before = tree_state(workspace, identity=True), git_state(workspace, identity=True)

    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await pilot.press("down")  # from the running turn to the one before it
        await until(pilot, lambda: "shop/sessions.py" in _seen(app, FileList))
        await until(pilot, lambda: "+ SESSIONS = {}" in _seen(app, DiffPane))
        assert "tool Edit" in _seen(app, FileList)
        await pilot.press("tab", "space", "v")
        # written while a turn of another session runs: it counts as that one's
        await until(pilot, lambda: "another session" in _seen(app, FileList))
        files = _seen(app, FileList)
        assert "- shop/sessions.py" in files
        assert "~ shop/login.py" in files
        await pilot.press("home")
        await until(pilot, lambda: "- and ship" in _seen(app, DiffPane))
        detail = main(app).detail
        assert detail is not None
        assert detail.ticked.files == {b"shop/login.py"}

    play(open_app(workspace, clock), story, size=(160, 48))
    after = tree_state(workspace, identity=True), git_state(workspace, identity=True)
    assert after == before


def test_55_what_was_done_and_the_way_back() -> None:
    """Written, deleted, left alone, and the command that takes it back, which is one key away."""

    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await shows(pilot, ActionsScreen)
        await pilot.press("f")
        await shows(pilot, PlanScreen)
        await pilot.press("y")
        text = framed(await shows(pilot, AfterScreen))
        assert "Done in part: Rewound 2 files to" in text
        assert "Left alone: shop/login.py:" in text
        assert "Written: README.md" in text
        assert "Deleted: tests/test_login.py" in text
        assert "Take it back: takeback undo" in text
        await pilot.press("u")
        assert "Undo the rewind to before turn 3" in framed(await shows(pilot, PlanScreen))
        await pilot.press("y")
        assert "Take it back: takeback redo" in framed(await shows(pilot, AfterScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main(app))

    with shop() as root:
        (root / "shop" / "login.py").unlink()
        os.mkfifo(root / "shop" / "login.py")
        (root / "README.md").write_text("# Another shop\n")
        before = tree_state(root)
        play(open_app(root, clock_at_noon()), story, size=(80, 40))
        assert tree_state(root) == before
