"""One workspace, opened: its store, its ledger, its surroundings."""

from __future__ import annotations

import os

from takeback import adapters, config, rooms
from takeback.app.border import guarded
from takeback.context import Context, SilentReporter, SystemClock
from takeback.errors import (
    LedgerUnwritable,
    Refused,
    SettingsUnknown,
    TakebackError,
    UsageError,
)
from takeback.model.checkpoint import ITSELF
from takeback.model.path_text import FromRoot, to_text
from takeback.paths import config_file, home_named, recorded_settings, usual_config_file
from takeback.store import journal, notes
from takeback.store.location import workspace_around
from takeback.workspaces import locate, open_store, open_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Self, TypeAlias, TypeVar

    from takeback.app.async_api import AsyncAgentTurn
    from takeback.app.reading import Stops
    from takeback.app.session import AgentTurn
    from takeback.context import LockedContext
    from takeback.ledger.follow import BringUp, Index, LaggingIndex, Steady
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Asker, Checkpoint
    from takeback.model.entries import Candidate, Earlier, Turn
    from takeback.model.ids import CheckpointId, SessionId
    from takeback.ports import Clock, Reporter
    from takeback.programs import FoundProgram
    from takeback.rewind.request import Scope
    from takeback.store.location import StoreLocation
    from takeback.store.store import Store
    from takeback.timeline.names import Meaning
    from takeback.timeline.sessions import Meant
    from takeback.timeline.timeline import Shown, TimelineEntry
    from takeback.timeline.transcripts import ConversationPages
    from takeback.turns.left_running import LeftRunning
    from takeback.turns.making import Made
    from takeback.turns.running import RunningTurn

    Known: TypeAlias = (
        "Checkpoint | Turn | Made | Shown | TimelineEntry | AgentTurn | AsyncAgentTurn"
    )
    CheckpointLike: TypeAlias = "str | Known"
    """A checkpoint by name, as a value, or as what has it: a turn is the place before it."""
    T = TypeVar("T")

_LONGEST_NAME = 255
"""Bytes of a name that any file system takes."""


