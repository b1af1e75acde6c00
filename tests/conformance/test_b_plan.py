"""B. Rewind: the plan, the question and the refusals (behaviours 21, 29, 35-37)."""

from __future__ import annotations

import os
import pty
import random
import re
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import pytest

from tests.support.cli import Cli
from tests.support.git import git
from tests.support.journey import checkpoint, paths, plan, same
from tests.support.trees import Entry, differences, git_state, tree_state

QUESTION = re.compile(r"\[y/n\]\W*$", re.IGNORECASE)


class Terminal:
    """takeback on a terminal of its own, and a person who reads and types."""

    def __init__(self, cli: Cli, *args: str) -> None:
        self._ours, theirs = pty.openpty()
        self.shown = ""
        self._read = 0
        self._process = subprocess.Popen(
            cli.argv(*args),
            cwd=cli.directory,
            env=cli.environment({"COLUMNS": "200", "LINES": "50"}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait(60)
        os.close(self._ours)

    def question(self) -> str | None:
        """Waits for a question and returns all shown since the last one; None at the end."""
        while not QUESTION.search(self._new()):
            if not self._more():
                return None
        shown, self._read = self._new(), len(self.shown)
        return shown

    def answer(self, text: str) -> None:
        os.write(self._ours, text.encode() + b"\n")
        while text not in self._new() and self._more():
            pass
        # The echo is no part of what is shown next, which may have come with it.
        self._read += len(self._new().partition(text)[0]) + len(text)

    def end(self) -> int:
        """Waits for the end and returns the exit status."""
        while self._more():
            pass
        return self._process.wait(timeout=30)

    def _new(self) -> str:
        return self.shown[self._read :]

    def _more(self) -> bool:
        ready, _, _ = select.select([self._ours], [], [], 30)
        assert ready, f"nothing more on the terminal after:\n{self.shown}"
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux says EIO when the last one on the other side is gone
            return False
        self.shown += data.decode("utf-8", "replace")
        return bool(data)


# -- 21


def _some_turns(cli: Cli, root: Path) -> str:
    """Makes a checkpoint and then one of each kind of change; returns the checkpoint."""
    (root / ".gitignore").write_text("*.log\n")
    for name in ("edited", "deleted", "same", "mode"):
        (root / name).write_text("then\n")
    (root / "a.log").write_text("then\n")
    target = checkpoint(cli)
    (root / "edited").write_text("now\n")
    (root / "deleted").unlink()
    (root / "mode").chmod(0o755)
    (root / "made").mkdir()
    (root / "made" / "file").write_text("now\n")
    (root / os.fsdecode(b"made/\xff")).write_text("now\n")
    (root / "a.log").write_text("now\n")
    return target


def test_21_the_plan_that_was_shown_is_what_is_done(cli: Cli, workspace: Path) -> None:
    """The plan that was shown is what is done; ``--dry-run`` changes nothing."""
    target = _some_turns(cli, workspace)
    before = tree_state(workspace, identity=True)
    repository = git_state(workspace, identity=True)
    planned = plan(cli, target)
    cli.ok("--dry-run", "rewind", target, "--yes")
    same(before, tree_state(workspace, identity=True))
    same(repository, git_state(workspace, identity=True))
    assert paths(planned["written"]) == {b"edited", b"deleted", b"mode"}
    assert paths(planned["deleted"]) == {b"made", b"made/file", b"made/\xff"}
    assert paths(planned["left_alone"]) == {b"a.log"}
    assert plan(cli, target) == planned

    answer = cli.run("--json", "rewind", target, "--yes")
    for part in ("written", "deleted", "left_alone"):
        assert paths(answer.json[part]) == paths(planned[part]), part
    undo = cli.ok("--json", "--dry-run", "undo").json
    assert undo["type"] == "plan"
    after = tree_state(workspace, identity=True)
    same(after, tree_state(workspace, identity=True))
    done = cli.ok("--json", "undo", "--yes").json
    for part in ("written", "deleted"):
        assert paths(done[part]) == paths(undo[part]), part


def test_21_a_terminal_is_asked(cli: Cli, workspace: Path) -> None:
    """A TTY asks: after n nothing has changed, after y it is done."""
    target = _some_turns(cli, workspace)
    before = tree_state(workspace, identity=True)
    with Terminal(cli, "rewind", target) as terminal:
        shown = terminal.question()
        assert shown is not None, terminal.shown
        for name in ("edited", "deleted", "mode", "made/file"):
            assert name in shown, terminal.shown
        same(before, tree_state(workspace, identity=True))
        terminal.answer("n")
        assert terminal.end() != 0, terminal.shown
    same(before, tree_state(workspace, identity=True))
    assert cli.run("--json", "undo", "--yes").status == 13

    with Terminal(cli, "rewind", target) as terminal:
        assert terminal.question() is not None, terminal.shown
        terminal.answer("y")
        assert terminal.end() in (0, 3), terminal.shown
        assert "takeback undo" in terminal.shown
    assert (workspace / "edited").read_text() == "then\n"
    assert (workspace / "deleted").read_text() == "then\n"
    assert not (workspace / "made").exists()

    # nothing typed at all: the end of the input is not a yes
    after = tree_state(workspace, identity=True)
    with Terminal(cli, "undo") as terminal:
        assert terminal.question() is not None, terminal.shown
        terminal.answer("\x04")
        assert terminal.end() != 0, terminal.shown
    same(after, tree_state(workspace, identity=True))
    with Terminal(cli, "undo") as terminal:
        assert terminal.question() is not None, terminal.shown
        terminal.answer("y")
        assert terminal.end() == 0, terminal.shown
    assert differences(before, tree_state(workspace, identity=True)) != []
    assert (workspace / "edited").read_text() == "now\n"


def test_21_without_a_terminal_yes_has_to_be_said(cli: Cli, workspace: Path) -> None:
    """No TTY without ``--yes`` refuses, whatever comes on stdin."""
    target = _some_turns(cli, workspace)
    before = tree_state(workspace, identity=True)
    for stdin in (b"", b"y\n", b"yes\n"):
        answer = cli.run("--json", "rewind", target, stdin=stdin)
        assert answer.status == 13, str(answer)
        assert answer.error["exit"] == 13
        assert "--yes" in answer.error["message"] + answer.error["hint"], str(answer)
        said = cli.run("rewind", target, stdin=stdin)
        assert said.status == 13, str(said)
        assert "--yes" in said.stderr, str(said)
    same(before, tree_state(workspace, identity=True))
    cli.run("--json", "rewind", target, "--yes")
    after = tree_state(workspace, identity=True)
    assert cli.run("--json", "undo", stdin=b"y\n").status == 13
    same(after, tree_state(workspace, identity=True))


# -- 29


def test_29_an_edit_after_the_plan_was_shown_is_not_overwritten(cli: Cli, workspace: Path) -> None:
    """An edit made between the plan and the apply is not overwritten: yes to the old plan is
    not a yes to the new one."""
    for name in ("file", "other", "same"):
        (workspace / name).write_text("then\n")
    target = checkpoint(cli)

    def edit_a_planned_path() -> None:
        (workspace / "file").write_text("precious\n")

    def edit_a_path_that_was_not_planned() -> None:
        (workspace / "same").write_text("precious\n")

    def make_a_new_file() -> None:
        (workspace / "new").write_text("precious\n")

    def delete_a_planned_path() -> None:
        (workspace / "file").unlink()

    for edit in (
        edit_a_planned_path,
        edit_a_path_that_was_not_planned,
        make_a_new_file,
        delete_a_planned_path,
    ):
        for name in ("file", "other"):
            (workspace / name).write_text("now\n")
        (workspace / "same").write_text("then\n")
        (workspace / "new").unlink(missing_ok=True)
        with Terminal(cli, "rewind", target) as terminal:
            assert terminal.question() is not None, terminal.shown
            edit()
            edited = tree_state(workspace, identity=True)
            terminal.answer("y")
            again = terminal.question()
            if again is not None:  # the new plan, and a new question
                same(edited, tree_state(workspace, identity=True))
                terminal.answer("n")
            assert terminal.end() != 0, terminal.shown
        same(edited, tree_state(workspace, identity=True))

        with Terminal(cli, "rewind", target) as terminal:
            assert terminal.question() is not None, terminal.shown
            terminal.answer("y")
            assert terminal.end() == 0, terminal.shown
        assert (workspace / "file").read_text() == "then\n"
        cli.ok("--json", "undo", "--yes")
        same(_without_identity(edited), tree_state(workspace))


def _without_identity(state: dict[bytes, Entry]) -> dict[bytes, Entry]:
    return {path: entry._replace(inode=0, mtime_ns=0) for path, entry in state.items()}


def test_29_an_edit_while_the_rewind_runs_is_not_lost(cli: Cli, workspace: Path) -> None:
    """With ``--yes``: an edit that comes at any moment of the run is on the disk afterwards, or
    undo brings it back."""
    files = [workspace / f"file {number:03}" for number in range(150)]
    for file in files:
        file.write_text(f"{file.name} then\n")
    target = checkpoint(cli)
    chance = random.Random(29)
    duration = 0.0
    for turn in range(7):
        for file in files:
            file.write_text(f"{file.name} now {turn}\n")
        started = time.monotonic()
        with cli.start("--json", "rewind", target, "--yes") as process:
            edited = chance.sample(files, 12) if turn else []
            for number, file in enumerate(edited):
                time.sleep(chance.uniform(0, duration / 6))
                replacement = workspace.parent / "replacement"
                replacement.write_text(f"precious {turn} {number}\n")
                replacement.replace(file)
            _, said = process.communicate(timeout=60)
        if not turn:
            duration = time.monotonic() - started
        assert process.returncode in (0, 3, 13), said.decode()
        after = {file: file.read_text() for file in files}
        undone = cli.run("--json", "undo", "--yes")
        assert undone.status in ((0, 3) if process.returncode != 13 else (0, 3, 13)), str(undone)
        for number, file in enumerate(edited):
            edit = f"precious {turn} {number}\n"
            assert edit in (after[file], file.read_text()), file
        for file in set(files) - set(edited):
            assert after[file] in (f"{file.name} then\n", f"{file.name} now {turn}\n"), file


# -- 35


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "no git"])
def test_35_a_target_with_no_files_at_all(cli: Cli, workspace: Path, with_git: bool) -> None:
    """A target with no files at all works, and asks, since it deletes everything."""
    if not with_git:
        workspace = workspace.parent / "plain"
        workspace.mkdir()
        cli = Cli(workspace)
    target = checkpoint(cli)
    assert cli.ok("--json", "checkpoint").json["files"] == 0
    (workspace / "one").write_text("1\n")
    (workspace / "directory" / "inner").mkdir(parents=True)
    (workspace / "directory" / "two").write_text("2\n")
    (workspace / "link").symlink_to("one")
    before = tree_state(workspace, identity=True)

    [refusal] = plan(cli, target)["refused"]
    assert refusal["code"] == "mass_delete"
    assert refusal["flag"] == "--allow-mass-delete"
    answer = cli.run("--json", "rewind", target, "--yes")
    assert answer.status == 13, str(answer)
    assert "--allow-mass-delete" in answer.error["hint"], str(answer)
    same(before, tree_state(workspace, identity=True))

    done = cli.ok("--json", "rewind", target, "--yes", "--allow-mass-delete").json
    assert tree_state(workspace) == {}
    assert workspace.is_dir()
    assert done["verified"] is True
    cli.ok("--json", "undo", "--yes")
    same(_without_identity(before), tree_state(workspace))
    cli.ok("--json", "redo", "--yes", "--allow-mass-delete")
    assert tree_state(workspace) == {}
    cli.ok("--json", "undo", "--yes")
    same(_without_identity(before), tree_state(workspace))


