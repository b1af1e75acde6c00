"""Compiles the parts of takeback that are written in C, if there is a compiler.

Without one nothing is compiled and nothing is said: each part has its like in Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = "src/takeback/native"
_LIBRARY = ("-shared", "-fPIC", "-pthread")
PARTS = (("look.c", "look.so", _LIBRARY),)
"""Each source, what is made of it beside it, and the flags that this takes."""


def build(native: Path) -> list[Path]:
    """Compiles what can be compiled; returns what was made."""
    compiler = shutil.which(os.environ.get("CC") or "cc")
    made = []
    for source, output, flags in PARTS if compiler is not None else ():
        fresh = native / f"{output}.new"
        command: list[str | Path] = [
            str(compiler),
            "-O2",
            "-std=c11",
            *flags,
            "-o",
            fresh,
            native / source,
        ]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            made.append(fresh.rename(native / output))  # a running process keeps the old one
        else:
            fresh.unlink(missing_ok=True)
    return made


class NativeParts(BuildHookInterface):  # type: ignore[type-arg]
    """Puts them into the wheel, which is then one for this platform."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if build(Path(self.root) / NATIVE):
            build_data["artifacts"] += [f"{NATIVE}/{output}" for _, output, _ in PARTS]
            if version != "editable":
                from packaging.tags import sys_tags

                build_data["pure_python"] = False
                build_data["tag"] = f"py3-none-{next(sys_tags()).platform}"
