"""Travel: going to a checkpoint, taking turns out of the files, undo and redo."""

from __future__ import annotations

from takeback import rooms
from takeback.adapters import adapter_of
from takeback.app import given
from takeback.app.border import guarded
from takeback.app.reading import Following, turn_is_over
from takeback.errors import (
    FILES_ALONE,
    Command,
    Expired,
    NoSuchCheckpoint,
    RecoveredInstead,
    UsageError,
    WhichSession,
)
from takeback.model.conflicts import NOTHING_CHOSEN
from takeback.model.coverage import NO_OVERRIDES, Overrides
from takeback.model.naming import NEWEST, is_turn_name, split_name
from takeback.model.turn import PROMPT
from takeback.rewind.request import ALL_OTHERS, EDITS, KEEP_NOTHING, kept_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Final, TypeAlias

    from takeback.app.workspace import CheckpointLike
    from takeback.capture.capture import Captured
    from takeback.context import LockedContext
    from takeback.fork.fork import Choices, Cut
    from takeback.gate.living import Living
    from takeback.ledger.follow import Steady
    from takeback.ledger.ledger import Ledger
    from takeback.merge.deeds import Stretch
    from takeback.merge.picking import Offer
    from takeback.merge.revert import Taken
    from takeback.model.checkpoint import Change, Checkpoint, Resume
    from takeback.model.conflicts import ConflictChoices, TextChange
    from takeback.model.entries import Turn
    from takeback.model.ids import SessionId
    from takeback.model.operation import Move, Outcome, Plan, Preview, ScopeKind, Step, StepKind
    from takeback.rewind.request import Facts, Keeping, Request, Scope
    from takeback.rewind.rewind import Recovered
    from takeback.timeline.names import NamedTurn
    from takeback.turns.running import RunningTurn

    Asked = Callable[[Captured], Request]
    """Makes a request from the files as they are."""
    TurnLike: TypeAlias = "CheckpointLike | NamedTurn"
    """A turn, or a step of one, by name or as a value; a checkpoint is one of the turn meant."""
    Turns: TypeAlias = "TurnLike | Iterable[TurnLike]"

# -- merging: what goes into a goal that no checkpoint has, read from the ledger


@guarded
class Merging(Following):
    """What a rewind keeps, and what a revert takes out."""

    def _keeping(
        self, captured: Captured, request: Request, target: Checkpoint, keeping: Keeping
    ) -> Request:
        """Returns a request to go to a checkpoint as one that keeps something of the time since."""
        what = kept_named(keeping.what)  # whatever the types say, it may come from anywhere
        if not request.scope.files:
            return request
        if what == EDITS:
            store = self._context.store
            edits = self._ask(lambda ledger: rooms.revert.edits_since(store, ledger, target))
            request = rooms.picking.keep_edits(captured, request, edits, keeping.choices)
        if what == ALL_OTHERS:
            own = (turn for turn, _ in request.facts.turns if turn.session in request.facts.family)
            taken = [self._taken(self._since(turn, target)) for turn in own]
            request = rooms.picking.keep_all_others(captured, request, taken[::-1], keeping.choices)
        return self._only_picked(captured, request, keeping.choices)

    def _only_picked(
        self, captured: Captured, request: Request, choices: ConflictChoices
    ) -> Request:
        """Returns a request as one for what a person has picked of it, if they have."""
        if choices.picked is None:
            return request
        return rooms.picking.only(captured, request, choices.picked)

    def offers(self, plan: Plan) -> list[Offer]:
        """Returns what can be picked of a plan, path by path."""
        return list(rooms.picking.offers(self._context.store, plan))

    def text_change(self, change: Change) -> TextChange | None:
        """Returns the lines that differ, with the hunks; None if there are none to pick from."""
        if self.hides(change.path):
            return None
        return rooms.picking.text_of(self._context.store, change)

    def _since(self, turn: Turn, target: Checkpoint) -> NamedTurn:
        """Returns a turn as far as it came after a checkpoint, which may be within it."""
        found = self._ask(lambda ledger: rooms.names.whole(ledger, turn))
        inside = found.before.order < target.order < found.after.order
        return found.replace(before=target) if inside else found

    def _taken(self, turn: NamedTurn) -> Taken:
        store, ends = self._context.store, (self.find_kept(turn.before), self.find_kept(turn.after))

        def question(ledger: Ledger) -> list[Stretch]:
            return rooms.deeds.deeds(store, ledger, turn.turn, ends, shared=True)

        return rooms.revert.Taken(self._ask(question), turn.words, turn.turn.session)


