"""Reads one file's diff for the screen, in the workspace's thread: the screen never waits."""

from __future__ import annotations

from takeback.tui.detail.diff import Patch, parse
from takeback.tui.detail.syntax import coloured
from takeback.words import changes as words
from takeback.words.text import shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine
    from takeback.model.comparison import Between
    from takeback.tui.detail.files import FileRow


def read_file(
    tb: Engine, between: Between, row: FileRow, *, going: bool
) -> tuple[Patch, list[str]]:
    """Returns the lines of a file's diff, and the words that precede them."""
    diff = tb.file_diff(between, row.path)
    patch = coloured(parse(diff.patch or b""), shown_path(row.path))
    said = [*words.by_lines(row.who, going=going), *words.file_lines(diff, going=going)]
    if patch.binary:
        said.append(words.binary_line(diff))
    said += words.content_lines(crlf=patch.crlf, not_utf8=patch.not_utf8)
    return patch, said
