"""Bisect: which states are tried, on what, and that the workspace knows nothing of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback import Takeback
from takeback.app.engine import Engine
from takeback.bisect.bisect import Bisected, Run
from takeback.errors import InUse, Refused, UsageError
from tests.support.processes import wait_for

SUITE = """\
import os, sys
for name in sorted(os.listdir("parts")):
    scope = {}
    exec(open(f"parts/{name}").read(), scope)
    if scope["double"](2) != 4:
        sys.exit(f"{name} is broken")
"""
"""A small test suite: every part is loaded and tried."""
RIGHT, WRONG = "def double(n):\n    return n * 2\n", "def double(n):\n    return n + 3\n"
TURNS, PLANTED = 64, 41


class Project:
    """A workspace in which each turn adds a part, and one of them is wrong."""

    def __init__(self, workspace: Path, engine: Engine) -> None:
        self.workspace = workspace
        self.engine = engine
        self.runs: list[Run] = []

    def bisect(self, good: str, bad: str, *command: str, **how: object) -> Bisected:
        search = self.engine.bisection(good, bad, command, **how)  # type: ignore[arg-type]
        return search.run(self.runs.append)

    def sh(self, good: str, bad: str, script: str) -> Bisected:
        return self.bisect(good, bad, "sh", "-c", script)

    @property
    def words(self) -> list[str]:
        return [run.judged.word for run in self.runs]


def fingerprint(directory: Path) -> dict[str, tuple[int, ...]]:
    """Returns inode, mode, size and times of everything below a directory, itself included."""
    found: dict[str, tuple[int, ...]] = {}
    for base, folders, names in os.walk(directory):
        for name in (".", *folders, *names):
            path = os.path.join(base, name)
            seen = os.lstat(path)
            found[path] = (
                seen.st_ino,
                seen.st_mode,
                seen.st_size,
                seen.st_mtime_ns,
                seen.st_ctime_ns,
            )
    return found


@pytest.fixture
def project(workspace: Path) -> Iterator[Project]:
    with Engine.open(workspace) as engine:
        yield Project(workspace, engine)


def many_turns(workspace: Path, turns: int = TURNS, planted: int = PLANTED) -> None:
    (workspace / "parts").mkdir()
    (workspace / "suite.py").write_text(SUITE)
    with Takeback.open(workspace) as tb:
        session = tb.session(agent="mine", native="s1")
        for number in range(1, turns + 1):
            with session.turn(f"add part {number}"):
                part = WRONG if number == planted else RIGHT
                (workspace / "parts" / f"{number:02}.py").write_text(part)


@pytest.mark.long
def test_the_planted_turn_of_64_is_found_in_7_runs_and_the_workspace_is_not_touched(
    project: Project,
) -> None:
    many_turns(project.workspace)
    before = fingerprint(project.workspace)
    found = project.bisect("turn:1", "@", sys.executable, "suite.py")
    assert fingerprint(project.workspace) == before
    assert [place.turn and place.turn.turn.number for place in found.broken] == [PLANTED]
    assert len(project.runs) <= 7
    assert set(project.words) == {"good", "bad"}
    assert not list(Path(os.environ["TAKEBACK_HOME"]).glob("bisect-*"))


def test_a_small_one(project: Project) -> None:
    many_turns(project.workspace, 6, 4)
    before = fingerprint(project.workspace)
    found = project.bisect("turn:1", "@", sys.executable, "suite.py")
    assert found.told
    assert found.broken[0].turn is not None
    assert found.broken[0].turn.turn.prompt == "add part 4"
    assert found.good.turn is not None
    assert found.good.turn.turn.prompt == "add part 3"
    assert len(project.runs) <= 4
    assert fingerprint(project.workspace) == before


class Story:
    """Turns that write one file each, as told."""

    def __init__(self, workspace: Path, tb: Takeback, native: str = "s1") -> None:
        self.workspace = workspace
        self.tb = tb
        self.session = tb.session(agent="mine", native=native)

    def turn(self, **files: str) -> None:
        with self.session.turn(" ".join(files) or "nothing"):
            for name, text in files.items():
                (self.workspace / name).write_text(text)


@pytest.fixture
def story(workspace: Path) -> Iterator[Story]:
    (workspace / "begun").write_text("")
    with Takeback.open(workspace) as tb:
        yield Story(workspace, tb)


def names(found: Bisected) -> list[str | None]:
    return [place.turn.turn.prompt if place.turn else None for place in found.broken]


def test_what_cannot_be_judged_is_skipped_and_a_range_is_told(
    story: Story, project: Project
) -> None:
    for name in "abcdef":
        story.turn(**{name: ""})
    found = project.sh("turn:1", "@", "test -e e && exit 1; test -e b && exit 125; exit 0")
    assert names(found) == ["b", "c", "d", "e"]
    assert not found.told
    assert project.words.count("skip") == 3


def test_turns_that_changed_nothing_and_what_a_rewind_took_back_are_not_tried(
    story: Story, project: Project
) -> None:
    story.turn(a="")
    story.turn()
    story.turn(gone="")
    story.turn(broken="")
    story.tb.rewind("turn:3", scope="files")
    story.turn(b="")
    story.turn(broken="again")
    found = project.sh("turn:1", "@", "test ! -e broken")
    assert names(found) == ["broken"]
    assert found.broken[0].turn is not None
    assert found.broken[0].turn.turn.number == 6
    tried = {run.place.turn.turn.number for run in project.runs if run.place.turn}
    assert not tried & {2, 3, 4}


def test_what_broke_between_turns_is_blamed_on_no_turn(story: Story, project: Project) -> None:
    story.turn(a="")
    (story.workspace / "broken").write_text("by hand")
    story.turn(b="")
    found = project.sh("turn:1", "@", "test ! -e broken")
    assert names(found) == [None]


def test_turns_of_several_sessions_are_in_the_order_of_the_files(
    story: Story, project: Project
) -> None:
    other = Story(story.workspace, story.tb, "s2")
    story.turn(a="")
    other.turn(b="")
    story.turn(c="")
    other.turn(d="")
    first = story.tb.checkpoints(limit=-1)[-1].checkpoint.id
    last = story.tb.checkpoints(limit=1)[0].checkpoint.id
    assert names(project.sh(first, last, "test ! -e b")) == ["b"]


def test_ends_that_are_not_what_they_are_said_to_be(story: Story, project: Project) -> None:
    for name in "abc":
        story.turn(**{name: ""})
    for good, bad, script, said in (
        ("turn:1", "@", "true", "good .* of BAD"),
        ("turn:1", "@", "false", "bad of GOOD"),
        ("turn:3", "turn:1", "true", "is later than"),
        ("turn:1", "turn:1", "true", "the same"),
    ):
        with pytest.raises(UsageError, match=said):
            project.sh(good, bad, script)
        assert project.engine.reset_bisection() is False  # nothing is left under way


def test_one_turn_is_tried_at_both_ends(story: Story, project: Project) -> None:
    story.turn(a="")
    assert names(project.sh("turn:1", "@", "test ! -e a")) == ["a"]
    assert sorted(project.words) == ["bad", "good"]


def test_whatever_a_run_leaves_the_next_has_exactly_the_files_of_its_state(
    story: Story, project: Project, tmp_path: Path
) -> None:
    """The command changes, deletes and replaces what it finds; each run lists what it has."""
    directory = story.workspace / "folder"
    directory.mkdir()
    (directory / "inside").write_text("inside")
    (story.workspace / "script").write_text("#!/bin/sh\n")
    (story.workspace / "script").chmod(0o755)
    for number in range(8):
        story.turn(count=f"{number}", **{f"new{number}": "x"})
    seen = tmp_path / "seen"
    spoil = (
        f"(cat count folder/inside; ls; stat -c %a script; readlink lost) >> {seen} 2>/dev/null\n"
        "n=$(cat count)\n"
        "echo spoilt > count; rm script; mkdir new7; touch new7/x build.o; echo x >> begun\n"
        "case $n in 3) rm -r folder; ln -s / folder;; 5) echo > folder/inside;; esac\n"
        'test "$n" -lt 6'
    )
    found = project.sh("turn:1", "@", spoil)
    assert names(found) == ["count new6"]
    for part in seen.read_text().split("755\n"):
        if part:
            number = int(part[0])
            assert part.startswith(f"{number}inside")
            listed = part[len(f"{number}inside") :].split()
            made = [name for name in listed if name.startswith("new")]
            assert made[: number + 1] == [f"new{n}" for n in range(number + 1)]
            assert set(made[number + 1 :]) <= {"new7"}  # what the command made stays
            assert {"begun", "count", "folder", "script"} <= set(listed)


def test_a_file_of_the_same_size_and_second_is_not_taken_for_the_same(
    story: Story, project: Project
) -> None:
    """Python takes what it compiled for current if size and second of the source are."""
    (story.workspace / "suite.py").write_text("import part, sys; sys.exit(part.n > 4)\n")
    for number in range(8):
        story.turn(**{"part.py": f"n = {number}\n"})
    found = project.bisect("turn:1", "@", sys.executable, "suite.py")
    assert found.broken[0].turn is not None
    assert found.broken[0].turn.turn.number == 6


def test_a_copy_is_the_commands_own_and_leads_nowhere_else(
    story: Story, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = story.workspace
    (root / ".gitignore").write_text(".venv\n")
    place = root / ".venv" / "bin"
    place.mkdir(parents=True)
    tool = place / "tool"
    tool.write_text(f"#!/bin/sh\ntouch {root}/.venv/used {root}-not/x; test ! -e {root}/b\n")
    tool.chmod(0o755)
    (root / ".venv" / "link").symlink_to(root / "a")
    (root / ".venv" / "old").write_text("x")
    os.utime(root / ".venv" / "old", (1e9, 1e9))
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    monkeypatch.setenv("PWD", str(alias))
    monkeypatch.setenv("PATH", f"{alias}/.venv/bin:{os.environ['PATH']}")
    for name in "abc":
        story.turn(**{name: ""})
    before = fingerprint(root)
    young = "find .venv/old -newermt 2002-01-01 | grep ."
    command = f"tool; e=$?; echo x > .venv/link; {young} && exit 9; exit $e"
    with Engine.open(root) as engine:
        found = engine.bisection("turn:1", "@", ["sh", "-c", command], copies=[".venv"]).run(
            project.runs.append
        )
    assert names(found) == ["b"]
    assert {run.judged.status for run in project.runs} == {0, 1}
    assert fingerprint(root) == before


def test_the_command_is_not_told_where_the_workspace_is(
    story: Story, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = story.workspace
    for name in "ab":
        story.turn(**{name: ""})
    (tmp_path / "alias").symlink_to(root)
    monkeypatch.setenv("PWD", f"{tmp_path}/alias")
    monkeypatch.setenv("OLDPWD", str(root))
    monkeypatch.setenv("SOMETHING", f"x={root}/bin:{tmp_path}/alias/a")
    monkeypatch.setenv("GIT_DIR", f"{root}/.git")
    seen = tmp_path / "seen"
    script = f"(env; pwd; git rev-parse --show-toplevel 2>&1) > {seen}; test ! -e b"
    project.sh("turn:1", "@", script)
    told = seen.read_text()
    assert str(root) not in told
    assert f"{tmp_path}/alias" not in told
    assert "not a git repository" in told


def test_takeback_in_the_command_does_not_take_the_scratch_for_a_workspace(
    story: Story, project: Project, tmp_path: Path
) -> None:
    for name in "ab":
        story.turn(**{name: ""})
    seen = tmp_path / "seen"
    call = f"{sys.executable} -m takeback checkpoint > {seen} 2>&1"
    project.sh("turn:1", "@", f"{call}; test ! -e b")
    assert "takeback keeps its own things there" in seen.read_text()


def test_a_link_into_the_workspace_is_refused(story: Story, project: Project) -> None:
    story.turn(a="")
    (story.workspace / "link").symlink_to(story.workspace / "a")
    story.turn(b="")
    with pytest.raises(Refused, match="would change the workspace"):
        project.sh("turn:1", "@", "echo spoilt > link; test ! -e b")
    assert (story.workspace / "a").read_text() == ""


def test_a_script_that_is_not_there_yet_cannot_judge(story: Story, project: Project) -> None:
    story.turn(a="")
    story.turn(**{"check.sh": "#!/bin/sh\ntest ! -e d\n"})
    (story.workspace / "check.sh").chmod(0o755)
    for name in "bcd":
        story.turn(**{name: ""})
    found = project.bisect("turn:3", "@", "./check.sh")
    assert names(found) == ["d"]


def test_one_process_at_a_time(story: Story, project: Project) -> None:
    for name in "ab":
        story.turn(**{name: ""})
    with Engine.open(story.workspace) as other:

        def meanwhile(run: Run) -> None:
            with pytest.raises(InUse, match="another process"):
                other.bisection("turn:1", "@", command).run(project.runs.append)
            with pytest.raises(InUse, match="another process"):
                other.reset_bisection()

        command = ["sh", "-c", "test ! -e b"]
        found = project.engine.bisection("turn:1", "@", command).run(meanwhile)
    assert names(found) == ["b"]
    assert project.runs == []


def test_a_command_that_does_not_exist(story: Story, project: Project) -> None:
    story.turn(a="")
    with pytest.raises(UsageError, match="cannot be run: No such file"):
        project.bisect("turn:1", "@", "no-such-command")
    assert project.engine.reset_bisection() is False


def test_a_run_that_takes_too_long_is_bad_and_ends(
    story: Story, project: Project, tmp_path: Path
) -> None:
    for name in "ab":
        story.turn(**{name: ""})
    pid = tmp_path / "pid"
    script = f"test -e b || exit 0; sleep 1000 & echo $! > {pid}; wait"
    found = project.bisect("turn:1", "@", "sh", "-c", script, timeout=0.5)
    assert names(found) == ["b"]
    assert 124 in {run.judged.status for run in project.runs}
    assert not _lives(int(pid.read_text()))


def _lives(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.05)
    return True


def test_an_interrupt_while_the_command_is_started_ends_it_too(
    project: Project, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine the command may run before its start has returned."""
    many_turns(workspace, 3, 2)
    pid = tmp_path / "pid"

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            wait_for(lambda: pid.exists() and pid.read_text())
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        project.sh("turn:1", "@", f"echo $$ > {pid}; exec sleep 1000")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
