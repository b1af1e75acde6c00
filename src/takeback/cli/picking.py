"""The changes of a plan, asked hunk by hunk as ``git restore -p`` does."""

from __future__ import annotations

from takeback.cli.editor import edited
from takeback.cli.numbers import not_listed
from takeback.cli.terminal import ask
from takeback.errors import UsageError
from takeback.model.operation import REWIND
from takeback.words import plans as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from takeback.app.engine import Engine
    from takeback.merge.picking import Offer
    from takeback.model.checkpoint import Change, Entry
    from takeback.model.merge import OtherLines, Pick, ShownHunk, TextChange
    from takeback.model.operation import OperationKind, Plan
    from takeback.words.text import Paint

    Say = Callable[[Iterable[str]], None]

_WHOLE = "ynq?"
_HUNK = "ynadeq?"
_HUNKS = "ynadseq?"
_HINT = b"""\
# The lines behind a plus are what the file gets. To keep a line that is marked with a minus, make
# it a space; remove lines with a plus to do without them. Lines that begin with # are left out.
# If you remove everything, nothing is edited.
"""


class _Quit(Exception):
    """The person wants no more questions."""


class Picking:
    """Asks about each change of a plan: takes it, leaves it, splits or edits a hunk."""

    def __init__(self, tb: Engine, say: Say, paint: Paint) -> None:
        self._tb = tb
        self._say = say
        self._paint = paint
        self._picked: dict[bytes, Pick] = {}
        self._kind: OperationKind = REWIND

    def answers(self, plan: Plan) -> dict[bytes, Pick]:
        """Returns what was picked, by path; nothing if nothing was."""
        self._kind = plan.kind
        offers = self._tb.offers(plan)
        self._say(words.not_asked_lines(plan, offers))
        try:
            for offer in offers:
                self._offer(offer)
        except _Quit:
            pass
        return self._picked

    def _offer(self, offer: Offer) -> None:
        change = offer.change
        text = self._tb.text_change(change) if not offer.below else None
        self._say([words.file_line(change, self._paint)])
        if text is not None and change.old is not None and change.new is not None:
            self._by_hunks(change, text, change.old, change.new)
            return
        self._say(words.offer_lines(offer, text, self._paint))
        if self._key(words.whole_question(change, self._kind), _WHOLE) == "y":
            self._picked |= offer.whole()

    def _by_hunks(self, change: Change, text: TextChange, old: Entry, new: Entry) -> None:
        mode, stopped = old.mode, False
        taken: list[OtherLines] = []
        try:
            if old.mode != new.mode and self._takes_mode(change):
                mode = new.mode
            self._hunks(text, taken)
        except _Quit:
            stopped = True
        if taken or mode != old.mode:
            self._picked[change.path] = text.pick(change, mode, taken)
        if stopped:
            raise _Quit

    def _takes_mode(self, change: Change) -> bool:
        return self._key(words.mode_question(change, self._kind), _WHOLE) == "y"

    def _hunks(self, text: TextChange, taken: list[OtherLines]) -> None:
        """Asks about each hunk of a text; ``taken`` gets what is wanted as it is answered."""
        waiting = text.shown()
        done = 0
        while waiting:
            hunk = waiting.pop(0)
            self._say(words.hunk_lines(text, hunk, self._paint))
            keys = _HUNKS if len(hunk.hunks) > 1 else _HUNK
            question = words.hunk_question(done + 1, done + 1 + len(waiting), self._kind)
            answer = self._key(question, keys)
            if answer == "s":
                waiting[:0] = text.split(hunk)
                continue
            if answer == "e":
                found = self._edited(text, hunk)
                if found is None:
                    waiting.insert(0, hunk)
                    continue
                taken.append(found)
            if answer == "a":
                for one in (hunk, *waiting):
                    taken += text.replacements(one)
                return
            if answer == "d":
                return
            if answer == "y":
                taken += text.replacements(hunk)
            done += 1

    def _edited(self, text: TextChange, hunk: ShownHunk) -> OtherLines | None:
        """Returns a hunk as the person made it; None if it has to be asked about again."""
        try:
            found = edited(self._tb, text.patch(hunk) + _HINT)
            return text.edited(hunk, found)
        except UsageError as error:
            self._say([f"{error}."])
            return None

    def _key(self, question: str, keys: str) -> str:
        """Returns the answer; raises _Quit at ``q`` and at the end of the input."""
        while True:
            typed = ask(words.with_keys(question, keys))
            if not typed:
                raise _Quit
            meant = words.key(typed, keys)
            if meant == "q":
                raise _Quit
            if meant is not None and meant != "?":
                return meant
            if meant is None:
                self._say([not_listed(typed)])
            self._say(words.help_lines(keys, self._kind))
