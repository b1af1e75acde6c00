"""The Python API: one page, each line of it the engine's own."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from takeback import Takeback
from takeback.app.engine import Engine
from takeback.errors import Expired, UsageError
from takeback.model.coverage import Overrides
from takeback.rewind.request import Keeping

AT_MOST = 55


def public(kind: type) -> dict[str, Any]:
    return {
        name: value
        for part in reversed(kind.__mro__[:-1])
        for name, value in vars(part).items()
        if not name.startswith("_")
    }


def plain(value: Any) -> Any:
    """Returns the function behind a method, a property or a guard."""
    function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    assert function is not None
    return inspect.unwrap(function)


def test_the_page_is_short_and_stands_alone() -> None:
    assert Takeback.__mro__ == (Takeback, object)
    assert len(public(Takeback)) <= AT_MOST


def test_each_method_is_that_of_the_engine() -> None:
    for name, value in public(Takeback).items():
        mine, its = plain(value), plain(inspect.getattr_static(Engine, name))
        assert inspect.getdoc(mine) == inspect.getdoc(its) or name == "open"
        known = inspect.signature(its).parameters
        for parameter in inspect.signature(mine).parameters.values():
            assert parameter.name in known, name
            assert parameter.default == known[parameter.name].default, name
            assert parameter.kind == known[parameter.name].kind, name


def test_what_only_faces_need_is_not_on_the_page() -> None:
    for name in ("hears_agents", "keep_house", "timeline_mark", "browse", "choices", "is_news"):
        assert hasattr(Engine, name)
        assert not hasattr(Takeback, name)


def test_a_relative_path_is_from_where_the_workspace_was_opened(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "lib").mkdir()
    (workspace / "lib" / "a.txt").write_text("1\n")
    with Takeback.open(workspace / "lib") as tb:
        made = tb.checkpoint().checkpoint
        monkeypatch.chdir(tmp_path)
        assert tb.cat(made, "a.txt") == b"1\n"
        assert tb.cat(made, workspace / "lib" / "a.txt") == b"1\n"  # type: ignore[arg-type]
        assert tb.cat(made, "../lib/a.txt") == b"1\n"
        with pytest.raises(UsageError, match="outside the workspace"):
            tb.plan(made, ["../../elsewhere"])


def test_what_a_prune_would_do_is_told_first_and_can_be_brought_back(workspace: Path) -> None:
    with Takeback.open(workspace) as tb:
        for number in (1, 2, 3):
            with tb.session("mine", "s1").turn(f"turn {number}"):
                (workspace / "a.txt").write_text(f"{number}\n")
        planned = tb.plan_prune(["turn:2"])
        would = planned.outlook()
        assert len(would.dropped) == 2
        assert would.operation is None
        assert tb.cat("turn:2", "a.txt") == b"1\n"
        done = tb.prune(planned)
        assert done.dropped == would.dropped
        with pytest.raises(Expired):
            tb.cat("turn:2", "a.txt")
        [trash] = tb.trash()
        assert trash.id == done.operation
        assert set(tb.restore().checkpoints) == set(done.dropped)
        assert tb.cat("turn:2", "a.txt") == b"1\n"
        assert tb.trash() == []


def test_two_ways_are_compared_one_is_taken_and_the_turn_that_broke_it_is_found(
    workspace: Path,
) -> None:
    text = workspace / "text"
    lines = [f"line {number}\n" for number in range(1, 10)]
    text.write_text("".join(lines))

    def change(number: int, words: str) -> None:
        now = text.read_text().splitlines(keepends=True)
        now[number - 1] = f"{words}\n"
        text.write_text("".join(now))

    with Takeback.open(workspace) as tb:
        one = tb.session("mine", "one")
        with one.turn("first"):
            change(1, "one")
        with one.turn("breaks it"):
            change(5, "broken")
        tb.rewind("one/turn:1", scope="files")
        with tb.session("mine", "two").turn("another way"):
            change(9, "nine")

        found = tb.compare("one", "two")
        assert [(path.path, path.same) for path in found.paths] == [(b"text", False)]

        planned = tb.plan_apply("one/turn:1")
        assert [entry.path for entry in planned.writes] == [b"text"]
        assert text.read_text() == "".join([*lines[:8], "nine\n"])
        tb.apply("one/turn:1", shown=planned)
        assert text.read_text() == "".join(["one\n", *lines[1:8], "nine\n"])
        tb.undo()

        told = tb.bisect("one/turn:1.end", "one/turn:2.end", ["grep", "-q", "line 5", "text"])
        assert [place.turn.turn.prompt for place in told.broken if place.turn] == ["breaks it"]
        assert not tb.reset_bisection()
        with pytest.raises(UsageError, match="command"):
            tb.bisect("one/turn:1", "one/turn:2", [])


def test_a_turn_is_brought_into_another_workspace(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "theirs").write_text("theirs\n")
    with Takeback.open(workspace) as tb, Takeback.open(other) as there:
        with tb.session("mine", "one").turn("add a file"):
            (workspace / "new").write_text("new\n")
        there.apply(tb.brought("one/turn:1", elsewhere=True))
        assert (other / "new").read_text() == "new\n"
        there.undo()
        assert sorted(path.name for path in other.iterdir()) == ["theirs"]


def test_what_others_did_since_is_kept_if_that_is_said(workspace: Path) -> None:
    with Takeback.open(workspace) as tb:
        with tb.session("mine", "one").turn("first"):
            (workspace / "one").write_text("one\n")
        with tb.session("other", "two").turn("me too"):
            (workspace / "two").write_text("two\n")
        (workspace / "typed").write_text("typed\n")
        others = {"two", "typed"}
        for kept, left in (("all others", others), ("mine", others), ("edits", {"typed"})):
            keeping = Keeping(kept)  # type: ignore[arg-type]
            overrides = Overrides(overwrite_others=True)
            tb.rewind("one/turn:1", scope="files", keeping=keeping, overrides=overrides)
            assert {path.name for path in workspace.iterdir()} - {".git"} == left, kept
            tb.undo()
        with pytest.raises(UsageError, match="cannot be kept"):
            tb.plan("one/turn:1", keeping=Keeping("theirs"))  # type: ignore[arg-type]
