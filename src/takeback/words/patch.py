"""A unified diff for a terminal: coloured by us, and no file can control the terminal."""

from __future__ import annotations

from takeback.words.text import shortened, shown_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.words.paint import Paint


def patch_lines(patch: bytes, paint: Paint, *, short: bool = False) -> Iterator[str]:
    """Yields the lines of a diff. Lines between a file's head and its first hunk are its head.

    With ``short`` the end of a very long line is left out.
    """
    in_head = True
    for line in shown_lines(patch).removesuffix("\n").split("\n"):
        line = shortened(line) if short else line
        if line.startswith("diff --git "):
            in_head = True
        elif line.startswith("@@ "):
            in_head = False
        if in_head:
            yield paint.strong(line)
        elif line.startswith("@@ "):
            yield paint.id(line)
        elif line.startswith("+"):
            yield paint.added(line)
        elif line.startswith("-"):
            yield paint.deleted(line)
        else:
            yield line