@guarded
class OpenWorkspace:
    """What all parts of the API build on: opening, closing, naming things."""

    _asker = ITSELF
    _model = ""
    """Says which model looks, if one does: it is not shown all."""

    def __init__(self, context: Context, settings: config.Settings) -> None:
        self._context = context
        self._index: Index | None = None
        self._lagging: LaggingIndex | None = None
        self._pages: ConversationPages | None = None
        self._patience: float | None = None
        self._stops: Stops | None = None
        self.settings = settings
        self._base = context.workspace.root
        """Where relative paths start: where it was opened."""

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        create: bool = True,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        reporter: Reporter | None = None,
        holder: str = "python",
        asker: Asker = ITSELF,
        bounded: bool = False,
        by_model: bool = False,
    ) -> Self:
        """Opens the workspace that ``path`` is in; raises NotAWorkspace.

        Its store is created if there is none, unless ``create`` is false. ``asker`` is who asks
        for what is done, and if that is ``bounded``, Refused is raised for a model of another one,
        and one of this one is not shown what is the person's alone. ``by_model`` says that nobody
        else looks, whatever is known of it.
        """
        environ = os.environ if environ is None else environ
        reporter = reporter or SilentReporter()
        location = location_of(path, environ)
        model = f"this was asked for through takeback {holder}" if by_model else ""
        if bounded:
            from takeback.gate import asker as gate

            asking = gate.who(environ, asker)
            gate.refuse_look(asking, location)
            model = model if asking.is_person else asking.sentence()
        store = open_store(location, environ, reporter, create=create)
        opened = cls._on(store, environ, reporter, clock=clock, holder=holder)
        opened._asker, opened._model = asker, model
        opened._base = os.path.abspath(os.fsencode(path))
        return opened

    def opened_again(self) -> Self:
        """Opens the same workspace once more, for the same who asks; close it."""
        known = self._context
        opened = self.open(
            self.opened_at,
            create=False,
            environ=known.environ,
            clock=known.clock,
            reporter=known.reporter,
            holder=known.holder,
        )
        opened._asker, opened._model = self._asker, self._model
        return opened

    @classmethod
    def _on(
        cls,
        store: Store,
        environ: Mapping[str, str],
        reporter: Reporter,
        *,
        clock: Clock | None,
        holder: str,
    ) -> Self:
        """Opens the workspace of a store that is open."""
        settings = config.for_workspace(environ, store.directory)
        for damage in settings.damage:
            reporter.note(str(damage))
        context = Context(
            workspace=open_workspace(store.location),
            store=store,
            policy=settings.policy(),
            clock=clock or SystemClock(),
            reporter=reporter,
            environ=environ,
            holder=holder,
        )
        return cls(context, settings)

    def for_asker(self, asker: Asker, job: Callable[[Self], T]) -> T:
        """Does something for somebody else: what is refused to a model is refused to them."""
        before, self._asker = self._asker, asker
        try:
            return job(self)
        finally:
            self._asker = before

    def close(self) -> None:
        """Closes files and descriptors."""
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._lagging is not None:
            self._lagging.close()
        self._context.store.close()
        self._context.workspace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def root(self) -> bytes:
        """The root of the workspace."""
        return self._context.workspace.root

    @property
    def opened_at(self) -> str:
        """Where relative paths start: the directory that it was opened with."""
        return os.fsdecode(self._base)

    def hides(self, path: bytes) -> bool:
        """Tells whether what is in a file is not for who looks: a model sees no secret."""
        if not self._model:
            return False
        from takeback.model.sensitive import is_sensitive

        return is_sensitive(os.path.join(self.root, path))

    def refuse_to_show(self, what: str, why: str) -> None:
        """Raises Refused for what is the person's alone, if a model looks."""
        if self._model:
            raise Refused(
                f"{what} is not shown to a model, as {why}: {self._model}",
                hint="it is for the person",
            )

    def refuse_hidden(self, path: bytes) -> None:
        """Raises Refused if what is in a file is not for who looks."""
        if self.hides(path):
            self.refuse_to_show(to_text(path), "its name speaks of a secret")

    @property
    def earlier_stores(self) -> tuple[Earlier, ...]:
        """What was kept for this path before the directory that is there now, newest first.

        That was another workspace: nothing of it is for a model of this one.
        """
        if self._model:
            return ()
        return rooms.earlier.earlier(self._context.store.location, self._context.environ)

    @property
    def store_directory(self) -> str:
        """Where this workspace's store is."""
        return self._context.store.directory

    def find_program(self, name: str) -> FoundProgram:
        """Returns a program that may be run for the person: never one in a workspace."""
        from takeback import programs

        store = self._context.store
        return programs.find(name, self._context.environ, is_workspace=store.is_workspace)

    @property
    def trusted_path(self) -> str:
        """The directories of programs that may be run, for one that starts others."""
        from takeback import programs

        store = self._context.store
        return programs.trusted_path(self._context.environ, store.is_workspace)

    def only_look(self, bring_up: BringUp, pages: ConversationPages) -> None:
        """Leaves it to another who has this workspace open to catch up with what is new.

        Questions never wait long for that, nor for anybody who is at work here. ``pages`` are those
        of all who look at it.
        """
        self._pages = pages
        self._lagging = rooms.follow.LaggingIndex(self._context.store, bring_up)

    def wait_for_the_ledger(self, seconds: float) -> None:
        """Sets for how long another process may write the ledger before questions do without."""
        self._patience = seconds

    def at_a_glance(self, look: Callable[[Self], T]) -> T | None:
        """Looks, if that can be done at once and by looking alone; else returns None.

        Nothing is recovered, caught up or waited for. Nothing stays open, either: the workspace may
        be used in another thread afterwards.
        """
        if self.interrupted:
            return None
        self._lagging = rooms.follow.LaggingIndex(self._context.store, _leave_it)
        try:
            return look(self)
        except TakebackError:  # whoever looks properly finds it again, and says so
            return None
        finally:
            self._lagging.close()
            self._lagging = None

    def look_again(self) -> None:
        """Begins a new look for one who only looks: the questions until the next are of one."""
        if self._lagging is not None:
            self._lagging.look_again()

    def catch_up(self) -> None:
        """Makes sure that what is new can be read by those who only look."""
        self._ask(lambda ledger: None)

    def _ask(self, question: Callable[[Ledger], T]) -> T:
        if self._lagging is not None:
            return self._lagging.ask(question)
        if self._context.policy.capture and not self._context.store.lock.held:
            self._close_ended()
        return self._opened_index().ask(question)

    def _opened_index(self) -> Index:
        if self._index is None:
            store, reporter = self._context.store, self._context.reporter
            self._index = rooms.follow.Index(store, reporter, patience=self._patience)
        return self._index

    def _steady(self, locked: LockedContext) -> Steady:
        """Returns a context manager for decisions under the lock: one look at the refs for all."""
        return self._opened_index().steady(locked.lock)

    def left_running(self, *, just_ended: bool = False) -> tuple[LeftRunning, ...]:
        """Returns what is left running by turns that are over, and records that of new ones."""
        found = self._left_running(just_ended=just_ended)
        if found and self._context.policy.capture and self._lagging is None:
            rooms.left_running.note_beside(self._context, found)
        return found

    def _left_running(self, *, just_ended: bool = False) -> tuple[LeftRunning, ...]:
        among = adapters.all_agents()
        return self._ask(
            lambda ledger: rooms.left_running.left_running(
                self._context,
                ledger,
                lambda environ: adapters.calling_sessions(environ, among),
                just_ended=just_ended,
            )
        )

    def _close_ended(self) -> None:
        """Ends the turns that are over but not announced as such, before anybody looks."""
        if not notes.with_open_turn(self._context.store):
            return  # nearly always, and then the capture code need not be imported
        if self._stops is None:
            from takeback.app.reading import Stops

            self._stops = Stops()
        rooms.receive.close_ended(self._context, self._stops)

    def find(self, name: CheckpointLike, *, session: str | None = None) -> Checkpoint:
        """Returns the checkpoint that a name means; raises NoSuchCheckpoint or WhichSession.

        ``session`` says whose turns are meant by ``turn:3`` and ``@``.
        """
        if not isinstance(name, str):
            from takeback.app.given import place

            name = place(name)
        if not isinstance(name, str):
            return name
        now, store = self._context.clock.now(), self._context.store
        if rooms.bisect.is_green_name(name):
            return self._ask(
                lambda ledger: rooms.bisect.find_green(
                    store, ledger, name, meant=self._meaning(ledger, session)
                )
            )
        return self._ask(
            lambda ledger: rooms.names.find(
                ledger,
                name,
                now=now,
                meant=self._meaning(ledger, session),
                log=lambda: rooms.timeline.operations(store),
            )
        )

    def find_kept(self, name: CheckpointLike) -> Checkpoint:
        """Returns the checkpoint that a name means, with its files; raises Expired, too."""
        found = self.find(name)
        return self._ask(lambda ledger: rooms.trash.as_it_is(self._context, ledger, found))

    def session_meant(self, session: str | None = None) -> SessionId | None:
        """Returns the session that a name means, or the one meant without a name.

        None if no agent has worked yet. Raises NoSuchCheckpoint or WhichSession.
        """
        return self.meant(session).session

    def meant(self, session: str | None = None, *, place: str = "") -> Meant:
        """Returns which session is meant for a place in it, by a name or without one.

        What is newest is so beside a session at work, too; for all else WhichSession is raised.
        """
        return self._ask(lambda ledger: self._whose(ledger, session, place))

    def _whose(self, ledger: Ledger, session: str | None, place: str = "") -> Meant:
        from takeback.app.reading import turn_is_over
        from takeback.model.naming import names_newest

        context = self._context

        def running() -> Iterable[RunningTurn]:
            if names_newest(place):
                return ()
            return rooms.running.running_turns(context, ledger, turn_is_over)

        around = rooms.sessions.Around(
            context.clock.now(),
            lambda: rooms.sessions.current_place(context, ledger),
            running,
            self._callers(),
        )
        return rooms.sessions.meant(ledger, session, around)

    def taken(self, *names: object, session: str | None = None) -> Candidate | None:
        """Returns the session that is taken for one of some names because none is named.

        None if each names its own, or no other could be meant. An empty name is the newest turn.
        """
        from takeback.model.naming import NEWEST, is_place, split_name

        for name in names:
            if isinstance(name, str) and (not name or is_place(name)):
                whose = split_name(name)[0] or session
                found = self.meant(whose, place=NEWEST).default
                if found is not None:
                    return found
        return None

    def _meant(self, ledger: Ledger, session: str | None) -> SessionId | None:
        return self._whose(ledger, session).session

    def _meaning(self, ledger: Ledger, session: str | None) -> Meaning:
        """Returns what says whose a place is if its name may say, and ``session`` if not."""
        return lambda named, place: (
            self._whose(ledger, session if named is None else named, place).session
        )

    def _callers(self) -> tuple[SessionId, ...]:
        """Returns the sessions of the agents that may have started this process."""
        return adapters.calling_sessions(self._context.environ, adapters.all_agents())

    def _by_id(self, checkpoint: CheckpointId) -> Checkpoint:
        now = self._context.clock.now()
        return self._ask(lambda ledger: rooms.names.find(ledger, checkpoint, now=now))

    @property
    def interrupted(self) -> bool:
        """True if an operation was interrupted and not yet recovered."""
        return journal.exists(self._context.store)

    def _scope(self, paths: Iterable[str | bytes], ignored: bool, *, files: bool = True) -> Scope:
        return rooms.request.Scope(self._paths(paths), ignored=ignored, files=files)

    def _paths(self, paths: Iterable[str | bytes]) -> tuple[bytes, ...]:
        return tuple(self.path(path) for path in paths)

    def path(self, path: str | bytes) -> bytes:
        """Returns a path relative to the root; a relative one starts where it was opened."""
        if isinstance(path, FromRoot):
            return bytes(path)
        given = os.fsencode(path)
        if b"\0" in given:
            raise UsageError("no path has a NUL byte", hint="name a path inside the workspace")
        if any(len(name) > _LONGEST_NAME for name in given.split(b"/")):
            raise UsageError(
                f"no file has a name of more than {_LONGEST_NAME} bytes",
                hint="name a path inside the workspace",
            )
        try:
            return self._context.workspace.relative(given, base=self._base)
        except ValueError:
            raise UsageError(
                f"{to_text(given)} is outside the workspace {to_text(self.root)}",
                hint="name a path inside the workspace",
            ) from None


