"""The standby: hooks hand their events over to it, and lose nothing whatever becomes of it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from takeback.adapters import launcher
from tests.support.agent import usual_agent
from tests.support.below import AGENT
from tests.support.cli import Cli
from tests.support.processes import wait_for
from tests.support.standby import Agent, alive, children, clients, spare_of
from tests.support.unprivileged import unprivileged
from tests.support.warm import Child

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="looks at processes through /proc"
)

_PATIENCE = 60.0


@pytest.fixture(params=clients())
def agent(tmp_path: Path, workspace: Path, request: pytest.FixtureRequest) -> Iterator[Agent]:
    agent = Agent(tmp_path, workspace, request.param)
    yield agent
    agent.end()


@pytest.fixture
def attended(agent: Agent) -> Agent:
    """An agent whose first prompt has left a standby behind."""
    agent.prompt()
    agent.standby()
    return agent


def test_the_first_hook_leaves_it_behind_and_the_next_hand_over(attended: Agent) -> None:
    [door] = attended.doors
    assert door.stat().st_mode & 0o777 == 0o700
    standby = attended.standby()
    attended.spoil_all_but_the_client()
    attended.prompt()
    attended.prompt()
    assert attended.standby() == standby
    assert attended.prompts() == ["p1", "p2", "p3"]


@pytest.mark.parametrize("agent", clients()[:1], indirect=True)
def test_the_native_client_does_without_python(attended: Agent) -> None:
    (attended.home / "bin" / "hook.sh").unlink()
    attended.prompt()
    attended.call(attended.event(), "env", "--", "A=a\nb", "EMPTY=", "NAME=\udcff")
    assert attended.prompts() == ["p1", "p2", "p3"]


def test_it_has_one_spare_and_leaves_no_dead_behind(attended: Agent) -> None:
    standby = attended.standby()
    for _ in range(5):
        attended.prompt()
    spare_of(standby)
    attended.prompt()
    wait_for(lambda: len(children(standby)) <= 2)


def test_it_needs_no_more_after_many_hooks(attended: Agent) -> None:
    for _ in range(3):
        attended.prompt()
    standby = attended.standby()
    spare_of(standby)
    before = resources(standby)
    for _ in range(20):
        attended.prompt()
    spare_of(standby)
    assert attended.standby() == standby
    # those of the last hook may be open for a moment still
    wait_for(lambda: resources(standby)["descriptors"] <= before["descriptors"])
    assert resources(standby)["memory"] <= before["memory"] + (4 << 20)


@pytest.mark.slow
def test_an_agent_does_not_wait_for_a_standby_that_hangs(attended: Agent, workspace: Path) -> None:
    """It goes on when its time is over; the event is neither lost nor recorded twice."""
    Cli(workspace, env={"TAKEBACK_HOME": str(attended.home)}).ok("config", "hook_seconds", "1")
    attended.prompt()  # the next spare knows of it
    standby = attended.standby()
    with attended.start() as hook:
        wait_for(lambda: reading_with(hook, standby))
        [spare] = reading_with(hook, standby)
        os.kill(spare, signal.SIGSTOP)
        assert hook.stdin is not None
        hook.stdin.write(attended.event())
        hook.stdin.close()
        assert hook.wait(30) == 0
    for child in children(standby):
        os.kill(child, signal.SIGCONT)
    wait_for(lambda: attended.log() == ["p1", "p2", "p3"])
    [failure] = attended.failures()
    assert "the standby was not done in time; its agent went on" in failure


def reading_with(hook: Child, standby: int) -> list[int]:
    """Returns the spares that have the hook's input."""
    its = os.readlink(f"/proc/{hook.pid}/fd/0")
    found = []
    for child in children(standby):
        with suppress(OSError):
            found += [child] if os.readlink(f"/proc/{child}/fd/0") == its else []
    return found


