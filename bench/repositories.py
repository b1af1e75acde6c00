"""Makes the repositories that are measured, once, outside the source tree.

Median file 3 KB, about ten files per directory, a fifth of all files ignored in node_modules: the
shape of the study in docs/performance.md. Names and sizes come from a fixed seed.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

_WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "model",
    "view",
    "store",
    "index",
    "parse",
    "render",
    "client",
    "server",
    "util",
]


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "takeback-bench"


def repository(files: int) -> Path:
    """Returns a repository with ``files`` committed files, made on first use."""
    place = cache_directory() / f"{files}-files"
    done = place / ".git" / "made"
    if done.exists():
        return place
    shutil.rmtree(place, ignore_errors=True)
    _fill(place, files)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        git(place, *arguments)
    done.touch()
    return place


def git(place: Path, *arguments: str, **environ: str) -> None:
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    subprocess.run(
        ["git", *identity, *arguments],
        cwd=place,
        check=True,
        env={**os.environ, **environ},
        stdout=subprocess.DEVNULL,
    )


def _fill(place: Path, files: int) -> None:
    chance = random.Random(files)
    body = " ".join(chance.choice(_WORDS) for _ in range(40_000)).encode()
    for number in range(files // 10):
        directory = place / f"package{number // 100}" / f"module{number}"
        directory.mkdir(parents=True, exist_ok=True)
        for name in range(10):
            _write(directory / f"{chance.choice(_WORDS)}_{name}.py", body, chance)
    for number in range(files // 50):
        directory = place / "node_modules" / f"dependency{number}"
        directory.mkdir(parents=True, exist_ok=True)
        for name in range(10):
            (directory / f"file{name}.js").write_bytes(body[:200])
    (place / ".gitignore").write_text("node_modules/\n")


def _write(path: Path, body: bytes, chance: random.Random) -> None:
    size = min(int(chance.lognormvariate(8.0, 1.0)), 100_000)
    start = chance.randrange(len(body) - size)
    path.write_bytes(body[start : start + size] + b"%d\n" % chance.randrange(1 << 30))


def tracked_files(place: Path) -> list[Path]:
    """Returns the files that a turn may edit, in a fixed order."""
    return sorted(p for p in place.glob("package*/module*/*.py"))


class Turns:
    """Plays turns of an agent: ten edited, two new and two deleted files each."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._files = tracked_files(place)
        self._chance = random.Random(len(self._files))
        self._number = 0

    def play(self) -> None:
        self._number += 1
        for path in self._chance.sample(self._files, 10):
            with path.open("ab") as file:
                file.write(b"# edit %d\n" % self._number)
        for path in self._chance.sample(self._files, 2):
            new = path.parent / f"new_{self._number}_{path.name}"
            new.write_bytes(b"new %d\n" % self._number)
            self._files.append(new)
        for path in self._chance.sample(self._files, 2):
            path.unlink()
            self._files.remove(path)

    def edit(self, count: int) -> None:
        """Edits ``count`` different files."""
        self._number += 1
        for path in self._chance.sample(self._files, count):
            with path.open("ab") as file:
                file.write(b"# edit %d\n" % self._number)
