"""The picker at a real terminal, in tmux: keys typed, the screen read, the terminal left clean."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.terminal import Terminal, need_tmux
from tests.support.claude_session import NATIVE, play_claude_turn
from tests.support.cli import Cli
from tests.support.host import Host
from tests.support.journey import write_files

# What a shell types: the settings of the terminal before and after, and the exit status.
_SCRIPT = 'stty -g > "$1"; "$2" -m takeback; echo "ended with $?"; stty -g > "$3"; read line'


@pytest.fixture
def host(cli: Cli, workspace: Path, tmp_path: Path) -> Host:
    """Three turns of an agent, and a program called ``claude`` on the PATH."""
    need_tmux("the picker's screen")
    write_files(workspace, {"a.txt": b"0\n"})
    folder = tmp_path / "transcripts"
    folder.mkdir()
    made = Host(cli, folder)
    made.tell("session_start")
    made.turn("change a", {"a.txt": b"1\n"})
    made.turn("write b", {"b.txt": b"b\n"})
    made.turn("ruin a", {"a.txt": b"ruined\n"})
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "claude goes on: $*"\npwd\nread line\n')
    program.chmod(0o755)
    return made


class Opened:
    """A terminal with a shell that has started the picker."""

    def __init__(self, terminal: Terminal, folder: Path) -> None:
        self.terminal = terminal
        self._folder = folder

    def settings(self, when: str) -> str:
        return (self._folder / when).read_text()

    def ended(self, status: int) -> None:
        """Waits for the shell's word that it ended; the terminal is then as it was before."""
        self.terminal.shows(f"ended with {status}")
        self.terminal.until(lambda: bool(self.settings("after")), "see the settings")
        assert self.settings("after") == self.settings("before")
        assert self.terminal.tells("alternate_on") == "0"
        assert self.terminal.tells("cursor_flag") == "1"
        assert self.terminal.tells("mouse_any_flag") == "0"
        assert "takeback  " not in self.terminal.screen


@pytest.fixture
def claude_turn(host: Host, workspace: Path, tmp_path: Path) -> None:
    """One more turn, of an agent whose command takeback knows."""
    transcript = tmp_path / "home" / ".claude" / "projects" / "p" / f"{NATIVE}.jsonl"
    play_claude_turn(workspace, transcript, "ruin it all", workspace / "a.txt")


@pytest.fixture
def opened(host: Host, tmp_path: Path) -> Iterator[Opened]:
    (tmp_path / "after").write_text("")
    environ = {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "TERM": "screen-256color",
    }
    files = [str(tmp_path / "before"), sys.executable, str(tmp_path / "after")]
    argv = ["sh", "-c", _SCRIPT, "sh", *files]
    with Terminal(argv, cwd=host.cli.directory, env=environ, size=(80, 24)) as terminal:
        terminal.shows("turn 3 ruin a")
        cursor_at(terminal, "turn")
        yield Opened(terminal, tmp_path)


def cursor_at(terminal: Terminal, text: str) -> None:
    """Waits until the cursor's row has a text."""
    terminal.until(
        lambda: any(line.startswith("❯") and text in line for line in terminal.screen.split("\n")),
        f"see the cursor at {text!r}",
    )


def test_open_move_resize_and_quit(opened: Opened) -> None:
    terminal = opened.terminal
    assert terminal.tells("alternate_on") == "1"
    cursor_at(terminal, "turn 3")
    terminal.press("Down")
    cursor_at(terminal, "turn 2")
    terminal.press("Up", "Up")
    cursor_at(terminal, "turn 1")
    terminal.resize(160, 48)
    terminal.until(lambda: "│─turn 1" in terminal.screen, "see the detail beside the timeline")
    cursor_at(terminal, "turn 1")
    terminal.resize(80, 24)
    terminal.until(lambda: "│─turn 1" not in terminal.screen, "see the detail below")
    cursor_at(terminal, "turn 1")
    terminal.press("/")
    terminal.type("write")
    terminal.shows("search: write · 1 turn")
    terminal.press("Escape")
    terminal.until(lambda: "search: write" not in terminal.screen, "see everything again")
    terminal.press("q")
    opened.ended(0)


def test_control_c_leaves_the_terminal_clean(opened: Opened) -> None:
    opened.terminal.press("C-c")
    opened.ended(130)


def test_control_c_in_a_dialog_leaves_the_terminal_clean(opened: Opened) -> None:
    opened.terminal.press("Enter")
    opened.terminal.shows("The files only")
    opened.terminal.press("C-c")
    opened.ended(130)


