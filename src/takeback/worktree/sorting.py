"""Sorts what was listed: held, saved, or not held and why.

What the last snapshot held stays held for as long as it exists: an ignore rule that appears later
applies only to new files, as in git. So a line in a file that anybody may write cannot take a path
out of protection. Only the user's own settings can (``exclude``, ``sensitive``, ``size_limit_mb``).
"""

from __future__ import annotations

from stat import S_ISDIR, S_ISLNK, S_ISREG

from takeback.model.coverage import IGNORED, OVERSIZED, PURGED, SPECIAL
from takeback.worktree.directory import IGNORED_DIRECTORY, LEFT_OUT, UNRULED, signature
from takeback.worktree.draft import was_ignored
from takeback.worktree.hashing import CHANGED, LEFT, NEW, UNCHANGED, Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from takeback.worktree.draft import Draft
    from takeback.worktree.known import Known
    from takeback.worktree.scan import ScanSetup

_BLOCK = 512
_HOLES = 5
"""The share of the bytes that one capture may read that may be holes, not on disk: nobody's work,
but each costs as much time as any other."""
_SMALL = 1 << 16
_LATER = 50
"""The share of what one capture may read that is for what an earlier one left out."""
_DID_NOT_FIT = OVERSIZED + LEFT_OUT  # one string for all of them: there may be half a million


