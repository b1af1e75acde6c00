"""The engine: everything that faces do with an open workspace. ``api.py`` is its public page."""

from __future__ import annotations

import os

from takeback import rooms
from takeback.app.border import guarded
from takeback.app.given import Alone
from takeback.app.space import Reviewing
from takeback.app.workspace import location_of
from takeback.errors import Refused, UsageError
from takeback.model.event import PROMPT, cleaned
from takeback.paths import takeback_home
from takeback.turns.receive import Delivery, Received

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from takeback import config
    from takeback.app.beginning import Unopened
    from takeback.app.session import AgentSession
    from takeback.app.workspace import CheckpointLike
    from takeback.check.finding import Finding
    from takeback.context import Context
    from takeback.errors import NotAWorkspace, StoreMoved
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.entries import Earlier
    from takeback.model.ids import SessionId
    from takeback.model.operation import Outcome
    from takeback.retention.earlier import BroughtBack, Discarded
    from takeback.turns.making import Made
    from takeback.workspaces import KnownWorkspace


@guarded
class Engine(Reviewing):
    """One workspace and everything that can be done with it. Close it, or use ``with``.

    For one thread at a time: ``Takeback`` and the sessions made from it hold ``alone``.
    """

    def __init__(self, context: Context, settings: config.Settings) -> None:
        super().__init__(context, settings)
        self.alone = Alone()
        self.running_turns: dict[SessionId, str] = {}
        """The turns that are running of sessions made here, by the session."""

    def checkpoint(
        self,
        label: str | None = None,
        *,
        message: str | None = None,
        session: str | None = None,
        allow_large: bool = False,
    ) -> Made:
        """Makes a checkpoint of the files as they are now, in ``session``."""
        return self.checkpoint_of(
            None, label, message=message, session=session, allow_large=allow_large
        )

    def checkpoint_of(
        self,
        model: str | None,
        label: str | None = None,
        *,
        message: str | None = None,
        session: str | None = None,
        allow_large: bool = False,
    ) -> Made:
        """Makes one for whose model it is that asks, where that needs no finding out."""
        if self.interrupted:
            with self._context.locked() as locked:
                self._recover_and_say(locked)
        asking = self.asking_model()
        if label is not None:
            wanted, model = label, asking.agent if asking is not None else model
            self._ask(
                lambda ledger: rooms.names.check_label(
                    ledger, wanted, self.now, by_model=model is not None
                )
            )
        return rooms.making.checkpoint(
            self._context,
            label=label,
            label_by=model,
            prompt=message,
            session=None if session is None else self.session_meant(session),
            allow_large=allow_large,
            asked_by=None if asking is None else asking.session,
        )

    def label(self, checkpoint: CheckpointLike, name: str | None) -> Checkpoint:
        """Gives a checkpoint a name, or removes it (None)."""
        found = self.find(checkpoint)
        if name is None or found.label not in (None, name):
            self.refuse_inside("taking a label off")
        asking = None if name is None else self.asking_model()
        if asking is not None and found.label == name:
            return found  # and who gave it stays who gave it
        by = None if asking is None else asking.agent
        return self._ask(
            lambda ledger: rooms.names.label(self._context, ledger, found, name, by=by)
        )

    @staticmethod
    def workspaces(*, environ: Mapping[str, str] | None = None) -> list[KnownWorkspace]:
        """Returns every workspace that something is kept of, by path; opens none of them."""
        from takeback.workspaces import workspaces

        return workspaces(takeback_home(os.environ if environ is None else environ))

    def session(self, agent: str, native: str | None = None) -> AgentSession:
        """Returns a session of your own agent, a new one unless ``native`` names one."""
        from takeback.app.session import AgentSession

        return AgentSession(self, agent, native)

    def resume(self, session: str | Outcome) -> AgentSession:
        """Returns a session to go on with, and in its ``conversation`` what was said in it.

        It is given by name, or as what an operation returned: the one that it went to. Raises
        Refused if that left the conversation where it was, and NoSuchCheckpoint.
        """
        from takeback.app.session import AgentSession

        name = session if isinstance(session, str) else session.session
        newest = None if name is None else self.find(f"{self.session_meant(name)}/@")
        if newest is None or newest.agent is None or newest.native is None:
            raise Refused(
                "there is no conversation to go on with",
                hint="go on with the session that you have",
            )
        return AgentSession(self, newest.agent, newest.native, self.said_last(newest))

    def hear(self, agent: str, payload: Mapping[str, Any]) -> Received:
        """Records what an agent's hook says, for agents whose hooks are called in your program.

        ``payload`` is what it would give to ``takeback hook AGENT``; what takeback has no use for
        is passed over. Raises UsageError if it cannot be understood, or the agent works elsewhere.
        """
        from takeback.adapters import adapter_of

        adapter = adapter_of(agent)
        try:
            # Not by the environment: it says where an agent is that this program may run in.
            event = adapter.parse(payload, {})
        except ValueError as error:
            raise UsageError(
                f"{agent} has no such event: {error}", hint="give what its hook is given"
            ) from None
        if event is None:
            return Received()
        if event.kind == PROMPT:
            self.path(event.directory)
        # Its project, whatever directory it has gone to since; this program is its process.
        event = cleaned(event.replace(directory=self.opened_at, process=os.getpid()))
        event = self._of_this_program(event)
        return self.record(event, adapter, delivery=Delivery(self.now, self.hook_seconds))

    # -- keeping house

    def see_failures(self) -> None:
        """Notes that what went wrong so far was seen; ``status`` shows only what comes later."""
        from takeback.context import Translated
        from takeback.store import notes

        self.refuse_inside("saying that failures were seen")
        with Translated("noting what was seen"):
            notes.see(self._context.store, takeback_home(self._context.environ))

    @classmethod
    def unopened(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        environ: Mapping[str, str] | None = None,
        after: NotAWorkspace | None = None,
    ) -> Unopened:
        """Returns what can be said about a directory that could not be opened as a workspace.

        ``after`` is what was said then. Without it, that there is no checkpoint yet.
        """
        from takeback.app.beginning import Unopened

        never = after if after is not None and not after.new else None
        return Unopened.at(path, os.environ if environ is None else environ, never)

    def doctor(self, *, rebuild: bool = False, fix: bool = False) -> list[Finding]:
        """Reports what is wrong; with ``fix`` it mends what can safely be mended."""
        from takeback.app.checkup import check_agents, check_recording

        if fix:
            self.refuse_inside("doctor --fix")
        ledger = self._check_ledger(rebuild=rebuild, fix=fix)
        machine = self._context.store.machine
        known = self._ask(lambda ledger: rooms.check.witness(ledger, machine))
        found = rooms.doctor.doctor(self._context, known, self._recover, fix=fix)
        found.append(
            rooms.doctor.check_round_trip(self._context.environ, self._context.store.find_git)
        )
        found += rooms.settings.check(self.settings, self._context.environ)
        found += check_recording(self.recording_off_by)
        found += check_agents(self._context.environ, self.agents(), fix=fix)
        return [*found, ledger]

    def _check_ledger(self, *, rebuild: bool, fix: bool) -> Finding:
        """Checks the index of the store, and makes it anew if that is wanted."""
        from takeback.check.finding import BROKEN, FIX, MENDED, OK, Finding

        unsound = self._ask(lambda ledger: ledger.unsound())
        if unsound and not (fix or rebuild):
            return Finding("ledger", BROKEN, f"the index of the store is damaged: {unsound}", FIX)
        if unsound or rebuild:
            if self._index is not None:
                self._index.close()
            store, reporter = self._context.store, self._context.reporter
            self._index = rooms.follow.Index(store, reporter, rebuild=True)
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
        return rooms.earlier.earlier(location_of(path, environ), environ)

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
        from takeback.gate.asker import refuse_inside

        environ = os.environ if environ is None else environ
        refuse_inside("taking over an earlier store", environ)
        found = cls.earlier_named(name, path, environ=environ)
        rooms.earlier.take_over(location_of(path, environ), found.directory, environ)
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
        return rooms.earlier.named(cls.earlier(path, environ=environ), name)

    def _open_anew(self, gone: StoreMoved) -> None:
        raise gone  # what is known here is of that store

    def forget(self, *, now: bool = False) -> Discarded | None:
        """Puts every checkpoint of this workspace into the trash; its files are not touched.

        Returns what is there then; None if it is gone for good: with ``now``, or where its settings
        give no grace.
        """
        self.refuse_inside("forget")
        if self._index is not None:
            self._index.close()
            self._index = None
        context = self._context
        home = takeback_home(context.environ)
        made = rooms.earlier.forget(context.store, home, context.clock.now())
        if not now or made is None:
            return made
        rooms.earlier.delete(made.forgotten, home)
        return None

    @classmethod
    def forgotten(
        cls,
        path: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> list[Discarded]:
        """Returns the workspaces in the trash, oldest first; with ``path`` what is there of one.

        ``name`` is the id of one store of it. Raises NotAWorkspace if there is nothing of it.
        """
        from takeback.gate.asker import refuse_inside

        environ = os.environ if environ is None else environ
        refuse_inside("a look at what was forgotten", environ)
        home = takeback_home(environ)
        if path is None:
            return rooms.earlier.forgotten(home, environ)
        return rooms.earlier.forgotten_at(home, os.fspath(path), environ, name)

    @classmethod
    def bring_back(
        cls,
        path: str | os.PathLike[str],
        name: str | None = None,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> BroughtBack:
        """Brings back what was forgotten of a workspace last, or the store with the id ``name``.

        What has been kept there since becomes an earlier store of the path. Raises NotAWorkspace.
        """
        environ = os.environ if environ is None else environ
        found = cls.forgotten(path, name, environ=environ)  # not for a model
        return rooms.earlier.bring_back(found[-1], takeback_home(environ), environ)

    @classmethod
    def delete_forgotten(
        cls, found: Iterable[Discarded], *, environ: Mapping[str, str] | None = None
    ) -> None:
        """Deletes what is in the trash, for good."""
        from takeback.gate.asker import refuse_inside

        environ = os.environ if environ is None else environ
        refuse_inside("deleting what was forgotten", environ)
        for one in found:
            rooms.earlier.delete(one.forgotten, takeback_home(environ))
