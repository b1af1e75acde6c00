"""Colour, silence, odd names: what reaches stdout and stderr."""

from __future__ import annotations

import base64
import json
import os

import pytest

from tests.cli.conftest import Story
from tests.cli.typing_person import at_a_terminal

ESCAPE = "\x1b["


@pytest.mark.parametrize(
    ("args", "env", "colored"),
    [
        ((), {}, True),
        ((), {"NO_COLOR": "1"}, False),
        ((), {"TERM": "dumb"}, False),
        (("--color", "never"), {}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--json",), {}, False),
        (("--json", "--color", "always"), {}, False),
    ],
    ids=str,
)
def test_colour_at_a_terminal(
    story: Story, args: tuple[str, ...], env: dict[str, str], colored: bool
) -> None:
    for command in (("log",), ("show", "@"), ("diff", "@~1", "@"), ("diff", "@~1", "--stat")):
        seen = at_a_terminal(story.cli, *command, *args, env=env)
        assert seen.status == 0
        assert (ESCAPE in seen.screen) is colored, command


def test_no_colour_without_a_terminal(story: Story) -> None:
    for command in (("log",), ("show", "@"), ("diff", "@~1", "@"), ("status",)):
        assert ESCAPE not in story.cli.ok(*command, env={"TERM": "xterm"}).stdout
        colored = story.cli.ok(*command, "--color", "always").stdout
        assert ESCAPE in colored


def test_names_that_are_no_utf_8(story: Story) -> None:
    name = b"caf\xe9 \xff.txt"
    (story.workspace / os.fsdecode(name)).write_bytes(b"x")
    made = story.cli.ok("--json", "checkpoint").json
    assert made["changed"] == 2
    (line, *_) = story.cli.ok("--json", "log").json_lines
    (item,) = [item for item in line["changed"] if item["path"] != "d"]
    assert item["path"] == "caf\ufffd \ufffd.txt"
    assert base64.b64decode(item["path_b64"]) == name
    assert story.cli.ok("cat", "@", name).stdout_bytes == b"x"
    file = story.cli.ok("--json", "cat", "@", name).json
    assert base64.b64decode(file["path_b64"]) == name
    story.cli.ok("rewind", "@~1", "--yes", "--", name)
    assert not (story.workspace / os.fsdecode(name)).exists()


def test_json_is_strict(story: Story) -> None:
    """Whatever a name or an argument is, no lone surrogate reaches a reader."""
    (story.workspace / os.fsdecode(b"\xff")).write_bytes(b"x")
    answers = [
        story.cli.ok("--json", "checkpoint"),
        story.cli.ok("--json", "log"),
        story.cli.ok("--json", "show"),
        story.cli.ok("--json", "rewind", "start", "--dry-run"),
        story.cli.run("--json", "cat", "@", b"missing \xff"),
        story.cli.run("--json", "show", b"missing \xff"),
    ]
    for answer in answers:
        for line in (answer.stdout + answer.stderr).splitlines():
            json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "strict")


def test_a_name_that_is_no_text_is_a_usage_error(story: Story) -> None:
    for words in (("show", b"\xff"), ("checkpoint", "-m", b"\xff"), ("label", "@", b"\xff")):
        answer = story.cli.run("--json", *words)
        assert (answer.status, answer.error["code"]) == (2, "usage"), str(answer)


def test_names_cannot_steer_the_terminal(story: Story) -> None:
    name = "a\x1b]0;owned\x07\nb"
    (story.workspace / name).write_text("x")
    answers = [
        story.cli.ok("checkpoint"),
        story.cli.ok("log"),
        story.cli.ok("show"),
        story.cli.ok("diff", "@~1", "@", "--stat"),
        story.cli.ok("rewind", "start", "--dry-run"),
        story.cli.run("show", name),
        story.cli.run(name),
    ]
    for answer in answers:
        assert "\x1b" not in answer.stdout + answer.stderr, str(answer)
        assert "\x07" not in answer.stdout + answer.stderr
    assert "a\\x1b]0;owned\\x07\\x0ab" in answers[1].stdout


STEERING = b"\x1b]0;CONTENT\x07\x1b[2J\x9b2J \xe2\x80\xaetxt.exe\rover\x08\n"


def test_contents_cannot_steer_the_terminal(story: Story) -> None:
    (story.workspace / "hostile").write_bytes(STEERING)
    story.cli.ok("checkpoint")
    for words in (["diff", "@~1", "@"], ["cat", "@", "hostile"]):
        screen = at_a_terminal(story.cli, "--color=always", *words).screen
        assert "CONTENT" in screen
        for character in ("\x1b]", "\x07", "\x1b[2J", "\x9b", "\u202e", "\x08", "\rover"):
            assert character not in screen, (words, character)


def test_contents_are_exact_in_a_pipe(story: Story) -> None:
    (story.workspace / "hostile").write_bytes(STEERING)
    story.cli.ok("checkpoint")
    assert story.cli.ok("cat", "@", "hostile").stdout_bytes == STEERING
    assert b"+" + STEERING in story.cli.ok("diff", "@~1", "@").stdout_bytes


def test_quiet_checkpoint_is_the_bare_id(story: Story) -> None:
    answer = story.cli.ok("checkpoint", "-q")
    assert answer.stdout.strip() == story.cli.ok("--json", "show").json["id"]
    assert answer.stderr == ""
