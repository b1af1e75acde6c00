"""Rows of the timeline in words: plain text, the same in the picker, the plain list, the page."""

from __future__ import annotations

from collections import Counter

from takeback.model.checkpoint import AMID, EXPIRED
from takeback.model.naming import short_ids
from takeback.model.timeline import ENDED
from takeback.model.turn import FORK, PROMPT
from takeback.visible import shown
from takeback.words.cells import cut_left, width
from takeback.words.render import file_names
from takeback.words.text import count, mark, more_files, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from takeback.model.row import Spot, TimelineRow
    from takeback.model.timeline import Session
    from takeback.timeline.timeline import TimelineEntry

COMPLETE, INCOMPLETE = "✓", "!"
"""The badge of a checkpoint; an incomplete one has the word, too."""
TESTS_PASSED = "tests passed"
BY_A_MODEL = "begun by a model"
"""What every face says of files at which tests are known to have passed."""
ABANDONED = "abandoned"
"""What every face says of a turn before which its agent has gone back by itself."""
NO_CHECKPOINTS = (
    "No checkpoints yet.",
    "",
    "Connect your agents, and every turn of theirs appears here by itself:",
    "    takeback init",
    "or make a checkpoint of the files as they are now:",
    "    takeback checkpoint",
)
NOTHING_FOUND = ("Nothing found.", "", "Esc shows everything again.")
READING = "reading the timeline ..."


def name(row: TimelineRow) -> str:
    """Returns ``turn 3`` for a turn, else what kind of place it is."""
    return f"turn {row.number}" if row.number is not None else row.kind


def prompt(row: TimelineRow, entry: TimelineEntry | None) -> str:
    """Returns what was asked, on one line; empty if nothing was asked."""
    text = row.prompt if row.prompt is not None else entry.checkpoint.prompt if entry else None
    return shown(" ".join((text or "").split()))


def session_names(sessions: Iterable[Session]) -> dict[str, str]:
    """Returns a short name for each session: its agent, and the beginning of its id if needed."""
    everyone = list(sessions)
    short = short_ids(everyone)
    several = Counter(session.agent for session in everyone)
    names: dict[str, str] = {}
    for session in everyone:
        if session.agent is None:
            names[session.id] = "by hand"
            continue
        id = f" {short[session.id]}" if several[session.agent] > 1 else ""
        names[session.id] = f"{shown(session.agent)}{id}"
    return names


def origin(spot: Spot, names: Mapping[str, str]) -> str:
    """Says where a session was forked from."""
    where = ""
    if spot.turn:
        where = f", {'before' if spot.kind == PROMPT else 'after'} turn {spot.turn}"
    return f"from {names.get(spot.session, shown(spot.session))}{where}"


def marks(state: str | None, entry: TimelineEntry | None, gone: str | None) -> list[str]:
    """Returns the other remarks on a row: expired, incomplete, amid, begun by a model, green,
    running, abandoned, taken back.

    ``state`` is that of the turn that begins there, if one does.
    """
    words = []
    if entry is not None and entry.checkpoint.expired is not None:
        words.append(EXPIRED)
    elif entry is not None and entry.checkpoint.amid is not None:
        words.append(AMID)
    elif entry is not None and not entry.checkpoint.complete:
        words.append("incomplete")
    if entry is not None and entry.checkpoint.late:
        words.append("late")
    if entry is not None and entry.checkpoint.below is not None:
        words.append(BY_A_MODEL)
    if entry is not None and entry.tests is not None and entry.tests.passed:
        words.append(TESTS_PASSED)
    if state is not None and state != ENDED:
        words.append(state)
    if entry is not None and entry.abandoned:
        words.append(ABANDONED)
    if gone is not None:
        words.append(gone)
    return words


def resumed(names: Sequence[str]) -> str:
    """Names the sessions that begin at a row and were not continued; empty if there are none."""
    return f"↳ resumed as {', '.join(names)}" if names else ""


def files(paths: Sequence[bytes], room: int) -> str:
    """Returns at most three file names and how many more there are, as they fit into a width.

    First the directories are dropped, then names; a single name that is too long is cut on the
    left.
    """
    full = file_names(paths)
    if width(full) <= room or not paths:
        return full
    bases = [shown_path(path.rpartition(b"/")[2] or path) + mark(path) for path in paths]
    for most in (3, 2, 1):
        names = ", ".join(bases[:most])
        more = more_files(paths[most:])
        if width(names) + len(more) <= room:
            return names + more
    more = more_files(paths[1:])
    return cut_left(bases[0], max(2, room - len(more))) + more


def about_fork(row: TimelineRow, origins: Mapping[str, Spot], names: Mapping[str, str]) -> str:
    """Returns where the session that begins at a row comes from; empty for any other row."""
    spot = origins.get(row.session)
    return origin(spot, names) if row.kind == FORK and spot is not None else ""


def summary(rows: Sequence[TimelineRow], *, whole: bool) -> str:
    """Returns how much there is, for a title."""
    turns = sum(1 for row in rows if row.number is not None)
    words = count(turns, "turn") if turns or not rows else count(rows, "checkpoint")
    return words if whole else f"{words} ..."
