"""Agents are installed once, and one that cannot be had says why."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.agents import installed
from tests.agents.installed import (
    PACKAGES,
    Package,
    newest,
    program_of,
    wanted,
)
from tests.support.cache import NotInstalled

PACKAGE = Package("some", "@some/agent", "1.2.3", ".bin/some")
INSTALLS = """\
#!/bin/sh
echo "$@" >> "$HOME/npm.log"
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/node_modules/.bin"
sleep 0.2
touch "$2/node_modules/.bin/some"
"""
FAILS = "#!/bin/sh\necho 'npm error code ENOTFOUND' >&2\necho 'npm error more' >&2\nexit 1\n"


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A machine on which npm is a script of the test's own, if there is one."""
    (tmp_path / "bin").mkdir()
    lock = tmp_path / "locks" / PACKAGE.agent
    lock.mkdir(parents=True)
    pinned = {"dependencies": {PACKAGE.name: PACKAGE.version}}
    for name in ("package.json", "package-lock.json"):
        (lock / name).write_text(json.dumps(pinned))
    monkeypatch.setattr(installed, "LOCKS", tmp_path / "locks")
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {"HOME": str(tmp_path), "TAKEBACK_AGENTS_CACHE": str(tmp_path / "cache"), "PATH": path}


def npm(environ: dict[str, str], text: str) -> None:
    path = Path(environ["HOME"]) / "bin" / "npm"
    path.write_text(text)
    path.chmod(0o755)


def test_several_at_once_install_it_once(environ: dict[str, str]) -> None:
    npm(environ, INSTALLS)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: program_of(PACKAGE, environ), range(4)))
    cache = Path(environ["TAKEBACK_AGENTS_CACHE"])
    assert set(found) == {cache / "some-1.2.3" / "node_modules" / ".bin" / "some"}
    [call] = (Path(environ["HOME"]) / "npm.log").read_text().splitlines()
    assert call.startswith("ci ")
    assert "--ignore-scripts" in call
    assert (cache / "some-1.2.3" / "package-lock.json").exists()


def test_an_installation_that_fails_says_why_and_leaves_nothing(environ: dict[str, str]) -> None:
    npm(environ, FAILS)
    with pytest.raises(NotInstalled, match="npm ended with 1: npm error code ENOTFOUND"):
        program_of(PACKAGE, environ)
    npm(environ, INSTALLS)
    assert program_of(PACKAGE, environ).exists()


def test_a_machine_without_npm_says_so(environ: dict[str, str]) -> None:
    environ["PATH"] = environ["HOME"]
    with pytest.raises(NotInstalled, match="there is no npm"):
        program_of(PACKAGE, environ)


def test_what_is_not_pinned_is_not_installed(environ: dict[str, str]) -> None:
    npm(environ, INSTALLS)
    other = Package("some", "@some/agent", "1.2.4", ".bin/some")
    with pytest.raises(NotInstalled, match=r"@some/agent 1\.2\.4 is not pinned"):
        program_of(other, environ)
    assert not (Path(environ["HOME"]) / "npm.log").exists()


NEWEST = """\
#!/bin/sh
echo "$@" >> "$HOME/npm.log"
case "$1 $2" in
"view @some/agent"|"view @some/program") echo 2.0.1 ;;
"view @some/main") echo 2.0.2 ;;
"view @some/program@2.0.2") echo 'npm error code E404' >&2; exit 1 ;;
install*) while [ "$1" != --prefix ]; do shift; done
    mkdir -p "$2/node_modules/.bin" && touch "$2/node_modules/.bin/some" ;;
esac
"""


def test_the_newest_version_is_installed_beside_the_pinned_one_without_its_lock(
    environ: dict[str, str],
) -> None:
    npm(environ, NEWEST)
    found = newest(PACKAGE, environ)
    assert found.version == "2.0.1"
    place = Path(environ["TAKEBACK_AGENTS_CACHE"]) / "newest" / "some-2.0.1"
    assert program_of(found, environ) == place / "node_modules" / ".bin" / "some"
    call = (Path(environ["HOME"]) / "npm.log").read_text().splitlines()[-1]
    assert call.startswith("install @some/agent@2.0.1 ")
    assert "--ignore-scripts" in call


def test_the_newest_version_is_one_that_has_a_program_for_this_machine(
    environ: dict[str, str],
) -> None:
    npm(environ, NEWEST)
    package = Package("some", "@some/program", "1.2.3", ".bin/some", released="@some/main")
    found = newest(package, environ)
    assert (found.version, found.behind) == ("2.0.1", "2.0.2")
    gone = Package("some", "@some/gone", "1.2.3", ".bin/some")
    with pytest.raises(NotInstalled, match="npm knows no @some/gone"):
        newest(gone, environ)


def test_some_agents_alone_are_tested_at_other_versions_if_that_is_asked() -> None:
    asked = {"TAKEBACK_AGENTS": "claude,pi=9.9.9"}
    assert wanted("codex", {}) == PACKAGES["codex"]
    assert wanted("codex", asked) is None
    assert wanted("claude", asked) == PACKAGES["claude"]
    assert wanted("node", asked) == PACKAGES["node"]
    other = wanted("pi", asked)
    assert other is not None
    assert (other.version, other.pinned) == ("9.9.9", False)


@pytest.mark.parametrize("agent", PACKAGES)
def test_every_package_is_pinned_by_its_hash_and_from_no_place(agent: str) -> None:
    lock = json.loads((installed.LOCKS / agent / "package-lock.json").read_text())
    own, *packages = lock["packages"].values()
    if agent != "node":  # which is another package on another machine
        assert own["dependencies"] == {PACKAGES[agent].name: PACKAGES[agent].version}
    for package in packages:
        assert package["integrity"].startswith("sha512-")
        assert "resolved" not in package
