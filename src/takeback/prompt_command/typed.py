"""What a person typed after the command: what is to be done, and how."""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.model.conflicts import choice_named
from takeback.model.operation import SCOPES
from takeback.model.value import Value
from takeback.rewind.request import ALL_OTHERS, EDITS, NOTHING
from takeback.words import outcomes
from takeback.words.outcomes import OPTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.model.conflicts import ConflictChoice
    from takeback.model.coverage import Overrides
    from takeback.model.operation import ScopeKind
    from takeback.rewind.request import Kept

YES = "yes"
WAYS: dict[Kept, str] = {EDITS: "keep-edits", ALL_OTHERS: "mine"}
"""What is typed to keep more."""
_ALL = "-v"
_KEEP: dict[str, Kept] = {dash + word: what for what, word in WAYS.items() for dash in ("", "--")}
_SCOPES: dict[str, ScopeKind] = {dash + word: word for word in SCOPES for dash in ("", "--")}


class Typed(Value):
    """What the person typed: the words for takeback, whether they agreed, what they waived.

    ``wanted`` is what is to be done and to what, the rest how. ``keep`` and ``conflicts`` are what
    they want merged, and how; ``whole`` that a plan names every file. A host that ``follows``
    continues with a new session by itself.
    """

    command: str
    line: str
    wanted: tuple[str, ...]
    agreed: bool
    follows: bool
    whole: bool
    overrides: Overrides
    scope: ScopeKind | None
    keep: Kept
    conflicts: ConflictChoice | None

    def with_flags(self, flags: Sequence[str]) -> str:
        """Returns the line that does it in spite of what these flags waive."""
        return " ".join([self.line, *([] if self.agreed else [YES]), *flags])


def line(command: str, words: Sequence[str]) -> str:
    """Returns the whole line that was typed."""
    return " ".join([command, *words])


def read(command: str, words: Sequence[str], *, follows: bool) -> Typed:
    """Returns what some words mean; raises UsageError for those that contradict each other."""
    return Typed(
        command,
        line(command, words),
        wanted=tuple(word for word in words if not _is_said(word)),
        agreed=YES in words,
        follows=follows,
        whole=_ALL in words,
        overrides=outcomes.overrides(word for word in words if word in outcomes.FLAGS),
        scope=next((_SCOPES[word] for word in words if word in _SCOPES), None),
        keep=_kept(words),
        conflicts=next((choice_named(one) for one in map(_chosen, words) if one is not None), None),
    )


def _is_said(word: str) -> bool:
    """Tells whether a word says how something is done, and not what."""
    known = (YES, _ALL, *_SCOPES, *_KEEP, *outcomes.FLAGS)
    return word in known or _chosen(word) is not None


def _kept(words: Sequence[str]) -> Kept:
    """Returns what is to be kept; raises UsageError if two words say different things."""
    found = {_KEEP[word] for word in words if word in _KEEP}
    if len(found) > 1:
        raise UsageError("keep-edits and mine exclude each other", hint="mine keeps your edits too")
    return next(iter(found), NOTHING)


def _chosen(word: str) -> str | None:
    """Returns what a word chooses about conflicts; None if it is another word."""
    return word.removeprefix(OPTION) if word.startswith(OPTION) else None
