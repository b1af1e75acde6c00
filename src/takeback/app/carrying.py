"""Carrying: bringing one turn from one branch of the tree to another."""

from __future__ import annotations

import os

from takeback import rooms
from takeback.app import given
from takeback.app.border import guarded
from takeback.app.reverts import Reverts
from takeback.errors import Command, NoSuchCheckpoint, Refused, WhichSession
from takeback.model.coverage import NO_OVERRIDES
from takeback.model.ids import WORKSPACE_SESSION
from takeback.model.merge import NOTHING_CHOSEN
from takeback.model.naming import NEWEST, is_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.app.reverts import TurnLike
    from takeback.app.travel import Asked
    from takeback.capture.capture import Captured
    from takeback.ledger.ledger import Ledger
    from takeback.merge.revert import BranchEnd, Branches, CarriedTurn
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import Overrides
    from takeback.model.merge import ConflictChoices
    from takeback.model.operation import Outcome, Plan
    from takeback.rewind.request import Facts, Request


@guarded
class Carrying(Reverts):
    """Everything that brings a turn in."""

    def brought(self, turn: TurnLike, *, elsewhere: bool = False) -> CarriedTurn:
        """Returns what a turn changed, for ``apply``, with ``elsewhere`` that of another workspace.

        This one has to stay open until then. Raises Refused if a model asks for another workspace
        from inside its turn.
        """
        if elsewhere:
            self.refuse_inside("a change of another directory")
        found = given.turn(turn)
        named = self.turn(found) if isinstance(found, str) else found
        owner = WORKSPACE_SESSION if elsewhere else named.turn.session
        return rooms.revert.CarriedTurn(self._context.store, self._taken(named), owner)

    def check_at(self, session: str) -> None:
        """Raises Refused unless the files here are those of a session."""
        meant = self.session_meant(session)
        place = self.current_place()
        there = self.find(place or NEWEST).session
        if meant is not None and there != meant:
            raise Refused(
                f"the files here are at session {there}, not at {meant}",
                hint=("go there first: ", Command("rewind", f"{meant}/{NEWEST}", "--files")),
            )

    def compare(self, a: str, b: str, *, session: str | None = None) -> Branches:
        """Compares two branches with the place where they parted.

        Each is a session, a checkpoint, a directory that was forked from here, or ``.`` for the
        files as they are now.
        """
        ends = [self._end(name, session) for name in (a, b)]
        store = self._context.store
        return self._ask(lambda ledger: rooms.revert.side_by_side(store, ledger, *ends))

    def _end(self, name: str, session: str | None) -> BranchEnd:
        if os.path.isdir(name):
            return self._end_of_directory(name)
        found: Checkpoint | None = None
        if not is_place(name):
            found = self._ask(lambda ledger: self._newest_on(ledger, name))
        point = self.find_kept(found or self.find(name, session=session))
        return rooms.revert.BranchEnd(name, point.tree, point)

    def _newest_on(self, ledger: Ledger, name: str) -> Checkpoint | None:
        """Returns the end of a session, if a name means one and no checkpoint has that id."""
        try:
            meant = self._meant(ledger, name)
        except (NoSuchCheckpoint, WhichSession):
            return None
        return None if meant is None else rooms.revert.newest_of(ledger, meant)

    def _end_of_directory(self, name: str) -> BranchEnd:
        """Returns the files of a directory; those of another workspace are copied to the store."""
        real, store = os.path.realpath(name), self._context.store
        if os.fsencode(real) == self.root:
            tree = rooms.look.present_tree(self._context)
            place = self.current_place()
            return rooms.revert.BranchEnd(name, tree, self.find(place or NEWEST))
        point = self._ask(lambda ledger: rooms.revert.forked_into(store, ledger, real))
        with type(self).open(
            name, environ=self._context.environ, asker=self._asker, bounded=bool(self._model)
        ) as there:
            tree = rooms.look.present_tree(there._context)
            with self._context.locked() as locked:
                rooms.revert.take_over(locked, there._context.store, tree)
        return rooms.revert.BranchEnd(name, tree, point)

    def plan_apply(
        self,
        turn: TurnLike | CarriedTurn,
        paths: Iterable[str | bytes] = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
    ) -> Plan:
        """Returns what ``apply`` would change; changes nothing. Its ``conflicts`` need choices."""
        return self._plan_merge(self._applying(self._carried(turn), paths, choices), overrides)

    def apply(
        self,
        turn: TurnLike | CarriedTurn,
        paths: Iterable[str | bytes] = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
        shown: Plan | None = None,
    ) -> Outcome:
        """Brings what a turn changed into the files, merged with what is there.

        The turn is one of another session here, ``other/turn:3``, or ``brought`` from elsewhere.
        """
        return self._merge(self._applying(turn, paths, choices), overrides, shown)

    def _carried(self, turn: TurnLike | CarriedTurn) -> CarriedTurn:
        return turn if isinstance(turn, rooms.revert.CarriedTurn) else self.brought(turn)

    def _applying(
        self, turn: TurnLike | CarriedTurn, paths: Iterable[str | bytes], choices: ConflictChoices
    ) -> Asked:
        """Returns what makes the request from the files as they are by then."""
        named = tuple(paths)

        def asked(captured: Captured) -> Request:
            place = rooms.revert.Arrival(self._scope(named, False), self._facts_of_now())
            request = rooms.revert.request_to_carry(captured, self._carried(turn), place, choices)
            return self._only_picked(captured, request, choices)

        return asked

    def _facts_of_now(self) -> Facts:
        """Returns who is at work here."""

        def newest(ledger: Ledger) -> list[Checkpoint]:
            return ledger.checkpoints(limit=1)

        found = self._ask(newest)
        return self._facts(found[0]) if found else rooms.request.NO_FACTS
