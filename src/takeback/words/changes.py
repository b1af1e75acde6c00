"""What changed, file by file, in words: signs, counts, who did it, what a file became."""

from __future__ import annotations

from takeback.model.checkpoint import ADDED, DELETED, MODE, MODIFIED, TYPE, Entry
from takeback.model.timeline import OUTSIDE, UNKNOWN
from takeback.visible import shown
from takeback.words import render
from takeback.words.text import count, shown_path, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.errors import TakebackError
    from takeback.model.operation import FileDiff, Preview, Side
    from takeback.model.timeline import OwnedChange
    from takeback.timeline.timeline import TimelineEntry

SIGNS = {ADDED: "+", DELETED: "-", MODIFIED: "~", MODE: "m", TYPE: "t"}
LEFT_ALONE_SIGN = "="
OWN_EDIT = "your own edit"
ANOTHER_SESSION = "another session"
LOOKING = "looking…"
TICK_ELSEWHERE = "Hunks can be ticked where you see what going there would change now: v"
NOTHING_WOULD_CHANGE = "Nothing would change."
NO_LINE_END = "no newline at the end of the file"
_ADDED_CELL, _DELETED_CELL = "▇", "▁"
_MANY = 10_000


def views(entry: TimelineEntry) -> tuple[str, str]:
    """Returns the names of the two views: what it changed, and what going there would change."""
    turn = entry.turn
    if not entry.is_prompted:
        changed = "what changed before it"
    elif turn is None or turn.number is None:
        changed = "what it changed"
    else:
        changed = f"what turn {turn.number} changed"
    return changed, "what going there would change now"


def views_line(names: tuple[str, str], chosen: int, width: int) -> tuple[str, str]:
    """Returns the chosen view and how to get to the other one, cut to fit."""
    here, there = f"● {names[chosen]}", f"○ {names[1 - chosen]}"
    if len(here) + len(there) + 8 <= width:
        return here, f"   {there} (v)"
    return here, "  (v: the other view)"


def nothing(entry: TimelineEntry) -> str:
    """Says that there is no file to list."""
    return "It changed nothing." if entry.is_prompted else "Nothing changed before it."


def who(change: OwnedChange, session: str | None) -> str:
    """Says who made a change, from the point of view of a session; empty if nobody is named."""
    if change.who is None:
        return ""
    if change.session is None or change.session == session:
        return shown(change.who)
    if change.who == UNKNOWN:
        return f"{ANOTHER_SESSION} ({shown(change.session)})"
    return f"{shown(change.who)} of {shown(change.session)}"


def by_lines(name: str, *, going: bool) -> Iterator[str]:
    """Says who changed a file, or with ``going`` whose work going there would take back."""
    if name == OUTSIDE:
        yield "changed by hand, outside"
    elif name == OWN_EDIT:
        yield f"{OWN_EDIT} since the last checkpoint, taken back too"
    elif name == ANOTHER_SESSION and going:
        yield f"{ANOTHER_SESSION} changed it since"
    elif name:
        yield "how it was changed is not known" if name == UNKNOWN else f"changed by {name}"


def line_counts(added: int | None, deleted: int | None) -> tuple[str, str]:
    """Returns ``+12`` and ``-3``; empty if lines are not counted."""
    if not added and not deleted:
        return "", ""
    return f"+{_few(added or 0)}", f"-{_few(deleted or 0)}"


def _few(number: int) -> str:
    return str(number) if number < _MANY else f"{number // 1000}k"


def bar(added: int | None, deleted: int | None, most: int, cells: int = 5) -> tuple[str, str]:
    """Draws how large a change is compared to the largest one: lines added, then lines deleted.

    A change of any size gets a cell, and both its parts are visible.
    """
    plus, minus = added or 0, deleted or 0
    if not plus + minus or not most:
        return "", ""
    length = max(1, round(cells * min(1, (plus + minus) / most)))
    length = max(length, 2) if plus and minus else length
    first = round(length * plus / (plus + minus))
    first = min(max(first, 1 if plus else 0), length - (1 if minus else 0))
    return _ADDED_CELL * first, _DELETED_CELL * (length - first)


def files_title(files: int, lines: tuple[int, int], ticked: int, partly: int) -> str:
    """Returns the heading of a list of files, with the lines that came and went."""
    added, deleted = lines
    words = [count(files, "file")]
    if added or deleted:
        words.append(" ".join(line_counts(added, deleted)))
    if ticked:
        words.append(f"{ticked:,} ticked")
    if partly:
        words.append(f"{partly:,} partly")
    return ", ".join(words)


