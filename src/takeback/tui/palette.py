"""Which colours the picker has on this terminal, as far as that is known without its library.

Textual works them out from a theme, for which it has to be imported. ``inks.json`` has what comes
of it: for each theme, and each number of colours, the codes of every style that the first frame
needs. ``scripts/inks.py`` writes it, and a test compares.
"""

from __future__ import annotations

from takeback.model import json_text
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

BASE, TITLE, TITLE_NAME, KEYS, KEY = "base", "title", "title-name", "keys", "key"
"""Styles that are not those of a row."""
TRUE, MANY, FEW, NONE = "truecolor", "256", "16", "none"
"""How many colours a terminal has, or is to use."""
_COLORS = {"kitty": MANY, "256color": MANY}
_DECIDED_ELSEWHERE = ("TEXTUAL_", "FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables by which the library's decisions can be changed."""


def fitting_theme(environ: Mapping[str, str], *, few_colors: bool) -> str:
    """Returns the theme that fits the terminal, as far as it can be told."""
    # Some terminals give their colours by number: the last one is the background.
    light = environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
    return f"{'ansi' if few_colors else 'textual'}-{'light' if light else 'dark'}"


def style_key(theme: str, colors: str) -> str:
    """Returns the name under which the styles of a theme are kept."""
    return f"{theme} {colors}"


def on_cursor(name: str) -> str:
    """Returns the name of a style on the cursor's background."""
    return f"{name} on cursor"


def known_styles(environ: Mapping[str, str]) -> Mapping[str, str] | None:
    """Returns the codes of each style by its name; None if only the library can tell."""
    if any(name.startswith(_DECIDED_ELSEWHERE) for name in environ):
        return None
    colors = _colors(environ)
    if colors is None:
        return None
    theme = fitting_theme(environ, few_colors=colors in (FEW, NONE))
    return _all_styles().get(style_key(theme, colors))


def _colors(environ: Mapping[str, str]) -> str | None:
    """Returns how many colours there are, as rich finds out; None if that would take more."""
    if "NO_COLOR" in environ:
        return NONE if environ["NO_COLOR"] else None
    if environ.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return TRUE
    return _COLORS.get(environ.get("TERM", "").strip().lower().rpartition("-")[2], FEW)


def _all_styles() -> Mapping[str, Mapping[str, str]]:
    from os.path import dirname, join

    with open(join(dirname(__file__), "inks.json"), encoding="utf-8", opener=ordinary) as file:
        found = json_text.loads(file.read())
    assert isinstance(found, dict)
    return found
