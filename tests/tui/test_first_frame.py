"""The first frame: the rows that the picker shows, where it shows them, before its library."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from takeback.app.engine import Engine
from takeback.model.coverage import Overrides
from takeback.tui.picker import PickerApp
from takeback.tui.pieces import known_styles, list_width
from takeback.tui.run import FirstFrame, title_frame
from takeback.tui.timeline.lines import Page, first_page
from takeback.words.listing import READING
from tests.support.engine import TestClock
from tests.support.lanes import cases
from tests.tui.stage import lock_held
from tests.tui.watched import END_OF_FRAME, Picture, Watched, words_of
from tests.tui.world import open_app, play, rows_of, tell_story

NARROW, WIDE = (80, 24), (160, 48)
TERMINALS = {
    "many colours": {},
    "a light background": {"COLORFGBG": "0;15"},
    "256 colours": {"COLORTERM": ""},
    "256 colours, light": {"COLORTERM": "", "COLORFGBG": "0;15"},
    "16 colours": {"COLORTERM": "", "TERM": "xterm"},
    "16 colours, light": {"COLORTERM": "", "TERM": "xterm", "COLORFGBG": "0;15"},
    "no colours": {"NO_COLOR": "1"},
}
_CODES = re.compile(r"\x1b\[(?:\?7[lh]|[\d;]*[mH])")
_DETAIL = "─" * 10


@pytest.fixture
def shop(workspace: Path) -> Path:
    """Two days of work by two agents: forks, labels, what was taken back, edits by hand."""
    tell_story(workspace)
    with Engine.open(workspace) as tb:
        tb.browse()  # the ledger catches up, as the standby has it do
    return workspace


def assert_taken_over(watched: Watched, first: Picture) -> None:
    """Watches until the detail is there; fails if a row looked like anything else meanwhile.

    A cell is as in the first frame, or as it is once the detail stands below or beside. The scroll
    bar is left out: it comes with the library.
    """
    at = watched.pictures.index(first)
    watched.shows(_DETAIL)
    upto = len(watched.pictures)
    watched.settles()
    width, height = watched.size
    bar, final = list_width(width) - 1, watched.pictures[-1]
    rule = next((y for y, line in enumerate(words_of(final)) if line.startswith("─")), height - 1)
    for number, later in enumerate(watched.pictures[at:], at):
        for y in range(height):
            if rule <= y < height - 1 and number >= upto - 1:
                continue  # it is the detail's
            known = (first[y], final[y], watched.pictures[upto - 1][y])
            columns = range(width) if y in (0, height - 1) else range(bar)
            odd = [x for x in columns if later[y][x] not in [line[x] for line in known]]
            assert not odd, f"line {y}, {odd}: {words_of([later[y], *known])}"


@cases("size, terminal", [NARROW, WIDE], TERMINALS, each=3)
def test_the_rows_stay_as_they_are_when_the_library_takes_over(
    shop: Path, size: tuple[int, int], terminal: str
) -> None:
    with Watched(shop, size, TERMINALS[terminal]) as watched:
        first = watched.first_frame()
        assert any("turn 2" in line for line in words_of(first))
        assert_taken_over(watched, first)
        watched.type(b"q")
        watched.ends()


def test_the_row_that_the_files_are_at_is_in_the_middle(shop: Path) -> None:
    """Where the list is scrolled to when it opens, it is from the first frame on."""
    with Engine.open(shop) as tb:
        tb.rewind("claude-2a8f61c0/turn:2", scope="files", overrides=Overrides.all())
        tb.browse()
    with Watched(shop, (160, 14)) as watched:
        first = watched.first_frame()
        assert "◆ ✓ turn 2" in words_of(first)[7]
        assert_taken_over(watched, first)
        watched.type(b"q")
        watched.ends()


def test_the_list_is_as_wide_as_the_first_frame_thinks(shop: Path) -> None:
    async def story(app: PickerApp, pilot: Pilot[None]) -> None:
        for width in (80, 119, 120, 121, 133, 147, 150, 159, 201, 299):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            assert rows_of(app).outer_size.width == list_width(width)

    play(open_app(shop, TestClock()), story)


@pytest.mark.parametrize("size", [NARROW, (30, 8), (80, 3), (1, 1), (400, 100)])
def test_hostile_words_do_no_harm(workspace: Path, size: tuple[int, int]) -> None:
    prompts = [
        "\x1b[2J\x1b]0;title\x07\x9b31m\r\n\tred",
        "\u202e\u2066abc\u202c right to left \u200f",
        "登录错误" * 200,
        "a" * 5000,
        "e\u0301\u0302" * 300 + "👨\u200d👩\u200d👧 ❤\ufe0f",
        "\ud800 half a character \x00",
    ]
    (workspace / "b\x1b[31m\u202e.txt").write_text("1")
    with Engine.open(workspace) as tb:
        session = tb.session(agent="mi\x1b[31mne", native="s1")
        for number, prompt in enumerate(prompts):
            with session.turn(prompt):
                (workspace / "a.txt").write_text(str(number))
        tb.checkpoint("登录" * 30)
        drawn = framed(first_page(tb), "~/\x1b[31mhere")(*size)
    plain = _CODES.sub("", drawn)
    assert plain.replace("\r\n", "").isprintable() or "\u200d" in plain
    assert "\x1b" not in plain
    assert not {"\u202e", "\u2066", "\u200f", "\x9b"} & set(plain)


def framed(page: Page, where: str) -> Callable[[int, int], str]:
    styles = known_styles({"TERM": "xterm-256color"})
    assert styles is not None
    return FirstFrame(page, where, styles, time.time())


def test_what_is_hostile_stays_in_its_line(shop: Path) -> None:
    """No character is taken to be narrower than the terminal thinks it is."""
    with Engine.open(shop) as tb, tb.session(agent="mine", native="s9").turn("登录" * 90 + "é" * 9):
        (shop / "wide 登录.txt").write_text("1")
    with Engine.open(shop) as tb:
        tb.browse()
    with Watched(shop, NARROW) as watched:
        first = watched.first_frame()
        assert "登" in "".join(words_of(first))
        assert_taken_over(watched, first)
        watched.type(b"q")
        watched.ends()


def test_a_key_typed_at_the_first_frame_is_answered(shop: Path) -> None:
    with Watched(shop, NARROW) as watched:
        first = words_of(watched.first_frame())
        watched.type(b"j")
        before = next(line for line in first if line.startswith("❯"))
        watched.until(lambda text: "❯" in text and before not in text)
        watched.type(b"q")
        watched.ends()


def cursor_in(lines: list[str]) -> int:
    """Returns the number of the line that the cursor is in."""
    return next(number for number, line in enumerate(lines) if line.startswith("❯"))


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3])
def test_a_search_typed_at_the_first_frame_is_made(shop: Path, seconds: float) -> None:
    """A slash before the list was there ended the picker with a traceback."""
    with Watched(shop, NARROW) as watched:
        watched.first_frame()
        time.sleep(seconds)  # wherever it meets the library
        watched.type(b"/dark")
        watched.shows("search: dark")
        watched.type(b"\x1b")
        watched.until(lambda text: "search: dark" not in text)
        watched.type(b"q")
        watched.ends()
        assert b"Traceback" not in watched.bytes
    assert watched.status == 0


def test_keys_typed_at_the_first_frame_act_once_each_and_in_their_order(shop: Path) -> None:
    with Watched(shop, NARROW) as watched:
        before = cursor_in(words_of(watched.first_frame()))
        watched.type(b"?q" + b"jjjk" + b"\r")  # the help comes and goes, then two down
        watched.shows("The files only")
        watched.type(b"\x1b")
        watched.until(lambda text: "The files only" not in text)
        watched.settles()
        tops = [n for n, line in enumerate(words_of(watched.pictures[-1])) if "turn" in line]
        assert tops.index(cursor_in(words_of(watched.pictures[-1]))) == tops.index(before) + 2
        watched.type(b"q")
        watched.ends()
    assert watched.status == 0


_WRONG = """
import takeback.tui.timeline.pane as pane
async def wrong(self):
    secret = "a value that nobody is to see"
    raise RuntimeError("it broke")
