"""Lists as lines of text: the timeline, turn by turn."""

from __future__ import annotations

from collections import Counter

from takeback.model.address import address, label_words
from takeback.model.checkpoint import AMID, EXPIRED
from takeback.model.entries import ENDED, OUTSIDE, UNKNOWN
from takeback.model.naming import age, short_ids
from takeback.model.turn import FORK, PROMPT, STEER
from takeback.model.value import Value
from takeback.timeline.sessions import BEFORE
from takeback.visible import shown
from takeback.words.outcomes import file_names, short
from takeback.words.text import (
    MORE,
    count,
    cut,
    cut_left,
    filled,
    mark,
    more_files,
    quoted,
    shown_file,
    shown_path,
    width,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.entries import OwnedChange, Session
    from takeback.model.row import Spot, TimelineRow
    from takeback.timeline.sessions import Side
    from takeback.timeline.timeline import Listing, TimelineEntry
    from takeback.words.text import Paint

    Piece = tuple[str, str]
    """Text, and the name of its colour; empty for none."""

# -- rows of the timeline in words: plain text, the same in the picker, the plain list, the page


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


# -- the timeline as lines of text, in columns that fit the terminal
#
#     ID            5m  claude 2a8f  turn 3  "fix the login bug"  login.py +1 more  +12 -3  <- here
#     outside edits before it, and sessions that were not continued, are listed below
#
# Without a width only long prompts are cut: a program or a pager reads it.


_GAP = 2
_AGE = 4
_WIDEST_NAME = 24
_LEAST = 12
"""The least room, in cells, for a prompt; if there is less, the line counts are left out."""
_LEAST_FILES = len("9 files")
_BELOW = " " * 20


class Columns:
    """Draws the entries of a listing, each in one line, with remarks below it.

    With ``whose`` these say of each change who made it.
    """

    def __init__(
        self,
        found: Listing,
        paint: Paint,
        now: float,
        *,
        room: int | None = None,
        whose: bool = False,
    ) -> None:
        self._found = found
        self._paint = paint
        self._now = now
        self._room = room
        self._by_change = whose
        names = session_names(found.sessions)
        self._names = {session: cut(name, _WIDEST_NAME) for session, name in names.items()}
        self._short = short_ids(found.sessions)
        self._who = max((width(self._whose(entry)) for entry in found.entries), default=0)
        self._place = max((width(place_name(entry)) for entry in found.entries), default=0)

    def _whose(self, entry: TimelineEntry) -> str:
        session = entry.checkpoint.session
        return self._names.get(session, shown(session))

    def all_lines(self) -> Iterator[str]:
        """Yields the lines of all entries."""
        for entry in self._found.entries:
            yield from self.lines(entry)

    def lines(self, entry: TimelineEntry) -> Iterator[str]:
        """Yields the line of one entry and those below it."""
        checkpoint, here = entry.checkpoint, self._found.here
        left = [
            (checkpoint.id, "id"),
            (f"{age(checkpoint.time, self._now):>{_AGE}}", ""),
            (filled(self._whose(entry), self._who), ""),
            (filled(place_name(entry), self._place), ""),
        ]
        side = here[1] if here is not None and here[0] == checkpoint.id else None
        # If what changed stands below, each with who did it, it is not said twice.
        row = _Row(tuple(left), entry, side, names_files=not self._by_change)
        yield _line(row, self._paint, self._room)
        below = [outside_words(entry)] if entry.turn is not None and entry.outside else []
        if self._by_change:
            below = [changed_words(change) for change in entry.shown]
            if entry.is_prompted:
                below += [f"before it: {changed_words(change)}" for change in entry.outside]
        children = self._found.resumed.get(checkpoint.id, ())
        below += [resumed([self._short[one] for one in children if one in self._short])]
        for text in filter(None, below):
            yield _BELOW + text if self._room is None else cut(_BELOW + text, self._room)


def entry_words(entry: TimelineEntry, paint: Paint, now: float) -> str:
    """Returns one entry as a menu shows it, without its id."""
    left = [(f"{age(entry.checkpoint.time, now):>{_AGE}}", ""), (place_name(entry), "")]
    return _line(_Row(tuple(left), entry), paint, None)


class _Row(Value):
    """What one line says: ``left`` is ready; ``side`` marks the place that the files are at."""

    left: tuple[Piece, ...]
    entry: TimelineEntry
    side: Side | None = None
    names_files: bool = True


def _line(row: _Row, paint: Paint, room: int | None) -> str:
    """Returns one line; with ``room``, no wider than that."""
    left, right = row.left, _right(row)
    if room is None:
        return _joined([*left, *_middle(row, None), *right], paint)
    while True:
        rest = room - sum(width(text) + _GAP for text, _ in (*left, *right))
        if rest >= _LEAST or not right or right[0][1] != _COUNTS:
            break
        right = right[1:]  # the prompt says more than the line counts
    middle = _middle(row, max(0, rest))
    return _joined(_fitting([*left, *middle, *right], room), paint)


_COUNTS = "counts"


def _right(row: _Row) -> list[Piece]:
    entry = row.entry
    counts = row.names_files and (entry.added or entry.deleted)
    pieces = [(f"+{entry.added} -{entry.deleted}", _COUNTS)] if counts else []
    state = None if entry.turn is None else entry.turn.state
    pieces += [
        (word, "good" if word == TESTS_PASSED else "warning") for word in marks(state, entry, None)
    ]
    if row.side is not None:
        pieces.append((here_words(row.side), "strong"))
    return pieces


def _middle(row: _Row, room: int | None) -> list[Piece]:
    """Returns label, prompt and files, in that order of importance."""
    entry = row.entry
    has_files = row.names_files and entry.checkpoint.expired is None
    prompt = entry.checkpoint.prompt
    label = "" if entry.checkpoint.label is None else label_words(entry.checkpoint)
    paths = [change.path for change in entry.shown]
    said = None if prompt is None else shown(" ".join(prompt.split()))
    if room is None:
        named = [(label, "strong")] if label else []
        asked = [(f'"{short(prompt)}"', "")] if prompt is not None else []
        files = [(file_names(paths), "")] if has_files else []
        return [*named, *asked, *files]
    pieces: list[Piece] = []
    if label:
        pieces.append((cut(label, min(room, _WIDEST_NAME)), "strong"))
        room -= width(pieces[0][0]) + _GAP
    if said is not None:
        third = room // 3
        fit = has_files and bool(paths) and third >= _LEAST_FILES
        for_files = min(width(file_names(paths)), third) + _GAP if fit else 0
        said = cut(said, max(0, room - for_files - len('""')))
        pieces.append((f'"{said}"' if said else "", ""))
        room -= width(pieces[-1][0]) + _GAP
    if has_files:
        pieces.append((_files(paths, room), ""))
    return [piece for piece in pieces if piece[0]]


def _files(paths: Sequence[bytes], room: int) -> str:
    """Returns names as far as they fit, else their number, else nothing."""
    names = files(paths, room)
    if width(names) <= room and not names.startswith(MORE):
        return names
    number = count(paths, "file") if paths else ""
    return number if width(number) <= room else ""


def _fitting(pieces: Sequence[Piece], room: int) -> list[Piece]:
    """Cuts off what is beyond the width, on a terminal too narrow for the columns."""
    found = []
    for text, style in pieces:
        if room < 1:
            break
        text = cut(text, room)
        found.append((text, style))
        room -= width(text) + _GAP
    return found


def _joined(pieces: Sequence[Piece], paint: Paint) -> str:
    *others, (last, style) = pieces
    painted = [_painted(text, colour, paint) for text, colour in others]
    return (" " * _GAP).join([*painted, _painted(last.rstrip(), style, paint)])


def _painted(text: str, style: str, paint: Paint) -> str:
    if style == _COUNTS and text.startswith("+"):
        added, _, deleted = text.partition(" ")
        return " ".join(filter(None, (paint.added(added), paint.deleted(deleted))))
    colours = {
        "id": paint.id,
        "warning": paint.warning,
        "strong": paint.strong,
        "good": paint.added,
    }
    return colours[style](text) if style in colours else text


def place_name(entry: TimelineEntry) -> str:
    """Returns ``turn 3`` for a turn, else the kind of the checkpoint."""
    checkpoint = entry.checkpoint
    if entry.turn is not None and entry.turn.number is not None:
        return f"turn {entry.turn.number}"
    return f"  {checkpoint.kind}" if checkpoint.kind == STEER else checkpoint.kind


def outside_words(entry: TimelineEntry) -> str:
    """Returns what the person changed by hand before a turn."""
    return f"outside edits before it: {file_names([change.path for change in entry.outside])}"


def changed_words(change: OwnedChange) -> str:
    """Returns what happened to a file, and who did it."""
    counts = (change.added, change.deleted)
    lines = "" if None in counts else f"  +{change.added} -{change.deleted}"
    who = "" if change.who in (None, UNKNOWN) else f"  by {_who(change.who)}"
    return f"{change.kind} {shown_file(change.path)}{lines}{who}"


def _who(name: str | None) -> str:
    return "hand" if name == OUTSIDE else shown(name or "")


def here_words(side: Side) -> str:
    """Returns the mark of the place that the files are at."""
    return "<- here, before it" if side == BEFORE else "<- here"


def stand_elsewhere(place: Checkpoint, now: float) -> str:
    """Says where the files are, if that is none of the entries."""
    return f"The files stand at {place.id} ({address(place, now)})"


def older(more: int, limit: int, paths: Sequence[str] = ()) -> str:
    """Says how many entries were not shown, and how to show them."""
    named = " ".join(["", "--", *map(quoted, paths)]) if paths else ""
    return f"{more:,} older: takeback log -n {limit + more}{named}"
