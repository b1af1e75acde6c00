"""Agents of other packages: which are taken, and that what they raise stays theirs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from takeback.adapters import adapter_named, adapter_of, all_agents, connection_of, third_party
from takeback.adapters.contained import ContainedAdapter, ForeignFailure
from takeback.errors import Refused, UsageError
from takeback.model.agent import Agent, Capabilities
from takeback.model.checkpoint import Anchor, Resume
from tests.support.cli import Cli
from tests.support.packages import install

AGENT = "from takeback.agents import Agent\nagent = Agent({!r}, {!r}, {!r})\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "packages"
    made.mkdir()
    monkeypatch.syspath_prepend(made)
    monkeypatch.setattr(third_party, "_found", {})
    return made


def test_without_other_packages_nothing_is_asked(folder: Path) -> None:
    asked = "from takeback.adapters import all_agents; all_agents(); import sys; "
    asked += "sys.exit('importlib.metadata' in sys.modules)"
    subprocess.run([sys.executable, "-c", asked], check=True, cwd=folder)


def test_an_agent_is_found_and_one_that_is_none_is_named(folder: Path) -> None:
    points = {
        "good": "of_good:agent",
        "claude": "of_good:agent",
        "plugin": "of_good:agent",
        "Loud": "of_good:agent",
        "other": "of_good:agent",
        "odd": "of_good:odd",
        "missing": "of_good:nothing",
        "nowhere": "of_nowhere:agent",
        "raising": "of_raising:agent",
        "ending": "of_ending:agent",
    }
    modules = {
        "of_good.py": AGENT.format("good", "of_good:adapter", "") + "odd = 3\n",
        "of_raising.py": "raise KeyError('x')\n",
        "of_ending.py": "import takeback.nothing_of_that_name\n",
    }
    install(folder, "several", points, modules)
    found = third_party.found()
    assert list(found.agents) == ["good"]
    assert set(found.broken) == set(points) - {"good"}
    assert all("of the package several: " in why for why in found.broken.values())
    assert "one of that name already" in found.broken["claude"]
    assert "calls itself good" in found.broken["other"]
    assert all_agents()[-1].name == "good"
    with pytest.raises(UsageError, match="KeyError"):
        adapter_named("raising")
    assert adapter_of("raising").name == "generic"


def test_a_package_in_a_workspace_is_not_loaded(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that works there could change what the hooks of others run."""
    Cli(workspace).ok("checkpoint")
    inside = workspace / "packages"
    mark = workspace / "was loaded"
    install(
        inside,
        "planted",
        {"planted": "of_planted:agent"},
        {"of_planted.py": f"open({str(mark)!r}, 'w')\n"},
    )
    monkeypatch.syspath_prepend(inside)
    monkeypatch.setattr(third_party, "_found", {})
    assert "where an agent could change it" in third_party.found().broken["planted"]
    assert not mark.exists()


@pytest.mark.parametrize("inside", ["", "packages"])
def test_nothing_is_loaded_from_a_project_that_takeback_does_not_know_yet(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    """``python -m`` looks for modules in the current directory."""
    mark = workspace / "was loaded"
    planted = {"of_planted.py": f"open({str(mark)!r}, 'w')\n"}
    install(workspace / inside, "planted", {"planted": "of_planted:agent"}, planted)
    monkeypatch.chdir(workspace)
    monkeypatch.syspath_prepend(str(workspace / inside) if inside else "")
    monkeypatch.setattr(third_party, "_found", {})
    assert third_party.found().agents == {}
    assert list(third_party.found().broken) == (["planted"] if inside else [])
    assert not mark.exists()


class Raising:
    """An adapter and a connection that only fail."""

    def __getattr__(self, name: str) -> object:
        if name in ("starts_by_id", "command", "importer", "title", "capabilities"):
            raise RuntimeError("not even that")
        return self._fail

    def _fail(self, *args: object, **options: object) -> None:
        raise RuntimeError("never")


class Wrong:
    """An adapter that answers with what is no answer."""

    def __getattr__(self, name: str) -> object:
        return lambda *args, **options: 3


@pytest.mark.parametrize("theirs", [Raising(), Wrong()])
def test_what_an_adapter_raises_is_a_failure_of_that_agent(theirs: object) -> None:
    adapter = ContainedAdapter("theirs", lambda: theirs)
    for refused in (
        lambda: adapter.parse({}, {}),
        lambda: adapter.cut([b""], Anchor(before=False), []),
        lambda: adapter.new_session(b"", native="", transcript="", title="", now=0.0),
    ):
        with pytest.raises(
            ForeignFailure, match="of the agent theirs, which is of another package"
        ):
            refused()
    assert (adapter.starts_by_id, adapter.mute_on_esc, adapter.command) == (False, False, None)
    assert adapter.transcript_files("/a") == ("/a",)
    assert adapter.sessions_root({}) is None
    assert adapter.resume("s", "/d") == adapter.start("/d") == Resume((), "/d")
    assert (adapter.is_over(b"", None), adapter.command_in(b"", None)) == (False, None)
    assert (adapter.note("a", "b"), adapter.answer("a")) == ("", "a")


def test_what_a_connection_raises_is_a_failure_of_that_agent(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("takeback.adapters.loaded", lambda reference: Raising())
    connection = connection_of(Agent("theirs", "a:b", "c:d"))
    assert (connection.title, connection.program) == ("theirs", "theirs")
    assert connection.capabilities == Capabilities()
    assert (connection.is_there({}), connection.is_connected({}, "", None)) == (False, False)
    assert (connection.advice(), connection.transcripts({}, "")) == ("", ())
    assert "RuntimeError: never" in (connection.hindrance({}, None) or "")
    for what in (connection.connect, connection.disconnect):
        with pytest.raises(Refused, match="of the agent theirs"):
            what({}, "", None)
