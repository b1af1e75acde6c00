"""What a person has ticked of what a rewind would change: whole files, and hunks of others."""

from __future__ import annotations

from takeback.errors import Refused
from takeback.model.checkpoint import Change
from takeback.model.path_text import to_text
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.app.engine import Engine
    from takeback.app.proposal import Proposal
    from takeback.model.merge import Pick
    from takeback.model.operation import Plan


class TickedHunks(Value):
    """Some hunks of one text, by their place in ``TextChange.shown``, and the change they are of.

    If the file or what it would become is another one since, the numbers mean nothing.
    """

    change: Change
    numbers: frozenset[int]


class Ticked(Value):
    """Whole files by path, and hunks of others; paths begin at the root of the workspace."""

    files: frozenset[bytes] = frozenset()
    hunks: tuple[TickedHunks, ...] = ()

    @property
    def paths(self) -> frozenset[bytes]:
        """Returns every path of which something is ticked."""
        return self.files | {one.change.path for one in self.hunks}

    @property
    def hunk_count(self) -> int:
        return sum(len(one.numbers) for one in self.hunks)


NOTHING_TICKED = Ticked()


def only_ticked(tb: Engine, asked: Proposal, hunks: Sequence[TickedHunks]) -> Proposal:
    """Returns a rewind of some files as one that takes of some of them the ticked hunks alone.

    Raises Refused if one of them is not what it was when its hunks were ticked, and for files that
    cannot go together with hunks.
    """
    plan = asked.plan(tb)
    waiting = {one.change.path: one for one in hunks}
    picked: dict[bytes, Pick] = {}
    for offer in tb.offers(plan):
        one = waiting.pop(offer.change.path, None)
        if one is None:
            picked |= offer.whole()
        elif one.change == offer.change:
            picked[one.change.path] = _pick(tb, one)
        else:
            raise _changed(one)
    for one in waiting.values():
        raise _changed(one)
    _check_files(plan, picked, hunks)
    return asked.choosing(asked.choices.replace(picked=picked))


def _pick(tb: Engine, ticked: TickedHunks) -> Pick:
    """Returns what a file becomes by some of its hunks; its permission bits stay as they are."""
    text, old = tb.text_change(ticked.change), ticked.change.old
    if text is None or old is None:
        raise _changed(ticked)
    taken = [
        one
        for number, shown in enumerate(text.shown())
        if number in ticked.numbers
        for one in text.replacements(shown)
    ]
    return text.pick(ticked.change, old.mode, taken)


def _changed(ticked: TickedHunks) -> Refused:
    return Refused(
        f"the hunks of {to_text(ticked.change.path)} are others now: it changed since they were "
        "ticked",
        hint="look at what going there would change now, and tick them again",
    )


def _check_files(plan: Plan, picked: dict[bytes, Pick], hunks: Sequence[TickedHunks]) -> None:
    """Raises Refused for a whole file that would be left out, or be taken without a question.

    What no snapshot has cannot be picked. Hunks were looked at, so nothing is asked about them;
    that another session changed a file is asked about where it is ticked alone.
    """
    for change in (*plan.writes, *plan.deletes):
        entry = change.new or change.old
        if entry is not None and not entry.is_directory and change.path not in picked:
            raise _not_together(change.path, "git ignores")
    looked_at = {one.change.path for one in hunks}
    for path in plan.others:
        if path not in looked_at:
            raise _not_together(path, "another session changed since")


def _not_together(path: bytes, why: str) -> Refused:
    return Refused(
        f"single hunks cannot go together with {to_text(path)}, which {why}",
        hint="tick files only, or take it back by itself",
    )
