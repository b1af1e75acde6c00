"""Beside the work: bisects in a directory of their own, the store's space, states side by side."""

from __future__ import annotations

import os

from takeback import rooms
from takeback.app.border import guarded
from takeback.app.forks import Summarising
from takeback.errors import (
    Command,
    GitFailed,
    InUse,
    NoSuchCheckpoint,
    StoreDamaged,
    UsageError,
    WriteFailed,
)
from takeback.model.ids import SnapshotId
from takeback.model.operation import Between
from takeback.model.path_text import covers, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Final

    from takeback.app.workspace import CheckpointLike
    from takeback.bisect.bisect import Bisected, Bisection, Inquiry, Run
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint, CountedChange, Entry
    from takeback.model.entries import ReviewedChange
    from takeback.model.ids import CheckpointId
    from takeback.purge.purge import Purge, Purging
    from takeback.retention.prune import Prune, Pruning, Upkeep
    from takeback.retention.sweep import Together
    from takeback.retention.trash import Restored
    from takeback.store.history import Trash


# -- bisects: finding the turn that broke a command, beside the workspace and not in it


@guarded
class Bisects(Summarising):
    """Everything that tries a command on the files of checkpoints."""

    def bisect(
        self,
        good: CheckpointLike,
        bad: CheckpointLike,
        command: Sequence[str],
        *,
        copies: Iterable[str | bytes] = (),
        timeout: float | None = None,
    ) -> Bisected:
        """Finds what broke a command between two checkpoints: runs it on the states in between.

        It runs in a scratch directory, with ``copies`` of paths that no checkpoint holds, such as
        ``.venv``; a run of more than ``timeout`` seconds is bad. Each verdict is kept, so a search
        that was broken off carries on if it is called again. Raises UsageError if ``good`` is not
        good or ``bad`` not bad, BrokenOff, and Refused if another search is under way.
        """
        asked = self.bisection(good, bad, command, copies=copies, timeout=timeout)
        reporter = self._context.reporter
        runs: list[Run] = []

        def heard(run: Run) -> None:
            runs.append(run)
            reporter.progress("runs", len(runs), asked.most_runs)

        return asked.run(heard)

    def bisection(
        self,
        good: CheckpointLike,
        bad: CheckpointLike,
        command: Sequence[str],
        *,
        copies: Iterable[str | bytes] = (),
        timeout: float | None = None,
    ) -> Bisection:
        """Returns the search for what broke a command between two checkpoints, to be ``run``.

        ``copies`` are paths that no checkpoint holds, such as ``.venv``: the command gets a copy. A
        run of more than ``timeout`` seconds is bad. Raises Refused if another one is under way.
        """
        if not command or not command[0]:
            raise UsageError("there is no command to be run", hint="it stands behind --")
        inquiry = rooms.bisect.Inquiry(
            self.find_kept(good).id,
            self.find_kept(bad).id,
            tuple(command),
            tuple(self._copied(path) for path in copies),
            timeout,
        )
        rooms.bisect.refuse_second(self._context, inquiry)
        return self._bisection(inquiry)

    def bisection_under_way(self) -> Bisection:
        """Returns the search that was begun and not finished; raises Refused if there is none."""
        return self._bisection(rooms.bisect.kept(self._context))

    def reset_bisection(self) -> bool:
        """Gives up the search that was begun and not finished; False if there is none."""
        self.refuse_inside("giving up a bisection")
        return rooms.bisect.reset(self._context)

    def broken_by(self, found: Bisected) -> list[CountedChange]:
        """Returns what changed from the last good state to the first bad one."""
        old, new = found.good.checkpoint, found.broken[-1].checkpoint
        return rooms.look.changes(self._context, Between.of_trees(old.tree, new.tree))

    def _bisection(self, inquiry: Inquiry) -> Bisection:
        self.refuse_program("a run of a command")
        good, bad = self.find_kept(inquiry.good), self.find_kept(inquiry.bad)
        among = self._ask(lambda ledger: rooms.bisect.places(self._context, ledger, good, bad))
        return rooms.bisect.Bisection(self._context, inquiry, among)

    def _copied(self, path: str | bytes) -> bytes:
        """Returns a path in the workspace, of which a copy is wanted; raises UsageError."""
        found = self.path(path)
        if not found or not os.path.lexists(os.path.join(self.root, found)):
            raise UsageError(f"there is no {to_text(os.fsencode(path))} to be copied")
        return found


