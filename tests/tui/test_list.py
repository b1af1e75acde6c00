"""The list: a cursor that wraps, the mouse, and a window on ten thousand rows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from takeback.model.row import TimelineRow
from takeback.timeline.timeline import Browsed
from takeback.tui.timeline.lines import build
from takeback.tui.timeline.list import TimelineList
from takeback.words import listing as words
from tests.tui.stage import until
from tests.tui.test_rows import browsed, row


class Listed(App[None]):
    """An app with nothing but the list; what it posts is kept."""

    def __init__(self, shown: Browsed) -> None:
        super().__init__()
        self.shown = shown
        self.opened: list[str] = []
        self.asked: list[str] = []

    def compose(self) -> ComposeResult:
        yield TimelineList(lambda: 0.0)

    def on_mount(self) -> None:
        self.rows.focus()
        self.rows.show(self.shown, build(self.shown))

    @property
    def rows(self) -> TimelineList:
        return self.query_one(TimelineList)

    @property
    def chosen(self) -> str:
        assert self.rows.chosen is not None
        return self.rows.chosen.id

    @property
    def top(self) -> str:
        """The first line in view."""
        return self.rows.render_line(0).text

    def on_timeline_list_opened(self, event: TimelineList.Opened) -> None:
        self.opened.append(event.row.id)

    def on_timeline_list_lacking(self, event: TimelineList.Lacking) -> None:
        self.asked += event.ids


def many(count: int) -> list[TimelineRow]:
    """Returns turns t1 to tN, newest first."""
    return [row(f"t{number}", number) for number in range(count, 0, -1)]


def play(
    app: Listed,
    story: Callable[[Listed, Pilot[None]], Awaitable[None]],
    size: tuple[int, int] = (60, 10),
) -> None:
    async def played() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await story(app, pilot)

    asyncio.run(played())


def test_the_cursor_begins_at_the_newest_and_wraps() -> None:
    async def story(app: Listed, pilot: Pilot[None]) -> None:
        assert app.chosen == "t50"
        await pilot.press("up")
        assert app.chosen == "t1"
        assert "turn 5" in app.top
        await pilot.press("down")
        assert app.chosen == "t50"
        assert "turn 50" in app.top
        await pilot.press("j", "j", "k")
        assert app.chosen == "t49"

    play(Listed(browsed(*many(50))), story)


def test_it_begins_where_the_files_stand_with_newer_and_older_rows_around_it() -> None:
    async def story(app: Listed, pilot: Pilot[None]) -> None:
        assert app.chosen == "t20"
        seen = [app.rows.render_line(y).text for y in range(10)]
        assert any("turn 21" in line for line in seen)
        assert any("turn 19" in line for line in seen)
        app.rows.show(app.shown.replace(here=("t40", "after")), build(app.shown))
        assert app.chosen == "t20"  # it is the person's from here on

    play(Listed(browsed(*many(50)).replace(here=("t20", "before"))), story)


def test_where_the_files_stand_may_be_known_only_when_all_is_read() -> None:
    everything = browsed(*many(50)).replace(here=("t20", "before"))
    some = browsed(*many(50)[:10]).replace(here=None, whole=False)

    async def story(app: Listed, pilot: Pilot[None]) -> None:
        assert app.chosen == "t50"
        app.rows.show(everything, build(everything))
        assert app.chosen == "t20"

    async def moved(app: Listed, pilot: Pilot[None]) -> None:
        await pilot.press("down")
        app.rows.show(everything, build(everything))
        assert app.chosen == "t49"

    play(Listed(some), story)
    play(Listed(some), moved)


def test_pages_and_ends() -> None:
    async def story(app: Listed, pilot: Pilot[None]) -> None:
        await pilot.press("pagedown")
        assert app.chosen == "t46"
        await pilot.press("pageup", "pageup")
        assert app.chosen == "t50"
        await pilot.press("end")
        assert app.chosen == "t1"
        await pilot.press("pagedown")
        assert app.chosen == "t1"
        await pilot.press("g")
        assert app.chosen == "t50"
        await pilot.press("G")
        assert app.chosen == "t1"

    play(Listed(browsed(*many(50))), story)


def test_a_thin_row_at_the_end_of_a_page_means_its_turn() -> None:
    rows = [one._replace(outside=1) for one in many(20)]

    async def story(app: Listed, pilot: Pilot[None]) -> None:
        await pilot.press("pagedown")  # 8 lines down is the thin row of the third turn
        assert app.chosen == "t18"
        await pilot.click(TimelineList, offset=(5, 2))
        assert app.chosen in ("t20", "t19", "t18")
        await pilot.press("end")
        assert app.chosen == "t1"

    play(Listed(browsed(*rows)), story)


def test_a_click_chooses_and_a_double_click_opens() -> None:
    async def story(app: Listed, pilot: Pilot[None]) -> None:
        await pilot.click(TimelineList, offset=(10, 5))
        assert (app.chosen, app.opened) == ("t48", [])
        await pilot.click(TimelineList, offset=(10, 2), times=2)
        await pilot.pause()
        assert (app.chosen, app.opened) == ("t49", ["t49"])
        await pilot.press("enter")
        assert app.opened == ["t49", "t49"]

    play(Listed(browsed(*many(50))), story)


def test_the_wheel_moves_the_window_and_leaves_the_cursor() -> None:
    async def story(app: Listed, pilot: Pilot[None]) -> None:
        rows = app.rows
        rows.scroll_down(animate=False)
        rows.action_scroll_down()
        await pilot.pause(0.3)
        assert app.chosen == "t50"
        assert "turn 50" not in app.top

    play(Listed(browsed(*many(50))), story)


def test_only_what_is_in_view_is_asked_for() -> None:
    async def story(app: Listed, pilot: Pilot[None]) -> None:
        await pilot.pause()
        assert len(set(app.asked)) < 20
        assert "t10000" in app.asked
        app.asked.clear()
        await pilot.press("end")
        await until(pilot, lambda: "t1" in app.asked)
        assert len(set(app.asked)) < 40
        assert app.rows.virtual_size.height == 20_000

    play(Listed(browsed(*many(10_000))), story)


def test_a_new_row_above_leaves_the_cursor_and_its_place_on_the_screen() -> None:
    async def story(app: Listed, pilot: Pilot[None]) -> None:
        for _ in range(20):
            await pilot.press("down")
        assert app.chosen == "t30"
        before = [app.rows.render_line(y).text for y in range(10)]
        more = browsed(*many(52))
        app.rows.show(more, build(more))
        await pilot.pause()
        assert app.chosen == "t30"
        assert [app.rows.render_line(y).text for y in range(10)] == before

    play(Listed(browsed(*many(50))), story)


def test_a_new_row_is_seen_by_who_looks_at_the_newest() -> None:
    async def story(app: Listed, pilot: Pilot[None]) -> None:
        more = browsed(*many(51))
        app.rows.show(more, build(more))
        await pilot.pause()
        assert app.chosen == "t50"
        assert "turn 51" in app.top

    play(Listed(browsed(*many(50))), story)


def test_a_row_that_goes_hands_the_cursor_to_the_next_older_one() -> None:
    async def story(app: Listed, pilot: Pilot[None]) -> None:
        await pilot.press("down", "down")
        assert app.chosen == "t8"
        left = app.shown
        app.rows.show(left, build(left, [one for one in left.rows if one.number in (10, 7, 2)]))
        assert app.chosen == "t7"
        app.rows.show(left, build(left, [one for one in left.rows if one.number == 10]))
        assert app.chosen == "t10"
        app.rows.show(left, build(left, []), instead=words.NOTHING_FOUND)
        assert app.rows.chosen is None
        await pilot.press("down", "up", "pagedown", "end", "enter")
        assert "Nothing found." in app.rows.render_line(1).text

    play(Listed(browsed(*many(10))), story)


def test_a_smaller_window_keeps_the_cursor_in_view() -> None:
    async def story(app: Listed, pilot: Pilot[None]) -> None:
        for _ in range(9):
            await pilot.press("down")
        await pilot.resize_terminal(30, 6)
        await pilot.pause()
        seen = [app.rows.render_line(y).text for y in range(6)]
        assert any(line.startswith("❯") for line in seen)
        assert all(len(line) <= 30 for line in seen)

    play(Listed(browsed(*many(50))), story, size=(60, 40))


def test_an_empty_list_says_what_to_do() -> None:
    async def story(app: Listed, pilot: Pilot[None]) -> None:
        text = "\n".join(app.rows.render_line(y).text.rstrip() for y in range(10))
        assert "No checkpoints yet." in text
        assert "takeback init" in text

    play(Listed(browsed()), story)
