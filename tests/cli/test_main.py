"""The group: options before and after the verb, lazy commands, errors and exit statuses."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from takeback._version import __version__
from takeback.cli.main import COMMANDS
from takeback.store.lock import Lock
from tests.cli.conftest import NOW, Story
from tests.support.cli import Cli


def test_bare_takeback_is_status(story: Story) -> None:
    bare, status = story.cli.ok(), story.cli.ok("status")
    assert bare.stdout == status.stdout
    assert story.cli.ok("--json").json["type"] == "status"


@pytest.mark.parametrize("args", [("--version",), ("log", "--version"), ("--version", "log")])
def test_version(cli: Cli, args: tuple[str, ...]) -> None:
    assert cli.ok(*args).stdout == f"takeback {__version__}\n"
    assert cli.ok(*args, "--json").json == {"type": "version", "v": 1, "version": __version__}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(cli: Cli, command: str) -> None:
    answer = cli.ok(command, "-h" if command == "log" else "--help")
    assert answer.stdout.startswith(f"Usage: takeback {command}")
    assert "Options of every command" in answer.stdout


def test_the_help_names_every_command(cli: Cli) -> None:
    text = cli.ok("--help").stdout
    assert [line.split()[0] for line in text.split("Commands:\n")[1].splitlines()] == [*COMMANDS]
    assert "..." not in text.split("Commands:\n")[1]


def test_options_stand_before_or_after_the_verb(story: Story, tmp_path: Path) -> None:
    outside = Cli(tmp_path)
    where = str(story.workspace)
    answers = [
        outside.ok("-C", where, "--json", "log"),
        outside.ok("log", "-C", where, "--json"),
        outside.ok("--json", "log", "-C", where),
        outside.ok("--json", "-q", "-v", "--color", "never", "-y", "log", "-C", where, "--dry-run"),
    ]
    assert len({answer.stdout for answer in answers}) == 1
    assert [line["id"] for line in answers[0].json_lines] == [story.second, story.first]


def test_yes_and_dry_run_before_the_verb(story: Story) -> None:
    assert story.cli.ok("--dry-run", "--json", "rewind", "start").json["type"] == "plan"
    assert story.files() == NOW
    assert story.cli.ok("--yes", "--json", "rewind", "start").json["type"] == "rewind"
    assert story.files() == {"a": "a\n", "b": "b\n"}


def test_paths_are_meant_from_the_directory_of_the_option(story: Story, tmp_path: Path) -> None:
    (story.workspace / "sub").mkdir()
    (story.workspace / "sub" / "x").write_text("1\n")
    story.cli.ok("checkpoint")
    outside = Cli(tmp_path)
    assert outside.ok("-C", str(story.workspace / "sub"), "cat", "@", "x").stdout == "1\n"
    assert outside.ok("-C", str(story.workspace / "sub"), "cat", "@", "../a").stdout == "changed\n"


@pytest.mark.parametrize("args", [("--version",), ("status",), ("log",), ("checkpoint",)])
def test_a_call_imports_only_its_own_command(story: Story, args: tuple[str, ...]) -> None:
    script = (
        "import sys\n"
        "from takeback.cli.main import run\n"
        f"assert run({args!r}) == 0\n"
        "print(*sorted(m for m in sys.modules"
        " if m.startswith('takeback.cli.commands.') or m in ('rich', 'json')), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=story.workspace, capture_output=True, check=True
    )
    own = [f"takeback.cli.commands.{COMMANDS[name]}" for name in args if name in COMMANDS]
    assert done.stderr.decode().split() == own


def test_the_version_is_said_without_what_lists_and_the_status_say(workspace: Path) -> None:
    words = [sys.executable, "-I", "-X", "importtime", "-m", "takeback", "--version"]
    done = subprocess.run(words, cwd=workspace, capture_output=True, check=True, text=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "takeback.cli.plain_words" in imported
    assert not {"takeback.cli.earlier", "takeback.words.outcomes", "takeback.app"} & imported


# -- errors: the status, one JSON object on stderr, nothing on stdout

ERRORS = [
    (("nonsense",), 2, "usage"),
    (("rewind", "--nonsense"), 2, "usage"),
    (("rewind", "start", "b", "--yes"), 2, "usage"),
    (("cat", "start"), 2, "usage"),
    (("rewind", "start", "--yes", "--", "../outside"), 2, "usage"),
    (("cat", "start", "a", "--conversation"), 2, "usage"),
    (("rewind", "start", "--yes", "--files", "--both"), 2, "usage"),
    (("rewind", "start", "--yes", "--both", "--", "a"), 2, "usage"),
    (("rewind", "start", "--yes", "--keep-others", "--overwrite-others"), 2, "usage"),
    (("fork", "start", "--files", "--worktree", "new"), 2, "usage"),
    (("--color", "blue", "log"), 2, "usage"),
    (("log", "-n", "-3"), 2, "usage"),
    (("config", "nonsense"), 2, "usage"),
    (("config", "lock_wait_seconds", "soon"), 2, "usage"),
    (("label", "start", "@"), 2, "usage"),
    (("checkpoint", "-m", "start"), 2, "usage"),
    (("checkpoint", "--dry-run"), 2, "usage"),
    (("label", "start", "x", "--dry-run"), 2, "usage"),
    (("doctor", "--dry-run"), 2, "usage"),
    (("completion", "tcsh"), 2, "usage"),
    (("rewind", "start", "--yes", "--", ""), 2, "usage"),
    (("show", "nonsense"), 12, "no_such_checkpoint"),
    (("diff", "nonsense"), 12, "no_such_checkpoint"),
    (("diff", "start", "nonsense"), 12, "no_such_checkpoint"),
    (("cat", "nonsense", "a"), 12, "no_such_checkpoint"),
    (("rewind", "nonsense"), 12, "no_such_checkpoint"),
    (("rewind", "nonsense", "--yes"), 12, "no_such_checkpoint"),
    (("label", "@~99", "x"), 12, "no_such_checkpoint"),
    (("cat", "start", "../outside"), 12, "no_such_checkpoint"),
    (("log", "--session", "nobody"), 12, "no_such_checkpoint"),
    (("show", "--session", "nobody"), 12, "no_such_checkpoint"),
    (("show", "nobody/@"), 12, "no_such_checkpoint"),
    (("rewind", "turn:1", "--yes"), 12, "no_such_checkpoint"),
    (("rewind", "start"), 13, "refused"),
    (("rewind", "start", "--yes", "--conversation"), 13, "refused"),
    (("fork", "start"), 13, "refused"),
    (("undo",), 13, "refused"),
    (("undo", "--yes"), 13, "refused"),
    (("redo", "--yes"), 13, "refused"),
    (("purge", "a"), 13, "refused"),
    (("purge", "a", "--confirm", "b"), 13, "refused"),
    (("purge", "nowhere", "--confirm", "nowhere"), 12, "no_such_checkpoint"),
    (("purge", ".", "--confirm", "."), 2, "usage"),
    (("forget", "."), 13, "refused"),
    (("forget", ".", "--yes"), 13, "refused"),
    (("forget", ".", "--yes", "--name", "wrong"), 13, "refused"),
    (("-C", "missing", "log"), 10, "not_a_workspace"),
    (("forget", "missing", "--yes", "--name", "missing"), 10, "not_a_workspace"),
    (("doctor", "--adopt", "missing"), 2, "usage"),
]


@pytest.mark.parametrize("status", sorted({status for _, status, _ in ERRORS}))
def test_errors(story: Story, status: int) -> None:
    for args, expected, code in ERRORS:
        if expected == status:
            check_error(story, args, status, code)
    assert story.files() == NOW


def check_error(story: Story, args: tuple[str, ...], status: int, code: str) -> None:
    answer = story.cli.run("--json", *args)
    assert (answer.status, answer.stdout) == (status, ""), str(answer)
    assert len(answer.stderr.splitlines()) == 1, str(answer)
    error = answer.error
    assert (error["type"], error["v"], error["code"], error["exit"]) == ("error", 1, code, status)
    assert error["message"]
    assert not error["message"].endswith(".")
    human = story.cli.run(*args)
    assert (human.status, human.stdout) == (status, ""), str(human)
    hint = f"Hint: {error['hint']}\n" if error["hint"] else ""
    assert _ageless(human.stderr) == _ageless(f"Error: {error['message']}\n{hint}")


def _ageless(text: str) -> str:
    """Returns a text without how long ago something was: the two calls are not of one moment."""
    return re.sub(r"\b(now|\d+[smh] ago)", "then", text)


READING = [
    ("log",),
    ("log", "--operations"),
    ("sessions",),
    ("tree",),
    ("search", "x"),
    ("show",),
    ("diff", "@"),
    ("cat", "@", "a"),
    ("rewind", "@", "--yes"),
    ("undo", "--yes"),
    ("redo", "--yes"),
    ("fork", "@"),
    ("label", "@", "x"),
    ("verify",),
    ("purge", "a", "--confirm", "a"),
    ("forget", ".", "--yes", "--name", "workspace"),
]


@pytest.mark.parametrize("args", READING, ids=lambda value: " ".join(value))
def test_without_a_store_there_is_no_workspace(
    cli: Cli, tmp_path: Path, args: tuple[str, ...]
) -> None:
    answer = cli.run("--json", *args)
    assert (answer.status, answer.error["code"]) == (10, "not_a_workspace"), str(answer)
    assert answer.error["hint"].startswith("connect your agents: takeback init; or ")
    assert not (tmp_path / "takeback").exists(), "a command that reads has made a store"


def test_a_slip_of_the_finger_gets_a_hint(cli: Cli) -> None:
    assert cli.run("--json", "lgo").error["hint"] == "did you mean: takeback log"


def test_locked_says_by_whom(story: Story) -> None:
    story.cli.ok("config", "lock_wait_seconds", "0")
    lock = Lock(os.path.join(story.cli.ok("--json", "status").json["store"], "lock"))
    lock.acquire("a test", wait=0)
    try:
        for words in (("checkpoint",), ("rewind", "start", "--yes"), ("diff", "start")):
            answer = story.cli.run("--json", *words)
            assert (answer.status, answer.error["code"]) == (11, "locked"), str(answer)
            assert "a test" in answer.error["message"]
    finally:
        lock.release()
    story.cli.ok("checkpoint")


def test_git_is_missing(cli: Cli, workspace: Path) -> None:
    answer = cli.run("--json", "checkpoint", env={"PATH": str(workspace)})
    assert (answer.status, answer.error["code"]) == (20, "git_unusable"), str(answer)


def test_doctor_says_that_git_is_missing(story: Story) -> None:
    answer = story.cli.run("--json", "doctor", env={"PATH": str(story.workspace)})
    assert answer.status == 1, str(answer)
    broken = [line for line in answer.json_lines if line["state"] == "broken"]
    assert [line["about"] for line in broken] == ["git"]


def broken_takeback(*args: str, raises: str) -> list[str]:
    """Returns a call in whose middle an exception is raised."""
    script = (
        "import sys, takeback.app.engine\n"
        f"def fail(*a, **k): raise {raises}\n"
        "takeback.app.engine.Engine.status = fail\n"
        "from takeback.cli.main import run\n"
        f"sys.exit(run({list(args)!r}))\n"
    )
    return [sys.executable, "-c", script]


def test_a_bug_is_one_line(story: Story) -> None:
    argv = broken_takeback("status", raises="ValueError('two\\nlines')")
    done = subprocess.run(argv, cwd=story.workspace, capture_output=True, check=False)
    assert done.returncode == 70
    kept = Path(os.environ["TAKEBACK_HOME"], "bugs.log")
    assert done.stderr.decode() == (
        "Error: This is a bug in takeback: ValueError: two lines\n"
        f"Hint: report it, with what stands last in {kept}\n"
    )
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    told = kept.read_text()
    assert told.startswith(time.strftime("%Y-"))
    assert "ValueError: two\nlines\n" in told
    assert "in fail" in told


def test_a_bug_whose_place_cannot_be_kept_is_one_line_too(story: Story) -> None:
    Path(os.environ["TAKEBACK_HOME"], "bugs.log").mkdir()
    argv = broken_takeback("status", raises="ValueError('x')")
    done = subprocess.run(argv, cwd=story.workspace, capture_output=True, check=False)
    assert done.returncode == 70
    assert done.stderr.decode() == (
        "Error: This is a bug in takeback: ValueError: x\n"
        "Hint: run it again with -v and report what it prints\n"
    )


def test_what_is_kept_of_bugs_is_bounded(story: Story) -> None:
    kept = Path(os.environ["TAKEBACK_HOME"], "bugs.log")
    kept.write_bytes(b"x" * 100 + b"\n" + b"y" * (1 << 18) + b"\n")
    argv = broken_takeback("status", raises="ValueError('x')")
    subprocess.run(argv, cwd=story.workspace, capture_output=True, check=False)
    assert kept.stat().st_size < 1 << 18
    assert kept.read_text().rstrip().endswith("ValueError: x")


@pytest.mark.parametrize(("words", "status"), [(("status",), 70), (("hook", "claude"), 0)])
def test_not_even_a_broken_installation_shows_a_traceback(
    story: Story, words: tuple[str, ...], status: int
) -> None:
    gone = "import sys\nsys.modules['takeback.cli'] = sys.modules['takeback.hook'] = None\n"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{gone}from takeback.__main__ import main; main()", *words],
        cwd=story.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    first, *rest = done.stderr.splitlines()
    assert first.startswith("Error: This is a bug in takeback: ModuleNotFoundError: ")
    assert [line.partition(" ")[0] for line in rest] == ["Hint:"]
    assert done.stdout == ""


def test_a_bug_has_a_traceback_when_asked_for(story: Story) -> None:
    argv = broken_takeback("status", "-v", raises="ValueError('x')")
    done = subprocess.run(argv, cwd=story.workspace, capture_output=True, check=False)
    assert done.returncode == 70
    assert b"Traceback" in done.stderr


def test_a_bug_in_json(story: Story) -> None:
    argv = broken_takeback("status", "--json", raises="ValueError('x')")
    done = subprocess.run(argv, cwd=story.workspace, capture_output=True, check=False)
    assert done.returncode == 70
    assert json.loads(done.stderr)["code"] == "bug"


def test_interrupted(story: Story) -> None:
    argv = broken_takeback("status", "--json", raises="KeyboardInterrupt")
    done = subprocess.run(argv, cwd=story.workspace, capture_output=True, check=False)
    assert done.returncode == 130
    error = json.loads(done.stderr)
    assert (error["code"], error["exit"]) == ("interrupted", 130)


def test_a_closed_pipe_ends_quietly(story: Story) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            story.cli.argv("log"),
            cwd=story.workspace,
            stdout=pipe,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize(
    "args", [("log",), ("--version",), ("cat", "@", "a"), ("diff", "@~1", "@")]
)
def test_an_answer_that_cannot_be_written_is_no_success(
    story: Story, args: tuple[str, ...]
) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            story.cli.argv(*args),
            cwd=story.workspace,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"Error: the answer could not be written: No space left")


def test_closed_streams_do_no_harm(story: Story) -> None:
    command = f"exec {sys.executable} -m takeback status >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], cwd=story.workspace, check=False).returncode == 0


def test_an_ascii_locale_does_no_harm(story: Story) -> None:
    env = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    assert story.cli.ok("status", env=env).stdout.endswith("\n")


def test_a_current_directory_that_is_gone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    command = f"cd gone && rmdir ../gone && exec {sys.executable} -m takeback status"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 10
    assert b"cannot work in the current directory" in done.stderr
