"""What changes something: a plan gives a nonce, and the nonce does what was shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.serve.served import InProcess
from tests.support.cli import Cli
from tests.support.host import Host
from tests.support.summariser import set_summariser


def carry_out(served: InProcess, kind: str, **fields: object) -> dict[str, object]:
    """Plans an operation and does it."""
    one = served.workspace
    planned = served.post(f"{one}/plan", {"kind": kind, **fields}).ok()
    assert planned["refused"] == []
    return served.post(f"{one}/{kind}", {"nonce": planned["nonce"]}).ok()


def read(cli: Cli, name: str) -> bytes | None:
    path = cli.directory / name
    return path.read_bytes() if path.exists() else None


def test_rewind_undo_and_redo_do_what_was_planned(host: Host, served: InProcess, cli: Cli) -> None:
    one = served.workspace
    planned = served.post(f"{one}/plan", {"target": "turn:2"}).ok()
    assert [f["path"] for f in planned["written"]] == ["a.txt"]
    assert [f["path"] for f in planned["deleted"]] == ["b.txt"]
    assert planned["scope"] == "both"
    assert read(cli, "b.txt") == b"b\n", "a plan changes nothing"
    done = served.post(f"{one}/rewind", {"nonce": planned["nonce"]}).ok()
    assert (read(cli, "a.txt"), read(cli, "b.txt")) == (b"one\ntwo\nthree\n", None)
    assert (done["verified"], done["whole"], done["prompt"]) == (True, True, "write b")
    assert done["resume"]["argv"][:2] == ["mine", "--resume"]
    assert any("Rewound" in line for line in done["lines"])
    assert carry_out(served, "undo")["operation"]
    assert read(cli, "b.txt") == b"b\n"
    carry_out(served, "redo")
    assert read(cli, "b.txt") is None
    assert served.get(f"{one}/status").ok()["can_undo"] == 1


def test_a_nonce_is_good_once_for_its_plan_and_not_for_long(
    host: Host, served: InProcess, cli: Cli
) -> None:
    one = served.workspace
    planned = served.post(f"{one}/plan", {"target": "turn:3", "scope": "files"}).ok()
    other = served.post(f"{one}/undo", {"nonce": planned["nonce"]})
    assert (other.status, other.code) == (409, "refused")
    again = served.post(f"{one}/rewind", {"nonce": planned["nonce"]})
    assert (again.status, again.code) == (409, "refused"), "it was used up"
    planned = served.post(f"{one}/plan", {"target": "turn:3", "scope": "files"}).ok()
    served.now += 301
    assert served.post(f"{one}/rewind", {"nonce": planned["nonce"]}).status == 409
    planned = served.post(f"{one}/plan", {"target": "turn:3", "scope": "files"}).ok()
    (cli.directory / "a.txt").write_bytes(b"another\n")
    outdated = served.post(f"{one}/rewind", {"nonce": planned["nonce"]})
    assert (outdated.status, outdated.code) == (409, "outdated")
    assert read(cli, "a.txt") == b"another\n"
    for _ in range(101):
        planned = served.post(f"{one}/prune/plan", {}).ok()
    assert served.post(f"{one}/prune", {"nonce": planned["nonce"]}).status == 200
    assert served.post(f"{one}/rewind", {"nonce": "x"}).status == 409


def test_a_plan_of_another_workspace_is_refused(
    host: Host, served: InProcess, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    Cli(other).ok("checkpoint")
    found = served.get("/workspaces").ok()["workspaces"]
    ids = {one["path"] == str(other): f"/workspaces/{one['id']}" for one in found}
    mine, its = ids[False], ids[True]
    planned = served.post(f"{mine}/plan", {"target": "turn:2"}).ok()
    assert served.post(f"{its}/rewind", {"nonce": planned["nonce"]}).status == 409


def test_only_what_was_ticked_is_taken_back(host: Host, served: InProcess, cli: Cli) -> None:
    one = served.workspace
    lines = [b"%d\n" % number for number in range(40)]
    host.turn("forty", {"c.txt": b"".join(lines), "d.txt": b"d\n"})
    changed = [b"first\n", *lines[1:-1], b"last\n"]
    host.turn("both ends", {"c.txt": b"".join(changed), "d.txt": b"e\n"})
    found = served.get(f"{one}/checkpoints/turn:5/diff?to=now&path=c.txt").ok()["changes"]
    assert [(f["path"], len(f["hunks"]), f["tickable"]) for f in found] == [("c.txt", 2, True)]
    asked = {"target": "turn:5", "hunks": {"c.txt": [1]}, "seen": {"c.txt": found[0]["seen"]}}
    planned = served.post(f"{one}/plan", asked).ok()
    served.post(f"{one}/rewind", {"nonce": planned["nonce"]}).ok()
    assert read(cli, "c.txt") == b"".join([b"first\n", *lines[1:]])
    assert read(cli, "d.txt") == b"e\n"
    reply = served.post(f"{one}/plan", asked)
    assert (reply.status, reply.code) == (409, "refused"), "the hunks are others now"


def test_revert_keeps_the_later_turns_and_asks_about_conflicts(
    host: Host, served: InProcess, cli: Cli
) -> None:
    one = served.workspace
    carry_out(served, "revert", turns=["turn:2"])
    assert (read(cli, "a.txt"), read(cli, "b.txt")) == (b"one\n2\nthree\n", None)
    planned = served.post(f"{one}/plan", {"kind": "revert", "target": "turn:1"}).ok()
    assert planned["disputes"]
    assert served.post(f"{one}/revert", {"nonce": planned["nonce"]}).status == 409
    settled = {"conflicts": {"a.txt": "theirs"}, "overrides": ["mass_delete"]}
    carry_out(served, "revert", target="turn:1", **settled)
    assert read(cli, "a.txt") is None


def test_fork_makes_a_directory_beside_the_workspace_and_nowhere_else(
    host: Host, served: InProcess, cli: Cli
) -> None:
    one = served.workspace
    done = carry_out(served, "fork", target="turn:3", directory="workspace-2")
    there = cli.directory.parent / "workspace-2"
    assert done["directory"] == str(there)
    assert (there / "b.txt").read_bytes() == b"b\n"
    for name in ("../x", "/tmp/x", "a/b", "..", ".", "", "a b"):
        reply = served.post(f"{one}/plan", {"kind": "fork", "target": "@", "directory": name})
        assert reply.status == 400, name
    assert carry_out(served, "fork", target="turn:2")["session"] != host.id


def test_a_summary_is_sent_only_once_its_plan_is_agreed_to(
    host: Host, served: InProcess, cli: Cli, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    program = set_summariser(cli.directory, tmp_path, f"cat > {seen}; echo in short")
    wanted = {"kind": "summarise", "target": "turn:2", "way": "up-to"}
    planned = served.post(f"{served.workspace}/plan", wanted).json
    assert planned["sending"]["argv"] == [str(program)]
    assert not seen.exists()
    done = served.post(f"{served.workspace}/summarise", {"nonce": planned["nonce"]}).json
    assert seen.exists()
    assert "in short" in host.resumed(done["resume"]["argv"]).remembers()[0]


def test_what_a_plan_says_can_be_kept_can_be_sent_back(
    host: Host, served: InProcess, cli: Cli
) -> None:
    (cli.directory / "a.txt").write_bytes(b"one\n2\nthree\nmine\n")
    asked = {"target": "turn:3", "scope": "files"}
    ways = served.post(f"{served.workspace}/plan", asked).ok()["can_keep"]
    assert "edits" in ways
    for way in (*ways, "all others", "mine"):
        served.post(f"{served.workspace}/plan", {**asked, "keep": way}).ok()


def test_edits_are_kept_and_refusals_answered(host: Host, served: InProcess, cli: Cli) -> None:
    one = served.workspace
    (cli.directory / "a.txt").write_bytes(b"one\n2\nthree\nmine\n")
    planned = served.post(f"{one}/plan", {"target": "turn:3", "scope": "files"}).ok()
    assert planned["can_keep_edits"]
    carry_out(served, "rewind", target="turn:3", scope="files", keep="edits")
    assert read(cli, "a.txt") == b"one\ntwo\nthree\nmine\n"
    host.prompt("still at it")
    planned = served.post(f"{one}/plan", {"target": "turn:2", "scope": "files"}).ok()
    assert [refusal["waivers"] for refusal in planned["refused"]] == [["during_turn"]]
    refused = served.post(f"{one}/rewind", {"nonce": planned["nonce"]})
    assert (refused.status, refused.code) == (409, "refused")
    assert refused.json["error"]["flag"] == "--during-turn"
    carry_out(served, "rewind", target="turn:2", scope="files", overrides=["during_turn"])


def test_label_and_prune(host: Host, served: InProcess, cli: Cli) -> None:
    one = served.workspace
    named = served.post(f"{one}/label", {"checkpoint": "turn:2", "label": "good"}).ok()
    assert (named["label"], named["before"]) == ("good", None)
    assert served.get(f"{one}/checkpoints/good").ok()["id"] == named["id"]
    taken = served.post(f"{one}/label", {"checkpoint": "turn:3", "label": "good"})
    assert taken.status == 400
    off = served.post(f"{one}/label", {"checkpoint": "good", "label": None}).ok()
    assert (off["label"], off["before"]) == (None, "good")
    planned = served.post(f"{one}/prune/plan", {"checkpoints": ["turn:2"]}).ok()
    assert planned["done"] is False
    assert [f["id"] for f in planned["dropped"]] + [f["id"] for f in planned["pinned"]]
    assert served.post(f"{one}/rewind", {"nonce": planned["nonce"]}).status == 409
    assert served.post(f"{one}/prune/plan", {"all": True}).status == 400


def test_a_prune_says_what_goes_and_why_and_the_trash_gives_it_back(
    host: Host, served: InProcess, cli: Cli
) -> None:
    one = served.workspace
    assert served.get(f"{one}/trash").ok() == {"trash": [], "grace_days": 7}
    empty = served.post(f"{one}/restore", {})
    assert (empty.status, empty.code) == (409, "refused")
    nothing = served.post(f"{one}/prune/plan", {}).ok()
    assert (nothing["dropped"], nothing["bytes"], nothing["goes"]) == ([], 0, [])
    planned = served.post(f"{one}/prune/plan", {"session": host.id, "all": True}).ok()
    assert planned["goes"] == [{"reason": "named", "words": "named", "count": 4}]
    assert {item["words"] for item in planned["stays"]} == {"the newest of all"}
    assert planned["bytes"] > 0
    done = served.post(f"{one}/prune", {"nonce": planned["nonce"]}).ok()
    [there] = served.get(f"{one}/trash").ok()["trash"]
    assert there["id"] == done["operation"]
    assert len(there["checkpoints"]) == 4
    again = served.post(f"{one}/prune", {"nonce": planned["nonce"]})
    assert (again.status, again.code) == (409, "refused")
    back = served.post(f"{one}/restore", {"id": there["id"]}).ok()
    assert sorted(back["checkpoints"]) == sorted(there["checkpoints"])
    assert served.get(f"{one}/trash").ok()["trash"] == []
    assert carry_out(served, "rewind", target="turn:2", scope="files")["verified"]


@pytest.mark.parametrize("inside", ["label", "rewind", "prune"])
def test_nothing_is_changed_for_a_model_from_inside_its_turn(
    host: Host, served: InProcess, cli: Cli, inside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = served.workspace
    served.post(f"{one}/label", {"checkpoint": "turn:2", "label": "good"}).ok()
    host.prompt("call takeback yourself")
    monkeypatch.setenv("TAKEBACK_SESSION_ID", host.session)
    monkeypatch.setenv("TAKEBACK_AGENT", host.agent)
    if inside == "label":
        reply = served.post(f"{one}/label", {"checkpoint": "good", "label": None})
    elif inside == "prune":
        planned = served.post(f"{one}/prune/plan", {}).ok()
        reply = served.post(f"{one}/prune", {"nonce": planned["nonce"]})
    else:
        asked = {"target": "turn:2", "scope": "files", "overrides": ["during_turn"]}
        planned = served.post(f"{one}/plan", asked).ok()
        reply = served.post(f"{one}/rewind", {"nonce": planned["nonce"]})
    assert (reply.status, reply.code) == (409, "refused")
    assert cli.run("serve").status == 13
