"""Completion as a shell asks for it: what may come next, quick and never loud."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback import Takeback
from tests.support.called import called, done


@pytest.fixture
def world(workspace: Path) -> Path:
    (workspace / "src").mkdir()
    (workspace / "src" / "gone.py").write_text("gone\n")
    (workspace / "src" / "it;rm -rf x").write_text("evil\n")
    (workspace / "a").write_text("0\n")
    with Takeback.open(workspace) as tb:
        tb.checkpoint("start")
        tb.checkpoint("$(touch evil)")
        for number in (1, 2):
            with tb.session(agent="mine", native="s1").turn(f"turn\nnumber {number}"):
                (workspace / "a").write_text(f"{number}\n")
    (workspace / "src" / "gone.py").unlink()
    return workspace


@pytest.fixture
def offered(world: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    def ask(typed: str) -> list[str]:
        monkeypatch.setenv("_TAKEBACK_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_TYPED", f"takeback {typed}")
        answer = called(world)
        assert answer.stderr == "", str(answer)
        return [line.partition(",")[2] for line in answer.stdout.split()]

    return ask


CASES = [
    ("re", ["rewind", "revert", "redo"]),
    ("log --oper", ["--operations"]),
    ("rewind tu", ["turn:2", "turn:1"]),
    ("rewind turn:", ["2", "1"]),
    ("show sta", ["start"]),
    ("show ", ["@", "turn:2", "turn:1", "start"]),
    ("show mine/tu", ["mine/turn:2", "mine/turn:1"]),
    ("label st", ["start"]),
    ("log --session m", ["mine", "mine-s1"]),
    ("config lock", ["lock_wait_seconds"]),
    ("config ignored ", ["save", "restore", "off"]),
    ("init c", ["claude", "codex", "copilot"]),
    ("init claude c", ["codex", "copilot"]),
    ("uninstall p", ["pi"]),
    ("cat start s", ["src/"]),
    ("cat start src/", ["src/gone.py"]),
    ("rewind start -- s", ["src/"]),
    ("diff start -- src/g", ["src/gone.py"]),
    ("run --ev", ["--every"]),
    ("run -- make x/", ["x/"]),  # left to the shell, which knows the files
    ("cat nonsense s", []),
    ("show nobody/", []),
    ("-C missing rewind ", []),
]


def test_forget_offers_what_something_is_kept_of(
    world: Path, offered: Callable[[str], list[str]]
) -> None:
    assert offered("forget /") == [str(world)]
    assert offered("forget nowhere") == []
    assert offered("forget --restore /") == []
    with Takeback.open(world) as tb:
        tb.forget()
    assert offered("forget /") == []
    assert offered("forget --restore /") == [str(world)]


def test_what_may_come_next(offered: object) -> None:
    assert callable(offered)
    found = {typed: offered(typed) for typed, _ in CASES}
    assert found == dict(CASES)


def test_nothing_is_offered_where_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_TAKEBACK_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_TYPED", "takeback rewind ")
    answer = called(tmp_path)
    assert (answer.stdout.strip(), answer.stderr) == ("", "")
    assert not Path(os.environ["TAKEBACK_HOME"]).exists()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_told_what_each_is(
    world: Path, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_TAKEBACK_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", "takeback rewind tu")
    monkeypatch.setenv("COMP_CWORD", "tu" if shell == "fish" else "2")
    answer = called(world)
    assert "turn number 2" in answer.stdout, str(answer)
    assert answer.stderr == ""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_itself_completes_a_turn(world: Path, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "takeback"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m takeback "$@"\n')
    program.chmod(0o755)
    script = done(world, "completion", "bash").stdout
    typed = (
        'COMP_LINE="takeback rewind turn:"; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(takeback rewind '
        'turn :); COMP_CWORD=3; _takeback_completion takeback; echo "${COMPREPLY[@]}"'
    )
    answer = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\n{typed}"],
        cwd=world,
        env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert answer.stdout == "2 1\n", answer
