"""What changed, in words."""

from __future__ import annotations

import pytest

from takeback.errors import StoreDamaged
from takeback.model.checkpoint import DIRECTORY, FILE, LINK
from takeback.model.entries import OwnedChange
from takeback.model.ids import SessionId
from takeback.model.operation import FileDiff, Side
from takeback.words import changes as words


@pytest.mark.parametrize(
    ("added", "deleted", "drawn"),
    [
        (10, 0, "▇▇▇▇▇"),
        (0, 10, "▁▁▁▁▁"),
        (5, 5, "▇▇▁▁▁"),
        (9, 1, "▇▇▇▇▁"),
        (1, 0, "▇"),
        (0, 1, "▁"),
        (1, 1, "▇▁"),
        (100, 1, "▇▇▇▇▁"),
        (0, 0, ""),
        (None, None, ""),
    ],
)
def test_a_bar_shows_every_change(added: int | None, deleted: int | None, drawn: str) -> None:
    assert "".join(words.bar(added, deleted, 10)) == drawn


def test_a_bar_of_nothing() -> None:
    assert words.bar(1, 1, 0) == ("", "")


@pytest.mark.parametrize(
    ("added", "deleted", "counts"),
    [(12, 3, ("+12", "-3")), (0, 0, ("", "")), (None, None, ("", "")), (10_400, 0, ("+10k", "-0"))],
)
def test_counts(added: int | None, deleted: int | None, counts: tuple[str, str]) -> None:
    assert words.line_counts(added, deleted) == counts


def test_who_did_it_seen_from_a_session() -> None:
    change = OwnedChange(b"a", "modified", 1, 1, "tool \x1b[1m", SessionId("s"))
    assert words.who(change, "s") == "tool \\x1b[1m"
    assert words.who(change, "t") == "tool \\x1b[1m of s"
    assert words.who(change.replace(who="unknown"), "t") == "another session (s)"
    assert words.who(change.replace(who=None), "t") == ""
    assert words.who(change.replace(who="outside", session=None), "t") == "outside"


def _file(mode: int = 0o644, size: int = 10) -> Side:
    return Side(FILE | mode, size)


@pytest.mark.parametrize(
    ("old", "new", "said", "going"),
    [
        (None, _file(), "new file, 10 bytes", "would be created: file, 10 bytes"),
        (_file(0o755), None, "deleted file, 10 bytes, executable", None),
        (None, Side(LINK, 1, b"x"), "new link to x", "would be created: link to x"),
        (Side(DIRECTORY | 0o755, 0), None, "deleted directory", "would be deleted: directory"),
        (_file(), Side(LINK, 1, b"x"), "a file became a link to x", None),
        (Side(LINK, 1, b"x"), _file(), "a link to x became a file", None),
        (Side(LINK, 1, b"x"), Side(LINK, 1, b"y"), "link to x -> y", "link to x -> y"),
        (
            _file(),
            _file(0o755),
            "mode 644 -> 755: now executable",
            "mode 644 -> 755: would be executable",
        ),
        (_file(0o755), _file(), "mode 755 -> 644: no longer executable", None),
        (_file(), _file(0o600), "mode 644 -> 600", None),
        (_file(), _file(size=0), "now empty", "would be empty"),
        (_file(size=0), _file(), "it was empty", "it is empty now"),
    ],
)
def test_what_a_file_was_and_is(
    old: Side | None, new: Side | None, said: str, going: str | None
) -> None:
    diff = FileDiff(b"p", old, new)
    assert list(words.file_lines(diff, going=False)) == [said]
    if going is not None:
        assert list(words.file_lines(diff, going=True)) == [going]


def test_a_file_that_is_nowhere_and_one_that_is_too_large() -> None:
    assert list(words.file_lines(FileDiff(b"p", None, None), going=True)) == [
        "It is in no snapshot (git ignores it), so what is in it cannot be shown here."
    ]
    large = FileDiff(b"p", _file(size=9 << 20), _file(size=10 << 20), too_large=True)
    assert list(words.file_lines(large, going=False)) == [
        "too large to be compared here, 9.0 MB -> 10.0 MB; takeback diff does it"
    ]


def test_an_error_and_what_to_do() -> None:
    assert list(words.error_lines(StoreDamaged("bad \x1b[0m"))) == [
        "Error: bad \\x1b[0m",
        "Hint: run: takeback verify",
    ]
    assert list(words.error_lines(OSError(5, "Input/output error"))) == [
        "Error: [Errno 5] Input/output error"
    ]


def test_the_views_are_named_as_far_as_there_is_room() -> None:
    names = ("what it changed", "what going there would change now")
    assert words.views_line(names, 0, 80) == (
        "● what it changed",
        "   ○ what going there would change now (v)",
    )
    assert words.views_line(names, 1, 40) == (
        "● what going there would change now",
        "  (v: the other view)",
    )


def test_what_nobody_saw_is_said_so() -> None:
    assert list(words.by_lines("unknown", going=False)) == ["how it was changed is not known"]
    assert list(words.by_lines("shell", going=False)) == ["changed by shell"]
