"""The detail: two views of one entry, its files and their diffs, what it does not hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.pilot import Pilot

from takeback.app.engine import Engine
from takeback.model import event as events
from takeback.model.event import AgentEvent, ToolCall
from takeback.timeline.timeline import TimelineEntry
from tests.support.engine import garble
from tests.support.trees import tree_state
from tests.tui.detail_stage import (
    Stage,
    edit,
    login_turn,
    ran,
    settled,
    shows,
    takeback,
)
from tests.tui.pictures import assert_picture


def has(lines: list[str], text: str) -> bool:
    return any(text in line for line in lines)


def newest(tb: Engine) -> TimelineEntry:
    return tb.checkpoints(limit=1)[0]


def test_the_two_views_by_one_key(workspace: Path) -> None:
    """What that turn changed, and what going there would change now: nothing is done by looking."""
    entry = login_turn(workspace)
    (workspace / "later.txt").write_text("by hand\n")
    before = tree_state(workspace, identity=True)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert has(stage.files, "tests/test_login.py")
        assert not has(stage.files, "later.txt")
        await pilot.press("v")
        assert stage.detail.view == "going"
        await settled(pilot)
        assert has(stage.files, "- later.txt")
        assert has(stage.files, "your own edit")
        assert has(stage.files, "- tests/test_login.py")
        assert has(stage.files, "+ old.txt")
        assert has(stage.place, "It would write 4 files and delete 2.")
        await pilot.press("v")
        await settled(pilot)
        assert has(stage.files, "+ tests/test_login.py")

    shows(workspace, entry, play)
    assert tree_state(workspace, identity=True) == before


def test_the_other_view_says_that_it_looks(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        stage.detail.action_view()
        assert stage.files[1] == "looking…"
        await settled(pilot)
        assert not has(stage.files, "looking…")

    shows(workspace, entry, play)


def test_the_place_says_turn_prompt_agent_time_and_tools(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        title, first, *rest = stage.place
        assert title == f"turn 2  {entry.checkpoint.id}"
        assert (
            first
            == "9m ago (2026-11-15 12:01:00) · claude · session claude-2a8f · ended · complete"
        )
        assert rest[0].startswith("The login accepts wrong passwords")
        assert "Leave the session handling alone." in rest
        assert "tools: Edit x1, Write x1, Bash x1" in rest

    shows(workspace, entry, play)


def test_files_have_sign_path_counts_bar_and_who(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert stage.files[:6] == [
            "5 files, +8 -4",
            ">[ ] ~ logo.png                        shell",
            " [ ] - old.txt             +0 -2 ▁▁    shell",
            " [ ] m run.sh                          shell",
            " [ ] ~ src/login.py        +3 -2 ▇▇▇▁▁ tool Edit",
            " [ ] + tests/test_login.py +5 -0 ▇▇▇▇▇ tool Write",
        ]

    shows(workspace, entry, play)


def test_space_ticks_and_the_heading_counts(workspace: Path) -> None:
    entry = login_turn(workspace)
    other = entry.replace(checkpoint=entry.checkpoint.replace(prompt="the same place, said anew"))

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.press("space", "down", "down", "space")
        assert stage.detail.ticked.files == {b"logo.png", b"run.sh"}
        assert stage.files[0] == "5 files, +8 -4, 2 ticked"
        assert stage.files[1].startswith(" [x] ~ logo.png")
        await pilot.press("space")
        assert stage.detail.ticked.files == {b"logo.png"}
        await pilot.press("v")
        await settled(pilot)
        assert stage.detail.ticked.files == {b"logo.png"}
        stage.detail.show(other)  # the same checkpoint, of which more is known now
        await settled(pilot)
        assert stage.detail.ticked.files == {b"logo.png"}
        stage.detail.show(None)
        assert stage.detail.ticked.files == frozenset()

    shows(workspace, entry, play)


def test_the_cursor_wraps_and_brings_the_diff(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert stage.diff[:3] == ["logo.png", "changed by shell", "binary file, 11.7 KB -> 13.7 KB"]
        await pilot.press("up")
        await settled(pilot)
        assert stage.diff[0] == "tests/test_login.py"
        assert stage.diff[1:3] == ["changed by tool Write", "new file, 82 bytes"]
        await pilot.press("down", "down")
        await settled(pilot)
        assert stage.diff[2] == "deleted file, 8 bytes"
        assert has(stage.diff, "- one")
        await pilot.press("down")
        await settled(pilot)
        assert stage.diff[:3] == ["run.sh", "changed by shell", "mode 644 -> 755: now executable"]

    shows(workspace, entry, play)


def test_unified_and_side_by_side(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.press("end", "up")
        await settled(pilot)
        assert "13    -     digest = hashlib.md5(password.encode()).hexdigest()" in stage.diff
        assert "   14 +     digest = hashlib.sha256(password.encode()).hexdigest()" in stage.diff
        assert "10 11       found = USERS.get(name)" in stage.diff
        await pilot.press("s")
        assert has(stage.diff, "│ 4 + import hmac")
        old, new = next(line for line in stage.diff if "md5" in line).split("│")
        assert old.startswith("13 -     digest = hashlib.md5")
        assert new.startswith("14 +     digest = hashlib.sha256")
        await pilot.press("s")
        assert not has(stage.diff, "│")

    shows(workspace, entry, play)


def test_too_narrow_for_side_by_side_says_why(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.press("end", "up", "s")
        await settled(pilot)
        assert "side by side needs 96 columns and has 79" in stage.diff
        assert has(stage.diff, "+ import hmac")
        await pilot.resize_terminal(100, 30)
        await settled(pilot)
        assert has(stage.diff, "│ 4 + import hmac")

    shows(workspace, entry, play, size=(80, 30))


def test_the_smallest_screen_has_it_all(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.press("end", "up")
        await settled(pilot)
        assert len(stage.place) == 4
        assert has(stage.files, ">[ ] ~ src/login.py")
        assert has(stage.diff, "4 + import hmac")
        files, diff = stage.query_one("#files"), stage.query_one("#diff")
        assert files.region.y == diff.region.y
        assert stage.query_one("#views").region.bottom == files.region.y

    shows(workspace, entry, play, size=(80, 12))


def test_a_long_prompt_is_scrolled(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert not has(stage.place, "Leave the session handling alone.")
        await pilot.press("shift+down", "shift+down", "shift+down", "shift+down")
        assert has(stage.place, "Leave the session handling alone.")
        await pilot.press("shift+up", "shift+up", "shift+up", "shift+up")
        assert stage.place[2].startswith("The login accepts")

    shows(workspace, entry, play, size=(80, 12))


def test_larger_takes_the_whole_screen_and_esc_gives_it_back(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.press("z")
        assert stage.screen.maximized is stage.detail
        await pilot.press("escape")
        assert stage.screen.maximized is None

    shows(workspace, entry, play)


def test_long_lines_scroll_and_say_that_there_is_more(workspace: Path) -> None:
    (workspace / "a.txt").write_text("x\n")
    with takeback(workspace) as (tb, _):
        with tb.session(agent="mine").turn("lengthen it"):
            (workspace / "a.txt").write_text("x" * 60 + "end\n")
        entry = newest(tb)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        line = next(line for line in stage.diff if "+" in line and "x" in line)
        assert line.endswith("x›")
        stage.query_one("#diff").scroll_to(x=400, animate=False)
        await settled(pilot)
        assert next(line for line in stage.diff if line.startswith("1 +")).endswith("xend")

    shows(workspace, entry, play, size=(50, 24))


def test_kinds_of_change_in_words(workspace: Path) -> None:
    (workspace / "file").write_text("content\n")
    (workspace / "link").symlink_to("old")
    (workspace / "full").write_text("something\n")
    (workspace / "run").write_text("x\n")
    os.chmod(workspace / "run", 0o755)
    with takeback(workspace) as (tb, _):
        with tb.session(agent="mine").turn("change kinds") as turn:
            (workspace / "file").unlink()
            (workspace / "file").symlink_to("target/[bold]")
            (workspace / "link").unlink()
            (workspace / "link").symlink_to("new")
            (workspace / "full").write_text("")
            os.chmod(workspace / "run", 0o600)
            (workspace / "empty").write_text("")
            (workspace / "folder").mkdir()
            turn.round([ToolCall("Task", events.SUBAGENT, ())])
        entry = newest(tb)
    wanted = {
        "empty": "new file, empty",
        "file": "a file became a link to target/[bold]",
        "folder": "new directory",
        "full": "now empty",
        "link": "link to old -> new",
        "run": "mode 755 -> 600: no longer executable",
    }

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        for name, said in wanted.items():
            assert stage.diff[:3] == [name, "changed by subagent", said]
            await pilot.press("down")
            await settled(pilot)
        assert has(stage.files, " t file ")

    shows(workspace, entry, play)


def test_hostile_names_and_contents_are_only_shown(workspace: Path) -> None:
    name = "[red]\x1b[2J\u202ename\n.txt"
    (workspace / name).write_text("plain\n")
    with takeback(workspace) as (tb, _):
        session = tb.session(agent="mine")
        with session.turn("[bold]look[/] \x1b]0;title\x07 \u202e at [@click=app.quit]this[/]"):
            (workspace / name).write_text("\x1b[31m[blink]\u202e\x9b1m\n")
        entry = newest(tb)
    shown_name = "[red]\\x1b[2J\\u202ename\\x0a.txt"

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert has(
            stage.place, "[bold]look[/] \\x1b]0;title\\x07 \\u202e at [@click=app.quit]this[/]"
        )
        assert has(stage.files, shown_name)
        assert stage.diff[0] == shown_name
        assert has(stage.diff, "+ \\x1b[31m[blink]\\u202e\\x9b1m")
        svg = stage.export_screenshot()
        assert not any(sign in svg for sign in "\x1b\x07\u202e\x9b")

    shows(workspace, entry, play)


def test_text_that_is_not_utf8_and_text_without_an_end(workspace: Path) -> None:
    (workspace / "a.txt").write_bytes(b"caf\xe9\n")
    with takeback(workspace) as (tb, _):
        with tb.session(agent="mine").turn("encode it"):
            (workspace / "a.txt").write_bytes("café".encode())
        entry = newest(tb)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert "not UTF-8: other bytes are shown as \\xNN" in stage.diff
        assert has(stage.diff, "- caf\\xe9")
        assert has(stage.diff, "+ café  (no newline at the end of the file)")

    shows(workspace, entry, play)


@pytest.mark.long
def test_a_huge_diff_is_cut_and_says_so(workspace: Path) -> None:
    with takeback(workspace) as (tb, _):
        with tb.session(agent="mine").turn("write much"):
            (workspace / "a.txt").write_text("line\n" * 17_000)
            (workspace / "b.bin").write_text("0123456789abcde\n" * 700_000)
        entry = newest(tb)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        stage.query_one("#diff").scroll_end(animate=False)
        await settled(pilot)
        assert "… 12,000 more lines; takeback diff shows all" in stage.diff
        await pilot.press("down")
        await settled(pilot)
        assert "too large to be compared here, 10.7 MB; takeback diff does it" in stage.diff

    shows(workspace, entry, play)


@pytest.mark.long
def test_ten_thousand_files_are_a_list_like_any_other(workspace: Path) -> None:
    with takeback(workspace) as (tb, _):
        with tb.session(agent="mine").turn("write files") as turn:
            for number in range(10_000):
                (workspace / f"{number:05}.txt").write_text("x\n")
            turn.round([ran()])
        entry = newest(tb)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert stage.files[0] == "10,000 files, +10k -0"
        await pilot.press("up")
        await settled(pilot)
        assert has(stage.files, ">[ ] + 09999.txt")
        assert stage.diff[0] == "09999.txt"
        await pilot.press("pageup", "home")
        await settled(pilot)
        assert stage.files[1].startswith(">[ ] + 00000.txt")

    shows(workspace, entry, play, size=(80, 24))


def test_coverage_names_what_is_not_held_and_why(workspace: Path) -> None:
    (workspace / ".gitignore").write_text("build/\n")
    (workspace / "build").mkdir()
    (workspace / "build" / "x").write_text("x")
    os.mkfifo(workspace / "pipe")
    with takeback(workspace) as (tb, _):
        Path(tb.store_directory, "config.toml").write_text("size_limit_mb = 1\n")
    (workspace / "big.bin").write_bytes(os.urandom(2 << 20))
    with takeback(workspace) as (tb, _):
        with tb.session(agent="mine").turn("look"):
            pass
        entry = newest(tb)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert stage.place[1].endswith("ended · incomplete")
        await pilot.press("c")
        await settled(pilot)
        assert stage.focused is stage.query_one("#coverage")
        assert stage.coverage[1:][:7] == [
            "incomplete: 1 file, and not 1 path that would belong to it",
            "not captured:",
            "  big.bin: oversized: larger than size_limit_mb",
            "left out by a rule:",
            "  build: ignored by git",
            "  pipe: special: a pipe, a socket or a device",
            "",
        ]
        await pilot.press("escape")
        assert stage.focused is stage.query_one("#files")
        assert stage.query_one("#diff").display

    shows(workspace, entry, play)


def test_a_late_checkpoint_is_said(workspace: Path) -> None:
    with takeback(workspace) as (tb, _):
        prompt = AgentEvent(
            kind=events.PROMPT, agent="mine", session="s", directory=str(workspace), prompt="quick"
        )
        tb.leave(prompt, came=tb.now)  # what a hook does that has no time left
        tb.receive(prompt.replace(kind=events.TURN_END))
        entry = newest(tb)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert stage.place[1].endswith("ended · complete, late")
        await pilot.press("c")
        await settled(pilot)
        assert stage.coverage[2].startswith("late: captured after the moment")

    shows(workspace, entry, play)


def test_a_checkpoint_by_hand_shows_what_changed_before_it(workspace: Path) -> None:
    (workspace / "a.txt").write_text("1\n")
    with takeback(workspace) as (tb, clock):
        tb.checkpoint()
        clock.time += 60
        (workspace / "a.txt").write_text("2\n")
        tb.checkpoint("stable [b]")
        entry = newest(tb)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert stage.place[0] == f'manual, "stable [b]"  {entry.checkpoint.id}'
        views = str(stage.query_one("#views").render())
        assert views.startswith("● what changed before it")
        assert stage.files[1].endswith("outside")
        assert has(stage.diff, "changed by hand, outside")
        assert has(stage.diff, "- 1")
        assert has(stage.diff, "+ 2")
        await pilot.press("v")
        await settled(pilot)
        assert has(stage.place, "Nothing to do: the files are already at")

    shows(workspace, entry, play)


def test_a_turn_that_changed_nothing(workspace: Path) -> None:
    with takeback(workspace) as (tb, _):
        with tb.session(agent="mine").turn("only talk"):
            pass
        entry = newest(tb)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert stage.files[1] == "It changed nothing."
        await pilot.press("space", "up", "down", "pageup", "pagedown", "home", "end", "s", "c", "c")
        assert stage.detail.ticked.files == frozenset()

    shows(workspace, entry, play)


def test_what_is_left_alone_is_in_the_list_with_the_reason(workspace: Path) -> None:
    (workspace / ".gitignore").write_text("secret\n")
    (workspace / "secret").write_text("1\n")
    with takeback(workspace) as (tb, _):
        tb.checkpoint()
        entry = newest(tb)
    (workspace / "secret").write_text("2\n")
    (workspace / "a.txt").write_text("a\n")

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.press("v")
        await settled(pilot)
        assert stage.files[0].startswith("1 file,")
        assert has(stage.files, "     = secret left alone")
        await pilot.press("down", "space")
        await settled(pilot)
        assert stage.detail.ticked.files == frozenset()
        assert stage.diff[:2] == [
            "secret",
            "left alone: ignored by git; restored only if asked",
        ]

    shows(workspace, entry, play)


def test_a_damaged_object_is_said_and_the_rest_goes_on(workspace: Path) -> None:
    entry = login_turn(workspace)
    with takeback(workspace) as (tb, _):
        store = tb._context.store
        from takeback.store import trees

        root = bytes.fromhex(tb.find(entry.checkpoint.id).snapshot)
        found = trees.lookup(store, root, b"src/login.py")
        assert found is not None
        garble(store, found.oid)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.press("end", "up")
        await settled(pilot)
        assert stage.diff[0] == "src/login.py"
        assert stage.diff[1].startswith("Error: src/login.py cannot be compared: object ")
        assert has(stage.diff, "Hint: run: takeback verify")
        await pilot.press("down")
        await settled(pilot)
        assert stage.diff[2] == "new file, 82 bytes"
        await pilot.press("v")
        await settled(pilot)
        assert has(stage.files, "old.txt")

    shows(workspace, entry, play)


def test_a_checkpoint_that_is_gone_is_said_and_the_next_one_shown(workspace: Path) -> None:
    entry = login_turn(workspace)
    turn = entry.turn
    assert turn is not None
    gone = entry.replace(checkpoint=entry.checkpoint.replace(id="zzzzzzzzzzzz"))

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert has(stage.files, "src/login.py")
        assert stage.diff[1] == "Error: there is no checkpoint 'zzzzzzzzzzzz'"
        await pilot.press("c")
        await settled(pilot)
        assert stage.coverage[1].startswith("Error: ")
        await pilot.press("v")
        await settled(pilot)
        assert stage.diff[1].startswith("Error: ")
        stage.detail.show(entry)
        await settled(pilot)
        assert has(stage.files, "src/login.py")
        assert not has(stage.diff, "Error")

    shows(workspace, gone, play)


def test_a_step_typed_meanwhile_is_said(workspace: Path) -> None:
    (workspace / "a.txt").write_text("1\n")
    with takeback(workspace) as (tb, _):
        session = tb.session(agent="mine")
        with session.turn("begin") as turn:
            session.tell(events.PROMPT, turn=turn.id, prompt="and [i]also[/] this", steer=True)
            turn.round([edit("a.txt")])
        entry = next(e for e in tb.checkpoints() if e.checkpoint.id == turn.before.id)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert has(stage.place, 'meanwhile: "and [i]also[/] this"')

    shows(workspace, entry, play)


def test_quick_moves_do_not_pile_up(workspace: Path) -> None:
    with takeback(workspace) as (tb, _):
        session = tb.session(agent="mine")
        for number in range(30):
            with session.turn(f"turn {number}"):
                (workspace / "a.txt").write_text(f"{number}\n")
        entries = tb.checkpoints()

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        for entry in entries:  # quicker than anything can be asked, on a busy machine too
            stage.detail.show(entry)
        await settled(pilot)
        assert stage.place[0].endswith(entries[-1].checkpoint.id)
        assert has(stage.diff, "+ 0")
        assert stage.workspace.asked < len(entries)

    shows(workspace, None, play)


def test_a_click_goes_to_a_file_and_ticks_it(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.click("#files", offset=(2, 3))
        await settled(pilot)
        assert stage.detail.ticked.files == {b"run.sh"}
        await pilot.click("#files", offset=(12, 4))
        await settled(pilot)
        assert stage.diff[0] == "src/login.py"
        assert stage.detail.ticked.files == {b"run.sh"}
        await pilot.click("#views")
        assert stage.detail.view == "going"

    shows(workspace, entry, play)


def test_without_colours_signs_say_it_all(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        assert stage.no_color
        await pilot.press("end", "up")
        await settled(pilot)
        assert has(stage.diff, "4 + import hmac")
        assert has(stage.files, ">[ ] ~ src/login.py")

    shows(workspace, entry, play)


def test_the_picture_of_a_unified_diff(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        await pilot.press("space", "end", "space", "up")
        await settled(pilot)
        await assert_picture(stage, "detail-unified")

    shows(workspace, entry, play, size=(96, 38))


def test_the_picture_of_a_diff_side_by_side(workspace: Path) -> None:
    entry = login_turn(workspace)

    async def play(stage: Stage, pilot: Pilot[None]) -> None:
        stage.theme = "textual-light"
        await pilot.press("end", "up", "s")
        await settled(pilot)
        await assert_picture(stage, "detail-side-by-side")

    shows(workspace, entry, play, size=(130, 32))
