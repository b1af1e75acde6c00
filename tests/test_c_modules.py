"""The private C modules of Python: each may be missing, and no Python's hook stops for that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from takeback import c_modules
from tests.support.cli import Cli
from tests.support.journey import write_files

PRIVATE = sorted({found[0] for found in c_modules._FOUND_IN.values()})

HEAR = """
import sys
missing = sys.argv[1]
for public in ("bisect", "hashlib", "json", "operator", "os", "signal", "socket"):
    __import__(public)  # they stand on the private ones, under whatever name those will have
sys.modules[missing] = None
from takeback import handover
handover.name_for(handover.environment())
from takeback.hook import main
sys.exit(main(["generic"]))
"""

NEWER_SCANNER = """
import sys, json, _json
class Newer:
    "What a scanner of a later Python could want to know."
    def __new__(cls, context):
        context.array_hook
        context.wanted_from_now_on
sys.modules["_json"].make_scanner = Newer
from takeback.hook import main
sys.exit(main(["generic"]))
"""


def heard(workspace: Path, program: str, *words: str, turn: str) -> None:
    event = {"event": "prompt", "session": "s", "turn": turn, "prompt": turn, "cwd": str(workspace)}
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=workspace,
        input=json.dumps(event).encode(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), turn


def test_an_event_is_recorded_whichever_of_them_is_missing(workspace: Path) -> None:
    assert {"_bisect", "_json", "_sha1", "_signal", "_socket", "posix"} <= set(PRIVATE)
    for name in PRIVATE:
        write_files(workspace, {"a": name.encode(), "d/b": name.encode()})
        heard(workspace, HEAR, name, turn=name)
    heard(workspace, NEWER_SCANNER, turn="a newer scanner")
    lines = Cli(workspace).ok("--json", "log").json_lines
    assert {line["prompt"] for line in lines} == {*PRIVATE, "a newer scanner"}
    log = Path(os.environ["TAKEBACK_HOME"], "log")
    assert not log.exists(), log.read_text()


def test_a_name_that_is_not_there_is_said_as_of_any_module() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        c_modules.nothing  # noqa: B018
