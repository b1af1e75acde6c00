"""A diff as lines: unified or side by side, with colours of the language."""

from __future__ import annotations

import re
from itertools import accumulate, pairwise

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.visible import shown
from takeback.words.changes import NO_LINE_END, more_characters
from takeback.words.text import LONGEST_LINE, MOST_TEXT, Spans, lexer_for, spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import ClassVar

    from textual import events
    from textual.binding import BindingType

    from takeback.words.text import Lexer

    Ink = Callable[[str], Style]
    """Gives the style of a name: added, removed, same, keyword, ..."""
    Pair = tuple["Line | None", "Line | None"]

# -- draws the text of one line of a diff: its tint, its syntax colours, the part that changed


TINTS = {"+": "added", "-": "removed"}


def tint(line: Line, ink: Ink) -> Style:
    """Returns the background of a whole line."""
    return ink(TINTS.get(line.sign, "same"))


def sign(line: Line, ink: Ink) -> Segment:
    """Returns the sign of a line, so that no colour is needed to tell what it is."""
    name = TINTS.get(line.sign)
    behind = tint(line, ink)
    return Segment(line.sign + " ", behind if name is None else behind + ink(f"{name}-sign"))


def text(line: Line, ink: Ink) -> list[Segment]:
    """Returns the text of a line in pieces of one style.

    If the line itself has a colour, for lack of a tint, its parts have none.
    """
    behind = tint(line, ink)
    start, end = line.inner or (0, 0)
    changed = ink(f"{TINTS[line.sign]}-inner") if line.sign in TINTS else behind
    cuts = sorted(
        {0, len(line.text), start, end, *(cut for span in line.spans for cut in span[:2])}
    )
    starts = {span[0]: span for span in line.spans}
    segments = []
    part = None
    for at, following in pairwise(cuts):
        part = starts.get(at, part if part is not None and at < part[1] else None)
        style = behind if part is None or behind.color is not None else behind + ink(part[2])
        style = style + changed if start <= at < end else style
        segments.append(Segment(line.text[at:following], style))
    if not line.end:
        segments.append(Segment(f"  ({NO_LINE_END})", behind + ink("number-column")))
    return segments


def measured(patch: Patch) -> tuple[int, int]:
    """Returns how many digits line numbers have, and how many cells the longest line takes."""
    highest, longest = 0, 0
    for hunk in patch.hunks:
        for line in hunk.lines:
            highest = max(highest, line.old or 0, line.new or 0)
            longest = max(longest, _length(line))
    return len(str(highest)), longest


def _length(line: Line) -> int:
    from rich.cells import cell_len

    return cell_len(line.text) + (0 if line.end else len(NO_LINE_END) + 4)


# -- lines of which only those on the screen are made: a list of 10,000 costs as much as one of 20


CUT = "›"


