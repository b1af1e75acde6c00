"""Recording: what an agent's events need of a workspace, and all that a hook imports of the app."""

from __future__ import annotations

import os

from takeback import config, rooms
from takeback.app.border import guarded
from takeback.app.workspace import OpenWorkspace, check_settings, location_of
from takeback.errors import StoreMoved
from takeback.model.event import PROMPT, SESSION_END, SESSION_START, TURN_END, cleaned
from takeback.paths import user_home
from takeback.store.namespace import session_id
from takeback.turns.receive import NO_TRANSCRIPT, Delivery, Transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from takeback.capture.watching import Listening
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import AgentEvent
    from takeback.ports import Adapter
    from takeback.turns.receive import Patience, Received
    from takeback.worktree.watch import Watches

_AGAIN = 3
"""So often a store that has gone is followed by a new one."""


@guarded
class Recording(OpenWorkspace):
    """A workspace that takes events, and does what they require afterwards."""

    def receive(self, event: AgentEvent) -> Received:
        """Records an agent's event; see ``takeback.model.event``."""
        event = self._of_this_program(cleaned(event))
        received = self.record(event, delivery=Delivery(self.now, self.hook_seconds))
        rooms.due.keep_house(self._context)
        return received

    def _of_this_program(self, event: AgentEvent) -> AgentEvent:
        """Returns an event of an agent that this process is itself, as it may be believed."""
        from takeback.gate.teller import Teller

        told = Teller.itself(event.process, self._context.environ)
        event = told.believed(event)
        told.note(event, self.store_directory)
        return event

    def record(
        self, event: AgentEvent, adapter: Adapter | None = None, *, delivery: Delivery
    ) -> Received:
        """Records a cleaned event that came through an adapter, by default its agent's own.

        If the store was forgotten while it was waited for, a new one has it.
        """
        told, transcript = self._told(event, adapter)
        for _ in range(_AGAIN):
            try:
                return rooms.receive.receive(self._context, told, transcript, delivery=delivery)
            except StoreMoved as gone:
                self._open_anew(gone)
        return rooms.receive.receive(self._context, told, transcript, delivery=delivery)

    def _open_anew(self, gone: StoreMoved) -> None:
        """Goes on with a new store for the one that is ``gone``."""
        old = self._context
        old.store.close()
        location = location_of(os.fsdecode(old.workspace.root), old.environ)
        store = rooms.workspaces.open_store(location, old.environ, old.reporter, create=True)
        self._context = old.replace(store=store)

    def record_belated(
        self,
        told: Sequence[AgentEvent],
        *,
        always: bool,
        besides: tuple[bytes, ...],
        wait: float,
    ) -> tuple[Checkpoint, ...]:
        """Records events of a program that reports nothing; see ``rooms.belated``."""
        cleanly = [self._told(cleaned(event), None)[0] for event in told]
        return rooms.ends.record_belated(
            self._context, cleanly, always=always, besides=besides, wait=wait
        )

    def listening(self) -> Listening:
        """Returns what hears of changes to the files, from now on."""
        return rooms.watching.Listening(self._context)

    def delivery(
        self,
        *,
        wait: float,
        let_go: Callable[[], None] | None,
        watches: Watches | None,
        patience: Patience | None = None,
    ) -> Delivery:
        """Returns that an event comes now; the rest as ``Delivery`` has it."""
        return Delivery(self.now, wait, let_go, watches, patience)

    @property
    def has_captured(self) -> bool:
        """Tells whether the files were captured before; if not, all of them are read."""
        return rooms.capture.has_captured(self._context.store)

    @property
    def is_first_left(self) -> bool:
        """Tells whether agents have gone on before the first capture was done, and it is not."""
        return rooms.receive.is_first_left(self._context)

    def keep_watched(self, watches: Watches) -> None:
        """Has the files watched from now on, where that is possible."""
        rooms.watching.keep_watched(self._context, watches)

    @property
    def has_waiting(self) -> bool:
        """Tells whether an event before this one is not recorded yet, or just being recorded."""
        return rooms.receive.has_waiting(self._context)

    def await_rounds(self, *, wait: float) -> bool:
        """Waits for the rounds whose agents went on; False if that took too long."""
        return rooms.receive.await_rounds(self._context, wait=wait)

    def overtake(self) -> None:
        """Notes that a tool runs although those rounds may still be captured."""
        rooms.receive.overtake(self._context)

    def leave(self, event: AgentEvent, adapter: Adapter | None = None, *, came: float) -> Received:
        """Keeps an event that there was no time for; the next holder of the lock records it."""
        told, transcript = self._told(event, adapter)
        return rooms.receive.leave(self._context, told, transcript, came=came)

    def is_news(self, event: AgentEvent) -> bool:
        """Tells whether a failure at an event is the first of its turn, and remembers it."""
        from takeback.store import notes

        session = session_id(event.agent, event.session)
        return notes.is_new(self._context.store, session, turn_begins=event.kind == PROMPT)

    def is_first(self, event: AgentEvent, about: str) -> bool:
        """Tells whether something is to be told in a session for the first time, and remembers."""
        from takeback.store import notes

        return notes.is_first(self._context.store, session_id(event.agent, event.session), about)

    def say_later(self, event: AgentEvent, warning: str) -> None:
        """Keeps a warning for the next event at which the person can be told."""
        from takeback.store import notes

        notes.keep(self._context.store, session_id(event.agent, event.session), warning)

    def unsaid(self, event: AgentEvent) -> str | None:
        """Returns the warning that was kept for this event or a later one, once."""
        from takeback.store import notes

        return notes.take(self._context.store, session_id(event.agent, event.session))

    def note_good_beginning(self, event: AgentEvent) -> None:
        """Notes that a turn's first checkpoint was made: its first failure will be news."""
        from takeback.store import notes

        notes.forget(self._context.store, session_id(event.agent, event.session))

    @property
    def now(self) -> float:
        """The time, in seconds since the epoch."""
        return self._context.clock.now()

    def _told(self, event: AgentEvent, adapter: Adapter | None) -> tuple[AgentEvent, Transcript]:
        """Returns an event as it is kept, with its transcript, as far as that may be read.

        A program that tells of itself, through no adapter, could read any file that it names.
        """
        self.settings.require_known("exclude")
        if not self._context.policy.conversation:
            # a prompt names its turn; the words of a command are part of the conversation
            words = None if event.kind == TURN_END else event.prompt
            return event.replace(messages=None, prompt=words), NO_TRANSCRIPT
        if event.transcript is None:
            return event, NO_TRANSCRIPT
        roots = None
        if adapter is None:
            from takeback.adapters import adapter_of

            adapter = adapter_of(event.agent)
        else:
            roots = rooms.said.transcript_roots(self._context, adapter)
            if not rooms.said.may_lie_at(event.transcript, roots):
                self._leave_unread(event, roots)
                return event, NO_TRANSCRIPT
        files = rooms.said.parts_now(adapter.transcript_files(event.transcript), roots)
        return event, Transcript(files, adapter.status_in, adapter.follows)

    def _leave_unread(self, event: AgentEvent, roots: tuple[str, ...]) -> None:
        """Leaves a line where ``status`` finds it: what an event names is not read."""
        from takeback.store.notes import complain

        where = " or ".join(roots)
        said = f"it says that its conversation is in {event.transcript}, and that is not read"
        why = f"it is not beneath {where} (takeback config transcripts)"
        complain(f"hook {event.agent}: {said}: {why}", self.root, once=True)

    @staticmethod
    def wants(directory: str, environ: Mapping[str, str] | None = None) -> bool:
        """Tells whether agents' events in a directory are to be recorded (never, only).

        Raises SettingsUnknown if nobody knows.
        """
        environ = os.environ if environ is None else environ
        check_settings(environ, os.path.realpath(os.fsencode(directory)))
        settings = config.for_all(environ)
        settings.require_known("never", "only")
        if not settings["never"] and not settings["only"]:
            return True  # nearly always, and then no link has to be followed
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
        rooms.ends.start(self._context)

    def keep_ready(self) -> None:
        """Brings the ledger up to date, so that the next who looks does not wait for it."""
        rooms.follow.keep_ready(self._context.store)

    def keep_house(self, kind: str) -> None:
        """Starts combining packs or a sweep, in processes of their own, if an event of that kind is
        the time for it.

        A session's start or end is one for a sweep, and so is every other event, if enough came
        since the last one; but not a prompt: an agent's first word is not to wait for a look at the
        packs.
        """
        try:
            self._keep_house(kind)
        except FileNotFoundError:  # the store was forgotten since
            return

    def _keep_house(self, kind: str) -> None:
        store = self._context.store
        store.keep_house()
        if kind in (SESSION_START, SESSION_END):
            rooms.sweep.start(self._context, at_start=kind == SESSION_START)
        elif kind != PROMPT:
            from takeback.store.repack import is_sweep_due  # not at a prompt

            if is_sweep_due(store, store.sequence, self._context.policy.max_bytes):
                rooms.sweep.start(self._context, at_start=False)