# -- space: what keeps the store of a workspace small, and brings back what was dropped


@guarded
class Space(Bisects):
    """Everything that takes files off checkpoints, and gives them back."""

    def plan_prune(
        self,
        checkpoints: Iterable[CheckpointLike] = (),
        *,
        session: str | None = None,
        everything: bool = False,
    ) -> Prune:
        """Returns a prune that is decided and not carried out: its ``outlook`` says what it does.

        By the settings, or of the checkpoints that are named; of one session only, or with
        ``everything`` all of that session.
        """
        return rooms.prune.Prune(
            self._upkeep(),
            rooms.prune.Selection(
                session=None if session is None else self.session_meant(session),
                everything=everything,
                checkpoints=tuple(self.find(one).id for one in checkpoints),
            ),
        )

    def prune(self, planned: Prune) -> Pruning:
        """Carries out a prune, and empties the trash of what was there long enough.

        By the settings, of all sessions, it brings all stores within ``max_total_bytes``, too.
        """
        self.refuse_inside("a prune")
        if self.interrupted:
            with self._context.locked() as locked:
                self._recover_and_say(locked)
        made = planned.carry_out()
        self._ask(lambda ledger: None)  # before the trash is emptied: what is in it is not missing
        try:
            rooms.sweep.empty_trash(self._upkeep(), planned.stock)
        except (GitFailed, StoreDamaged, WriteFailed, InUse) as error:
            said = f"The space of what has left the trash is not free yet: {error.message}."
            self._context.reporter.note(said)
        if planned.is_by_settings:
            rooms.sweep.sweep_others(self._context.store.location)
        return made

    def all_stores(self) -> Together:
        """Returns how large all stores of the user are together, and how large they may be."""
        location = self._context.store.location
        return rooms.sweep.together(location.home, self._context.environ)

    def plan_purge(self, *names: str) -> Purge:
        """Returns a purge that is not carried out: its ``outlook`` says what it would remove.

        A name is a path, which starts where the workspace was opened, or a pattern, which starts
        at its root and matches at any depth if it has no slash.
        """
        from takeback.purge.purge import Purge, is_pattern
        from takeback.worktree.rules import Patterns

        paths = self._paths(name for name in names if not is_pattern(name))
        if not names or b"" in paths:
            raise UsageError(
                "a purge takes the paths of some files, not of the workspace itself",
                hint=("to delete all that is kept of it: ", Command("forget")),
            )
        patterns = Patterns(tuple(name for name in names if is_pattern(name)))
        return Purge(
            self._upkeep(),
            lambda path: (bool(paths) and covers(paths, path)) or patterns.match(path),
            " ".join(names),
            self._context.reporter,
        )

    def purge(self, planned: Purge) -> Purging:
        """Removes what it is about from everything that is kept, for good; proves it."""
        self.refuse_inside("a purge")
        with self._context.locked() as locked:
            if self.interrupted:
                self._recover_and_say(locked)
            rooms.receive.record_waiting(locked)
        if self._index is not None:  # it is made anew
            self._index.close()
            self._index = None
        made = planned.carry_out()
        self._ask(lambda ledger: None)
        return made

    def purged_in(
        self, checkpoints: Iterable[Checkpoint | None], paths: Iterable[str | bytes] = ()
    ) -> list[bytes]:
        """Returns what was purged from some checkpoints, of some paths only if any are named."""
        from takeback.model.coverage import PURGED
        from takeback.store.records import read_coverage

        wanted = self._paths(paths)
        found: set[bytes] = set()
        for one in checkpoints:
            if one is None or one.expired is not None:
                continue
            try:
                kept = read_coverage(self._context.store, one.commit).not_held
            except StoreDamaged:  # verify reports it
                continue
            found.update(item.path for item in kept if item.reason == PURGED)
        return sorted(path for path in found if covers(wanted, path))

    def restore(self, name: str | None = None) -> Restored:
        """Brings back what was pruned: the newest, or what the id of a prune or a checkpoint means.

        Of a checkpoint its turn comes back. Raises Refused if the trash is empty.
        """
        self.refuse_inside("bringing back what was pruned")
        store = self._context.store
        trash, checkpoint = rooms.trash.find_trash(store, name)
        only = None
        if checkpoint is not None:
            only = self._with_its_turn(trash, checkpoint)
        return rooms.trash.restore(self._upkeep(), trash, only)

    def _with_its_turn(self, trash: Trash, checkpoint: CheckpointId) -> list[CheckpointId]:
        """Returns a checkpoint and what else of its turn is in the trash.

        All of its session, if it is not there itself: then nothing tells which turn it was in.
        """
        mine = next(ids for ids in trash.dropped.values() if checkpoint in ids)
        try:
            of = self.find(checkpoint)
        except NoSuchCheckpoint:
            return [*mine]
        return [one for one in mine if one == of.id or self._is_beside(of.turn, one)]

    def _is_beside(self, turn: int | None, checkpoint: str) -> bool:
        try:
            return turn is not None and self.find(checkpoint).turn == turn
        except NoSuchCheckpoint:
            return False

    def trash(self) -> list[Trash]:
        """Returns what was dropped and can be brought back, the oldest first."""
        from takeback.store.history import all_trash

        return all_trash(self._context.store)

    def gone_workspaces(self) -> list[bytes]:
        """Returns the workspaces of the user whose directory is gone, or was moved."""
        from takeback.app.beginning import gone_workspaces

        if self._model:
            return []
        return gone_workspaces(self._context.environ)

    def _upkeep(self) -> Upkeep:
        context = self._context
        return rooms.prune.Upkeep(
            store=context.store,
            clock=context.clock,
            bounds=self.settings.bounds(),
            holder=context.holder,
            wait=context.policy.lock_wait,
            disk_floor=context.policy.disk_floor,
        )


