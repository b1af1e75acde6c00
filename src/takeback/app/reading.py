"""Looking: what is kept, what was said, what changed, who did it, and what happened since."""

from __future__ import annotations

import os

from takeback import config, rooms
from takeback.adapters import adapter_of
from takeback.app.border import guarded
from takeback.app.recording import Recording
from takeback.app.switches import OFF, SWITCH, says_off
from takeback.errors import Command, NoSuchCheckpoint, UsageError
from takeback.ledger.by_session import open_turns
from takeback.model.naming import is_whole_turn
from takeback.model.operation import Between
from takeback.model.path_text import to_text
from takeback.model.turn import PROMPT, SHELL
from takeback.paths import takeback_home, user_home
from takeback.remembered import Remembered
from takeback.store.records import known_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from takeback.app.connect import AgentState
    from takeback.app.workspace import CheckpointLike
    from takeback.blame import Blame
    from takeback.check.check import Verified, Witness
    from takeback.check.finding import Finding
    from takeback.ledger.ledger import Ledger
    from takeback.model.agent import MessagePage, PlacedMessage
    from takeback.model.checkpoint import Checkpoint, CountedChange
    from takeback.model.entries import NewsMark, Session
    from takeback.model.operation import FileDiff, Operation
    from takeback.timeline.look import Found, Status
    from takeback.timeline.operations import Logged
    from takeback.timeline.sessions import Node, SessionEntry
    from takeback.timeline.timeline import Browsed, Happening, Listing, Shown, TimelineEntry
    from takeback.timeline.transcripts import Source


# -- endings: what agents' transcripts say about turns whose end was not announced


_TAIL = 1 << 16
_TRANSCRIPTS_KEPT = 200


def turn_is_over(newest: Checkpoint) -> bool:
    """Tells from the end of a transcript whether a turn ended unannounced, by Esc."""
    state = _state(newest)
    return state is not None and _says_over(newest)


def _state(newest: Checkpoint) -> tuple[object, ...] | None:
    """Returns what changes with the transcript; None if the turn is not in it yet."""
    if newest.agent is None or not newest.transcript:
        return None
    part = newest.transcript[-1]
    try:
        found = os.stat(part.path)
    except (OSError, ValueError):
        return None
    if newest.kind == PROMPT and found.st_size <= part.size:
        return None  # the prompt is not written yet: the last line belongs to the turn before
    return newest.turn_id, found.st_size, found.st_mtime_ns


def _says_over(newest: Checkpoint) -> bool:
    tail = rooms.said.read_tail(newest.transcript[-1], _TAIL)
    return tail is not None and adapter_of(newest.agent or "").is_over(tail, newest.turn_id)


class Stops:
    """Tells which turns Esc has ended, and reads a transcript only when it has changed.

    Only for agents that have no event for Esc: the others announce every end, and their transcripts
    may be a moment ahead of it.
    """

    def __init__(self) -> None:
        self._seen: Remembered[str, tuple[object, bool]] = Remembered(_TRANSCRIPTS_KEPT)

    def __call__(self, newest: Checkpoint) -> bool:
        state = _state(newest)
        if state is None or not adapter_of(newest.agent or "").mute_on_esc:
            return False
        path = newest.transcript[-1].path
        known = self._seen.get(path)
        if known is None or known[0] != state:
            known = state, _says_over(newest)
            self._seen.add(path, known)
        return known[1]


# -- browsing the whole timeline: light rows for everything, full entries for what is in view


@guarded
class Browsing(Recording):
    """What a list of ten thousand turns needs."""

    def browse(self, *, limit: int = -1) -> Browsed:
        """Returns the rows of the timeline, newest first, with what places them in a tree."""
        return self._ask(
            lambda ledger: rooms.timeline.browse(
                self._context, ledger, is_over=turn_is_over, limit=limit
            )
        )

    def timeline_mark(self) -> str:
        """Returns a word that changes whenever ``browse`` may have something new to say."""
        return rooms.timeline.mark(self._context.store)

    def entries(self, ids: Iterable[str]) -> dict[str, TimelineEntry]:
        """Returns rows in full, by id; one that is gone is left out."""
        wanted = list(ids)
        return self._ask(
            lambda ledger: rooms.timeline.rows_in_full(
                self._context, ledger, wanted, is_over=turn_is_over
            )
        )

    def names_in(self, checkpoint: CheckpointLike, directory: str) -> list[tuple[str, bool]]:
        """Returns what a directory held at a checkpoint: names, and whether each is a directory."""
        found = self.find(checkpoint)
        return rooms.look.names_in(self._context, found, self.path(directory))

    def matching(self, *words: str, only_paths: bool = False) -> frozenset[str]:
        """Returns the rows that have all words in a prompt or changed path."""
        return self._ask(
            lambda ledger: rooms.timeline.matching(ledger, words, only_paths=only_paths)
        )


# -- reading conversations: in the agent's own format, and as a person reads them


