"""Pictures of the screen as SVG: compared with those in docs/pictures, or written there.

``TAKEBACK_PICTURES=write pytest tests/tui`` writes them anew; look at them before you keep them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.app import App

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
# Read at import: a test's own environment is sealed.
_WRITE = os.environ.get("TAKEBACK_PICTURES") == "write"
_FONT = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
_UNIQUE = re.compile(r"terminal-\d+-")
# The alphabet of ids has no i, l, o and u: no word of the texts has twelve letters of it.
_ID = re.compile(r"\b[a-hjkmnp-tv-z][a-hjkmnp-tv-z2-9]{11}\b")
_ANY_ID = "k4m7p2xq9tcd"


def picture(app: App[Any]) -> str:
    """Returns the screen as SVG, without what is new in each run or names another machine."""
    svg = _FONT.sub("", app.export_screenshot(title="takeback"))
    return _ID.sub(_ANY_ID, _UNIQUE.sub("terminal-", svg))


def assert_picture(
    app: App[Any], name: str, *, settle: Callable[[str], str] = lambda svg: svg
) -> None:
    """Fails unless the screen looks as it does in ``docs/pictures/NAME.svg``.

    ``settle`` replaces what else is new in each run.
    """
    path, seen = PICTURES / f"{name}.svg", settle(picture(app))
    if _WRITE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(seen)
        return
    assert path.exists(), f"there is no picture {name}; write it with TAKEBACK_PICTURES=write"
    if path.read_text() != seen:
        other = path.with_name(f"{name}.new.svg")
        other.write_text(seen)
        raise AssertionError(f"the screen is not as in {path.name}; it is in {other.name}")
