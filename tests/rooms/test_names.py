"""Every way to name a checkpoint, in order, and what is said when none fits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeback.errors import NoSuchCheckpoint, UsageError
from takeback.ledger.by_session import add_turn, note_session
from takeback.ledger.file import IN_MEMORY
from takeback.ledger.ledger import Ledger
from takeback.model.checkpoint import MANUAL, UNDO, Checkpoint, Origin
from takeback.model.entries import ENDED, PROMPTED, Turn
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.model.naming import is_turn_name, names_newest
from takeback.timeline import sessions
from takeback.timeline.names import (
    check_label,
    find,
    line_of,
    may_begin_id,
    newest_of,
    other_meaning,
    parse_time,
    unused_children,
)
from takeback.timeline.operations import is_state_name
from tests.support.engine import NOON

HOUR = 3600.0
A, B, C = "abcdefghjkmn", "abcdxyzxyzxy", "bcdefghjkmnp"
"""The ids of the workspace's three checkpoints: two hours, one hour and a minute before noon."""
OTHERS = "qqqqqqqqqqqq"
"""The id of another session's only checkpoint, three hours before noon."""


def made(name: str, at: float, session: str = "workspace", kind: Any = MANUAL) -> Checkpoint:
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


def add(ledger: Ledger, checkpoint: Checkpoint) -> None:
    """Adds a checkpoint as the newest of all."""
    last = ledger.last_point()
    ledger.add(checkpoint, 0 if last is None else last.position + 1, [])
    note_session(ledger, checkpoint, event=checkpoint.agent is not None)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    ledger = Ledger(IN_MEMORY)
    theirs = made(OTHERS, NOON - 3 * HOUR, session="claude-2a8f")
    add(ledger, theirs.replace(agent="claude", native="2a8f"))
    add(ledger, made(A, NOON - 2 * HOUR))
    add(ledger, made(B, NOON - HOUR))
    add(ledger, made("tttttttttttt", NOON - HOUR / 2, kind=UNDO))
    add(ledger, made(C, NOON - 60))
    ledger.set_labels([(CheckpointId(A), "good", None), (CheckpointId(OTHERS), "theirs", None)])
    yield ledger
    ledger.close()


def found(ledger: Ledger, text: str, *, meant: str | None = "workspace") -> str:
    def whose_place(session: str | None, place: str) -> str | None:
        return meant if session is None else named(ledger, session)

    return find(ledger, text, now=NOON, meant=whose_place).id


def named(ledger: Ledger, session: str) -> str | None:
    """Returns the session that a name means."""
    return sessions.meant(ledger, session, sessions.Around(NOON)).session


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
        ("2a8f/@", OTHERS),
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


def test_an_empty_name_says_that_it_is_empty(ledger: Ledger) -> None:
    for text in ("", " ", "claude/", "claude/ "):
        with pytest.raises(NoSuchCheckpoint, match="the name is empty"):
            found(ledger, text)


# -- turns, and the session that is meant


@pytest.fixture
def worked(ledger: Ledger) -> Ledger:
    """Claude has worked for two turns since, one checkpoint before and one after each."""
    for number in (1, 2):
        before, after = f"claudebefer{number}", f"claudeafter{number}"
        for name, kind in ((before, "prompt"), (after, "turn end")):
            one = made(name, NOON - 30 + number, session="claude-2a8f", kind=kind)
            add(ledger, one.replace(agent="claude", native="2a8f", turn=number))
        turn = Turn(
            id=CheckpointId(before),
            session=SessionId("claude-2a8f"),
            number=number,
            kind=PROMPTED,
            prompt=f"do {number}",
            native=None,
            before=CheckpointId(before),
            after=CheckpointId(after),
            began=NOON,
            ended=NOON,
            state=ENDED,
        )
        add_turn(ledger, turn)
    return ledger


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("turn:1", "claudebefer1"),
        ("turn:2", "claudebefer2"),
        ("turn:02", "claudebefer2"),
        ("turn:1.end", "claudeafter1"),
        ("claude/turn:2.end", "claudeafter2"),
        ("@", "claudeafter2"),
        ("@~1", "claudebefer2"),
        ("workspace/@", C),
    ],
)
def test_turns_and_the_newest_are_those_of_the_session_that_is_meant(
    worked: Ledger, text: str, expected: str
) -> None:
    assert found(worked, text, meant="claude-2a8f") == expected


