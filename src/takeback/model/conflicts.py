"""Merge: what becomes of a path that two sides changed since a state they have in common; pure.

        base      the state that both come from
        ours      the files as they are
        theirs    the base without a turn, or with a person's edits: what is to be brought in

What only one side changed is taken from it. Type, permission bits and bytes are merged each for
itself. Where both made something different of the same thing, nothing is guessed: that is a
conflict, and somebody chooses. Before it stands what is picked of two states hunk by hunk.
"""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.model.checkpoint import Entry
from takeback.model.lines import MARKERS, OURS, THEIRS, LineHunk
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Final, Literal

    from takeback.model.checkpoint import Change
    from takeback.model.lines import Disputed

    ConflictKind = Literal[
        "text",
        "binary",
        "link",
        "mode",
        "type",
        "both_added",
        "deleted_here",
        "deleted_there",
        "shared",
    ]
    ConflictChoice = Literal["ours", "theirs", "markers", "skip"]

# -- picking: taking some of the changes between two states, hunk by hunk; pure
#
#         old      a  b  c  d  e  f           the files as they are
#         new      a  B  c  d  E  f           what they would become
#         hunks    b -> B        e -> E
#         picked   the first: a  B  c  d  e  f
#
# Hunks that are near to each other are shown as one, with some lines around them, and can be split.
# The lines that are shown belong to one hunk each, so that edited hunks cannot overlap.


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


# -- merge
#
#     both changed a text                 merged by lines; a stretch that both changed is a conflict
#     both changed a binary, a link       conflict
#     one deleted it, the other changed   conflict
#     both made it, with other bytes      conflict
#     file against directory or link      conflict
#     both changed the permission bits    conflict
#     two sessions did it, who did what?  conflict
#     a directory is to go                it goes if nothing is left in it
#     a directory is to come              it is there, with the bits it has


TEXT: Final = "text"
BINARY: Final = "binary"
LINKS: Final = "link"
MODES: Final = "mode"
TYPES: Final = "type"
BOTH_ADDED: Final = "both_added"
DELETED_HERE: Final = "deleted_here"
DELETED_THERE: Final = "deleted_there"
SHARED: Final = "shared"
"""Two sessions changed it, and no capture lies between: what each did is not known."""

SKIP: Final = "skip"
CHOICES: tuple[ConflictChoice, ...] = (OURS, THEIRS, MARKERS, SKIP)

_TYPE = 0o170000
_TURNED_KINDS: dict[ConflictKind, ConflictKind] = {
    DELETED_HERE: DELETED_THERE,
    DELETED_THERE: DELETED_HERE,
}
_TURNED_CHOICES: dict[ConflictChoice, ConflictChoice] = {OURS: THEIRS, THEIRS: OURS}


def choice_named(name: str) -> ConflictChoice:
    """Returns the choice of that name; raises UsageError."""
    found = next((choice for choice in CHOICES if choice == name), None)
    if found is None:
        raise UsageError(f"{name!r} cannot be chosen; there are: {', '.join(CHOICES)}")
    return found


