"""The timeline in columns that fit a terminal."""
# ruff: noqa: E501 - a wide terminal has long lines

from __future__ import annotations

import re
from typing import Any

from inline_snapshot import snapshot

from takeback.model.checkpoint import Checkpoint
from takeback.model.entries import ENDED, OUTSIDE, PROMPTED, OwnedChange, Session, Turn
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.timeline.timeline import Listing, TimelineEntry
from takeback.words.listing import Columns, entry_words, older
from takeback.words.text import Paint, width
from tests.support.engine import NOON

PLAIN = Paint(on=False)


def session(agent: str | None, native: str) -> Session:
    id = SessionId("workspace" if agent is None else f"{agent}-{native}")
    return Session(id, agent, native, None, None, None, None, None, 0, 0, 0, CheckpointId("x"))


def entry(
    id: str,
    whose: str,
    ago: float,
    *,
    number: int | None = None,
    kind: Any = "prompt",
    prompt: str | None = None,
    paths: tuple[str, ...] = (),
    state: Any = ENDED,
    outside: tuple[str, ...] = (),
    **fields: object,
) -> TimelineEntry:
    one = Checkpoint(
        CheckpointId(id * 12),
        SessionId(whose),
        kind,
        NOON - ago,
        SnapshotId("a" * 40),
        b"",
        complete=True,
        files=1,
        prompt=prompt,
    ).replace(**fields)
    changes = tuple(
        OwnedChange(path.encode(), "modified", 12, 3, who="tool Edit") for path in paths
    )
    if number is None:
        return TimelineEntry(one, changes)
    turn = Turn(
        one.id, one.session, number, PROMPTED, prompt, None, one.id, one.id, one.time, None, state
    )
    before = tuple(
        OwnedChange(path.encode(), "modified", None, None, who=OUTSIDE) for path in outside
    )
    return TimelineEntry(one, before, turn, changes)


FOUND = Listing(
    entries=(
        entry("a", "claude-2a8f61c0", 3, number=12, prompt="add a dark theme", state="running"),
        entry("b", "codex-0197b3d2", 42, number=3, prompt="ログインのバグを直して、テストも書いて",
              paths=("src/ログイン.py", "tests/test_login.py"), outside=("notes.txt",)),
        entry("c", "claude-9c41d07e", 61, kind="steer", prompt="and keep the aliases"),
        entry("d", "claude-2a8f61c0", 300, number=9, paths=("src/very/deep/login.py",) * 5,
              prompt="fix the login bug: an old cookie logs you in as somebody else",
              label="login"),
        entry("e", "workspace", 86400, kind="manual", label="before the agents"),
        entry("f", "claude-2a8f61c0", 90000, number=1, prompt="x\ny\tz \x1b[31m", complete=False),
    ),
    sessions=(session("claude", "2a8f61c0"), session("codex", "0197b3d2"),
              session("claude", "9c41d07e"), session("claude", "2a8f61c0.92af9a91"),
              session(None, "workspace")),
    here=("d" * 12, "before"),
    resumed={"d" * 12: ("claude-2a8f61c0.92af9a91",)},
)  # fmt: skip


def drawn(room: int | None) -> str:
    return "\n".join(Columns(FOUND, PLAIN, NOON, room=room).all_lines()) + "\n"


def test_a_pipe_gets_whole_columns() -> None:
    assert drawn(None) == snapshot("""\
aaaaaaaaaaaa   now  claude 2a8f  turn 12  "add a dark theme"  no changes  running
bbbbbbbbbbbb   42s  codex        turn 3   "ログインのバグを直して、テストも書いて"  src/ログイン.py, tests/test_login.py  +24 -6
                    outside edits before it: notes.txt
cccccccccccc    1m  claude 9c41    steer  "and keep the aliases"  no changes
dddddddddddd    5m  claude 2a8f  turn 9   login  "fix the login bug: an old cookie logs you in as somebody el…"  src/very/deep/login.py, src/very/deep/login.py, src/very/deep/login.py +2 more  +60 -15  <- here, before it
                    ↳ resumed as 2a8f61c0.92af
eeeeeeeeeeee    1d  by hand      manual   before the agents  no changes
ffffffffffff    1d  claude 2a8f  turn 1   "x y z \\x1b[31m"  no changes  incomplete
""")


def test_eighty_columns() -> None:
    assert drawn(80) == snapshot("""\
aaaaaaaaaaaa   now  claude 2a8f  turn 12  "add a dark theme"  running
bbbbbbbbbbbb   42s  codex        turn 3   "ログインのバグ…"  2 files  +24 -6
                    outside edits before it: notes.txt
cccccccccccc    1m  claude 9c41    steer  "and keep the aliases"  no changes
dddddddddddd    5m  claude 2a8f  turn 9   login  "fix the …"  <- here, before it
                    ↳ resumed as 2a8f61c0.92af
eeeeeeeeeeee    1d  by hand      manual   before the agents  no changes
ffffffffffff    1d  claude 2a8f  turn 1   "x y z \\x1b[31m"  incomplete
""")


def test_a_wide_terminal() -> None:
    assert drawn(160) == snapshot("""\
aaaaaaaaaaaa   now  claude 2a8f  turn 12  "add a dark theme"  no changes  running
bbbbbbbbbbbb   42s  codex        turn 3   "ログインのバグを直して、テストも書いて"  src/ログイン.py, tests/test_login.py  +24 -6
                    outside edits before it: notes.txt
cccccccccccc    1m  claude 9c41    steer  "and keep the aliases"  no changes
dddddddddddd    5m  claude 2a8f  turn 9   login  "fix the login bug: an old cookie logs you in as so…"  login.py, login.py +3 more  +60 -15  <- here, before it
                    ↳ resumed as 2a8f61c0.92af
eeeeeeeeeeee    1d  by hand      manual   before the agents  no changes
ffffffffffff    1d  claude 2a8f  turn 1   "x y z \\x1b[31m"  no changes  incomplete
""")


def test_no_line_is_wider_than_the_terminal_and_the_place_is_marked_once() -> None:
    for room in range(1, 200):
        fits(room)


def fits(room: int) -> None:
    lines = drawn(room).splitlines()
    assert max(map(width, lines)) <= room
    painted = Columns(FOUND, Paint(on=True), NOON, room=room).all_lines()
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in painted] == lines
    if room >= 64:
        assert sum("<- here, before it" in line for line in lines) == 1
        starts = {line.index(name) for line in lines for name in ("turn ", "steer", "manual ")
                  if name in line and not line.startswith(" ")}  # fmt: skip
        assert len(starts - {min(starts) + 2}) == 1  # a step is indented


def test_a_menu_has_no_id() -> None:
    assert entry_words(FOUND.entries[0], PLAIN, NOON) == snapshot(
        ' now  turn 12  "add a dark theme"  no changes  running'
    )


def test_how_to_see_the_rest() -> None:
    assert older(1412, 30) == "1,412 older: takeback log -n 1442"