# -- 36


@pytest.mark.parametrize(
    ("kept", "deleted", "asks"),
    [
        (10, 30, True),
        (20, 21, True),
        (21, 21, False),  # half is not more than half
        (1, 20, False),  # only a few
        (100, 90, False),
        (0, 3, True),  # all of them, however few
    ],
)
def test_36_more_than_half_of_the_files_needs_an_explicit_yes(
    cli: Cli, workspace: Path, kept: int, deleted: int, asks: bool
) -> None:
    """More than half of the files to be deleted needs an explicit yes: ``--yes`` alone is not
    enough."""
    (workspace / "files").mkdir()
    for number in range(kept):
        (workspace / "files" / f"kept {number}").write_text("k\n")
    target, then = checkpoint(cli), tree_state(workspace)
    for number in range(deleted):
        (workspace / "files" / f"later {number}").write_text("l\n")
    now = tree_state(workspace)

    codes = [refusal["code"] for refusal in plan(cli, target)["refused"]]
    assert codes == (["mass_delete"] if asks else [])
    if asks:
        answer = cli.run("--json", "rewind", target, "--yes")
        assert answer.status == 13, str(answer)
        assert str(deleted) in answer.error["message"], str(answer)
        assert "--allow-mass-delete" in answer.error["hint"], str(answer)
        same(now, tree_state(workspace))
        cli.ok("--json", "rewind", target, "--yes", "--allow-mass-delete")
        same(then, tree_state(workspace))
        cli.ok("--json", "undo", "--yes")
        same(now, tree_state(workspace))
        cli.ok("--json", "rewind", target, "--yes", "--force")
    else:
        cli.ok("--json", "rewind", target, "--yes")
    same(then, tree_state(workspace))


