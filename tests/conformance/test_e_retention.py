"""E and F. Retention: what is dropped, what never is, and how that is shown (57, 58, 69, 71)."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from tests.support.cli import Cli
from tests.support.host import Host
from tests.support.journey import checkpoint, rewind, write_files
from tests.support.processes import join


def pruned(cli: Cli, *args: str) -> dict[str, Any]:
    return cli.ok("--json", "prune", *args).json


def everything(cli: Cli) -> list[dict[str, Any]]:
    return cli.ok("--json", "log", "--all").json_lines


def expired(cli: Cli) -> set[str]:
    return {line["id"] for line in everything(cli) if line["expired"] is not None}


def settings(cli: Cli, **values: object) -> None:
    for name, value in values.items():
        cli.ok("config", name, str(value))


# -- 57


def test_57_what_is_named_and_pinned_keeps_its_files_and_is_said_to(
    cli: Cli, workspace: Path
) -> None:
    made = []
    for number in range(3):
        write_files(workspace, {"n": b"%d" % number})
        made.append(checkpoint(cli))
    cli.ok("label", made[1], "pinned")
    answer = cli.run("prune", made[0], made[1], "--yes")
    assert answer.status == 3, str(answer)
    assert f"{made[1]} keeps its files: labelled" in answer.stderr
    assert expired(cli) == {made[0]}


def test_57_bounds_in_bytes_number_and_age_drop_the_oldest_and_never_what_is_pinned(
    cli: Cli, workspace: Path
) -> None:
    made = []
    for number in range(6):
        write_files(workspace, {"file": os.urandom(400_000), "n": b"%d" % number})
        made.append(checkpoint(cli))
    cli.ok("label", made[1], "pinned")
    settings(cli, keep_newest=1, max_snapshots=2, thin="no")
    dry = pruned(cli, "--dry-run")
    assert [one["id"] for one in dry["dropped"]] == [made[0], made[2]]
    assert dry["bytes"] > 700_000
    assert {one["id"]: one["reason"] for one in dry["pinned"]} == {
        made[1]: "labelled",
        made[5]: "the newest of all",
    }
    assert expired(cli) == set()
    assert cli.run("--json", "prune").error["code"] == "refused"
    done = pruned(cli, "--yes")
    assert done["done"]
    assert expired(cli) == {made[0], made[2]}
    assert "expired" in cli.ok("log").stdout
    settings(cli, max_snapshots=0, max_bytes="1MB")
    pruned(cli, "--yes")
    assert expired(cli) == {made[0], made[2], made[3], made[4]}
    rewind(cli, "pinned")
    assert (workspace / "n").read_bytes() == b"1"
    cli.ok("undo", "--yes")
    assert (workspace / "n").read_bytes() == b"5"
    assert cli.ok("verify", "--read-data").status == 0
    settings(cli, max_age_days="0.000001", keep_labelled="no", undo_grace_days=0, keep_newest=0)
    pruned(cli, "--yes")
    left = [line["id"] for line in everything(cli) if line["expired"] is None]
    assert len(left) == 1, "the newest of all stays whatever the settings say"


def test_57_a_prune_brings_all_stores_together_within_their_bound(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    """The least recently used gives way, and the plan names it."""
    other = tmp_path / "other"
    other.mkdir()
    for number in range(4):
        for place in (other, workspace):
            write_files(place, {"file": os.urandom(400_000), "n": b"%d" % number})
            cli.ok("-C", str(place), "checkpoint")
    settings(cli, keep_newest=1, max_total_bytes=2_500_000)
    said = cli.ok("prune", "--dry-run").stdout
    assert "All stores together take" in said
    assert str(other) in said
    giving_way = pruned(cli, "--dry-run")["together"]["giving_way"]
    assert [one["path"] for one in giving_way] == [str(other)]
    done = pruned(cli, "--yes")
    assert done["together"]["bytes"] <= 2_500_000
    assert done["together"]["giving_way"] == []
    assert expired(cli) == set()
    there = cli.ok("-C", str(other), "--json", "log", "--all").json_lines
    assert {line["expired"] for line in there} != {None}


# -- 58


def test_58_pruning_one_session_harms_no_other_and_nobody_who_captures(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    one, two = Host(cli, tmp_path, "one"), Host(cli, tmp_path, "two")
    for host in (one, two):
        for number in range(4):
            host.turn(f"turn {number}", {"f": b"%d" % number})
    kept: list[str] = []

    def capture() -> None:
        for number in range(10):
            write_files(workspace, {"g": b"%d" % number})
            kept.append(checkpoint(cli))

    capturing = threading.Thread(target=capture)
    capturing.start()
    pruned(cli, "--session", one.id, "--all", "--yes")
    join(capturing)
    assert cli.ok("verify", "--read-data").status == 0
    lines = everything(cli)
    assert not [line for line in lines if line["session"] == one.id]
    assert {line["id"] for line in lines} >= set(kept)
    assert not [line for line in lines if line["session"] == two.id and line["expired"]]
    rewind(cli, f"{two.id}/turn:2", "--files")
    assert (workspace / "f").read_text() == "0"
    cli.ok("prune", "--restore")
    assert [line for line in everything(cli) if line["session"] == one.id]


# -- 69


def test_69_an_expired_checkpoint_is_shown_and_goes_on_without_files(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    host = Host(cli, tmp_path)
    for number in range(1, 4):
        host.turn(f"turn {number}", {"f": b"%d" % number})
    pruned(cli, "turn:2", "--yes")
    for command in (("log",), ("tree",), ("show", "turn:2")):
        assert "expired" in cli.ok(*command).stdout, command
    assert "2 expired" in cli.ok("status").stdout
    refused = cli.run("--json", "rewind", "turn:2", "--yes")
    assert (refused.status, refused.error["code"]) == (12, "expired")
    gone = cli.run("--json", "fork", "turn:2", "--worktree", str(tmp_path / "new"))
    assert (gone.status, gone.error["code"]) == (12, "expired")
    forked = cli.ok("--json", "fork", "turn:2")
    assert forked.json["session"] != host.id
    assert "have expired" in forked.stderr
    talked = cli.ok("--json", "rewind", "turn:2", "--conversation", "--yes").json
    assert talked["prompt"] == "turn 2"
    assert (workspace / "f").read_text() == "3"


# -- 71


def test_71_the_labels_of_an_agent_pin_as_ours_do(cli: Cli, workspace: Path) -> None:
    """pi's own labels come by the call ``pin`` and are labels of takeback from then on."""
    made = checkpoint(cli)
    cli.ok("label", made, "pi's own")
    write_files(workspace, {"later": b"x"})
    checkpoint(cli)
    settings(cli, keep_newest=0, max_age_days="0.000001")
    assert pruned(cli, "--yes")["dropped"] == []
    settings(cli, keep_labelled="no")
    assert [one["id"] for one in pruned(cli, "--yes")["dropped"]] == [made]