pane.TimelinePane.open_search = wrong
"""


def test_a_bug_in_the_picker_is_one_line_in_a_clean_terminal(shop: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(_WRONG)
    with Watched(shop, NARROW, first=f"import runpy; runpy.run_path({str(wrong)!r})") as watched:
        watched.first_frame()
        watched.type(b"/")
        watched.ends()
    after = watched.bytes.rpartition(b"\x1b[?1049l")[2].decode()
    kept = Path(os.environ["TAKEBACK_HOME"], "bugs.log")
    assert watched.status == 70
    assert "Error:" in after
    assert "This is a bug in takeback: RuntimeError: it broke\r\n" in after
    assert f"report it, with what stands last in {kept}\r\n" in after
    assert b"Traceback" not in watched.bytes
    assert b"a value that" not in watched.bytes
    assert 'raise RuntimeError("it broke")' in kept.read_text()
    assert "a value that" not in kept.read_text()


def test_control_c_at_the_first_frame_leaves_the_terminal_clean(shop: Path) -> None:
    with Watched(shop, NARROW) as watched:
        watched.first_frame()
        watched.type(b"\x03")
        watched.ends()
        entered, left = (watched.bytes.rfind(b"\x1b[?1049" + end) for end in (b"h", b"l"))
        assert left > entered
        assert watched.bytes.rfind(b"\x1b[?25h") > watched.bytes.rfind(b"\x1b[?25l")
        assert b"Traceback" not in watched.bytes


@pytest.mark.parametrize(("before", "after"), [(NARROW, WIDE), (WIDE, NARROW)])
def test_a_resize_at_the_first_frame(
    shop: Path, before: tuple[int, int], after: tuple[int, int]
) -> None:
    with Watched(shop, after) as watched:
        expected = words_of(watched.first_frame())[1:8]
        watched.type(b"q")
        watched.ends()
    width = list_width(after[0]) - 1
    with Watched(shop, before) as watched:
        watched.first_frame()
        watched.resize(*after)
        watched.until(
            lambda text: (
                [line[:width].rstrip() for line in text.splitlines()[1:8]]
                == [line[:width].rstrip() for line in expected]
            )
        )
        watched.type(b"q")
        watched.ends()


def test_another_holds_the_lock_and_the_rows_are_there_all_the_same(shop: Path) -> None:
    with lock_held(shop), Watched(shop, NARROW) as watched:
        assert any("turn 2" in line for line in words_of(watched.first_frame()))
        watched.type(b"q")
        watched.ends()


def test_a_damaged_ledger_is_left_to_the_picker(shop: Path) -> None:
    with Engine.open(shop) as tb:
        ledger = Path(tb.store_directory, "ledger.db")
    ledger.write_bytes(b"no database" * 1000)
    with Watched(shop, NARROW) as watched:
        watched.shows(READING)
        assert END_OF_FRAME not in watched.bytes
        watched.shows("turn 2")
        watched.type(b"q")
        watched.ends()


def test_only_the_title_where_only_the_library_knows_the_colours(shop: Path) -> None:
    with Watched(shop, NARROW, {"TEXTUAL_COLOR_SYSTEM": "standard"}) as watched:
        watched.shows(READING)
        assert END_OF_FRAME not in watched.bytes
        watched.shows("turn 2")
        watched.type(b"q")
        watched.ends()


def test_the_title_is_as_wide_as_the_screen() -> None:
    frame = title_frame("~/shop", 40, 10)
    assert frame.startswith("\x1b[1;7m takeback  ~/shop                       \x1b[0m")
    assert READING in frame


def test_nothing_in_the_title_steers_the_terminal() -> None:
    assert "\\x1b]0;x\\x07" in title_frame("a\x1b]0;x\x07", 60, 10)


def test_a_narrow_screen() -> None:
    assert "takeb\x1b[0m" in title_frame("~/shop", 6, 2)
