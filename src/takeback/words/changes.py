"""What changed, file by file, and what one checkpoint holds and does not hold, in words."""

from __future__ import annotations

from takeback.model import coverage
from takeback.model.address import label_words
from takeback.model.checkpoint import ADDED, AMID, DELETED, EXPIRED, MODE, MODIFIED, TYPE, Entry
from takeback.model.entries import OUTSIDE, UNKNOWN
from takeback.model.naming import ago
from takeback.model.turn import STEER
from takeback.visible import shown
from takeback.words import outcomes
from takeback.words.listing import place_name
from takeback.words.outcomes import file_names, short
from takeback.words.text import count, shown_file, shown_path, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.errors import TakebackError
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import NotHeld
    from takeback.model.entries import OwnedChange
    from takeback.model.operation import FileDiff, Preview, Side
    from takeback.timeline.timeline import Shown, TimelineEntry


# -- what changed, file by file, in words: signs, counts, who did it, what a file became


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
        yield outcomes.nothing_to_do(plan)
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


# -- one checkpoint in words: where it is, who made it, what it does not hold and why


_REASONS = {
    coverage.IGNORED: "ignored by git",
    coverage.EXCLUDED: "excluded by your settings",
    coverage.SENSITIVE: "sensitive: its name speaks of a secret (the setting sensitive)",
    coverage.OVERSIZED: "oversized: larger than size_limit_mb",
    coverage.UNREADABLE: "unreadable: it may not be read, or reading it failed",
    coverage.UNSTABLE: "unstable: it was being written meanwhile",
    coverage.SPECIAL: "special: a pipe, a socket or a device",
    coverage.MOUNT: "mount: another file system stands there",
    coverage.OTHER_WORKSPACE: "other workspace: it has a store of its own",
    coverage.PURGED: "purged: removed from everything that is kept",
}
LATE = "late: captured after the moment, so it may hold what came later"


def place_title(entry: TimelineEntry) -> str:
    """Returns what a checkpoint is, with its id last."""
    words = [place_name(entry).strip()]
    if entry.checkpoint.label is not None:
        words.append(f'"{label_words(entry.checkpoint)}"')
    return f"{', '.join(words)}  {entry.checkpoint.id}"


def place_line(entry: TimelineEntry, now: float) -> str:
    """Returns when it was made, who was working, the state of the turn, and whether all is held."""
    from datetime import datetime

    checkpoint, turn = entry.checkpoint, entry.turn
    moment = datetime.fromtimestamp(checkpoint.time).astimezone()
    words = [f"{ago(checkpoint.time, now)} ({moment:%Y-%m-%d %H:%M:%S})"]
    if checkpoint.agent is not None:
        words.append(shown(checkpoint.agent))
        words.append(f"session {shown(checkpoint.session)}")
    if turn is not None:
        words.append(turn.state)
    words.append(badge(checkpoint))
    return " · ".join(words)


def prompt_lines(entry: TimelineEntry) -> Iterator[str]:
    """Yields the prompt as it was typed, whole."""
    for line in (entry.checkpoint.prompt or "").expandtabs(4).split("\n"):
        yield shown(line.rstrip())


def used_lines(found: Shown) -> Iterator[str]:
    """Yields the tools that a turn used, and what was typed while it ran."""
    if found.tools:
        used = ", ".join(f"{shown(name)} x{times}" for name, times in found.tools)
        yield f"tools: {used}"
    for step in found.steps:
        if step.checkpoint.kind == STEER:
            yield f'meanwhile: "{short(step.checkpoint.prompt or "")}"'
    if found.beyond:
        yield f"outside the workspace: {file_names(found.beyond)}"


def badge(checkpoint: Checkpoint) -> str:
    """Says whether everything that was wanted is held."""
    words = "complete" if checkpoint.complete else "incomplete"
    if checkpoint.amid is not None:
        words = AMID
    if checkpoint.expired is not None:
        words = EXPIRED
    return f"{words}, late" if checkpoint.late else words


def coverage_lines(found: Shown) -> Iterator[str]:
    """Yields what a checkpoint holds and all that it does not hold, with the reasons."""
    checkpoint = found.entry.checkpoint
    if checkpoint.expired is not None:
        yield f"{EXPIRED}: its {count(checkpoint.files, 'file')} were dropped to save space"
        return
    missing = coverage.Coverage(found.not_held).skipped
    wanted = frozenset(missing)
    by_rule = [item for item in found.not_held if item not in wanted]
    files = count(checkpoint.files, "file")
    if checkpoint.amid is not None:
        yield f"{AMID}: {files}, some as before it, some as after"
    if checkpoint.complete:
        yield f"complete: {files}, and nothing that was wanted is missing"
    elif missing or checkpoint.amid is None:
        yield f"incomplete: {files}, and not {count(missing, 'path')} that would belong to it"
    if checkpoint.late:
        yield LATE
    if missing:
        yield "not captured:"
        yield from map(_reason_line, missing)
    if by_rule:
        yield "left out by a rule:"
        yield from map(_reason_line, by_rule)
    if not found.not_held:
        yield "Nothing was left out."


def _reason_line(item: NotHeld) -> str:
    return f"  {shown_file(item.path)}: {_REASONS.get(item.reason) or shown(item.reason)}"
