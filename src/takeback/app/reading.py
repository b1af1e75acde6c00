"""Looking: what is kept, what changed, who did it."""

from __future__ import annotations

import os

from takeback import config, rooms
from takeback.adapters import adapter_of
from takeback.app.border import guarded
from takeback.app.conversations import Conversations
from takeback.app.endings import turn_is_over
from takeback.app.switches import OFF, SWITCH, says_off
from takeback.errors import Command, NoSuchCheckpoint, UsageError
from takeback.ledger.sessions import open_turns
from takeback.model.naming import is_whole_turn
from takeback.model.operation import Between
from takeback.model.path_text import to_text
from takeback.model.turn import SHELL
from takeback.paths import takeback_home, user_home
from takeback.store.records import known_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from takeback.app.connect import AgentState
    from takeback.app.workspace import CheckpointLike
    from takeback.check.check import Verified, Witness
    from takeback.check.finding import Finding
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint, CountedChange
    from takeback.model.operation import FileDiff, Operation
    from takeback.model.timeline import Session
    from takeback.timeline.look import Found, Status
    from takeback.timeline.operations import Logged
    from takeback.timeline.sessions import Node, SessionEntry
    from takeback.timeline.timeline import Listing, Shown, TimelineEntry


@guarded
class Reading(Conversations):
    """Everything that changes nothing."""

    def checkpoints(
        self,
        *,
        session: str | None = None,
        everything: bool = False,
        limit: int = -1,
        paths: Iterable[str | bytes] = (),
        before: CheckpointLike | None = None,
    ) -> list[TimelineEntry]:
        """Returns checkpoints with what changed in each, newest first.

        Rounds, ends of turns and undo snapshots are included only with ``everything``. With
        ``paths``, only what changed one of them, and nothing else of it; a renamed file is followed
        to its earlier names. With ``before``, only what is older than that checkpoint.
        """
        named = self._paths(paths)
        oldest = None if before is None else self.find(before).id

        def question(ledger: Ledger) -> list[TimelineEntry]:
            one = None if session is None else self._meant(ledger, session)
            wanted = rooms.timeline.Wanted(one, everything, limit, named, oldest)
            return rooms.timeline.timeline(self._context, ledger, wanted, is_over=turn_is_over)

        return self._ask(question)

    def listing(
        self,
        *,
        session: str | None = None,
        everything: bool = False,
        limit: int = -1,
        paths: Iterable[str | bytes] = (),
    ) -> Listing:
        """Returns what a list of the timeline shows: as ``checkpoints``, with the present state.

        A session that was cut from another and not continued has no entry of its own.
        """
        named = self._paths(paths)

        def question(ledger: Ledger) -> Listing:
            one = None if session is None else self._meant(ledger, session)
            wanted = rooms.timeline.Wanted(one, everything, limit, named)
            return rooms.timeline.listing(self._context, ledger, wanted, is_over=turn_is_over)

        return self._ask(question)

    def turns_behind(self, session: str, *, limit: int) -> Listing:
        """Returns the newest turns that a session can go back to, including its parents'."""

        def question(ledger: Ledger) -> Listing:
            one = self._meant(ledger, session) or session
            return rooms.timeline.behind(
                self._context, ledger, one, is_over=turn_is_over, limit=limit
            )

        return self._ask(question)

    def show(self, checkpoint: CheckpointLike) -> Shown:
        """Returns one checkpoint in full, with what it does not hold."""
        found = self.find(checkpoint)
        shown = self._ask(
            lambda ledger: rooms.timeline.show(self._context, ledger, found, is_over=turn_is_over)
        )
        turn = shown.entry.turn
        if turn is None or turn.kind != SHELL or turn.prompt is not None:
            return shown
        words = self._words_of_a_command(found)
        named = shown.entry.replace(
            checkpoint=shown.entry.checkpoint.replace(prompt=words), turn=turn.replace(prompt=words)
        )
        return shown.replace(entry=named)

    def beginning_of(self, checkpoint: CheckpointLike) -> Checkpoint:
        """Returns the place before the turn that a checkpoint is in, itself if it is in none."""
        found = self.find(checkpoint)
        return self._ask(lambda ledger: rooms.sessions.beginning_of(ledger, found))

    def _words_of_a_command(self, end: Checkpoint) -> str | None:
        """Returns the words of a ``!command``: an agent may write them after announcing its end."""
        then, adapter = rooms.fork.conversation_of(self._context, end), adapter_of(end.agent or "")
        newest = self._newest_conversation(end)
        said = rooms.fork.afterwards(self._context, adapter, end, then, newest)
        return adapter.command_in(b"".join(said), end.turn_id)

    def operations(self) -> list[Operation]:
        """Returns the operation log, oldest first, of all machines whose work is in the store."""
        return rooms.timeline.operations(self._context.store)

    def operation_log(self) -> list[Logged]:
        """Returns the operation log, oldest first, each line with what it was about."""
        store = self._context.store
        return rooms.operations.logged(self.operations(), known_here(store))

    def operation(self, name: str) -> Operation:
        """Returns the operation whose id is or begins with a name."""
        return rooms.operations.find_operation(self.operations(), name)

    def cat(self, checkpoint: CheckpointLike, path: str | bytes) -> bytes:
        """Returns the bytes of one file as a checkpoint has them."""
        found = self.find_kept(checkpoint)
        try:
            inside = self.path(path)
        except UsageError:
            return self._cat_outside(found, path)
        self.refuse_hidden(inside)
        try:
            return rooms.look.cat(self._context, found, inside)
        except NoSuchCheckpoint:
            if not self._leads_outside(path):
                raise
            return self._cat_outside(found, path)

    def _cat_outside(self, found: Checkpoint, path: str | bytes) -> bytes:
        """Returns the bytes of a file that a tool changed outside: for the person alone."""
        outside = os.path.normpath(os.path.join(self._base, os.fsencode(path)))
        self.refuse_to_show(to_text(outside), "it is outside the workspace")
        return rooms.look.cat_outside(self._context, found, outside)

    def _leads_outside(self, path: str | bytes) -> bool:
        """Tells whether a path below the root goes through a link to somewhere else."""
        try:
            self._context.workspace.resolved(os.fsencode(path), base=self._base)
        except ValueError:
            return True
        return False

    def diff(
        self,
        old: CheckpointLike,
        new: CheckpointLike | None = None,
        paths: Iterable[str | bytes] = (),
        *,
        color: bool = False,
    ) -> bytes:
        """Returns a unified diff from ``old`` to ``new``, or to the files as they are now.

        From ``turn:3`` to ``turn:3.end`` it is what the turn did, not what others did meanwhile.
        """
        between, scope = self._compared(old, new, paths, of_turn=False)
        return self._patch(between, scope, color=color)

    def changes_and_diff(
        self,
        old: CheckpointLike,
        new: CheckpointLike | None = None,
        paths: Iterable[str | bytes] = (),
        *,
        color: bool = False,
        of_turn: bool = False,
    ) -> tuple[list[CountedChange], bytes]:
        """Returns the changed paths with line counts, and the diff, both of the same state.

        With ``of_turn`` the two are the ends of one.
        """
        between, scope = self._compared(old, new, paths, of_turn=of_turn)
        changes = rooms.look.changes(self._context, between, scope)
        return changes, self._patch(between, scope, color=color)

    def _patch(self, between: Between, paths: tuple[bytes, ...], *, color: bool) -> bytes:
        """Returns a diff, without what is in files that are not for who looks."""
        hides = self.hides if self._model else None
        return rooms.look.patch(self._context, between, paths, hides=hides, color=color)

    def _compared(
        self,
        old: CheckpointLike,
        new: CheckpointLike | None,
        paths: Iterable[str | bytes],
        *,
        of_turn: bool,
    ) -> tuple[Between, tuple[bytes, ...]]:
        a, b = self._trees(old, new)
        scope = self._known_paths(paths, a, b)
        if of_turn or is_whole_turn(old, new):
            return self.states(old), scope
        return Between.of_trees(a, b), scope

    def _known_paths(self, paths: Iterable[str | bytes], a: bytes, b: bytes) -> tuple[bytes, ...]:
        """Returns the paths; raises UsageError for one that is nowhere: a typo, not "the same"."""
        found = self._paths(paths)
        rooms.look.check_known(self._context, found, a, b)
        return found

    def states(self, checkpoint: CheckpointLike) -> Between:
        """Returns the states before and after a turn, or before and at a plain checkpoint."""
        found = self.find(checkpoint)
        return self._ask(lambda ledger: rooms.plan.states(self._context.store, ledger, found))

    def file_diff(self, between: Between, path: bytes) -> FileDiff:
        """Returns one path in two states; ``path`` is relative to the root, as in ``changes``."""
        self.refuse_hidden(path)
        return rooms.plan.file_diff(self._context, between, path)

    def _trees(self, old: CheckpointLike, new: CheckpointLike | None) -> tuple[bytes, bytes]:
        a = self.find_kept(old).tree
        if new is None:
            return a, rooms.look.present_tree(self._context)
        return a, self.find_kept(new).tree

    def status(self, *, look: bool = False) -> Status:
        """Returns where the files are, what is kept, how large, and what went wrong.

        With ``look`` the files are checked too, to say what changed by hand since.
        """
        from takeback.app.connect import stale_hooks

        home = takeback_home(self._context.environ)
        left = self.left_running()
        found = self._ask(
            lambda ledger: rooms.look.status(
                self._context, ledger, home=home, is_over=turn_is_over, left=left
            )
        )
        if look:
            machine = self._context.store.machine
            seen = self._ask(lambda ledger: rooms.refuse.last_seen(ledger, machine))
            found = found.replace(dirty=rooms.sessions.dirty(self._context, seen))
        stale = stale_hooks(home)
        wrong = rooms.settings.damaged(self.settings, self._context.environ)
        return found.replace(
            recording_off_by=self.recording_off_by,
            warnings=(*found.warnings, *stale, *wrong, *self.silence()),
        )

    def silence(self) -> list[Finding]:
        """Returns which agents worked here unheard, or will, and the file that does it."""
        from takeback.app.silence import findings

        now = self._context.clock.now()
        return [one for state in self.agents() for one in findings(state, now)]

    @property
    def recording_off_by(self) -> str | None:
        """What prevents agents' events here from being recorded; None if nothing does.

        ``off`` (takeback off), a setting (``never``, ``only``), or the variable ``TAKEBACK``.
        """
        if self._context.policy.capture:
            return unrecorded_by(self.root, self._context.environ)
        return OFF

    def agents(self) -> list[AgentState]:
        """Returns the agents here, connected or not, and whether one worked without takeback."""
        from takeback.app.connect import agent_states

        root = os.fsdecode(self.root)
        last: dict[str, float] = {}
        within: set[str] = set()
        open_ones = self._ask(lambda ledger: {one.session for one in open_turns(ledger)})
        working: set[str] = set()
        for session in self.known_sessions():
            if session.agent is None:
                continue
            last[session.agent] = max(last.get(session.agent, 0.0), session.last_event)
            if (session.directory or "").startswith(f"{root}/"):
                within.add(session.directory or "")
            if session.id in open_ones:
                working.add(session.agent)
        return agent_states(
            self._context.environ, root, last, within=sorted(within), working=frozenset(working)
        )

    def verify(self, *, read_data: bool = False) -> Verified:
        """Checks that everything kept can be read back."""
        machine = self._context.store.machine

        def ask() -> Witness:
            return self._ask(lambda ledger: rooms.check.witness(ledger, machine))

        return rooms.check.verify(
            self._context, ask, self._opened_index().close, read_data=read_data
        )

    def sessions(self) -> list[SessionEntry]:
        """Returns the agents' sessions, the one that was last active first."""
        return self._ask(
            lambda ledger: rooms.sessions.sessions(self._context, ledger, is_over=turn_is_over)
        )

    def tree(self) -> list[Node]:
        """Returns the sessions as a tree, with their turns and what was forked from where."""
        return self._ask(
            lambda ledger: rooms.sessions.tree(self._context, ledger, is_over=turn_is_over)
        )

    def search(self, *words: str, limit: int = -1, content: bool = False) -> list[Found]:
        """Returns the prompts and changed paths that hold all words, newest first.

        With ``content``, searches the lines of the files in all snapshots instead.
        """
        if not all(words) or not words:
            raise UsageError("there is nothing to look for", hint=(Command("search", "TEXT"),))
        if not content:
            return self._ask(
                lambda ledger: rooms.look.search(self._context, ledger, words, limit=limit)
            )
        return self._ask(
            lambda ledger: rooms.look.search_contents(
                self._context, ledger, words, limit=limit, hides=self.hides
            )
        )

    def known_sessions(self) -> list[Session]:
        """Returns every session, including that of checkpoints made by hand."""
        return self._ask(rooms.sessions.everyone)

    def places(self, session: str, entries: Iterable[str]) -> dict[str, Checkpoint]:
        """Returns the checkpoints at entries of an agent's transcript, by entry."""
        wanted = list(entries)
        return self._ask(lambda ledger: rooms.sessions.places(ledger, session, wanted))

    def current_place(self) -> str | None:
        """Returns the checkpoint that the files are at."""
        return self._ask(lambda ledger: rooms.sessions.current_place(self._context, ledger))


def unrecorded_by(root: bytes, environ: Mapping[str, str]) -> str | None:
    """Returns what prevents events in a directory from being recorded, apart from its own store."""
    if says_off(environ):
        return SWITCH
    settings = config.for_all(environ)
    return config.unwanted_by(settings, os.fsdecode(root), os.fsdecode(user_home(environ)))