def resources(process: int) -> dict[str, int]:
    """Returns how many descriptors a process has open, and how many bytes of memory it has."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return {
        "descriptors": len(os.listdir(f"/proc/{process}/fd")),
        "memory": pages * os.sysconf("SC_PAGE_SIZE"),
    }


def test_what_the_hook_prints_is_printed(attended: Agent) -> None:
    payload = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s",
        "transcript_path": "/nowhere",
        "cwd": str(attended.workspace),
        "prompt": "/takeback",
    }
    by_it = attended.call(json.dumps(payload).encode(), agent="claude")
    assert b"sessions: mine-s" in by_it
    os.kill(attended.standby(), signal.SIGKILL)
    assert attended.call(json.dumps(payload).encode(), agent="claude") == by_it


def test_it_has_the_environment_and_the_directory_of_the_hook(
    attended: Agent, tmp_path: Path
) -> None:
    attended.call(attended.event(), *AGENT, env={"TAKEBACK": "off"})
    attended.call(attended.event(), *AGENT, "env", "TAKEBACK=off")
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run(["git", "init", "--quiet", "."], cwd=other, check=True)
    attended.workspace = other
    attended.prompt()
    attended.spoil_all_but_the_client()
    attended.prompt()
    assert attended.prompts() == ["p4", "p5"]


def test_a_hook_that_is_typed_hands_over_too(attended: Agent) -> None:
    standby = attended.standby()
    attended.spoil_all_but_the_client()
    attended.typed(attended.event())
    attended.typed(attended.event())
    assert attended.standby() == standby
    assert attended.prompts() == ["p1", "p2", "p3"]


def test_a_hook_that_is_typed_leaves_none_behind(agent: Agent) -> None:
    agent.typed(agent.event())
    time.sleep(1)
    assert not agent.doors
    assert agent.prompts() == ["p1"]


def test_what_a_model_types_about_its_own_session_is_refused_by_it_too(attended: Agent) -> None:
    """Who asks is looked at: the caller, not the standby, which has nobody above it."""
    attended.typed(attended.event(event="turn_end", turn="1"), "sh", "-c", '"$@"; exit 0', "sh")
    [line] = attended.failures()
    assert "the end of a turn of mine was told by a tool of that very session" in line


@pytest.mark.parametrize("change", ["edited", "gone"])
def test_it_ends_when_takeback_is_changed(attended: Agent, change: str) -> None:
    standby = attended.standby()
    notes = attended.package / "capture" / "watching.py"
    text = notes.read_text()
    if change == "gone":
        notes.unlink()
    else:
        notes.write_text(text + "\n_ADDED = 1\n")
    attended.prompt(event="session_start")
    wait_for(lambda: not alive(standby))
    notes.write_text(text)
    attended.prompt()
    assert attended.standby() != standby
    assert attended.prompts() == ["p1", "p3"]


def test_another_python_is_refused(attended: Agent, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    attended.spoil_all_but_the_client()
    attended.record.write_text(f"{python}\n{attended.package.parent}\n")
    attended.call(attended.event())
    [line] = attended.failures()
    assert "does not run" in line  # it was this process that tried


def test_another_mount_namespace_is_refused(attended: Agent) -> None:
    """A container that shares the home sees other files at the same paths."""
    inside = "mount -t tmpfs none . && cd . && git init -q . && touch inside && exec"
    shell = ["unshare", "--mount", "sh", "-c", f'{inside} "$0" "$@"']
    tried = subprocess.run([*shell, "true"], cwd=attended.workspace, capture_output=True)
    if tried.returncode != 0:
        pytest.skip(f"no mount namespace can be made: {tried.stderr.decode().strip()}")
    attended.spoil_all_but_the_client()
    attended.call(attended.event(), *shell)
    [line] = attended.failures()
    assert "does not run" in line


def test_a_killed_one_is_replaced(attended: Agent) -> None:
    standby = attended.standby()
    spare = spare_of(standby)
    os.kill(standby, signal.SIGKILL)
    wait_for(lambda: not alive(spare))
    attended.prompt()
    assert attended.standby() != standby
    attended.prompt()
    assert attended.prompts() == ["p1", "p2", "p3"]


def test_a_killed_spare_ends_it_and_loses_nothing(attended: Agent) -> None:
    standby = attended.standby()
    spare = spare_of(standby)
    os.kill(spare, signal.SIGKILL)
    wait_for(lambda: not alive(standby))
    attended.prompt()
    assert attended.prompts() == ["p1", "p2"]


def test_one_that_hangs_is_passed_over_and_takes_nothing_later(attended: Agent) -> None:
    standby = attended.standby()
    processes = [standby, spare_of(standby)]
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    attended.prompt()
    for pid in processes:
        os.kill(pid, signal.SIGCONT)
    attended.prompt()
    assert attended.prompts() == ["p1", "p2", "p3"]


def test_one_that_dies_at_work_stops_no_agent_and_is_told(attended: Agent) -> None:
    standby = attended.standby()
    spare = spare_of(standby)
    with attended.start() as hook:
        wait_for(lambda: spare not in _waiting(standby, spare))
        os.kill(spare, signal.SIGKILL)
        assert hook.wait(timeout=_PATIENCE) == 0
    [line] = attended.failures()
    assert "the standby ended before the event was recorded" in line
    attended.prompt(turn="9", prompt="again")


def _waiting(standby: int, spare: int) -> list[int]:
    """Returns the spare while it waits: it has the hook's directory when it is busy."""
    busy = os.readlink(f"/proc/{spare}/cwd") != os.readlink(f"/proc/{standby}/cwd")
    return [] if busy else [spare]


