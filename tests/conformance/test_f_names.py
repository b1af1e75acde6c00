"""F. The agents' side: any text is a session's id and an agent's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from takeback import Takeback
from tests.support.cli import Cli
from tests.support.host import Host
from tests.support.journey import rewind, write_files
from tests.support.lanes import cases

ODD = {
    "colon": "thread:42",
    "slash": "a/b",
    "blank": "thread 42",
    "blanks around": "  42 ",
    "address": "user@host.example:1",
    "not ascii": "日本 ☃",
    "dots": "..",
    "climbs": "../../../etc/passwd",
    "lock": "name.lock",
    "dot first": ".hidden",
    "dash first": "--session",
    "newline": "a\nb",
    "escape": "a\x1b[31mb",
    "nul": "a\0b",
    "half": "half \ud83d",
    "byte": "caf\udce9",
    "long": "x" * 10_000,
    "looks marked": "a+0123456789abcdef",
    "looks like a place": "turn:1",
    "empty": "",
}


def tell(cli: Cli, event: str, session: str, agent: str, **fields: str) -> None:
    document = {"event": event, "session": session, "agent": agent, **fields}
    answer = cli.ok("hook", "generic", stdin=json.dumps(document).encode())
    assert answer.stderr == ""


UNSAYABLE = {ODD["nul"], ODD["half"], ODD["byte"]}
"""What no command line, or no JSON that everybody reads, can say."""


@cases("as_agent", [False, True], each=2)
def test_any_text_is_a_session_and_an_agents_name(
    cli: Cli, workspace: Path, as_agent: bool
) -> None:
    """Each has turns of its own, found again by what the host calls it, and they go back."""
    pairs = [("s1", odd) if as_agent else (odd, "mine") for odd in ODD.values()]
    for number, (session, agent) in enumerate(pairs):
        write_files(workspace, {"a.txt": b"before %d\n" % number})
        tell(cli, "prompt", session, agent, prompt=f"go {number}", turn="t1")
        tell(cli, "turn_end", session, agent, turn="t1")

    assert cli.ok("--json", "status").json["failures"] == []
    found = cli.ok("--json", "sessions").json_lines
    assert len(found) == len(ODD)
    names = {(s["native"] or "", s["agent"]): s["id"] for s in found}
    for number, (session, agent) in enumerate(pairs):
        if {session, agent} & UNSAYABLE:
            continue
        name = names[session, agent or "generic"]
        if session and not as_agent:
            [line] = cli.ok("--json", "log", f"--session={session}").json_lines
            assert (line["session"], line["prompt"]) == (name, f"go {number}")
            shown = cli.ok("--json", "show", "turn:1", f"--session={session}").json
        else:
            shown = cli.ok("--json", "show", f"{name}/turn:1").json
        assert shown["prompt"] == f"go {number}"

    rewind(cli, f"{names['a/b', 'mine'] if not as_agent else names['s1', 'a/b']}/turn:1", "--files")
    assert (workspace / "a.txt").read_bytes() == b"before 1\n"
    for name in names.values():
        cli.ok("cat", f"{name}/turn:1", "a.txt")
    assert "\x1b" not in cli.ok("sessions").stdout
    cli.ok("verify")
    count = len(cli.ok("--json", "sessions").json_lines)
    cli.ok("doctor", "--rebuild")
    assert len(cli.ok("--json", "sessions").json_lines) == count


def test_the_beginning_of_an_odd_id_names_its_session(cli: Cli, workspace: Path) -> None:
    for session in ("thread 42", "a/b/c"):
        tell(cli, "prompt", session, "mine", prompt=session)
    for prefix, session in (("thread", "thread 42"), ("a/b", "a/b/c"), ("a", "a/b/c")):
        assert cli.ok("--json", "show", f"{prefix}/turn:1").json["prompt"] == session
        lines = cli.ok("--json", "log", "--session", prefix).json_lines
        assert [line["prompt"] for line in lines] == [session]


def test_two_hosts_whose_names_meet_at_a_dash_do_not_share_a_session(
    cli: Cli, workspace: Path
) -> None:
    tell(cli, "prompt", "7", "my-agent", prompt="one")
    tell(cli, "prompt", "agent-7", "my", prompt="two")
    assert len(cli.ok("--json", "sessions").json_lines) == 2


@pytest.mark.parametrize("native", ["thread 42", "x" * 244, "a/b", "日本"])
def test_a_conversation_of_an_odd_session_goes_back(
    cli: Cli, workspace: Path, tmp_path: Path, native: str
) -> None:
    folder = tmp_path / "transcripts"
    folder.mkdir()
    host = Host(cli, folder, session=native)
    host.transcript.parent.mkdir(exist_ok=True)
    host.turn("one", {"a.txt": b"1\n"})
    host.turn("two", {"a.txt": b"2\n"})
    done = rewind(cli, "turn:2", "--both")
    child = next(s for s in cli.ok("--json", "sessions").json_lines if s["id"] == done["session"])
    texts = [
        json.loads(line)["text"] for line in Path(child["transcript"]).read_text().splitlines()
    ]
    assert texts == ["one", "done"]


@pytest.mark.parametrize("agent", ["my agent", "日本", "a/b", "-x", "x" * 300, ""])
def test_the_readmes_three_lines_with_any_agents_name(workspace: Path, agent: str) -> None:
    (workspace / "a.txt").write_bytes(b"before\n")
    with Takeback.open(workspace) as tb:
        with tb.session(agent=agent).turn("fix the login bug") as turn:
            (workspace / "a.txt").write_bytes(b"after\n")
        tb.rewind(turn.before)
        assert (workspace / "a.txt").read_bytes() == b"before\n"
        tb.undo()
    assert (workspace / "a.txt").read_bytes() == b"after\n"
