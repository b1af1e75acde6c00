"""What a steered model tried to open the door, and what it may do all the same.

Everything here is a model's: it is run by its agent in a tool, as ``Agent.tool`` does, with an
empty environment where that helps the model. Between is when no turn runs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from takeback.adapters.launcher import launcher_path, write_launcher
from tests.support.agent import AgentProcess, agent
from tests.support.cli import Answer, Cli
from tests.support.host import Host
from tests.support.processes import wait_for

REFUSED = 13
FINAL = [
    ["forget", ".", "--yes", "--name", "workspace"],
    ["purge", "a.txt", "--confirm", "a.txt"],
    ["prune", "turn:1", "--yes"],
    ["off"],
    ["on"],
    ["config", "agent_may_rewind", "yes"],
    ["init", "claude", "--yes"],
    ["uninstall", "--yes"],
    ["label", "turn:1"],
    ["label", "turn:1", "renamed"],
    ["doctor", "--fix"],
    ["doctor", "--adopt"],
    ["serve", "--json"],
    ["acp", "--", "true"],
    ["summarise", "turn:1", "--from", "--yes"],
]


@dataclass
class Model:
    """What a model can do: run takeback, or any program, in a tool of its agent."""

    agent: AgentProcess
    cli: Cli
    words: tuple[str, ...] = ()
    """What it puts before each command."""

    def run(self, *args: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Answer:
        return self.call([*map(str, self.cli.argv(*args))], stdin=stdin, env=env)

    def call(
        self, argv: list[str], stdin: bytes = b"", env: dict[str, str] | None = None
    ) -> Answer:
        environ = self.cli.environment(env)
        whole = [*self.words, *argv]
        done = self.agent.tool(whole, cwd=self.cli.directory, env=environ, input=stdin)
        return Answer(tuple(whole), done.returncode, done.stdout, done.stderr)

    def tell(self, event: str, *, through: str = "", **fields: Any) -> None:
        """Says something in its agent's name, through the launcher if a home is given."""
        told = {"event": event, "session": "s1", "agent": "mine", **fields}
        argv = [launcher_path(through)] if through else [*map(str, self.cli.argv("hook"))]
        said = self.call([*argv, "generic"], stdin=json.dumps(told).encode())
        assert said.status == 0, said


@dataclass
class OwnHost(Host):
    """A host whose hooks come from an agent of its own."""

    process: AgentProcess | None = None

    def tell(self, event: str, **fields: Any) -> Answer:
        assert self.process is not None
        told = {
            "event": event,
            "session": self.session,
            "agent": self.agent,
            "transcript": str(self.transcript),
            **fields,
        }
        argv = [str(word) for word in self.cli.argv("hook", "generic")]
        done = self.process.run(
            argv,
            cwd=self.cli.directory,
            env=self.cli.environment(),
            input=json.dumps(told).encode(),
        )
        assert done.returncode == 0
        return Answer(tuple(argv), 0, done.stdout, done.stderr)


@pytest.fixture
def own() -> Iterator[AgentProcess]:
    with agent() as found:
        yield found


@pytest.fixture
def host(cli: Cli, own: AgentProcess) -> Host:
    """An agent with a turn that is over and one that runs."""
    made = OwnHost(cli, cli.directory, process=own)
    made.turn("one", {"a.txt": b"1"})
    cli.ok("label", "turn:1", "kept")
    made.prompt("two")
    (cli.directory / "a.txt").write_bytes(b"2")
    return made


@pytest.fixture
def model(host: Host, own: AgentProcess, cli: Cli) -> Model:
    return Model(own, cli)


def refused(said: Answer) -> str:
    assert said.status == REFUSED, said
    return said.stderr


def bare(model: Model) -> Model:
    """The same model, which says nothing of itself."""
    kept = [f"{k}={os.environ[k]}" for k in ("HOME", "PATH", "TAKEBACK_HOME", "XDG_CONFIG_HOME")]
    return replace(model, words=("env", "-i", *kept))


def failures(cli: Cli) -> list[str]:
    return [str(one) for one in cli.ok("--json", "status").json["failures"]]


# -- nothing final, whatever is said of turns


def test_what_cannot_be_taken_back_is_not_done_in_a_turn_nor_between(
    model: Model, host: Host
) -> None:
    for words in FINAL:
        refused(bare(model).run(*words))
    host.end()
    for words in FINAL:
        said = refused(bare(model).run(*words))
        assert f"process {model.agent.pid}" in said
        assert "mine-s1" in said


