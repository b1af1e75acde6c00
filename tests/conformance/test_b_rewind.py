"""B. Rewind: where it goes, what it leaves alone, and the way back (behaviours 19, 20, 22-28)."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Answer, Cli
from tests.support.git import git
from tests.support.host import Host
from tests.support.journey import checkpoint, paths, plan, same
from tests.support.trees import Entry, git_state, tree_state

BIG = (1 << 20) + 4096
"""More than an ignored file may have to be saved with every checkpoint."""


def rewind(cli: Cli, target: str, *rest: str | bytes) -> dict[str, Any]:
    """Rewinds, which must succeed in full, and returns the answer."""
    answer = cli.ok("--json", "rewind", target, "--yes", *rest)
    assert answer.json["verified"] is True, str(answer)
    return answer.json


def assert_refused(answer: Answer) -> None:
    assert answer.status == 13, str(answer)


def noise(size: int, seed: int = 1) -> bytes:
    """Returns bytes that do not compress, the same for the same seed."""
    return random.Random(seed).randbytes(size)


# -- 19


def _before_the_first_turn(root: Path) -> None:
    (root / "tracked.txt").write_text("one\n")
    (root / "binary").write_bytes(noise(5000))
    (root / "empty").touch()
    (root / "to be deleted").write_text("still here\n")
    (root / "old name").write_text("the same bytes\n")
    (root / "script.sh").write_text("#!/bin/sh\n")
    (root / "script.sh").chmod(0o755)
    (root / "private").write_text("secret\n")
    (root / "private").chmod(0o600)
    (root / "link").symlink_to("tracked.txt")
    (root / "src" / "deep" / "er").mkdir(parents=True)
    (root / "src" / "deep" / "er" / "file").write_bytes(b"crlf\r\nlf\n\0")
    (root / "src" / "nothing in it").mkdir()
    (root / "src" / "nothing in it").chmod(0o750)
    (root / "was a file").write_text("f\n")
    (root / "was a directory").mkdir()
    (root / "was a directory" / "inner").write_text("i\n")
    git(root, "add", "tracked.txt", "src")
    git(root, "commit", "--quiet", "-m", "first")


def _first_turn(root: Path) -> None:
    (root / "tracked.txt").write_text("two\n")
    (root / "binary").write_bytes(noise(5000, seed=2))
    (root / "to be deleted").unlink()
    (root / "old name").rename(root / "new name")
    (root / "script.sh").chmod(0o644)
    (root / "private").chmod(0o644)
    (root / "link").unlink()
    (root / "link").symlink_to("/nowhere at all")
    (root / "made").mkdir()
    (root / "made" / "by the turn").write_text("new\n")
    (root / "was a file").unlink()
    (root / "was a file").mkdir()
    (root / "was a file" / "now").write_text("n\n")
    (root / "was a directory" / "inner").unlink()
    (root / "was a directory").rmdir()
    (root / "was a directory").write_text("d\n")


def _second_turn(root: Path) -> None:
    (root / "tracked.txt").write_text("three\n")
    (root / "empty").write_text("no longer\n")
    (root / "src" / "deep" / "er" / "file").unlink()
    (root / "src" / "deep" / "er").rmdir()
    (root / "src" / "nothing in it").rmdir()
    (root / "new name").unlink()
    (root / "made" / "more").write_text("more\n")
    (root / "made" / "empty").mkdir(mode=0o700)


def test_19_rewind_gives_exactly_the_files_of_that_moment(cli: Cli, workspace: Path) -> None:
    """The checkpoint before turn N gives exactly the files of that moment: edited ones back,
    deleted ones back, later ones gone, also for the very first turn."""
    moments: list[tuple[str, dict[bytes, Entry]]] = []
    for turn in (_before_the_first_turn, _first_turn, _second_turn):
        turn(workspace)
        moments.append((checkpoint(cli), tree_state(workspace)))
    repository = git_state(workspace)

    # back one by one to the first, then across, then forward
    for number in (1, 0, 2, 0, 1, 2):
        target, then = moments[number]
        now = tree_state(workspace)
        done = rewind(cli, target)
        same(then, tree_state(workspace))
        gone = {path for path in now.keys() - then.keys() if now[path].kind != "directory"}
        changed = {
            path for path in then if then[path] != now.get(path) and then[path].kind != "directory"
        }
        assert gone <= paths(done["deleted"])
        assert changed <= paths(done["written"])
        untouched = {path for path in then if then[path] == now.get(path)}
        assert not untouched & (paths(done["written"]) | paths(done["deleted"]))
        assert done["left_alone"] == []
    same(repository, git_state(workspace))


# -- 20


def test_20_unchanged_files_keep_inode_mtime_and_mode(cli: Cli, workspace: Path) -> None:
    """Files with unchanged content keep inode, mtime and mode."""
    kept = ["top", "private", "busy/left as it is", "quiet/a", "quiet/b", "again"]
    for directory in ("busy", "quiet", "quiet/empty"):
        (workspace / directory).mkdir()
    for number, name in enumerate(kept):
        (workspace / name).write_text(f"{name}\n")
        os.utime(workspace / name, ns=(10**18, 10**18 + number))
    (workspace / "private").chmod(0o600)
    (workspace / "quiet/link").symlink_to("a")
    (workspace / "busy/edited").write_text("1\n")
    target = checkpoint(cli)

    (workspace / "busy/edited").write_text("2\n")
    (workspace / "busy/later").write_text("later\n")
    # written anew and back to the same bytes: nothing is to be done about it either
    (workspace / "again").write_text("else\n")
    checkpoint(cli)
    (workspace / "again").write_text("again\n")
    before = tree_state(workspace, identity=True)
    quiet = {name: (workspace / name).stat() for name in ("quiet", "quiet/empty")}

    done = rewind(cli, target)
    after = tree_state(workspace, identity=True)
    assert paths(done["written"]) == {b"busy/edited"}
    assert paths(done["deleted"]) == {b"busy/later"}
    for path in before.keys() - {b"busy/edited", b"busy/later"}:
        assert after[path] == before[path], path
    # not even a temporary file was made where nothing changes
    for name, status in quiet.items():
        assert (workspace / name).stat().st_mtime_ns == status.st_mtime_ns, name

    cli.ok("--json", "undo", "--yes")
    after = tree_state(workspace, identity=True)
    for path in before.keys() - {b"busy/edited", b"busy/later"}:
        assert after[path] == before[path], path


# -- 22


def test_22_undo_and_redo_any_number_of_times(cli: Cli, workspace: Path) -> None:
    """Undo brings back what the rewind replaced, also outside edits made since; redo goes
    forward again; both any number of times, across restarts."""
    file = workspace / "file"
    file.write_text("first\n")
    (workspace / "deleted by the turn").write_text("d\n")
    first, at_first = checkpoint(cli), tree_state(workspace)
    file.write_text("second\n")
    (workspace / "deleted by the turn").unlink()
    (workspace / "made by the turn").mkdir()
    (workspace / "made by the turn" / "x").write_bytes(b"\xff\0")
    second, at_second = checkpoint(cli), tree_state(workspace)
    # by the user's own hand, in no checkpoint
    file.write_text("second, and the user's own line\n")
    (workspace / "user").write_text("u\n")
    (workspace / "user").chmod(0o640)
    outside = tree_state(workspace)

    rewind(cli, second)
    same(at_second, tree_state(workspace))
    rewind(cli, first)
    same(at_first, tree_state(workspace))
    assert_refused(cli.run("--json", "redo", "--yes"))
    for _ in range(3):
        for command, expected in (
            ("undo", at_second),
            ("undo", outside),
            ("redo", at_second),
            ("redo", at_first),
        ):
            cli.ok("--json", command, "--yes")
            same(expected, tree_state(workspace))
        assert_refused(cli.run("--json", "redo", "--yes"))

    cli.ok("--json", "undo", "--yes")
    cli.ok("--json", "undo", "--yes")
    answer = cli.run("--json", "undo", "--yes")
    assert_refused(answer)
    assert "undo" in answer.error["message"]
    same(outside, tree_state(workspace))


def test_22_undo_after_further_turns(cli: Cli, workspace: Path) -> None:
    """... and after further turns: undo goes to the state before the operation, redo to the
    one that the undo replaced. A new rewind ends the redo."""
    file = workspace / "file"
    file.write_text("first\n")
    first = checkpoint(cli)
    file.write_text("edited outside\n")
    before_rewind = tree_state(workspace)
    rewind(cli, first)
    for number in range(2):
        (workspace / f"turn {number}").write_text("work\n")
        file.write_text(f"turn {number}\n")
        checkpoint(cli)
    (workspace / "not in a checkpoint").write_text("n\n")
    after_turns = tree_state(workspace)

    cli.ok("--json", "undo", "--yes")
    same(before_rewind, tree_state(workspace))
    cli.ok("--json", "redo", "--yes")
    same(after_turns, tree_state(workspace))
    cli.ok("--json", "undo", "--yes")
    same(before_rewind, tree_state(workspace))

    file.write_text("third\n")
    checkpoint(cli)  # a capture does not end the redo
    cli.ok("--json", "redo", "--yes")
    same(after_turns, tree_state(workspace))
    cli.ok("--json", "undo", "--yes")
    rewind(cli, first)  # a new rewind does
    assert_refused(cli.run("--json", "redo", "--yes"))


# -- 23


def test_23_later_checkpoints_survive_a_rewind(cli: Cli, workspace: Path) -> None:
    """Later checkpoints survive a rewind and can be gone to."""
    moments = []
    for number in range(4):
        (workspace / "file").write_text(f"{number}\n")
        (workspace / f"only {number}").write_text("x\n")
        if number:
            (workspace / f"only {number - 1}").unlink()
        moments.append((checkpoint(cli), tree_state(workspace)))
    rewind(cli, moments[0][0])
    (workspace / "another way").write_text("from the first\n")
    moments.append((checkpoint(cli), tree_state(workspace)))

    listed = {line["id"] for line in cli.ok("--json", "log").json_lines}
    assert {target for target, _ in moments} <= listed
    for target, then in (*moments[1:], *moments):
        rewind(cli, target)
        same(then, tree_state(workspace))


# -- 24


def test_24_rewinding_to_the_present_state_does_nothing(cli: Cli, workspace: Path) -> None:
    """Rewinding to the present state does nothing and says so."""
    (workspace / "file").write_text("1\n")
    (workspace / "directory").mkdir()
    target = checkpoint(cli)
    for _ in range(2):
        before = tree_state(workspace, identity=True)
        done = rewind(cli, target)
        same(before, tree_state(workspace, identity=True))
        assert done["operation"] is None
        assert done["undo"] is None
        assert done["written"] == done["deleted"] == done["left_alone"] == []
    said = cli.ok("rewind", target, "--yes")
    assert "nothing" in (said.stdout + said.stderr).lower()
    # it is no step that undo would have to walk back over
    assert_refused(cli.run("--json", "undo", "--yes"))


# -- 25


def test_25_what_was_there_before_is_never_deleted(cli: Cli, workspace: Path) -> None:
    """A file created before the session and never touched is never deleted, tracked or not."""
    (workspace / ".gitignore").write_text("*.local\ndata/\n")
    for name in ("tracked", "untracked", "settings.local", "big.local", "data/set", "data/x/y"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(f"{name}\n")
    (workspace / "big.local").write_bytes(noise(BIG))
    (workspace / "empty directory").mkdir()
    git(workspace, "add", "tracked", ".gitignore")
    git(workspace, "commit", "--quiet", "-m", "first")
    theirs = tree_state(workspace, identity=True)

    first = checkpoint(cli)
    # The turn stops git from ignoring them: to the next capture they look like new files.
    (workspace / ".gitignore").unlink()
    (workspace / "made by the turn").write_text("m\n")
    checkpoint(cli)
    answer = cli.run("--json", "rewind", first, "--yes")
    assert answer.status in (0, 3), str(answer)
    assert paths(answer.json["deleted"]) == {b"made by the turn"}
    now = tree_state(workspace, identity=True)
    assert now.keys() == theirs.keys()
    for path in theirs.keys() - {b".gitignore"}:
        assert now[path] == theirs[path], path
    assert now[b".gitignore"].content == b"*.local\ndata/\n"

    # The same with the ignore rule taken away only after the checkpoint of the turn.
    (workspace / "made by the turn").write_text("m\n")
    second = checkpoint(cli)
    (workspace / ".gitignore").write_text("")
    for target in (second, first):
        answer = cli.run("--json", "rewind", target, "--yes")
        assert answer.status in (0, 3), str(answer)
        now = tree_state(workspace, identity=True)
        for path in theirs.keys() - {b".gitignore"}:
            assert now[path] == theirs[path], path


# -- 26


def _directory_that_was_a_file(root: Path) -> Callable[[], None]:
    (root / ".gitignore").write_text("*.db\n")
    (root / "place").write_text("a file then\n")

    def later() -> None:
        (root / "place").unlink()
        (root / "place" / "inner").mkdir(parents=True)
        (root / "place" / "small.db").write_bytes(noise(2000))
        (root / "place" / "inner" / "large.db").write_bytes(noise(BIG))
        (root / "place" / "inner" / "ordinary").write_text("o\n")

    return later


def _ignored_directory_that_was_a_file(root: Path) -> Callable[[], None]:
    (root / "build").write_text("a file then\n")

    def later() -> None:
        (root / "build").unlink()
        (root / ".gitignore").write_text("build/\n")
        (root / "build" / "a" / "b").mkdir(parents=True)
        (root / "build" / "a" / "b" / "large").write_bytes(noise(BIG))
        (root / "build" / "a" / "private").write_text("p\n")
        (root / "build" / "a" / "private").chmod(0o600)
        (root / "build" / "link").symlink_to("a/b")
        (root / "build" / "empty").mkdir(mode=0o700)
        (root / os.fsdecode(b"build/\xff\n")).write_text("odd\n")

    return later


def _ignored_file_that_was_a_directory(root: Path) -> Callable[[], None]:
    (root / "place").mkdir()
    (root / "place" / "inner").write_text("i\n")

    def later() -> None:
        (root / "place" / "inner").unlink()
        (root / "place").rmdir()
        (root / ".gitignore").write_text("/place\n")
        (root / "place").write_bytes(noise(BIG))

    return later


def _ignored_file_in_the_way(root: Path) -> Callable[[], None]:
    (root / "output").write_text("held then\n")

    def later() -> None:
        (root / ".gitignore").write_text("output\n")
        (root / "output").write_bytes(noise(BIG))
        (root / "output").chmod(0o640)

    return later


def _small_ignored_file_in_the_way(root: Path) -> Callable[[], None]:
    (root / "output").write_text("held then\n")

    def later() -> None:
        (root / ".gitignore").write_text("output\n")
        (root / "output").write_text("ignored now\n")

    return later


def _ignored_link_in_the_way(root: Path) -> Callable[[], None]:
    (root / "output").mkdir()
    (root / "output" / "inner").write_text("held then\n")

    def later() -> None:
        (root / ".gitignore").write_text("output\n")
        (root / "output" / "inner").unlink()
        (root / "output").rmdir()
        (root / "output").symlink_to("/nowhere")

    return later


@pytest.mark.parametrize(
    "scene",
    [
        _directory_that_was_a_file,
        _ignored_directory_that_was_a_file,
        _ignored_file_that_was_a_directory,
        _ignored_file_in_the_way,
        _small_ignored_file_in_the_way,
        _ignored_link_in_the_way,
    ],
    ids=lambda scene: scene.__name__.strip("_"),
)
def test_26_ignored_data_in_the_way_is_saved_first(
    cli: Cli, workspace: Path, scene: Callable[[Path], Callable[[], None]]
) -> None:
    """Ignored data is never lost: a directory that was a file, a file that was a directory, an
    ignored file in the way are saved in the undo snapshot first, and undo brings them back."""
    (workspace / "other").write_text("other\n")
    later = scene(workspace)
    target, then = checkpoint(cli), tree_state(workspace)
    if scene in (_ignored_file_in_the_way, _small_ignored_file_in_the_way):
        (workspace / "output").unlink()  # what was held stays held: a new one is not
        checkpoint(cli)
    later()
    now = tree_state(workspace)
    assert plan(cli, target)["saved"], "the plan names what no snapshot holds"
    same(now, tree_state(workspace))

    for _ in range(2):
        rewind(cli, target)
        same(then, tree_state(workspace))
        cli.ok("--json", "undo", "--yes")
        same(now, tree_state(workspace))
    cli.ok("--json", "redo", "--yes")
    same(then, tree_state(workspace))
    cli.ok("--json", "undo", "--yes")
    same(now, tree_state(workspace))


def test_26_a_changed_gitignore_loses_nothing(cli: Cli, workspace: Path) -> None:
    """A changed ``.gitignore`` in the target: what only the later rules ignore is neither
    deleted nor overwritten when the rules go."""
    (workspace / "code").write_text("1\n")
    target = checkpoint(cli)
    (workspace / ".gitignore").write_text("cache/\n*.log\n*.bin\n")
    (workspace / "cache" / "deep").mkdir(parents=True)
    (workspace / "cache" / "deep" / "entry").write_text("costly\n")
    (workspace / "run.log").write_text("log\n")
    (workspace / "model.bin").write_bytes(noise(BIG))
    (workspace / "code").write_text("2\n")
    now = tree_state(workspace, identity=True)
    answer = cli.run("--json", "rewind", target, "--yes")
    assert answer.status in (0, 3), str(answer)
    after = tree_state(workspace, identity=True)
    assert after.keys() == now.keys() - {b".gitignore"}
    for path in after.keys() - {b"code"}:
        assert after[path] == now[path], path
    assert after[b"code"].content == b"1\n"

    # They are ordinary files now. Going on from here and back once more loses nothing either.
    later = checkpoint(cli)
    (workspace / "cache" / "deep" / "entry").write_text("changed\n")
    changed = tree_state(workspace)
    answer = cli.run("--json", "rewind", target, "--yes")
    assert answer.status in (0, 3), str(answer)
    cli.ok("--json", "undo", "--yes")
    same(changed, tree_state(workspace))
    rewind(cli, later)
    assert (workspace / "cache" / "deep" / "entry").read_text() == "costly\n"


def test_26_ignored_files_come_back_when_asked(cli: Cli, workspace: Path) -> None:
    """A small ignored file that differs is named and left, restored with ``--ignored`` or by
    its path, and undo brings back the one that it replaced."""
    (workspace / ".gitignore").write_text(".env\n*.db\n")
    (workspace / ".env").write_text("KEY=1\n")
    (workspace / "gone.db").write_text("rows\n")
    target, then = checkpoint(cli), tree_state(workspace)
    (workspace / ".env").write_text("KEY=2\n")
    (workspace / "gone.db").unlink()
    (workspace / "new.db").write_text("new rows\n")
    now = tree_state(workspace)

    assert {b".env", b"gone.db"} <= paths(plan(cli, target)["left_alone"])
    answer = cli.run("--json", "rewind", target, "--yes")
    assert answer.status in (0, 3), str(answer)
    same(now, tree_state(workspace))

    answer = cli.run("--json", "rewind", target, "--yes", "--ignored")
    assert answer.status in (0, 3), str(answer)
    after = tree_state(workspace)
    for path in then:
        assert after[path] == then[path], path
    cli.ok("--json", "undo", "--yes")
    same(now, tree_state(workspace))

    rewind(cli, target, "--", ".env")
    assert (workspace / ".env").read_text() == "KEY=1\n"
    assert not (workspace / "gone.db").exists()
    cli.ok("--json", "undo", "--yes")
    same(now, tree_state(workspace))


# -- 27


def test_27_a_rewind_limited_to_paths_touches_only_these(cli: Cli, workspace: Path) -> None:
    """A rewind limited to paths touches only these; so does its undo."""
    odd = [b"-n", b":(top)x", b"*", b"a\nb", b"\xff\xfe", b"sub/[a-z]", b"sub2"]
    plain = [b"a.txt", b"deleted", b"sub/one", b"sub/two/three", b"other/one"]
    root = os.fsencode(workspace)

    def fill(text: bytes) -> None:
        for name in (*odd, *plain):
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            Path(os.fsdecode(path)).write_bytes(name + text)

    fill(b" then\n")
    target, then = checkpoint(cli), tree_state(workspace)
    fill(b" now\n")
    (workspace / "deleted").unlink()
    (workspace / "sub" / "later").write_text("l\n")
    (workspace / "later").write_text("l\n")
    now = tree_state(workspace, identity=True)

    below = {b"sub/one", b"sub/two/three", b"sub/[a-z]", b"sub/later"}
    scopes: list[tuple[list[bytes], set[bytes]]] = [
        ([b"a.txt"], {b"a.txt"}),
        ([b"deleted"], {b"deleted"}),
        ([b"later"], {b"later"}),
        ([b"sub"], below),
        ([b"sub/", b"other"], below | {b"other/one"}),
        ([b"sub/two/three", b"./a.txt"], {b"sub/two/three", b"a.txt"}),
        ([b"*"], {b"*"}),
        ([b":(top)x"], {b":(top)x"}),
        (odd, set(odd)),
    ]
    for scope, expected in scopes:
        done = rewind(cli, target, "--", *scope)
        after = tree_state(workspace, identity=True)
        assert paths(done["written"]) | paths(done["deleted"]) == expected, scope
        for path in (now.keys() | then.keys()) - expected:
            assert after.get(path) == now.get(path), (scope, path)
        without_identity = tree_state(workspace)
        for path in expected:
            assert without_identity.get(path) == then.get(path), (scope, path)
        cli.ok("--json", "undo", "--yes")
        now_again = tree_state(workspace, identity=True)
        for path in (now.keys() | then.keys()) - expected:
            assert now_again.get(path) == now.get(path), (scope, path)
        same(_without_identity(now), tree_state(workspace))
        now = now_again


def _without_identity(state: dict[bytes, Entry]) -> dict[bytes, Entry]:
    return {path: entry._replace(inode=0, mtime_ns=0) for path, entry in state.items()}


def test_27_paths_are_taken_from_where_one_stands(cli: Cli, workspace: Path) -> None:
    """Paths are relative to the current directory; edits elsewhere between a limited rewind and
    its undo stay; a path outside the workspace is an error in the call."""
    (workspace / "sub").mkdir()
    for name in ("file", "sub/file", "sub/other"):
        (workspace / name).write_text("then\n")
    target = checkpoint(cli)
    for name in ("file", "sub/file", "sub/other"):
        (workspace / name).write_text("now\n")

    in_sub = Cli(workspace / "sub")
    done = rewind(in_sub, target, "--", "file")
    assert paths(done["written"]) == {b"sub/file"}
    assert (workspace / "file").read_text() == "now\n"
    assert (workspace / "sub/file").read_text() == "then\n"

    (workspace / "file").write_text("edited since\n")
    (workspace / "new since").write_text("n\n")
    in_sub.ok("--json", "undo", "--yes")
    assert (workspace / "sub/file").read_text() == "now\n"
    assert (workspace / "file").read_text() == "edited since\n"
    assert (workspace / "new since").read_text() == "n\n"

    before = tree_state(workspace, identity=True)
    assert in_sub.run("--json", "rewind", target, "--yes", "--", "../..").status == 2
    assert in_sub.run("--json", "rewind", target, "--yes", "--", "/etc/passwd").status == 2
    same(before, tree_state(workspace, identity=True))


# -- 28, as far as it needs no agent


def test_28_the_users_own_edits_are_named_and_come_back(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    """The user's own outside edits since the target are taken back too, each marked in the
    plan; ``--yes`` is enough, since undo brings them back."""
    for name in ("agent edits", "user edits", "user deletes", "both edit", "nobody"):
        (workspace / name).write_text("then\n")
    target, then = checkpoint(cli), tree_state(workspace)
    host = Host(cli, tmp_path)
    (workspace / "user edits").write_text("user\n")  # before the turn, and after it
    made = {"agent edits": b"agent\n", "agent makes": b"agent\n", "both edit": b"agent\n"}
    host.turn("do it", made)
    (workspace / "user deletes").unlink()
    (workspace / "user makes").write_text("user\n")
    (workspace / "both edit").write_text("agent, then user\n")
    now = tree_state(workspace)
    outside = {b"user edits", b"user deletes", b"user makes", b"both edit"}

    planned = plan(cli, target)
    assert paths(planned["outside"]) == outside
    assert planned["refused"] == []
    assert outside <= paths(planned["written"]) | paths(planned["deleted"])
    lines = cli.ok("--dry-run", "rewind", target).stdout.splitlines()
    for path in (*outside, b"agent edits", b"agent makes"):
        [line] = [line for line in lines if path.decode() in line]
        assert ("your own edit" in line) == (path in outside), line
    assert "4 of these are your own edits since then, taken back too" in lines
    same(now, tree_state(workspace))

    rewind(cli, target)
    same(then, tree_state(workspace))
    cli.ok("--json", "undo", "--yes")
    same(now, tree_state(workspace))
