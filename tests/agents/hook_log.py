"""Listens to what a real agent calls: its launcher notes each call, and passes it on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_LOGGING = """#!/bin/sh
said=$(cat)
printf '%s %s\\n' "$*" "$said" >> {log}
printf '%s' "$said" | {real} "$@"
"""


def log_hooks(launcher: Path, log: Path) -> None:
    """Has a launcher note its calls in a file."""
    real = launcher.with_name("hook.real")
    launcher.rename(real)
    launcher.write_text(_LOGGING.format(log=log, real=real))
    launcher.chmod(0o755)


def logged(log: Path) -> list[tuple[str, dict[str, Any]]]:
    """Returns the calls so far: the words of each, and what it was told."""
    calls = [line.partition(" {") for line in log.read_text().splitlines()]
    return [(words, json.loads("{" + rest)) for words, _, rest in calls]