def test_what_can_be_taken_back_is_done_between_turns(model: Model, host: Host, cli: Cli) -> None:
    refused(model.run("rewind", "turn:1", "--files", "--yes"))
    host.end()
    back = model.run("rewind", "turn:1.end", "--files", "--yes")
    assert back.status == 0, back
    assert (cli.directory / "a.txt").read_bytes() == b"1"
    assert model.run("undo", "--yes").status == 0
    assert (cli.directory / "a.txt").read_bytes() == b"2"


def test_a_model_does_not_end_its_own_turn(model: Model, cli: Cli) -> None:
    home = os.environ["TAKEBACK_HOME"]
    write_launcher(home)
    for through in ("", home):
        for event in ("turn_end", "session_end", "interrupted", "prompt"):
            model.tell(event, through=through)
    refused(model.run("rewind", "turn:1", "--files", "--yes"))
    assert any("told by a tool of that very session" in one for one in failures(cli))


def test_a_model_does_not_end_its_turn_by_another_path_of_the_home(
    model: Model, cli: Cli, tmp_path: Path
) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(os.environ["TAKEBACK_HOME"])
    half = tmp_path / "half"
    half.mkdir()
    (half / "workspaces").symlink_to(Path(os.environ["TAKEBACK_HOME"], "workspaces"))
    for other in (alias, half):
        told = json.dumps({"event": "turn_end", "session": "s1", "agent": "mine"}).encode()
        model.run("hook", "generic", stdin=told, env={"TAKEBACK_HOME": str(other)})
        refused(model.run("forget", ".", "--yes", env={"TAKEBACK_HOME": str(other)}))
    refused(model.run("rewind", "turn:1", "--files", "--yes"))


def test_a_home_whose_stores_are_behind_a_link_is_none(cli: Cli, host: Host) -> None:
    home = Path(os.environ["TAKEBACK_HOME"])
    (home / "workspaces").rename(home / "elsewhere")
    (home / "workspaces").symlink_to("elsewhere")
    assert "is a link" in refused(cli.run("log"))


def test_the_end_of_a_session_that_is_another_agents_is_not_believed(
    model: Model, cli: Cli
) -> None:
    with agent() as other:
        theirs = OwnHost(cli, cli.directory, "t1", "codex", process=other)
        theirs.prompt("theirs")
        theirs.session, theirs.agent = "s1", "mine"
        theirs.tell("turn_end")
    refused(model.run("rewind", "turn:1", "--files", "--yes"))


# -- it starts nothing, and goes nowhere else


def test_a_model_starts_no_program_through_takeback(model: Model, host: Host, cli: Cli) -> None:
    for words in (
        ["run", "--", "touch", "X"],
        ["bisect", "turn:1", "turn:1.end", "--", "touch", str(cli.directory / "X")],
    ):
        refused(model.run(*words))
        host.end()
        refused(model.run(*words))
        host.prompt("again")
    assert not (cli.directory / "X").exists()
    cli.ok("config", "agent_may_run", "yes")
    assert model.run("run", "--", "touch", "X").status == 0
    assert (cli.directory / "X").exists()


def test_a_model_looks_into_no_other_workspace(model: Model, cli: Cli, tmp_path: Path) -> None:
    secret = tmp_path / "keys"
    secret.mkdir()
    (secret / "id_rsa").write_text("SECRET")
    for words in (["checkpoint"], ["log"], ["status"], ["cat", "@", "id_rsa"]):
        assert "is not looked into" in refused(model.run("-C", str(secret), *words))
    Cli(secret).ok("checkpoint")
    assert "SECRET" not in model.run("-C", str(secret), "cat", "@", "id_rsa").stdout
    refused(model.run("apply", "turn:1", "--to", str(secret), "--yes"))


def test_a_model_looks_nowhere_by_a_home_of_its_own(
    model: Model, own: AgentProcess, cli: Cli, tmp_path: Path
) -> None:
    secret = tmp_path / "keys"
    secret.mkdir()
    (secret / "id_rsa").write_text("SECRET")
    words = ["-C", str(secret), "checkpoint"]
    env = {"TAKEBACK_HOME": str(tmp_path / "own")}
    # The agent's own environment has the person's home; so has what is above the tests.
    home = os.environ["TAKEBACK_HOME"]
    above = ["env", f"TAKEBACK_HOME={home}", "sh", "-c", '"$@"; exit $?', "sh", "env"]
    changed = [*above, *(f"{k}={v}" for k, v in env.items()), *map(str, cli.argv(*words))]
    assert "is not looked into" in refused(model.call(changed))