def test_choose_confirm_and_undo(opened: Opened, workspace: Path) -> None:
    terminal, a = opened.terminal, workspace / "a.txt"
    terminal.press("Enter")
    terminal.shows("The files only")
    terminal.press("f")
    terminal.shows("write a.txt")
    assert a.read_bytes() == b"ruined\n"
    terminal.press("y")
    terminal.shows("Rewound 1 file")
    assert a.read_bytes() == b"1\n"
    terminal.press("Escape")
    terminal.until(lambda: "Rewound 1 file" not in terminal.screen, "see the timeline")
    terminal.shows("taken back")
    terminal.insist("Undo the rewind", "u")
    terminal.press("y")
    terminal.shows("Undid the rewind")
    assert a.read_bytes() == b"ruined\n"
    terminal.press("Escape")
    terminal.until(lambda: "Undid the rewind" not in terminal.screen, "see the timeline")
    cursor_at(terminal, "turn 3")
    terminal.until(lambda: "taken back" not in terminal.screen, "see the turn there again")
    terminal.press("q")
    opened.ended(0)
    terminal.shows("2 operations were done; the last one:")
    terminal.shows("Undid the rewind")
    terminal.shows("Take it back: takeback redo")


def test_the_agent_is_resumed_in_this_terminal(
    claude_turn: None, opened: Opened, workspace: Path
) -> None:
    terminal = opened.terminal
    cursor_at(terminal, "ruin it all")
    terminal.press("Enter")
    terminal.shows("Files and conversation")
    terminal.press("b")
    terminal.shows("write a.txt")
    terminal.press("y")
    terminal.shows("Resume the agent")
    terminal.press("r")
    terminal.shows("claude goes on: --resume=")
    terminal.shows(str(workspace))
    assert terminal.tells("alternate_on") == "0"
    terminal.press("Enter")
    opened.ended(0)


def test_what_was_done_is_said_when_the_picker_has_closed(
    claude_turn: None, opened: Opened
) -> None:
    terminal = opened.terminal
    cursor_at(terminal, "ruin it all")
    terminal.press("Enter")
    terminal.shows("Files and conversation")
    terminal.press("b")
    terminal.shows("write a.txt")
    terminal.press("y")
    terminal.shows("Resume the agent")
    terminal.press("C-c")
    opened.ended(130)
    terminal.shows("Rewound 1 file and the conversation")
    terminal.shows("claude --resume=")
    terminal.shows("Take it back: takeback undo")
    assert "operations were done" not in terminal.screen


def test_sigterm_leaves_the_terminal_clean(opened: Opened) -> None:
    terminal = opened.terminal
    shell = int(terminal.tells("pane_pid"))
    [picker] = children(shell)
    os.kill(picker, signal.SIGTERM)
    opened.ended(143)


def test_control_z_gives_the_terminal_back_until_it_goes_on(host: Host, tmp_path: Path) -> None:
    environ = {**os.environ, "TERM": "screen-256color", "PS1": "$ ", "HISTFILE": ""}
    argv = ["bash", "--norc", "--noprofile", "-i"]
    with Terminal(argv, cwd=host.cli.directory, env=environ, size=(80, 24)) as terminal:
        terminal.shows("$")
        terminal.say(f"stty -g > {tmp_path}/before; echo rea''dy")
        terminal.shows("ready")
        terminal.say(f"{sys.executable} -m takeback")
        terminal.shows("turn 3 ruin a")
        cursor_at(terminal, "turn 3")
        terminal.press("C-z")
        terminal.shows("Stopped")
        assert terminal.tells("alternate_on") == "0"
        assert terminal.tells("cursor_flag") == "1"
        assert terminal.tells("mouse_any_flag") == "0"
        terminal.say(f"stty -g > {tmp_path}/stopped; echo do''ne")
        terminal.shows("done")
        assert (tmp_path / "stopped").read_text() == (tmp_path / "before").read_text()
        terminal.say("fg")
        cursor_at(terminal, "turn 3")
        terminal.press("Down")
        cursor_at(terminal, "turn 2")
        terminal.press("q")
        terminal.until(lambda: terminal.tells("alternate_on") == "0", "see it leave")
        terminal.say(f"stty -g > {tmp_path}/after; echo e''nd")
        terminal.shows("end")
        assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()


def children(pid: int) -> list[int]:
    """Returns the processes that a process has started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]
