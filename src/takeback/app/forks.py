"""Forks: a new session from a checkpoint, from a turn of another branch, or with a summary."""

from __future__ import annotations

import os

from takeback import adapters, config, rooms
from takeback.app import given
from takeback.app.border import guarded
from takeback.app.travel import Steps
from takeback.errors import Command, NoSuchCheckpoint, Refused, UsageError, WhichSession
from takeback.model.conflicts import NOTHING_CHOSEN
from takeback.model.coverage import NO_OVERRIDES, Overrides
from takeback.model.ids import WORKSPACE_SESSION
from takeback.model.naming import NEWEST, is_place
from takeback.model.operation import IGNORED_STAY
from takeback.model.path_text import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from takeback.app.travel import Asked, TurnLike
    from takeback.app.workspace import CheckpointLike
    from takeback.capture.capture import Captured
    from takeback.fork.summary import Division, SummarisedAgent, Summariser
    from takeback.git.process import LinkedWorktree
    from takeback.ledger.ledger import Ledger
    from takeback.merge.revert import BranchEnd, Branches, CarriedTurn
    from takeback.model.agent import SummaryWay
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.conflicts import ConflictChoices
    from takeback.model.operation import Outcome, Plan
    from takeback.rewind.request import Facts, Request

    Maker = Callable[[str], str]

# -- carrying: bringing one turn from one branch of the tree to another


@guarded
class Carrying(Steps):
    """Everything that brings a turn in."""

    def brought(self, turn: TurnLike, *, elsewhere: bool = False) -> CarriedTurn:
        """Returns what a turn changed, for ``apply``, with ``elsewhere`` that of another workspace.

        This one has to stay open until then. Raises Refused if a model asks for another workspace
        from inside its turn.
        """
        if elsewhere:
            self.refuse_inside("a change of another directory")
        found = given.turn(turn)
        named = self.turn(found) if isinstance(found, str) else found
        owner = WORKSPACE_SESSION if elsewhere else named.turn.session
        return rooms.revert.CarriedTurn(self._context.store, self._taken(named), owner)

    def check_at(self, session: str) -> None:
        """Raises Refused unless the files here are those of a session."""
        meant = self.session_meant(session)
        place = self.current_place()
        there = self.find(place or NEWEST).session
        if meant is not None and there != meant:
            raise Refused(
                f"the files here are at session {there}, not at {meant}",
                hint=("go there first: ", Command("rewind", f"{meant}/{NEWEST}", "--files")),
            )

    def compare(self, a: str, b: str, *, session: str | None = None) -> Branches:
        """Compares two branches with the place where they parted.

        Each is a session, a checkpoint, a directory that was forked from here, or ``.`` for the
        files as they are now.
        """
        ends = [self._end(name, session) for name in (a, b)]
        store = self._context.store
        return self._ask(lambda ledger: rooms.revert.side_by_side(store, ledger, *ends))

    def _end(self, name: str, session: str | None) -> BranchEnd:
        if os.path.isdir(name):
            return self._end_of_directory(name)
        found: Checkpoint | None = None
        if not is_place(name):
            found = self._ask(lambda ledger: self._newest_on(ledger, name))
        point = self.find_kept(found or self.find(name, session=session))
        return rooms.revert.BranchEnd(name, point.tree, point)

    def _newest_on(self, ledger: Ledger, name: str) -> Checkpoint | None:
        """Returns the end of a session, if a name means one and no checkpoint has that id."""
        try:
            meant = self._meant(ledger, name)
        except (NoSuchCheckpoint, WhichSession):
            return None
        return None if meant is None else rooms.revert.newest_of(ledger, meant)

    def _end_of_directory(self, name: str) -> BranchEnd:
        """Returns the files of a directory; those of another workspace are copied to the store."""
        real, store = os.path.realpath(name), self._context.store
        if os.fsencode(real) == self.root:
            tree = rooms.look.present_tree(self._context)
            place = self.current_place()
            return rooms.revert.BranchEnd(name, tree, self.find(place or NEWEST))
        point = self._ask(lambda ledger: rooms.revert.forked_into(store, ledger, real))
        with type(self).open(
            name, environ=self._context.environ, asker=self._asker, bounded=bool(self._model)
        ) as there:
            tree = rooms.look.present_tree(there._context)
            with self._context.locked() as locked:
                rooms.revert.take_over(locked, there._context.store, tree)
        return rooms.revert.BranchEnd(name, tree, point)

    def plan_apply(
        self,
        turn: TurnLike | CarriedTurn,
        paths: Iterable[str | bytes] = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
    ) -> Plan:
        """Returns what ``apply`` would change; changes nothing. Its ``conflicts`` need choices."""
        return self._plan_merge(self._applying(self._carried(turn), paths, choices), overrides)

    def apply(
        self,
        turn: TurnLike | CarriedTurn,
        paths: Iterable[str | bytes] = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
        shown: Plan | None = None,
    ) -> Outcome:
        """Brings what a turn changed into the files, merged with what is there.

        The turn is one of another session here, ``other/turn:3``, or ``brought`` from elsewhere.
        """
        return self._merge(self._applying(turn, paths, choices), overrides, shown)

    def _carried(self, turn: TurnLike | CarriedTurn) -> CarriedTurn:
        return turn if isinstance(turn, rooms.revert.CarriedTurn) else self.brought(turn)

    def _applying(
        self, turn: TurnLike | CarriedTurn, paths: Iterable[str | bytes], choices: ConflictChoices
    ) -> Asked:
        """Returns what makes the request from the files as they are by then."""
        named = tuple(paths)

        def asked(captured: Captured) -> Request:
            place = rooms.revert.Arrival(self._scope(named, False), self._facts_of_now())
            request = rooms.revert.request_to_carry(captured, self._carried(turn), place, choices)
            return self._only_picked(captured, request, choices)

        return asked

    def _facts_of_now(self) -> Facts:
        """Returns who is at work here."""

        def newest(ledger: Ledger) -> list[Checkpoint]:
            return ledger.checkpoints(limit=1)

        found = self._ask(newest)
        return self._facts(found[0]) if found else rooms.request.NO_FACTS