@pytest.mark.parametrize(
    "text", ["turn:3", "turn:0", "turn:", "turn:x", "turn:1.begin", "turn:1.", "turn:-1", "turn:٣"]
)
def test_what_is_no_turn_is_no_such_checkpoint(worked: Ledger, text: str) -> None:
    with pytest.raises(NoSuchCheckpoint) as raised:
        found(worked, text, meant="claude-2a8f")
    assert raised.value.hint


def test_a_turn_that_is_not_there_says_which_are(worked: Ledger) -> None:
    with pytest.raises(NoSuchCheckpoint, match="session claude-2a8f has no turn 7") as raised:
        found(worked, "turn:7", meant="claude-2a8f")
    assert "1 to 2" in raised.value.hint


def test_where_no_agent_worked_there_are_no_turns(ledger: Ledger) -> None:
    with pytest.raises(NoSuchCheckpoint, match="no agent has worked here yet"):
        found(ledger, "turn:1", meant=None)


def test_nobody_is_asked_which_session_where_the_name_says_it_all(worked: Ledger) -> None:
    def asked(session: str | None, place: str) -> str | None:
        if session is None:
            raise AssertionError("a name that means the same in every session asked for one")
        return named(worked, session)

    for text in (A, "good", "abcde", "30m", "claude/turn:1", "claude/@", "workspace/@~1"):
        assert find(worked, text, now=NOON, meant=asked).id
    for text in ("turn:1", "@", "@~1"):
        with pytest.raises(AssertionError, match="asked for one"):
            find(worked, text, now=NOON, meant=asked)


def test_a_child_that_nobody_went_on_with_is_unused(worked: Ledger) -> None:
    origin = Origin(SessionId("claude-2a8f"), CheckpointId("claudebefer2"))
    for name in ("child1", "child2"):
        one = made(f"{name}xxxxxx", NOON, session=f"claude-{name}", kind="fork")
        add(worked, one.replace(agent="claude", native=name, turn=1, origin=origin))
    assert line_of(worked, "claude-child1") == ["claude-child1", "claude-2a8f"]
    assert line_of(worked, None) == []
    prompt = made("goesonnnnnnn", NOON, session="claude-child1", kind="prompt")
    add(worked, prompt.replace(agent="claude", native="child1", turn=2))
    target = worked.by_id("claudebefer2")
    assert target is not None
    assert [child.session for child in unused_children(worked, target)] == ["claude-child2"]
    newest = newest_of(worked, "claude-child1")
    assert newest is not None
    assert newest.id == "goesonnnnnnn"
    assert newest_of(worked, "nobody") is None


# -- what is said when a name does not fit


def test_a_time_in_the_future_of_today_is_that_time_yesterday(ledger: Ledger) -> None:
    add(ledger, made("yesterdayyyy", NOON - 20 * HOUR))
    assert found(ledger, "16:30") == "yesterdayyyy"


def test_no_label_wins_over_another_kind_of_name(ledger: Ledger) -> None:
    """Not those either that an older takeback took, or that were fetched."""
    for name in (A, C[:4], "@", "@~1", "1h"):
        without = found(ledger, name)
        ledger.set_labels([(CheckpointId(one), name, None) for one in (A, B, C) if one != without])
        assert found(ledger, name) == without
    ledger.set_labels([(CheckpointId(C), "abcd", None)])
    with pytest.raises(NoSuchCheckpoint, match="names 2 checkpoints"):
        found(ledger, "abcd")


def test_a_beginning_that_fits_two_names_both(ledger: Ledger) -> None:
    with pytest.raises(NoSuchCheckpoint, match="'abcd' names 2 checkpoints") as raised:
        found(ledger, "abcd")
    assert A in raised.value.hint
    assert B in raised.value.hint


def test_a_label_on_two_checkpoints_names_both(ledger: Ledger) -> None:
    ledger.set_labels([(CheckpointId(A), "twice", None), (CheckpointId(C), "twice", None)])
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


