"""All keys of the picker, on one page: the line at the foot and the help are made from it."""

from __future__ import annotations

from typing import NamedTuple

from takeback.app import actions
from takeback.model.operation import BOTH, CONVERSATION, FILES, FORK, REDO, REVERT, UNDO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.actions import ActionName


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
