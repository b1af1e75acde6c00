"""Merging: what goes into a goal that no checkpoint has, read from the ledger."""

from __future__ import annotations

from takeback import rooms
from takeback.app.border import guarded
from takeback.app.file_history import FileHistory
from takeback.rewind.request import ALL_OTHERS, EDITS, kept_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.capture.capture import Captured
    from takeback.ledger.ledger import Ledger
    from takeback.merge.deeds import Stretch
    from takeback.merge.picking import Offer
    from takeback.merge.revert import Taken
    from takeback.model.checkpoint import Change, Checkpoint
    from takeback.model.merge import ConflictChoices, TextChange
    from takeback.model.operation import Plan
    from takeback.model.timeline import Turn
    from takeback.rewind.request import Keeping, Request
    from takeback.timeline.names import NamedTurn


@guarded
class Merging(FileHistory):
    """What a rewind keeps, and what a revert takes out."""

    def _keeping(
        self, captured: Captured, request: Request, target: Checkpoint, keeping: Keeping
    ) -> Request:
        """Returns a request to go to a checkpoint as one that keeps something of the time since."""
        what = kept_named(keeping.what)  # whatever the types say, it may come from anywhere
        if not request.scope.files:
            return request
        if what == EDITS:
            store = self._context.store
            edits = self._ask(lambda ledger: rooms.revert.edits_since(store, ledger, target))
            request = rooms.picking.keep_edits(captured, request, edits, keeping.choices)
        if what == ALL_OTHERS:
            own = (turn for turn, _ in request.facts.turns if turn.session in request.facts.family)
            taken = [self._taken(self._since(turn, target)) for turn in own]
            request = rooms.picking.keep_all_others(captured, request, taken[::-1], keeping.choices)
        return self._only_picked(captured, request, keeping.choices)

    def _only_picked(
        self, captured: Captured, request: Request, choices: ConflictChoices
    ) -> Request:
        """Returns a request as one for what a person has picked of it, if they have."""
        if choices.picked is None:
            return request
        return rooms.picking.only(captured, request, choices.picked)

    def offers(self, plan: Plan) -> list[Offer]:
        """Returns what can be picked of a plan, path by path."""
        return list(rooms.picking.offers(self._context.store, plan))

    def text_change(self, change: Change) -> TextChange | None:
        """Returns the lines that differ, with the hunks; None if there are none to pick from."""
        if self.hides(change.path):
            return None
        return rooms.picking.text_of(self._context.store, change)

    def _since(self, turn: Turn, target: Checkpoint) -> NamedTurn:
        """Returns a turn as far as it came after a checkpoint, which may be within it."""
        found = self._ask(lambda ledger: rooms.names.whole(ledger, turn))
        inside = found.before.order < target.order < found.after.order
        return found.replace(before=target) if inside else found

    def _taken(self, turn: NamedTurn) -> Taken:
        store, ends = self._context.store, (self.find_kept(turn.before), self.find_kept(turn.after))

        def question(ledger: Ledger) -> list[Stretch]:
            return rooms.deeds.deeds(store, ledger, turn.turn, ends, shared=True)

        return rooms.revert.Taken(self._ask(question), turn.words, turn.turn.session)
