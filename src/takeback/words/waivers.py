"""The objections to a plan, in the words of the command line, where options waive them."""

from __future__ import annotations

from types import MappingProxyType

from takeback.errors import UsageError
from takeback.model.coverage import KEEP_OTHERS, OVERWRITE_OTHERS, Overrides
from takeback.model.operation import CONFLICTS, NOT_ASKED, OTHERS
from takeback.model.value import Value
from takeback.rewind.request import ALL_OTHERS, EDITS
from takeback.words import conflicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from takeback.model.coverage import Waiver
    from takeback.model.operation import Refusal
    from takeback.rewind.request import Kept

FLAGS: dict[str, Waiver] = {
    "--allow-mass-delete": "mass_delete",
    "--during-git": "during_git",
    "--other-branch": "other_branch",
    "--during-turn": "during_turn",
    "--overwrite-others": "overwrite_others",
    "--keep-others": "keep_others",
}
"""What a person types to waive a precondition, and the field of ``Overrides`` for it."""


class Ways(Value):
    """What a person says or presses in one face to have it another way; nothing if they cannot.

    ``keep`` is how more is kept by a rewind, ``ignored`` how ignored files are brought back, too,
    ``session`` how another session is named.
    """

    keep: Mapping[Kept, str] = MappingProxyType({})
    ignored: str = ""
    session: str = ""


NO_WAYS = Ways()
COMMAND_LINE = Ways({EDITS: "--keep-edits", ALL_OTHERS: "--mine"}, "--ignored", "--session ID")
_FLAG_OF = {field: flag for flag, field in FLAGS.items()}


def overrides(words: Iterable[str]) -> Overrides:
    """Returns what flags, or names of fields, waive.

    Raises UsageError for one that there is not, and for two that conflict.
    """
    wanted = {FLAGS.get(word, word) for word in words}
    unknown = sorted(wanted.difference(FLAGS.values()))
    if unknown:
        raise UsageError(
            f"{unknown[0]!r} waives nothing; there are: {', '.join(FLAGS.values())}",
            hint="say one of them, or none",
        )
    if {KEEP_OTHERS, OVERWRITE_OTHERS} <= wanted:
        raise UsageError(
            "--keep-others and --overwrite-others say opposite things", hint="say one of them"
        )
    return Overrides(**{name: True for name in FLAGS.values() if name in wanted})


def flag(refusal: Refusal) -> str:
    """Returns the option that overrides it; empty if nothing does."""
    if refusal.code == CONFLICTS:
        return f"{conflicts.OPTION}{'|'.join(refusal.choices)}"
    return _FLAG_OF[refusal.waivers[-1]] if refusal.waivers else ""


def flags(refusals: Sequence[Refusal]) -> list[str]:
    """Returns the options that waive all of them, each once; none if one cannot be waived."""
    found = list(dict.fromkeys(flag(one) for one in refusals))
    return found if all(found) else []


def left_alone(reason: str, ways: Ways) -> str:
    """Returns why a path is left alone, with the way not to leave it, if there is one here."""
    return f"{reason}: {ways.ignored}" if ways.ignored and reason == NOT_ASKED else reason


def sentence(refusal: Refusal) -> str:
    """Returns why it is refused, with the option that leaves alone what it is about."""
    leaves = f"; {_FLAG_OF[KEEP_OTHERS]} leaves them" if refusal.code == OTHERS else ""
    return refusal.message + leaves