# -- forks


@guarded
class Forks(Carrying):
    """Everything that begins a new session."""

    def fork(
        self,
        checkpoint: CheckpointLike,
        *,
        files: bool = False,
        worktree: str | None = None,
        git: bool = False,
        overrides: Overrides = NO_OVERRIDES,
        shown: Plan | None = None,
    ) -> Outcome:
        """Begins a new session from a checkpoint: its conversation and, if asked, its files.

        With ``worktree`` the files go into a new directory, and those here stay; with ``git`` it
        becomes a worktree of the project's git repository.
        """
        with self._context.locked() as locked:  # from the decision until it is done
            with_files = files or worktree is not None
            linked = None
            with self._taken_in(locked) as captured:
                target = self.find_kept(checkpoint) if with_files else self.find(checkpoint)
                if worktree is not None:
                    worktree = self._directory_to_fill(worktree)
                    linked = self._linked(target) if git else None
                cut = self._cut(locked, target, worktree)
                request = self._request_of_fork(target, files=files and worktree is None)
            request = request.replace(overrides=overrides, kind="fork", cut=cut)
            outcome = rooms.rewind.rewind(locked, captured, request, shown=shown)
        filled = outcome.conversation_error is None  # else what is there may be anybody's
        if linked is not None and worktree is not None and filled:
            rooms.fork.link(linked, worktree)
            outcome = outcome.replace(commit=linked.commit)
        return self._delivered(outcome, cut).replace(directory=worktree)

    def _request_of_fork(self, target: Checkpoint, *, files: bool) -> Request:
        """Returns the request for a fork; what was done since matters only if files move here."""
        request = self._request(target, self._scope((), False, files=files))
        return request if files else request.replace(facts=rooms.request.NO_FACTS)

    def _linked(self, target: Checkpoint) -> LinkedWorktree:
        self.refuse_inside("a git worktree")
        return rooms.fork.linked(self._context, target)

    def new_directory(self, path: str) -> str:
        """Returns the real path of a directory that a fork can make; raises UsageError."""
        if "\0" in path:
            raise UsageError(
                "no path has a NUL byte", hint="name a directory that is not there yet"
            )
        return rooms.fork.new_directory(self._context, path)

    def _directory_to_fill(self, path: str) -> str:
        from takeback.gate.asker import may_be_filled

        found = self.new_directory(path)
        if not may_be_filled(found, self.root):
            name = to_text(os.path.basename(self.root))
            self.refuse_inside(f"a fork into a directory that is not called {name}-... beside it")
        return found

    def plan_fork(
        self,
        checkpoint: CheckpointLike,
        *,
        files: bool = True,
        worktree: str | None = None,
        git: bool = False,
        overrides: Overrides = NO_OVERRIDES,
    ) -> Plan:
        """Returns what a fork would change; changes nothing. ``worktree`` is checked, too."""
        if worktree is not None:
            self.new_directory(worktree)
            target = self.find_kept(checkpoint)
            if git:
                rooms.fork.linked(self._context, target)
        elif files:
            return self.plan(checkpoint, scope="both", overrides=overrides)
        target = self.find(checkpoint)
        request = self._request_of_fork(target, files=False).replace(overrides=overrides)
        made = rooms.plan.plan(self._context, request)
        if worktree is not None:
            made = made.replace(warnings=(*made.warnings, IGNORED_STAY))
        return self._with_conversation(made.replace(whose=self.taken(checkpoint)), "conversation")


# -- summaries: a new session in which some turns of another one are a summary


