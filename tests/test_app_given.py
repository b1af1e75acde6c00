"""What a program gives to the Python API: values that methods returned, and what is no value."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from takeback import AsyncTakeback, Takeback
from takeback.app.async_api import AsyncAgentSession, AsyncAgentTurn
from takeback.app.given import fitting
from takeback.app.session import AgentSession, AgentTurn
from takeback.errors import NoSuchCheckpoint, TakebackError, UsageError
from takeback.model.event import AgentEvent


@pytest.fixture
def tb(workspace: Path) -> Iterator[Takeback]:
    (workspace / "a").write_text("0\n")
    with Takeback.open(workspace) as opened:
        yield opened


def turn(tb: Takeback, workspace: Path, number: int) -> AgentTurn:
    """Plays a turn that writes a file of its own."""
    with tb.session("mine", "s1").turn(f"turn number {number}") as played:
        (workspace / f"{number}").write_text("made\n")
    return played


def there(workspace: Path) -> set[str]:
    return {path.name for path in workspace.iterdir()} & {"1", "2", "3"}


def test_a_turn_is_reverted_that_is_named_alone_or_given_as_a_value(
    tb: Takeback, workspace: Path
) -> None:
    first, second = turn(tb, workspace, 1), turn(tb, workspace, 2)
    entry = tb.checkpoints()[-1]
    assert entry.turn is not None
    for given in ("turn:1", first, first.before, first.after, [first.before], entry, entry.turn):
        assert not tb.plan_revert(given).is_empty, given
        tb.revert(given)
        assert there(workspace) == {"2"}, given
        tb.undo()
    tb.revert([first, "turn:2"])
    assert there(workspace) == set()
    tb.undo()
    assert tb.brought(second).owner == "mine-s1"


def test_a_rewind_goes_to_before_a_turn_and_to_what_a_method_returned(
    tb: Takeback, workspace: Path
) -> None:
    first, made = turn(tb, workspace, 1), tb.checkpoint("one")
    turn(tb, workspace, 2)
    entry = next(one for one in tb.checkpoints() if one.turn is not None)
    assert entry.turn is not None
    shown = tb.show(first)
    for given, left in (
        (first, set()),
        (shown, set()),
        (made, {"1"}),
        (entry, {"1"}),
        (entry.turn, {"1"}),
    ):
        tb.plan(given)
        tb.rewind(given, scope="files")
        assert there(workspace) == left, given
        tb.undo()
    tb.rewind(first, "2", scope="files")  # one path alone
    assert there(workspace) == {"1"}


def test_a_loop_may_give_its_turns_too(workspace: Path) -> None:
    (workspace / "a").write_text("0\n")

    async def main() -> set[str]:
        async with AsyncTakeback.open(workspace) as tb:
            async with tb.session("mine").turn("one") as played:
                (workspace / "1").write_text("made\n")
            await tb.revert(played)
            await tb.undo()
            await tb.rewind(played)
            with pytest.raises(UsageError, match="checkpoint cannot be of type int"):
                await tb.rewind(5)  # type: ignore[arg-type]
            return there(workspace)

    assert asyncio.run(main()) == set()


def test_a_mistake_is_told_with_what_fits(tb: Takeback) -> None:
    with pytest.raises(UsageError, match="checkpoint cannot be of type list") as raised:
        tb.rewind(["turn:1"])  # type: ignore[arg-type]
    assert raised.value.hint == "give a name (turn:3, @, a label, an id), a checkpoint, or a turn"
    with pytest.raises(UsageError, match="keeping cannot be of type str") as raised:
        tb.plan("@", keeping="edits")  # type: ignore[arg-type]
    assert raised.value.hint == "give Keeping, of takeback.rewind.request"
    with pytest.raises(UsageError, match="command cannot be of type str"):
        tb.bisect("@", "@", "make test")
    with pytest.raises(NoSuchCheckpoint, match="no checkpoint 'nosuch'"):
        tb.revert("nosuch")
    with pytest.raises(TypeError, match="nosuch"):
        tb.rewind("@", nosuch=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="checkpoint"):
        tb.rewind()  # type: ignore[call-arg]


class Nothing:
    """A value of no kind that anything takes."""


_WRONG: tuple[object, ...] = (
    Nothing(),
    5,
    None,
    b"\xff",
    "\0",
    1.5,
    True,
    [Nothing()],
    {},
    1 << 70,
)
_NEEDED: dict[str, object] = {
    "checkpoint": "@",
    "name": "@",
    "old": "@",
    "good": "@",
    "bad": "@",
    "a": ".",
    "b": ".",
    "turns": "turn:1",
    "turn": "turn:1",
    "way": "from",
    "command": ["true"],
    "path": "a",
    "agent": "mine",
    "payload": {},
    "prompt": "do it",
    "kind": "round_end",
    "session": "mine",
    "event": AgentEvent(kind="round_end", agent="mine", session="s1", directory="/"),
}
_ENDS = {"purge", "prune", "forget", "close"}
"""What needs a plan of its own, or takes nothing."""


def methods(page: type) -> list[tuple[str, str]]:
    """Returns every parameter of every public method, each with its method."""
    return [
        (name, one.name)
        for name, method in inspect.getmembers(page, callable)
        if not name.startswith("_") and name not in (*_ENDS, "open", "workspaces")
        for one in inspect.signature(method).parameters.values()
        if one.name != "self" and one.kind is not one.VAR_KEYWORD
    ]


def call(on: object, name: str, parameter: str, value: object) -> object:
    """Calls a method with that value, and something fitting where it cannot do without."""
    method: Callable[..., Any] = getattr(on, name)
    options: dict[str, object] = {}
    for one in inspect.signature(method).parameters.values():
        if one.kind is one.VAR_POSITIONAL:
            return method(value) if one.name == parameter else method("x", **{parameter: value})
        if one.name != parameter and one.default is one.empty and one.kind is not one.VAR_KEYWORD:
            options[one.name] = _NEEDED.get(one.name)
    return method(**{**options, parameter: value})


@pytest.mark.parametrize("name", sorted({name for name, _ in methods(Takeback)}))
def test_no_value_of_any_kind_is_taken_for_a_bug(tb: Takeback, workspace: Path, name: str) -> None:
    turn(tb, workspace, 1)
    codes = {}
    for parameter in [one for method, one in methods(Takeback) if method == name]:
        for value in _WRONG:
            try:
                call(tb, name, parameter, value)
            except TakebackError as error:
                codes[parameter, repr(value)] = error.code
    assert "bug" not in codes.values(), codes


@pytest.mark.parametrize("page", [AgentSession, AgentTurn])
def test_no_value_given_to_a_turn_is_taken_for_a_bug(tb: Takeback, page: type) -> None:
    session, codes = tb.session("mine", "s1"), {}
    with session.turn("do it") as played:
        for name, parameter in methods(page):
            for value in _WRONG if parameter != "conversation" else ():
                try:
                    call(session if page is AgentSession else played, name, parameter, value)
                except TakebackError as error:
                    codes[name, parameter, repr(value)] = error.code
    assert "bug" not in codes.values(), codes


def test_what_is_awaited_looks_at_the_same_as_what_is_not() -> None:
    """Both know a kind for each parameter, or they could not have been made."""
    for awaited, plain in (
        (AsyncTakeback, Takeback),
        (AsyncAgentSession, AgentSession),
        (AsyncAgentTurn, AgentTurn),
    ):
        missing = set(methods(plain)) - set(methods(awaited))
        assert missing <= {("event", "kind")}, missing


def test_what_a_hint_names_is_where_it_says() -> None:
    told = re.findall(r'"(\w+), of (takeback[\w.]+)"', Path(inspect.getfile(fitting)).read_text())
    assert len(told) > 4
    assert [one for one in told if not hasattr(import_module(one[1]), one[0])] == []
