"""Travel: going to a checkpoint, with files, conversation, or both."""

from __future__ import annotations

from takeback import rooms
from takeback.adapters import adapter_of
from takeback.app.border import guarded
from takeback.app.endings import turn_is_over
from takeback.app.merging import Merging
from takeback.errors import FILES_ALONE, Command, NoSuchCheckpoint, UsageError, WhichSession
from takeback.model.coverage import NO_OVERRIDES, Overrides
from takeback.model.naming import NEWEST
from takeback.model.turn import PROMPT
from takeback.rewind.request import KEEP_NOTHING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from takeback.app.workspace import CheckpointLike
    from takeback.capture.capture import Captured
    from takeback.context import LockedContext
    from takeback.fork.fork import Choices, Cut
    from takeback.gate.living import Living
    from takeback.ledger.follow import Steady
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.operation import Outcome, Plan, Preview, ScopeKind
    from takeback.rewind.request import Facts, Keeping, Request, Scope
    from takeback.rewind.rewind import Recovered
    from takeback.turns.running import RunningTurn

    Asked = Callable[[Captured], Request]
    """Makes a request from the files as they are."""


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
