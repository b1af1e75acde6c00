"""Writes the codes of the picker's styles, which its first frame is drawn with.

They are what Textual makes of each theme, after its filters, for each number of colours.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

import takeback.tui
from takeback.app.engine import Engine
from takeback.app.threads import WorkspaceThread
from takeback.tui import pieces
from takeback.tui.bars import KeyBar, TitleBar
from takeback.tui.picker import PickerApp
from takeback.tui.timeline.list import CURSOR, NAMES, Inks, TimelineList

PLACE = Path(takeback.tui.__file__).with_name("inks.json")
_WAYS = {
    pieces.TRUE: ("textual", ColorSystem.TRUECOLOR),
    pieces.MANY: ("textual", ColorSystem.EIGHT_BIT),
    pieces.FEW: ("ansi", ColorSystem.STANDARD),
    pieces.NONE: ("ansi", ColorSystem.TRUECOLOR),
}


def all_styles() -> dict[str, dict[str, str]]:
    """Returns the codes of each style, by theme and number of colours."""
    found = {}
    for colors, (family, system) in _WAYS.items():
        for kind in ("dark", "light"):
            theme = f"{family}-{kind}"
            found[pieces.style_key(theme, colors)] = asyncio.run(_styles(theme, colors, system))
    return found


async def _styles(theme: str, colors: str, system: ColorSystem) -> dict[str, str]:
    before = os.environ.pop("NO_COLOR", None)
    if colors == pieces.NONE:
        os.environ["NO_COLOR"] = "1"
    with TemporaryDirectory() as folder:
        thread = WorkspaceThread(lambda: Engine.open(folder, environ={"TAKEBACK_HOME": folder}))
        try:
            app = PickerApp(thread, theme=theme)
            async with app.run_test() as pilot:
                await pilot.pause()
                return _codes(app, system)
        finally:
            thread.close()
            os.environ.pop("NO_COLOR", None)
            if before is not None:
                os.environ["NO_COLOR"] = before


def _codes(app: PickerApp, system: ColorSystem) -> dict[str, str]:
    rows, title, keys = (app.screen.query_one(kind) for kind in (TimelineList, TitleBar, KeyBar))
    inks = Inks(rows)
    wanted: dict[str, tuple[Widget, Style]] = {
        pieces.BASE: (rows, rows.rich_style),
        pieces.TITLE: (title, title.rich_style),
        pieces.TITLE_NAME: (title, title.rich_style + Style(bold=True)),
        pieces.KEYS: (keys, keys.rich_style),
        pieces.KEY: (
            keys,
            keys.rich_style + keys.get_component_rich_style("keys--key", partial=True),
        ),
    }
    for name in NAMES:
        wanted[name] = (rows, inks.of(name))
        wanted[pieces.on_cursor(name)] = (rows, inks.of(name, CURSOR))
    return {name: _code(app, *about, system) for name, about in wanted.items()}


def _code(app: PickerApp, widget: Widget, style: Style, system: ColorSystem) -> str:
    strip = Strip([Segment("x", style)])
    for one in app.get_line_filters():
        strip = strip.apply_filter(one, widget.background_colors[1])
    [segment] = list(strip)
    assert segment.style is not None
    return Strip.render_ansi(segment.style, system)


def text(styles: Any) -> str:
    return json.dumps(styles, indent=1) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PLACE.read_text() != text(all_styles()))
    PLACE.write_text(text(all_styles()))