class Sorting:
    """Sorts the entries of directories; ``take_tasks`` returns the files that must be read."""

    def __init__(
        self,
        setup: ScanSetup,
        known: Known,
        inside: Iterable[bytes],
    ) -> None:
        self._known = known
        self._rules = setup.rules
        self._policy = policy = setup.policy
        self._inside = frozenset(inside)
        """Files that were held in ignored directories."""
        self._brought = setup.brought
        self._purged = setup.purged
        self._unruled: set[bytes] | None = None
        self._whole: set[bytes] = set()
        """Directories that were wanted but could not be read: everything in them is wanted."""
        most = (policy.entries_limit, policy.bytes_limit, policy.bytes_limit // _HOLES)
        self._left = list(most) if not setup.allow_large else [1 << 62] * len(most)
        """What may still be read: files, bytes on disk, bytes of holes."""
        self._left_later = [number // _LATER for number in self._left]
        self._left_known = list(self._left)
        self._tasks: list[Task] = []
        self._late: list[Task] = []

    def judge(self, drafts: list[Draft]) -> None:
        """Asks git about all new names on one level and sorts the entries."""
        paths: list[bytes] = []
        for draft in drafts:
            draft.questions = [name for name in draft.entries if self._must_ask(draft, name)]
            if draft.questions and not self._may_ask(draft):
                draft.questions = []
            prefix = draft.path + b"/" if draft.path else b""
            paths.extend(prefix + name for name in draft.questions)
        answers = iter(self._rules.ignored(paths))
        for draft in drafts:
            verdicts = {name: next(answers) for name in draft.questions}
            for name, status in draft.entries.items():
                ignored = verdicts.get(name)
                if ignored is None:
                    ignored = was_ignored(draft.known, name)
                self._sort(draft, name, status, ignored)

    def _must_ask(self, draft: Draft, name: bytes) -> bool:
        if draft.known is None or draft.ask_again:
            return True
        directory = S_ISDIR(draft.entries[name].st_mode)
        gap = draft.known.gaps.get(name)
        if directory:
            return name not in draft.known.subs and gap != IGNORED_DIRECTORY
        return name not in draft.marks and gap != IGNORED

    def _may_ask(self, draft: Draft) -> bool:
        """Tells whether git can be asked about a directory: all ignore files above must be sound.

        If one is not, git's earlier verdicts stand, and new names are not ignored.
        """
        if self._unruled is None:
            self._unruled = self._known.unruled()
        if draft.result.flags & UNRULED:
            self._unruled.add(draft.path)
        else:
            self._unruled.discard(draft.path)
        if not self._unruled and not self._whole:
            return True
        path = draft.path
        while path not in self._unruled and path not in self._whole:
            if not path:
                return True
            path = path.rpartition(b"/")[0]
        return False

    def _sort(self, draft: Draft, name: bytes, status: os.stat_result, ignored: bool) -> None:
        result, mode = draft.result, status.st_mode
        path = draft.path + b"/" + name if draft.path else name
        left_out = self._rules.left_out.reason(path, directory=S_ISDIR(mode))
        if left_out is not None:
            result.gaps[name] = left_out
        elif not (S_ISDIR(mode) or S_ISREG(mode) or S_ISLNK(mode)):
            result.gaps[name] = SPECIAL
        elif self._purged is not None and not S_ISDIR(mode) and self._purged.hides(path):
            result.gaps[name] = PURGED
        elif (
            ignored and not self._rules.included(path) and not self._stays(draft, name, path, mode)
        ):
            if not S_ISDIR(mode) and self._rules.is_tracked(draft.path, name):
                result.tracked += (name,)
                self._hold(draft, draft.held, name, status)
            elif S_ISDIR(mode):
                result.gaps[name] = IGNORED_DIRECTORY
            elif status.st_size > self._policy.ignored_file_limit or self._policy.ignored == "off":
                result.gaps[name] = IGNORED
            else:
                self._hold(draft, draft.saved, name, status)
        elif S_ISDIR(mode):
            result.subs[name] = (0, b"")  # the survey fills it in
        elif S_ISREG(mode) and status.st_size > self._policy.size_limit:
            draft.miss(name, OVERSIZED)
        else:
            self._hold(draft, draft.held, name, status)

    def _stays(self, draft: Draft, name: bytes, path: bytes, mode: int) -> bool:
        """Tells whether an ignored name was held before it was ignored."""
        directory = S_ISDIR(mode)
        if not draft.was_held(name, directory=directory):
            if not directory and path in self._inside:
                return True
            return self._brought is not None and self._brought.holds(path, directory=directory)
        if directory and draft.known is not None and name in draft.known.gaps:
            self._whole.add(path)
        return True

    def _hold(
        self,
        draft: Draft,
        into: dict[bytes, tuple[bytes, bytes] | Task],
        name: bytes,
        status: os.stat_result,
    ) -> None:
        known = draft.marks.get(name)
        mark = signature(status)
        if known is not None and known[0] == mark:
            into[name] = draft.young.get(name, known)
            return
        is_link = S_ISLNK(status.st_mode)
        size = 0 if is_link else status.st_size
        task = Task(draft.path, name, size, is_link=is_link)
        into[name] = task
        self._tasks.append(task)
        if known is not None:
            task.rank = UNCHANGED if draft.is_unchanged(name, status) else CHANGED
        elif draft.known is not None and draft.known.gaps.get(name, "").endswith(LEFT_OUT):
            task.rank = LEFT
        if size > _BLOCK:
            task.blocks = min(size, status.st_blocks * _BLOCK)

    @property
    def found(self) -> int:
        """How many files were found that are to be read."""
        return len(self._tasks)

    def waiting(self) -> set[bytes]:
        """Returns the directories of files that are read last."""
        return {task.directory for task in self._late}

    def take_tasks(self, *, last: bool) -> list[Task]:
        """Takes out the tasks that fit the limits of one capture; the others are reported.

        Known files go first, then small ones: so a heap of new files cannot keep the rest out.
        Unchanged files are never left out, whatever their size. Those left out come in later,
        little by little, so that a heap does not cost every capture as much as the first.

        Until the ``last`` are taken out, new files that are large or were left out have to wait.
        """
        tasks, self._tasks = self._tasks, []
        if last:
            tasks, self._late = self._late + tasks, []
        else:
            self._late += [task for task in tasks if _may_wait(task)]
            tasks = [task for task in tasks if not _may_wait(task)]
        tasks.sort(key=lambda task: (task.rank, task.size))
        return [task for task in tasks if self._fits(task)]

    def _fits(self, task: Task) -> bool:
        if task.rank == UNCHANGED:
            return True
        if task.rank == LEFT:
            self._left = [*map(min, self._left, self._left_later)]
        costs = (1, task.blocks, task.size - task.blocks)
        self._left = left = _minus(self._left, costs)
        if task.rank == CHANGED:  # the new ones of earlier portions keep no known one out
            self._left_known = left = _minus(self._left_known, costs)
        if min(left) >= 0:
            return True
        task.outcome = _DID_NOT_FIT
        return False


def _may_wait(task: Task) -> bool:
    """Tells whether a file is read only if all others fit: it is new, and large or left before."""
    return task.rank == LEFT or (task.rank == NEW and task.size > _SMALL)


def _minus(left: list[int], costs: tuple[int, ...]) -> list[int]:
    return [number - cost for number, cost in zip(left, costs, strict=True)]