# -- travel


@guarded
class Travel(Merging):
    """Everything that moves the workspace to another place."""

    def recover(self) -> Recovered | None:
        """Finishes or rolls back an interrupted operation; None if there is none."""
        if not self.interrupted:
            return None
        with self._context.locked() as locked:
            return self._recover(locked)

    def _recover(self, locked: LockedContext) -> Recovered | None:
        return rooms.rewind.recover(locked, self._by_id)

    def _recover_and_say(self, locked: LockedContext) -> Recovered | None:
        done = self._recover(locked)
        if done is not None:
            locked.reporter.note(done.sentence())
        return done

    def before_newest_turn(self, session: str | None = None) -> Checkpoint:
        """Returns where a rewind without a name goes: before the newest turn not taken back.

        If no agent has worked, it is the newest checkpoint. Raises NoSuchCheckpoint.
        """
        meant = self.session_meant(session)
        if meant is None:
            return self.find(NEWEST)
        found = self._ask(
            lambda ledger: rooms.sessions.before_newest_turn(self._context, ledger, meant)
        )
        if found is None:
            raise NoSuchCheckpoint(
                f"session {meant} has no turn left to take back", hint=(Command("log"),)
            )
        return found

    def default_scope(
        self,
        name: CheckpointLike,
        target: Checkpoint,
        paths: Iterable[str | bytes] = (),
        *,
        ignored: bool = False,
        session: str | None = None,
    ) -> ScopeKind:
        """Returns what a rewind moves if that is not specified.

        Only the files with paths, with ignored files, for a time, and for another session's
        checkpoint; else both, if the session has a conversation.
        """
        from takeback.model.operation import BOTH, FILES

        now = self._context.clock.now()
        is_time = isinstance(name, str) and rooms.names.parse_time(name.strip(), now) is not None
        if isinstance(name, str) and rooms.operations.is_state_name(name):
            return FILES  # a state of the files, whatever the conversation was
        if tuple(paths) or ignored or is_time or target.agent is None:
            return FILES
        if not self._context.policy.conversation:
            return FILES

        def question(ledger: Ledger) -> bool:
            row = rooms.names.session_named(ledger, target.session)
            if row is None or row.transcript is None:
                return False
            if not isinstance(name, str) or "/" not in name:
                return True
            try:
                return target.session in rooms.names.line_of(ledger, self._meant(ledger, session))
            except WhichSession:  # the name itself says which
                return True

        return BOTH if self._ask(question) else FILES

    def choices(self, checkpoint: CheckpointLike) -> Choices:
        """Returns what can be done at a checkpoint, and why the rest cannot, in words."""
        target = self.find(checkpoint)
        found = rooms.fork.choices(
            self._context,
            adapter_of(target.agent or ""),
            target,
            session=self._ask(lambda ledger: rooms.names.session_named(ledger, target.session)),
            newest=self._newest_conversation(target),
        )
        turn = self._ask(lambda ledger: rooms.names.turn_at(ledger, target))
        return found.replace(turn=turn)

    def plan(
        self,
        checkpoint: CheckpointLike,
        paths: Iterable[str | bytes] = (),
        *,
        scope: ScopeKind | None = None,
        ignored: bool = False,
        overrides: Overrides = NO_OVERRIDES,
        keeping: Keeping = KEEP_NOTHING,
    ) -> Plan:
        """Returns what a rewind would change; changes nothing."""
        from takeback.model.operation import CONVERSATION

        named = tuple(paths)
        target, moved = self._destination(checkpoint, named, scope, ignored)
        request = self._request(target, self._scope(named, ignored, files=moved != CONVERSATION))
        request = request.replace(overrides=overrides)
        made = rooms.plan.plan(
            self._context, lambda captured: self._keeping(captured, request, target, keeping)
        )
        made = made.replace(whose=self.taken(checkpoint))
        return self._announced(self._with_conversation(made, moved))

    def _request(self, target: Checkpoint, scope: Scope) -> Request:
        """Returns the request to go to a checkpoint, with what is known about the time since."""
        goal = rooms.prepare.goal_of(self._context.store, target, self._about(target))
        return rooms.request.Request(goal, scope, facts=self._facts(target))

    def _announced(self, made: Plan) -> Plan:
        """Returns a plan as it is shown here: without the lines that are not for who looks."""
        if not self._model:
            return made
        shown = (one.replace(hunks=()) if self.hides(one.path) else one for one in made.conflicts)
        return made.replace(conflicts=tuple(shown))

    def _with_conversation(self, made: Plan, scope: ScopeKind) -> Plan:
        """Completes a plan with what happens to the conversation."""
        from takeback.model.operation import FILES

        target = made.goal.checkpoint
        if target is None or scope == FILES:
            return made.replace(scope=scope)
        prompt = target.prompt if target.kind == PROMPT else None
        return made.replace(scope=scope, prompt=prompt, session=target.session)

    def preview(self, checkpoint: CheckpointLike) -> Preview:
        """Returns what going to a checkpoint would do to the files now; changes nothing."""
        request = self._request(self.find_kept(checkpoint), self._scope((), False))
        return rooms.plan.preview(self._context, request)

    def rewind(
        self,
        checkpoint: CheckpointLike,
        paths: Iterable[str | bytes] = (),
        *,
        scope: ScopeKind | None = None,
        ignored: bool = False,
        overrides: Overrides = NO_OVERRIDES,
        keeping: Keeping = KEEP_NOTHING,
        shown: Plan | None = None,
    ) -> Outcome:
        """Goes to a checkpoint. ``shown`` is the plan a person agreed to.

        ``keeping`` says what of the time since is kept, merged into it: a person's edits, or all
        but what the checkpoint's session changed.
        """
        from takeback.model.operation import CONVERSATION, FILES

        named = tuple(paths)
        self._make_ours(
            lambda: self.plan(
                checkpoint,
                named,
                scope=scope,
                ignored=ignored,
                overrides=overrides,
                keeping=keeping,
            )
        )
        with self._context.locked() as locked:  # from the decision until it is done

            def asked(captured: Captured) -> Request:
                target, moved = self._destination(checkpoint, named, scope, ignored)
                files = self._scope(named, ignored, files=moved != CONVERSATION)
                request = self._request(target, files).replace(
                    overrides=overrides, cut=self._cut(locked, target) if moved != FILES else None
                )
                return self._keeping(captured, request, target, keeping)

            request, outcome = self._decide_and_do(locked, asked, shown)
        return self._delivered(outcome, request.cut)

    def _decide_and_do(
        self, locked: LockedContext, asked: Asked, shown: Plan | None
    ) -> tuple[Request, Outcome]:
        """Decides under the lock, on all that is known by then, and carries that out."""
        with self._taken_in(locked) as captured:
            request = asked(captured)
        return request, rooms.rewind.rewind(locked, captured, request, shown=shown)

    def _plan_merge(self, asked: Asked, overrides: Overrides) -> Plan:
        """Returns what a merge into the files as they are would change; changes nothing."""
        return self._announced(
            rooms.plan.plan(
                self._context, lambda captured: asked(captured).replace(overrides=overrides)
            )
        )

    def _merge(self, asked: Asked, overrides: Overrides, shown: Plan | None) -> Outcome:
        """Merges something into the files as they are."""
        self._make_ours(lambda: self._plan_merge(asked, overrides))
        with self._context.locked() as locked:  # from the decision until it is done
            return self._decide_and_do(
                locked, lambda captured: asked(captured).replace(overrides=overrides), shown
            )[1]

    def _make_ours(self, plan: Callable[[], Plan]) -> None:
        """Makes the store this directory's own before anything is done; usually it is already."""

    def _taken_in(self, locked: LockedContext) -> _TakenIn:
        """Recovers what was interrupted and records what waits, so that decisions see all of it.

        Under the lock: before that, another process may be killed in the middle of a rewind. The
        decisions in the ``with`` need one look at the refs, and see nothing that comes later.
        """
        self._recover_and_say(locked)
        captured = rooms.rewind.take_in(locked)
        return _TakenIn(
            captured,
            self._steady(locked),
            lambda: rooms.left_running.note(locked, captured, self._left_running()),
        )

    def _delivered(self, outcome: Outcome, cut: Cut | None) -> Outcome:
        """Hands a new session to its agent, if that does not read the file itself."""
        child = cut.child if cut is not None else None
        if child is None or outcome.session != child.id:
            return outcome
        return self._in_agents_hands(outcome, child.agent, child.native, child.directory)

    def _in_agents_hands(
        self, outcome: Outcome, agent: str, native: str, directory: str
    ) -> Outcome:
        """Says in the outcome why the agent did not import the session, if it did not."""
        failure = rooms.session_file.deliver(self._context, adapter_of(agent), native, directory)
        if failure is None:
            return outcome
        return outcome.replace(conversation_error=failure, session=None, resume=None)

    def _destination(
        self,
        checkpoint: CheckpointLike,
        paths: tuple[str | bytes, ...],
        scope: ScopeKind | None,
        ignored: bool,
    ) -> tuple[Checkpoint, ScopeKind]:
        from takeback.model.operation import CONVERSATION, FILES, scope_named

        target = self.find(checkpoint)
        if scope is None:
            scope = self.default_scope(checkpoint, target, paths, ignored=ignored)
        scope = scope_named(scope)  # whatever the types say, the value may come from anywhere
        if scope != FILES and (paths or ignored):
            raise UsageError(
                "paths and ignored files go with the files alone", hint=("say ", FILES_ALONE)
            )
        return target if scope == CONVERSATION else self.find_kept(target), scope

    def _cut(self, locked: LockedContext, target: Checkpoint, worktree: str | None = None) -> Cut:
        unused = self._ask(lambda ledger: rooms.names.unused_children(ledger, target))
        wanted = rooms.fork.CutRequest(
            target,
            newest=self._newest_conversation(target),
            title=f"\u21b6 {self._about(target)}",
            unused=tuple(unused) if worktree is None else (),
            worktree=worktree,
        )
        return rooms.fork.plan_cut(locked, adapter_of(target.agent or ""), wanted)

    def _about(self, target: Checkpoint) -> str:
        """Says in words where a checkpoint is, fit to be shown anywhere."""
        from takeback.model.address import address

        return address(target, self._context.clock.now())

    def _facts(self, target: Checkpoint) -> Facts:
        inside, left = self._turn_around(), self.left_running()
        return self._ask(
            lambda ledger: rooms.refuse.facts(
                self._context, ledger, target, inside=inside, is_over=turn_is_over, left=left
            )
        )

    def refuse_inside(self, what: str) -> None:
        """Raises Refused if a model asks for ``what``, which cannot be taken back."""
        from takeback.gate import asker

        asker.refuse_inside(what, self._context.environ, self._asker)

    def asking_model(self) -> Living | RunningTurn | None:
        """Returns whose model asks, or may ask; None if a person does."""
        from takeback.gate import asker

        return asker.who(self._context.environ, self._asker).model

    def refuse_program(self, what: str) -> None:
        """Raises Refused if a model asks for a program to be started, unless it may."""
        if not self._context.policy.agent_may_run:
            self.refuse_inside(what)

    def _turn_around(self) -> RunningTurn | None:
        """Returns the turn that this was called from, or that it may have been."""
        from takeback.gate import asker

        asking = asker.who(self._context.environ, self._asker)
        return asker.turn_inside(asking, self._context.store.location)


