"""Rows of the timeline in words."""

from __future__ import annotations

import pytest

from takeback.model.checkpoint import AMID, Checkpoint
from takeback.model.entries import Session
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.model.row import Spot, TimelineRow
from takeback.timeline.timeline import TimelineEntry
from takeback.words import listing


def session(agent: str | None, native: str) -> Session:
    id = SessionId(f"{agent}-{native}")
    return Session(id, agent, native, None, None, None, None, None, 0, 0, 0, CheckpointId("x"))


def test_sessions_are_told_apart_only_where_they_have_to_be() -> None:
    everyone = [
        session("claude", "2a8f61c0"),
        session("codex", "0197b3d2"),
        session("claude", "9c41d07e"),
        session(None, "workspace"),
    ]
    assert list(listing.session_names(everyone).values()) == [
        "claude 2a8f",
        "codex",
        "claude 9c41",
        "by hand",
    ]


def test_no_two_sessions_have_one_name_whatever_their_ids_have_in_common() -> None:
    ids = ["s1", "s1.92af9a91", "s1.92bb0000", "s1.92af9a91.21b1c0de", "s10", "a" * 9, "a" * 8]
    ids += ["0197b3d2-1a", "0197b3d2-1b", "2a8f61c0-7d", "2a8f61c0-7d.92af9a91"]
    short = list(listing.session_names([session("mine", id) for id in ids]).values())
    assert len(set(short)) == len(ids)
    assert [name.removeprefix("mine ") for name in short] == [
        "s1",
        "s1.92af",
        "s1.92bb",
        "s1.92af.21b1",
        "s10",
        "aaaaaaaaa",
        "aaaa",
        "0197b3d2-1a",
        "0197b3d2-1b",
        "2a8f",
        "2a8f.92af",
    ]


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (80, "src/very/deep/login.py, src/cookie.py, tests/test_login.py +2 more"),
        (65, "login.py, cookie.py, test_login.py +2 more"),
        (30, "login.py, cookie.py +3 more"),
        (17, "login.py +4 more"),
        (12, "….py +4 more"),
    ],
)
def test_files_that_fit(width: int, text: str) -> None:
    paths = [b"src/very/deep/login.py", b"src/cookie.py", b"tests/test_login.py", b"a", b"b"]
    assert listing.files(paths, width) == text


def test_no_files_and_odd_ones() -> None:
    assert listing.files([], 3) == "no changes"
    assert listing.files([b"a\nb\xff"], 20) == "a\\x0ab\\xff"


def test_a_file_that_usually_holds_a_secret_is_marked_shown_or_not() -> None:
    paths = [b"deep/down/.env", b"a", b"b", b"id_rsa", b"c"]
    assert listing.files(paths, 80) == "deep/down/.env (sensitive), a, b +2 more (1 sensitive)"
    assert listing.files(paths, 50) == ".env (sensitive), a, b +2 more (1 sensitive)"
    assert listing.files(paths, 40) == ".env (sensitive) +4 more (1 sensitive)"
    assert listing.files(paths[:1], 13) == "… (sensitive)"


def test_a_place_is_named_as_in_the_log() -> None:
    row = TimelineRow("x", 1, "a", "prompt", 0.0, 3, number=3, state="ended")
    assert listing.name(row) == "turn 3"
    assert listing.name(row._replace(number=None, kind="manual")) == "manual"


def test_where_a_session_comes_from() -> None:
    names = {"a": "claude"}
    assert listing.origin(Spot(1, "a", "prompt", 3), names) == "from claude, before turn 3"
    assert listing.origin(Spot(1, "a", "turn end", 3), names) == "from claude, after turn 3"
    assert listing.origin(Spot(1, "b\x1b", "session start", 0), names) == "from b\\x1b"


def test_how_much_there_is() -> None:
    turn = TimelineRow("x", 1, "a", "prompt", 0.0, 3, number=3, state="ended")
    place = TimelineRow("y", 1, "a", "manual", 0.0, None)
    assert listing.summary([turn, turn, place], whole=True) == "2 turns"
    assert listing.summary([turn] * 1000, whole=False) == "1,000 turns ..."
    assert listing.summary([place], whole=True) == "1 checkpoint"
    assert listing.summary([], whole=True) == "0 turns"


def test_a_row_amid_an_operation_says_so() -> None:
    checkpoint = Checkpoint(
        CheckpointId("0123456789ab"),
        SessionId("mine-s1"),
        "prompt",
        0.0,
        SnapshotId("0" * 40),
        b"",
        complete=False,
        files=1,
        amid="0p3r4t10n000",
    )
    assert listing.marks("ended", TimelineEntry(checkpoint, ()), None) == [AMID]
    incomplete = TimelineEntry(checkpoint.replace(amid=None), ())
    assert listing.marks("ended", incomplete, None) == ["incomplete"]
    assert listing.marks("running", None, "taken back") == ["running", "taken back"]
