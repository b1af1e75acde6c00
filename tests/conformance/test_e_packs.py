"""E. A pack is lost or damaged: what is made afterwards is whole, and everyone is told (61)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Cli
from tests.support.engine import settle, start_machine_anew
from tests.support.host import read_transcripts_in
from tests.support.journey import checkpoint, log, rewind, same, store_of, unbroken, write_files
from tests.support.lanes import cases
from tests.support.processes import lock_holder
from tests.support.trees import tree_state

FILES = {
    ".gitignore": b"*.env\nbuild/\n",
    "file.txt": b"one\n" * 50,
    "sub/deep/file.txt": b"deep\n",
    "sub/other.bin": bytes(range(256)) * 30,
    "secret.env": b"TOKEN=1\n",
    "build/out": b"made\n",
}


def packs_in(store: Path) -> list[Path]:
    """Returns the packs, oldest first."""
    found = (store / "store.git" / "objects" / "pack").glob("*.pack")
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def keep_times(path: Path, change: Callable[[Path], object]) -> None:
    """Changes a file as a failing disk does: its size, times and inode stay."""
    before = path.stat()
    path.chmod(0o600)
    change(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    path.chmod(before.st_mode & 0o777)
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def zero(path: Path) -> None:
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.write(bytes(size))


def garble(path: Path) -> None:
    """Spoils every object, and leaves the head and the checksum at the end as they were."""
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.seek(14)
        file.write(bytes(size - 14 - 20))


def lose(pack: Path) -> None:
    pack.with_suffix(".idx").unlink()
    pack.unlink()


def empty_index(pack: Path) -> None:
    index = pack.with_suffix(".idx")
    index.chmod(0o600)
    os.truncate(index, 0)


def truncate(pack: Path) -> None:
    pack.chmod(0o600)
    os.truncate(pack, pack.stat().st_size // 2)


def zero_and_restart(pack: Path) -> None:
    keep_times(pack, zero)
    start_machine_anew(pack.parents[3])


def garble_and_restart(pack: Path) -> None:
    keep_times(pack, garble)
    start_machine_anew(pack.parents[3])


def zero_index_and_restart(pack: Path) -> None:
    keep_times(pack.with_suffix(".idx"), zero)
    start_machine_anew(pack.parents[3])


def lose_with_the_table(pack: Path) -> None:
    lose(pack)
    (pack.parents[3] / "trust").unlink()


def lose_and_garble_the_table(pack: Path) -> None:
    lose(pack)
    (pack.parents[3] / "trust").write_bytes(b"garbage")


def lose_the_index(pack: Path) -> None:
    pack.with_suffix(".idx").unlink()


def put_other_bytes(pack: Path) -> None:
    data = pack.read_bytes()
    pack.unlink()
    pack.write_bytes(data[:20] + bytes(len(data) - 40) + data[-20:])


DAMAGES = [
    lose,
    lose_the_index,
    empty_index,
    truncate,
    put_other_bytes,
    zero_and_restart,
    garble_and_restart,
    zero_index_and_restart,
    lose_with_the_table,
    lose_and_garble_the_table,
]


def wreck(root: Path) -> None:
    """Changes every file of the workspace, so that a rewind has to bring each one back."""
    for path in root.rglob("*"):
        if path.is_file() and ".git" not in path.parts:
            path.write_bytes(b"wrecked\n")


def goes_back(cli: Cli, workspace: Path, to: str, wanted: dict[bytes, Any]) -> None:
    """Wrecks the workspace and rewinds: everything in the snapshot is as it was, and verified."""
    wreck(workspace)
    done = rewind(cli, to, "--files", "--allow-mass-delete", "--during-turn")
    assert done["verified"] is True
    outside = (b"secret.env", b"build")  # ignored: not of the snapshot
    found = tree_state(workspace)
    same(
        {path: entry for path, entry in wanted.items() if not path.startswith(outside)},
        {path: entry for path, entry in found.items() if not path.startswith(outside)},
    )


@pytest.fixture
def store(cli: Cli, workspace: Path) -> Path:
    """The store of a workspace with three checkpoints, a pack each."""
    write_files(workspace, FILES)
    settle()
    checkpoint(cli)
    write_files(workspace, {"new.txt": b"new\n", "sub/file.txt": b"second\n"})
    settle()
    checkpoint(cli)
    write_files(workspace, {"new.txt": b"newer\n"})
    settle()
    checkpoint(cli)
    found = store_of(cli)
    assert len(packs_in(found)) == 3
    return found


@cases("damage, number", DAMAGES, [0, 1, 2], each=4)
def test_61_after_a_pack_is_lost_or_damaged_a_new_checkpoint_comes_back_whole(
    cli: Cli, workspace: Path, store: Path, damage: Callable[[Path], None], number: int
) -> None:
    """... the unchanged files too, whose ids nobody would have looked up in the store."""
    wanted = tree_state(workspace)
    damage(packs_in(store)[number])
    answer = unbroken(cli.run("--json", "checkpoint"))
    assert answer.status == 0, str(answer)
    assert answer.json["complete"] is True
    assert "everything is read anew" in answer.stderr
    goes_back(cli, workspace, answer.json["id"], wanted)


@cases("damage", [lose, truncate, zero_and_restart, lose_with_the_table], each=3)
def test_61_who_is_told_of_a_lost_pack(
    cli: Cli, store: Path, damage: Callable[[Path], None]
) -> None:
    """`doctor` names it before and after the next checkpoint, and `status` from then on."""
    pack = packs_in(store)[0]
    damage(pack)
    if damage is not lose_with_the_table:
        before = cli.run("--json", "doctor")
        assert before.status == 1, str(before)
        assert pack.stem in before.stdout
    cli.ok("checkpoint")
    failures = cli.ok("--json", "status").json["failures"]
    assert any("everything is read anew" in line for line in failures)
    if damage is not lose_with_the_table:
        assert any(pack.stem in line for line in failures)
        assert pack.stem in cli.run("--json", "doctor").stdout
    again = cli.ok("checkpoint")
    assert "read anew" not in again.stderr  # told once


def test_61_a_lost_pack_is_forgotten_when_nothing_needs_it(cli: Cli, workspace: Path) -> None:
    """What it held was written again, so everything is there: `verify` says so, then `doctor`."""
    write_files(workspace, FILES)
    settle()
    assert cli.run("--json", "--dry-run", "rewind", "@").status != 0  # no checkpoint yet
    cli.ok("diff", checkpoint(cli))
    store = store_of(cli)
    write_files(workspace, {"kept only by a plan": b"1\n"})
    settle()
    cli.ok("--json", "--dry-run", "rewind", "@")  # a capture that no ref keeps
    lose(packs_in(store)[-1])
    cli.ok("checkpoint")
    assert state_of_packs(cli) == {"ok", "broken"}
    assert cli.ok("--json", "verify").json["problems"] == []
    assert state_of_packs(cli) == {"ok"}


def state_of_packs(cli: Cli) -> set[str]:
    """Returns what doctor says of the packs."""
    findings = cli.run("--json", "doctor").json_lines
    return {finding["state"] for finding in findings if finding["about"] == "packs"}


@cases("found_by", ["verify", "doctor", "cat", "rewind", "show"], each=3)
def test_61_damage_that_somebody_met_is_relied_on_no_more(
    cli: Cli, workspace: Path, store: Path, found_by: str
) -> None:
    """A disk that lies keeps size, time and inode: whoever reads the bytes leaves word of it."""
    wanted = tree_state(workspace)
    first = log(cli)[-1]["id"]
    pack = packs_in(store)[0]
    keep_times(pack, garble)
    if found_by == "rewind":
        wreck(workspace)
        unbroken(cli.run("--json", "rewind", first, "--yes", "--force"))
        for name in ("new.txt", "sub/file.txt"):
            (workspace / name).unlink(missing_ok=True)
        write_files(workspace, {**FILES, "new.txt": b"newer\n", "sub/file.txt": b"second\n"})
    else:
        args = {
            "verify": ("verify", "--read-data"),
            "doctor": ("doctor",),
            "cat": ("cat", first, "file.txt"),
            "show": ("show", first),
        }[found_by]
        unbroken(cli.run("--json", *args))
    made = cli.ok("--json", "checkpoint").json
    assert made["complete"] is True
    goes_back(cli, workspace, made["id"], wanted)


def test_61_a_pack_that_was_only_copied_alarms_nobody(cli: Cli, workspace: Path) -> None:
    """A store brought back from a backup has other inodes and times, and the same bytes."""
    write_files(workspace, FILES)
    settle()
    checkpoint(cli)
    store = store_of(cli)
    for pack in packs_in(store):
        for path in (pack, pack.with_suffix(".idx")):
            data = path.read_bytes()
            path.unlink()
            path.write_bytes(data)
    answer = cli.ok("checkpoint")
    assert "anew" not in answer.stderr
    assert cli.ok("--json", "status").json["failures"] == []
    assert cli.run("doctor").status == 0


# -- for each thing that writes objects


class Agent:
    """An agent of no particular kind, whose events come through the hook."""

    def __init__(self, cli: Cli, workspace: Path, transcript: Path) -> None:
        self._cli = cli
        self._workspace = workspace
        self.transcript = transcript
        read_transcripts_in(transcript.parent)
        transcript.write_bytes(b'{"role": "user", "content": "hello"}\n' * 4000)

    def tell(self, event: str, **fields: object) -> None:
        told = {
            "event": event,
            "session": "s1",
            "agent": "mine",
            "cwd": str(self._workspace),
            "transcript": str(self.transcript),
            **fields,
        }
        done = self._cli.ok("hook", "generic", stdin=json.dumps(told).encode())
        assert done.stdout == ""


@pytest.fixture
def agent(cli: Cli, workspace: Path, tmp_path: Path) -> Agent:
    """An agent with a turn behind it, in a workspace with files of every kind."""
    write_files(workspace, FILES)
    settle()
    agent = Agent(cli, workspace, tmp_path / "transcript.jsonl")
    agent.tell("prompt", turn="1", prompt="first")
    agent.tell("turn_end", turn="1")
    return agent


def spoil_all(store: Path, damage: Callable[[Path], None]) -> None:
    for pack in packs_in(store):
        damage(pack)


LIES = [lose, empty_index, truncate, zero_and_restart, garble_and_restart]


@cases("damage", LIES, each=3)
def test_61_what_is_saved_before_a_tool_is_written_again_if_it_is_lost(
    cli: Cli, workspace: Path, agent: Agent, damage: Callable[[Path], None]
) -> None:
    edit = {"name": "Edit", "kind": "edit", "paths": ["build/out"]}
    agent.tell("prompt", turn="2", prompt="second")
    agent.tell("tool_before", turn="2", tools=[edit])  # keeps the bytes for the first time
    agent.tell("turn_end", turn="2")
    spoil_all(store_of(cli), damage)
    agent.tell("prompt", turn="3", prompt="third")
    before = log(cli)[0]["id"]
    agent.tell("tool_before", turn="3", tools=[edit])
    write_files(workspace, {"build/out": b"edited\n"})
    assert cli.ok("cat", before, "build/out").stdout_bytes == FILES["build/out"]


@cases("damage", LIES, each=3)
def test_61_a_held_file_whose_object_is_lost_is_saved_before_a_tool(
    cli: Cli, workspace: Path, agent: Agent, damage: Callable[[Path], None]
) -> None:
    """The newest snapshot names it, and no capture comes before the tool changes it."""
    agent.tell("prompt", turn="2", prompt="second")
    packs = packs_in(store_of(cli))
    newest = packs[-1]  # the prompt's own commit stays: the session is known
    for pack in packs[:-1]:
        damage(pack)
    assert newest.exists()
    agent.tell(
        "tool_before", turn="2", tools=[{"name": "Edit", "kind": "edit", "paths": ["file.txt"]}]
    )
    write_files(workspace, {"file.txt": b"edited\n"})
    store = store_of(cli)
    wanted = FILES["file.txt"]
    kept = any(wanted == cli_blob for cli_blob in blobs_beside(store, packs[:-1]))
    assert kept


def blobs_beside(store: Path, spoiled: list[Path]) -> list[bytes]:
    """Returns the blobs of every pack but the spoiled ones."""
    from takeback.git.objects import BLOB
    from takeback.git.packs import Packs

    names = {pack.stem for pack in spoiled}
    packs = Packs(str(store / "store.git" / "objects"))
    try:
        found = [
            packs.read(oid)
            for name in packs.names()
            if name not in names
            for oid in packs.iterate(name)
        ]
    finally:
        packs.close()
    return [data for kind, data in found if kind == BLOB]


@cases("damage", LIES, each=3)
def test_61_a_conversation_whose_pieces_are_lost_is_kept_anew(
    cli: Cli, agent: Agent, damage: Callable[[Path], None]
) -> None:
    spoil_all(store_of(cli), damage)
    agent.tell("prompt", turn="2", prompt="second")
    made = log(cli)[0]
    assert (made["kind"], made["complete"]) == ("prompt", True)
    kept = cli.ok("cat", made["id"], "--conversation")
    assert kept.stdout_bytes == agent.transcript.read_bytes()


@cases("damage", LIES, each=3)
def test_61_a_late_event_after_a_loss_is_whole(
    cli: Cli, workspace: Path, agent: Agent, damage: Callable[[Path], None]
) -> None:
    wanted = tree_state(workspace)
    store = store_of(cli)
    spoil_all(store, damage)
    with lock_holder(str(store / "lock")):
        agent.tell("prompt", turn="2", prompt="second")
    cli.ok("checkpoint")
    made = next(line for line in log(cli) if line["kind"] == "prompt" and line["late"])
    assert made["complete"] is True
    goes_back(cli, workspace, made["id"], wanted)


@cases("damage", LIES, each=3)
def test_61_labels_and_operations_after_a_loss_are_there(
    cli: Cli, workspace: Path, store: Path, damage: Callable[[Path], None]
) -> None:
    wanted = tree_state(workspace)
    spoil_all(store, damage)
    made = checkpoint(cli, "-m", "whole")
    goes_back(cli, workspace, "whole", wanted)
    assert log(cli)[0]["id"] == made
    assert [done["kind"] for done in cli.ok("--json", "log", "--operations").json_lines]
    wrecked = cli.ok("--json", "undo", "--yes", "--force").json
    assert wrecked["verified"] is True
    assert (workspace / "file.txt").read_bytes() == b"wrecked\n"


@cases("damage", LIES, each=3)
def test_61_a_fork_s_conversation_is_written_again_if_it_is_lost(
    cli: Cli, agent: Agent, damage: Callable[[Path], None]
) -> None:
    """A child's transcript shares its pieces with its parent's, which are lost."""
    agent.tell("prompt", turn="2", prompt="second")
    store = store_of(cli)
    at = log(cli)[0]["id"]
    cli.run("--json", "rewind", at, "--conversation", "--yes", "--force")
    spoil_all(store, damage)
    agent.tell("prompt", turn="3", prompt="third")
    agent.tell("prompt", session="s2", parent="s1", turn="1", prompt="in the fork")
    made = log(cli)[0]
    assert made["session"] == "mine-s2"
    kept = cli.ok("cat", made["id"], "--conversation")
    assert kept.stdout_bytes == agent.transcript.read_bytes()
