"""``AsyncTakeback``: all that ``Takeback`` has, awaited, by many tasks; the loop never waits."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from takeback import AsyncTakeback, Takeback
from takeback.app.async_api import AsyncAgentSession, AsyncAgentTurn
from takeback.app.session import AgentSession, AgentTurn
from takeback.errors import CaptureFailed, NotAWorkspace, Refused, UsageError
from takeback.model.coverage import Overrides
from takeback.model.event import EDIT, ToolCall
from tests.support.lanes import shares
from tests.support.processes import lock_holder
from tests.test_app_api import plain, public

T = TypeVar("T")
TASKS, TURNS = 8, 4
TWINS = [(Takeback, AsyncTakeback), (AgentSession, AsyncAgentSession), (AgentTurn, AsyncAgentTurn)]
ALONE = {"outlook", "give_up", "alone", "event"}
"""What only one of two twins has: what is asked of a plan, and what only takeback itself calls."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs it on a loop that says so if anything but waiting takes long."""

    async def watched() -> T:
        return await asyncio.wait_for(work, 120)

    return asyncio.run(watched())


@pytest.mark.parametrize(("one", "other"), TWINS)
def test_each_method_has_a_twin_with_the_same_arguments_and_words(one: type, other: type) -> None:
    theirs, ours = public(one), public(other)
    assert {name for name in theirs if name != "engine"} - ALONE <= set(ours)
    for name in set(theirs) - {"engine", "open"} - ALONE:
        mine, its = plain(ours[name]), plain(theirs[name])
        assert inspect.signature(mine).parameters == inspect.signature(its).parameters, name
        is_awaited = inspect.iscoroutinefunction(getattr(ours[name], "__func__", ours[name]))
        assert is_awaited or name in ("session", "turn") or isinstance(ours[name], property), name
        if name not in ("close", "turn", "end"):
            assert inspect.getdoc(mine) == inspect.getdoc(its), name
    opened = inspect.signature(other.open).parameters if hasattr(other, "open") else None
    assert opened is None or opened == inspect.signature(Takeback.open).parameters


