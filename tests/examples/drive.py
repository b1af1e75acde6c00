"""Drives an example as a program would: two tasks at once, a rewind, an undo, a redo, and on.

    python drive.py DIRECTORY_OF_THE_EXAMPLE

It runs in a process of its own, where Python finds the framework. What the model was told in each
request is the proof: it is the framework that sent it.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from takeback import AsyncTakeback, Takeback
from takeback.rewind.request import Keeping
from tests.support.git import new_repository


def prompts(name: str, *numbers: object) -> list[str]:
    return [f"write {name} {number}" for number in numbers]


async def tasks(ask: Any, seen: list[list[str]]) -> None:
    """Two tasks of one loop in one workspace; only the work of one of them is taken back."""

    async def task(session: Any, name: str) -> list[Any]:
        return [await ask(session, prompt) for prompt in prompts(name, 1, 2, 3)]

    async with AsyncTakeback.open(".") as tb:
        one, other = tb.session("example"), tb.session("example")
        mine: list[Any]
        mine, _ = await asyncio.gather(task(one, "a.txt"), task(other, "b.txt"))
        assert [line[-1].split()[1] for line in seen] != sorted(
            line[-1].split()[1] for line in seen
        )
        three = one.conversation

        done = await tb.rewind(mine[2].before, keeping=Keeping("all others"))
        assert (Path("a.txt").read_text(), Path("b.txt").read_text()) == ("2", "3")
        two = (await tb.resume(done)).conversation
        assert two == mine[1].conversation != three

        undone = await tb.undo()
        assert (Path("a.txt").read_text(), Path("b.txt").read_text()) == ("3", "3")
        assert (await tb.resume(undone)).conversation == three

        again = await tb.resume(await tb.redo())
        assert again.conversation == two
        await asyncio.gather(ask(again, "write a.txt again"), ask(other, "write b.txt on"))
        last = {line[-1]: line for line in seen}
        assert last["write a.txt again"] == prompts("a.txt", 1, 2, "again"), last
        assert last["write b.txt on"] == prompts("b.txt", 1, 2, 3, "on"), last
        assert (Path("a.txt").read_text(), Path("b.txt").read_text()) == ("again", "on")

        first = await tb.rewind(mine[0].before, keeping=Keeping("all others"))
        assert (await tb.resume(first)).conversation == b""
        assert (Path("a.txt").exists(), Path("b.txt").read_text()) == (False, "on")
        assert (await tb.verify(read_data=True)).problems == ()


def threads(ask: Any, seen: list[list[str]]) -> None:
    """Two threads with a repository each, for an agent that is not asynchronous."""

    def task(name: str) -> None:
        directory = Path(name)
        directory.mkdir()
        new_repository(directory)
        file, other = directory / f"{name}.txt", directory / "kept.txt"
        other.write_text("kept")
        with Takeback.open(directory) as tb:
            session = tb.session("example")
            turns = [ask(session, prompt, directory) for prompt in prompts(file.name, 1, 2, 3)]
            three = session.conversation
            back = tb.resume(tb.rewind(turns[2].before))
            assert (file.read_text(), back.conversation) == ("2", turns[1].conversation)
            undone = tb.resume(tb.undo())
            assert (file.read_text(), undone.conversation) == ("3", three)
            again = tb.resume(tb.redo())
            ask(again, f"write {file.name} again", directory)
            [last] = [line for line in seen if line[-1] == f"write {file.name} again"][:1]
            assert last == prompts(file.name, 1, 2, "again"), last
            step = next(
                one for one in tb.checkpoints(everything=True) if one.checkpoint.kind == "round"
            )
            assert b"again" in tb.conversation(step.checkpoint)
            tb.rewind(turns[0].before)
            assert (file.exists(), other.read_text()) == (False, "kept")
            assert tb.verify(read_data=True).problems == ()

    async def both() -> None:
        await asyncio.gather(*(asyncio.to_thread(task, name) for name in ("a", "b")))

    asyncio.run(both())


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    example, offline = importlib.import_module("agent"), importlib.import_module("offline")
    if inspect.iscoroutinefunction(example.ask):
        asyncio.run(tasks(example.ask, offline.seen))
    else:
        threads(example.ask, offline.seen)
    sys.stdout.write("all of it\n")
