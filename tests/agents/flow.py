"""What a person does with any agent: connect it, work, take a turn back, go on, undo, leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from scripts.tried import CONVERSATION, FILES, OLD_SESSION, SHELL, TRANSCRIPT, UNDO, UNINSTALL
from tests.agents.script import Script, Step, Tool
from tests.agents.terminal import Terminal
from tests.agents.tried import Tried
from tests.agents.world import World
from tests.support.trees import Entry, differences, git_state, tree_state

ONE, TWO, THREE = "TURN-ONE create", "TURN-TWO change", "TURN-THREE more"
AGAIN, LATER = "TURN-FOUR another way", "TURN-FOUR go on"


class Driver(Protocol):
    """How a test works one agent.

    ``settings`` is what ``init`` writes, or has the first of. ``options`` are those that a person
    would always give at a terminal, where no setting does it.
    """

    name: str
    world: World
    settings: Path
    env: dict[str, str]

    @property
    def options(self) -> Sequence[str]: ...

    def begin(self, prompt: str) -> str: ...

    def go_on(self, argv: Sequence[str], prompt: str) -> str: ...

    def at_a_terminal(self, argv: Sequence[str]) -> Terminal: ...

    def resume_line(self, session: str) -> list[str]: ...

    def transcript(self, session: str) -> Path: ...

    def script(self) -> Script: ...


def take_back_the_second_turn(driver: Driver, theirs: bytes | None = None) -> None:
    """Plays the whole story and checks each promise where it is kept.

    ``theirs`` is what the agent itself writes into the project's ``.git``.
    """
    world, cli, model = driver.world, driver.world.cli, driver.world.model
    model.script = driver.script()
    settings = driver.settings.read_bytes() if driver.settings.exists() else None
    project = without(theirs, git_state(world.repo))
    with Tried(world.note) as tried:
        cli.ok("init", driver.name, "--yes")
        session = driver.begin(ONE)
        after_one = tree_state(world.repo)
        driver.go_on(driver.resume_line(session), TWO)
        driver.go_on(driver.resume_line(session), THREE)
        after_three = tree_state(world.repo)
        with tried.that(SHELL):
            check_the_log(world)

        transcript = driver.transcript(session)
        written = transcript.read_bytes()
        done = cli.ok("--json", "rewind", "turn:2", "--both", "--yes").json
        with tried.that(FILES):
            assert differences(after_one, tree_state(world.repo)) == []
            assert done["verified"]
        driver.go_on(done["resume"]["argv"], AGAIN)
        with tried.that(CONVERSATION):
            assert done["prompt"] == TWO
            assert done["resume"]["cwd"] == str(world.repo)
            sent = model.first_of(AGAIN)
            assert sent.humans == (ONE, AGAIN)
            assert not [
                word for word in (TWO, THREE, "Edited one", "Moved one") if word in sent.body
            ]
        with tried.that(TRANSCRIPT):
            assert transcript.read_bytes() == written

        cli.ok("undo", "--yes")
        with tried.that(UNDO):
            assert differences(after_three, tree_state(world.repo)) == []
        driver.go_on(driver.resume_line(session), LATER)
        with tried.that(OLD_SESSION):
            assert model.first_of(LATER).humans == (ONE, TWO, THREE, LATER)
            assert transcript.read_bytes().startswith(written)

        held = [turn["id"] for turn in world.log()]
        cli.ok("uninstall", "--yes")
        with tried.that(UNINSTALL):
            assert (driver.settings.read_bytes() if driver.settings.exists() else None) == settings
            assert [turn["id"] for turn in world.log()] == held
            assert differences(project, without(theirs, git_state(world.repo))) == []
        assert cli.ok("--json", "status").json["failures"] == []


def take_back_the_newer_of_two_sessions(driver: Driver) -> None:
    """Works in one session, then in another: without a name the newer is meant, nobody is asked."""
    world = driver.world
    world.model.script = driver.script()
    world.cli.ok("init", driver.name, "--yes")
    driver.begin(ONE)
    after_one = tree_state(world.repo)
    newer = driver.begin(TWO)
    check_the_newer_is_meant(world, f"{driver.name}-{newer}", after_one)


def check_the_newer_is_meant(world: World, session: str, after_one: dict[bytes, Entry]) -> None:
    """Takes back the only turn of the session whose turn is the newest, and names no session."""
    cli, taken = world.cli, f'This is of {session}, "{TWO}", where the files stand'
    stat = cli.ok("diff", "turn:1", "turn:1.end", "--stat")
    assert "b.txt" in stat.stdout
    assert stat.stderr.startswith(taken)
    assert cli.ok("revert", "turn:1", "--yes").stderr.startswith(taken)
    assert differences(after_one, tree_state(world.repo)) == []
    cli.ok("undo", "--yes")
    assert cli.ok("rewind", "--dry-run").stdout.splitlines()[1].startswith(taken)
    assert cli.ok("--json", "rewind", "--yes").json["prompt"] == TWO
    assert differences(after_one, tree_state(world.repo)) == []


def check_the_log(world: World) -> None:
    """Checks that the log has the three turns of the story: what each changed, and by what."""
    first, second, third = world.log()
    assert [turn["prompt"] for turn in (first, second, third)] == [ONE, TWO, THREE]
    assert changed(first) == {"a.txt": "added", "b.txt": "added"}
    assert changed(second) == {
        "a.txt": "modified",
        "b.txt": "deleted",
        "c.txt": "added",
        "doomed.bin": "deleted",
    }
    assert changed(third) == {"c.txt": "deleted", "run.sh": "mode", "sub/d.txt": "added"}
    assert who(second, "doomed.bin") == "shell"
    assert who(second, "a.txt").startswith("tool ")


def without(theirs: bytes | None, state: dict[bytes, Entry]) -> dict[bytes, Entry]:
    return {n: e for n, e in state.items() if theirs is None or not n.startswith(theirs)}


def tell_the_model(driver: Driver) -> None:
    """Takes the files back under a conversation that goes on: its model is told, once."""
    world, model = driver.world, driver.world.model
    model.script = driver.script()
    world.cli.ok("init", driver.name, "--yes")
    session = driver.begin(ONE)
    driver.go_on(driver.resume_line(session), TWO)
    world.cli.ok("rewind", "turn:2", "--files", "--yes")
    driver.go_on(driver.resume_line(session), AGAIN)
    told = model.first_of(AGAIN)
    assert told.humans[:2] == (ONE, TWO)
    assert told.body.count("Note from takeback: ") == 1
    driver.go_on(driver.resume_line(session), LATER)
    assert model.first_of(LATER).body.count("Note from takeback: ") <= 1


def connect_one_project(driver: Driver) -> None:
    """Connects the agent for the project alone: its own settings are not touched."""
    world = driver.world
    world.model.script = driver.script()
    settings = driver.settings.read_bytes() if driver.settings.exists() else None
    world.cli.ok("init", driver.name, "--here", "--yes")
    driver.begin(ONE)
    [turn] = world.log()
    assert changed(turn) == {"a.txt": "added", "b.txt": "added"}
    assert (driver.settings.read_bytes() if driver.settings.exists() else None) == settings


def changed(turn: dict[str, Any]) -> dict[str, str]:
    """Returns how each file of a turn was changed."""
    return {change["path"]: change["kind"] for change in turn["changed"]}


def who(turn: dict[str, Any], path: str) -> str:
    [found] = [change["who"] for change in turn["changed"] if change["path"] == path]
    return str(found)


def go_back_to_green(driver: Driver, shell: Callable[[str], Tool]) -> None:
    """Runs tests in the agent's shell: where they passed is marked, and ``green`` is there."""
    world, cli, state = driver.world, driver.world.cli, driver.world.repo / "state.txt"
    tests = world.repo / "pytest"
    tests.write_text("#!/bin/sh\necho Exit code 9\ngrep -q good state.txt\n")
    tests.chmod(0o755)
    commands = ("printf good > state.txt", "./pytest", "printf bad > state.txt", "./pytest -x")
    world.model.script = {
        "TURN-ONE": [*(Step("", [shell(one)]) for one in commands), Step("They fail.")],
        "TURN-TWO": [
            Step("", [shell("printf 'very good' > state.txt")]),
            Step("", [shell("./pytest")]),
            Step("They pass."),
        ],
        "TURN-THREE": [Step("Nothing to do.")],
    }
    cli.ok("init", driver.name, "--yes")
    session = driver.begin(ONE)
    cli.ok("rewind", "green", "--files", "--yes")
    assert state.read_text() == "good", "in the middle of the turn"
    cli.ok("undo", "--yes")
    assert state.read_text() == "bad"
    driver.go_on(driver.resume_line(session), TWO)
    # How the last call of a turn ended may be in the transcript only after the turn's end.
    driver.go_on(driver.resume_line(session), THREE)
    first, second, third = (turn["tests"] for turn in world.log())
    assert first == {"passed": False, "command": "./pytest -x"}
    assert second == {"passed": True, "command": "./pytest"}
    assert third == second, "of the same files"
    assert cli.ok("log").stdout.count("tests passed") == 2
    state.write_text("mine")
    cli.ok("rewind", "green", "--files", "--yes")
    assert state.read_text() == "very good"
