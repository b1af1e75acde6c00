"""The engine: everything that faces do with an open workspace. ``api.py`` is its public page."""

from __future__ import annotations

import os

from takeback import ops
from takeback.app.border import guarded
from takeback.app.space import Space
from takeback.app.workspace import location_of
from takeback.model.event import SESSION_END, SESSION_START
from takeback.paths import takeback_home
from takeback.store.namespace import session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.app.beginning import Unopened
    from takeback.app.session import AgentSession
    from takeback.app.workspace import CheckpointLike
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.earlier import Earlier
    from takeback.model.event import AgentEvent
    from takeback.model.session import TranscriptPart
    from takeback.ops.checkpoint import Made
    from takeback.ops.finding import Finding
    from takeback.ops.receive import Received
    from takeback.ops.workspaces import KnownWorkspace
    from takeback.ports import Adapter

_SWEPT_EVERY = 50


@guarded
class Engine(Space):
    """One workspace and everything that can be done with it. Close it, or use ``with``."""

    def checkpoint(
        self,
        label: str | None = None,
        *,
        message: str | None = None,
        session: str | None = None,
        allow_large: bool = False,
    ) -> Made:
        """Makes a checkpoint of the files as they are now, in ``session``."""
        if self.interrupted:
            with self._context.locked() as locked:
                self._recover_and_say(locked)
        if label is not None:
            wanted = label
            self._ask(lambda ledger: ops.names.check_label(ledger, wanted, self.now))
        return ops.checkpoint.checkpoint(
            self._context,
            label=label,
            prompt=message,
            session=None if session is None else self.session_meant(session),
            allow_large=allow_large,
        )

    def label(self, checkpoint: CheckpointLike, name: str | None) -> Checkpoint:
        """Gives a checkpoint a name, or removes it (None)."""
        found = self.find(checkpoint)
        if name is None or found.label not in (None, name):
            self._refuse_inside("taking a label off")
        return self._ask(lambda ledger: ops.label.label(self._context, ledger, found, name))

    def receive(self, event: AgentEvent) -> Received:
        """Records an agent's event; see ``takeback.model.event``."""
        from takeback.model.event import cleaned

        return self.record(cleaned(event), came=self.now, wait=self.hook_seconds)

    def record(
        self, event: AgentEvent, adapter: Adapter | None = None, *, came: float, wait: float
    ) -> Received:
        """Records a cleaned event that came through an adapter, by default its agent's own.

        ``wait`` is how long the lock may take.
        """
        told, files = self._told(event, adapter)
        return ops.receive.receive(self._context, told, files, came=came, wait=wait)

    def leave(self, event: AgentEvent, adapter: Adapter | None = None, *, came: float) -> Received:
        """Keeps an event that there was no time for; the next holder of the lock records it."""
        told, files = self._told(event, adapter)
        return ops.receive.leave(self._context, told, files, came=came)

    def is_news(self, event: AgentEvent) -> bool:
        """Tells whether a failure at an event is the first of its turn, and remembers it."""
        from takeback.model.event import PROMPT
        from takeback.store import told

        session = session_id(event.agent, event.session)
        return told.is_new(self._context.store, session, turn_begins=event.kind == PROMPT)

    def note_good_beginning(self, event: AgentEvent) -> None:
        """Notes that a turn's first checkpoint was made: its first failure will be news."""
        from takeback.store import told

        told.forget(self._context.store, session_id(event.agent, event.session))

    @property
    def now(self) -> float:
        """The time, in seconds since the epoch."""
        return self._context.clock.now()

    def _told(
        self, event: AgentEvent, adapter: Adapter | None
    ) -> tuple[AgentEvent, tuple[TranscriptPart, ...]]:
        """Returns an event as it is kept, with the files of its transcript and their lengths."""
        from takeback.model.event import TURN_END

        if not self._context.policy.conversation:
            # a prompt names its turn; the words of a command are part of the conversation
            words = None if event.kind == TURN_END else event.prompt
            return event.replace(messages=None, prompt=words), ()
        if event.transcript is None:
            return event, ()
        if adapter is None:
            from takeback.adapters import adapter_of

            adapter = adapter_of(event.agent)
        files = adapter.transcript_files(event.transcript)
        return event, ops.transcript.parts_now(files)

    @staticmethod
    def workspaces(*, environ: Mapping[str, str] | None = None) -> list[KnownWorkspace]:
        """Returns every workspace that something is kept of, by path; opens none of them."""
        from takeback.ops.workspaces import workspaces

        return workspaces(takeback_home(os.environ if environ is None else environ))

    @staticmethod
    def wants(directory: str, environ: Mapping[str, str] | None = None) -> bool:
        """Tells whether agents' events in a directory are to be recorded (never, only)."""
        from takeback import config
        from takeback.paths import user_home

        environ = os.environ if environ is None else environ
        settings = config.for_all(environ)
        home = os.fsdecode(user_home(environ))
        return config.is_wanted(settings, os.path.realpath(directory), home)

    @property
    def hears_agents(self) -> bool:
        """False after ``takeback off``: agents' events are not recorded here."""
        return self._context.policy.capture

    @property
    def hook_seconds(self) -> float:
        """How long an agent ever waits for a checkpoint."""
        return self._context.policy.hook_seconds

    def finish_detached(self) -> None:
        """Has a separate process record the waiting events."""
        ops.finish.start(self._context)

    def sweep_if_due(self, kind: str, made: Checkpoint | None) -> None:
        """Starts a sweep, in a process of its own, if an event of that kind is the time for it.

        Where a session starts or ends, and every 50 checkpoints.
        """
        if kind in (SESSION_START, SESSION_END):
            ops.sweeping.start(self._context, at_start=kind == SESSION_START)
        elif made is not None and made.sequence % _SWEPT_EVERY == 0:
            ops.sweeping.start(self._context, at_start=False)

    def keep_house(self) -> None:
        """Starts combining packs, in a separate process, if there are too many."""
        self._context.store.keep_house()

    def session(self, agent: str, native: str | None = None) -> AgentSession:
        """Returns a session of your own agent, a new one unless ``native`` names one."""
        from takeback.app.session import AgentSession

        return AgentSession(self, agent, native)

    # -- keeping house

    def see_failures(self) -> None:
        """Notes that what went wrong so far was seen; ``status`` shows only what comes later."""
        from takeback.ops.failures import Translated
        from takeback.store import failures

        self._refuse_inside("saying that failures were seen")
        with Translated("noting what was seen"):
            failures.see(self._context.store, takeback_home(self._context.environ))

    @classmethod
    def unopened(
        cls, path: str | os.PathLike[str] = ".", *, environ: Mapping[str, str] | None = None
    ) -> Unopened:
        """Returns what can be said about a directory that has no checkpoint yet."""
        from takeback.app.beginning import Unopened

        return Unopened.at(path, os.environ if environ is None else environ)

    def doctor(self, *, rebuild: bool = False, fix: bool = False) -> list[Finding]:
        """Reports what is wrong; with ``fix`` it mends what can safely be mended."""
        from takeback.app.checkup import check_agents, check_recording

        if fix:
            self._refuse_inside("doctor --fix")
        ledger = self._check_ledger(rebuild=rebuild, fix=fix)
        machine = self._context.store.machine
        known = self._ask(lambda ledger: ops.inspection.witness(ledger, machine))
        found = ops.doctor.doctor(self._context, known, self._recover, fix=fix)
        found.append(
            ops.round_trip.check_round_trip(self._context.environ, self._context.store.find_git)
        )
        found += check_recording(self.recording_off_by)
        found += check_agents(self._context.environ, self.agents(), fix=fix)
        return [*found, ledger]

    def _check_ledger(self, *, rebuild: bool, fix: bool) -> Finding:
        """Checks the index of the store, and makes it anew if that is wanted."""
        from takeback.ops.finding import BROKEN, FIX, MENDED, OK, Finding

        unsound = self._ask(lambda ledger: ledger.unsound())
        if unsound and not (fix or rebuild):
            return Finding("ledger", BROKEN, f"the index of the store is damaged: {unsound}", FIX)
        if unsound or rebuild:
            if self._index is not None:
                self._index.close()
            store, reporter = self._context.store, self._context.reporter
            self._index = ops.catch_up.Index(store, reporter, rebuild=True)
        checkpoints, _, _ = self._ask(lambda ledger: ledger.counts())
        if unsound or rebuild:
            message = f"made anew from the store: {checkpoints} checkpoints"
            return Finding("ledger", MENDED, message)
        return Finding("ledger", OK, f"checkpoints indexed: {checkpoints}")

    @classmethod
    def earlier(
        cls, path: str | os.PathLike[str] = ".", *, environ: Mapping[str, str] | None = None
    ) -> tuple[Earlier, ...]:
        """Returns what was kept for a path before the directory that is there now."""
        environ = os.environ if environ is None else environ
        return ops.earlier.earlier(location_of(path, environ), environ)

    @classmethod
    def adopt(
        cls,
        name: str = "",
        path: str | os.PathLike[str] = ".",
        *,
        environ: Mapping[str, str] | None = None,
    ) -> Earlier:
        """Takes over the store of what was at this path before; the present one is set aside.

        ``name`` says which, if there are several. Raises UsageError.
        """
        from takeback.app.caller import refuse_inside

        environ = os.environ if environ is None else environ
        refuse_inside("taking over an earlier store", environ)
        found = cls.earlier_named(name, path, environ=environ)
        ops.earlier.take_over(location_of(path, environ), found.directory, environ)
        return found

    @classmethod
    def earlier_named(
        cls,
        name: str,
        path: str | os.PathLike[str] = ".",
        *,
        environ: Mapping[str, str] | None = None,
    ) -> Earlier:
        """Returns the earlier store of that id, or the only one; raises UsageError."""
        return ops.earlier.named(cls.earlier(path, environ=environ), name)

    def forget(self) -> None:
        """Deletes every checkpoint of this workspace for good; its files are not touched."""
        self._refuse_inside("forget")
        ops.forget.forget(self._context.store, takeback_home(self._context.environ))
