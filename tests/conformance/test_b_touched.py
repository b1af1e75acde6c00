"""B. What an operation touches: undo brings back all of it, and nothing beside it moves.

Behaviours 19 (exactly the files of that moment), 22 (undo), 27 (some paths only).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.cli import Cli
from tests.support.engine import settle
from tests.support.git import git
from tests.support.journey import checkpoint, not_held, paths, plan
from tests.support.trees import tree_state


@pytest.fixture(autouse=True)
def many(workspace: Path) -> None:
    """Files beside those of a test: without them, each deletion would be of most files."""
    for number in range(3):
        (workspace / f"beside {number}").write_text("stays")


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def rewind(cli: Cli, target: str, *rest: str) -> None:
    cli.ok("rewind", target, "--files", "--yes", *rest)


def there_and_back(cli: Cli, root: Path, target: str, *paths: str) -> None:
    """Rewinds some paths; undo and redo then lead exactly back and forth, again and again."""
    before = tree_state(root)
    rewind(cli, target, "--", *paths)
    after = tree_state(root)
    assert after != before
    for _ in range(2):
        cli.ok("undo", "--yes")
        assert tree_state(root) == before
        cli.ok("redo", "--yes")
        assert tree_state(root) == after
    cli.ok("undo", "--yes")
    assert tree_state(root) == before
    cli.ok("verify", "--read-data")


# -- 22, 27: what stood in the way, what had to be made


@pytest.mark.parametrize("kind", ["file", "link", "ignored file", "link to a directory"])
def test_22_undo_brings_back_what_made_way_for_a_named_path(
    cli: Cli, workspace: Path, kind: str
) -> None:
    (workspace / "a" / "deep").mkdir(parents=True)
    (workspace / "a" / "deep" / "f").write_text("x")
    (workspace / "a" / "beside").write_text("not named")
    (workspace / "other").mkdir()
    target = checkpoint(cli)
    shutil.rmtree(workspace / "a")
    if kind == "link":
        (workspace / "a").symlink_to("nowhere")
    elif kind == "link to a directory":
        (workspace / "a").symlink_to("other")
    else:
        (workspace / "a").write_text("my precious notes")
    if kind == "ignored file":
        (workspace / ".gitignore").write_text("/a\n")
    shown = plan(cli, target, "--files", "--", "a/deep/f")
    assert any("a" in line.split() and "not named" in line for line in shown["warnings"]), shown
    there_and_back(cli, workspace, target, "a/deep/f")


def test_22_what_is_in_the_way_of_an_ignored_file_makes_way_too(cli: Cli, workspace: Path) -> None:
    """The file is kept beside the snapshot, the directory it was in is in it."""
    (workspace / "a").mkdir()
    (workspace / "a" / ".gitignore").write_text("*.env\n")
    (workspace / "a" / "my.env").write_text("secret")
    target = checkpoint(cli)
    shutil.rmtree(workspace / "a")
    (workspace / "a").write_text("my precious notes")
    there_and_back(cli, workspace, target, "a/my.env")


def test_22_what_makes_way_and_was_not_named_is_said_to_people(cli: Cli, workspace: Path) -> None:
    (workspace / "a").mkdir()
    (workspace / "a" / "f").write_text("x")
    target = checkpoint(cli)
    shutil.rmtree(workspace / "a")
    (workspace / "a").write_text("my precious notes")
    shown = cli.ok("rewind", target, "--files", "--dry-run", "--", "a/f").stdout
    assert "replace a/" in shown
    assert "a was not named, but is in the way" in shown


def test_22_undo_removes_the_parents_that_a_rewind_of_some_paths_made(
    cli: Cli, workspace: Path
) -> None:
    (workspace / "a" / "deep").mkdir(parents=True)
    (workspace / "a" / "deep" / "f").write_text("x")
    (workspace / "a" / "deep").chmod(0o750)
    target = checkpoint(cli)
    shutil.rmtree(workspace / "a")
    there_and_back(cli, workspace, target, "a/deep/f")


def test_22_undo_leaves_a_made_parent_in_which_somebody_put_something(
    cli: Cli, workspace: Path
) -> None:
    (workspace / "a").mkdir()
    (workspace / "a" / "f").write_text("x")
    target = checkpoint(cli)
    shutil.rmtree(workspace / "a")
    (workspace / "a").write_text("notes")
    done = cli.ok("--json", "rewind", target, "--files", "--yes", "--", "a/f").json
    (workspace / "a" / "mine").write_text("made since")
    answer = cli.run("--json", "undo", "--yes")
    assert answer.status == 3, str(answer)
    assert paths(answer.json["left_alone"]) == {b"a"}
    assert answer.json["verified"] is False
    assert (workspace / "a" / "mine").read_text() == "made since"
    assert cli.ok("cat", done["undo"], "a").stdout == "notes"


@pytest.mark.parametrize("rules", ["*.log\n", "build/\n"])
def test_22_undo_removes_what_a_rewind_wrote_where_the_rules_ignore_it(
    cli: Cli, workspace: Path, rules: str
) -> None:
    """The file is held by the target; its own rules ignore it, and it was gone before."""
    (workspace / "build").mkdir()
    (workspace / "build" / "x.log").write_text("kept")
    (workspace / "a").write_text("1")
    held = checkpoint(cli)
    (workspace / ".gitignore").write_text(rules)
    shutil.rmtree(workspace / "build")
    (workspace / "a").write_text("2")
    before = tree_state(workspace)
    rewind(cli, held, "--", "build/x.log", "a")
    after = tree_state(workspace)
    for _ in range(2):
        cli.ok("undo", "--yes")
        assert tree_state(workspace) == before
        cli.ok("redo", "--yes")
        assert tree_state(workspace) == after


def test_22_undo_says_nothing_of_an_ignored_directory_that_the_rewind_itself_removed(
    cli: Cli, workspace: Path
) -> None:
    """All that was in it was tracked, and so held: nothing else can be missing."""
    (workspace / ".gitignore").write_text("build/\n")
    git(workspace, "init", "-q")
    held = checkpoint(cli)
    (workspace / "build").mkdir()
    (workspace / "build" / "tracked").write_text("kept")
    git(workspace, "add", "-f", "build/tracked")
    before = tree_state(workspace)
    rewind(cli, held)
    assert not (workspace / "build").exists()
    for _ in range(2):
        done = cli.ok("--json", "undo", "--yes").json
        assert (done["verified"], done["left_alone"]) == (True, [])
        assert tree_state(workspace) == before
        done = cli.ok("--json", "redo", "--yes").json
        assert (done["verified"], done["left_alone"]) == (True, [])


def test_22_what_a_rewind_brought_back_is_held_although_ignored(cli: Cli, workspace: Path) -> None:
    (workspace / "build").mkdir()
    (workspace / "build" / "x.log").write_text("kept")
    held = checkpoint(cli)
    (workspace / ".gitignore").write_text("build/\n")
    shutil.rmtree(workspace / "build")
    rewind(cli, held, "--", "build/x.log")
    (workspace / "build" / "x.log").write_text("edited since")
    cli.ok("undo", "--yes")
    assert not (workspace / "build").exists()
    cli.ok("redo", "--yes")
    assert (workspace / "build" / "x.log").read_text() == "edited since"


def test_22_what_was_edited_since_goes_with_the_directory_that_makes_way(
    cli: Cli, workspace: Path
) -> None:
    """A file that no snapshot holds made way for a directory, and comes back in its place."""
    (workspace / "place").mkdir()
    (workspace / "place" / "file").write_text("kept")
    held = checkpoint(cli)
    cli.ok("config", "size_limit_mb", "0.001")
    shutil.rmtree(workspace / "place")
    (workspace / "place").write_text("x" * 2000)
    rewind(cli, held)
    (workspace / "place" / "file").write_text("edited since")
    edited = tree_state(workspace)
    done = cli.ok("--json", "undo", "--yes").json
    assert (done["verified"], done["left_alone"]) == (True, [])
    assert (workspace / "place").read_text() == "x" * 2000
    cli.ok("redo", "--yes")
    assert tree_state(workspace) == edited


def test_22_undo_removes_a_tracked_but_ignored_file_that_was_absent(
    cli: Cli, workspace: Path
) -> None:
    (workspace / ".gitignore").write_text("build/\n")
    (workspace / "build").mkdir()
    (workspace / "build" / "tool").write_text("ignored")
    (workspace / "build" / "keep.txt").write_text("tracked")
    git(workspace, "add", "-f", "build/keep.txt")
    target = checkpoint(cli)
    (workspace / "build" / "keep.txt").unlink()
    (workspace / "a").write_text("new")
    before = tree_state(workspace)
    cli.ok("rewind", target, "--files", "--yes", "--force")
    after = tree_state(workspace)
    assert b"build/keep.txt" in after
    for _ in range(2):
        cli.ok("undo", "--yes")
        assert tree_state(workspace) == before
        cli.ok("redo", "--yes", "--force")
        assert tree_state(workspace) == after


def test_08_an_ignored_file_that_is_right_and_tracked_since_is_no_failure(
    cli: Cli, workspace: Path
) -> None:
    (workspace / ".gitignore").write_text("*.env\n")
    (workspace / "x.env").write_text("saved beside the snapshot")
    target = checkpoint(cli)
    git(workspace, "add", "-f", "x.env")
    (workspace / "a").write_text("new")
    answer = cli.ok("--json", "rewind", target, "--files", "--yes")
    assert answer.json["verified"] is True, str(answer)
    assert (workspace / "x.env").read_text() == "saved beside the snapshot"


# -- 27: permission bits


def test_27_a_rewind_of_some_paths_changes_no_mode_of_a_parent(cli: Cli, workspace: Path) -> None:
    (workspace / "d" / "e").mkdir(parents=True)
    (workspace / "d").chmod(0o755)
    (workspace / "d" / "e").chmod(0o755)
    (workspace / "d" / "e" / "f").write_text("1")
    (workspace / "d" / "secret").write_text("hidden by its parent")
    target = checkpoint(cli)
    (workspace / "d").chmod(0o700)
    (workspace / "d" / "e").chmod(0o711)
    (workspace / "d" / "e" / "f").write_text("2")
    shown = plan(cli, target, "--files", "--", "d/e/f")
    assert paths(shown["written"]) == {b"d/e/f"}
    rewind(cli, target, "--", "d/e/f")
    assert (workspace / "d" / "e" / "f").read_text() == "1"
    assert mode_of(workspace / "d") == 0o700
    assert mode_of(workspace / "d" / "e") == 0o711
    rewind(cli, target, "--", "d/e")
    assert mode_of(workspace / "d") == 0o700
    assert mode_of(workspace / "d" / "e") == 0o755


@pytest.mark.parametrize("special", [0o2000, 0o1000, 0o3000])
def test_03_a_change_of_bits_keeps_setgid_and_sticky(
    cli: Cli, workspace: Path, special: int
) -> None:
    (workspace / "d").mkdir()
    (workspace / "d").chmod(special | 0o777)
    target = checkpoint(cli)
    (workspace / "d").chmod(special | 0o755)
    rewind(cli, target)
    assert mode_of(workspace / "d") == special | 0o777
    cli.ok("undo", "--yes")
    assert mode_of(workspace / "d") == special | 0o755


def test_03_the_roots_own_mode_comes_back(cli: Cli, workspace: Path) -> None:
    (workspace / "a").write_text("1")
    workspace.chmod(0o750)
    target = checkpoint(cli)
    workspace.chmod(0o2711)
    shown = cli.ok("rewind", target, "--files", "--dry-run").stdout
    assert "change mode of ./" in shown
    assert paths(plan(cli, target, "--files")["written"]) == {b"."}
    rewind(cli, target, "--", "a")
    assert mode_of(workspace) == 0o2711, "not named"
    rewind(cli, target)
    assert mode_of(workspace) == 0o2750
    cli.ok("undo", "--yes")
    assert mode_of(workspace) == 0o2711
    cli.ok("redo", "--yes")
    assert mode_of(workspace) == 0o2750
    assert "Nothing to do" in cli.ok("rewind", target, "--files", "--yes").stdout


# -- 27: which path is meant


def test_27_a_path_below_what_is_a_link_now_means_the_checkpoints_path(
    cli: Cli, workspace: Path
) -> None:
    for name in ("d", "e"):
        (workspace / name).mkdir()
        (workspace / name / "f").write_text(name)
    target = checkpoint(cli)
    shutil.rmtree(workspace / "d")
    (workspace / "d").symlink_to("e")
    (workspace / "e" / "f").write_text("e, edited")
    assert cli.ok("cat", target, "d/f").stdout == "d"
    before = tree_state(workspace)
    rewind(cli, target, "--", "d/f")
    assert (workspace / "d" / "f").read_text() == "d"
    assert not (workspace / "d").is_symlink()
    assert (workspace / "e" / "f").read_text() == "e, edited"
    cli.ok("undo", "--yes")
    assert tree_state(workspace) == before


def test_27_the_workspace_may_be_reached_through_a_link(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "d").mkdir()
    (workspace / "d" / "f").write_text("1")
    target = checkpoint(cli)
    (workspace / "d" / "f").write_text("2")
    (tmp_path / "short").symlink_to(workspace)
    rewind(cli, target, "--", os.fspath(tmp_path / "short" / "d" / "f"))
    assert (workspace / "d" / "f").read_text() == "1"


def test_27_a_directory_that_came_back_is_held_again_whatever_ignores_it(
    cli: Cli, workspace: Path
) -> None:
    """Only its bits came back, so that nothing shows in the directory above it."""
    (workspace / "build").mkdir(0o750)
    target = checkpoint(cli)
    (workspace / "build").rmdir()
    (workspace / ".gitignore").write_text("build/\n")
    checkpoint(cli)
    (workspace / "build").mkdir(0o700)
    settle()
    assert not_held(cli, checkpoint(cli)) == {b"build": "ignored"}
    checkpoint(cli)
    rewind(cli, target, "--", "build")
    assert not_held(cli, checkpoint(cli)) == {}


# -- 14: what the checkpoint does not hold


def lacking(cli: Cli, workspace: Path) -> str:
    """Makes a checkpoint that names four things as not held; they are gone afterwards."""
    cli.ok("config", "size_limit_mb", "1")
    (workspace / ".gitignore").write_text("node_modules/\n*.db\n")
    (workspace / "huge.img").write_bytes(os.urandom(2 << 20))
    (workspace / "node_modules").mkdir()
    (workspace / "node_modules" / "x").write_text("x")
    (workspace / "data.db").write_bytes(b"x" * (2 << 20))
    os.mkfifo(workspace / "pipe")
    (workspace / "a").write_text("1")
    made = cli.run("--json", "checkpoint").json["id"]
    assert isinstance(made, str)
    for name in ("huge.img", "data.db", "pipe"):
        (workspace / name).unlink()
    shutil.rmtree(workspace / "node_modules")
    return made


@pytest.mark.parametrize("changed", [True, False])
def test_14_what_the_target_did_not_hold_and_is_gone_is_named(
    cli: Cli, workspace: Path, changed: bool
) -> None:
    target = lacking(cli, workspace)
    if changed:
        (workspace / "a").write_text("2")
    gone = {b"data.db", b"huge.img", b"node_modules", b"pipe"}
    shown = plan(cli, target, "--files")
    assert paths(shown["left_alone"]) == gone
    answer = cli.run("--json", "rewind", target, "--files", "--yes")
    assert answer.status == 3, str(answer)
    assert paths(answer.json["left_alone"]) == gone
    assert answer.json["verified"] is False
    assert (workspace / "a").read_text() == "1"
    told = cli.run("rewind", target, "--files", "--yes")
    assert told.status == 3
    assert "huge.img: not held by the checkpoint (oversized then), and gone now" in told.stdout
    assert "Nothing to do" not in told.stdout


def test_14_what_is_gone_beside_the_named_paths_is_not_spoken_of(cli: Cli, workspace: Path) -> None:
    target = lacking(cli, workspace)
    (workspace / "a").write_text("2")
    cli.ok("rewind", target, "--files", "--yes", "--", "a")


def test_14_a_path_that_is_asked_for_and_not_held_is_named(cli: Cli, workspace: Path) -> None:
    target = lacking(cli, workspace)
    for name in ("huge.img", "node_modules/x"):
        answer = cli.run("--json", "rewind", target, "--files", "--yes", "--", name)
        assert answer.status == 3, str(answer)
        assert paths(answer.json["left_alone"]) == {name.encode()}


def test_14_a_path_that_is_asked_for_below_what_is_not_held_is_named(
    cli: Cli, workspace: Path
) -> None:
    """Its directory is left alone by a rule; that is no answer to who named the file."""
    (workspace / ".gitignore").write_text("a\n")
    (workspace / "d").mkdir()
    (workspace / "d" / "a").write_bytes(bytes(2 << 20))
    target = checkpoint(cli)
    (workspace / ".gitignore").unlink()
    (workspace / "d" / "a").unlink()
    (workspace / "d" / "a").mkdir()
    (workspace / "d" / "a" / "inside").write_text("made since")
    cli.ok("rewind", target, "--yes", "--", "d")
    answer = cli.run("--json", "rewind", target, "--yes", "--", "d", "d/a/inside")
    assert answer.status == 3, str(answer)
    assert b"d/a/inside" in paths(answer.json["left_alone"])
    assert answer.json["verified"] is False


def test_14_that_it_is_ignored_now_does_not_hide_that_the_checkpoint_lacked_it(
    cli: Cli, workspace: Path
) -> None:
    cli.ok("config", "size_limit_mb", "0.001")
    (workspace / "big").write_text("x" * 2000)
    target = checkpoint(cli)
    (workspace / "big").write_text("other")
    (workspace / ".gitignore").write_text("big\n")
    answer = cli.run("--json", "rewind", target, "--files", "--yes")
    assert answer.status == 3, str(answer)
    assert b"big" in paths(answer.json["left_alone"])
    assert (workspace / "big").read_text() == "other"


def test_14_what_stays_because_it_is_not_captured_is_named(cli: Cli, workspace: Path) -> None:
    cli.ok("config", "size_limit_mb", "1")
    (workspace / "a").write_text("1")
    target = checkpoint(cli)
    (workspace / "huge.img").write_bytes(os.urandom(2 << 20))
    (workspace / "a").write_text("2")
    answer = cli.run("--json", "rewind", target, "--files", "--yes")
    assert answer.status == 3, str(answer)
    assert paths(answer.json["left_alone"]) == {b"huge.img"}
    assert answer.json["verified"] is False
    assert (workspace / "huge.img").stat().st_size == 2 << 20


def test_24_nothing_to_do_is_not_said_of_what_the_target_cannot_vouch_for(
    cli: Cli, workspace: Path
) -> None:
    cli.ok("config", "size_limit_mb", "1")
    (workspace / "huge.img").write_bytes(os.urandom(2 << 20))
    target = cli.run("--json", "checkpoint").json["id"]
    (workspace / "huge.img").write_bytes(os.urandom(2 << 20))
    answer = cli.run("rewind", target, "--files", "--yes")
    assert answer.status == 3, str(answer)
    assert "already at" not in answer.stdout
    assert "huge.img: not held by the checkpoint (oversized then)" in answer.stdout
