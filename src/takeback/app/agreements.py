"""Plans that were shown to a person, by name, so that what is done is what they agreed to.

For faces that answer one request at a time and keep only a name between them: a number for an
extension, which sends its request again; a nonce for a client of the server, which is all it sends.
"""

from __future__ import annotations

from takeback.errors import Refused
from takeback.model.coverage import NO_OVERRIDES
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.app.proposal import Proposal
    from takeback.model.coverage import Overrides
    from takeback.model.operation import Plan
    from takeback.retention.prune import Prune, Pruning

AGAIN = "ask for the plan again and show it"


class Agreement(Value):
    """What a person was shown: an operation, its plan, what they waived; and whose it is."""

    proposal: Proposal
    plan: Plan
    overrides: Overrides = NO_OVERRIDES
    workspace: str = ""


class PruneAgreement(Value):
    """What a person was shown before checkpoints lose their files.

    ``planning`` decides it again: what it says then has to be what was ``shown``.
    """

    planning: Callable[[Engine], Prune]
    shown: Pruning
    workspace: str

    def carry_out(self, tb: Engine) -> Pruning | None:
        """Does it; None if something else would go now."""
        planned = self.planning(tb)
        now = planned.outlook()
        same = now.dropped == self.shown.dropped and now.sessions == self.shown.sessions
        return tb.prune(planned) if same else None


class Agreements:
    """Remembers the newest plans that were shown, each for ``seconds`` if that is given."""

    def __init__(
        self,
        kept: int,
        new_name: Callable[[], object],
        *,
        seconds: float | None = None,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._kept = kept
        self._new_name = new_name
        self._seconds = seconds
        self._clock = clock
        self._shown: dict[object, tuple[Agreement | PruneAgreement, float]] = {}

    def remember(self, agreement: Agreement | PruneAgreement) -> Any:
        """Returns the name with which to agree to what is shown now."""
        name = self._new_name()
        self._shown[name] = (agreement, self._clock())
        while len(self._shown) > self._kept:
            del self._shown[next(iter(self._shown))]
        return name

    def plan(self, name: object, proposal: Proposal) -> Plan | None:
        """Returns the plan with that name, None if no name is given.

        Raises Refused if it is unknown, no longer known, or for something else.
        """
        if name is None:
            return None
        known = self._known(name)
        if not isinstance(known, Agreement) or not known.proposal.is_about_the_same(proposal):
            raise Refused(f"plan {name} is of something else", hint=AGAIN)
        return known.plan

    def take(self, name: object) -> Agreement | PruneAgreement:
        """Returns what a name stands for, once: it is forgotten.

        Raises Refused if it is unknown, or too old.
        """
        known = self._known(name)
        del self._shown[name]
        return known

    def _known(self, name: object) -> Agreement | PruneAgreement:
        hashable = type(name) in (int, str)
        found, since = self._shown.get(name, (None, 0.0)) if hashable else (None, 0.0)
        if found is None:
            raise Refused(f"no plan {name!r} is known", hint=AGAIN)
        if self._seconds is not None and self._clock() - since > self._seconds:
            del self._shown[name]
            raise Refused("that plan was shown too long ago", hint=AGAIN)
        return found
