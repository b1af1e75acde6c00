"""Plain words: understood without the parser, and answered to the byte as with it."""

from __future__ import annotations

import inspect
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from takeback.cli.call import COMPLETE, Call
from takeback.cli.main import COMMANDS, takeback
from takeback.cli.plain_words import (
    DIRECTORY,
    FLAGS,
    GLOBAL_FLAGS,
    NUMBERS,
    _body,
    answered,
    understood,
)
from tests.cli.conftest import Story
from tests.support.called import called
from tests.support.cli import Cli

PLAIN = [
    "",
    "--json",
    "-q",
    "-v",
    "--no-pager",
    "-C sub",
    "-C sub --json",
    "status",
    "status --json",
    "--json status",
    "status -q",
    "status --quiet",
    "status -v",
    "status --verbose",
    "status --no-pager",
    "-C sub status",
    "status -C sub",
    "-C sub --json status",
    "-C missing status",
    "-C a status",
    "-C missing --json status",
    "log",
    "log --json",
    "--json log",
    "log -n 1",
    "log -n 0",
    "log -n 5",
    "log -n 007",
    "log -n 999999999",
    "log -n 1 --json",
    "--json log -n 1",
    "log --all",
    "log --all -n 2",
    "log -n 2 --all --json",
    "log --operations",
    "log --operations --json",
    "log --operations -n 1",
    "log -q",
    "log -v --no-pager",
    "-q log -n 1",
    "-C sub log",
    "log -C sub -n 1",
    "log -n 1 -C sub --json",
    "-C missing log",
    "-C missing log --json",
    "pick",
    "pick --json",
    "--json pick",
]
FOR_THE_PARSER = [
    "log extra",
    "log -n",
    "log -n -3",
    "log -n three",
    "log -n 1.5",
    "log -n +1",
    "log -n ' 1'",
    "log -n 1_0",
    "log -n ١",
    "log -n ''",
    "log -n 9999999999",
    "log -n1",
    "log -n=1",
    "log -n 1 -n 2",
    "log --all --all",
    "log --session mine",
    "log --sess mine",
    "log --al",
    "log --json --json",
    "log -C sub -C sub",
    "-C sub log -C sub",
    "-C '' log",
    "-C",
    "-C --json",
    "-Csub log",
    "log -- a",
    "log -- --json",
    "log --",
    "log log",
    "log status",
    "-n 1 log",
    "--all",
    "--nonsense",
    "log --nonsense",
    "log --color always",
    "--color never log",
    "log --dry-run",
    "log -y",
    "log -qv",
    "log -h",
    "status --help",
    "--help",
    "--version",
    "log --version",
    "status extra",
    "status --seen",
    "status -n 1",
    "status --all",
    "LOG",
    "''",
    "lo",
    "sessions",
    "tree",
    "pick extra",
    "log -q --quiet",
    "- log",
]


@pytest.fixture
def world(story: Story, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with two checkpoints and an operation, at a moment that stands still."""
    (story.workspace / "sub").mkdir()
    story.cli.ok("rewind", "start", "--yes")
    story.cli.ok("undo", "--yes")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    return story.workspace


def by_plain_words(words: Sequence[str]) -> int:
    status = answered(list(words), os.environ)
    assert status is not None, f"{words} are not plain"
    return status


def test_plain_words_are_answered_to_the_byte_as_the_parser_has_it(world: Path) -> None:
    called(world, "status")  # what is counted once is counted now
    for line in PLAIN:
        words = shlex.split(line)
        plain, parsed = called(world, *words, by=by_plain_words), called(world, *words)
        assert plain.stdout_bytes == parsed.stdout_bytes, line
        assert plain.stderr_bytes == parsed.stderr_bytes, line
        assert plain.status == parsed.status, line


@pytest.mark.parametrize("line", [*PLAIN, *FOR_THE_PARSER])
def test_only_plain_words_are_understood(line: str) -> None:
    assert (understood(shlex.split(line)) is not None) == (line in PLAIN)


@pytest.mark.parametrize(
    "line", ["log extra", "log -n three", "--json log -n -3", "log --nonsense"]
)
def test_what_is_wrong_is_said_by_the_parser(world: Path, line: str) -> None:
    words = shlex.split(line)
    typed = Cli(world).run(*words)
    parsed = called(world, *words)
    assert (typed.status, typed.stdout, typed.stderr) == (
        parsed.status,
        parsed.stdout,
        parsed.stderr,
    )


def test_a_directory_that_is_no_workspace(tmp_path: Path) -> None:
    for line in ("log", "status", "log --json", "status --json", "-q log -n 3", "pick"):
        words = shlex.split(line)
        plain, parsed = called(tmp_path, *words, by=by_plain_words), called(tmp_path, *words)
        assert (plain.status, plain.stdout, plain.stderr) == (
            parsed.status,
            parsed.stdout,
            parsed.stderr,
        )


def test_a_shell_that_asks_what_could_follow_is_answered_by_the_parser() -> None:
    assert answered(["log"], {COMPLETE: "bash_complete"}) is None


# -- the table, held against the parser's own


def option_of(command: click.Command, word: str) -> click.Option:
    [found] = [p for p in command.params if isinstance(p, click.Option) and word in p.opts]
    return found


def command_of(verb: str) -> click.Command:
    found = takeback.get_command(click.Context(takeback), verb)
    assert found is not None
    return found


@pytest.mark.parametrize("verb", FLAGS)
def test_the_table_is_that_of_the_parser(verb: str) -> None:
    assert verb in COMMANDS
    command, body = command_of(verb), inspect.signature(_body(verb)).parameters
    for word, name in FLAGS[verb].items():
        option = option_of(command, word)
        assert (option.name, option.is_flag) == (name, True)
    for word, name in NUMBERS[verb].items():
        option = option_of(command, word)
        assert (option.name, option.is_flag, option.nargs) == (name, False, 1)
        assert isinstance(option.type, click.IntRange)
        assert (option.type.min, option.type.max) == (0, None)
    with command.make_context(verb, [], obj=Call()) as context:  # what is not said is the same
        assert context.params == {n: p.default for n, p in body.items() if n != "call"}


@pytest.mark.parametrize("verb", [None, *FLAGS])
def test_the_options_of_every_command_are_those_of_the_parser(verb: str | None) -> None:
    command = takeback if verb is None else command_of(verb)
    for word, (name, value) in GLOBAL_FLAGS.items():
        option = option_of(command, word)
        assert option.is_flag
        assert (option.name, value) in ((name, True), ("no_pager", False))
    directory = option_of(command, DIRECTORY)
    assert (directory.name, directory.nargs, directory.is_flag) == ("directory", 1, False)


@pytest.mark.parametrize("words", [["log"], ["status"], ["log", "-n", "1", "--json"], []])
def test_no_parser_is_imported(story: Story, words: list[str]) -> None:
    script = (
        "import sys\n"
        "from takeback.__main__ import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print(*{m.partition('.')[0] for m in sys.modules}, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, *words],
        cwd=story.workspace,
        capture_output=True,
        check=True,
        text=True,
    )
    assert not {"click", "rich", "textual", "json"} & set(done.stderr.split())


def test_a_list_of_turns_imports_nothing_of_other_lists(story: Story) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-X", "importtime", "-m", "takeback", "log", "-n", "3"],
        cwd=story.workspace,
        capture_output=True,
        check=True,
        text=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "takeback.timeline.timeline" in imported
    others = {"shutil", "takeback.words.documents", "takeback.words.sessions"}
    assert not {*others, "takeback.blame"} & imported
