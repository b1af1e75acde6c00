"""What a model is shown: its own workspace, no secret, nothing outside, no other's conversation."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.mcp.server import McpServer
from tests.support.agent import AgentProcess, agent
from tests.support.cli import Answer, Cli
from tests.support.host import Host, read_transcripts_in

SECRET = "SECRET-4711"
ELSEWHERE = "ELSEWHERE-4712"
TOLD = "TOLD-4713"
OUTSIDE = "OUTSIDE-4714"
PLAIN = "plain-4715"

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="looks at processes through /proc"
)


@pytest.fixture
def mine() -> Iterator[AgentProcess]:
    with agent() as process:
        yield process


@pytest.fixture
def played(cli: Cli, workspace: Path, tmp_path: Path, mine: AgentProcess) -> Host:
    """An agent that has had one turn, in which it changed secrets, and a file outside."""
    (workspace / "conf" / ".ssh").mkdir(parents=True)
    names = (".env", "conf/.env.local", "conf/.ssh/config", "key.pem")
    for number in (1, 2):
        for name in names:
            (workspace / name).write_text(f"{SECRET} {number}\n")
        (workspace / "a.txt").write_text(f"{PLAIN} {number}\n")
        (workspace / "to-env").unlink(missing_ok=True)
        (workspace / "to-env").symlink_to("../outside.txt")
        if number == 1:
            outside = tmp_path / "outside.txt"
            outside.write_text(OUTSIDE)
            host = Host(cli.told_by(mine), tmp_path)
            host.prompt("go on")
            edits = [{"name": "edit", "kind": "edit", "paths": [str(outside)]}]
            host.tell("tool_before", tools=edits)
    (workspace / "new" / ".gnupg").mkdir(parents=True)
    (workspace / "new" / ".gnupg" / "ring").write_text(SECRET)
    (workspace / "new" / "b.txt").write_text(PLAIN)
    host.end(TOLD)
    return host


@pytest.fixture
def elsewhere(tmp_path: Path, played: Host) -> Path:
    """Another workspace, in which the person keeps something."""
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "b.txt").write_text(ELSEWHERE)
    Cli(other).ok("checkpoint", "-m", ELSEWHERE)
    (other / "b.txt").write_text(f"{ELSEWHERE} 2")
    return other


def said(answer: Answer) -> str:
    return answer.stdout + answer.stderr


LOOKS = (
    ("diff", "turn:1"),
    ("diff", "turn:1", "turn:1.end"),
    ("diff", "turn:1", "turn:1.end", "--", "new", "conf", "a.txt"),
    ("diff", "turn:1", "--", ".env"),
    ("show", "turn:1", "--", "."),
    ("show", "turn:1", "--", ".env", "a.txt", "new", "conf"),
    ("search", "--content", "4711"),
    ("search", "--content", "4715"),
    ("cat", "turn:1", "a.txt"),
    ("cat", "turn:1.end", ".env"),
    ("cat", "turn:1.end", "./conf/../.env"),
    ("cat", "turn:1.end", "conf/.ssh/config"),
    ("cat", "turn:1.end", "key.pem"),
    ("blame", "a.txt"),
    ("blame", ".env"),
    ("blame", ".env", "turn:1"),
    ("revert", "turn:1", "--dry-run"),
    ("rewind", "turn:1", "--files", "--keep-edits", "--dry-run"),
    ("status",),
    ("log",),
    ("compare", "turn:1", "."),
)
"""What a model may ask in its own workspace, some of it in vain."""


def test_no_look_shows_a_secret_to_a_model_and_each_does_to_a_person(
    cli: Cli, played: Host, mine: AgentProcess
) -> None:
    model, whole, kept = cli.inside(mine), "", ""
    for words in LOOKS:
        for form in ((), ("--json",)):
            asked, person = model.run(*form, *words), cli.run(*form, *words)
            assert SECRET not in said(asked), words
            whole, kept = whole + said(person), kept + said(asked)
    assert SECRET in whole
    assert PLAIN in kept


def test_it_is_said_what_is_not_shown(cli: Cli, played: Host, mine: AgentProcess) -> None:
    model = cli.inside(mine)
    refused = model.run("cat", "turn:1.end", ".env")
    assert refused.status == 13
    assert ".env is not shown to a model, as its name speaks of a secret" in refused.stderr
    assert f"session {played.id}, process {mine.pid}" in refused.stderr
    shown = model.ok("diff", "turn:1")
    hidden = ".env, conf/.env.local, conf/.ssh/config, key.pem, new/.gnupg/ring"
    line = f"not shown to a model, as their names speak of secrets: {hidden}\n"
    assert shown.stdout.count(line) == 1
    assert "be careful" not in shown.stderr
    assert f"-{PLAIN} 1\n+{PLAIN} 2\n" in shown.stdout
    assert f"+{PLAIN}\n" in shown.stdout, "beside a secret"
    found = model.ok("search", "--content", "4715")
    assert "not searched for a model" in found.stderr


def test_what_a_tool_changed_outside_is_the_persons(
    cli: Cli, played: Host, mine: AgentProcess, tmp_path: Path
) -> None:
    outside = str(tmp_path / "outside.txt")
    assert cli.ok("cat", "turn:1", outside).stdout == OUTSIDE
    for path in (outside, "../outside.txt", "a/../../outside.txt", "to-env"):
        answer = cli.inside(mine).run("cat", "turn:1", path)
        assert OUTSIDE not in said(answer), path
    assert "outside the workspace" in cli.inside(mine).run("cat", "turn:1", outside).stderr


def test_no_way_leads_into_another_workspace(cli: Cli, elsewhere: Path, mine: AgentProcess) -> None:
    model, there = cli.inside(mine), str(elsewhere)
    ways = (
        *(("-C", there, *words) for words in (*LOOKS, ("cat", "@", "b.txt"), ("sessions",))),
        ("-C", there, "checkpoint"),
        ("-C", f"{there}/../elsewhere", "cat", "@", "b.txt"),
        ("-C", there, "search", "--content", "4712"),
        ("-C", there, "purge", "b.txt", "--dry-run"),
        ("compare", ".", there),
        ("forget", there, "--dry-run"),
        ("apply", "@", "--to", there, "--dry-run"),
        ("prune", "--dry-run"),
    )
    for words in ways:
        answer = model.run(*words)
        assert ELSEWHERE not in said(answer), words
        assert "b.txt" not in answer.stdout, words
    asked = {"_TAKEBACK_COMPLETE": "bash_complete", "COMP_TYPED": "takeback forget /"}
    assert there in cli.ok(env=asked).stdout
    offered = model.run(env=asked).stdout
    assert there not in offered
    assert str(cli.directory) in offered
    linked = cli.directory / "linked"
    linked.symlink_to(elsewhere)
    for words in (("-C", "linked", "cat", "@", "b.txt"), ("compare", ".", "linked")):
        assert ELSEWHERE not in said(model.run(*words)), words


def test_a_directory_that_is_gone_is_not_looked_into_either(
    cli: Cli, elsewhere: Path, mine: AgentProcess
) -> None:
    elsewhere.rename(elsewhere.with_name("moved"))
    model, there = cli.inside(mine), str(elsewhere)
    assert cli.ok("forget", there, "--dry-run").status == 0
    assert model.run("forget", there, "--dry-run").status == 13
    assert there in cli.ok("prune", "--dry-run").stdout
    assert there not in model.run("prune", "--dry-run").stdout


def test_an_earlier_store_of_its_path_is_another_workspace(
    cli: Cli, elsewhere: Path, mine: AgentProcess
) -> None:
    [old] = Cli(elsewhere).log()
    elsewhere.rename(elsewhere.with_name("moved"))
    elsewhere.mkdir()
    Cli(elsewhere).ok("checkpoint", "-m", "anew")
    Host(Cli(elsewhere).told_by(mine), elsewhere.parent, session="s2").turn("go", {})
    person, model = Cli(elsewhere), Cli(elsewhere).inside(mine)
    words = ("rewind", old["id"], "--files", "--dry-run")
    assert person.run(*words).status == 0
    assert model.run(*words).status != 0
    assert ELSEWHERE not in said(model.run("status")) + said(model.run("--json", "status"))


def test_the_server_of_models_shows_no_secret_to_anybody(played: Host, tmp_path: Path) -> None:
    """Whoever asks it: no agent is above this very process."""
    server = McpServer(str(played.cli.directory))

    def ask(name: str, **given: object) -> str:
        params = {"name": name, "arguments": given}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        [content] = json.loads(server.answer(json.dumps(asked).encode()))["result"]["content"]
        return str(content["text"])

    answers = [
        ask("diff", checkpoint="turn:1"),
        ask("diff", checkpoint="turn:1", to="turn:1.end", paths=[".env", "new"]),
        ask("search", text="4711", content=True),
        ask("search", text="4715", content=True),
        ask("cat", checkpoint="turn:1.end", path=".env"),
        ask("cat", checkpoint="turn:1", path=str(tmp_path / "outside.txt")),
        ask("cat", checkpoint="turn:1", path="to-env"),
    ]
    whole = "\n".join(answers)
    assert SECRET not in whole
    assert OUTSIDE not in whole
    assert PLAIN in whole
    assert "not shown to a model, as their names speak of secrets: .env" in answers[0]
    assert "[not searched for a model" in answers[3]


def test_disputed_lines_of_a_secret_are_not_shown(
    cli: Cli, played: Host, mine: AgentProcess, workspace: Path
) -> None:
    (workspace / ".env").write_text(f"{SECRET} 3\n")
    (workspace / "a.txt").write_text(f"{PLAIN} 3\n")
    words = ("--json", "revert", "turn:1", "--dry-run")
    person, model = cli.run(*words), cli.inside(mine).run(*words)
    assert SECRET in person.stdout
    assert SECRET not in said(model)
    both = [{one["path"]: one["hunks"] for one in it.json["conflicts"]} for it in (person, model)]
    assert both[0]["a.txt"] == both[1]["a.txt"] != []
    assert both[1][".env"] == []


# -- conversations


def heard(cli: Cli, name: str = "@") -> str:
    answer = cli.run("cat", name, "--conversation")
    return said(answer)


def test_a_transcript_is_read_beneath_the_workspace_and_where_a_person_says(
    cli: Cli, workspace: Path, tmp_path: Path, mine: AgentProcess
) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "t").write_text(TOLD)
    (workspace / "t").write_text(TOLD)

    def tell(session: str, transcript: Path) -> str:
        told = {"event": "prompt", "session": session, "agent": "mine", "prompt": session}
        text = json.dumps({**told, "transcript": str(transcript)})
        cli.told_by(mine).ok("hook", "generic", stdin=text.encode())
        assert cli.log("--session", f"mine-{session}")[0]["prompt"] == session
        return heard(cli, f"mine-{session}/@")

    assert TOLD in tell("beneath", workspace / "t")
    assert TOLD not in tell("outside", tmp_path / "kept" / "t")
    [line] = [one for one in cli.ok("status").stdout.splitlines() if "is not read" in one]
    assert f"its conversation is in {tmp_path}/kept/t" in line
    assert TOLD not in tell("outside", tmp_path / "kept" / "t")
    assert cli.ok("status").stdout.count("is not read") == 1
    read_transcripts_in(tmp_path / "kept")
    assert TOLD in tell("said", tmp_path / "kept" / "t")
    assert TOLD not in tell("beside", tmp_path / "kept" / ".." / "outside")


def test_no_other_file_is_taken_for_a_conversation(
    cli: Cli, workspace: Path, tmp_path: Path, mine: AgentProcess
) -> None:
    """The host that says so is honest here, and so is who reads it: the person."""
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "t").write_text(SECRET)
    (workspace / "link").symlink_to("../secret")
    (workspace / "down").symlink_to("../folder")
    (workspace / ".env").write_text(SECRET)
    (workspace / "to-env").symlink_to(".env")
    os.mkfifo(workspace / "pipe")
    (tmp_path / "workspace-2").mkdir()
    (tmp_path / "workspace-2" / "t").write_text(SECRET)
    paths = (
        str(tmp_path / "secret"),
        str(workspace / "link"),
        str(workspace / "down" / "t"),
        str(workspace / ".." / "secret"),
        str(workspace / ".env"),
        str(workspace / "to-env"),
        str(workspace / "pipe"),
        f"{workspace}-2/t",
        str(workspace),
        "/",
        "",
        "half \ud83d",
    )
    for agent_name in ("generic", "claude"):
        for number, path in enumerate(paths):
            session = f"s{number}"
            told = {"event": "prompt", "agent": "mine", "session": session, "transcript": path}
            if agent_name == "claude":
                told = {"hook_event_name": "UserPromptSubmit", "session_id": session}
                told |= {"transcript_path": path, "cwd": str(workspace)}
            text = json.dumps({**told, "prompt": session}).encode()
            cli.told_by(mine).ok("hook", agent_name, stdin=text)
            assert SECRET not in heard(cli, "@"), path


def test_what_a_tool_tells_is_no_way_to_a_conversation(
    cli: Cli, played: Host, mine: AgentProcess, tmp_path: Path
) -> None:
    """Of its own session it names another's; a session that it invents is shown to the person."""
    (tmp_path / "t").write_text(ELSEWHERE)
    played.prompt("again")
    own = {"event": "round_end", "session": played.session, "agent": "mine"}
    own |= {"transcript": str(tmp_path / "t"), "prompt": "p"}
    model, file = cli.inside(mine), tmp_path / "event.json"

    def tell(told: dict[str, str], way: int) -> None:
        (cli.directory / "a.txt").write_text(f"{told} {way}")
        file.write_text(json.dumps(told))
        hook = [os.fsdecode(word) for word in cli.argv("hook", "generic")]
        through_a_pipe = ["sh", "-c", f'cat {file} | "$@"', "sh", *hook]
        as_if_an_agent = [sys.executable, "-c", RUN, str(file), *hook]
        words = (through_a_pipe, as_if_an_agent)[way]
        mine.tool(words, cwd=cli.directory, env=cli.environment())
        for place in ("@", f"{played.id}/@", f"mine-new-{way}/@", f"mine-new-{way}/turn:1"):
            for form in ((), ("--messages",)):
                asked = model.run("cat", place, "--conversation", *form)
                assert ELSEWHERE not in said(asked), (told, way, place)

    for way in (0, 1):
        before = len(cli.log("--all", "--session", played.id))
        tell(own, way)
        assert len(cli.log("--all", "--session", played.id)) == before + 1
        assert ELSEWHERE not in heard(cli, f"{played.id}/@")
        tell({**own, "event": "prompt", "session": f"new-{way}"}, way)
        assert ELSEWHERE in heard(cli, f"mine-new-{way}/turn:1"), "the person sees what it claims"
        refused = model.run("cat", f"mine-new-{way}/turn:1", "--conversation")
        assert f"a tool of {played.id} told of it" in refused.stderr


