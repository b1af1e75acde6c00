"""The tree of sessions: however long a line of them gets, it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.timeline.sessions import Node
from takeback.words import documents
from takeback.words.sessions import tree_lines
from takeback.words.text import Paint

_LINE = 45


def test_a_session_stands_below_the_turn_that_it_was_cut_from(workspace: Path) -> None:
    with Takeback.open(workspace) as tb:
        session = tb.session(agent="mine", native="s")
        for text in ("one", "two"):
            with session.turn(text, conversation=text.encode()):
                pass
        child = tb.rewind("mine-s/turn:2", scope="conversation").session
        [root] = tb.tree()
        one, two = root.children
        assert [node.session.id for node in two.children] == [child]
        assert one.children == ()


@pytest.mark.slow
def test_who_takes_itself_back_all_day_has_a_tree_that_can_be_read(workspace: Path) -> None:
    """Each session is cut from the one before: nobody could read, or parse, so deep a tree."""
    with Takeback.open(workspace) as tb:
        native = "s"
        for number in range(_LINE):
            session = tb.session(agent="mine", native=native)
            with session.turn(f"try {number}", conversation=b"said\n"):
                pass
            child = tb.rewind(f"{session.id}/turn:1", scope="conversation").session or ""
            native = child.removeprefix("mine-")
            assert native
        roots = tb.tree()
        everyone = {entry.session.id for entry in tb.sessions()}
        assert len(everyone) == _LINE + 1
        assert {node.session.id for node in _all(roots)} == everyone
        assert [root.session.parent is None for root in roots] == [True, False]
        assert documents.node(roots[1])["parent"] == roots[1].session.parent
        lines = list(tree_lines(roots, Paint(on=False), now=0))
        assert any(line.endswith(f"  from {roots[1].session.parent}") for line in lines)


def _all(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _all(node.children)
