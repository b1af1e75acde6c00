"""What aider writes down: prompts from its input history alone, what was said from its chat."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from takeback.adapters.aider import (
    Grown,
    HistoryFiles,
    SaidInAider,
    history_files,
    is_aider,
    own_files,
    prompts_in,
)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("aider", True),
        ("/opt/bin/aider --model x", True),
        ("python3.12 -m aider", True),
        ("env A=1 uvx aider", True),
        ("vim aider", False),
        ("bash -c aider.sh", False),
        ("./agent", False),
    ],
)
def test_aider_is_known_behind_what_starts_it(line: str, found: bool) -> None:
    assert is_aider(line.split()) is found


def test_its_history_is_in_the_project_unless_it_was_moved() -> None:
    usual = history_files(["aider"], {}, "/w/sub", "/w")
    assert usual == HistoryFiles("/w/.aider.input.history", "/w/.aider.chat.history.md")
    assert history_files(["aider", "--no-git"], {}, "/w/sub", "/w").input.startswith("/w/sub/")
    moved = history_files(
        ["aider", "--input-history-file", "i", "--chat-history-file=/c"], {}, "/w/sub", "/w"
    )
    assert moved == HistoryFiles("/w/sub/i", "/c")
    by_variable = {"AIDER_INPUT_HISTORY_FILE": "/elsewhere"}
    assert history_files(["aider"], by_variable, "/w", "/w").input == "/elsewhere"
    assert own_files(moved, "/w") == (b".aider", b"sub/i", b"../c")


def test_prompts_are_read_with_all_their_lines_and_once() -> None:
    text = "\n# 2026-11-18 12:08:07.9\n+fix it\n\n# 2026-11-18 12:08:07.9\n+fix it\n"
    text += "\n# 2026-11-18 12:09:00.1\n+two\n+lines\n# forged\nfree text\n"
    assert prompts_in(text) == ["fix it", "two\nlines"]


def test_the_conversation_has_prompts_and_what_was_said_after_them() -> None:
    said = SaidInAider()
    said.hear("# aider chat started\n")
    assert (said.messages(), said.is_answered) == (b"", False)
    said.ask("fix it")
    said.hear("\n#### fix it  \n")
    assert not said.is_answered
    said.hear("\nDone.\n\n#### a headline, not a prompt\n")
    assert said.is_answered
    said.ask("again")
    read = [json.loads(line) for line in said.messages().splitlines()]
    assert read == [
        {"role": "user", "content": "fix it"},
        {"role": "assistant", "content": "Done.\n\n#### a headline, not a prompt"},
        {"role": "user", "content": "again"},
    ]


def test_a_history_is_read_from_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("old\n")
    grown = Grown(str(path))
    assert grown.text() == ""
    with path.open("a") as file:
        file.write("new\n")
    assert (grown.text(), grown.text()) == ("new\n", "")
    path.write_text("o")  # taken back: what was read before is not new again
    assert grown.text() == ""
    with path.open("ab") as file:
        file.write(b"\xff")
    assert grown.text() == "\ufffd"


def test_a_pipe_in_place_of_a_history_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    grown = Grown(str(tmp_path / "pipe"))
    assert grown.text() == ""


def test_of_a_huge_history_only_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "history"
    grown = Grown(str(path))
    path.write_bytes(b"x" * (3 << 20) + b"end")
    text = grown.text()
    assert len(text) <= 1 << 20
    assert text.endswith("end")
