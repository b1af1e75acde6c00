"""What the lines at the top and at the foot say, cut to the width of the screen. Pure."""

from __future__ import annotations

from takeback.tui.cells import cell_len, set_cell_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.tui.keys import Key

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
