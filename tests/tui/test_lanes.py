"""Lanes: one column a session, forks joined to where they come from."""

from __future__ import annotations

from takeback.tui.timeline.lines import ABOVE, BELOW, Stop, draw


def drawn(*stops: str, joins: dict[str, tuple[str, str]] | None = None) -> str:
    """Draws rows named like ``a3`` (session a) of two lines; ``-a3`` has one, ``!m`` is loose."""
    made = [
        Stop(
            name.lstrip("-!"),
            name.lstrip("-!")[0],
            "◇" if name[0] == "!" else "●",
            height=1 if name[0] == "-" else 2,
            loose=name[0] == "!",
        )
        for name in stops
    ]
    return "\n".join(line for lines in draw(made, joins or {}) for line in lines)


def same(seen: str, wanted: str) -> None:
    assert [line.rstrip() for line in seen.split("\n")] == [
        line.rstrip() for line in wanted.removeprefix("\n").removesuffix("\n").split("\n")
    ]


def test_one_session_is_a_straight_line() -> None:
    same(
        drawn("a3", "a2", "a1"),
        """
●
│
●
│
●

""",
    )


def test_sessions_that_take_turns_have_a_column_each() -> None:
    same(
        drawn("a2", "b1", "a1"),
        """
●
│
│ ●
│
●

""",
    )


def test_a_column_is_used_again() -> None:
    same(
        drawn("-c1", "-a1", "-b2", "-b1"),
        """
●
●
●
●
""",
    )


def test_a_fork_from_before_a_turn_joins_below_it() -> None:
    same(
        drawn("a3", "b3", "a2", "a1", joins={"b": ("a2", BELOW)}),
        """
●
│
│ ●
│ │
● │
├─╯
●

""",
    )


def test_a_fork_from_the_end_of_a_turn_joins_above_it() -> None:
    same(
        drawn("a3", "b3", "a2", "a1", joins={"b": ("a2", ABOVE)}),
        """
●
│
│ ●
├─╯
●
│
●

""",
    )


def test_a_parent_without_later_turns_goes_on_in_the_line_of_its_fork() -> None:
    same(
        drawn("b3", "-b2", "a2", "a1", joins={"b": ("a2", ABOVE)}),
        """
●
│
●
●
│
●

""",
    )


def test_arms_of_several_forks_meet() -> None:
    joins = {"b": ("a2", ABOVE), "c": ("a4", BELOW)}
    same(
        drawn("a5", "b3", "c2", "a4", "a2", joins=joins),
        """
●
│
│ ●
│ │
│ │ ●
│ │ │
● │ │
├─┴─╯
●

""",
    )


def test_a_fork_on_the_left_and_one_on_the_right() -> None:
    joins = {"b": ("a2", ABOVE), "c": ("a2", ABOVE)}
    same(
        drawn("b1", "a3", "c1", "a2", joins=joins),
        """
●
│
│ ●
│ │
│ │ ●
╰─┼─╯
  ●

""",
    )


def test_an_arm_crosses_a_lane_that_goes_on() -> None:
    same(
        drawn("a3", "b2", "c1", "a2", "b1", joins={"c": ("a2", ABOVE)}),
        """
●
│
│ ●
│ │
│ │ ●
├─┼─╯
● │
  │
  ●

""",
    )


def test_a_row_of_one_line_keeps_its_sign() -> None:
    same(
        drawn("a3", "-b1", "a2", joins={"b": ("a2", ABOVE)}),
        """
●
│
├─●
●

""",
    )


def test_a_loose_row_stands_beside_the_lanes() -> None:
    same(
        drawn("!m", "a2", "!n", "a1"),
        """
◇

●
│
│ ◇
│
●

""",
    )


def test_a_fork_whose_parent_is_not_shown_ends() -> None:
    same(drawn("-b2", "-b1", joins={"b": ("a2", ABOVE)}), "●\n●")


def test_two_thousand_sessions_need_no_more_columns_than_run_beside_each_other() -> None:
    rows = [f"-{chr(0x4E00 + n)}{k}" for n in range(2000) for k in (2, 1)]
    assert set(drawn(*rows).split("\n")) == {"●"}


def test_lanes_that_wait_for_one_place_become_one() -> None:
    same(
        drawn("d1", "c1", "b1", "a2", "a1", joins=dict.fromkeys("bcd", ("a2", BELOW))),
        """
●
│
│ ●
├─╯
│ ●
├─╯
│ ●
╰─┤
  ●

""",
    )


def test_ten_attempts_at_one_turn_are_no_wider_than_two() -> None:
    names = "bcdefghijk"
    for heights in ("", "-"):
        stops = [f"{heights}{name}1" for name in reversed(names)]
        joins = dict.fromkeys(names, ("a2", ABOVE))
        lines = drawn("z9", *stops, "z8", "a2", "a1", joins=joins).split("\n")
        assert max(map(len, lines)) <= 5, lines
        assert sum(line.count("●") for line in lines) == len(names) + 4
