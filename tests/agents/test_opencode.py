"""The real opencode, and Kilo, its fork, against a scripted model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from takeback.adapters.opencode.importer import OpencodeImporter
from takeback.store.namespace import session_id
from tests.agents.elsewhere import go_on_elsewhere
from tests.agents.flow import AGAIN, LATER, ONE, TWO, take_back_the_second_turn
from tests.agents.kilo import Kilo
from tests.agents.opencode import OpenCode, shell
from tests.agents.summaries import summarise_some_turns
from tests.agents.terminal import Terminal, need_tmux
from tests.agents.world import World
from tests.support.trees import differences, tree_state


def driven(agent: type[OpenCode], world: World, installed: Callable[[str], Path]) -> OpenCode:
    driver = agent(world, installed(agent.name))
    world.model.script = driver.script()
    return driver


@pytest.fixture
def opencode(world: World, installed: Callable[[str], Path]) -> OpenCode:
    return driven(OpenCode, world, installed)


@pytest.fixture(
    params=[OpenCode, pytest.param(Kilo, marks=pytest.mark.long)], ids=lambda agent: agent.name
)
def either(
    request: pytest.FixtureRequest, world: World, installed: Callable[[str], Path]
) -> OpenCode:
    """opencode, or Kilo, its fork."""
    return driven(request.param, world, installed)


def test_a_turn_is_taken_back_with_its_files_and_its_conversation(opencode: OpenCode) -> None:
    take_back_the_second_turn(opencode)
    assert [path.name for path in opencode.settings.parent.iterdir()] == ["mine.js"]


@pytest.mark.long
def test_the_line_of_a_fork_goes_on_in_its_directory(opencode: OpenCode) -> None:
    go_on_elsewhere(opencode, shell, opencode.forget_locks)


@pytest.mark.long
def test_turns_become_a_summary_in_a_new_session(either: OpenCode) -> None:
    summarise_some_turns(either)


@pytest.mark.long
def test_the_prompt_that_was_taken_back_is_in_the_editor(opencode: OpenCode) -> None:
    need_tmux()
    world, cli = opencode.world, opencode.world.cli
    cli.ok("init", opencode.name, "--yes")
    cli.ok("checkpoint")  # the log can be asked from the start
    with opencode.at_a_terminal() as terminal:
        terminal.shows("commands")
        turn(world, terminal, ONE)
        after_one = tree_state(world.repo)
        turn(world, terminal, TWO)
        after_two = tree_state(world.repo)
        [session] = cli.ok("--json", "sessions").json_lines
        whole = opencode.export(session["native"])
        asked = len(world.model.requests)

        terminal.say("/takeback 2 yes")
        terminal.shows("Rewound")
        assert "Go on with it" not in terminal.screen  # it has been gone on with
        assert differences(after_one, tree_state(world.repo)) == []
        assert len(world.model.requests) == asked
        assert opencode.export(session["native"]) == whole

        turn(world, terminal, " again", before=TWO)  # it stands in the editor
        assert world.model.first_of(f"{TWO} again").humans == (ONE, f"{TWO} again")
        terminal.say("/takeback undo yes")
        terminal.shows("Undid")
        assert differences(after_two, tree_state(world.repo)) == []
        turn(world, terminal, LATER)
        *history, last = world.model.played()[-1].humans
        assert (history, last.partition("\n")[0]) == ([ONE, TWO], LATER)
        terminal.say("/takeback 1 yes")
        terminal.until(lambda: "Edited one" not in terminal.screen, "see an empty session")
        turn(world, terminal, " again", before=ONE)
        assert world.model.first_of(f"{ONE} again").humans == (f"{ONE} again",)


def turn(world: World, terminal: Terminal, typed: str, *, before: str = "") -> None:
    """Sends a prompt, of which a part may stand there; waits until takeback heard of its end."""
    terminal.shows(before)
    terminal.say(typed)
    prompt = before + typed

    def ended() -> bool:
        turns = world.log()
        return bool(turns) and (turns[-1]["prompt"], turns[-1]["state"]) == (prompt, "ended")

    terminal.until(ended, f"hear the end of {prompt!r}")


@pytest.mark.long
def test_the_model_is_told_when_its_files_were_taken_back(either: OpenCode) -> None:
    world, cli = either.world, either.world.cli
    cli.ok("init", either.name, "--yes")
    session = either.begin(ONE)
    cli.ok("rewind", "turn:1", "--files", "--yes")
    either.go_on(either.resume_line(session), AGAIN)
    told = next(request for request in world.model.played() if AGAIN in request.humans[-1])
    prompt, note = told.humans[-1].split("\n", 1)
    assert prompt == AGAIN
    assert note.startswith("Note from takeback:")
    assert [turn["prompt"] for turn in world.log()] == [ONE, AGAIN]


@pytest.mark.long
def test_a_fork_made_in_opencode_goes_on_from_its_parent(opencode: OpenCode) -> None:
    opencode.world.cli.ok("init", opencode.name, "--yes")
    session = opencode.begin(ONE)
    fork = opencode.go_on([*opencode.resume_line(session), "--fork"], AGAIN)
    assert fork != session
    assert [(turn["turn"], turn["prompt"]) for turn in opencode.world.log()] == [
        (1, ONE),
        (2, AGAIN),
    ]
    [child] = [s for s in opencode.world.cli.ok("--json", "sessions").json_lines if s["parent"]]
    assert (child["native"], child["parent"]) == (fork, session_id(opencode.name, session))


@pytest.mark.long
def test_opencode_goes_on_when_takeback_is_gone(opencode: OpenCode) -> None:
    world = opencode.world
    world.cli.ok("init", opencode.name, "--yes")
    plugin = opencode.settings.read_bytes()
    opencode.settings.write_bytes(plugin.replace(b"/bin/hook", b"/bin/gone"))
    opencode.begin(ONE)
    assert (world.repo / "a.txt").read_text() == "alpha\n"
    assert world.cli.run("log").status == 10  # no checkpoint, and nothing else went wrong


def test_taking_a_session_in_runs_no_plugin_of_the_project(
    either: OpenCode, tmp_path: Path
) -> None:
    world, witness = either.world, tmp_path / "witness"
    folder = world.repo / f".{either.name}" / "plugins"
    folder.mkdir(parents=True)
    text = f'import {{ writeFileSync }} from "fs"; writeFileSync("{witness}", "x")\n'
    (folder / "evil.js").write_text(f"{text}export const Evil = async () => ({{}})\n")
    world.run([either.name, "session", "list"], either.env)
    assert witness.exists(), "the agent itself loads it"
    witness.unlink()
    new = "ses_1d0000000ffetakeback12345"
    info: dict[str, Any] = {
        "id": new,
        "title": "t",
        "version": "1.18.33",
        "slug": "t",
        "projectID": "global",
    }
    info |= {"directory": str(world.repo), "time": {"created": 1, "updated": 1}}
    parcel = tmp_path / "parcel.json"
    parcel.write_text(json.dumps({"info": info, "messages": []}))
    environ = world.environment(either.env)
    OpencodeImporter(either.name).take_in(
        str(parcel), str(world.repo), environ, lambda path: path == str(world.repo)
    )
    assert not witness.exists()
    (folder / "evil.js").unlink()
    assert either.export(new)["info"]["id"] == new
