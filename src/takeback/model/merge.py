"""Merge: what becomes of a path that two sides changed since a state they have in common; pure.

        base      the state that both come from
        ours      the files as they are
        theirs    the base without a turn, or with a person's edits: what is to be brought in

What only one side changed is taken from it. Type, permission bits and bytes are merged each for
itself. Where both made something different of the same thing, nothing is guessed: that is a
conflict, and somebody chooses.

    both changed a text                 merged by lines; a stretch that both changed is a conflict
    both changed a binary, a link       conflict
    one deleted it, the other changed   conflict
    both made it, with other bytes      conflict
    file against directory or link      conflict
    both changed the permission bits    conflict
    two sessions did it, who did what?  conflict
    a directory is to go                it goes if nothing is left in it
    a directory is to come              it is there, with the bits it has
"""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.model.lines import MARKERS, OURS, THEIRS
from takeback.model.snapshot import Entry
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Final, Literal

    from takeback.model.lines import Disputed
    from takeback.model.picking import Pick

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
