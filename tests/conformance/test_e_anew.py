"""E. A directory made anew, cloned anew or restored; one directory at two paths; one in another."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from tests.support.cli import Cli
from tests.support.host import Host
from tests.support.journey import (
    checkpoint,
    commit_all,
    log,
    plan,
    rewind,
    same,
    shell,
    store_of,
    undo,
    write_files,
)
from tests.support.mounts import in_own_mounts
from tests.support.processes import lock_holder
from tests.support.trees import tree_state


def _made_anew(workspace: Path) -> None:
    shell(workspace.parent, "rm -rf workspace && mkdir workspace")


def _cloned_anew(workspace: Path) -> None:
    shell(
        workspace.parent,
        "git clone -q --bare workspace upstream && rm -rf workspace"
        " && git clone -q upstream workspace",
    )


def _backup_moved_back(workspace: Path) -> None:
    shell(workspace.parent, "cp -a workspace backup && rm -rf workspace && mv backup workspace")


def _unpacked(workspace: Path) -> None:
    shell(workspace.parent, "tar -cf w.tar workspace && rm -rf workspace && tar -xf w.tar")


ANEW = (_made_anew, _cloned_anew, _backup_moved_back, _unpacked)


@pytest.fixture
def old(cli: Cli, workspace: Path) -> str:
    """A project with a committed file, one that is not, and one checkpoint of it."""
    write_files(workspace, {"a.txt": b"committed\n"})
    commit_all(workspace)
    write_files(workspace, {"b.txt": b"not committed\n"})
    return checkpoint(cli, "-m", "one")


@pytest.mark.parametrize("anew", ANEW)
def test_what_was_kept_of_the_same_path_is_offered_and_comes_back(
    cli: Cli, workspace: Path, old: str, anew: Callable[[Path], None]
) -> None:
    """Exit 10 says that there is something, and how it is had, and so does the status of it."""
    was = tree_state(workspace)
    anew(workspace)
    write_files(workspace, {"c.txt": b"of the new directory\n"})
    now = tree_state(workspace)
    for command in (["status"], []):
        said = cli.ok(*command).stdout
        assert "1 earlier checkpoint" in said
        assert "takeback doctor --adopt" in said
    for words in (("log",), ("undo", "--yes"), ("show", "one")):
        answer = cli.run(*words)
        assert answer.status == 10, str(answer)
        assert "1 earlier checkpoint" in answer.stderr
        assert '"one"' in answer.stderr
        assert "takeback rewind" in answer.stderr
        assert "takeback doctor --adopt" in answer.stderr
        error = cli.run("--json", *words).error
        assert error["exit"] == 10
        assert "takeback doctor --adopt" in error["hint"]
    rewind(cli, "one", "--force")
    same(was, tree_state(workspace))
    undo(cli, "--force")
    same(now, tree_state(workspace))
    assert [line["id"] for line in log(cli)] == [old]
    cli.ok("verify")


@pytest.mark.parametrize("name", ["one", "@", "the id", "the beginning"])
def test_a_rewind_to_an_earlier_checkpoint_takes_its_store_over(
    cli: Cli, workspace: Path, old: str, name: str
) -> None:
    was = tree_state(workspace)
    _made_anew(workspace)
    write_files(workspace, {"c.txt": b"of the new directory\n"})
    now = tree_state(workspace)
    to = {"the id": old, "the beginning": old[:6]}.get(name, name)

    planned = plan(cli, to)
    assert any("taken over" in warning for warning in planned["warnings"])
    assert cli.run("log").status == 10, "a plan takes nothing over"
    refused = cli.run("--json", "rewind", to)
    assert (refused.status, refused.error["flag"]) == (13, "--yes")
    assert cli.run("log").status == 10
    wrong = cli.run("--json", "rewind", "no-such", "--yes")
    assert wrong.status in (10, 12)
    assert cli.run("log").status == 10

    rewind(cli, to, "--allow-mass-delete")
    same(was, tree_state(workspace))
    assert old in {line["id"] for line in log(cli)}
    undo(cli, "--force")
    same(now, tree_state(workspace))


def test_a_refused_rewind_takes_nothing_over(cli: Cli, workspace: Path, old: str) -> None:
    _made_anew(workspace)
    write_files(workspace, {f"{number}": b"new\n" for number in range(30)})
    now = tree_state(workspace)
    refused = cli.run("--json", "rewind", "one", "--yes")
    assert (refused.status, refused.error["flag"]) == (13, "--allow-mass-delete")
    same(now, tree_state(workspace))
    assert cli.run("log").status == 10


def test_after_a_new_checkpoint_the_earlier_ones_are_still_offered(
    cli: Cli, workspace: Path, old: str
) -> None:
    """One line of log and status, a note of checkpoint; neither store is ever lost."""
    was = tree_state(workspace)
    _made_anew(workspace)
    write_files(workspace, {"c.txt": b"of the new directory\n"})
    now = tree_state(workspace)
    told = cli.ok("checkpoint", "-m", "two").stderr
    assert "1 earlier checkpoint" in told
    for words in (("log",), ("status",), ("checkpoint",)):
        answer = cli.ok(*words)
        lines = (answer.stdout + answer.stderr).splitlines()
        offers = [line for line in lines if "earlier checkpoint" in line]
        assert len(offers) == 1, str(answer)
        assert "takeback doctor --adopt" in offers[0]
    [earlier] = cli.ok("--json", "status").json["earlier"]
    assert set(earlier) == {"id", "path", "checkpoints", "newest", "adopt"}
    assert (earlier["path"], earlier["checkpoints"]) == (str(workspace), 1)
    assert earlier["newest"]["id"] == old
    assert earlier["newest"]["label"] == "one"
    assert earlier["adopt"].startswith("takeback doctor --adopt ")

    missing = cli.run("--json", "rewind", "turn:7", "--yes")
    assert missing.status == 12
    rewind(cli, "one", "--allow-mass-delete")
    same(was, tree_state(workspace))
    [other] = cli.ok("--json", "status").json["earlier"]
    assert other["newest"]["label"] is None
    assert other["id"] != earlier["id"]
    assert other["checkpoints"] == 2
    undo(cli, "--force")
    same(now, tree_state(workspace))

    # And back again, by the name that is offered.
    cli.ok(*other["adopt"].split()[1:])
    assert "two" in {line["label"] for line in log(cli)}
    [again] = cli.ok("--json", "status").json["earlier"]
    assert again["id"] == earlier["id"], "the id stays, whatever becomes of the directory"


def test_adopt_without_a_name_takes_the_only_one_and_never_guesses(
    cli: Cli, workspace: Path, old: str
) -> None:
    _made_anew(workspace)
    cli.ok("doctor", "--adopt")
    assert [line["id"] for line in log(cli)] == [old]
    _made_anew(workspace)
    write_files(workspace, {"c.txt": b"second\n"})
    checkpoint(cli)
    _made_anew(workspace)
    several = cli.run("--json", "doctor", "--adopt")
    assert several.status == 2
    assert "one" in several.error["message"] + several.error["hint"]
    assert cli.run("log").stderr.count("earlier checkpoint") == 1, "one line, however many stores"
    ambiguous = cli.run("--json", "rewind", "@", "--yes")
    assert ambiguous.status == 12, str(ambiguous)
    assert cli.run("log").status == 10


def test_an_earlier_store_that_is_forgotten_is_offered_no_more(
    cli: Cli, workspace: Path, old: str
) -> None:
    _made_anew(workspace)
    write_files(workspace, {"c.txt": b"new\n"})
    ours = checkpoint(cli)
    [earlier] = cli.ok("--json", "status").json["earlier"]
    cli.ok("forget", ".", "--earlier", earlier["id"], "--name", "workspace", "--yes")
    assert cli.ok("--json", "status").json["earlier"] == []
    assert [line["id"] for line in log(cli)] == [ours]


def test_an_agent_that_clones_its_project_anew_loses_no_turn(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    """Its next event makes a store of its own; the turns before are offered, and come back."""
    host = Host(cli, tmp_path)
    host.turn("write it", {"a.txt": b"1\n"})
    was = tree_state(workspace)
    host.prompt("start again")
    _made_anew(workspace)
    host.end()
    told = cli.ok("status").stdout
    assert "earlier checkpoints" in told
    assert "start again" in told
    [earlier] = cli.ok("--json", "status").json["earlier"]
    rewind(cli, earlier["newest"]["id"], "--files", "--force")
    same(was, tree_state(workspace))
    undo(cli, "--force")


# -- what is the same directory, and what is not


def test_a_directory_moved_away_and_back_is_what_it_was(
    cli: Cli, workspace: Path, old: str
) -> None:
    there = workspace.with_name("there")
    workspace.rename(there)
    there.rename(workspace)
    assert [line["id"] for line in log(cli)] == [old]
    workspace.rename(there)
    assert [line["id"] for line in log(Cli(there))] == [old]
    identity = json.loads((store_of(Cli(there)) / "workspace.json").read_text())["id"]
    there.rename(workspace)
    assert [line["id"] for line in log(cli)] == [old]
    assert json.loads((store_of(cli) / "workspace.json").read_text())["id"] == identity
    assert cli.ok("--json", "status").json["earlier"] == []


def test_a_copy_beside_is_a_workspace_of_its_own(cli: Cli, workspace: Path, old: str) -> None:
    shell(workspace.parent, "cp -a workspace copy")
    copy = Cli(workspace.with_name("copy"))
    answer = copy.run("log")
    assert answer.status == 10
    assert "earlier" not in answer.stderr
    checkpoint(copy)
    assert store_of(copy) != store_of(cli)
    assert [line["id"] for line in log(cli)] == [old]


def test_one_directory_at_two_paths_has_one_store_and_one_lock(tmp_path: Path) -> None:
    """A bind mount: whichever path it is opened by, from the root or from inside."""
    (tmp_path / "one" / "sub").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    (tmp_path / "one" / "a").write_text("1\n")
    said = in_own_mounts(
        tmp_path,
        """
        mount --bind one two
        tb -C one checkpoint -m by-one > /dev/null
        tb -C two/sub checkpoint -m by-two > /dev/null
        tb -C one checkpoint -m again > /dev/null
        for path in one two one/sub two/sub; do tb -C $path --json status; done
        tb -C two rewind by-one --yes --json > /dev/null
        echo 2 > one/a
        tb -C two rewind by-one --yes --json
        umount two
        tb -C one --json status
        """,
    )
    found = [json.loads(line) for line in said.splitlines()]
    first, *_, done, after = found
    assert {status["store"] for status in (*found[:4], after)} == {first["store"]}
    assert {status["checkpoints"] for status in found[:4]} == {3}
    assert [status["workspace"] for status in found[:4]] == [
        str(tmp_path / name) for name in ("one", "two", "one", "two")
    ]
    assert done["written"] == [{"path": "a"}]
    assert (tmp_path / "one" / "a").read_text() == "1\n"
    record = json.loads(Path(first["store"], "workspace.json").read_text())
    assert record["path"] == str(tmp_path / "one")
    assert record["paths"] == [str(tmp_path / "two")]


def test_projects_that_are_mounted_at_one_path_stay_apart(tmp_path: Path) -> None:
    """As containers do: each finds its own checkpoints, the other's are only offered."""
    for name in ("red", "blue", "work"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(f"{name}\n")
    said = in_own_mounts(
        tmp_path,
        """
        for turn in 1 2; do
            for name in red blue; do
                mount --bind $name work
                tb -C work checkpoint -m $name-$turn > /dev/null
                tb -C work --json log -n 1
                tb -C work --json status
                umount work
            done
        done
        """,
    )
    found = [json.loads(line) for line in said.splitlines()]
    labels = [line["label"] for line in found[::2]]
    stores = [line["store"] for line in found[1::2]]
    assert labels == ["red-1", "blue-1", "red-2", "blue-2"]
    assert stores[:2] == stores[2:]
    assert len(set(stores)) == 2
    assert [line["checkpoints"] for line in found[1::2]] == [1, 1, 2, 2]


def test_a_directory_that_is_gone_from_a_mounts_path_is_not_taken_for_what_comes_there(
    tmp_path: Path,
) -> None:
    """The path that a bind mount had is free afterwards: what is made there is another one."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    in_own_mounts(
        tmp_path,
        "mount --bind one two; tb -C one checkpoint; tb -C two checkpoint; umount two",
    )
    (tmp_path / "two" / "b").write_text("2\n")
    assert Cli(tmp_path / "two").run("log").status == 10
    checkpoint(Cli(tmp_path / "two"))
    assert store_of(Cli(tmp_path / "one")) != store_of(Cli(tmp_path / "two"))
    assert Cli(tmp_path / "two").ok("--json", "status").json["earlier"] == []
    Cli(tmp_path / "one").ok("forget", ".", "--name", "one", "--yes")
    assert len(log(Cli(tmp_path / "two"))) == 1


# -- one workspace inside another


@pytest.fixture
def nested(tmp_path: Path) -> tuple[Cli, Cli, Cli]:
    """A workspace, and two inside of it that had stores before."""
    top = tmp_path / "top"
    for name in ("sub", "beside"):
        (top / name).mkdir(parents=True)
        (top / name / "a").write_text("1\n")
        checkpoint(Cli(top / name))
    outer, inner, beside = Cli(top), Cli(top / "sub"), Cli(top / "beside")
    checkpoint(outer)
    for one in (outer, inner, beside):
        one.ok("config", "lock_wait_seconds", "0")
    assert len({store_of(one) for one in (outer, inner, beside)}) == 3
    return outer, inner, beside


def test_a_first_checkpoint_around_a_workspace_waits_for_what_goes_on_inside(
    tmp_path: Path,
) -> None:
    (tmp_path / "top" / "sub").mkdir(parents=True)
    inner, outer = Cli(tmp_path / "top" / "sub"), Cli(tmp_path / "top")
    checkpoint(inner)
    with Engine.open(inner.directory) as tb, tb._context.locked():
        assert outer.run("checkpoint").status == 11
        assert outer.run("log").status == 10, "a store whose making was given up is none"
    checkpoint(outer)
    assert len(log(outer)) == 1


def test_an_operation_in_one_workspace_is_not_seen_half_done_by_one_around_it(
    nested: tuple[Cli, Cli, Cli],
) -> None:
    outer, inner, beside = nested
    with lock_holder(str(store_of(outer) / "lock")):
        for one in (outer, inner, beside):
            assert one.run("checkpoint").status == 11
            assert one.run("rewind", "@", "--yes").status == 11
    with Engine.open(inner.directory) as tb, tb._context.locked():
        told = outer.run("checkpoint")
        assert told.status == 11, "the outer one would see the half of it"
        assert f"process {os.getpid()}" in told.stderr
        assert outer.run("rewind", "@", "--yes").status == 11
        beside.ok("checkpoint")
        outer.ok("log")
    for one in (outer, inner, beside):
        one.ok("checkpoint")


def test_first_checkpoints_by_two_paths_at_once_make_one_store(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    said = in_own_mounts(
        tmp_path,
        """
        mount --bind one two
        for path in one two one two; do tb -C $path checkpoint > /dev/null & done
        wait
        for path in one two; do tb -C $path --json status; done
        """,
    )
    first, second = (json.loads(line) for line in said.splitlines())
    assert first["store"] == second["store"]
    assert first["checkpoints"] == 4
    assert len([p for p in tmp_path.glob("takeback/workspaces/*/*") if not p.is_symlink()]) == 1


def test_a_workspace_whose_first_path_is_gone_goes_on_at_the_second(tmp_path: Path) -> None:
    """Moved while it was mounted elsewhere as well: still one store, by each path in turn."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    said = in_own_mounts(
        tmp_path,
        """
        mount --bind one two
        tb -C one checkpoint > /dev/null; tb -C two checkpoint > /dev/null
        mv one three
        for path in two three two three; do tb -C $path --json checkpoint > /dev/null; done
        for path in two three; do tb -C $path --json status; done
        """,
    )
    first, second = (json.loads(line) for line in said.splitlines())
    assert first["store"] == second["store"]
    assert first["checkpoints"] == 6


def test_hooks_go_on_while_an_earlier_store_is_taken_over(
    cli: Cli, workspace: Path, tmp_path: Path, old: str
) -> None:
    """Each event is recorded in one store or the other, or complained about; none damages one."""
    _made_anew(workspace)
    host = Host(cli, tmp_path)
    host.turn("one", {"a.txt": b"1\n"})
    with contextlib.ExitStack() as stack:
        document = json.dumps({"event": "round_end", "session": "s1", "agent": "mine"})
        hooks = [stack.enter_context(cli.start_hook("generic")) for _ in range(6)]
        for hook in hooks:
            assert hook.stdin is not None
            hook.stdin.write(document.encode())
            hook.stdin.close()
            hook.stdin = None
        cli.ok("doctor", "--adopt")
        for hook in hooks:
            hook.communicate(timeout=60)
            assert hook.returncode == 0
    assert old in {line["id"] for line in log(cli)}
    cli.ok("verify", "--read-data")
    [other] = cli.ok("--json", "status").json["earlier"]
    cli.ok(*other["adopt"].split()[1:])
    cli.ok("verify", "--read-data")
    assert "one" in {line["prompt"] for line in log(cli)}
