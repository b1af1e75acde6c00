"""Readers: several look at once, and wait neither for an operation nor for a large catch-up."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from takeback.app.engine import Engine
from takeback.serve.feed import OpenWorkspaces
from takeback.serve.protocol import ServerSettings
from tests.serve.served import InProcess, serving, until
from tests.support.cli import Cli
from tests.support.host import Host


def prompts(found: dict[str, Any]) -> list[str]:
    return [turn["prompt"] for turn in found["turns"] if turn["prompt"]]


def busy(inside: threading.Event, over: threading.Event) -> Callable[[Engine], None]:
    def job(tb: Engine) -> None:
        inside.set()
        assert over.wait(20)

    return job


def test_a_question_does_not_wait_for_an_operation(host: Host, served: InProcess) -> None:
    inside, over = threading.Event(), threading.Event()
    workspaces, id = served.server.workspaces, served.workspace.rpartition("/")[2]

    async def both() -> str | None:
        working = asyncio.create_task(workspaces.ask(id, busy(inside, over)))
        await asyncio.to_thread(inside.wait, 20)
        host.tell("prompt", prompt="typed meanwhile", turn="t9")  # nobody can catch up with this
        shown = await workspaces.look(id, lambda tb: tb.checkpoints(limit=5))
        assert not working.done()
        over.set()
        await working
        return shown[0].checkpoint.prompt

    served.get(f"{served.workspace}/turns").ok()
    assert served._runner.run(both()) == "change a"
    until(lambda: prompts(served.get(f"{served.workspace}/turns").ok())[0] == "typed meanwhile")


def test_whoever_changed_something_sees_it_at_once(host: Host, served: InProcess) -> None:
    newest = served.get(f"{served.workspace}/turns").ok()["turns"][0]
    served.post(f"{served.workspace}/label", {"checkpoint": newest["id"], "label": "here"}).ok()
    assert served.get(f"{served.workspace}/turns").ok()["turns"][0]["label"] == "here"


def test_there_are_only_so_many_readers(host: Host) -> None:
    before = threading.active_count()
    most: list[int] = []

    async def ask() -> None:
        workspaces = OpenWorkspaces(ServerSettings(readers=3))
        [id] = [known.id for known in Engine.workspaces()]

        def job(tb: Engine) -> None:
            most.append(threading.active_count())
            tb.checkpoints(limit=1)

        await asyncio.gather(*(workspaces.look(id, job) for _ in range(40)))
        await workspaces.close()

    asyncio.run(ask())
    assert len(most) == 40
    # Three that read, the one that works, and one that asyncio closes them in.
    assert max(most) <= before + 5
    assert threading.active_count() <= before


def test_readers_of_a_process_go_on_while_another_one_writes_the_ledger(
    cli: Cli, host: Host
) -> None:
    """What a sweep leaves to the ledger is one long transaction; it lasts as long as we like."""
    with serving(cli) as server:
        [one] = server.get("/workspaces").ok()["workspaces"]
        at = f"/workspaces/{one['id']}"
        assert prompts(server.get(f"{at}/turns").ok())[0] == "change a"
        [ledger] = Path(cli.environment(None)["TAKEBACK_HOME"]).glob("workspaces/*/*/ledger.db")
        with closing(sqlite3.connect(ledger, isolation_level=None)) as other:
            other.execute("begin immediate")
            host.prompt("typed meanwhile")
            with ThreadPoolExecutor(8) as clients:
                answers = list(clients.map(lambda _: server.get(f"{at}/turns"), range(24)))
            assert [prompts(one.ok())[0] for one in answers] == ["change a"] * 24
            assert server.process.poll() is None
            other.execute("rollback")
        until(lambda: prompts(server.get(f"{at}/turns").ok())[0] == "typed meanwhile")


def test_what_takes_long_never_takes_all_readers(host: Host) -> None:
    """A conversation that is read for the first time keeps no page of turns waiting."""
    over = threading.Event()

    def long(tb: Engine) -> None:
        assert over.wait(20)

    async def ask() -> str | None:
        workspaces = OpenWorkspaces(ServerSettings(readers=4))
        [id] = [known.id for known in Engine.workspaces()]
        [newest] = await workspaces.look(id, lambda tb: tb.checkpoints(limit=1))
        at_hand = await workspaces.look(id, lambda tb: tb.messages_at_hand(newest.checkpoint))
        assert at_hand is None
        said = await workspaces.look(id, lambda tb: tb.messages(newest.checkpoint), long=True)
        slow = [asyncio.create_task(workspaces.look(id, long, long=True)) for _ in range(8)]
        gone = asyncio.create_task(workspaces.look(id, long))
        await asyncio.sleep(0.05)
        gone.cancel()  # its job runs on, and has its reader
        quick = [workspaces.look(id, lambda tb: tb.checkpoints(limit=1)) for _ in range(20)]
        found = await asyncio.gather(*quick)
        at_hand = await workspaces.look(id, lambda tb: tb.messages_at_hand(newest.checkpoint))
        assert at_hand == said
        assert said.total
        assert not any(one.done() for one in slow)
        over.set()
        await asyncio.gather(*slow)
        await workspaces.close()
        return found[-1][0].checkpoint.prompt

    assert asyncio.run(ask()) == "change a"
