"""What only looks: each endpoint gives what the command line gives."""

from __future__ import annotations

from urllib.parse import quote

from tests.serve.served import InProcess
from tests.support.cli import Cli
from tests.support.host import Host


def without_head(document: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in document.items() if name not in ("type", "v")}


def test_reading_gives_the_documents_of_the_command_line(
    host: Host, served: InProcess, cli: Cli
) -> None:
    one = served.workspace
    log = [without_head(line) for line in cli.ok("--json", "log").json_lines]
    assert served.get(f"{one}/turns").ok() == {"turns": log, "next": None}
    assert served.get(f"{one}/sessions").ok()["sessions"] == [
        without_head(line) for line in cli.ok("--json", "sessions").json_lines
    ]
    assert served.get(f"{one}/tree").ok() == without_head(cli.ok("--json", "tree").json)
    status = served.get(f"{one}/status").ok()
    told = without_head(cli.ok("--json", "status").json)
    assert {**status, "bytes": 0, "growth": 0} == {**told, "bytes": 0, "growth": 0}
    shown = served.get(f"{one}/checkpoints/turn:2").ok()
    assert shown == without_head(cli.ok("--json", "show", "turn:2").json)
    assert served.get(f"{one}/checkpoints/{shown['id']}?session=mine").ok() == shown
    assert served.get(f"{one}/checkpoints/turn:2/prompt").ok() == {"prompt": "write b"}
    findings = served.get(f"{one}/doctor").ok()["findings"]
    assert {"about", "state", "message", "hint"} == set(findings[0])
    assert served.get(f"{one}/operations").ok() == {"operations": []}
    cli.ok("rewind", "turn:2", "--files", "--yes")
    assert served.get(f"{one}/operations").ok()["operations"] == [
        without_head(line) for line in cli.ok("--json", "log", "--operations").json_lines
    ]


def test_messages_come_page_by_page(host: Host, served: InProcess) -> None:
    one = served.workspace
    first = served.get(f"{one}/checkpoints/turn:3/messages?limit=3").ok()
    assert [(m["role"], m["text"]) for m in first["messages"]] == [
        ("user", "write a"),
        ("assistant", "done"),
        ("user", "write b"),
    ]
    assert (first["total"], first["next"]) == (4, 3)
    rest = served.get(f"{one}/checkpoints/turn:3/messages?offset={first['next']}").ok()
    assert [m["number"] for m in rest["messages"]] == [3]
    assert rest["next"] is None


def test_turns_come_page_by_page(host: Host, served: InProcess, cli: Cli) -> None:
    one, got = served.workspace, []
    before = ""
    while True:
        page = served.get(f"{one}/turns?limit=2{before}").ok()
        got += [turn["id"] for turn in page["turns"]]
        if page["next"] is None:
            break
        before = f"&before={page['next']}"
    assert got == [line["id"] for line in cli.ok("--json", "log").json_lines]
    assert served.get(f"{one}/turns?session=nobody").status == 404


def test_every_name_of_a_checkpoint_fits_into_a_path(
    host: Host, served: InProcess, cli: Cli
) -> None:
    one = served.workspace
    wanted = served.get(f"{one}/checkpoints/turn:2").ok()["id"]
    names = [wanted, "turn:2", f"{host.id}/turn:2"]
    for label in ("100%", "50%2Fday", "what? #1 & more", "é ü", "a+b c", "..", "%2e%2e"):
        cli.ok("label", wanted, label)
        assert served.get(f"{one}/checkpoints/{quote(label, safe='')}").ok()["id"] == wanted
    for name in names:
        at = f"{one}/checkpoints/{quote(name, safe='')}"
        assert served.get(at).ok()["id"] == wanted, name
        assert served.get(f"{at}/prompt").ok() == {"prompt": "write b"}
        assert served.get(f"{at}/diff").ok()["changes"], name
        assert served.get(f"{at}/files/0?side=new").status == 200, name
    assert served.get(f"{one}/checkpoints/{host.id}/turn:2").status == 404, "a slash of the path"
    assert served.get(f"{one}/checkpoints/%FF").status == 400, "not UTF-8"
    assert served.get(f"{one}/checkpoints/%00").status == 400


def test_what_is_not_there_is_named(host: Host, served: InProcess) -> None:
    one = served.workspace
    assert served.get("/workspaces/0123456789abcdef/status").code == "no_such"
    assert served.get("/workspaces/..%2f/status").status == 400
    assert served.get("/workspaces/../status").status == 400
    missing = served.get(f"{one}/checkpoints/nothing-like-it")
    assert (missing.status, missing.code) == (404, "no_such_checkpoint")
    assert served.get(f"{one}/nothing").code == "no_such"
    assert served.post(f"{one}/status", {}).status == 405
    for query in ("limit=0", "limit=x", "limit=1&limit=2", "what=1", "before="):
        reply = served.get(f"{one}/turns?{query}")
        assert (reply.status, reply.code) == (400, "bad_request"), query
    assert served.get(f"{one}/checkpoints/a%00b").status == 400


def test_a_workspace_that_is_gone_is_not_there(host: Host, served: InProcess, cli: Cli) -> None:
    one = served.workspace
    assert served.get(f"{one}/turns").status == 200
    cli.ok("forget", str(cli.directory), "--yes", "--name", cli.directory.name)
    assert served.get(f"{one}/turns").status == 404