class Conflict(Value):
    """A path that both sides changed, and what each made of it; None for "not there".

    ``hunks`` are the disputed stretches of a text. ``origin`` is the name that it has in the base,
    if it was renamed since. ``first`` says how many choices about the path come before its own: the
    same file can be in conflict in several merges, one after the other. ``sessions`` are the others
    that may have done what is shared.
    """

    path: bytes
    kind: ConflictKind
    base: Entry | None
    ours: Entry | None
    theirs: Entry | None
    hunks: tuple[Disputed, ...] = ()
    origin: bytes | None = None
    first: int = 0
    sessions: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Returns how many choices it needs: one for each disputed stretch, or one."""
        return max(1, len(self.hunks))

    def turned(self) -> Conflict:
        """Returns the same conflict seen from the other side."""
        return self.replace(
            kind=_TURNED_KINDS.get(self.kind, self.kind),
            ours=self.theirs,
            theirs=self.ours,
            hunks=tuple(one.replace(ours=one.theirs, theirs=one.ours) for one in self.hunks),
        )

    @property
    def choices(self) -> tuple[ConflictChoice, ...]:
        """Returns what can be chosen: markers only where there are lines to stand between."""
        return CHOICES if self.hunks else (OURS, THEIRS, SKIP)


class ConflictChoices(Value):
    """What is chosen where both sides changed something.

    ``by_path`` has a choice for a whole file, or one for each of its disputed stretches in order;
    without one, ``otherwise`` counts. None: nothing is chosen yet. ``picked`` is what a person has
    picked of the changes that the whole would make, by path; None if all of it is wanted.
    """

    by_path: Mapping[bytes, ConflictChoice | tuple[ConflictChoice, ...]] = {}
    otherwise: ConflictChoice | None = None
    picked: Mapping[bytes, Pick] | None = None

    def with_more(
        self, chosen: Iterable[tuple[Conflict, tuple[ConflictChoice, ...]]]
    ) -> ConflictChoices:
        """Returns the same with what was chosen about conflicts that they left open."""
        by_path = dict(self.by_path)
        for conflict, given in chosen:
            before = by_path.get(conflict.path, self.otherwise or SKIP)
            if isinstance(before, str):
                before = (before,) * conflict.first
            by_path[conflict.path] = (*before[: conflict.first], *given)
        return self.replace(by_path=by_path)


NOTHING_CHOSEN = ConflictChoices()


class Chooser:
    """Answers conflicts as they are met, in one merge or in several one after the other.

    ``conflicts`` are all of them, ``unsettled`` those that nothing usable was chosen for. With
    ``edits``, theirs is what a person typed: that is what is there now, so for whoever chooses it
    is ours, whichever way the merge goes.
    """

    def __init__(self, choices: ConflictChoices, *, edits: bool = False) -> None:
        self._choices = choices
        self._edits = edits
        self._used: dict[bytes, int] = {}
        self.conflicts: list[Conflict] = []
        self.unsettled: list[Conflict] = []

    def choose(self, conflict: Conflict) -> tuple[ConflictChoice, ...] | None:
        """Returns a choice for each disputed stretch, at least one; None if one is missing."""
        if self._edits:
            conflict = conflict.turned()
        conflict = conflict.replace(first=self._used.get(conflict.path, 0))
        self._used[conflict.path] = conflict.first + conflict.count
        self.conflicts.append(conflict)
        chosen = self._chosen(conflict)
        if chosen is None:
            self.unsettled.append(conflict)
        if chosen is None or not self._edits:
            return chosen
        return tuple(_TURNED_CHOICES.get(one, one) for one in chosen)

    @property
    def skipped_is_theirs(self) -> bool:
        """True if a file that is left as it is now is the one of theirs."""
        return self._edits

    def _chosen(self, conflict: Conflict) -> tuple[ConflictChoice, ...] | None:
        count = conflict.count
        found = self._choices.by_path.get(conflict.path, self._choices.otherwise)
        if found is None:
            return None
        if isinstance(found, str):
            return (found,) * count if found in conflict.choices else None
        mine = found[conflict.first : conflict.first + count]
        if len(mine) != count or not set(mine) <= set(conflict.choices):
            return None
        skipped: ConflictChoice = SKIP
        return (skipped,) * count if SKIP in mine else mine  # the whole file stays as it is


class Merged(Value):
    """The entry that a path gets, or the reason why there is none.

    ``by_lines`` if type and mode are settled and the bytes have to be merged by lines: then
    ``entry`` has the mode of both, and the bytes of ours.
    """

    entry: Entry | None
    conflict: ConflictKind | None = None
    by_lines: bool = False


def merge_entry(base: Entry | None, ours: Entry | None, theirs: Entry | None) -> Merged:
    """Merges what is at a path, as far as that can be told without reading files."""
    if ours == theirs or base == theirs:
        return Merged(ours)
    if base == ours:
        return Merged(theirs)
    if ours is None:
        return Merged(None, DELETED_HERE)
    if theirs is None:
        return Merged(ours, DELETED_THERE)
    if ours.mode & _TYPE != theirs.mode & _TYPE:
        return Merged(ours, TYPES)
    mode = _merged_mode(base, ours, theirs)
    if mode is None:
        return Merged(ours, MODES)
    if ours.is_directory or ours.oid == theirs.oid:
        return Merged(Entry(mode, ours.oid))
    if base is None:
        return Merged(ours, BOTH_ADDED, by_lines=ours.is_file)
    if base.mode & _TYPE != ours.mode & _TYPE:
        return Merged(ours, TYPES)
    if base.oid == ours.oid:
        return Merged(Entry(mode, theirs.oid))
    if base.oid == theirs.oid:
        return Merged(Entry(mode, ours.oid))
    if ours.is_link:
        return Merged(ours, LINKS)
    return Merged(Entry(mode, ours.oid), by_lines=True)


def _merged_mode(base: Entry | None, ours: Entry, theirs: Entry) -> int | None:
    """Returns the mode that both agree on, None if they do not."""
    if base is None or base.mode & _TYPE != ours.mode & _TYPE:
        return ours.mode if ours.mode == theirs.mode or ours.is_directory else None
    if ours.mode in (base.mode, theirs.mode):
        return theirs.mode
    return ours.mode if theirs.mode == base.mode else None
