"""The real agents, each at one version, installed once into a cache outside the tree.

    $TAKEBACK_AGENTS_CACHE, else $XDG_CACHE_HOME/takeback-agents, else ~/.cache/takeback-agents
        claude-2.1.325/node_modules/...     whole, or not there: it is renamed when it is done
        claude-2.1.325.lock                 held by the one process that installs

npm says where from. What is installed is what ``locks/AGENT/package-lock.json`` says, each package
with its hash and none with a place; scripts of packages are not run. A new version: change
``locks/AGENT/package.json``, and there run
``npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved``.
What the registry lacks of other machines' packages is overridden there: npm takes no lock without.
What cannot be installed is not tested, and says so.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 600
LOCKS = Path(__file__).parent / "locks"


class NotInstalled(Exception):
    """An agent cannot be had here; the message says why."""


@dataclass(frozen=True, slots=True)
class Package:
    """One agent as npm has it; ``program`` is a pattern below ``node_modules``."""

    agent: str
    name: str
    version: str
    program: str

    @property
    def folder(self) -> str:
        return f"{self.agent}-{self.version}"


_MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
PACKAGES = {
    package.agent: package
    for package in (
        Package(
            "claude", "@anthropic-ai/claude-code", "2.1.325", "@anthropic-ai/claude-code-*/claude"
        ),
        Package("codex", "@openai/codex", "0.166.0", "@openai/codex-*/vendor/*/bin/codex"),
        Package("gemini", "@google/gemini-cli", "0.61.0", ".bin/gemini"),
        # The program of this machine itself, not the script that looks for it: npm takes no lock of
        # that one where the registry lacks the program of any other machine.
        Package(
            "opencode",
            f"opencode-{platform.system().lower()}-{_MACHINE}",
            "1.18.33",
            "opencode-*/bin/opencode",
        ),
        Package(
            "copilot",
            f"@github/copilot-{platform.system().lower()}-{_MACHINE}",
            "1.0.102",
            "@github/copilot-*/copilot",
        ),
        Package(
            "kilo",
            f"@kilocode/cli-{platform.system().lower()}-{_MACHINE}",
            "7.7.7",
            "@kilocode/cli-*/bin/kilo",
        ),
        Package("qwen", "@qwen-code/qwen-code", "0.24.4", ".bin/qwen"),
        Package("pi", "@earendil-works/pi-coding-agent", "0.87.1", ".bin/pi"),
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


def program_of(package: Package, environ: Mapping[str, str]) -> Path:
    """Returns the program of an agent, installed now if it was not; raises NotInstalled.

    ``environ`` is the machine's own, not a test's: it says where the cache is, and npm needs it.
    """
    places = cache(environ)
    try:
        places.mkdir(parents=True, exist_ok=True)
        with (places / f"{package.folder}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # other test processes want the same
            place = places / package.folder
            if not place.exists():
                _install(package, place, environ)
    except OSError as error:
        raise NotInstalled(f"{places}: {error.strerror}") from error
    found = sorted(place.glob(f"node_modules/{package.program}"))
    if not found:
        raise NotInstalled(f"{place} has no {package.program}; remove it to install it again")
    return found[0]


def cache(environ: Mapping[str, str]) -> Path:
    """Returns where what tests install is kept."""
    named = environ.get("TAKEBACK_AGENTS_CACHE")
    if named:
        return Path(named)
    caches = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME", ""), ".cache")
    return Path(caches, "takeback-agents")


def _install(package: Package, place: Path, environ: Mapping[str, str]) -> None:
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        raise NotInstalled("there is no npm")
    lock = _lock(package)
    unfinished = place.with_name(f"{place.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(lock / name, unfinished)
    argv = [npm, "ci", "--no-fund", "--no-audit", "--ignore-scripts", "--loglevel=error"]
    try:
        done = subprocess.run(
            [*argv, "--prefix", str(unfinished)],
            cwd=unfinished,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"npm took longer than {_SECONDS} s") from error
    if done.returncode != 0:
        last = [line for line in done.stderr.splitlines() if line.strip()][:1]
        raise NotInstalled(f"npm ended with {done.returncode}: {' '.join(last)}")
    unfinished.rename(place)


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
