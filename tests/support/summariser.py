"""A command that makes summaries, as a person sets one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.support.cli import Cli


def set_summariser(
    workspace: Path, folder: Path, script: str = "", env: Mapping[str, str] | None = None
) -> Path:
    """Sets a program, made in a folder, which reads its input and says ``in short``."""
    program = folder / "programs" / "in-short"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script or 'cat > /dev/null; echo in short'}\n")
    program.chmod(0o755)
    Cli(workspace, env=env).ok("config", "summariser", str(program))
    return program