@guarded
class Conversations(Browsing):
    """What was said up to a checkpoint."""

    def conversation(self, checkpoint: CheckpointLike) -> bytes:
        """Returns the conversation at a checkpoint, in the agent's own format."""
        found = self._told_here(checkpoint)
        newest = self._newest_conversation(found)
        adapter = adapter_of(found.agent or "")
        return rooms.fork.history_at(self._context, adapter, found, newest)

    def said_last(self, checkpoint: Checkpoint) -> bytes:
        """Returns the newest conversation that is kept of a session at a checkpoint or before."""
        from takeback.timeline import transcripts as conversation_room

        told = self._ask(lambda ledger: conversation_room.last_told(ledger, checkpoint))
        return b"" if told is None else self.conversation(told)

    def messages(
        self, checkpoint: CheckpointLike, *, offset: int = 0, limit: int | None = None
    ) -> MessagePage:
        """Returns what was said up to a checkpoint, with the place before each prompt.

        With ``offset`` and ``limit``, only some of it: numbers count from 0.
        """
        from takeback.timeline import transcripts as conversation_room

        found = self._told_here(checkpoint)
        told = self._ask(lambda ledger: conversation_room.last_told(ledger, found))
        offset = max(0, offset)
        if self._pages is None:
            return conversation_room.page(self._said(found, told), offset=offset, limit=limit)
        of = self._source(found, told)
        return self._pages.page(of, lambda: self._said(found, told), offset=offset, limit=limit)

    def messages_at_hand(
        self, checkpoint: CheckpointLike, *, offset: int = 0, limit: int | None = None
    ) -> MessagePage | None:
        """Returns what ``messages`` does, if the conversation need not be read for it."""
        from takeback.timeline import transcripts as conversation_room

        found = self._told_here(checkpoint)
        told = self._ask(lambda ledger: conversation_room.last_told(ledger, found))
        if self._pages is None:
            return None
        return self._pages.at_hand(self._source(found, told), offset=max(0, offset), limit=limit)

    def _told_here(self, checkpoint: CheckpointLike) -> Checkpoint:
        """Returns a checkpoint; raises Refused for a model if a model told of its session.

        It may have named the conversation of another workspace as that session's.
        """
        found = self.find(checkpoint)
        if found.below is not None:
            what, why = f"what was said in {found.session}", f"a tool of {found.below} told of it"
            self.refuse_to_show(what, why)
        return found

    def _source(self, place: Checkpoint, told: Checkpoint | None) -> Source:
        newest = None if told is None else self._newest_conversation(told)
        return self._ask(
            lambda ledger: rooms.transcripts.source(self._context, ledger, place, told, newest)
        )

    def _said(self, place: Checkpoint, told: Checkpoint | None) -> Iterator[PlacedMessage]:
        """Returns all that was said up to a place; ``told`` keeps the conversation."""
        from takeback.adapters import message_reader
        from takeback.timeline import transcripts as conversation_room

        prompts = self._ask(lambda ledger: conversation_room.prompts_until(ledger, place, told))
        history = b"" if told is None else self.conversation(told)
        return conversation_room.placed(history, message_reader(place.agent or ""), prompts)

    def _newest_conversation(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """Returns the newest checkpoint of the session after one that keeps a conversation."""
        from takeback.ledger.lists import told_since

        return self._ask(lambda ledger: told_since(ledger, checkpoint))


# -- looking


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
    ) -> bytes:
        """Returns a unified diff from ``old`` to ``new``, or to the files as they are now.

        From ``turn:3`` to ``turn:3.end`` it is what the turn did, not what others did meanwhile.
        """
        between, scope = self._compared(old, new, paths, of_turn=False)
        return self._patch(between, scope, color=False)

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
        from takeback.app.connect import findings

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


# -- file history: what became of single files, and who wrote their lines


@guarded
class FileHistory(Reading):
    """What is known about some files rather than about all of them."""

    def blame(self, path: str | bytes, checkpoint: CheckpointLike | None = None) -> Blame:
        """Returns who wrote each line of a file, as it is now or at a checkpoint."""
        inside = self.path(path)
        self.refuse_hidden(inside)
        found = None if checkpoint is None else self.find_kept(checkpoint)
        tree = rooms.look.present_tree(self._context) if found is None else found.tree
        state = rooms.blame.State(tree, found)
        store = self._context.store
        return self._ask(lambda ledger: rooms.blame.blame(store, ledger, state, inside))

    def show_files(
        self, checkpoint: CheckpointLike, paths: Iterable[str | bytes], *, color: bool = False
    ) -> tuple[Shown, bytes]:
        """Returns a checkpoint with the changes of some paths only, and these as a diff.

        Of a turn, that is what it did; else what was found changed. Raises UsageError for a path
        that is nowhere.
        """
        shown, between = self.show(checkpoint), self.states(checkpoint)
        old, new = bytes.fromhex(between.old), bytes.fromhex(between.new)
        named = self._known_paths(paths, old, new)
        steps = tuple(step.limited_to(named) for step in shown.steps)
        limited = shown.replace(entry=shown.entry.limited_to(named), steps=steps)
        return limited, self._patch(between, named, color=color)


# -- following: what happened in a workspace since one last looked


@guarded
class Following(FileHistory):
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
