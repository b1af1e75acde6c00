"""Refusals as questions, and what is said when something went wrong."""

from __future__ import annotations

from typing import Any

import pytest

from takeback.errors import Bug, InUse, RecoveredInstead, Refused, WriteFailed
from takeback.model.checkpoint import Checkpoint, Resume
from takeback.model.coverage import Overrides
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.model.operation import Goal, LeftAlone, Plan, Refusal
from takeback.words import choices, outcomes, plans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.coverage import Waiver
    from takeback.model.operation import RefusalCode

TARGET = Checkpoint(
    CheckpointId("k4m7p2xq9tcd"), SessionId("s"), "manual", 0.0, SnapshotId("00"), b"", True, 1
)
WAIVERS: dict[RefusalCode, tuple[Waiver, ...]] = {
    "during_turn": ("during_turn",),
    "others": ("keep_others", "overwrite_others"),
    "mass_delete": ("mass_delete",),
    "during_git": ("during_git",),
    "other_branch": ("other_branch",),
}


def a_plan(*refused: Refusal, **fields: object) -> Plan:
    return Plan(Goal(TARGET.snapshot, checkpoint=TARGET), (), (), refused=refused).replace(**fields)


@pytest.mark.parametrize("code", WAIVERS)
def test_every_refusal_that_can_be_waived_is_a_question_that_sets_one_field(code: Any) -> None:
    found = Refusal(code, "something is so", WAIVERS[code])
    plan = a_plan(found)
    asked = plans.refusal(found, plan)
    assert "--" not in asked.title + asked.consequence
    assert plans.can_be_answered(plan)
    for answer in asked.answers:
        assert getattr(Overrides(**{answer.field: True}), answer.field)
        assert answer.field in plans.ANSWERABLE
        assert next(plans.agreed_lines([answer.field])) == "You agreed:"
    assert (asked.word is not None) == (code == "mass_delete")


@pytest.mark.parametrize("code", ["inside_turn", "colliding_names", "disk_space", "one day"])
def test_a_refusal_without_waivers_is_waived_by_nothing(code: Any) -> None:
    plan = a_plan(Refusal(code, "it cannot be"))
    assert plans.refusal(plan.refused[0], plan).answers == ()
    assert not plans.can_be_answered(plan)
    assert list(plans.refused_lines(plan)) == [
        "refused: It cannot be.",
        "It cannot be done now.",
    ]


def test_an_empty_plan_says_whether_that_is_as_it_should_be() -> None:
    assert "already at" in outcomes.nothing_to_do(a_plan())
    ignored = LeftAlone(b".env", "ignored", by_rule=True)
    assert "already at" in outcomes.nothing_to_do(a_plan(left_alone=(ignored,)))
    broken = LeftAlone(b"a", "cannot be restored")
    assert "cannot go to" in outcomes.nothing_to_do(a_plan(left_alone=(broken,)))


def test_trouble_says_what_state_the_files_are_in() -> None:
    full = WriteFailed("the rewind failed: No space left", hint="free some space")
    assert list(choices.trouble_lines(full, interrupted=False)) == [
        "The rewind failed: No space left.",
        "No file was changed.",
        "Free some space.",
    ]
    lines = list(choices.trouble_lines(full, interrupted=True))
    assert choices.INTERRUPTED in lines
    assert "No file was changed." not in lines
    recovered = RecoveredInstead("it was recovered", hint="")
    assert list(choices.trouble_lines(recovered, interrupted=False)) == ["It was recovered."]
    locked = InUse("it is in use by \x1b[31mme", hint="wait")
    assert "\x1b" not in "".join(choices.trouble_lines(locked, interrupted=False))
    bug = list(choices.trouble_lines(Bug(KeyError("x\n"), "/f"), interrupted=False))
    assert bug[0] == "This is a bug in takeback: KeyError: 'x\\n'."
    assert bug[1:] == [
        "Report it, with what stands last in /f.",
        "What is kept is not touched by it.",
    ]
    assert "No file was changed." not in bug, "nobody knows"
    flags = Refused("no", hint="to do it all the same: --during-turn", flag="--during-turn")
    assert "--" not in "".join(choices.trouble_lines(flags, interrupted=False))


def test_why_an_agent_is_not_resumed() -> None:
    known = Resume(("claude", "--resume", "x y"), "/home/dev/a b")
    assert choices.no_resume(known, found=True) is None
    assert choices.no_resume(known, found=False) == "claude is not on the PATH"
    assert choices.no_resume(known.replace(argv=()), found=False) is not None
    assert choices.no_resume(None, found=False) is not None
    assert choices.resume_line(known) == "cd '/home/dev/a b' && claude --resume 'x y'"


def test_progress() -> None:
    assert choices.progress("Rewinding…", None) == "Rewinding…"
    assert choices.progress("Rewinding…", ("writing", 3, 4000)) == "Rewinding… writing 3 of 4,000"
    assert choices.progress("Rewinding…", ("reading", 3, 0)) == "Rewinding… reading 3"
    assert choices.progress("x", None, leaving=True).endswith("takeback ends when it is done.")