def _leave_it(*, long: bool) -> bool:
    """Catches nothing up: what is not in the ledger is left to others."""
    raise LedgerUnwritable("it is not current")


def location_of(path: str | os.PathLike[str], environ: Mapping[str, str]) -> StoreLocation:
    foreign_owner = config.for_all(environ)["foreign_owner"]
    location = locate(os.fsencode(path), environ, foreign_owner=foreign_owner)
    check_settings(environ, location.root)
    return location


def check_settings(environ: Mapping[str, str], here: bytes, *, typed: bool = False) -> None:
    """Raises SettingsUnknown if variables name settings in a workspace, where agents write.

    ``here`` is one that may have no store yet. Where ``takeback init`` has recorded the file, what
    they name is not read, and only who ``typed`` it is told: a hook is given a project's variables,
    and goes on without them.
    """
    try:
        home, named = home_named(environ), config_file(environ)
    except UsageError:  # opening a store reports it
        return
    recorded = recorded_settings(home)
    if (recorded is not None and (named == recorded or not typed)) or not os.path.lexists(named):
        return
    around = workspace_around(home, (os.path.dirname(named),), here)
    if around is None or named == usual_config_file():
        return
    raise SettingsUnknown(
        f"the settings in {named} are not read: they lie in the workspace {around}, where its "
        "agents can write them",
        hint="take XDG_CONFIG_HOME off, or keep them outside every workspace",
    )