def test_an_event_of_a_model_makes_no_workspace(model: Model, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    model.tell("prompt", session="new", agent="other", cwd=str(place), prompt="x")
    said = Cli(place).run("log")
    assert said.status != 0, said


def test_a_prompt_that_nobody_typed_takes_nothing_back(
    model: Model, host: Host, cli: Cli, tmp_path: Path
) -> None:
    host.end()
    other = tmp_path / "other"
    other.mkdir()
    typed = Host(Cli(other), other, "o1", "claude")
    typed.turn("x", {"mine.txt": b"agent"})
    (other / "mine.txt").write_bytes(b"typed by the person")
    told = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "o1",
        "cwd": str(other),
        "prompt": "/takeback 1 yes",
    }
    bare(model).run("hook", "claude", stdin=json.dumps(told).encode())
    asked = {"id": 1, "call": "rewind", "checkpoint": "turn:1", "scope": "files", "cwd": str(other)}
    said = bare(model).run("hook", "pi", "--stdio", stdin=json.dumps(asked).encode() + b"\n")
    assert json.loads(said.stdout)["ok"] is False, said
    assert (other / "mine.txt").read_bytes() == b"typed by the person"


def test_a_model_that_speaks_as_an_extension_only_looks(model: Model, host: Host) -> None:
    host.end()
    calls = ["rewind", "revert", "fork", "undo", "redo", "label", "pin", "command", "plan"]
    lines = [{"id": i, "call": call, "checkpoint": "turn:1"} for i, call in enumerate(calls)]
    lines.append({"id": 99, "call": "log"})
    said = model.run(
        "hook", "generic", "--stdio", stdin=b"".join(json.dumps(x).encode() + b"\n" for x in lines)
    )
    answers = {one["id"]: one for one in said.json_lines}
    assert answers[99]["ok"] is True
    assert [answers[i]["error"]["code"] for i in range(len(calls))] == ["refused"] * len(calls)


# -- what nobody sees is a model's while a turn runs


def test_a_model_in_a_namespace_of_its_own_is_presumed_to_be_one(model: Model, cli: Cli) -> None:
    alone = ["unshare", "--pid", "--mount", "--fork", "--mount-proc"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("NOT TESTED: no namespaces can be made here")
    hidden = replace(bare(model), words=(*bare(model).words, *alone))
    assert "the system does not say" in refused(hidden.run("forget", ".", "--yes"))
    blind = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs x /proc && exec "$@"', "sh"]
    assert refused(replace(bare(model), words=(*blind,)).run("forget", ".", "--yes"))


def test_an_orphan_of_a_model_is_presumed_to_be_one(model: Model, cli: Cli, tmp_path: Path) -> None:
    said = tmp_path / "said"
    line = [*map(str, cli.argv("forget", ".", "--yes"))]
    script = f'sleep 0.5; "$@" > {said}.part 2>&1; mv {said}.part {said}'
    model.call(["sh", "-c", f"setsid sh -c '{script}' sh \"$@\" < /dev/null &", "sh", *line])
    for _ in range(600):
        if said.exists():
            break
        subprocess.run(["sleep", "0.1"], check=True)
    assert "the system does not say" in said.read_text()
    cli.ok("log")


NESTED = """
import subprocess, sys
deep, itself, *words = sys.argv[1:]
more = [sys.executable, "-c", itself, str(int(deep) - 1), itself] if int(deep) else []
sys.exit(subprocess.call([*more, *words]))
"""
HELPER = """
import json, subprocess, sys, time
time.sleep(0.5)  # until whoever started it has gone
for event in json.loads(sys.argv[1]):
    subprocess.run(sys.argv[2:], input=json.dumps(event).encode(), check=True)
"""
SAID_BEFORE: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "a round of it": [{"event": "round_end", "session": "s1", "agent": "mine", "tools": []}],
    "another session": [{"event": "prompt", "session": "z", "agent": "mine", "prompt": "x"}],
}
THE_END = {"event": "turn_end", "session": "s1", "agent": "mine"}


@pytest.mark.parametrize("before", SAID_BEFORE)
def test_an_orphan_of_a_model_ends_no_turn_whatever_it_has_said_before(
    model: Model, cli: Cli, tmp_path: Path, before: str
) -> None:
    events = json.dumps([*SAID_BEFORE[before], THE_END])
    line = [sys.executable, "-c", HELPER, events, *map(str, cli.argv("hook", "generic"))]
    ended = tmp_path / "ended"
    script = f'setsid sh -c \'"$@"; touch {ended}\' sh "$@" < /dev/null > /dev/null 2>&1 &'
    bare(model).call(["sh", "-c", script, "sh", *line])
    wait_for(ended.exists)
    assert "the end of a turn of mine was told by a tool" in " ".join(failures(cli))
    back = ["rewind", "mine-s1/turn:1", "--files", "--yes"]
    assert "running turn of mine" in refused(model.run(*back))


