"""Builds the parts of takeback that are written in C, where there is a compiler.

Each has a part in Python that does the same, so nothing here is needed: without a compiler, or if
one of them does not compile, that one is left out and said in a line, and an installation goes on.
What is built lies in ``src/takeback/native/built/``, goes into wheels, and is not kept in git.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_COMMON = ("-O2", "-Wall", "-Wextra", "-fstack-protector-strong")
_SECONDS = 120


class Part(NamedTuple):
    """A file of C and what it becomes; of several sets of flags the first that works is taken."""

    source: str
    output: str
    flags: tuple[tuple[str, ...], ...]


PARTS = (
    # Static: it starts in less time, and runs with whatever C library a system has.
    Part("hook.c", "hook", (("-s", "-static"), ("-s",))),
    Part("look.c", "look.so", (("-s", "-std=gnu11", "-shared", "-fPIC", "-pthread"),)),
)


def build(native: Path, environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Builds every part below a directory with sources; returns what there is afterwards."""
    found = (_built(part, native, environ) for part in PARTS)
    return [output for output in found if output is not None]


def _built(part: Part, native: Path, environ: Mapping[str, str]) -> Path | None:
    output = native / "built" / part.output
    compiler = shlex.split(environ.get("CC", "")) or ["cc"]
    if not sys.platform.startswith("linux") or shutil.which(compiler[0]) is None:
        output.unlink(missing_ok=True)  # of an older source, perhaps
        return None
    output.parent.mkdir(exist_ok=True)
    unfinished = output.with_name(f".{output.name}.{os.getpid()}")
    for flags in part.flags:
        command = [*compiler, *_COMMON, *flags, "-o", str(unfinished), str(native / part.source)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and unfinished.exists():
            unfinished.chmod(0o755)
            unfinished.rename(output)  # whoever runs the old one goes on with it
            return output
    unfinished.unlink(missing_ok=True)
    output.unlink(missing_ok=True)
    print(f"takeback: {part.source} does not compile here; Python does its work", file=sys.stderr)
    return None
