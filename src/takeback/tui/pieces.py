"""Colours, places, cells, keys and bars of the picker, told before its library is there."""

from __future__ import annotations

from typing import NamedTuple

from takeback.app import actions
from takeback.model import json_text
from takeback.model.operation import BOTH, CONVERSATION, FILES, FORK, REDO, REVERT, UNDO
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.app.actions import ActionName


# -- which colours the picker has on this terminal, as far as that is known without its library
#
# Textual works them out from a theme, for which it has to be imported. ``inks.json`` has what comes
# of it: for each theme, and each number of colours, the codes of every style that the first frame
# needs. ``scripts/inks.py`` writes it, and a test compares.


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


# -- where the timeline is on the main screen: the same before the picker's library is there


WIDE = 120
"""From so many columns on, the detail is beside the timeline, else below it."""
TIMELINE_PERCENT = 46
"""How much of a wide screen the timeline has."""
BARS = 2
"""Lines that are not the timeline's while there is no detail: the title and the keys."""


def list_width(width: int) -> int:
    """Returns how many columns of a screen the list has, its scroll bar included."""
    return width if width < WIDE else width * TIMELINE_PERCENT // 100


# -- how wide a text is on the screen, in cells: as Textual counts them
#
# rich decides, whose tables Textual uses. Importing it takes as long as reading the first page, so
# text of which each character is plainly one cell wide is counted without it: the first rows are on
# the screen before any library is loaded.


_PLAIN = frozenset(
    map(
        chr,
        (
            *range(0x20, 0x7F),
            *range(0xA1, 0xAD),
            *range(0xAE, 0x300),  # Latin
            *range(0x391, 0x3A2),
            *range(0x3A3, 0x482),  # Greek, Cyrillic
            *range(0x2010, 0x2028),  # dashes, quotation marks, the ellipsis
            *range(0x2190, 0x219A),  # arrows
            *range(0x2500, 0x25FD),  # lines, blocks, the signs of rows
            *map(ord, "✓❯↳"),
        ),
    )
)


