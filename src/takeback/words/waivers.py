"""The objections to a plan, in the words of the command line, where options waive them."""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.model.plan import CONFLICTS, NOT_ASKED, OTHERS
from takeback.model.policy import KEEP_OTHERS, OVERWRITE_OTHERS, Overrides

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from takeback.model.plan import Refusal
    from takeback.model.policy import Waiver

FLAGS: dict[str, Waiver] = {
    "--allow-mass-delete": "mass_delete",
    "--during-git": "during_git",
    "--other-branch": "other_branch",
    "--during-turn": "during_turn",
    "--overwrite-others": "overwrite_others",
    "--keep-others": "keep_others",
}
"""What a person types to waive a precondition, and the field of ``Overrides`` for it."""
CHOOSE = "--conflicts=ours|theirs|markers|skip"
_FLAG_OF = {field: flag for flag, field in FLAGS.items()}


def overrides(words: Iterable[str]) -> Overrides:
    """Returns what flags, or names of fields, waive; raises UsageError for two that conflict."""
    wanted = {FLAGS.get(word, word) for word in words}
    if {KEEP_OTHERS, OVERWRITE_OTHERS} <= wanted:
        raise UsageError(
            "--keep-others and --overwrite-others say opposite things", hint="say one of them"
        )
    return Overrides(**{name: True for name in FLAGS.values() if name in wanted})


def flag(refusal: Refusal) -> str:
    """Returns the option that overrides it; empty if nothing does."""
    if refusal.code == CONFLICTS:
        return CHOOSE
    return _FLAG_OF[refusal.waivers[-1]] if refusal.waivers else ""


def flags(refusals: Sequence[Refusal]) -> list[str]:
    """Returns the options that waive all of them, each once; none if one cannot be waived."""
    found = list(dict.fromkeys(flag(one) for one in refusals))
    return found if all(found) else []


def left_alone(reason: str) -> str:
    """Returns why a path is left alone, with the option that does not leave it."""
    return f"{reason}: --ignored" if reason == NOT_ASKED else reason


def sentence(refusal: Refusal) -> str:
    """Returns why it is refused, with the option that leaves alone what it is about."""
    leaves = f"; {_FLAG_OF[KEEP_OTHERS]} leaves them" if refusal.code == OTHERS else ""
    return refusal.message + leaves
