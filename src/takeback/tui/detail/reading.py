"""Reads one file's diff for the screen, in the workspace's thread: the screen never waits."""

from __future__ import annotations

from takeback.model.value import Value
from takeback.tui.detail.diff import Patch, parse
from takeback.tui.detail.syntax import coloured
from takeback.tui.detail.ticks import Tickable
from takeback.words import changes as words
from takeback.words.text import shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine
    from takeback.model.operation import Between, Preview
    from takeback.tui.detail.files import FileRow


class ReadDiff(Value):
    """The lines of a file's diff, the words before them, and what can be ticked of it."""

    patch: Patch
    said: tuple[str, ...]
    tickable: Tickable | None = None


def read_file(tb: Engine, between: Between, row: FileRow, preview: Preview | None) -> ReadDiff:
    """Returns the diff of a file; with ``preview`` it is what going there would change."""
    going = preview is not None
    diff = tb.file_diff(between, row.path)
    patch = parse(diff.patch or b"")
    tickable = None
    if preview is not None and patch.hunks:
        patch, tickable = _with_ticks(tb, preview, row.path, patch)
    said = [*words.by_lines(row.who, going=going), *words.file_lines(diff, going=going)]
    if patch.binary:
        said.append(words.binary_line(diff))
    said += words.content_lines(crlf=patch.crlf, not_utf8=patch.not_utf8)
    return ReadDiff(coloured(patch, shown_path(row.path)), tuple(said), tickable)


def _with_ticks(
    tb: Engine, preview: Preview, path: bytes, patch: Patch
) -> tuple[Patch, Tickable | None]:
    """Returns the hunks of a text as they are ticked; git's own, with their heads, if the same."""
    plan = preview.plan
    planned = (change for change in (*plan.writes, *plan.deletes) if change.path == path)
    change = next(planned, None)
    text = None if change is None or path in plan.saved else tb.text_change(change)
    if change is None or text is None:
        return patch, None
    hunks = text.shown()
    picked = parse(b"".join(text.patch(hunk) for hunk in hunks))
    same = [hunk.lines for hunk in picked.hunks] == [hunk.lines for hunk in patch.hunks]
    return patch if same else picked, Tickable(change, len(hunks))