@guarded
class Summarising(Forks):
    """Everything that puts a summary in the place of turns."""

    def plan_summary(
        self,
        checkpoint: CheckpointLike,
        way: SummaryWay,
        *,
        by: Maker | None = None,
        text: str | None = None,
        session: str | None = None,
    ) -> Plan:
        """Returns what a summary would be made of, and who would be sent it; sends nothing."""
        from takeback.model.agent import summary_way
        from takeback.model.operation import SUMMARISE

        target, newest = self._ends(checkpoint, session)
        known = _known(newest)
        division = self._divided(known, target, newest, summary_way(way))
        maker = self._summariser(known, newest, by, text)
        made = rooms.plan.plan(self._context, self._request_of_fork(newest, files=False))
        made = self._with_conversation(made, "conversation")
        return made.replace(
            kind=SUMMARISE,
            prompt=None,
            sending=division.sending(maker),
            whose=self.taken(checkpoint, session=session),
        )

    def summarise(
        self,
        checkpoint: CheckpointLike,
        way: SummaryWay,
        *,
        by: Maker | None = None,
        text: str | None = None,
        session: str | None = None,
        shown: Plan | None = None,
    ) -> Outcome:
        """Begins a new session in which what was said from, or up to, a place is a summary.

        The rest of the conversation is kept, the session that it comes from stays, and no file is
        touched. The summary is ``text``, what ``by`` makes of the text it is given, or that of the
        command of the settings, else of the agent itself: these are sent the conversation.
        ``session`` says whose conversation, if not that of the checkpoint. Nothing is locked while
        the summary is made; if the conversation went on meanwhile, it is refused.
        """
        from takeback.model.agent import summary_way

        self.refuse_inside("a summary")
        target, newest = self._ends(checkpoint, session)
        known = _known(newest)
        division = self._divided(known, target, newest, summary_way(way))
        maker = self._summariser(known, newest, by, text)
        if shown is not None and shown.sending != division.sending(maker):
            raise Refused(
                "the conversation went on since the plan was shown",
                hint="run the command again to see the new plan",
            )
        self._context.reporter.progress("waiting for the summary", 0, 0)
        summary = rooms.summary.summary_of(division, maker)
        return self._with_summary(target, division, summary, session)

    def _with_summary(
        self, target: Checkpoint, was: Division, summary: str, session: str | None
    ) -> Outcome:
        from takeback.model.operation import SUMMARISE

        with self._context.locked() as locked:  # from the decision until it is done
            with self._taken_in(locked) as captured:
                _, newest = self._ends(target, session)
                known = _known(newest)
                division = self._divided(known, target, newest, was.way)
                if (division.text, division.kept) != (was.text, was.kept):
                    raise Refused(
                        "the conversation went on while the summary was made",
                        hint="no session was made; summarise it again when the agent is idle",
                    )
                summaries = rooms.summary.summaries_of(known, newest.agent or "")
                now = self._context.clock.now()
                wanted = rooms.fork.CutRequest(
                    newest,
                    newest=newest,
                    title=f"\u21b6 summarised {was.way.replace('-', ' ')} {self._about(target)}",
                    history=rooms.summary.put_together(division, summaries, summary, now),
                )
                cut = rooms.fork.plan_cut(locked, known.adapter, wanted)
                request = self._request_of_fork(newest, files=False)
            request = request.replace(kind=SUMMARISE, cut=cut)
            outcome = rooms.rewind.rewind(locked, captured, request)
        return self._delivered(outcome, cut)

    def _divided(
        self, known: SummarisedAgent, target: Checkpoint, newest: Checkpoint, way: SummaryWay
    ) -> Division:
        place = rooms.summary.SummaryPlace(target, self.conversation(target), newest)
        return rooms.summary.divide(self._context, known, place, way)

    def _ends(
        self, checkpoint: CheckpointLike, session: str | None
    ) -> tuple[Checkpoint, Checkpoint]:
        """Returns the place, and the newest one of its conversation; raises Refused."""
        from takeback.timeline import transcripts

        if not self._context.policy.conversation:
            raise Refused("conversations are not kept (conversation = off)", hint="")
        target = self.find(checkpoint, session=session)
        end = target
        if session is not None:
            meant = self.session_meant(session)
            line = self._ask(lambda ledger: rooms.names.line_of(ledger, meant))
            if meant is not None and target.session in line:
                end = self.find("@", session=meant)
        newest = self._newest_conversation(end)
        if newest is None:
            newest = self._ask(lambda ledger: transcripts.last_told(ledger, end))
        if newest is None or newest.agent is None:
            raise Refused(
                f"checkpoint {target.id} has no conversation",
                hint="name a place in a session of an agent",
            )
        return target, newest

    def _summariser(
        self, known: SummarisedAgent, newest: Checkpoint, by: Maker | None, text: str | None
    ) -> Summariser:
        if text is not None:
            return rooms.summary.Summariser("your own text", lambda _: text)
        if by is not None:
            return rooms.summary.Summariser("the function that was given", by)
        # Read now: who is told to set it, in the picker or on the page, asks again at once.
        settings = config.for_workspace(self._context.environ, self.store_directory)
        settings.require_whole()
        command = tuple(settings["summariser"])
        if command:
            return rooms.summary.by_command(self._context, command)
        summaries = rooms.summary.summaries_of(known, newest.agent or "")
        return rooms.summary.by_agent(self._context, newest.agent or "", summaries.headless)


def _known(newest: Checkpoint) -> SummarisedAgent:
    agent = newest.agent or ""
    return rooms.summary.SummarisedAgent(
        adapters.adapter_of(agent), adapters.message_reader(agent), adapters.summaries_of(agent)
    )