def cell_len(text: str) -> int:
    """Returns how many cells a text takes."""
    if _PLAIN.issuperset(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def set_cell_size(text: str, size: int) -> str:
    """Cuts a text to a width, or pads it with blanks."""
    if _PLAIN.issuperset(text):
        return text[: max(0, size)].ljust(size)
    from rich.cells import set_cell_size

    return set_cell_size(text, size)


# -- all keys of the picker, on one page: the line at the foot and the help are made from it


class Key(NamedTuple):
    """A key as the foot shows it, what it does in a word, and the action that does it.

    ``keys`` and ``sentence`` are the long forms, for the help.
    """

    key: str
    word: str
    action: str
    keys: str
    sentence: str


_ACTIONS = Key("enter", "actions", "open", "Enter, double click", "what can be done at this place")
_VIEW = Key("v", "view", "detail('view')", "v", "what it changed, or what going there would")
_HELP = Key("?", "help", "help", "?", "this page")
_SIDE_BY_SIDE = Key(
    "s", "side by side", "detail('side_by_side')", "s", "the diff side by side, or unified"
)
_LARGER = Key("z", "larger", "detail('larger')", "z", "the detail on the whole screen, and back")
_NEXT = Key("tab", "next", "app.focus_next", "Tab", "on to the diff, then to the timeline")
_BACK = Key("esc", "timeline", "step_back", "Esc", "one stage back; it never changes anything")

TIMELINE = (
    Key("↑↓", "move", "", "Up, Down, k, j", "move; after the last row comes the first"),
    _ACTIONS,
    Key("tab", "detail", "app.focus_next", "Tab", "to the detail, and back"),
    Key("/", "search", "search", "/", "search prompts and paths as you type"),
    Key("f", "filter", "filter", "f", "only one agent, session, label or file"),
    Key("u", "undo", "step('undo')", "u", "undo the last operation"),
    Key("r", "redo", "step('redo')", "r", "redo what was undone"),
    Key("l", "label", "label", "l", "give this place a label"),
    _VIEW,
    Key("y", "copy id", "copy", "y", "copy the id of this place"),
    Key("t", "theme", "app.switch_theme", "t", "dark or light"),
    _HELP,
    Key("q", "quit", "leave", "q, Ctrl-C", "quit; so does Esc at the first stage"),
)
DETAIL = (
    Key("↑↓", "file", "", "Up, Down", "another file"),
    Key("space", "tick", "", "Space", "tick a file, to rewind the ticked files only"),
    _VIEW,
    _SIDE_BY_SIDE,
    Key("c", "not held", "detail('coverage')", "c", "what the checkpoint does not hold, and why"),
    _LARGER,
    _ACTIONS,
    _NEXT,
    _HELP,
    _BACK,
)
DIFF = (
    Key("n p", "hunk", "", "n, p", "the next hunk of the diff, the one before"),
    Key("space", "tick", "", "Space", "tick a hunk of what going there would change"),
    _VIEW,
    _SIDE_BY_SIDE,
    _LARGER,
    _ACTIONS,
    _NEXT,
    _HELP,
    _BACK,
)
SEARCH = (
    Key("type", "search", "", "letters", "prompts and paths are searched at once"),
    Key("↑↓", "move", "", "Up, Down", "move in what was found"),
    Key("enter", "keep", "", "Enter", "keep what was found and go to it"),
    Key("esc", "close", "step_back", "Esc", "everything is shown again"),
)
JUMPS = (
    Key("", "", "", "PageUp, PageDown", "a page"),
    Key("", "", "", "Home, End, g, G", "the newest, the oldest"),
    Key("", "", "", "o", "the operations: go to before or after one"),
    Key("", "", "", "Ctrl-Z", "to the shell; fg comes back"),
)
"""Keys that only the help lists."""
PAGES = (
    ("Timeline", (TIMELINE[0], *JUMPS, *TIMELINE[1:])),
    ("Search", SEARCH),
    ("Detail", tuple(key for key in DETAIL if key not in TIMELINE)),
    ("Diff", tuple(key for key in DIFF if key not in (*TIMELINE, *DETAIL))),
)
"""The help, under its headings."""

ACTIONS: dict[ActionName, str] = {
    BOTH: "b",
    CONVERSATION: "c",
    FILES: "f",
    actions.TICKED: "t",
    REVERT: "v",
    actions.END: "e",
    actions.BEFORE: "e",
    FORK: "n",
    actions.FORK_FILES: "w",
    actions.FORK_DIRECTORY: "d",
    actions.SUMMARISE_FROM: "s",
    actions.SUMMARISE_UP_TO: "p",
    actions.LABEL: "l",
    actions.COPY: "y",
    UNDO: "u",
    REDO: "r",
    actions.CANCEL: "q",
}
"""The keys of the list of actions."""


# -- what the lines at the top and at the foot say, cut to the width of the screen. Pure


_NAME = "takeback"


def title_pieces(where: str, right: str, width: int) -> list[str]:
    """Returns the name, the workspace on the left, and what stands on the right."""
    right = f" {right} "
    left = f"  {where}"
    room = max(0, width - len(_NAME) - 1)
    if cell_len(left) + cell_len(right) > room:
        kept = max(0, room - cell_len(right))
        left = set_cell_size(left, kept - 1) + "…" if kept > 1 else " " * kept
    right = set_cell_size(right, min(cell_len(right), room - cell_len(left)))
    gap = " " * max(0, room - cell_len(left) - cell_len(right))
    return [f" {_NAME}", left + gap, right]


def key_pieces(keys: Sequence[Key], width: int) -> list[tuple[str, bool]]:
    """Returns the keys that fit, each followed by its word; True for a key."""
    pieces = [(" ", False)]
    for _, key in fitting(keys, width):
        pieces += [(key.key, True), (f" {key.word}  ", False)]
    return pieces


def fitting(keys: Sequence[Key], width: int) -> list[tuple[int, Key]]:
    """Returns the keys that fit, with their columns; always the last two."""
    rest = list(keys)
    while len(rest) > 2 and sum(map(key_width, rest)) + 1 > width:
        del rest[-3]
    at, found = 1, []
    for key in rest:
        found.append((at, key))
        at += key_width(key)
    return found


def key_width(key: Key) -> int:
    """Returns how many cells a key takes with its word."""
    return cell_len(key.key) + len(key.word) + 3
