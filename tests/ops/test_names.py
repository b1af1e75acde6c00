"""Every way to name a checkpoint, in order, and what is said when none fits."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from takeback.errors import NoSuchCheckpoint, UsageError
from takeback.ledger.ledger import IN_MEMORY, Ledger
from takeback.model.checkpoint import MANUAL, UNDO, Checkpoint
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.ops.names import check_label, find, parse_time
from tests.support.engine import NOON

HOUR = 3600.0
A, B, C = "abcdefghjkmn", "abcdxyzxyzxy", "bcdefghjkmnp"
"""The ids of the workspace's three checkpoints: two hours, one hour and a minute before noon."""
OTHERS = "qqqqqqqqqqqq"
"""The id of another session's only checkpoint, three hours before noon."""


def made(name: str, at: float, session: str = "workspace", kind: str = MANUAL) -> Checkpoint:
    return Checkpoint(
        id=CheckpointId(name),
        session=SessionId(session),
        kind=kind,
        time=at,
        snapshot=SnapshotId("a" * 40),
        commit=b"c" * 20,
        complete=True,
        files=1,
    )


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    ledger = Ledger(IN_MEMORY)
    ledger.add(made(A, NOON - 2 * HOUR), 0, [])
    ledger.add(made(B, NOON - HOUR), 1, [])
    ledger.add(made("tttttttttttt", NOON - HOUR / 2, kind=UNDO), 2, [])
    ledger.add(made(C, NOON - 60), 3, [])
    ledger.add(made(OTHERS, NOON - 3 * HOUR, session="claude-2a8f"), 0, [])
    ledger.set_labels([(CheckpointId(A), "good"), (CheckpointId(OTHERS), "theirs")])
    yield ledger
    ledger.close()


def found(ledger: Ledger, text: str) -> str:
    return find(ledger, text, now=NOON).id


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (A, A),
        (f"  {A} ", A),
        ("good", A),
        ("good\n", A),
        ("@", C),
        ("@~0", C),
        ("@~1", B),
        ("@~2", A),
        ("@~01", B),
        ("@~0000000000001", B),
        ("30m", B),
        ("61s", B),
        ("60s", C),
        ("1h", B),
        ("2h", A),
        ("150m", OTHERS),
        ("12:00", C),
        ("11:00", B),
        ("10:59:59", A),
        ("2026-11-15T11:30", B),
        ("2026-11-15 11:30", B),
        ("2026-11-15T12:30+01:00", B),
        ("abcde", A),
        ("abcdx", B),
        ("bcde", C),
        ("tttt", "tttttttttttt"),
        ("workspace/@", C),
        ("work/@~1", B),
        (f"workspace/{A}", A),
        ("workspace/good", A),
        ("workspace/150m", None),
        ("claude/@", OTHERS),
        ("claude/0m", OTHERS),
        ("claude-2a8f/theirs", OTHERS),
        ("claude/qqqq", OTHERS),
    ],
)
def test_each_form_finds_its_checkpoint(ledger: Ledger, text: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(NoSuchCheckpoint):
            found(ledger, text)
    else:
        assert found(ledger, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "/",
        "@~",
        "@~-1",
        "@~x",
        "@x",
        "@@",
        "@~4",
        "@~99999999999999999999",
        "4h",
        "9" * 400 + "w",
        "2020-01-01",
        "0001-01-01",
        "9999-99-99",
        "abc",
        "zzzz",
        A + "x",
        A.upper(),
        "Good",
        "\udcff",
        "%%%%",
        "turn:3",
        f"claude/{A}",
        "claude/good",
        "claude/abcde",
        "nosuch/@",
        f"nosuch/{A}",
        f"/{A}",
        "claude/@~1",
    ],
)
def test_what_names_nothing_is_no_such_checkpoint(ledger: Ledger, text: str) -> None:
    with pytest.raises(NoSuchCheckpoint) as raised:
        found(ledger, text)
    assert raised.value.hint


def test_a_time_in_the_future_of_today_is_that_time_yesterday(ledger: Ledger) -> None:
    ledger.add(made("yesterdayyyy", NOON - 20 * HOUR), 9, [])
    assert found(ledger, "16:30") == "yesterdayyyy"


def test_an_exact_id_wins_over_a_label_and_a_label_over_a_beginning(ledger: Ledger) -> None:
    ledger.set_labels([(CheckpointId(C), A), (CheckpointId(B), "bcde")])
    assert found(ledger, A) == A
    assert found(ledger, "bcde") == B


def test_a_beginning_that_fits_two_names_both(ledger: Ledger) -> None:
    with pytest.raises(NoSuchCheckpoint, match="'abcd' names 2 checkpoints") as raised:
        found(ledger, "abcd")
    assert A in raised.value.hint
    assert B in raised.value.hint


def test_a_label_on_two_checkpoints_names_both(ledger: Ledger) -> None:
    ledger.set_labels([(CheckpointId(A), "twice"), (CheckpointId(C), "twice")])
    with pytest.raises(NoSuchCheckpoint, match="names 2") as raised:
        found(ledger, "twice")
    assert A in raised.value.hint
    assert C in raised.value.hint


@pytest.mark.parametrize(
    ("typed", "near"), [("abcdefghjkmm", A), ("bcdf", C), ("godo", "good"), ("thiers", "theirs")]
)
def test_a_slip_of_the_finger_is_answered_with_what_is_near(
    ledger: Ledger, typed: str, near: str
) -> None:
    with pytest.raises(NoSuchCheckpoint) as raised:
        found(ledger, typed)
    assert near in raised.value.hint


def test_too_short_a_beginning_says_how_long_it_must_be(ledger: Ledger) -> None:
    with pytest.raises(NoSuchCheckpoint) as raised:
        found(ledger, "bcd")
    assert "4 characters" in raised.value.hint


@pytest.mark.parametrize(
    "name",
    [
        "",
        " x",
        "x ",
        "a/b",
        "a\nb",
        "@",
        "@~1",
        "@home",
        "-x",
        "--json",
        "turn:3",
        "turn:3.end",
        "10m",
        "14:05",
        "14:05:06",
        "2026-11-15",
        "2026-11-15T14:05",
        A,
    ],
)
def test_a_label_may_not_look_like_another_form(ledger: Ledger, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a label"):
        check_label(ledger, name, NOON)


@pytest.mark.parametrize("name", ["good", "before the agent", "v1.2", "10 m", "ä", "abcd", "1"])
def test_any_other_name_may_be_a_label(ledger: Ledger, name: str) -> None:
    check_label(ledger, name, NOON)


def test_times_of_day_are_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    assert parse_time("20:00", NOON) == NOON - HOUR
    assert parse_time("2026-11-15T20:00", NOON) == NOON - HOUR


@pytest.mark.parametrize(
    "text", ["", "m", "-5m", "1.5h", "5x", "25:00", "12:60", "٣m", "12", "now"]
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert parse_time(text, NOON) is None