def test_only_who_asks_for_it_pays_for_asyncio() -> None:
    program = (
        "import sys, takeback; from takeback import Takeback; print('asyncio' in sys.modules)\n"
        "from takeback import AsyncTakeback; print('asyncio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == [b"False", b"True"]


def test_a_turn_is_taken_back_with_its_messages_and_that_too(workspace: Path) -> None:
    async def work() -> None:
        file = workspace / "a.txt"
        async with AsyncTakeback.open(workspace) as tb:
            session = tb.session(agent="mine")
            for number in (1, 2):
                async with session.turn(f"turn {number}") as turn:
                    assert turn.messages == [{"n": n} for n in range(1, number)]
                    file.write_text(f"{number}\n")
                    await turn.round([ToolCall("edit", EDIT, ("a.txt",))])
                    turn.messages = [*turn.messages, {"n": number}]
            assert (await tb.plan(turn.before)).files == 1
            back = await tb.resume(await tb.rewind(turn.before))
            assert back.conversation == b'{"n": 1}\n'
            assert (back.native != session.native, back.agent) == (True, "mine")
            assert file.read_text() == "1\n"
            again = await tb.resume(await tb.undo())
            assert again.native == session.native
            assert again.conversation == b'{"n": 1}\n{"n": 2}\n'
            assert file.read_text() == "2\n"
            assert await tb.cat("turn:2", "a.txt") == b"1\n"
            assert (await tb.show(turn.before)).tools == (("edit", 1),)
            assert not await tb.interrupted()
            assert tb.root == str(workspace).encode()

    run(work())


def test_tasks_share_one_and_nothing_is_lost(workspace: Path) -> None:
    async def turns(tb: AsyncTakeback, name: int) -> Sequence[str]:
        session, made = tb.session("mine", f"s{name}"), []
        for number in range(TURNS):
            async with session.turn(f"{name}: {number}") as turn:
                file = workspace / f"{name}.txt"
                file.write_text(f"{number}\n")
                await asyncio.gather(*(turn.round() for _ in range(2)))
                turn.messages = [*turn.messages, number]
            shown, kept = await asyncio.gather(
                tb.checkpoints(session=f"s{name}"), tb.cat(turn.after, file.name)
            )
            assert len(shown) == number + 1  # what was done is seen by who looks next
            assert kept == b"%d\n" % number
            made.append(turn.before.id)
        return made

    async def work() -> None:
        async with AsyncTakeback.open(workspace) as tb:
            found = await asyncio.gather(*(turns(tb, name) for name in range(TASKS)))
            for name, made in enumerate(found):
                for number, id in enumerate(made):
                    assert (await tb.find(f"s{name}/turn:{number + 1}")).id == id
                said = (await tb.resume(f"s{name}")).conversation
                assert said == b"".join(b"%d\n" % number for number in range(TURNS))
            overrides = Overrides(overwrite_others=True, mass_delete=True)
            await tb.rewind("s0/turn:1", scope="files", overrides=overrides)
            await tb.undo()
            assert (await tb.verify(read_data=True)).problems == ()
            assert {entry.turns for entry in await tb.sessions()} == {TURNS}

    run(work())


def test_the_loop_goes_on_and_others_look_while_one_works(workspace: Path) -> None:
    inside, over = threading.Event(), threading.Event()

    class Reporter:
        def progress(self, what: str, done: int, total: int) -> None:
            inside.set()
            assert over.wait(60)

        def note(self, text: str) -> None: ...

    async def work() -> None:
        async with AsyncTakeback.open(workspace) as opened:
            made = (await opened.checkpoint("first")).checkpoint
        for number in range(200):
            (workspace / f"{number}.txt").write_text(f"{number}\n")
        async with AsyncTakeback.open(workspace, reporter=Reporter()) as tb:
            assert len(await tb.checkpoints()) == 1
            working = asyncio.create_task(tb.verify(read_data=True))
            assert await asyncio.to_thread(inside.wait, 60)
            assert (await tb.find("first")).id == made.id
            assert await tb.cat("first", "a.txt") == b"0\n"
            assert not working.done()
            over.set()
            await working

    (workspace / "a.txt").write_text("0\n")
    run(work())


def test_the_loop_does_not_wait_for_a_turn_that_waits_for_another_process(
    workspace: Path,
) -> None:
    async def work() -> None:
        async with AsyncTakeback.open(workspace) as tb:
            session = tb.session("mine")
            await session.tell("session_start")
            with lock_holder(f"{tb.store_directory}/lock"):
                begun = session.turn("one")
                waiting = asyncio.create_task(begun.__aenter__())
                await asyncio.sleep(0.05)
                beside = tb.session("mine").turn("two", conversation=[1])
                beside.messages = [*beside.messages, 2]
                assert (session.id, begun.conversation, begun.note) == (session.id, b"", None)
                with pytest.raises(CaptureFailed):
                    begun.before  # noqa: B018
                assert not waiting.done()
            await waiting
            await begun.end()
            assert begun.after.turn == 1

    run(work())


@shares(3)
def test_wherever_a_turn_is_cancelled_it_is_ended_and_the_next_one_begins(
    workspace: Path, share: int
) -> None:
    """The checkpoint before it, its block, the checkpoint after it: a task may end in each."""
    (workspace / "a.txt").write_text("0\n")

    async def work() -> None:
        async with AsyncTakeback.open(workspace) as tb:
            session = tb.session("mine")

            async def turn(number: int) -> None:
                async with session.turn(f"turn {number}") as turn:
                    (workspace / "a.txt").write_text(f"{number}\n")
                    await turn.round()
                    turn.messages = [*turn.messages, number]

            for number in range(15):
                task = asyncio.create_task(turn(number))
                await asyncio.sleep(0.003 * (3 * number + share))
                task.cancel()
                await asyncio.wait([task])
            async with session.turn("the last") as last:
                assert [entry.newest.state for entry in await tb.sessions() if entry.newest] == [
                    "running"
                ]
                told = last.messages
                assert told == sorted(told)
            turns = await tb.checkpoints()
            assert {one.turn.state for one in turns if one.turn is not None} == {"ended"}
            await tb.rewind("turn:1", scope="files")
            assert (workspace / "a.txt").read_text() == "0\n"
            assert (await tb.verify(read_data=True)).problems == ()

    run(work())


def test_a_cancelled_operation_is_finished_in_its_thread(workspace: Path) -> None:
    (workspace / "a.txt").write_text("0\n")

    async def work() -> None:
        async with AsyncTakeback.open(workspace) as tb:
            async with tb.session("mine").turn("change a") as turn:
                (workspace / "a.txt").write_text("1\n")
            for _ in range(10):
                rewinding = asyncio.create_task(tb.rewind(turn.before, scope="files"))
                await asyncio.sleep(0)
                rewinding.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await rewinding
                assert not await tb.interrupted()
                undone = await tb.undo()  # behind it
                assert (undone.verified, (workspace / "a.txt").read_text()) == (True, "1\n")
            assert (await tb.verify(read_data=True)).problems == ()

    run(work())


def test_a_turn_whose_task_is_cancelled_is_ended(workspace: Path) -> None:
    async def states(tb: AsyncTakeback) -> list[str]:
        return [entry.newest.state for entry in await tb.sessions() if entry.newest is not None]

    async def work() -> None:
        async with AsyncTakeback.open(workspace) as tb:
            session = tb.session("mine")
            (workspace / "a.txt").write_text("0\n")

            async def turn(begun: asyncio.Event) -> None:
                async with session.turn("takes long"):
                    (workspace / "half.txt").write_text("half\n")
                    begun.set()
                    await asyncio.sleep(3600)

            begun = asyncio.Event()
            for moment in (begun.wait, partial(asyncio.sleep, 0)):  # in its block, and before it
                task = asyncio.create_task(turn(begun))
                await moment()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await states(tb) == ["ended"]
            async with session.turn("the next"):
                assert await states(tb) == ["running"]
            await tb.rewind("turn:1", scope="files")
            assert not (workspace / "half.txt").exists()

    run(work())


def test_a_second_turn_of_a_session_is_refused_and_two_sessions_run_at_once(
    workspace: Path,
) -> None:
    async def work() -> None:
        async with AsyncTakeback.open(workspace) as tb:
            one, other = tb.session("mine"), tb.session("mine")
            async with one.turn("one") as first, other.turn("other") as second:
                with pytest.raises(UsageError, match=r"a turn of session mine-.* is running"):
                    await one.turn("two").__aenter__()
                with pytest.raises(Refused, match="mine is working on"):
                    await tb.rewind(first.before)
                with pytest.raises(CaptureFailed, match="no checkpoint after"):
                    second.after  # noqa: B018
                await first.end(conversation=[{"role": "user"}])
            assert [entry.turns for entry in await tb.sessions()] == [1, 1]
            assert await tb.conversation(first.after) == b'{"role": "user"}\n'

    run(work())


def test_opening_and_closing(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.active_count()

    async def work() -> None:
        with pytest.raises(NotAWorkspace):
            await AsyncTakeback.open(workspace, create=False)
        monkeypatch.chdir(workspace)
        unopened = AsyncTakeback.open()
        with pytest.raises(UsageError, match="not open yet"):
            unopened.session("mine")
        monkeypatch.chdir("/")
        tb = await unopened
        assert tb.root == str(workspace).encode()
        turn = tb.session("mine").turn("one")
        await turn.__aenter__()
        last = asyncio.gather(*(tb.checkpoint() for _ in range(3)), *[tb.sessions()] * 9)
        await asyncio.sleep(0)
        await asyncio.gather(tb.close(), tb.close())
        assert len(await last) == 12
        with pytest.raises(UsageError, match="was closed"):
            await tb.checkpoints()
        with pytest.raises(UsageError, match="was closed"):
            await turn.end()
        await tb.close()

    run(work())
    assert threading.active_count() <= before + 1  # asyncio.to_thread leaves its own


def test_a_program_that_never_closes_it_ends_quietly(workspace: Path) -> None:
    program = (
        "import asyncio\n"
        "from takeback import AsyncTakeback\n"
        "async def work():\n"
        "    tb = await AsyncTakeback.open('.')\n"
        "    asyncio.create_task(tb.checkpoint('kept'))\n"
        "    await asyncio.sleep(0)\n"
        "asyncio.run(work())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with Takeback.open(workspace) as tb:
        assert tb.find("kept").label == "kept"


def test_what_another_process_holds_up_is_told_as_an_error_of_ours(workspace: Path) -> None:
    async def work() -> None:
        async with AsyncTakeback.open(workspace) as tb:
            made = await tb.checkpoint("first")
            Path(tb.store_directory, "config.toml").write_text("hook_seconds = 0.1\n")
            async with AsyncTakeback.open(workspace) as short:
                with lock_holder(f"{tb.store_directory}/lock"):
                    async with short.session("mine").turn("go") as turn:
                        with pytest.raises(CaptureFailed, match="no checkpoint before"):
                            turn.before  # noqa: B018
                    assert await short.cat(made.checkpoint, "a.txt") == b"0\n"
                async with short.session("mine").turn("free again") as later:
                    assert later.before.turn == 1

    (workspace / "a.txt").write_text("0\n")
    run(work())


def test_a_plan_is_weighed_beside_the_loop(workspace: Path) -> None:
    async def work() -> None:
        async with AsyncTakeback.open(workspace) as tb:
            for number in (1, 2):
                async with tb.session("mine", "s1").turn(f"turn {number}"):
                    (workspace / "a.txt").write_text(f"{number}\n")
            planned = await tb.plan_prune(["turn:1"])
            assert len((await tb.outlook(planned)).dropped) == 2
            done = await tb.prune(planned)
            assert len(await tb.trash()) == 1
            assert set((await tb.restore()).checkpoints) == set(done.dropped)
            assert [one.root for one in await tb.workspaces()] == [str(workspace).encode()]

    run(work())


def test_a_model_of_the_same_loop_makes_a_summary(workspace: Path) -> None:
    async def work() -> None:
        async with AsyncTakeback.open(workspace) as tb:
            loop = asyncio.get_running_loop()
            session = tb.session("mine", "s1")
            for number in (1, 2):
                async with session.turn(f"turn {number}") as turn:
                    said = {"role": "user", "content": f"words {number}"}
                    turn.messages = [*turn.messages, said]

            async def model(text: str) -> str:
                async with tb.session("summariser", "s2").turn("summarise this"):
                    return f"of words 1: {'words 1' in text}"

            def by(text: str) -> str:
                return asyncio.run_coroutine_threadsafe(model(text), loop).result(60)

            done = await tb.summarise("s1/turn:2", "from", by=by, session="s1")
            resumed = await tb.resume(done)
            assert b"of words 1: False" in (resumed.conversation or b"")
            assert len(await tb.sessions()) == 3

    run(work())


TASKS_OF_A_PROCESS = """
import asyncio, sys
from takeback import AsyncTakeback
from takeback.agents import ToolCall

async def work(tb, name):
    session = tb.session("mine", name)
    for number in range(int(sys.argv[2])):
        async with session.turn(f"{name}: {number}") as turn:
            open(name, "w").write(str(number))
            await turn.round([ToolCall("write", "edit", (name,))])
            turn.messages = [*turn.messages, number]
        print(number, flush=True)

async def main():
    async with AsyncTakeback.open(".") as tb:
        await asyncio.gather(*(work(tb, f"{sys.argv[1]}-{task}") for task in range(3)))

asyncio.run(main())
"""


def test_tasks_of_several_processes_lose_nothing_when_one_is_killed(workspace: Path) -> None:
    def started(name: str, turns: int) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-c", TASKS_OF_A_PROCESS, name, str(turns)]
        return subprocess.Popen(argv, cwd=workspace, stdout=subprocess.PIPE)

    killed, one, other = started("killed", 10_000), started("one", TURNS), started("other", TURNS)
    for process in (one, other):
        process.communicate(timeout=120)
        assert process.returncode == 0
    assert killed.stdout is not None
    with killed.stdout as said:
        for _ in range(3 * TURNS):
            assert said.readline()
        killed.kill()
        killed.wait(60)
    with Takeback.open(workspace) as tb:
        for name in ("one", "other"):
            for task in range(3):
                said_there = tb.resume(f"{name}-{task}").conversation
                assert said_there == b"".join(b"%d\n" % number for number in range(TURNS))
        states = {entry.session.native: entry.newest for entry in tb.sessions()}
        assert len(states) == 9
        assert all(turn is not None and turn.state != "running" for turn in states.values())
        assert tb.verify(read_data=True).problems == ()
        with tb.session("mine", "killed-0").turn("goes on") as turn:
            assert turn.before.turn is not None
            assert turn.before.turn > 1
