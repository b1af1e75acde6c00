"""The rows of the list: what is a row, where each begins, which can be chosen."""

from __future__ import annotations

from typing import Any

from takeback.model.row import Spot, TimelineRow
from takeback.timeline.timeline import Browsed
from takeback.tui.timeline.lines import GONE, HERE, PLACE, STEP, TURN, build


def row(id: str, place: int, session: str = "a", kind: Any = "prompt", **more: Any) -> TimelineRow:
    turn = kind == "prompt"
    made = TimelineRow(id, place, session, kind, 0.0, place if turn else None)
    if turn:
        made = made._replace(number=place, state="ended", before=id, after=f"{id} end")
    return made._replace(**more)


def browsed(*rows: TimelineRow, **more: Any) -> Browsed:
    fields: dict[str, Any] = {
        "rows": rows,
        "sessions": (),
        "origins": {},
        "here": None,
        "gone": {},
        "mark": "",
    }
    return Browsed(**{**fields, **more})


def test_turns_have_two_lines_and_what_belongs_to_them_one() -> None:
    rows = build(browsed(row("t2", 3), row("s", 2, kind="steer"), row("t1", 1)))
    assert [len(one.graph) for one in rows.rows] == [2, 1, 2]
    assert rows.tops == [0, 2, 3, 5]
    assert rows.height == 5


def test_a_label_gives_any_place_two_lines() -> None:
    rows = build(browsed(row("e", 2, kind="turn end", label="good")))
    assert [len(one.graph) for one in rows.rows] == [2]


def test_outside_edits_are_thin_rows_of_their_own_below_their_turn() -> None:
    rows = build(browsed(row("t2", 2, outside=3), row("t1", 1)))
    assert [(one.item.id, one.outside, len(one.graph)) for one in rows.rows] == [
        ("t2", False, 2),
        ("t2", True, 1),
        ("t1", False, 2),
    ]
    assert rows.indexes == {"t2": 0, "t1": 2}


def test_a_line_belongs_to_a_row() -> None:
    rows = build(browsed(row("t2", 2, outside=1), row("t1", 1)))
    assert [rows.at_line(line) for line in range(-1, 6)] == [
        None,
        (0, 0),
        (0, 1),
        (1, 0),
        (2, 0),
        (2, 1),
        None,
    ]


def test_a_step_wraps_and_leaves_thin_rows_out() -> None:
    rows = build(browsed(row("t2", 2, outside=1), row("t1", 1, outside=1)))
    assert [rows.step(0, 1), rows.step(2, 1), rows.step(0, -1)] == [2, 0, 2]


def test_the_sign_says_what_a_row_is() -> None:
    rows = build(
        browsed(
            row("t4", 6),
            row("t3", 5),
            row("s", 4, kind="steer"),
            row("m", 3, session="workspace", kind="manual"),
            row("t1", 1),
            here=("t3", "after"),
            gone={"t1": "taken back", "s": "taken back"},
        )
    )
    signs = [one.graph[0].replace("│", "").strip() for one in rows.rows]
    assert signs == [TURN, HERE, STEP, PLACE, GONE]


def test_a_fork_joins_where_it_left() -> None:
    parents = [row("p3", 5), row("p2", 3), row("p1", 1)]
    before = build(browsed(row("c1", 7, "b"), *parents, origins={"b": Spot(3, "a", "prompt", 2)}))
    assert [one.graph[-1] for one in before.rows] == ["│", "│ │", "╰─┤", ""]
    after = build(browsed(row("c1", 7, "b"), *parents, origins={"b": Spot(4, "a", "turn end", 2)}))
    assert [one.graph[-1] for one in after.rows] == ["│", "╰─┤", "  │", ""]


def test_a_fork_of_something_that_is_no_row_joins_at_the_row_before_it() -> None:
    rows = build(
        browsed(row("c1", 7, "b"), row("p1", 1), origins={"b": Spot(0, "a", "session start", 0)})
    )
    assert [one.graph[-1] for one in rows.rows] == ["", ""]


def test_a_part_is_drawn_by_itself() -> None:
    everything = browsed(row("c1", 7, "b"), row("p2", 3), row("p1", 1))
    rows = build(everything, [everything.rows[2]])
    assert [one.item.id for one in rows.rows] == ["p1"]
    assert build(everything, []).height == 0