class Lines(ScrollView, can_focus=True):
    """Draws lines one by one. A subclass says how many there are and draws each."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
    ]
    DEFAULT_CSS = """
    Lines {
        border-top: solid $foreground 30%;
        border-title-color: $foreground-muted;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
        scrollbar-gutter: stable;
        background: $background;
    }
    Lines:focus {
        border-top: heavy $border;
        border-title-color: $foreground;
        border-title-style: bold;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._inks: dict[str, Style] = {}

    def draw(self, y: int, x: int, width: int) -> Strip:
        """Returns one line, from a column on, of the width asked for."""
        raise NotImplementedError

    def lay_out(self, width: int) -> Size:
        """Lays out the lines for a width and returns their total size."""
        raise NotImplementedError

    def style(self, name: str) -> Style:
        """Returns a component class's own style, its tints blended with the background.

        Textual's own partial style treats a tint of 18 % as a full colour.
        """
        found = self._inks.get(name)
        if found is None:
            found = self._inks[name] = self._mixed(name)
        return found

    def _mixed(self, name: str) -> Style:
        styles = self.get_component_styles(name)
        behind = self.background_colors[1]
        has_paper = styles.has_rule("background") and styles.background.a > 0
        paper = behind + styles.background if has_paper else None
        color = (paper or behind) + styles.color if styles.has_rule("color") else None
        mixed = Style(
            color=None if color is None else color.rich_color,
            bgcolor=None if paper is None else paper.rich_color,
        )
        return mixed + styles.text_style

    def notify_style_update(self) -> None:
        """Forgets the styles: the theme or the focus has changed."""
        super().notify_style_update()
        self._inks.clear()

    def title(self, text: str) -> None:
        """Sets the heading; what looks like markup is text."""
        self.border_title = Content(text)

    def relay(self) -> None:
        """Lays everything out again after what is shown has changed."""
        self.virtual_size = self.lay_out(self.scrollable_content_region.width)
        self.refresh(layout=True)

    def on_resize(self, event: events.Resize) -> None:
        self.relay()

    def render_line(self, y: int) -> Strip:
        x, top = self.scroll_offset
        width = self.scrollable_content_region.width
        return self.draw(y + top, x, width).apply_style(self.rich_style)


class Words(Lines):
    """Sentences, wrapped."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "words--plain",
        "words--strong",
        "words--faint",
        "words--warning",
    }
    DEFAULT_CSS = """
    Words > .words--strong { text-style: bold; }
    Words > .words--faint { color: $foreground-muted; }
    Words > .words--warning { color: $text-warning; text-style: bold; }
    Words:ansi > .words--faint { color: ansi_default; text-style: dim; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._said: list[tuple[str, str]] = []
        self._wrapped: list[tuple[str, str]] = []

    def say(self, said: Iterable[tuple[str, str]]) -> None:
        """Shows sentences, each with how it is said: plain, strong, faint, warning."""
        told = list(said)
        if told != self._said:
            self._said = told
            self.scroll_home(animate=False)
            self.relay()

    def lay_out(self, width: int) -> Size:
        self._wrapped = self._wrap(width)
        return Size(width, len(self._wrapped))

    def _wrap(self, width: int) -> list[tuple[str, str]]:
        return [(line, how) for text, how in self._said for line in wrapped(text, width)]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._wrap(width))

    def draw(self, y: int, x: int, width: int) -> Strip:
        if y >= len(self._wrapped):
            return Strip.blank(width)
        text, how = self._wrapped[y]
        return fitted([Segment(text, self.style(f"words--{how}"))], width)


def wrapped(text: str, width: int) -> list[str]:
    """Returns a text in lines that fit."""
    return [line.plain for line in Content(text).wrap(max(width, 2))]


def fitted(
    segments: Sequence[Segment], width: int, *, x: int = 0, behind: Style | None = None
) -> Strip:
    """Returns ``width`` cells from column ``x`` on; a sign says that there is more to the right."""
    strip = Strip(segments)
    if strip.cell_length <= x + width:
        return strip.crop_extend(x, x + width, behind)
    mark = Strip([Segment(CUT, behind)])
    return Strip.join([strip.crop_extend(x, x + width - 1, behind), mark])


# -- reads git's unified diff of one path into lines that can be drawn. Pure
#
# A file's contents are never trusted: the head of a hunk says how long it is, so that no line of a
# file is taken for a line of the diff; and whatever would control a terminal is made harmless.


MOST_LINES = 5_000
MOST_CHARACTERS = 2_000
TAB = 4
_HEAD = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", re.DOTALL)


class Line(Value):
    """One line of a file in the old state (``-``), in the new one (``+``) or in both.

    ``spans`` are (start, end, what it is) for colours; ``inner`` is the part in which it differs
    from the line that it replaces or is replaced by. The last line of a file may lack its ``end``.
    """

    sign: str
    old: int | None
    new: int | None
    text: str
    end: bool = True
    spans: Spans = ()
    inner: tuple[int, int] | None = None


class Hunk(Value):
    """Lines that belong together, and the head that git gives them."""

    head: str
    lines: tuple[Line, ...]


class Patch(Value):
    """The diff of one path, cut to what a person may read; ``more`` lines were left out."""

    hunks: tuple[Hunk, ...] = ()
    more: int = 0
    binary: bool = False
    crlf: bool = False
    not_utf8: bool = False


class _Raw(Value):
    sign: str
    old: int | None
    new: int | None
    text: bytes
    end: bool = True


def parse(patch: bytes, *, most: int = MOST_LINES) -> Patch:
    """Returns the diff of one path; for a file that became a link it has two parts."""
    hunks: list[tuple[bytes, list[_Raw]]] = []
    binary, more, kept = False, 0, 0
    lines = patch.split(b"\n")
    at = 0
    while at < len(lines):
        head = _HEAD.fullmatch(lines[at])
        at += 1
        if head is None:
            binary = binary or lines[at - 1].startswith(b"Binary files ")
            continue
        raw, at, missing = _read_hunk(lines, at, head, most - kept)
        kept += len(raw)
        more += missing
        if raw:
            hunks.append((head[0], raw))
    everything = [line.text for _, raw in hunks for line in raw]
    crlf = bool(everything) and all(text.endswith(b"\r") for text in everything)
    return Patch(
        tuple(Hunk(readable(head), tuple(_lines(raw, crlf=crlf))) for head, raw in hunks),
        more,
        binary,
        crlf,
        not all(_is_utf8(text) for text in everything),
    )


def _read_hunk(
    lines: Sequence[bytes], at: int, head: re.Match[bytes], most: int
) -> tuple[list[_Raw], int, int]:
    """Returns the lines of a hunk, where it ends, and how many of its lines were left out."""
    old, new = int(head[1]), int(head[3])
    last_old = old + (1 if head[2] is None else int(head[2]))
    last_new = new + (1 if head[4] is None else int(head[4]))
    found: list[_Raw] = []
    missing = 0
    while at < len(lines) and (old < last_old or new < last_new or lines[at][:1] == b"\\"):
        sign, text = lines[at][:1], lines[at][1:]
        at += 1
        if sign == b"\\":  # a remark of git's: the line before it has no newline
            if found and not missing:
                found[-1] = found[-1].replace(end=False)
            continue
        in_old, in_new = sign != b"+", sign != b"-"
        if len(found) < most:
            numbers = old if in_old else None, new if in_new else None
            found.append(_Raw(sign.decode("ascii", "replace") or " ", *numbers, text))
        else:
            missing += 1
        old += in_old
        new += in_new
    return found, at, missing


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _lines(raw: Sequence[_Raw], *, crlf: bool) -> Iterator[Line]:
    made = []
    for line in raw:
        text = readable(line.text[:-1] if crlf else line.text)
        made.append(Line(line.sign, line.old, line.new, text, line.end))
    for gone, come in replaced(made):
        parts = inner(made[gone].text, made[come].text)
        if parts is not None:
            made[gone] = made[gone].replace(inner=parts[0])
            made[come] = made[come].replace(inner=parts[1])
    yield from made


def readable(text: bytes) -> str:
    """Returns a line of a file made harmless, cut if it is very long."""
    whole = to_text(text)
    line = shown(whole[:MOST_CHARACTERS].expandtabs(TAB))
    return (
        line
        if len(whole) <= MOST_CHARACTERS
        else line + more_characters(len(whole) - MOST_CHARACTERS)
    )


def replaced(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Yields which line replaced which, where as many were added as removed."""
    at = 0
    while at < len(lines):
        gone = _run(lines, at, "-")
        come = _run(lines, gone, "+")
        if gone - at == come - gone:
            yield from ((at + number, gone + number) for number in range(gone - at))
        at = max(come, at + 1)


def _run(lines: Sequence[Line], at: int, sign: str) -> int:
    while at < len(lines) and lines[at].sign == sign:
        at += 1
    return at


def inner(old: str, new: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Returns the parts in which two lines differ; None if they have little in common."""
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    if len((old[:start] + old[len(old) - end :]).strip()) * 3 < max(len(old), len(new)):
        return None
    return (start, len(old) - end), (start, len(new) - end)


def pairs(hunk: Hunk) -> Iterator[tuple[Line | None, Line | None]]:
    """Yields the lines of a hunk in pairs, as shown side by side."""
    lines, at = hunk.lines, 0
    while at < len(lines):
        if lines[at].sign == " ":
            yield lines[at], lines[at]
            at += 1
            continue
        gone = _run(lines, at, "-")
        come = _run(lines, gone, "+")
        if come == at:  # a sign that git does not write: shown, and skipped
            yield lines[at], lines[at]
            at += 1
            continue
        for number in range(max(gone - at, come - gone)):
            yield (
                lines[at + number] if at + number < gone else None,
                lines[gone + number] if gone + number < come else None,
            )
        at = come


# -- syntax colours in a diff


def coloured(patch: Patch, path: str) -> Patch:
    """Returns the patch with its lines marked up by the lexer for the file's name.

    A hunk is read twice, as it was and as it is. The first call takes 120 ms to load pygments.
    """
    if any(len(line.text) > LONGEST_LINE for hunk in patch.hunks for line in hunk.lines):
        return patch
    lexer = lexer_for(path.rpartition("/")[2])
    if lexer is None:
        return patch
    hunks, left = [], MOST_TEXT
    for hunk in patch.hunks:
        ends = accumulate(len(line.text) for line in hunk.lines)
        most = sum(1 for end in ends if end <= left)
        left -= sum(len(line.text) for line in hunk.lines)
        hunks.append(_coloured(hunk, most, lexer) if most else hunk)
    return patch.replace(hunks=tuple(hunks))


def _coloured(hunk: Hunk, most: int, lexer: Lexer) -> Hunk:
    lines = hunk.lines[:most]
    found: dict[int, Spans] = {}
    for without in "+-":
        side = [(at, line) for at, line in enumerate(lines) if line.sign != without]
        parts = spans([line.text for _, line in side], lexer)
        found.update((at, parts[number]) for number, (at, _) in enumerate(side))
    coloured = (line.replace(spans=found[at]) for at, line in enumerate(lines))
    return hunk.replace(lines=(*coloured, *hunk.lines[most:]))


# -- a diff with removed and added lines below each other


_TWO_NUMBERS = 60
"""From this many columns on there is room for both line numbers."""


class Unified:
    """The rows of a patch, one per line; ``heads`` are the rows that the heads of hunks take."""

    def __init__(self, patch: Patch) -> None:
        self._rows: list[Line | None] = []
        self.heads: list[int] = []
        for hunk in patch.hunks:
            self.heads.append(len(self._rows))
            self._rows += (None, *hunk.lines)
        self._digits, self.longest = measured(patch)

    def __len__(self) -> int:
        return len(self._rows)

    def room(self, width: int) -> int:
        """Returns how many cells of a line are visible at once."""
        return max(1, width - self._gutter(width))

    def _gutter(self, width: int) -> int:
        numbers = 2 if width >= _TWO_NUMBERS else 1
        return numbers * (self._digits + 1) + 2

    def draw(self, y: int, x: int, width: int, ink: Ink) -> Strip:
        """Returns one line; its number and sign stay where they are when the text moves."""
        row = self._rows[y]
        assert row is not None, "heads are drawn by the pane"
        behind = tint(row, ink)
        numbers = (row.old, row.new) if width >= _TWO_NUMBERS else (row.new or row.old,)
        gutter = "".join(f"{'' if n is None else n:>{self._digits}} " for n in numbers)
        left = Strip([Segment(gutter, behind + ink("number-column")), sign(row, ink)])
        body = fitted(text(row, ink), self.room(width), x=x, behind=behind)
        return Strip.join([left, body])


# -- a diff with the old lines on the left and the new ones on the right


NARROWEST = 96
"""With fewer columns two halves show too little of a line of code."""
_BETWEEN = "│"


class SideBySide:
    """The rows of a patch in two halves; ``heads`` are the rows that the heads of hunks take."""

    def __init__(self, patch: Patch) -> None:
        self._rows: list[Pair | None] = []
        self.heads: list[int] = []
        for hunk in patch.hunks:
            self.heads.append(len(self._rows))
            self._rows += (None, *pairs(hunk))
        self._digits, self.longest = measured(patch)

    def __len__(self) -> int:
        return len(self._rows)

    def room(self, width: int) -> int:
        """Returns how many cells of a line are visible at once."""
        return max(1, (width - len(_BETWEEN)) // 2 - self._digits - 3)

    def draw(self, y: int, x: int, width: int, ink: Ink) -> Strip:
        """Returns one row of lines; both halves move together."""
        row = self._rows[y]
        assert row is not None, "heads are drawn by the pane"
        room, half = self.room(width), (width - len(_BETWEEN)) // 2
        left = self._half(row[0], None if row[0] is None else row[0].old, x, room, ink)
        odd = width - len(_BETWEEN) - 2 * half
        right = self._half(row[1], None if row[1] is None else row[1].new, x, room + odd, ink)
        return Strip.join([left, Strip([Segment(_BETWEEN, ink("number-column"))]), right])

    def _half(self, line: Line | None, number: int | None, x: int, room: int, ink: Ink) -> Strip:
        if line is None:
            return Strip.blank(self._digits + 3 + room, ink("nothing"))
        behind = tint(line, ink)
        gutter = f"{'' if number is None else number:>{self._digits}} "
        left = Strip([Segment(gutter, behind + ink("number-column")), sign(line, ink)])
        return Strip.join([left, fitted(text(line, ink), room, x=x, behind=behind)])
