"""One checkpoint in words: where it is, who made it, what it does not hold and why."""

from __future__ import annotations

from takeback.model import coverage
from takeback.model.address import label_words
from takeback.model.checkpoint import AMID, EXPIRED
from takeback.model.naming import ago
from takeback.model.turn import STEER
from takeback.visible import shown
from takeback.words.listing import place_name
from takeback.words.render import file_names, short
from takeback.words.text import count, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import NotHeld
    from takeback.timeline.timeline import Shown, TimelineEntry

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
