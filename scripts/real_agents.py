"""Runs the tests with real agents and reports what held of each.

    make agents          at the versions that are pinned; writes docs/agents/tried.json, from which
                         cog makes the table in docs/agents/README.md (``tried.py``)
    make agents-latest   at their newest versions; prints a table, writes build/agents-latest.md
                         and ends with 0 whatever came: it tells what is ahead, and fails nothing

``AGENTS="claude pi"`` names some of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from scripts.tried import COLUMNS, RECORD, ROOT
from tests.agents.installed import PACKAGES, VARIABLE, Package, newest, program_of
from tests.agents.tried import AGENT
from tests.support.cache import NotInstalled

_BUILD = ROOT / "build"
_LONGEST = 160
AGENTS = tuple(name for name in PACKAGES if name != "node")


@dataclass
class Outcome:
    """What the tests of one agent came to."""

    passed: int = 0
    failed: int = 0
    first_failure: str = ""
    columns: dict[str, str] = field(default_factory=dict)

    def holds(self, column: str) -> bool:
        return self.columns.get(column) == "yes"


def read_report(path: Path) -> dict[str, Outcome]:
    """Reads what pytest wrote of a run, by agent; empty if it wrote nothing."""
    found: dict[str, Outcome] = {}
    if not path.exists():
        return found
    for case in ElementTree.parse(path).iter("testcase"):
        notes = [(one.get("name") or "", one.get("value") or "") for one in case.iter("property")]
        agents = {value for name, value in notes if name == AGENT} - {"node"}
        trouble = case.find("failure") if case.find("failure") is not None else case.find("error")
        for agent in agents if case.find("skipped") is None else ():
            outcome = found.setdefault(agent, Outcome())
            for name, value in notes:
                if name in COLUMNS and outcome.columns.get(name) != "no":
                    outcome.columns[name] = value
            if trouble is None:
                outcome.passed += 1
                continue
            outcome.failed += 1
            said = (trouble.get("message") or "").splitlines() or [""]
            outcome.first_failure = outcome.first_failure or f"{case.get('name')}: {said[0]}"
    return found


def run_tests(workers: int, environ: Mapping[str, str]) -> tuple[int, dict[str, Outcome]]:
    """Runs every test that has an agent; returns pytest's exit status and what it wrote."""
    report = _BUILD / "agents.xml"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    argv = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "--dist", "worksteal"]
    argv += ["--inline-snapshot=disable", "-m", "not soak", f"--junitxml={report}", "tests/agents"]
    done = subprocess.run(argv, cwd=ROOT, env=dict(environ), check=False)
    return done.returncode, read_report(report)


# -- at the versions that are pinned


def write_record(found: Mapping[str, Outcome]) -> None:
    """Writes what held of the agents that were tried; what is known of others stays."""
    rows = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for agent, outcome in found.items():
        held = {column: outcome.holds(column) for column in COLUMNS}
        rows[agent] = {"version": PACKAGES[agent].version, **held}
    lines = [f"{json.dumps(agent)}: {json.dumps(rows[agent])}" for agent in sorted(rows)]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


# -- at their newest versions


def try_newest(agents: Sequence[str], workers: int, environ: Mapping[str, str]) -> str:
    """Installs the newest versions, runs their tests, and returns the report as Markdown."""
    packages: dict[str, Package] = {}
    missing: dict[str, str] = {}
    for agent in agents:
        try:
            packages[agent] = newest(PACKAGES[agent], environ)
            program_of(packages[agent], environ)
        except NotInstalled as error:
            missing[agent] = str(error)
    had = {agent: one.version for agent, one in packages.items() if agent not in missing}
    status, found = 0, dict[str, Outcome]()
    if had:
        asked = ",".join(f"{agent}={version}" for agent, version in had.items())
        status, found = run_tests(workers, {**environ, VARIABLE: asked})
    rows = [
        "| agent | tested | newest | passed | failed | first failure |",
        "|---|---|---|---|---|---|",
    ]
    for agent in agents:
        outcome = found.get(agent, Outcome())
        said = f"not installed: {missing[agent]}" if agent in missing else outcome.first_failure
        if agent in had and agent not in found:
            said = f"no test ran: pytest ended with {status}"
        cells = (
            agent,
            PACKAGES[agent].version,
            _version(packages.get(agent)),
            str(outcome.passed),
            str(outcome.failed),
            said.replace("|", "\\|")[:_LONGEST],
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _version(package: Package | None) -> str:
    if package is None:
        return "?"
    more = f" ({package.behind} has no program for this machine)" if package.behind else ""
    return f"{package.version}{more}"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="real_agents")
    parser.add_argument("--newest", action="store_true", help="at their newest versions")
    parser.add_argument("--workers", type=int, default=2, help="tests at once")
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="all of them, if none is named")
    options = parser.parse_args(words)
    unknown = [name for name in options.agents if name not in AGENTS]
    if unknown:
        parser.error(f"there is no agent {unknown[0]!r}; there are: {', '.join(AGENTS)}")
    agents = options.agents or list(AGENTS)
    if options.newest:
        report = try_newest(agents, options.workers, os.environ)
        _BUILD.mkdir(exist_ok=True)
        (_BUILD / "agents-latest.md").write_text(f"{report}\n")
        print(f"\n{report}\n\nwritten to build/agents-latest.md")
        return 0
    asked = {VARIABLE: ",".join(agents)} if options.agents else {}
    status, found = run_tests(options.workers, {**os.environ, **asked})
    write_record(found)
    print(f"written to {RECORD.relative_to(ROOT)}; the table of it: make docs")
    return status


if __name__ == "__main__":
    sys.exit(main())