RUN = """
import subprocess, sys
subprocess.run(sys.argv[2:], stdin=open(sys.argv[1]))
"""


def test_a_link_that_comes_later_leads_nowhere(
    cli: Cli, workspace: Path, tmp_path: Path, mine: AgentProcess
) -> None:
    """Between the event and the reading: what is read is in the directory that was seen."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "t").write_text(SECRET)
    talk = workspace / "talk"
    talk.mkdir()
    (talk / "t").write_text("")
    told = {"event": "prompt", "session": "s", "agent": "mine", "prompt": "p"}
    text = json.dumps({**told, "transcript": str(talk / "t")}).encode()
    cli.told_by(mine).ok("hook", "generic", stdin=text)
    talk.rename(workspace / "away")
    talk.symlink_to("../folder")
    assert SECRET not in heard(cli)
    talk.unlink()
    talk.mkdir()
    (talk / "t").symlink_to("../../folder/t")
    assert SECRET not in heard(cli)
    (talk / "t").unlink()
    (talk / "t").write_text("and more")
    assert cli.ok("cat", "@", "--conversation").stdout == ""


def test_a_program_that_tells_of_itself_reads_what_it_names(
    workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "t").write_text(TOLD)
    with Engine.open(workspace) as tb:
        session = tb.session("mine")
        made = session.tell("prompt", prompt="p", transcript=str(tmp_path / "t")).checkpoint
        assert made is not None
        assert tb.conversation(made) == TOLD.encode()
