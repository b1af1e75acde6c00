"""How wide a text is on the screen, in cells: as Textual counts them.

rich decides, whose tables Textual uses. Importing it takes as long as reading the first page, so
text of which each character is plainly one cell wide is counted without it: the first rows are on
the screen before any library is loaded.
"""

from __future__ import annotations

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