class _TakenIn:
    """Gives a ``with`` what was captured, and keeps the ledger as it is meanwhile.

    ``note`` comes before its decisions and tells whether it recorded something, which they see.
    By hand, as contextlib would cost each checkpoint two milliseconds.
    """

    def __init__(self, captured: Captured, steady: Steady, note: Callable[[], bool]) -> None:
        self._captured = captured
        self._steady = steady
        self._note = note

    def __enter__(self) -> Captured:
        self._steady.__enter__()
        try:
            if self._note():
                self._steady.__enter__()  # looks again
        except BaseException:
            self._steady.__exit__()
            raise
        return self._captured

    def __exit__(self, *exc: object) -> None:
        self._steady.__exit__()


# -- reverts: taking turns out of the files, and keeping what came after them


@guarded
class Reverts(Travel):
    """Everything that takes out one turn and leaves the others."""

    def turn(self, name: str, *, session: str | None = None) -> NamedTurn:
        """Returns the turn, or the step of one, that a name means.

        Raises NoSuchCheckpoint or WhichSession, and UsageError if it is in no turn.
        """
        named, place = split_name(name)
        if not is_turn_name(place):
            found = self.find(name, session=session)
            return self._ask(lambda ledger: rooms.names.turn_of(ledger, found))
        whose = session if named is None else named
        return self._ask(
            lambda ledger: rooms.names.turn_named(ledger, place, self._meant(ledger, whose))
        )

    def plan_revert(
        self,
        turns: Turns,
        paths: Iterable[str | bytes] = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
    ) -> Plan:
        """Returns what ``revert`` would change; changes nothing. Its ``conflicts`` need choices."""
        named = given.turns(turns)
        made = self._plan_merge(self._reverting(self._turns(named), paths, choices), overrides)
        return made.replace(whose=self.taken(*named))

    def revert(
        self,
        turns: Turns,
        paths: Iterable[str | bytes] = (),
        *,
        choices: ConflictChoices = NOTHING_CHOSEN,
        overrides: Overrides = NO_OVERRIDES,
        shown: Plan | None = None,
    ) -> Outcome:
        """Takes some turns out of the files, and leaves what came after them.

        A turn is ``turn:3``, one of its steps ``turn:3.2``, any checkpoint within it, or the value.
        """
        return self._merge(self._reverting(turns, paths, choices), overrides, shown)

    def _reverting(
        self,
        turns: Turns,
        paths: Iterable[str | bytes],
        choices: ConflictChoices,
    ) -> Asked:
        """Returns what makes the request from the files and the turns as they are by then."""
        meant, named = given.turns(turns), tuple(paths)
        return lambda captured: self._without(captured, self._turns(meant), named, choices)

    def _turns(self, turns: Iterable[str | NamedTurn]) -> list[NamedTurn]:
        """Returns turns as they are now, the newest first, each once."""
        found: dict[str, NamedTurn] = {}
        for one in turns:
            now = self.turn(one) if isinstance(one, str) else self._again(one)
            found[now.after.id] = now
        if not found:
            raise UsageError("no turn is named", hint=("name one: ", Command("revert", "turn:3")))
        return sorted(found.values(), key=lambda one: one.after.order, reverse=True)

    def _again(self, turn: NamedTurn) -> NamedTurn:
        """Returns a turn as it is now: it may have gone on since it was looked up."""
        if turn.step is not None:
            return turn
        return self._ask(lambda ledger: rooms.names.turn_of(ledger, turn.before))

    def _without(
        self,
        captured: Captured,
        turns: Sequence[NamedTurn],
        paths: tuple[str | bytes, ...],
        choices: ConflictChoices,
    ) -> Request:
        newest = turns[0]
        wanted = rooms.revert.Without(
            taken=[self._taken(one) for one in turns],
            scope=self._scope(paths, False),
            about=_about(turns),
            owner=newest.turn.session,
        )
        facts = self._facts(turns[-1].before)
        request = rooms.revert.request(captured, wanted, choices, facts)
        return self._only_picked(captured, request, choices)


