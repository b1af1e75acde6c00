"""Pictures of the screen as SVG: compared with those in docs/pictures, or written there.

``TAKEBACK_PICTURES=write pytest tests/tui`` writes them anew; look at them before you keep them.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text
from textual.app import App

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
# Read at import: a test's own environment is sealed.
_WRITE = os.environ.get("TAKEBACK_PICTURES") == "write"
_FONT = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
_UNIQUE = re.compile(r"terminal-\d+-")
# The alphabet of ids has no i, l, o and u: no word of the texts has twelve letters of it.
_ID = re.compile(r"\b[a-hjkmnp-tv-z][a-hjkmnp-tv-z2-9]{11}\b")
_ANY_ID = "k4m7p2xq9tcd"
_PATIENCE = 60.0
_REST = 2.0
"""Seconds after which nothing moves any more, when a picture is written."""


def picture(app: App[Any], settle: Callable[[str], str] = lambda svg: svg) -> str:
    """Returns the screen as SVG, without what is new in each run or names another machine."""
    # First what the test knows of: a part of another kind of id may look like one of ours.
    svg = settle(_FONT.sub("", app.export_screenshot(title="takeback")))
    return _ID.sub(_ANY_ID, _UNIQUE.sub("terminal-", svg))


def assert_printed(lines: Iterable[str], name: str, width: int) -> None:
    """Fails unless lines with colours look as in ``docs/pictures/NAME.svg`` on a terminal."""
    console = Console(
        record=True,
        width=width,
        height=48,  # without it a dumb terminal is 80 wide, whatever is said
        file=StringIO(),
        force_terminal=True,
        color_system="truecolor",
    )
    for line in lines:
        console.print(Text.from_ansi(line), no_wrap=True, crop=False, overflow="ignore")
    svg = _FONT.sub("", console.export_svg(title="takeback", unique_id="terminal"))
    svg = _ID.sub(_ANY_ID, svg)
    path = PICTURES / f"{name}.svg"
    if _WRITE:
        path.write_text(svg)
    assert path.exists(), f"there is no picture {name}; write it with TAKEBACK_PICTURES=write"
    assert path.read_text() == svg, f"what is printed is not as in {path.name}"


async def assert_picture(
    app: App[Any], name: str, *, settle: Callable[[str], str] = lambda svg: svg
) -> None:
    """Fails unless the screen comes to look as it does in ``docs/pictures/NAME.svg``.

    ``settle`` replaces what else is new in each run.
    """
    path = PICTURES / f"{name}.svg"
    if _WRITE:
        await asyncio.sleep(_REST)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(picture(app, settle))
        return
    assert path.exists(), f"there is no picture {name}; write it with TAKEBACK_PICTURES=write"
    wanted, seen = path.read_text(), ""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        seen = picture(app, settle)
        if seen == wanted:
            return
        await asyncio.sleep(0.05)
    other = path.with_name(f"{name}.new.svg")
    other.write_text(seen)
    raise AssertionError(f"the screen is not as in {path.name}; it is in {other.name}")


def assert_text(svg: str, name: str) -> None:
    """Fails unless a picture that was made of others is as it is in ``docs/pictures/NAME.svg``."""
    path = PICTURES / f"{name}.svg"
    if _WRITE:
        path.write_text(svg)
    assert path.exists(), f"there is no picture {name}; write it with TAKEBACK_PICTURES=write"
    assert path.read_text() == svg, f"{path.name} is not made of the pictures of now"
