"""Two copies of one store, written to apart on two machines, and fetched together with git."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.store.location import known_machine
from tests.support.called import called, done
from tests.support.git import git
from tests.support.host import register

HOME = "TAKEBACK_HOME"


class Machine:
    """A home, and the files that the workspace has on that machine."""

    def __init__(self, home: Path, workspace: Path, patch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.workspace = workspace
        self._patch = patch
        self._files: dict[str, str] = {}

    def __enter__(self) -> Machine:
        self._patch.setenv(HOME, str(self.home))
        for path in self.workspace.glob("*.txt"):
            path.unlink()
        for name, text in self._files.items():
            (self.workspace / name).write_text(text)
        return self

    def __exit__(self, *exc: object) -> None:
        self._files = self.files()

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in sorted(self.workspace.glob("*.txt"))}

    @property
    def store(self) -> Path:
        [found] = self.home.glob("workspaces/*/*/store.git")
        return found

    def turn(self, text: str, session: str = "s1") -> None:
        """A turn that writes a file of its name, and its name into a file of all."""
        with (
            Takeback.open(self.workspace) as tb,
            tb.session(agent="mine", native=session).turn(f"make it {text}"),
        ):
            (self.workspace / "all.txt").write_text(text)
            (self.workspace / f"{text}.txt").write_text(text)

    def fetch(self, other: Machine) -> None:
        """Plain git, every ref as it is: each has one writer, so nothing is in the way."""
        git(self.store, "fetch", "--quiet", str(other.store), "refs/takeback/*:refs/takeback/*")

    def turns(self) -> list[tuple[str, list[str]]]:
        """The timeline, oldest first: each turn with the files that it changed."""
        lines = done(self.workspace, "--json", "log", "--all").json_lines
        return [
            (line["prompt"].removeprefix("make it "), [c["path"] for c in line["changed"]])
            for line in reversed(lines)
            if line["kind"] == "prompt"
        ]

    def operations(self) -> list[tuple[str, bool, str | None]]:
        """The log, oldest first: the kind, whether it was done here, whether undo takes it."""
        lines = done(self.workspace, "--json", "log", "--operations").json_lines
        return [(line["kind"], line["here"], line["next"]) for line in reversed(lines)]


@pytest.fixture
def machines(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Machine, Machine]:
    """A store of two turns and a rewind, copied whole, with its home and the files."""
    one = Machine(Path(os.environ[HOME]), workspace, monkeypatch)
    two = Machine(tmp_path / "home-two", workspace, monkeypatch)
    with one:
        one.turn("a")
        one.turn("b")
        done(workspace, "rewind", "--yes", "--files", "turn:2")
    shutil.copytree(one.home, two.home, symlinks=True)
    two.__exit__()
    return one, two


def written_apart(machines: tuple[Machine, Machine]) -> None:
    """One goes on with the session, both make checkpoints by hand, and both rewind."""
    one, two = machines
    with one:
        one.turn("c1")
        done(one.workspace, "checkpoint", "-m", "mine")
        one.turn("d1")
        done(one.workspace, "rewind", "--yes", "--files", "mine/turn:3")
    with two:
        two.turn("c2", session="s2")
        done(two.workspace, "checkpoint", "-m", "yours")
        done(two.workspace, "rewind", "--yes", "--files", "mine-s2/turn:1")


UNION = ["a", "b", "c1", "c2", "d1"]


def test_what_was_written_apart_is_one_timeline_and_both_logs_can_be_undone(
    machines: tuple[Machine, Machine],
) -> None:
    one, two = machines
    written_apart(machines)
    with one:
        before = one.turns()
    with two:
        two.fetch(one)
        done(two.workspace, "doctor", "--rebuild")
        union = two.turns()
        assert sorted(name for name, _ in union) == UNION
        # nobody is blamed for what another machine's files are like
        assert [turn for turn in union if turn in before] == before
        assert dict(union)["c2"] == ["all.txt", "c2.txt"]
        assert two.operations() == [
            ("rewind", True, None),
            ("rewind", True, "undo"),
            ("rewind", False, None),
        ] or two.operations() == [
            ("rewind", True, None),
            ("rewind", False, None),
            ("rewind", True, "undo"),
        ]
        # its own log, step by step, beyond where the store was copied
        done(two.workspace, "undo", "--yes")
        assert two.files() == {"a.txt": "a", "all.txt": "c2", "c2.txt": "c2"}
        done(two.workspace, "undo", "--yes", "--overwrite-others")
        assert two.files() == {"a.txt": "a", "all.txt": "b", "b.txt": "b"}
        assert called(two.workspace, "undo", "--yes").status == 13
        # that of the other one too, if somebody names it
        lines = done(two.workspace, "--json", "log", "--operations").json_lines
        [theirs] = [line["id"] for line in lines if not line["here"]]
        done(two.workspace, "undo", "--yes", "--overwrite-others", theirs)
        assert two.files() == {"a.txt": "a", "all.txt": "d1", "c1.txt": "c1", "d1.txt": "d1"}
        done(two.workspace, "verify", "--read-data")
    with one:
        one.fetch(two)
        assert [name for name, _ in one.turns()] == [name for name, _ in union]
        done(one.workspace, "undo", "--yes")
        assert one.files() == {"a.txt": "a", "all.txt": "d1", "c1.txt": "c1", "d1.txt": "d1"}


def test_the_order_is_the_same_on_both_and_goes_on_above_what_was_fetched(
    machines: tuple[Machine, Machine],
) -> None:
    one, two = machines
    written_apart(machines)
    with two:
        two.fetch(one)
        two.turn("e2", session="s2")
        assert [name for name, _ in two.turns()][-1] == "e2"
        there = two.turns()
        dumped = done(two.workspace, "--json", "log", "--all").json_lines
    with one:
        one.fetch(two)
        assert [name for name, _ in one.turns()] == [name for name, _ in there]
        again = done(one.workspace, "--json", "log", "--all").json_lines
        assert [line["id"] for line in again] == [line["id"] for line in dumped]


def test_a_session_that_both_wrote_to_keeps_everything_and_each_goes_on(
    machines: tuple[Machine, Machine],
) -> None:
    one, two = machines
    with one:
        one.turn("c1")
    with two:
        two.turn("c2")
        two.fetch(one)
        assert sorted(name for name, _ in two.turns()) == ["a", "b", "c1", "c2"]
        two.turn("d2")
        [session] = done(two.workspace, "--json", "sessions").json_lines
        assert session["id"] == "mine-s1"
    with one:
        one.fetch(two)
        one.turn("e1")
        assert [name for name, _ in one.turns()][-2:] == ["d2", "e1"]
        done(one.workspace, "verify", "--read-data")


def test_the_newest_label_counts_whoever_gave_it(machines: tuple[Machine, Machine]) -> None:
    one, two = machines
    with one:
        [newest] = done(one.workspace, "--json", "log", "-n", "1").json_lines
        done(one.workspace, "label", newest["id"], "first")
    with two:
        two.fetch(one)
        done(two.workspace, "label", newest["id"], "second")
    with one:
        one.fetch(two)
        assert done(one.workspace, "--json", "show", "second").json["label"] == "second"
        assert called(one.workspace, "show", "first").status == 12
        done(one.workspace, "label", newest["id"])
        assert called(one.workspace, "show", "second").status == 12
    with two:
        two.fetch(one)
        assert done(two.workspace, "--json", "show", newest["id"]).json["label"] is None
        done(two.workspace, "label", newest["id"], "third")
        assert done(two.workspace, "--json", "show", "third").json["id"] == newest["id"]


def test_a_turn_that_runs_on_another_machine_is_in_nobodys_way(
    machines: tuple[Machine, Machine],
) -> None:
    one, two = machines
    with one:
        tb = Takeback.open(one.workspace)
        tb.session(agent="mine", native="s9").turn("takes long").__enter__()
        tb.close()
        assert called(one.workspace, "rewind", "--yes", "--files", "mine-s1/turn:1").status == 13
    with two:
        two.fetch(one)
        assert "takes long" in str(done(two.workspace, "log", "--all"))
        done(two.workspace, "rewind", "--yes", "--files", "--allow-mass-delete", "mine-s1/turn:1")
        assert two.files() == {}


def test_a_copy_gets_its_own_name_when_it_first_writes(machines: tuple[Machine, Machine]) -> None:
    one, two = machines
    with two:
        done(two.workspace, "status")
        assert known_machine(str(two.home)) is None
        assert two.operations() == [("rewind", True, "undo")]
        done(two.workspace, "undo", "--yes")
        assert two.files() == {"a.txt": "a", "all.txt": "b", "b.txt": "b"}
        assert known_machine(str(two.home)) not in (None, known_machine(str(one.home)))


def test_words_that_another_machine_brought_are_quoted_though_their_host_is_known_here(
    machines: tuple[Machine, Machine],
) -> None:
    one, two = machines
    register("mine")
    with one:
        path = one.workspace / "talk.jsonl"
        told = {"transcript": str(path), "resume": ("mine", "--as", "{session}"), "turn": "t1"}
        with Takeback.open(one.workspace) as tb:
            session = tb.session(agent="mine", native="s7")
            path.write_text('{"text": "hello"}\n')
            session.tell("prompt", prompt="hello", **told)
            session.tell("turn_end", **told)
        here = done(one.workspace, "rewind", "--yes", "--conversation", "mine-s7/turn:1.end")
        assert "Go on with it: " in here.stdout
    with two:
        two.fetch(one)
        there = done(two.workspace, "rewind", "--yes", "--conversation", "mine-s7/turn:1.end")
        assert "mine --as" in there.stdout
        assert "The host's words" in there.stdout
        assert "Go on with it" not in there.stdout


def test_where_a_session_worked_on_another_machine_is_not_gone_to_here(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    one, two = machines
    register("mine")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with one:
        path = elsewhere / "talk.jsonl"
        told = {"transcript": str(path), "resume": ("mine", "--as", "{session}"), "turn": "t1"}
        with Takeback.open(one.workspace) as tb:
            session = tb.session(agent="mine", native="s7")
            path.write_text('{"text": "hello"}\n')
            session.tell("prompt", prompt="hello", directory=str(elsewhere), **told)
            session.tell("turn_end", directory=str(elsewhere), **told)
        here = done(one.workspace, "rewind", "--yes", "--conversation", "mine-s7/turn:1.end")
        assert f"cd {elsewhere} &&" in here.stdout
    made = sorted(elsewhere.iterdir())
    assert len(made) == 2, "the new session stands beside the one that it was cut from"
    with two:
        two.fetch(one)
        there = called(two.workspace, "rewind", "--yes", "--conversation", "mine-s7/turn:1.end")
        assert str(elsewhere) not in there.stdout
        assert there.status != 0, "there is no place of the agent's own to write it to"
    assert sorted(elsewhere.iterdir()) == made
