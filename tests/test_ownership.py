"""Where others own or may write what takeback relies on, it is not relied on."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback import Takeback, errors
from takeback.adapters import launcher
from takeback.app.connect import connect
from takeback.ownership import why_not_private
from takeback.paths import takeback_home
from tests.support.cli import Cli
from tests.support.standby import Agent

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def home(workspace: Path) -> Path:
    """A home with a launcher and a store."""
    Takeback.open(workspace).close()
    launcher.write_launcher(os.environ["TAKEBACK_HOME"])
    return Path(os.environ["TAKEBACK_HOME"])


def store(home: Path) -> Path:
    return next((home / "workspaces").glob("*/*"))


PARTS: dict[str, Callable[[Path], Path]] = {
    "home": lambda home: home,
    "bin": lambda home: home / "bin",
    "workspaces": lambda home: home / "workspaces",
    "stores of a path": lambda home: store(home).parent,
    "store": store,
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777, 0o2775, 0o702])
def test_a_directory_that_others_may_write_is_refused_with_the_way_to_mend_it(
    home: Path, workspace: Path, part: str, mode: int
) -> None:
    loose = PARTS[part](home)
    loose.chmod(mode)
    with pytest.raises(errors.Refused, match="can be written by others") as refused:
        Takeback.open(workspace)
    assert str(loose) in refused.value.message
    assert f"chmod 700 {loose}" in refused.value.hint
    loose.chmod(0o700)
    Takeback.open(workspace).close()


@as_root
@pytest.mark.parametrize("part", PARTS)
def test_a_directory_of_somebody_else_is_refused(home: Path, workspace: Path, part: str) -> None:
    """Root over a user's home, too: that user would choose what root runs."""
    theirs = PARTS[part](home)
    os.chown(theirs, 65534, 65534)
    with pytest.raises(errors.Refused, match="belongs to another user"):
        Takeback.open(workspace)


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o2755, 0o750, 0o500])
def test_what_others_may_only_read_is_private_enough(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    assert why_not_private(str(tmp_path)) == ""
    assert why_not_private(str(tmp_path / "missing")) == ""
    tmp_path.chmod(0o700)


def test_a_link_to_the_home_is_what_it_leads_to(
    home: Path, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("TAKEBACK_HOME", str(tmp_path / "link"))
    Takeback.open(workspace).close()
    home.chmod(0o777)
    with pytest.raises(errors.Refused, match="can be written by others"):
        takeback_home(os.environ)


def test_nothing_is_connected_to_a_home_that_others_may_write(tmp_path: Path) -> None:
    home = Path(os.environ["TAKEBACK_HOME"])
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    with pytest.raises(errors.Refused):
        connect([], os.environ)
    assert list(home.iterdir()) == []


def test_no_verb_works_in_it_and_doctor_does_not_call_it_private(
    cli: Cli, home: Path, workspace: Path
) -> None:
    home.chmod(0o777)
    for verb in (["checkpoint"], ["doctor"], ["init", "claude", "--yes"]):
        refused = cli.run("--json", *verb)
        assert refused.status == 13, verb
        assert "chmod 700" in refused.error["hint"]
        assert "private" not in refused.stdout


def test_a_hook_says_nothing_and_leaves_a_line(cli: Cli, home: Path, workspace: Path) -> None:
    event = json.dumps({"event": "prompt", "session": "s", "prompt": "p"}).encode()
    home.chmod(0o777)
    answer = cli.run("hook", "generic", stdin=event)
    assert (answer.status, answer.stdout, answer.stderr) == (0, "", "")
    default = Path(os.environ["XDG_DATA_HOME"], "takeback", "log")
    assert "can be written by others" in default.read_text()
    assert not (home / "log").exists()


def test_a_hook_leaves_its_line_in_the_usual_home_even_if_that_is_the_loose_one(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a file of ours: what stands there instead is not followed and not waited for."""
    from takeback.store.notes import complain

    monkeypatch.delenv("TAKEBACK_HOME")
    home = Path(takeback_home(os.environ))
    home.mkdir(parents=True)
    home.chmod(0o777)
    complain("a word")
    assert "a word" in (home / "log").read_text()
    (home / "log").unlink()
    (home / "log").symlink_to(workspace / "elsewhere")
    complain("a word")
    assert not (workspace / "elsewhere").exists()
    (home / "log").unlink()
    os.mkfifo(home / "log")
    complain("a word")


def test_a_launcher_that_others_may_write_is_made_anew(home: Path) -> None:
    for name in ("hook", "takeback.path"):
        (home / "bin" / name).chmod(0o777)
        assert not launcher.is_sound(str(home))
        launcher.write_launcher(str(home))
        assert launcher.is_sound(str(home))
        assert not stat.S_IMODE((home / "bin" / name).stat().st_mode) & 0o022


@pytest.mark.skipif(not Path("/proc/self/ns").exists(), reason="there is a standby on Linux only")
def test_no_event_is_handed_to_whoever_listens_in_a_loose_directory(
    tmp_path: Path, workspace: Path
) -> None:
    agent = Agent(tmp_path / "agent", workspace)
    try:
        agent.prompt()
        agent.standby()
        (agent.home / "bin").chmod(0o777)
        agent.prompt()
        (agent.home / "bin").chmod(0o700)
        assert agent.log() == ["p1"]
    finally:
        agent.end()
        shutil.rmtree(tmp_path / "agent", ignore_errors=True)