def file_lines(diff: FileDiff, *, going: bool) -> Iterator[str]:
    """Says what one path was and is, or with ``going`` what it would be.

    What its lines show is not repeated.
    """
    old, new = diff.old, diff.new
    if old is None and new is None:
        yield "It is in no snapshot (git ignores it), so what is in it cannot be shown here."
    elif old is None and new is not None:
        yield f"would be created: {_what(new)}" if going else f"new {_what(new)}"
    elif new is None and old is not None:
        yield f"would be deleted: {_what(old)}" if going else f"deleted {_what(old)}"
    elif old is not None and new is not None:
        yield from _became(old, new, going=going)
    if diff.too_large:
        yield f"too large to be compared here, {_sizes(diff)}; takeback diff does it"


def _became(old: Side, new: Side, *, going: bool) -> Iterator[str]:
    if _kind(old) != _kind(new):
        verb = "would become" if going else "became"
        yield f"{_named(old)} {verb} {_named(new)}"
        return
    if new.target is not None:
        if old.target != new.target:
            yield f"link to {shown_path(old.target or b'')} -> {shown_path(new.target)}"
        return
    was, now = old.mode & 0o777, new.mode & 0o777
    if was != now:
        yield f"mode {was:03o} -> {now:03o}{_meaning(was, now, going=going)}"
    if _kind(new) == "file" and new.size == 0 and old.size:
        yield "would be empty" if going else "now empty"
    if _kind(new) == "file" and old.size == 0 and new.size:
        yield "it is empty now" if going else "it was empty"


def _meaning(was: int, now: int, *, going: bool) -> str:
    if bool(was & 0o111) == bool(now & 0o111):
        return ""
    if now & 0o111:
        return ": would be executable" if going else ": now executable"
    return ": would not be executable" if going else ": no longer executable"


def _kind(side: Side) -> str:
    entry = Entry(side.mode, b"")
    return "directory" if entry.is_directory else "link" if entry.is_link else "file"


def _named(side: Side) -> str:
    return f"a {_kind(side)}" + (f" to {shown_path(side.target)}" if side.target else "")


def _what(side: Side) -> str:
    if side.target is not None:
        return f"link to {shown_path(side.target)}"
    if Entry(side.mode, b"").is_directory:
        return "directory"
    amount = size(side.size) if side.size else "empty"
    return f"file, {amount}" + (", executable" if side.mode & 0o111 else "")


def _sizes(diff: FileDiff) -> str:
    sizes = [size(side.size) for side in (diff.old, diff.new) if side is not None]
    return " -> ".join(sizes)


def binary_line(diff: FileDiff) -> str:
    """Says how large a file without lines was and is."""
    return f"binary file, {_sizes(diff)}"


def content_lines(*, crlf: bool, not_utf8: bool) -> Iterator[str]:
    """Says what is special about all lines of a file."""
    if crlf:
        yield "lines end with CR LF"
    if not_utf8:
        yield "not UTF-8: other bytes are shown as \\xNN"


def more_lines(number: int) -> str:
    """Says that a long diff was cut."""
    return f"… {count(number, 'more line')}; takeback diff shows all"


def more_characters(number: int) -> str:
    """Says that a long line was cut."""
    return f"… {count(number, 'more character')}"


def too_narrow(width: int, needed: int, *, can_grow: bool) -> str:
    """Says why a diff is not shown side by side."""
    grow = ": z makes it larger" if can_grow else ""
    return f"side by side needs {needed} columns and has {width}{grow}"


def going_lines(preview: Preview) -> Iterator[str]:
    """Yields a summary of what going there would do, and the objections to it."""
    plan = preview.plan
    if plan.is_empty:
        yield render.nothing_to_do(plan)
    written = sum(1 for change in preview.changes if change.kind != DELETED)
    deleted = len(preview.changes) - written
    if preview.changes:
        yield f"It would write {count(written, 'file')} and delete {deleted:,}."
    if plan.outside:
        yield f"{count(plan.outside, 'file')} with your own edits since then."
    if plan.others:
        yield f"{count(plan.others, 'file')} that another session changed since."
    if plan.saved:
        yield f"{count(plan.saved, 'file')} in no checkpoint, saved first."
    for warning in plan.warnings:
        yield shown(warning)
    for refusal in plan.refused:
        yield f"It asks first: {shown(refusal.message)}"


def unticked(paths: Sequence[bytes]) -> str:
    """Says that hunks are no longer ticked, as they are others now."""
    which = shown_path(paths[0]) if len(paths) == 1 else count(paths, "file")
    return f"{which} changed meanwhile; tick its hunks again"


def left_alone(reason: str) -> str:
    """Says why a path would be left as it is."""
    return f"left alone: {shown(reason)}"


def error_lines(error: TakebackError | OSError) -> Iterator[str]:
    """Says what went wrong and what to do about it."""
    yield f"Error: {shown(getattr(error, 'message', '') or str(error))}"
    hint = getattr(error, "hint", "")
    if hint:
        yield f"Hint: {shown(hint)}"
