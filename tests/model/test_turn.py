"""How each event moves a session on: what counts as a turn, and what only belongs to one."""

from __future__ import annotations

from typing import Any

import pytest

from takeback.model import event as events
from takeback.model import turn as turns
from takeback.model.event import AgentEvent
from takeback.model.turn import BACKGROUND, IDLE, RUNNING, Moment, follow, forked_from


def event(kind: Any, turn: str | None = None, **fields: Any) -> AgentEvent:
    return AgentEvent(kind=kind, agent="a", session="s", directory="/", turn=turn, **fields)


def walk(*told: AgentEvent) -> list[Moment]:
    """Returns the moments that events make one after the other."""
    last: Moment | None = None
    found = []
    for one in told:
        moment = follow(last, one)
        if moment is not None:
            found.append(moment)
            last = moment
    return found


def places(*told: AgentEvent) -> list[tuple[str, int, str]]:
    return [(m.kind, m.turn, m.phase) for m in walk(*told)]


START = event(events.SESSION_START)


def prompt(turn: str | None = None, **fields: Any) -> AgentEvent:
    return event(events.PROMPT, turn, prompt="p", **fields)


def end(turn: str | None = None, **fields: Any) -> AgentEvent:
    return event(events.TURN_END, turn, **fields)


def test_two_turns_are_numbered_one_after_the_other() -> None:
    assert places(START, prompt("1"), event(events.ROUND_END, "1"), end("1"), prompt("2")) == [
        (turns.SESSION_START, 0, IDLE),
        (turns.PROMPT, 1, RUNNING),
        (turns.ROUND, 1, RUNNING),
        (turns.TURN_END, 1, IDLE),
        (turns.PROMPT, 2, RUNNING),
    ]


def test_a_prompt_typed_while_the_turn_runs_is_a_step_of_it() -> None:
    assert places(prompt("1"), prompt("1"), end("1")) == [
        (turns.PROMPT, 1, RUNNING),
        (turns.STEER, 1, RUNNING),
        (turns.TURN_END, 1, IDLE),
    ]


def test_a_host_without_ids_says_itself_that_a_prompt_steers() -> None:
    assert places(prompt(), prompt(steer=True), prompt()) == [
        (turns.PROMPT, 1, RUNNING),
        (turns.STEER, 1, RUNNING),
        (turns.PROMPT, 2, RUNNING),
    ]


def test_a_turn_that_never_ended_is_unfinished_when_the_next_begins() -> None:
    assert [m.unfinished for m in walk(prompt("1"), prompt("2"), end("2"), prompt("3"))] == [
        False,
        True,
        False,
        False,
    ]


def test_an_end_that_nobody_announced_is_a_command_and_not_counted() -> None:
    assert places(prompt("1"), end("1"), end("9"), prompt("2")) == [
        (turns.PROMPT, 1, RUNNING),
        (turns.TURN_END, 1, IDLE),
        (turns.SHELL, 1, IDLE),
        (turns.PROMPT, 2, RUNNING),
    ]


def test_an_end_told_again_with_the_same_id_is_a_command_too() -> None:
    assert places(prompt("1"), end("1"), end("1"))[-1] == (turns.SHELL, 1, IDLE)


def test_an_end_that_continues_another_is_the_end_of_the_same_turn() -> None:
    assert places(prompt("1"), end("1"), end("1", continues=True))[-1] == (turns.TURN_END, 1, IDLE)


def test_an_unannounced_end_after_an_interrupted_turn_leaves_that_one_unfinished() -> None:
    command = walk(prompt("1"), end("9"))[-1]
    assert (command.kind, command.phase, command.unfinished) == (turns.SHELL, IDLE, True)


def test_work_that_goes_on_after_the_end_belongs_to_the_turn() -> None:
    told = [
        prompt("1"),
        end("1", background=True),
        event(events.ROUND_END, "1", subagent="x"),
        prompt("2", human=False),
        end("2"),
        prompt("3"),
    ]
    assert places(*told) == [
        (turns.PROMPT, 1, RUNNING),
        (turns.TURN_END, 1, BACKGROUND),
        (turns.ROUND, 1, BACKGROUND),
        (turns.ROUND, 1, RUNNING),
        (turns.TURN_END, 1, IDLE),
        (turns.PROMPT, 2, RUNNING),
    ]


def test_background_work_never_reported_belongs_to_the_turn_when_the_next_begins() -> None:
    assert walk(prompt("1"), end("1", background=True), prompt("2"))[-1].unfinished


def test_a_start_in_the_middle_of_a_turn_leaves_it_unfinished() -> None:
    start = walk(prompt("1"), START)[-1]
    assert (start.kind, start.turn, start.phase, start.unfinished) == (
        turns.SESSION_START,
        1,
        IDLE,
        True,
    )


def test_a_start_after_a_compaction_is_in_the_same_turn() -> None:
    assert places(prompt("1"), event(events.SESSION_START, reason="compact")) == [
        (turns.PROMPT, 1, RUNNING),
        (turns.COMPACTION, 1, RUNNING),
    ]


@pytest.mark.parametrize("kind", [events.SESSION_END, events.INTERRUPTED])
def test_an_end_of_nothing_makes_no_place(kind: Any) -> None:
    assert walk(prompt("1"), end("1"), event(kind))[-1].kind == turns.TURN_END


def test_an_interrupted_turn_is_over() -> None:
    assert places(prompt("1"), event(events.INTERRUPTED))[-1] == (turns.TURN_END, 1, IDLE)


def test_a_session_that_ends_in_a_turn_leaves_it_unfinished() -> None:
    last = walk(prompt("1"), event(events.SESSION_END))[-1]
    assert (last.kind, last.phase, last.unfinished) == (turns.SESSION_END, IDLE, True)


@pytest.mark.parametrize("kind", events.EVENTS)
def test_every_event_may_come_first(kind: Any) -> None:
    moment = follow(None, event(kind))
    assert moment is None or moment.turn in (0, 1)


@pytest.mark.parametrize(
    ("kind", "behind"), [(turns.PROMPT, 2), (turns.TURN_END, 3), (turns.ROUND, 3), (turns.STEER, 3)]
)
def test_a_child_has_behind_it_the_turns_before_its_place(kind: Any, behind: int) -> None:
    child = forked_from(Moment(kind, 3, "id", RUNNING))
    assert (child.turn, child.phase, child.turn_id) == (behind, IDLE, None)