def test_many_hooks_at_once(attended: Agent) -> None:
    events = [attended.event(session=f"s{number}") for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(attended.call, events)) == {b""}
    assert sorted(map(str, attended.prompts())) == sorted(f"p{n}" for n in range(1, 26))


@pytest.mark.long
def test_several_that_start_at_once_become_one(agent: Agent) -> None:
    events = [agent.event(session=f"s{number}") for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(agent.call, events))
    standby = agent.standby()
    agent.spoil_all_but_the_client()
    agent.prompt()
    assert agent.standby() == standby


def set_minutes(minutes: float) -> None:
    config = Path(os.environ["HOME"], ".config", "takeback", "config.toml")
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"standby_minutes = {minutes}\n")


def test_it_ends_after_some_time_without_events(agent: Agent) -> None:
    set_minutes(0.02)
    agent.prompt()
    standby = agent.standby()
    wait_for(lambda: not alive(standby))
    assert not agent.doors
    agent.prompt()
    assert agent.prompts() == ["p1", "p2"]


def test_who_wants_none_gets_none(agent: Agent) -> None:
    set_minutes(0)
    agent.prompt()
    time.sleep(1)
    assert not agent.doors
    assert agent.prompts() == ["p1"]


def test_one_that_is_not_wanted_any_more_ends_with_the_next_event(attended: Agent) -> None:
    standby = attended.standby()
    set_minutes(0)
    attended.prompt()
    wait_for(lambda: not alive(standby))
    attended.prompt()
    assert not attended.doors
    assert attended.prompts() == ["p1", "p2", "p3"]


def test_a_directory_that_takes_no_socket_is_told(agent: Agent) -> None:
    prefix = [str(word) for word in unprivileged(Cli(agent.workspace)).argv()[:-3]]
    (agent.home / "bin").chmod(0o500)
    agent.call(agent.event(), *prefix)
    wait_for(agent.failures)
    (agent.home / "bin").chmod(0o700)
    assert "the standby cannot listen" in agent.failures()[0]
    assert "standby_minutes = 0" in agent.failures()[0]


@pytest.mark.long
def test_uninstalling_ends_it(attended: Agent) -> None:
    standby = attended.standby()
    launcher.retire_launcher(str(attended.home))
    assert [path.name for path in (attended.home / "bin").iterdir()] == ["hook"]
    wait_for(lambda: not alive(standby))


def test_a_home_with_a_very_long_path(tmp_path: Path, workspace: Path) -> None:
    place = tmp_path / ("long" * 30)
    place.mkdir()
    agent = Agent(place, workspace)
    agent.prompt()
    wait_for(lambda: agent.doors)
    agent.spoil_all_but_the_client()
    agent.prompt()
    assert agent.prompts() == ["p1", "p2"]
    agent.doors[0].unlink()


IMPORTS = """
import os, sys
from takeback import hook, standby
standby.load()
before = set(sys.modules)
hook.main(["generic"])
print(*sorted(set(sys.modules) - before))
"""


@pytest.mark.parametrize("kind", ["session_start", "prompt", "tool_before", "round_end", "stop"])
def test_an_event_imports_nothing_that_the_standby_has_not(
    agent: Agent, kind: str, workspace: Path
) -> None:
    (workspace / "a").write_text("1")
    agent.prompt()
    (workspace / "b").write_text("new")
    tools = [{"name": "Write", "kind": "edit", "paths": ["a"]}]
    done = usual_agent().run(
        [sys.executable, "-c", IMPORTS],
        input=agent.event(event=kind, tools=tools, turn="1"),
        cwd=workspace,
        env={**agent.environ, "TAKEBACK_HOME": str(agent.home)},
        check=True,
    )
    assert done.stdout.split() == []


def test_it_brings_the_ledger_up_to_date_when_a_turn_has_ended(attended: Agent) -> None:
    """Nobody has to wait for that who looks at the timeline."""
    for number in range(3):
        (attended.workspace / "file").write_text(str(number))
        attended.prompt()
        attended.call(attended.event(event="turn_end", turn=str(attended.turn)))
    wait_for(lambda: indexed(attended) == [("prompt",), *[("prompt",), ("turn end",)] * 3])
    assert attended.failures() == []


def indexed(agent: Agent) -> list[tuple[str]]:
    """Returns the kinds of the checkpoints that the ledger has, oldest first."""
    found = list((agent.home / "workspaces").glob("**/ledger.db"))
    if not found:
        return []
    with closing(sqlite3.connect(found[0])) as ledger:
        return ledger.execute("select kind from checkpoints order by position").fetchall()
