"""Agents are installed once, and one that cannot be had says why."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from takeback.app.connect import connection_of
from tests.agents.installed import PACKAGES, NotInstalled, Package, program_of

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
def environ(tmp_path: Path) -> dict[str, str]:
    """A machine on which npm is a script of the test's own, if there is one."""
    (tmp_path / "bin").mkdir()
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
    assert call.endswith("@some/agent@1.2.3")


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


@pytest.mark.parametrize("agent", [name for name in PACKAGES if name != "node"])
def test_what_is_installed_is_what_the_table_says_was_tested(agent: str) -> None:
    assert connection_of(agent).capabilities.tested == PACKAGES[agent].version
