"""Plans that were shown to a person, by number, so that what is done is what they agreed to.

For faces that answer one request at a time and keep only a number between them.
"""

from __future__ import annotations

from takeback.errors import Refused
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.proposal import Proposal
    from takeback.model.plan import Plan

_KEPT = 10
_AGAIN = "ask for the plan again and show it"


class _Agreement(Value):
    proposal: Proposal
    plan: Plan


class Agreements:
    """Remembers the newest plans of one conversation with a person."""

    def __init__(self) -> None:
        self._shown: dict[int, _Agreement] = {}
        self._number = 0

    def remember(self, proposal: Proposal, plan: Plan) -> int:
        """Returns the number with which to agree to a plan that is shown now."""
        self._number += 1
        self._shown[self._number] = _Agreement(proposal, plan)
        self._shown.pop(self._number - _KEPT, None)
        return self._number

    def plan(self, number: object, proposal: Proposal) -> Plan | None:
        """Returns the plan with that number, None if no number is given.

        Raises Refused if it is unknown, no longer known, or for something else.
        """
        if number is None:
            return None
        known = self._shown.get(number) if type(number) is int else None
        if known is None:
            raise Refused(f"no plan {number!r} is known", hint=_AGAIN)
        if not known.proposal.is_about_the_same(proposal):
            raise Refused(f"plan {number} is of something else", hint=_AGAIN)
        return known.plan
