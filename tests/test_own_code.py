"""Whether what runs is still what is installed, whatever became of its files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from takeback import kernel
from takeback.adapters import launcher

# A process whose takeback is in a directory of the test; it says what it finds before and after.
_ASKING = """
import os, shutil, sys
from takeback import kernel, own_code
kernel.LINUX = {watching}
code = own_code.OwnCode()
print(code.may_have_changed(), code.has_changed())
file = own_code.__file__
text = open(file).read()
{change}
print(code.may_have_changed(), code.has_changed())
"""
CHANGES = {
    "edited": "open(file, 'a').write('# more')",
    "replaced": "open(file + '~', 'w').write(text + '# more'); os.rename(file + '~', file)",
    "gone": "os.unlink(file)",
    "moved away, with all around it": "os.rename('installed', 'elsewhere')",
    "moved away, and another in its place": (
        "os.rename('installed', 'elsewhere'); shutil.copytree('elsewhere', 'installed');"
        "os.utime(file, (1, 1))"
    ),
}
HARMLESS = {
    "nothing happened": "pass",
    "another module was compiled": "os.mkdir(os.path.dirname(file) + '/__pycache__2')",
    "touched, and as it was": (
        "s = os.stat(file); open(file, 'w').write(text); "
        "os.utime(file, ns=(s.st_atime_ns, s.st_mtime_ns))"
    ),
}


def said(place: Path, change: str, *, watching: bool = kernel.LINUX) -> list[str]:
    shutil.copytree(launcher.package_directory() + "/takeback", place / "installed" / "takeback")
    done = subprocess.run(
        [sys.executable, "-c", _ASKING.format(change=change, watching=watching)],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(place / "installed")},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_was_changed_is_noticed(tmp_path: Path, change: str) -> None:
    assert said(tmp_path, change) == ["False False", "True True"]


def test_it_is_noticed_where_the_kernel_does_not_watch(tmp_path: Path) -> None:
    assert said(tmp_path, CHANGES["edited"], watching=False) == ["False False", "True True"]


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS)
def test_what_is_as_it_was_goes_on(tmp_path: Path, change: str) -> None:
    assert said(tmp_path, change) == ["False False"] * 2