def _about(turns: Sequence[NamedTurn]) -> str:
    """Names some turns in one line, the oldest first."""
    if len(turns) == 1:
        return turns[0].words
    names = [_number(one) for one in reversed(turns)]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _number(turn: NamedTurn) -> str:
    return turn.replace(turn=turn.turn.replace(prompt=None)).words


# -- steps: undo and redo, for whatever moved files, conversation, or both


# the kinds of operation.py, which a capture need not import
_UNDO: Final = "undo"
_REDO: Final = "redo"


@guarded
class Steps(Reverts):
    """Everything that goes back or forth over the operation log."""

    def next_undo(self) -> Step:
        """Returns the operation that undo would take back; raises Refused."""
        return rooms.rewind.next_step(self._context, _UNDO)

    def next_redo(self) -> Step:
        """Returns the operation that redo would do again; raises Refused."""
        return rooms.rewind.next_step(self._context, _REDO)

    def plan_undo(self, *, overrides: Overrides = NO_OVERRIDES) -> Plan:
        """Returns what ``undo`` would change; changes nothing."""
        return self._plan_step(_UNDO, overrides)

    def plan_redo(self, *, overrides: Overrides = NO_OVERRIDES) -> Plan:
        """Returns what ``redo`` would change; changes nothing."""
        return self._plan_step(_REDO, overrides)

    def _plan_step(self, kind: StepKind, overrides: Overrides) -> Plan:
        step = rooms.rewind.next_step(self._context, kind)
        made = rooms.plan.plan(self._context, self._request_of_step(kind, step, overrides))
        if not step.operation.moves_conversation:
            return made
        return made.replace(goes_on=self._current(step.operation, before=step.last))

    def _request_of_step(self, kind: StepKind, step: Step, overrides: Overrides) -> Request:
        goes_to = self._goes_to(step)
        facts = rooms.rewind.relevant(self._facts(goes_to))
        request = rooms.rewind.request(self._context, kind, step, goes_to)
        return request.replace(overrides=overrides, facts=facts)

    def _goes_to(self, step: Step) -> Checkpoint:
        """Returns where a step goes; raises Expired if files are to come from there and cannot."""
        try:
            found = self._by_id(step.goes_to)
        except NoSuchCheckpoint:
            raise Expired(
                f"the files of {step.goes_to} have expired, and its session is gone",
                hint=("what was pruned: ", Command("log", "--operations")),
            ) from None
        return self.find_kept(found) if step.operation.moves_files else found

    def undo(self, *, overrides: Overrides = NO_OVERRIDES, shown: Plan | None = None) -> Outcome:
        """Takes back the newest operation that has not been taken back."""
        return self._step(_UNDO, overrides, shown)

    def redo(self, *, overrides: Overrides = NO_OVERRIDES, shown: Plan | None = None) -> Outcome:
        """Does again what the last undo took back."""
        return self._step(_REDO, overrides, shown)

    def recover_instead_of(self, kind: StepKind) -> None:
        """Recovers what was interrupted, if anything, and then raises RecoveredInstead.

        After a recovery ``undo`` and ``redo`` mean an operation other than the caller saw.
        """
        if self.interrupted:
            with self._context.locked() as locked:
                self._recover_instead_of(locked, kind)

    def _recover_instead_of(self, locked: LockedContext, kind: str) -> None:
        if self._recover_and_say(locked) is not None:
            raise RecoveredInstead(
                f"an interrupted operation was recovered first, so {kind} now means something else",
                hint=("look at the files, then run it again: ", Command(kind)),
            )

    def _step(self, kind: StepKind, overrides: Overrides, shown: Plan | None) -> Outcome:
        with self._context.locked() as locked:  # from the decision until it is done
            self._recover_instead_of(locked, kind)
            with self._taken_in(locked) as captured:
                step = rooms.rewind.next_step(locked, kind)
                request = self._request_of_step(kind, step, overrides)
            outcome = rooms.rewind.rewind(locked, captured, request, shown=shown)
        return self._with_session(outcome, step.operation)

    def _with_session(self, outcome: Outcome, operation: Move) -> Outcome:
        """Says which session to continue with after an undo or redo that moved a conversation."""
        if not operation.moves_conversation:
            return outcome
        wanted = self._current(operation)
        newest = None
        if wanted is not None:
            session = wanted
            newest = self._ask(lambda ledger: rooms.names.newest_of(ledger, session))
        if newest is None:
            return outcome.replace(resume=self._fresh_start(operation))
        resume = rooms.fork.resume_of(self._context, newest, adapter_of(newest.agent or ""))
        moved = outcome.replace(session=wanted, resume=resume)
        return self._in_agents_hands(moved, newest.agent or "", newest.native or "", resume.cwd)

    def _current(self, operation: Move, before: Move | None = None) -> SessionId | None:
        """Returns the session that the conversation of an operation is at, or was at before one."""
        return self._ask(
            lambda ledger: rooms.refuse.current_session(
                self._context, ledger, operation.session, before=before
            )
        )

    def _fresh_start(self, operation: Move) -> Resume | None:
        """Returns how a conversation starts over, if an undo leads to before its first prompt."""
        if operation.target is None:
            return None
        try:
            target = self._by_id(operation.target)
        except NoSuchCheckpoint:  # its session is gone
            return None
        adapter = adapter_of(target.agent or "")
        where = rooms.fork.directory_of(self._context, target)
        return rooms.fork.resume_line(self._context, target, adapter.start(where))