# -- reviewing: what a turn changed, or a rewind would change, with all its lines


AFTER: Final = "after"
"""What the turn that begins there changed; of any other checkpoint, what changed before it."""
NOW: Final = "now"
"""What going there would do to the files as they are."""
PREVIOUS: Final = "previous"
"""What changed from the state before it."""
WORDS = (AFTER, NOW, PREVIOUS)


@guarded
class Reviewing(Space):
    """Two states side by side: a checkpoint, and another one, or the files as they are."""

    def review(self, checkpoint: CheckpointLike, to: str = AFTER) -> tuple[ReviewedChange, ...]:
        """Returns what differs, by path. ``to`` is one of the words above, or a checkpoint.

        With ``now`` it is in the direction of the rewind: from the files as they are.
        """
        found = self.find_kept(checkpoint)
        if to == NOW:
            preview = self.preview(found)
            plan = preview.plan
            made = rooms.review.joined((*plan.writes, *plan.deletes), preview.changes)
            return tuple(one.replace(tickable=one.change.path not in plan.saved) for one in made)
        return rooms.review.reviewed(self._context.store, self._between(found, to))

    def _between(self, found: Checkpoint, to: str) -> Between:
        if to == AFTER:
            return self.states(found)
        own = SnapshotId(found.tree.hex())
        if to != PREVIOUS:
            return Between(own, SnapshotId(self.find_kept(to).tree.hex()))

        def question(ledger: Ledger) -> SnapshotId | None:
            return ledger.state_before(found)

        return Between(self._ask(question) or own, own)

    def content(self, path: bytes, entry: Entry | None) -> bytes:
        """Returns the bytes of one side of a change that ``review`` gave."""
        self.refuse_hidden(path)
        return rooms.review.content(self._context.store, path, entry)
