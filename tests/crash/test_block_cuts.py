"""The power fails under a real file system: what was acknowledged is there, exact and in order.

``block_cuts.py`` is the day that is worked and what has to hold after each cut. It needs root, loop
devices and FUSE: where they are not to be had, nothing is tested, and that is said.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crash.block_cuts import FILE_SYSTEMS, NOT_POSSIBLE
from tests.support.cache import NotInstalled
from tests.support.debian import program

CUTS = 50
"""Of each file system: 200 in all."""
SOAK = 12
"""So many days of as many cuts in the soak."""
_PATIENCE = 1_800
PACKAGES = {"mkfs.ext4": "e2fsprogs", "mkfs.xfs": "xfsprogs", "mkfs.btrfs": "btrfs-progs"}

pytestmark = [pytest.mark.long]
# Taken before a test's environment is sealed: apt-get is the machine's own.
_ENVIRON = dict(os.environ)


@pytest.mark.parametrize("name", FILE_SYSTEMS)
def test_what_was_acknowledged_is_there_after_any_cut(
    tmp_path: Path, name: str, soak: bool
) -> None:
    for day in range(SOAK if soak else 1):
        said = cut(name, day + 1, tmp_path / str(day))
        assert [line for line in said if "findings" in line and "cuts" not in line] == []
        assert said[-1]["cuts"] == CUTS
        assert said[-1]["exact"] == CUTS  # each time there was something to go back to
        assert said[-1]["pending"] > 0  # and there was something to lose


def cut(name: str, day: int, directory: Path) -> list[dict[str, Any]]:
    """Works for a day and cuts it; returns each finding, and the sums."""
    tool = FILE_SYSTEMS[name].make[0]
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: power cuts under a file system: only root can mount one")
    try:
        made_with = program([tool], PACKAGES[tool], _ENVIRON)
    except NotInstalled as error:
        pytest.skip(f"NOT TESTED: power cuts under {name}: {error}")
    path = os.pathsep.join((os.environ["PATH"], str(made_with.parent), "/usr/sbin", "/sbin"))
    work = [sys.executable, "-m", "tests.crash.block_cuts", name, str(day), str(CUTS)]
    done = subprocess.run(
        ["unshare", "--mount", *work, str(directory)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    if done.returncode == NOT_POSSIBLE:
        pytest.skip(f"NOT TESTED: power cuts under {name}: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
