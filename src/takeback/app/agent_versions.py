"""Agents' versions: which one was tested with this takeback, and which one is installed.

Agents change often. What is installed is read from where it lies and never asked of the program:
some unpack themselves, or look for updates, before they say which version they are.

    .../node_modules/@openai/codex-linux-x64/package.json     npm, pnpm, bun: the package around it
    .../share/claude/versions/2.1.325                         a version in its own path, after the
    .../Cellar/codex/0.166.0/bin/codex                        program's name
"""

from __future__ import annotations

import json
import os
import re

from takeback import programs
from takeback.check.finding import OK, Finding
from takeback.ordinary import ordinary
from takeback.store.location import is_known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.app.connect import AgentState

_VERSION = re.compile(r"v?(\d{1,9}\.\d{1,9}\.\d{1,9})(?![\d.])")
_LONGEST = 1 << 20
_MODULES = "node_modules"


def check_version(environ: Mapping[str, str], home: str, state: AgentState) -> list[Finding]:
    """Says which version of a connected agent was tested, and which is installed.

    Another one than was tested is no fault, and nothing is known of it.
    """
    if not state.connected or not state.tested:
        return []
    found = programs.find(
        state.program, environ, is_workspace=lambda path: is_known(home, os.fsencode(path))
    )
    version = None if found.program is None else installed_version(found.program)
    if version == state.tested:
        message = f"{version} is installed, which this takeback was tested with"
    elif version is not None:
        age = "newer" if _numbers(version) > _numbers(state.tested) else "older"
        message = f"{version} is installed, {age} than {state.tested}, which was tested"
    else:
        message = f"{state.tested} was tested; which version is installed is not known"
        message += f": {found.passed_over}" if found.passed_over else ""
    return [Finding(state.title, OK, message)]


def installed_version(program: str) -> str | None:
    """Returns the version of a program by where it lies; None if that does not tell."""
    parts = os.path.realpath(program).split("/")
    if _MODULES in parts:
        first = len(parts) - parts[::-1].index(_MODULES)
        package = parts[: first + (2 if "@" in parts[first] else 1)]  # one of a scope has two names
        return _in_package("/".join((*package, "package.json")))
    for at, part in enumerate(parts):
        if os.path.basename(program) in parts[max(0, at - 2) : at] and _VERSION.fullmatch(part):
            return part.removeprefix("v")
    return None


def _in_package(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", opener=ordinary) as file:
            said = json.loads(file.read(_LONGEST))
    except (OSError, ValueError, RecursionError):
        return None
    version = said.get("version") if isinstance(said, dict) else None
    known = _VERSION.match(version) if isinstance(version, str) else None
    return None if known is None else known[1]  # without the machine that it is for


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d{1,9}", version))
