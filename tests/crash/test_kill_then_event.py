"""A rewind is killed in the middle, and before anybody recovers it an agent's event comes in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from takeback import Takeback
from takeback.store import journal
from tests.crash.world import World
from tests.support.cli import Cli
from tests.support.faults import Faults, die
from tests.support.journey import write_files

FILES = 12
AMID = "taken in the middle of an interrupted operation"


class HalfWay(Faults):
    """Kills when half of the files are exchanged."""

    def step(self, name: str) -> None:
        super().step(name)
        if name == "exchange" and self.names.count(name) > FILES // 2:
            die()


class Interrupted:
    """A workspace with two turns behind it, and a rewind to before the second killed half-way."""

    def __init__(self, base: Path) -> None:
        self.world = _two_turns(base)
        self.cli = Cli(self.world.root, env=self.world.environ)
        assert self.world.run(self.world.rewind, HalfWay()).killed
        found = [(self.world.root / f"f{number}").read_bytes() for number in range(FILES)]
        assert 0 < sum(data.startswith(b"one") for data in found) < FILES
        assert self.cli.ok("--json", "status").json["interrupted"] is True

    def tell(self, event: str, **fields: object) -> None:
        tell(self.world, event, **fields)

    def log(self, *args: str) -> list[dict[str, Any]]:
        return self.cli.ok("--json", "log", *args).json_lines


def tell(world: World, event: str, **fields: object) -> None:
    told = {"event": event, "session": "s1", "agent": "mine", "cwd": str(world.root), **fields}
    Cli(world.root, env=world.environ).ok("hook", "generic", stdin=json.dumps(told).encode())


def _two_turns(base: Path) -> World:
    world = World(base)
    files = {f"f{number}": b"one %d\n" % number for number in range(FILES)}
    write_files(world.root, {**files, "stays": b"stays\n"})
    tell(world, "prompt", turn="1", prompt="first")
    tell(world, "turn_end", turn="1")
    tell(world, "prompt", turn="2", prompt="second")
    write_files(world.root, {f"f{number}": b"two %d\n" % number for number in range(FILES)})
    tell(world, "turn_end", turn="2")
    lines = Cli(world.root, env=world.environ).ok("--json", "log").json_lines
    world.target = next(line["id"] for line in lines if line["turn"] == 2)
    world.operation = "rewind"
    return world


@pytest.fixture
def interrupted(tmp_path: Path) -> Interrupted:
    return Interrupted(tmp_path)


def test_a_checkpoint_amid_a_killed_rewind_says_so_everywhere(interrupted: Interrupted) -> None:
    cli = interrupted.cli
    operation = json.loads((store_of(interrupted) / "journal").read_bytes())["operation"]["id"]
    interrupted.tell("prompt", turn="3", prompt="third")
    line = interrupted.log()[0]
    assert (line["turn"], line["prompt"]) == (3, "third")
    assert (line["amid"], line["complete"]) == (operation, False)
    assert line["outside"] == []
    shown = cli.ok("--json", "show", line["id"]).json
    assert (shown["amid"], shown["complete"]) == (operation, False)
    for words in (
        cli.ok("log").stdout.splitlines()[0],
        cli.ok("show", line["id"]).stdout,
        next(text for text in cli.ok("tree").stdout.splitlines() if "third" in text),
    ):
        assert AMID in words
    [session] = cli.ok("--json", "tree").json["sessions"]
    [turn] = [child for child in session["children"] if child["turn"] == 3]
    assert turn["amid"] == operation
    others = [other for other in interrupted.log("--all") if other["id"] != line["id"]]
    assert others
    assert all(other["amid"] is None for other in others)


def store_of(interrupted: Interrupted) -> Path:
    return Path(interrupted.cli.ok("--json", "status").json["store"])


def test_its_changes_are_nobody_s_but_the_interrupted_rewind_s(interrupted: Interrupted) -> None:
    interrupted.tell("prompt", turn="3", prompt="third")
    at = interrupted.log()[0]["id"]
    text = interrupted.cli.ok("show", at).stdout
    assert "interrupted operation" in text
    assert "outside" not in text
    write_files(interrupted.world.root, {"stays": b"changed by the turn\n"})
    interrupted.tell("turn_end", turn="3")
    line = interrupted.log()[0]
    assert [change["path"] for change in line["changed"]] == ["stays"]  # the turn's own, alone
    assert line["amid"] is not None
    whos = {
        change["who"]
        for step in interrupted.cli.ok("--json", "show", at).json["steps"]
        for change in step["changed"]
    }
    assert "interrupted operation" not in whos  # the files were in that state before the turn


def test_a_plan_to_it_warns(interrupted: Interrupted) -> None:
    cli = interrupted.cli
    interrupted.tell("prompt", turn="3", prompt="third")
    at = interrupted.log()[0]["id"]
    interrupted.tell("turn_end", turn="3")
    planned = cli.ok("--json", "--dry-run", "rewind", at, "--files").json
    assert any(AMID in warning for warning in planned["warnings"])
    assert AMID in cli.ok("--dry-run", "rewind", at, "--files").stdout
    sound = interrupted.log()[-1]["id"]
    planned = cli.ok("--json", "--dry-run", "rewind", sound, "--files").json
    assert not any(AMID in warning for warning in planned["warnings"])


def test_a_rewind_to_it_says_so_and_is_done(interrupted: Interrupted) -> None:
    cli, root = interrupted.cli, interrupted.world.root
    interrupted.tell("prompt", turn="3", prompt="third")
    at = interrupted.log()[0]["id"]
    half = {path.name: path.read_bytes() for path in root.iterdir() if path.name[0] == "f"}
    interrupted.tell("turn_end", turn="3")
    cli.ok("checkpoint")  # recovers
    done = cli.ok("rewind", at, "--files", "--yes")
    assert AMID in done.stderr
    assert {path.name: path.read_bytes() for path in root.iterdir() if path.name[0] == "f"} == half
    assert cli.ok("undo", "--yes").status == 0


def test_after_the_recovery_checkpoints_are_ordinary_again(interrupted: Interrupted) -> None:
    cli = interrupted.cli
    interrupted.tell("prompt", turn="3", prompt="third")
    interrupted.tell("turn_end", turn="3")
    made = cli.ok("--json", "checkpoint").json
    assert made["complete"] is True
    assert made["changed"] == 0  # what the recovery did is nobody's change
    interrupted.tell("prompt", turn="4", prompt="fourth")
    line = interrupted.log()[0]
    assert (line["amid"], line["complete"]) == (None, True)
    assert line["outside"] == []


def test_stepping_back_over_it_works(interrupted: Interrupted) -> None:
    """`rewind` without a name goes to before the turn, which is the checkpoint in the middle."""
    cli = interrupted.cli
    interrupted.tell("prompt", turn="3", prompt="third")
    write_files(interrupted.world.root, {"stays": b"changed by the turn\n"})
    interrupted.tell("turn_end", turn="3")
    done = cli.ok("--json", "rewind", "--files", "--yes")
    assert done.json["verified"] is True
    assert (interrupted.world.root / "stays").read_bytes() == b"stays\n"
    again = cli.ok("--json", "rewind", "--files", "--yes").json
    assert again["target"] == interrupted.world.target


def test_what_a_roll_back_puts_back_is_nobody_s_outside_edit(interrupted: Interrupted) -> None:
    """The target's bytes are lost, so recovery goes back; no operation is in the log then."""
    cli, root = interrupted.cli, interrupted.world.root
    interrupted.tell("prompt", turn="3", prompt="third")
    interrupted.tell("turn_end", turn="3")
    with Takeback.open(root) as tb, tb.engine._context.locked() as locked:
        begun = journal.read(locked.store)
        assert begun is not None
        journal.write(locked.lock, {**begun, "back": True})
    cli.ok("checkpoint")
    assert all((root / f"f{number}").read_bytes().startswith(b"two") for number in range(FILES))
    interrupted.tell("prompt", turn="4", prompt="fourth")
    everything = interrupted.log("--all")
    newest = next(line for line in everything if line["kind"] == "manual")
    assert newest["amid"] is None
    assert {change["who"] for change in newest["changed"]} == {"interrupted operation"}
    assert all(line["outside"] == [] for line in everything)


def test_an_event_beside_a_journal_that_cannot_be_read_is_marked_too(
    interrupted: Interrupted,
) -> None:
    (store_of(interrupted) / "journal").write_bytes(b"garbage")
    interrupted.tell("prompt", turn="3", prompt="third")
    line = interrupted.log()[0]
    assert (line["prompt"], line["complete"]) == ("third", False)
    assert line["amid"] == "unknown"
