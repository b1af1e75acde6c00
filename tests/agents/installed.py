"""The real agents, each at one version, installed once into the cache (tests/support/cache.py).

    claude-2.1.325/node_modules/...
    newest/claude-2.2.0/...             another version, for ``make agents-latest``

npm says where from. What is installed is what ``locks/AGENT/package-lock.json`` says, each package
with its hash and none with a place; scripts of packages are not run. A new version: change
``tested`` in ``takeback/adapters/AGENT/connection.py`` and ``locks/AGENT/package.json``, there run
``npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved``.
What the registry lacks of other machines' packages is overridden there: npm takes no lock without.
What cannot be installed is not tested, and says so.

``TAKEBACK_AGENTS=claude,pi`` has just these tested; ``claude=2.2.0,pi=0.88.0`` at these versions,
which no lock pins: npm takes what else they need as it is today.
"""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from takeback.app.connect import connection_named
from tests.support.cache import NotInstalled, kept, run

_QUIET = "--loglevel=error"
LOCKS = Path(__file__).parent / "locks"


@dataclass(frozen=True, slots=True)
class Package:
    """One agent as npm has it; ``program`` is a pattern below ``node_modules``.

    ``released`` is the package whose newest version is the agent's, if it is another one: that of
    one machine's program may lag behind, and then ``behind`` is the version that lacks it. Without
    ``pinned`` no lock says what is installed.
    """

    agent: str
    name: str
    version: str
    program: str
    released: str = ""
    pinned: bool = True
    behind: str = ""

    @property
    def folder(self) -> str:
        return f"{'' if self.pinned else 'newest/'}{self.agent}-{self.version}"


def _tested(agent: str) -> str:
    """Returns the version that takeback says it was tested with."""
    return connection_named(agent).capabilities.tested


_MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
PACKAGES = {
    package.agent: package
    for package in (
        Package(
            "claude",
            "@anthropic-ai/claude-code",
            _tested("claude"),
            "@anthropic-ai/claude-code-*/claude",
        ),
        Package("codex", "@openai/codex", _tested("codex"), "@openai/codex-*/vendor/*/bin/codex"),
        Package("gemini", "@google/gemini-cli", _tested("gemini"), ".bin/gemini"),
        # The program of this machine itself, not the script that looks for it: npm takes no lock of
        # that one where the registry lacks the program of any other machine.
        Package(
            "opencode",
            f"opencode-{platform.system().lower()}-{_MACHINE}",
            _tested("opencode"),
            "opencode-*/bin/opencode",
            released="opencode-ai",
        ),
        Package(
            "copilot",
            f"@github/copilot-{platform.system().lower()}-{_MACHINE}",
            _tested("copilot"),
            "@github/copilot-*/copilot",
            released="@github/copilot",
        ),
        Package(
            "kilo",
            f"@kilocode/cli-{platform.system().lower()}-{_MACHINE}",
            _tested("kilo"),
            "@kilocode/cli-*/bin/kilo",
            released="@kilocode/cli",
        ),
        Package("qwen", "@qwen-code/qwen-code", _tested("qwen"), ".bin/qwen"),
        Package("pi", "@earendil-works/pi-coding-agent", _tested("pi"), ".bin/pi"),
        # pi and Qwen Code want a newer one than many machines have.
        Package(
            "node",
            f"node-{platform.system().lower()}-{_MACHINE}",
            "22.23.3",
            "node-*/bin/node",
        ),
    )
}
AXE = Package("axe", "axe-core", "4.14.0", "axe-core/axe.min.js")
"""No agent: what the page is examined with, had in the same way."""


VARIABLE = "TAKEBACK_AGENTS"


def wanted(agent: str, environ: Mapping[str, str]) -> Package | None:
    """Returns the package of an agent, at another version if one is asked for; None if others are.

    What agents need beside themselves is always wanted.
    """
    package = PACKAGES[agent]
    asked = dict(one.partition("=")[::2] for one in environ.get(VARIABLE, "").split(",") if one)
    if not asked or agent == "node":
        return package
    version = asked.get(agent)
    if version:
        return replace(package, version=version, pinned=False)
    return None if version is None else package


def newest(package: Package, environ: Mapping[str, str]) -> Package:
    """Returns a package at its newest version, as npm calls its latest; raises NotInstalled.

    If that of the agent has no program for this machine, the newest that has one.
    """
    version = _latest(package.released or package.name, environ)
    if package.released:
        try:
            _latest(f"{package.name}@{version}", environ)
        except NotInstalled:
            had = _latest(package.name, environ)
            return replace(package, version=had, pinned=False, behind=version)
    return replace(package, version=version, pinned=False)


def _latest(name: str, environ: Mapping[str, str]) -> str:
    version = _npm(["view", name, "version", _QUIET], LOCKS, environ).strip()
    if not version:
        raise NotInstalled(f"npm knows no {name}")
    return version


def program_of(package: Package, environ: Mapping[str, str]) -> Path:
    """Returns the program of an agent, installed now if it was not; raises NotInstalled.

    ``environ`` is the machine's own, not a test's: it says where the cache is, and npm needs it.
    """
    place = kept(package.folder, environ, lambda here: _install(package, here, environ))
    found = sorted(place.glob(f"node_modules/{package.program}"))
    if not found:
        raise NotInstalled(f"{place} has no {package.program}; remove it to install it again")
    return found[0]


def _install(package: Package, here: Path, environ: Mapping[str, str]) -> None:
    what = ["install", f"{package.name}@{package.version}"]
    if package.pinned:
        lock = _lock(package)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(lock / name, here)
        what = ["ci"]
    options = ["--no-fund", "--no-audit", "--ignore-scripts", _QUIET]
    _npm([*what, *options, "--prefix", str(here)], here, environ)


def _npm(words: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> str:
    """Runs npm and returns what it printed; raises NotInstalled with the reason."""
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        raise NotInstalled("there is no npm")
    return run("npm", [npm, *words], cwd, environ)


def _lock(package: Package) -> Path:
    """Returns where an agent's packages are pinned; raises NotInstalled if they are not."""
    place = LOCKS / package.agent
    try:
        pinned = json.loads((place / "package.json").read_text())["dependencies"]
    except OSError:
        pinned = None
    if pinned != {package.name: package.version}:
        raise NotInstalled(f"{package.name} {package.version} is not pinned in {place}")
    return place
