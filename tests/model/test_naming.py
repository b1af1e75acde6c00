"""Names of checkpoints, as far as the text alone tells."""

from __future__ import annotations

from takeback.app.beginning import means_one_store
from takeback.model.naming import is_place, needs_session

PLACES = ("@", "@~2", "turn:3", "turn:3.2", "turn:3.end", "green")


def test_a_place_means_something_within_a_session_and_is_none_itself() -> None:
    for name in PLACES:
        assert (is_place(name), needs_session(name)) == (True, True), name
        assert (is_place(f"a/b/{name}"), needs_session(f"a/b/{name}")) == (True, False), name
    for name in ("mine", "a/b", "greenish", "7k2m", "before the turn:3"):
        assert (is_place(name), needs_session(name)) == (False, False), name


def test_no_place_is_looked_for_in_another_store() -> None:
    """Every store has its own turns and its own newest checkpoint: such a name cannot tell them."""
    assert [name for name in PLACES if means_one_store(name, 0.0)] == []
    assert means_one_store("7k2mabcd", 0.0)
    assert not means_one_store("2h", 0.0)
