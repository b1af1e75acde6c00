"""The colours that are known without the library are those that it has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.color import ColorSystem

from scripts.inks import PLACE, all_styles, text
from takeback.app.engine import Engine
from takeback.app.threads import WorkspaceThread
from takeback.tui import pieces
from takeback.tui.picker import PickerApp


def test_the_styles_are_those_of_the_library() -> None:
    assert PLACE.read_text() == text(all_styles()), "write them anew: python -m scripts.inks"


_TERMS = [
    "xterm",
    "xterm-256color",
    "xterm-kitty",
    "screen-256color",
    "linux",
    "tmux",
    "rxvt-16color",
]
_COLORS = {ColorSystem.TRUECOLOR: pieces.TRUE, ColorSystem.EIGHT_BIT: pieces.MANY}


@pytest.mark.parametrize("term", _TERMS)
@pytest.mark.parametrize("more", [{}, {"COLORTERM": "truecolor"}, {"COLORTERM": "yes"}])
@pytest.mark.parametrize("background", ["", "15;0", "0;15", "0;default;7"])
def test_the_theme_is_the_one_that_the_picker_takes(
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    term: str,
    more: Mapping[str, str],
    background: str,
) -> None:
    environ = {"TERM": term, "COLORFGBG": background, **more}
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("TERM", "COLORTERM", "COLORFGBG"):
        monkeypatch.setenv(name, environ.get(name, ""))
    app = PickerApp(WorkspaceThread(lambda: Engine.open(workspace)))
    system = app.console._color_system
    assert system is not None
    key = pieces.style_key(app.theme, _COLORS.get(system, pieces.FEW))
    assert pieces.known_styles(environ) == pieces._all_styles()[key]


@pytest.mark.parametrize(
    "environ",
    [{"NO_COLOR": ""}, {"FORCE_COLOR": "1"}, {"TEXTUAL_FILTERS": "dim"}, {"TTY_COMPATIBLE": "0"}],
)
def test_what_only_the_library_knows_is_left_to_it(environ: Mapping[str, str]) -> None:
    assert pieces.known_styles({"TERM": "xterm", **environ}) is None