# -- 37


def _merge(root: Path) -> None:
    _stopped(root, "merge", "theirs")


def _rebase(root: Path) -> None:
    _stopped(root, "rebase", "theirs")


def _cherry_pick(root: Path) -> None:
    _stopped(root, "cherry-pick", "theirs")


def _revert(root: Path) -> None:
    (root / "file").write_text("later still\n")
    git(root, "commit", "--quiet", "-am", "later")
    _stopped(root, "revert", "--no-edit", "HEAD~1")


def _stopped(root: Path, *args: str) -> None:
    """Runs git, which has to stop at a conflict."""
    with pytest.raises(AssertionError, match="ended with 1"):
        git(root, *args)


@pytest.mark.parametrize(
    ("start", "word"),
    [(_merge, "merge"), (_rebase, "rebase"), (_cherry_pick, "cherry-pick"), (_revert, "revert")],
    ids=["merge", "rebase", "cherry-pick", "revert"],
)
def test_37_an_operation_of_git_in_progress_refuses(
    cli: Cli, workspace: Path, start: Callable[[Path], None], word: str
) -> None:
    """A merge, rebase or cherry-pick in progress: refused with the reason and the overriding
    flag; with it the files go back and ``.git`` stays as it is, byte for byte."""
    file = workspace / "file"
    file.write_text("base\n")
    (workspace / "plain").write_text("1\n")
    git(workspace, "add", "--all")
    git(workspace, "commit", "--quiet", "-m", "base")
    git(workspace, "checkout", "--quiet", "-b", "theirs")
    file.write_text("theirs\n")
    git(workspace, "commit", "--quiet", "-am", "theirs")
    git(workspace, "checkout", "--quiet", "main")
    file.write_text("ours\n")
    git(workspace, "commit", "--quiet", "-am", "ours")
    earlier, at_earlier = checkpoint(cli), tree_state(workspace)

    start(workspace)
    assert b"<<<<<<<" in file.read_bytes()
    during, at_during = checkpoint(cli), tree_state(workspace)
    file.write_text("half resolved\n")
    (workspace / "plain").write_text("2\n")
    (workspace / "new").write_text("n\n")
    git(workspace, "add", "new")
    now, repository = tree_state(workspace), git_state(workspace)

    [refusal] = plan(cli, during)["refused"]
    assert refusal["code"] == "during_git"
    assert refusal["flag"] == "--during-git"
    assert word in refusal["message"]
    answer = cli.run("--json", "rewind", during, "--yes")
    assert answer.status == 13, str(answer)
    assert word in answer.error["message"], str(answer)
    assert "--during-git" in answer.error["hint"], str(answer)
    assert cli.run("--json", "rewind", earlier, "--yes").status == 13
    same(now, tree_state(workspace))

    done = cli.ok("--json", "rewind", during, "--yes", "--during-git").json
    assert done["verified"] is True
    same(at_during, tree_state(workspace))
    same(repository, git_state(workspace))
    assert cli.run("--json", "undo", "--yes").status == 13
    cli.ok("--json", "undo", "--yes", "--during-git")
    same(now, tree_state(workspace))
    # a rebase has no branch checked out, which is a reason of its own
    flags = ["--during-git", "--other-branch"] if word == "rebase" else ["--during-git"]
    cli.ok("--json", "rewind", earlier, "--yes", *flags)
    same(at_earlier, tree_state(workspace))
    cli.ok("--json", "undo", "--yes", "--force")
    same(now, tree_state(workspace))
    same(repository, git_state(workspace))

    # git itself finds everything in place, once it has looked at the new inodes
    git(workspace, "status")
    git(workspace, word, "--abort")
    cli.ok("--json", "rewind", earlier, "--yes")
