"""Text that others chose, made harmless where it becomes part of a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback import Takeback
from takeback.errors import Refused, TakebackError, WriteFailed
from takeback.visible import editable, quoted, shown
from tests.support.hostile import HOSTILE, STEERING, raw


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("plain ß 日本語", "plain ß 日本語"),
        ("\x1b]0;x\x07", "\\x1b]0;x\\x07"),
        ("a\nb\tc", "a\\x0ab\\x09c"),
        ("\x9b2J\x85", "\\x9b2J\\x85"),
        ("\u202etxt", "\\u202etxt"),
        ("\udcff", "\\xff"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_steers_a_terminal_is_visible(text: str, visible: str) -> None:
    assert shown(text) == visible
    assert shown(visible) == visible


def test_an_editor_keeps_lines_and_tabs_and_nothing_that_steers() -> None:
    assert editable("a\r\n\tb\x1b[2J\n") == "a\n\tb\\x1b[2J\n"
    assert not any(raw(line) for text in HOSTILE for line in editable(text).split("\n"))


def test_an_error_is_fit_to_be_shown_whatever_it_speaks_of() -> None:
    for text in HOSTILE:
        error = TakebackError(f"about {text}", hint=f"try {text}")
        assert not raw(error.message + error.hint + str(error)), repr(text)
        assert "\n" not in error.message + error.hint
    assert "\\x1b" in Refused("x\x1b", flag="--yes").message
    assert "\\x1b" in WriteFailed.of("writing", OSError(28, "full", "a\x1b[2J")).message


def test_plans_and_refusals_are_fit_to_be_shown(workspace: Path) -> None:
    name = "\x1b[2J\u202e.txt"
    head = workspace / ".git" / "HEAD"
    with Takeback.open(workspace) as tb:
        one, two = tb.session("a\x1b[2J", "\u202eone"), tb.session("mine", "two")
        with one.turn("\x1b]0;x\x07 \u202e first") as turn:
            (workspace / name).write_text("x")
        with two.turn("two"):
            (workspace / name).write_text("y")
        head.write_bytes(b"ref: refs/heads/\x1b[2J\xe2\x80\xae\n")
        two.tell("prompt", turn="t", prompt="\x1b]0;x\x07 running")
        plan = tb.plan(turn.before, scope="files")
    said = [*plan.warnings, *(one.message for one in plan.refused), plan.goal.about]
    assert {one.code for one in plan.refused} >= {"during_turn", "others", "other_branch"}
    assert len(plan.warnings) == 1
    for sentence in said:
        assert sentence is not None
        assert not raw(sentence), repr(sentence)
    assert "\\x1b]0;x\\x07 \\u202e first" in (plan.goal.about or "")
    assert len(STEERING) > 20


def test_a_quoted_text_cannot_leave_its_quotes() -> None:
    assert quoted("src/a b.txt") == '"src/a b.txt"'
    assert quoted("über 中") == '"über 中"'
    assert quoted('a" b\\') == '"a\\" b\\\\"'
    assert quoted("a\n\u202e<b>\udcff") == r'"a\x0a\u202e\x3cb\x3e\xff"'
    assert quoted("\u201cyes\u201d") == r'"\u201cyes\u201d"'
    assert quoted("d" * 500 + "/end").endswith('d/end"')
    assert len(quoted("\u202e" * 500)) < 130


def test_what_joins_symbols_stays_and_between_letters_it_is_seen() -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    assert (
        shown(f"{family} \u2764\ufe0f\u200d\U0001f525") == f"{family} \u2764\ufe0f\u200d\U0001f525"
    )
    for hidden in (
        "a\u200db",
        "\u200d",
        "\U0001f469\u200d",
        "\u200d\U0001f469",
        "a\u200d\U0001f469",
    ):
        assert "\\u200d" in shown(hidden)
    assert shown("\u2190\u202e\u2190") == "\u2190\\u202e\u2190"
