"""Picking: taking some of the changes between two states, hunk by hunk; pure.

        old      a  b  c  d  e  f           the files as they are
        new      a  B  c  d  E  f           what they would become
        hunks    b -> B        e -> E
        picked   the first: a  B  c  d  e  f

Hunks that are near to each other are shown as one, with some lines around them, and can be split.
The lines that are shown belong to one hunk each, so that edited hunks cannot overlap.
"""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.model.lines import LineHunk
from takeback.model.snapshot import Entry
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from takeback.model.change import Change

CONTEXT = 3
"""How many lines are shown around a hunk, as in git."""
_NO_NEWLINE = b"\\ No newline at end of file\n"


class OtherLines(Value):
    """Other lines in the place of some of the old ones, from ``start`` to ``end``."""

    start: int
    end: int
    lines: tuple[bytes, ...]


class ShownHunk(Value):
    """Hunks that are asked about together; the old lines from ``start`` to ``end`` are shown."""

    hunks: tuple[LineHunk, ...]
    start: int
    end: int


class TextChange(Value):
    """The lines of a text before and after, and which of them differ."""

    old: Sequence[bytes]
    new: Sequence[bytes]
    hunks: tuple[LineHunk, ...]

    def shown(self) -> list[ShownHunk]:
        """Returns the hunks as they are asked about first: near ones together."""
        groups: list[list[LineHunk]] = []
        for hunk in self.hunks:
            if groups and hunk.old_start - groups[-1][-1].old_end <= 2 * CONTEXT:
                groups[-1].append(hunk)
            else:
                groups.append([hunk])
        return list(_with_context(groups, 0, len(self.old)))

    def split(self, shown: ShownHunk) -> list[ShownHunk]:
        """Returns each hunk of several by itself; unchanged lines are between them."""
        return list(_with_context([[one] for one in shown.hunks], shown.start, shown.end))

    def replacements(self, shown: ShownHunk) -> list[OtherLines]:
        """Returns what taking a hunk as it is means."""
        return [
            OtherLines(one.old_start, one.old_end, tuple(self.new[one.new_start : one.new_end]))
            for one in shown.hunks
        ]

    def patch(self, shown: ShownHunk) -> bytes:
        """Returns a hunk in the form of a unified diff."""
        body, at = list[tuple[bytes, bytes]](), shown.start
        for one in shown.hunks:
            body += ((b" ", line) for line in self.old[at : one.old_start])
            body += ((b"-", line) for line in self.old[one.old_start : one.old_end])
            body += ((b"+", line) for line in self.new[one.new_start : one.new_end])
            at = one.old_end
        body += ((b" ", line) for line in self.old[at : shown.end])
        first = shown.hunks[0]
        new_start = first.new_start - (first.old_start - shown.start)
        olds, news = (sum(sign != other for sign, _ in body) for other in (b"+", b"-"))
        head = b"@@ -%b +%b @@\n" % (_range(shown.start, olds), _range(new_start, news))
        return head + b"".join(sign + _whole(line) for sign, line in body)

    def edited(self, shown: ShownHunk, patch: bytes) -> OtherLines | None:
        """Returns what a hunk means that a person has edited; None if all of it was removed.

        Raises UsageError if it does not fit the file: lines may be added, changed and removed
        behind a ``+``, a ``-`` may become a space, the old lines have to stay.
        """
        body = _read(patch)
        if not body:
            return None
        old = [line for sign, line in body if sign != b"+"]
        if old != list(self.old[shown.start : shown.end]):
            raise UsageError(
                "the edited hunk does not fit the file: the lines behind a space or a minus "
                "have to be the old ones, all of them and in their order"
            )
        return OtherLines(
            shown.start, shown.end, tuple(line for sign, line in body if sign != b"-")
        )

    def pick(self, change: Change, mode: int, taken: Sequence[OtherLines]) -> Pick:
        """Returns what taking some lines of a changed text, and permission bits, means."""
        old, new = change.old, change.new
        assert old is not None, "what comes is picked as a whole"
        assert new is not None, "what goes is picked as a whole"
        found = self.picked(taken)
        whole = found == b"".join(self.new)
        entry = Entry(mode, new.oid if whole else old.oid)
        return Pick(old, entry, None if whole or not taken else found)

    def picked(self, taken: Iterable[OtherLines]) -> bytes:
        """Returns the text with some lines replaced; what is replaced may not overlap."""
        found, at = list[bytes](), 0
        for one in sorted(taken, key=lambda one: (one.start, one.end)):
            found += (*self.old[at : one.start], *one.lines)
            at = one.end
        found += self.old[at:]
        ended = (line if line.endswith(b"\n") else line + b"\n" for line in found[:-1])
        return b"".join((*ended, *found[-1:]))


def _with_context(
    groups: Sequence[Sequence[LineHunk]], first: int, last: int
) -> Iterator[ShownHunk]:
    """Yields groups with the lines around them: what is between two goes to both by halves."""
    start = first
    for number, group in enumerate(groups):
        following = groups[number + 1][0].old_start if number + 1 < len(groups) else None
        after = group[-1].old_end
        end = min(after + CONTEXT, last)
        if following is not None:
            end = min(end, after + (following - after + 1) // 2)
        yield ShownHunk(tuple(group), max(start, group[0].old_start - CONTEXT), end)
        start = end


def _range(start: int, count: int) -> bytes:
    """Returns lines as in the head of a hunk; where there are none, the line before is named."""
    return b"%d,%d" % (start + 1 if count else start, count)


def _whole(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n" + _NO_NEWLINE


def _read(patch: bytes) -> list[tuple[bytes, bytes]]:
    """Returns the signs and lines of an edited hunk; raises UsageError."""
    body: list[tuple[bytes, bytes]] = []
    lines = patch.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for line in lines:
        sign, rest = line[:1], line[1:]
        if sign == b"#" or line.startswith(b"@@ "):
            continue
        if sign == b"\\" and body:
            body[-1] = (body[-1][0], body[-1][1].removesuffix(b"\n"))
        elif line in (b"", b"\r"):  # editors remove spaces at the end of a line
            body.append((b" ", line + b"\n"))
        elif sign in (b" ", b"-", b"+"):
            body.append((sign, rest + b"\n"))
        else:
            raise UsageError(
                "the edited hunk cannot be read: each line begins with a space, a minus or a plus"
            )
    return body


class Pick(Value):
    """What a path becomes by what was picked: another entry, or another text with its mode.

    ``seen`` is what was there when the person was asked.
    """

    seen: Entry | None
    entry: Entry | None
    text: bytes | None = None
