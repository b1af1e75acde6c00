"""Many lines, of which only those on the screen are made."""

from __future__ import annotations

import asyncio

from textual.app import App, ComposeResult

from takeback.tui.bars import PAINT, Body


def seen(lines: list[str], *, size: tuple[int, int] = (40, 10), end: bool = False) -> list[str]:
    """Returns the lines as they are on the screen, at the beginning or the end."""

    class Shown(App[None]):
        def compose(self) -> ComposeResult:
            yield Body(lines)

    async def played() -> list[str]:
        app = Shown()
        async with app.run_test(size=size) as pilot:
            body = app.query_one(Body)
            if end:
                body.scroll_end(animate=False)
            await pilot.pause()
            height = body.scrollable_content_region.height
            return [body.render_line(y).text.rstrip() for y in range(height)]

    return asyncio.run(played())


def test_a_list_ends_with_air() -> None:
    assert seen(["Written:", "  a", "  b", "Deleted:", "  c"]) == [
        "Written:", "  a", "  b", "", "Deleted:", "  c"
    ]  # fmt: skip


def test_long_lines_are_wrapped_and_nothing_is_cut() -> None:
    words = [f"word{number:02}" for number in range(30)]
    for width in (20, 21, 33, 40):
        found = seen([" ".join(words)], size=(width, 40))
        assert " ".join(found).split() == words
        assert all(len(line) <= width for line in found)


def test_wrapping_allows_for_the_scroll_bar() -> None:
    words = " ".join(f"word{number:02}" for number in range(9))
    found = seen([words] * 20, size=(34, 6))
    assert " ".join(found).split()[:9] == words.split()


def test_all_of_a_hundred_thousand_lines_can_be_reached() -> None:
    lines = [f"  line {number}" for number in range(100_000)]
    assert seen(lines, end=True)[-1] == "  line 99999"


def test_markup_and_colours_are_no_more_than_they_are() -> None:
    painted = [f"  {PAINT.deleted('delete [b]x[/b]')}", PAINT.warning("watch out")]
    assert seen(painted) == ["  delete [b]x[/b]", "", "watch out"]
