"""A workspace seen through an earlier store of its path, which a rewind takes over."""

from __future__ import annotations

import os

from takeback import rooms
from takeback.app.engine import Engine
from takeback.app.workspace import location_of
from takeback.context import SilentReporter
from takeback.errors import Command, NoSuchCheckpoint, TakebackError, WhichSession
from takeback.gate.asker import refuse_look, who
from takeback.model.naming import NEWEST, needs_session
from takeback.store.store import Store
from takeback.workspaces import open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    from takeback.context import LockedContext
    from takeback.model.operation import Plan
    from takeback.model.timeline import Earlier
    from takeback.ports import Clock, Reporter
    from takeback.rewind.rewind import Recovered


class Unclaimed(Engine):
    """The directory as it is now, with the checkpoints of what was at its path before.

    Nothing is taken over before something is done: plans are only plans.
    """

    of: Earlier
    warning: str
    _claimed = False

    @classmethod
    def looking(
        cls,
        of: Earlier,
        path: str | os.PathLike[str] = ".",
        *,
        warning: str,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        reporter: Reporter | None = None,
        holder: str = "python",
    ) -> Self:
        """Opens the directory with that store; ``warning`` is what its plans say about it."""
        environ = os.environ if environ is None else environ
        location = location_of(path, environ).replace(directory=of.directory, identity=None)
        refuse_look(who(environ), location)
        found = cls._on(
            Store.open(location, environ),
            environ,
            reporter or SilentReporter(),
            clock=clock,
            holder=holder,
        )
        found._base = os.path.abspath(os.fsencode(path))
        found.of, found.warning = of, warning
        return found

    def _recover(self, locked: LockedContext) -> Recovered | None:
        """Recovers what was interrupted, once the store is this directory's own."""
        return super()._recover(locked) if self._claimed else None

    def _announced(self, made: Plan) -> Plan:
        """Says in a plan that carrying it out takes the store over."""
        made = super()._announced(made)
        return made if self._claimed else made.replace(warnings=(self.warning, *made.warnings))

    def _make_ours(self, plan: Callable[[], Plan]) -> None:
        """Takes the store over; a refused plan takes over nothing."""
        if not self._claimed:
            planned = plan()
            if planned.refused:
                raise rooms.rewind.refused(planned)
            self.claim()

    def claim(self) -> None:
        """Makes the earlier store this directory's own, and continues with it."""
        old = self._context
        location = location_of(os.fsdecode(self.root), old.environ)
        rooms.earlier.take_over(location, self.of.directory, old.environ)
        if self._index is not None:
            self._index.close()
            self._index = None
        old.store.close()
        location = location_of(os.fsdecode(self.root), old.environ)
        self._context = old.replace(
            store=open_store(location, old.environ, old.reporter, create=False)
        )
        self._claimed = True


def means_one_store(name: str, now: float) -> bool:
    """Tells whether a name can mean only one checkpoint, across all stores."""
    if not name or needs_session(name):
        return False
    return rooms.names.parse_time(name.strip(), now) is None


def holding(
    offered: Iterable[Earlier],
    name: str,
    look: Callable[[Earlier], Unclaimed],
    *,
    session: str | None = None,
) -> Unclaimed | None:
    """Opens the one earlier store that has a checkpoint of that name; None if there is none.

    Raises NoSuchCheckpoint if several have one: we do not guess which.
    """
    found: list[Unclaimed] = []
    for one in offered:
        opened = look(one)
        if _has(opened, name, session):
            found.append(opened)
        else:
            opened.close()
    if len(found) > 1:
        for opened in found:
            opened.close()
        names = ", ".join(opened.of.name for opened in found)
        raise NoSuchCheckpoint(
            f"{len(found)} earlier stores of this path have a checkpoint {name or NEWEST!r}",
            hint=("take one over: ", Command("doctor", "--adopt", "NAME"), f", which is {names}"),
        )
    return found[0] if found else None


def _has(opened: Unclaimed, name: str, session: str | None) -> bool:
    try:
        if name:
            opened.find(name, session=session)
        else:
            opened.before_newest_turn(session)
    except WhichSession:  # it has one, and the person is asked which
        return True
    except TakebackError:  # missing, or a store that cannot be read
        return False
    return True
