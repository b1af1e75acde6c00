"""A directory without a workspace: before its first checkpoint, after it is gone, or moved."""

from __future__ import annotations

import os

from takeback import config, rooms
from takeback.app.border import guarded
from takeback.app.connect import AgentState, agent_states, findings
from takeback.app.engine import Engine
from takeback.app.reading import unrecorded_by
from takeback.app.workspace import location_of
from takeback.check.settings import damaged
from takeback.context import SilentReporter, SystemClock
from takeback.errors import (
    Command,
    NoSuchCheckpoint,
    Option,
    TakebackError,
    UsageError,
    WhichSession,
)
from takeback.gate.asker import refuse_inside, refuse_look, who
from takeback.model.naming import NEWEST, needs_session
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.paths import recorded_git, takeback_home
from takeback.store.location import all_locations
from takeback.store.repack import size_on_disk
from takeback.store.store import Store
from takeback.timeline.look import nothing_yet
from takeback.workspaces import open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    from takeback.check.finding import Finding
    from takeback.context import LockedContext
    from takeback.errors import NotAWorkspace
    from takeback.model.entries import Earlier
    from takeback.model.operation import Plan
    from takeback.ports import Clock, Reporter
    from takeback.retention.earlier import Discarded
    from takeback.rewind.rewind import Recovered
    from takeback.store.location import StoreLocation
    from takeback.timeline.look import Status


# -- a directory before its first checkpoint: what can be said about it, and what is in the way


class Unopened(Value):
    """A directory that has no store. Nothing here creates one.

    ``never`` is why it cannot be a workspace; None if it only has no checkpoint yet.
    """

    root: bytes
    store: str
    environ: Mapping[str, str]
    never: NotAWorkspace | None = None

    @classmethod
    def at(
        cls,
        path: str | os.PathLike[str],
        environ: Mapping[str, str],
        never: NotAWorkspace | None = None,
    ) -> Self:
        """Returns the directory that ``path`` is in; raises NotAWorkspace if it cannot be one.

        With ``never`` that is known already, and it is asked what can be said all the same.
        """
        if never is not None:
            return cls(os.path.realpath(os.fsencode(path)), "", environ, never)
        location = location_of(path, environ)
        return cls(location.root, location.directory, environ)

    def earlier(self) -> tuple[Earlier, ...]:
        """Returns what was kept for its path before the directory that is there now."""
        from takeback.retention.earlier import earlier

        if self.never is not None:
            return ()
        return earlier(location_of(os.fsdecode(self.root), self.environ), self.environ)

    def status(self) -> Status:
        """Returns a status that says that nothing is kept, and what went wrong."""
        settings = config.for_all(self.environ)
        found = nothing_yet(
            self.root,
            self.store,
            home=takeback_home(self.environ),
            budget=settings.policy().max_bytes,
            recording_off_by=unrecorded_by(self.root, self.environ),
        )
        silence = [one for state in self.agents() for one in findings(state)]
        wrong = damaged(settings, self.environ)
        return found.replace(warnings=(*wrong, *silence), never=self.never)

    def agents(self) -> list[AgentState]:
        """Returns the agents of this machine, and which of them worked here without us."""
        found = agent_states(self.environ, os.fsdecode(self.root), {})
        if self.never is None:
            return found
        return [state.replace(missed_since=None) for state in found]  # nothing is to be kept

    def _find_git(self) -> str:
        from takeback.git.process import find_git
        from takeback.store.location import is_known

        home = takeback_home(self.environ)
        return find_git(
            self.environ,
            recorded=recorded_git(home),
            is_workspace=lambda path: (
                os.fsencode(path) == self.root or is_known(home, os.fsencode(path))
            ),
        )

    def doctor(self, *, fix: bool = False) -> list[Finding]:
        """Reports what prevents the first checkpoint."""
        from takeback.app.checkup import check_agents, check_recording
        from takeback.check.doctor import check_git, check_round_trip
        from takeback.check.finding import OFFER, Finding
        from takeback.check.settings import check
        from takeback.gate.asker import refuse_inside

        if fix:
            refuse_inside("doctor --fix", self.environ)
        if self.never is not None:
            none = Finding("workspace", OFFER, self.never.message, self.never.advice)
        else:
            none = Finding(
                "checkpoints",
                OFFER,
                f"there are none yet of {os.fsdecode(self.root)}",
                ("make the first one: ", Command("checkpoint")),
            )
        return [
            check_git(self._find_git),
            none,
            check_round_trip(self.environ, self._find_git),
            *check(config.for_all(self.environ), self.environ),
            *check_recording(unrecorded_by(self.root, self.environ)),
            *check_agents(self.environ, self.agents(), fix=fix),
        ]


# -- a workspace whose directory is not there any more: what is left of it is its store


def gone_workspaces(environ: Mapping[str, str]) -> list[bytes]:
    """Returns the workspaces of the user whose directory is gone, or was moved."""
    roots = {location.root for location in all_locations(takeback_home(environ))}
    return sorted(root for root in roots if not os.path.isdir(root))


@guarded
class GoneWorkspace:
    """The store of a directory that is gone: it can be counted and forgotten."""

    def __init__(self, location: StoreLocation, environ: Mapping[str, str]) -> None:
        self._store = Store.open(location, environ)
        self._environ = environ
        self.root = location.root

    @classmethod
    def at(cls, path: str, name: str | None, environ: Mapping[str, str]) -> Self | None:
        """Opens the store of a directory that is gone; None if it is there, or was never known.

        ``name`` is the id of the store, where there are several. Raises UsageError, and Refused for
        a model of another workspace.
        """
        root = os.path.abspath(os.fsencode(path))
        if os.path.isdir(root):
            return None
        known = [
            one
            for one in all_locations(takeback_home(environ))
            if root in (one.root, *one.also) and name in (None, one.id)
        ]
        if len(known) > 1:
            names = ", ".join(one.id for one in known)
            raise UsageError(
                f"there are {len(known)} stores of {to_text(root)}",
                hint=("say which: ", Option("--earlier", "ID"), f", which is {names}"),
            )
        if known:
            refuse_look(who(environ), known[0])
        return cls(known[0], environ) if known else None

    def status(self) -> Status:
        """Returns what is kept, and how large it is."""
        index = rooms.follow.Index(self._store, SilentReporter())
        try:
            checkpoints, snapshots, sessions = index.ask(lambda ledger: ledger.counts())
        finally:
            index.close()
        settings = config.for_workspace(self._environ, self._store.directory)
        found = rooms.look.nothing_yet(
            self.root,
            self._store.directory,
            home=takeback_home(self._environ),
            budget=settings.policy().max_bytes,
            recording_off_by=None,
        )
        size = size_on_disk(self._store).all
        return found.replace(
            checkpoints=checkpoints, snapshots=snapshots, sessions=sessions, bytes=size
        )

    def forget(self) -> Discarded | None:
        """Puts every checkpoint of it into the trash; None if its settings give it no grace."""
        refuse_inside("forget", self._environ)
        home = takeback_home(self._environ)
        return rooms.earlier.forget(self._store, home, SystemClock().now())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._store.close()


# -- a workspace seen through an earlier store of its path, which a rewind takes over


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
