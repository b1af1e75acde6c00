"""One checkpoint in words."""

from __future__ import annotations

from typing import Any, cast

from takeback.model import coverage
from takeback.model.checkpoint import AMID, Checkpoint
from takeback.model.coverage import NotHeld
from takeback.model.entries import Turn
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.timeline.timeline import Shown, TimelineEntry
from takeback.words import changes as words

NOON = 1_794_744_000.0
CHECKPOINT = Checkpoint(
    id=CheckpointId("k3x9k3x9k3x9"),
    session=SessionId("claude-2a8f"),
    kind="prompt",
    time=NOON,
    snapshot=SnapshotId("a" * 40),
    commit=b"c" * 20,
    complete=True,
    files=2,
    prompt="one\n\tand \x1b[1m two ",
    turn=3,
    agent="claude",
)
TURN = Turn(
    CHECKPOINT.id,
    CHECKPOINT.session,
    3,
    "prompt",
    CHECKPOINT.prompt,
    None,
    CHECKPOINT.id,
    CHECKPOINT.id,
    NOON,
    NOON,
    "ended",
)
ENTRY = TimelineEntry(CHECKPOINT, (), TURN)


def test_the_place_has_all_that_is_known() -> None:
    assert words.place_title(ENTRY) == "turn 3  k3x9k3x9k3x9"
    labelled = ENTRY.replace(checkpoint=CHECKPOINT.replace(label="good\x07"))
    assert words.place_title(labelled) == 'turn 3, "good\\x07"  k3x9k3x9k3x9'
    assert words.place_line(ENTRY, NOON + 7200) == (
        "2h ago (2026-11-15 12:00:00) · claude · session claude-2a8f · ended · complete"
    )
    assert list(words.prompt_lines(ENTRY)) == ["one", "    and \\x1b[1m two"]


def test_a_checkpoint_by_hand_names_no_agent() -> None:
    entry = ENTRY.replace(checkpoint=CHECKPOINT.replace(agent=None, kind="manual"), turn=None)
    assert words.place_title(entry) == "manual  k3x9k3x9k3x9"
    assert words.place_line(entry, NOON) == "now (2026-11-15 12:00:00) · complete"


def test_every_reason_has_words_that_begin_with_it() -> None:
    for reason in coverage.REASONS:
        found = Shown(ENTRY, (NotHeld(b"p\xff", reason),))
        line = list(words.coverage_lines(found))[-1]
        assert line.startswith(f"  p\\xff: {reason}")


def test_a_reason_of_a_later_version_is_shown_as_it_is() -> None:
    found = Shown(ENTRY, (NotHeld(b"p", cast("Any", "eaten\x1b")),))
    assert "  p: eaten\\x1b" in list(words.coverage_lines(found))


def test_nothing_left_out() -> None:
    assert list(words.coverage_lines(Shown(ENTRY, ()))) == [
        "complete: 2 files, and nothing that was wanted is missing",
        "Nothing was left out.",
    ]


def test_a_checkpoint_amid_an_operation_is_called_so_and_not_only_incomplete() -> None:
    amid = CHECKPOINT.replace(amid="0p3r4t10n000", complete=False)
    assert words.badge(amid) == AMID
    lines = list(words.coverage_lines(Shown(ENTRY.replace(checkpoint=amid), ())))
    assert lines[0].startswith(f"{AMID}: ")
    assert not any(line.startswith("incomplete") for line in lines)


def test_late_and_incomplete_are_said() -> None:
    late = CHECKPOINT.replace(late=True, complete=False)
    assert words.badge(late) == "incomplete, late"
    found = Shown(ENTRY.replace(checkpoint=late), (NotHeld(b"p", coverage.UNREADABLE),))
    assert list(words.coverage_lines(found))[:3] == [
        "incomplete: 2 files, and not 1 path that would belong to it",
        words.LATE,
        "not captured:",
    ]
