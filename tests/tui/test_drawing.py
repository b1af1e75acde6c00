"""One line of a row: what is said, what is cut when there is no room."""

from __future__ import annotations

from typing import Any

from rich.cells import cell_len

from takeback.model.checkpoint import Checkpoint
from takeback.model.entries import OUTSIDE, OwnedChange, Turn
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.model.row import Spot, TimelineRow
from takeback.timeline.timeline import TimelineEntry
from takeback.tui.timeline.lines import Row, Surroundings, draw_line

NOW = 1_000_000.0


def made(prompt: str | None = "fix the login bug", **more: Any) -> tuple[Row, TimelineEntry]:
    """Returns a row of a turn that changed four files, and its entry."""
    item = TimelineRow(
        id="t3",
        position=5,
        session="claude-2a8f",
        kind="prompt",
        time=NOW - 300,
        turn=3,
        number=3,
        state="ended",
        prompt=prompt,
        before="t3",
        after="e3",
    )._replace(**more)
    checkpoint = Checkpoint(
        CheckpointId("t3"),
        SessionId("claude-2a8f"),
        item.kind,
        item.time,
        SnapshotId("00" * 20),
        b"",
        True,
        7,
        prompt=prompt,
    )
    done = tuple(
        OwnedChange(name, "modified", 3, 1, "tool Edit")
        for name in (b"src/login.py", b"src/cookie.py", b"tests/test_login.py", b"README.md")
    )
    outside = (OwnedChange(b"notes.txt", "added", 1, 0, OUTSIDE),)
    turn = Turn(
        checkpoint.id,
        checkpoint.session,
        3,
        "prompt",
        prompt,
        None,
        checkpoint.id,
        CheckpointId("e3"),
        item.time,
        None,
        item.state or "ended",
    )
    return Row(item, ["●", "│"]), TimelineEntry(checkpoint, outside, turn, done)


def text(row: Row, line: int, width: int, entry: TimelineEntry | None, **more: Any) -> str:
    fields: dict[str, Any] = {
        "names": {"claude-2a8f": "claude"},
        "origins": {},
        "here": None,
        "gone": {},
        "now": NOW,
        "width": width,
    }
    around = Surroundings(**{**fields, **more})
    pieces = draw_line(row, line, around, entry=entry, chosen=False)
    whole = "".join(piece for piece, _ in pieces)
    assert cell_len(whole) == width
    return whole


def test_the_prompt_and_the_age() -> None:
    row, entry = made()
    assert text(row, 0, 50, entry) == "  ● ✓ turn 3  fix the login bug                5m "


def test_the_agent_three_files_how_many_more_and_counts() -> None:
    row, entry = made()
    assert text(row, 1, 90, entry).strip() == (
        "│   claude · src/login.py, src/cookie.py, tests/test_login.py +1 more            +12 -4"
    )


def test_directories_go_before_names_do() -> None:
    row, entry = made()
    wide = text(row, 1, 68, entry)
    assert "login.py, cookie.py, test_login.py +1 more" in wide
    assert "claude · login.py +3 more  +12 -4" in text(row, 1, 40, entry)
    assert "+12 -4" in text(row, 1, 30, entry)


def test_a_long_prompt_is_cut_with_a_sign() -> None:
    row, entry = made("a very long prompt " * 10)
    assert text(row, 0, 40, entry) == "  ● ✓ turn 3  a very long prompt …   5m "


def test_wide_letters_are_counted_as_they_are_wide() -> None:
    row, entry = made("登录错误" * 20)
    text(row, 0, 41, entry)
    text(row, 0, 40, entry)


def test_nothing_from_outside_steers_the_terminal() -> None:
    row, entry = made("\x1b[31mred\x07\nnext [bold]line", label="a\x1b]0;title\x07")
    line = text(row, 0, 90, entry)
    assert line.isprintable()
    assert r"\x1b[31mred\x07 next [bold]line" in line


def test_where_the_files_stand() -> None:
    row, entry = made()
    assert "<- here   " in text(row, 0, 60, entry, here=("t3", "after"))
    assert "<- here, before it" in text(row, 0, 60, entry, here=("t3", "before"))
    assert "<-" not in text(row, 0, 60, entry, here=("t4", "after"))


def test_what_has_to_be_said_besides() -> None:
    row, entry = made(state="running", label="good")
    checkpoint = entry.checkpoint.replace(complete=False, late=True)
    entry = entry.replace(checkpoint=checkpoint)
    line = text(row, 1, 90, entry, gone={"t3": "taken back"})
    assert "  incomplete  late  running  taken back  +12 -4" in line
    assert text(row, 0, 60, entry).startswith("  ● ! turn 3  [good]  fix the login bug")


def test_a_row_whose_entry_is_not_there_yet() -> None:
    row, _ = made()
    assert text(row, 0, 50, None) == "  ●   turn 3  fix the login bug                5m "
    assert text(row, 1, 50, None).strip() == "│   claude"


def test_outside_edits() -> None:
    row, entry = made()
    thin = Row(row.item, ["┊"], outside=True)
    assert text(thin, 0, 60, entry).rstrip() == "  ┊     outside edits before it: notes.txt"
    assert text(thin, 0, 60, None).rstrip() == "  ┊     outside edits before it"


def test_where_a_session_was_forked() -> None:
    row, entry = made(kind="fork", number=None, state=None, prompt=None)
    entry = entry.replace(checkpoint=entry.checkpoint.replace(prompt=None))
    origins = {"claude-2a8f": Spot(1, "claude-1", "prompt", 3)}
    line = text(row, 0, 60, entry, origins=origins, names={"claude-1": "claude 1111"})
    assert line.startswith("  ● ✓ fork  from claude 1111, before turn 3")


def test_what_was_searched_for_is_marked() -> None:
    row, entry = made()
    around = Surroundings({}, {}, None, {}, NOW, width=60, sought="LOGIN")
    pieces = draw_line(row, 0, around, entry=entry, chosen=True)
    assert ("login", "found") in pieces
    assert pieces[0] == ("❯ ", "cursor-sign")


def test_many_lanes_leave_room_for_words() -> None:
    row, entry = made()
    line = text(Row(row.item, ["│ " * 30 + "●", "│ " * 30]), 0, 50, entry)
    assert "turn 3" in line
    assert line[2] == "…"
    assert line[12] == "●"


def test_a_rows_own_sign_is_in_sight_however_many_lanes_there_are() -> None:
    row, entry = made()
    for at in range(12):
        lanes = ["│"] * 12
        lanes[at] = "●"
        wide = row._replace(graph=[" ".join(lanes), " ".join(["│"] * 12)])
        for line in (0, 1):
            drawn = text(wide, line, 60, entry)
            graph = drawn[2:15]
            assert line == 1 or "●" in graph, graph
            assert "…" in graph, graph
            assert graph[12] == " "


def test_a_session_that_nobody_went_on_with_stands_on_the_row() -> None:
    row, entry = made()
    drawn = text(row, 1, 80, entry, resumed={"t3": ("21b1", "9c41")})
    assert "↳ resumed as 21b1, 9c41" in drawn


def test_an_expired_row_says_so_and_names_no_files() -> None:
    row, entry = made()
    gone = entry.replace(checkpoint=entry.checkpoint.replace(expired=NOW), done=())
    second = text(row, 1, 80, gone)
    assert "expired" in second
    assert "no changes" not in second
    assert "✓" not in text(row, 0, 80, gone)