@pytest.mark.parametrize(
    "name",
    [
        *("abcd", "ABCD", "ready", "j49s", "\uff4a\uff14\uff19\uff53", "jjjjjjjjjjjj"),
        *("3", "3.1", "3.end", "turn 3", "Turn:3", "turn3", "#3", "\uff203", "Green"),
        *("x7k2.before", "x7k2abcdefgh.AFTER", "yesterday", "Now", "\uff11\uff10m", "14:05:06"),
    ],
)
def test_what_may_be_read_as_another_name_is_no_label_for_a_model(
    ledger: Ledger, name: str
) -> None:
    with pytest.raises(UsageError, match="cannot be a label"):
        check_label(ledger, name, NOON, by_model=True)


@pytest.mark.parametrize("name", ["good-1", "at the end", "v1.2", "10 m", "done", "tests pass"])
def test_a_model_may_give_any_other(ledger: Ledger, name: str) -> None:
    check_label(ledger, name, NOON, by_model=True)
    assert other_meaning(name) == ""


@given(st.text())
def test_a_models_label_is_never_what_another_kind_of_name_means(name: str) -> None:
    """Whatever is looked up before labels is no label that a model may give."""
    if not other_meaning(name):
        assert not may_begin_id(name)
        assert not is_state_name(name)
        assert not is_turn_name(name)
        assert not names_newest(name)
        assert parse_time(name, NOON) is None


def test_times_of_day_are_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    assert parse_time("20:00", NOON) == NOON - HOUR
    assert parse_time("2026-11-15T20:00", NOON) == NOON - HOUR


def utc(text: str) -> float:
    return datetime.fromisoformat(text + "+00:00").timestamp()


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks go from 02:00 to 03:00 on 2026-03-29 and from 03:00 to 02:00 on 2026-10-25."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("text", "now", "meant"),
    [
        # The day after the change, and the day of it, asked for what lies beyond the change.
        ("14:05", "2026-03-29T09:00", "2026-03-28T13:05"),
        ("01:30", "2026-03-29T09:00", "2026-03-29T00:30"),
        ("03:30", "2026-03-29T09:00", "2026-03-29T01:30"),
        ("14:05", "2026-10-25T09:00", "2026-10-24T12:05"),
        ("01:30", "2026-10-25T09:00", "2026-10-24T23:30"),
        ("03:30", "2026-10-25T09:00", "2026-10-25T02:30"),
        # Twice that night: the newest that has been.
        ("02:30", "2026-10-25T09:00", "2026-10-25T01:30"),
        ("02:30", "2026-10-25T01:29", "2026-10-25T00:30"),
        ("02:30", "2026-10-25T00:29", "2026-10-24T00:30"),
        # Never that night: the moment at which the clocks passed it.
        ("02:30", "2026-03-29T09:00", "2026-03-29T01:00"),
        ("02:30:15", "2026-03-29T01:00", "2026-03-29T01:00"),
        ("02:30", "2026-03-29T00:59", "2026-03-28T01:30"),
        # With the date it is the same moment.
        ("2026-10-25T02:30", "2026-10-25T09:00", "2026-10-25T01:30"),
        ("2026-10-25T02:30", "2026-10-25T00:40", "2026-10-25T00:30"),
        ("2026-03-29T02:30", "2026-06-01T09:00", "2026-03-29T01:00"),
        ("2026-10-24T14:05", "2026-10-25T09:00", "2026-10-24T12:05"),
    ],
)
def test_a_time_of_day_is_right_across_a_change_of_the_clocks(
    text: str, now: str, meant: str
) -> None:
    found = parse_time(text, utc(now))
    assert found is not None
    assert datetime.fromtimestamp(found, UTC).strftime("%Y-%m-%dT%H:%M") == meant


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize("text", ["0001-01-01", "0001-01-01T00:00", "9999-12-31T23:59:59"])
def test_a_day_at_the_end_of_the_calendar_is_no_bug(ledger: Ledger, text: str) -> None:
    moment = parse_time(text, NOON)
    assert moment is None or abs(moment - NOON) > 2000 * 365 * 24 * HOUR


@pytest.mark.parametrize(
    "text", ["", "m", "-5m", "1.5h", "5x", "25:00", "12:60", "٣m", "12", "now"]
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert parse_time(text, NOON) is None