def test_nor_does_a_model_that_cannot_be_seen(model: Model, cli: Cli) -> None:
    said = json.dumps(THE_END).encode()
    hook = [*map(str, cli.argv("hook", "generic"))]
    nested = [sys.executable, "-c", NESTED, "70", NESTED]
    assert bare(model).call([*nested, *hook], stdin=said).status == 0
    alone = ["unshare", "--pid", "--mount", "--fork", "--mount-proc"]
    blind = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs x /proc && exec "$@"', "sh"]
    if shutil.which("unshare") and not subprocess.run([*alone, "true"], check=False).returncode:
        for words in (alone, blind):
            assert replace(bare(model), words=tuple(words)).call(hook, stdin=said).status == 0
    back = ["rewind", "mine-s1/turn:1", "--files", "--yes"]
    assert "running turn of mine" in refused(model.run(*back))
    assert "called from inside" in refused(model.run("forget", ".", "--yes")), "it is known still"


# -- the person is not taken for a model


@pytest.mark.parametrize(
    "process",
    [[1, "x", None], [-1, None, None], [7, [], 8], [True, "1", {}], "x", [1 << 70, "1", None]],
)
def test_an_odd_record_of_an_agent_stops_nothing(cli: Cli, host: Host, process: object) -> None:
    """Whoever may write there: a record that is none is of nobody, and no command ends at it."""
    folder = Path(os.environ["TAKEBACK_HOME"], "workspaces", ".agents")
    [known, *_] = folder.iterdir()
    record = json.loads(known.read_text())
    (folder / "99-1.aa").write_text(json.dumps({**record, "process": process}))
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "98-1.bb")
    cli.ok("log")
    cli.ok("config", "max_age_days", "20")
    host.end()
    assert failures(cli) == []


def test_a_number_in_an_event_makes_nobody_a_model(model: Model, cli: Cli) -> None:
    for pid in (1, os.getpid(), os.getppid()):
        model.tell("prompt", session=f"z{pid}", agent="helper", prompt="x", pid=pid)
    cli.ok("rewind", "turn:1.end", "--files", "--yes", "--during-turn", "--session", "mine-s1")
    cli.ok("config", "max_age_days", "20")
    cli.ok("off")
    cli.ok("forget", ".", "--yes", "--name", cli.directory.name)


def test_a_session_that_a_model_began_blocks_nobody(model: Model, host: Host, cli: Cli) -> None:
    script = "import subprocess, sys; subprocess.run(sys.argv[1:], stdin=sys.stdin)"
    told = {"event": "prompt", "session": "c1", "agent": "child", "prompt": "x"}
    argv = ["python3", "-c", script, *map(str, cli.argv("hook", "generic"))]
    assert model.call(argv, stdin=json.dumps(told).encode()).status == 0
    host.end()
    [child] = [one for one in cli.ok("--json", "sessions").json_lines if one["agent"] == "child"]
    assert child["below"] == "mine-s1"
    cli.ok("rewind", "mine-s1/turn:1.end", "--files", "--yes")
    assert "begun by mine-s1" in cli.ok("sessions").stdout
    assert "begun by a model" in cli.ok("log", "--session", "child-c1").stdout


# -- words that are not takeback's own


def test_a_hosts_words_are_quoted_until_a_person_registers_it(cli: Cli, tmp_path: Path) -> None:
    theirs = Host(cli, cli.directory, "h1", "helper")
    theirs.turn("x", {"a.txt": b"1"}, resume=["sh", "-c", "touch X #"])
    cli.ok("config", "--unset", "hosts")
    said = cli.ok("rewind", "turn:1", "--conversation", "--yes").stdout
    assert "Go on with it" not in said
    assert "The host's words" in said
    cli.ok("config", "hosts", "helper")
    assert "Go on with it" in cli.ok("rewind", "turn:1", "--conversation", "--yes").stdout


def test_a_models_own_session_gets_no_words_of_its_choice(
    model: Model, host: Host, cli: Cli
) -> None:
    cli.ok("config", "hosts", "mine,child")
    model.tell("round_end", resume=["sh", "-c", "touch X #"], tools=[])
    model.tell("prompt", session="c1", agent="child", prompt="x", resume=["sh", "-c", "touch X #"])
    host.end()
    for name in ("mine-s1/turn:1", "child-c1/turn:1"):
        said = cli.run("rewind", name, "--conversation", "--yes")
        assert "touch X" not in said.stdout, said
