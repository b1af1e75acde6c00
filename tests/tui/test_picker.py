"""The picker as a whole: keys pressed on a real workspace."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from takeback.app.engine import Engine
from takeback.model.coverage import Overrides
from takeback.tui.bars import HelpScreen, KeyBar
from takeback.tui.detail.files import FileList
from takeback.tui.dialog import SaidScreen
from takeback.tui.picker import INTERRUPTED, PickerApp
from takeback.tui.pieces import TIMELINE, fitting
from takeback.tui.timeline.pane import FilterScreen, SearchLine
from tests.support.engine import KillAt, Killed, TestClock
from tests.support.journey import write_files
from tests.tui.stage import screen_text, until
from tests.tui.world import (
    Agent,
    lines_of,
    main,
    open_app,
    play,
    rows_of,
    tell_story,
    title_of,
)


@pytest.fixture
def clock(workspace: Path) -> TestClock:
    return tell_story(workspace)


def prompt_of(app: PickerApp) -> str | None:
    chosen = rows_of(app).chosen
    return None if chosen is None else chosen.prompt or chosen.kind


def listed(app: PickerApp) -> list[str | None]:
    """Returns the prompts of the rows that are shown, newest first."""
    rows = rows_of(app)._rows
    return [row.item.prompt or row.item.kind for row in rows.rows if row.can_be_chosen]


def test_it_opens_at_the_newest_turn(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        assert prompt_of(app) == "add a dark theme, and remember which one was chosen"
        assert lines_of(app)[0].startswith("❯ ◆ ✓ turn 2  add a dark theme")
        assert "9 turns" in title_of(app)
        await pilot.press("up")
        assert prompt_of(app) == "manual"

    play(open_app(workspace, clock), story)


def test_it_says_what_keeps_an_agent_from_being_heard(workspace: Path, clock: TestClock) -> None:
    path = workspace / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"disableAllHooks": true}')

    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: any(str(path) in n.message for n in app._notifications))

    play(open_app(workspace, clock), story)


def test_search_as_you_type_over_prompts_and_paths(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"login")
        await until(pilot, lambda: "search: login" in title_of(app))
        assert listed(app) == [
            "try it with sessions on the server instead of signed cookies",
            "rename everything to plain words and move it to src/",
            "fix the login bug: an old cookie logs you in as somebody else",
        ]
        await pilot.press("down")  # in the list, while the line has the keys
        assert prompt_of(app) == "rename everything to plain words and move it to src/"
        await pilot.press("enter")
        assert rows_of(app).has_focus
        await pilot.press("slash", *("backspace",) * 5, *"DARK theme")
        await until(pilot, lambda: "search: DARK theme" in title_of(app))
        assert listed(app) == ["add a dark theme, and remember which one was chosen"]
        await pilot.press(*" nowhere")
        await until(pilot, lambda: "0 turns" in title_of(app))
        assert "Nothing found." in lines_of(app)[1]

    play(open_app(workspace, clock), story)


@pytest.mark.long
def test_the_newest_search_wins(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash")
        pane = main(app).timeline
        for text in ("l", "lo", "cart", "login"):
            pane.post_message(SearchLine.Sought(text))
        await until(pilot, lambda: "search: login" in title_of(app))
        await pilot.pause(0.3)
        assert len(listed(app)) == 3

    play(open_app(workspace, clock), story)


def test_escape_steps_back_one_stage_and_then_quits(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, FilterScreen))
        await pilot.press(*"agent cl", "enter")
        await until(pilot, lambda: "only agent claude" in title_of(app))
        await pilot.press("slash", *"cart")
        await until(pilot, lambda: "search: cart" in title_of(app))
        await pilot.press("enter", "tab")
        detail = main(app).detail
        assert detail is not None
        assert detail.has_focus_within
        await pilot.press("escape")
        assert rows_of(app).has_focus
        assert "search: cart" in title_of(app)
        await pilot.press("escape")
        await until(pilot, lambda: "search" not in title_of(app))
        assert "only agent claude" in title_of(app)
        await pilot.press("escape")
        await until(pilot, lambda: "only" not in title_of(app))
        assert app.is_running
        assert len(listed(app)) == 11
        await pilot.press("escape")
        await until(pilot, lambda: not app.is_running)

    app = open_app(workspace, clock)
    play(app, story)
    assert app.return_code == 0


FILTERS = (
    ("agent codex", "only agent codex", 2),
    ("session claude 9c41", "only session claude 9c41", 1),
    ("anything", "only anything with a label", 2),
    ("label login", "only label login", 1),
    ("cart.py", "only files with cart.py in their path", 4),
)


@pytest.mark.long
def test_filters(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        for typed, title, rows in FILTERS:
            await pilot.press("f")
            await until(pilot, lambda: isinstance(app.screen, FilterScreen))
            await pilot.press(*typed, "enter")
            await until(pilot, lambda title=title: title in title_of(app))  # type: ignore[misc]
            assert len(listed(app)) == rows, title
            await pilot.press("escape")
            await until(pilot, lambda: "only" not in title_of(app))

    play(open_app(workspace, clock), story, size=(100, 30))


def test_a_filter_that_is_stepped_back_from_changes_nothing(
    workspace: Path, clock: TestClock
) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, FilterScreen))
        await pilot.press("down", "up", "down", "escape")
        await until(pilot, lambda: app.screen is main(app))
        assert len(listed(app)) == 11

    play(open_app(workspace, clock), story)


def test_a_turn_that_ends_meanwhile_appears_and_the_cursor_stays(
    workspace: Path, clock: TestClock
) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "down")
        assert prompt_of(app) == "only rename the cart this time"
        with Engine.open(workspace, clock=clock) as other:
            agent = Agent(other, workspace, clock, "pi", "77")
            agent.turn("write the manual", 0, {"manual.md": b"# How to\n"})
        await until(pilot, lambda: "10 turns" in title_of(app))
        assert "write the manual" in lines_of(app)[0]
        assert prompt_of(app) == "only rename the cart this time"
        await until(pilot, lambda: "manual.md" in lines_of(app)[1])

    play(open_app(workspace, clock), story)


@pytest.mark.long
def test_a_label_given_elsewhere_appears(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        with Engine.open(workspace, clock=clock) as other:
            other.label("codex/turn:2", "dark")
        await until(pilot, lambda: "[dark]" in lines_of(app)[0])

    play(open_app(workspace, clock), story)


def test_the_detail_follows_the_cursor(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await pilot.press("down")
        files = main(app).query_one(FileList)
        await until(pilot, lambda: "shop/sessions.py" in files.render_line(1).text)

    play(open_app(workspace, clock), story, size=(160, 48))


@pytest.mark.long
def test_wide_and_narrow(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        screen = main(app)
        detail = screen.detail
        assert detail is not None
        assert detail.region.y == screen.timeline.region.y
        await pilot.resize_terminal(100, 30)
        await pilot.pause()
        assert detail.region.y > screen.timeline.region.y
        assert detail.region.width == 100
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert screen.timeline.region.height >= 10
        assert detail.region.height >= 6
        await pilot.press("tab")
        await pilot.pause()
        assert detail.region.height > screen.timeline.region.height
        await pilot.resize_terminal(160, 48)
        await pilot.pause()
        assert detail.region.y == screen.timeline.region.y

    play(open_app(workspace, clock), story, size=(120, 40))


def test_the_foot_names_the_keys_that_there_are(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        bar = main(app).query_one(KeyBar)
        assert "q quit" in bar.render_line(0).text
        await pilot.press("tab")
        assert "space tick" in bar.render_line(0).text
        await pilot.press("escape", "slash")
        assert "esc close" in bar.render_line(0).text
        await pilot.press("escape", "question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert "search prompts and paths" in screen_text(app)
        await pilot.press("escape")
        at = next(at for at, key in fitting(TIMELINE, bar.size.width) if key.word == "help")
        await pilot.click(KeyBar, offset=(at + 1, 0))
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("question_mark")
        await until(pilot, lambda: app.screen is main(app))

    play(open_app(workspace, clock), story)


def test_dark_and_light(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        assert app.theme == "textual-dark"
        await pilot.press("t")
        assert app.theme == "textual-light"
        await pilot.press("t")
        assert app.theme == "textual-dark"

    play(open_app(workspace, clock, theme="textual-dark"), story)


def test_the_theme_fits_the_terminal(
    workspace: Path, clock: TestClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert open_app(workspace, clock).theme == "ansi-dark"
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert open_app(workspace, clock).theme == "textual-dark"
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert open_app(workspace, clock).theme == "textual-light"
    monkeypatch.setenv("NO_COLOR", "1")
    assert open_app(workspace, clock).theme == "ansi-light"


def test_without_colours_signs_and_words_are_left(
    workspace: Path, clock: TestClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        text = screen_text(app)
        assert "taken back" in text
        assert "❯ ◆ ✓ turn 2" in text
        for y in range(app.size.height):
            for segment in app.screen._compositor.render_strips()[y]:
                style = segment.style
                assert style is None or style.color is None or style.color.is_default
                assert style is None or style.bgcolor is None or style.bgcolor.is_default

    play(open_app(workspace, clock), story)


def test_q_quits_with_0_and_control_c_with_130(workspace: Path, clock: TestClock) -> None:
    for key, status in (("q", 0), ("ctrl+c", INTERRUPTED)):

        async def story(app: PickerApp, pilot: Pilot[None], key: str = key) -> None:
            await pilot.press(key)
            await until(pilot, lambda: not app.is_running)

        app = open_app(workspace, clock)
        play(app, story)
        assert app.return_code == status


def test_a_widget_without_its_parts_while_it_closes_is_no_bug(
    workspace: Path, clock: TestClock
) -> None:
    """A detail or a dialog may be on its way when Ctrl-C comes: it finds none of its parts."""

    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        app.action_interrupt()
        main(app).call_next(main(app).query_one, "#never-composed")

    app = open_app(workspace, clock)
    play(app, story)
    assert app.return_code == INTERRUPTED


def test_an_id_is_copied(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await pilot.press("y")
        chosen = rows_of(app).chosen
        assert chosen is not None
        assert app.clipboard == chosen.id

    play(open_app(workspace, clock), story)


def test_a_workspace_without_checkpoints_says_what_to_do(workspace: Path) -> None:
    clock = TestClock()

    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        assert "No checkpoints yet." in lines_of(app)[1]
        assert any("takeback init" in line for line in lines_of(app))
        await pilot.press("down", "enter", "l", "y", "tab", "escape", "slash", "x", "escape", "f")
        await until(pilot, lambda: isinstance(app.screen, FilterScreen))
        await pilot.press("escape")
        write_files(workspace, {"a.txt": b"a\n"})
        with Engine.open(workspace, clock=clock) as other:
            other.checkpoint("first")
        await until(pilot, lambda: "[first]" in lines_of(app)[0])

    play(open_app(workspace, clock), story)


def test_an_interrupted_operation_is_recovered_and_that_is_said(
    workspace: Path, clock: TestClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from takeback import durable

    with Engine.open(workspace, clock=clock) as tb:
        target = tb.find("claude-2a8f61c0/turn:6")
        with monkeypatch.context() as patch:
            patch.setattr(durable, "faults", KillAt("exchange"))
            with pytest.raises(Killed):
                tb.rewind(target, scope="files", overrides=Overrides.all())
        assert tb.interrupted

    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: isinstance(app.screen, SaidScreen))
        assert "interrupted rewind was found" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main(app))
        assert any("turn 6" in line and "<- here, before it" in line for line in lines_of(app))

    play(open_app(workspace, clock), story, size=(120, 30))
    with Engine.open(workspace, clock=clock) as tb:
        assert not tb.interrupted


def test_a_log_that_cannot_be_read_is_said_and_the_rest_is_shown(
    workspace: Path, clock: TestClock
) -> None:
    with Engine.open(workspace, clock=clock) as tb:
        refs = Path(tb.store_directory, "store.git", "refs", "takeback")
    [log] = (refs / "operations").iterdir()  # that of this machine

    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        log.write_bytes(b"garbled")
        await until(pilot, lambda: any("is damaged" in n.message for n in app._notifications))
        assert app.is_running
        assert "9 turns" in title_of(app)

    play(open_app(workspace, clock), story)


@pytest.mark.long
def test_a_very_small_screen(workspace: Path, clock: TestClock) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        for size in ((30, 8), (12, 4), (3, 2), (200, 60)):
            await pilot.resize_terminal(*size)
            await pilot.press("down", "tab", "escape", "slash", "x", "escape", "question_mark")
            await pilot.press("escape", "f", "escape", "home")
            await until(pilot, lambda: app.screen is main(app))
        assert lines_of(app)[0].startswith("❯")

    play(open_app(workspace, clock), story, size=(40, 10))
