"""Following: what happened in a workspace since one last looked."""

from __future__ import annotations

from takeback import rooms
from takeback.app.border import guarded
from takeback.app.endings import turn_is_over
from takeback.app.review import Reviewing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.timeline import NewsMark
    from takeback.timeline.timeline import Happening


@guarded
class Following(Reviewing):
    """What somebody needs who looks again and again."""

    def seen_now(self) -> NewsMark:
        """Returns the present moment, to ask later what is new since."""
        log = self.operation_log()
        return self._ask(lambda ledger: rooms.timeline.seen_now(ledger, log))

    def news(self, since: NewsMark) -> tuple[list[Happening] | None, NewsMark]:
        """Returns what is new since a moment, oldest first, and the present moment.

        None instead of a list if it cannot be told one by one: all of it has to be read again.
        """
        log = self.operation_log()
        return self._ask(
            lambda ledger: rooms.timeline.happened(
                self._context, ledger, log, since, is_over=turn_is_over
            )
        )
