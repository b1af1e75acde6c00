"""Forks: a new session from a checkpoint, with its files here, in a new directory, or without."""

from __future__ import annotations

import os

from takeback import rooms
from takeback.app.border import guarded
from takeback.app.carrying import Carrying
from takeback.errors import UsageError
from takeback.model.coverage import NO_OVERRIDES, Overrides
from takeback.model.operation import IGNORED_STAY
from takeback.model.path_text import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.workspace import CheckpointLike
    from takeback.git.process import LinkedWorktree
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.operation import Outcome, Plan
    from takeback.rewind.request import Request


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
