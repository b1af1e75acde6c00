"""Lists directories and sorts what is in them: held, saved, or not held and why."""

from __future__ import annotations

import errno
import os
import time
from stat import S_ISDIR, S_ISLNK, S_ISREG

from takeback import kernel
from takeback.durable import is_scratch_name
from takeback.git.objects import EMPTY_TREE
from takeback.model.checkpoint import entry_mode
from takeback.model.coverage import (
    EXCLUDED,
    IGNORED,
    MOUNT,
    OTHER_WORKSPACE,
    OVERSIZED,
    PURGED,
    SENSITIVE,
    SPECIAL,
    UNREADABLE,
    UNSTABLE,
)
from takeback.ordinary import all_names
from takeback.worktree.directory import (
    HELD_BELOW,
    IGNORED_DIRECTORY,
    LEFT_OUT,
    LINKED,
    REPOSITORY,
    UNRULED,
    Directory,
    directory_signature,
    signature,
)
from takeback.worktree.draft import IGNORE_FILE, Draft, Movement, marks_of, was_ignored
from takeback.worktree.project import RULES_LIMIT, git_directory
from takeback.worktree.read import CHANGED, LEFT, NEW, UNCHANGED, Task, is_of_this_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.worktree.cache import Known
    from takeback.worktree.glance import Belief
    from takeback.worktree.read import FileReader
    from takeback.worktree.scan import ScanSetup
    from takeback.worktree.watch import WatchedLook


# -- sorts what was listed: held, saved, or not held and why
#
# What the last snapshot held stays held for as long as it exists: an ignore rule that appears
# later applies only to new files, as in git. So a line in a file that anybody may write cannot
# take a path out of protection. Only the user's own settings can (``exclude``, ``sensitive``,
# ``size_limit_mb``).


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


# -- lists directories and sorts what is in them
#
# New directories are found level by level, so that git is asked about all new names of one
# depth in one go, and never about what lies below an ignored directory.


_STAYS = frozenset((IGNORED, IGNORED_DIRECTORY, EXCLUDED, SENSITIVE, SPECIAL, PURGED))
"""Gaps that cannot close unless the directory or the rules change."""
_AT_ONCE = 1000
"""How many directories of one depth are listed before what is in them is sorted."""
_PORTION = 25_000
"""How many files are found before they are read: a million at once would take half a gigabyte."""
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Survey:
    """Finds what is there now. ``finish`` lists and has files read, then ``settle`` is due."""

    def __init__(
        self,
        setup: ScanSetup,
        known: Known,
        belief: Belief,
        *,
        mounts: set[bytes],
        inside: Iterable[bytes],
        watching: WatchedLook | None = None,
    ) -> None:
        self._workspace = setup.workspace
        self._watching = watching
        self._known = known
        self._belief = belief
        self._mounts = mounts
        self._operation = setup.operation
        self._movement = Movement(
            setup.workspace.fd, everywhere=setup.within is None, watching=watching
        )
        self._queue: dict[bytes, bool] = {}
        self._drafts: dict[bytes, Draft] = {}
        self._portion: list[Draft] = []
        """Those of which files may still have to be read."""
        self._restless: set[bytes] = set()
        self._young: dict[bytes, dict[bytes, Task]] = {}
        self._sorting = Sorting(setup, known, inside)
        self.removed: set[bytes] = set()
        self.removed_from: set[bytes] = set()

    def begin_anew(self) -> None:
        """Lists everything; what is known of unchanged files is still used."""
        self._queue[b""] = True

    def look_again(self, paths: Iterable[bytes]) -> None:
        """Lists these known directories again."""
        for path in paths:
            self._queue.setdefault(path, False)

    def finish(self, reader: FileReader) -> None:
        """Lists what is queued and every new directory below it, and has the files in them read.

        If there are many they are read in portions, so that little is known of each when its
        portion is done.
        """
        while self._queue:
            level = self._next_level()
            for first in range(0, len(level), _AT_ONCE):
                drafts = [self._list(*listed) for listed in level[first : first + _AT_ONCE]]
                whole = [draft for draft in drafts if draft is not None]
                self._sorting.judge(whole)
                for draft in whole:
                    self._descend(draft)
                    self._forget_vanished(draft)
                    draft.entries = {}  # a million of them take most of a gigabyte
                self._portion += whole
                if self._sorting.found >= _PORTION:
                    self._read_portion(reader)
        reader.read(self._sorting.take_tasks(last=True))
        self._portion = []

    def _read_portion(self, reader: FileReader) -> None:
        """Has the files read that were found so far, but for those that have to wait."""
        reader.read(self._sorting.take_tasks(last=False), last=False)
        waiting = self._sorting.waiting()
        rest = []
        for draft in self._portion:
            if draft.path in waiting:
                rest.append(draft)
            else:
                draft.press(self._belief)
        self._portion = rest

    def _next_level(self) -> list[tuple[bytes, bool]]:
        """Takes the shallowest queued paths: listing a parent may show that a child is gone."""
        depth = min(_depth(path) for path in self._queue)
        level = sorted(path for path in self._queue if _depth(path) == depth)
        return [(path, self._queue.pop(path)) for path in level]

    def _list(self, path: bytes, ask_again: bool) -> Draft | None:
        known = self._known.get(path)
        draft = Draft(path, known, ask_again=ask_again, young=self._young.pop(path, None))
        if path in self._mounts:
            self._drop(path, MOUNT)
            return None
        try:
            fd = kernel.open_directory_beneath(self._workspace.fd, path, only_to_read=True)
        except OSError as error:
            if is_of_this_process(error, self._workspace.fd):
                raise
            self._drop(path, MOUNT if error.errno == errno.EXDEV else UNREADABLE)
            return None
        try:
            again = path in self._movement
            if self._watching is not None:
                self._watching.lists(path, fd)
            when = time.time_ns()
            status = os.fstat(fd)
            draft.result.mode = status.st_mode
            draft.result.listed = self._movement.saw(path, status, when)
            draft.settled = self._belief.time.settled(status.st_mtime_ns, status.st_ctime_ns)
            for name in map(os.fsencode, all_names(fd)):
                self._look(draft, fd, name)
        except OSError as error:
            if is_of_this_process(error, fd):
                raise
            self._drop(path, UNREADABLE)
            return None
        finally:
            os.close(fd)
        if path and draft.result.flags & REPOSITORY and self._is_another_workspace(path, known):
            self._drop(path, OTHER_WORKSPACE)
            return None
        ignore_file = draft.entries.get(IGNORE_FILE)
        if ignore_file is not None and not _is_readable_by_git(ignore_file):
            draft.result.flags |= UNRULED
        if draft.ignore_file_changed():
            draft.ask_again = True
        if again:
            self._restless |= draft.restless()
        if draft.missing() and not draft.settled:  # else it vanished before we began to look
            self._movement.vanished = True
        self._drafts[path] = draft
        return draft

    def _look(self, draft: Draft, fd: int, name: bytes) -> None:
        if name == b".git":
            draft.result.flags |= REPOSITORY
            return
        if is_scratch_name(name, self._operation):
            draft.result.gaps[name] = EXCLUDED
            draft.settled = False
            return
        try:
            draft.entries[name] = status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if status.st_nlink > 1 and S_ISREG(status.st_mode):
                draft.result.flags |= LINKED
        except FileNotFoundError:
            draft.settled = False
            self._movement.vanished = True
        except OSError:
            draft.miss(name, UNREADABLE)
            draft.settled = False

    def _drop(self, path: bytes, reason: str) -> None:
        """Makes a directory a gap of its parent, which was listed before it."""
        self._forget_below(path)
        if not path:
            root = Directory(b"")
            root.gaps[b""] = reason
            self._known[b""] = root
            self._drafts[b""] = draft = Draft(b"", None, ask_again=False)
            draft.result.gaps[b""] = reason
            draft.settled = False
            return
        parent, _, name = path.rpartition(b"/")
        draft_of_parent = self._drafts.get(parent)
        if draft_of_parent is not None:
            draft_of_parent.result.subs.pop(name, None)
            gaps, draft_of_parent.settled = draft_of_parent.result.gaps, False
            held = draft_of_parent.was_held(name, directory=True)
        else:
            directory = self._known.get(parent)
            if directory is None:  # the parent vanished a moment ago
                return
            held = directory.subs.pop(name, None) is not None
            gaps, directory.listed = directory.gaps, b""
            self.removed_from.add(parent)
        reason = reason + HELD_BELOW if held and reason != OTHER_WORKSPACE else reason
        try:
            if S_ISDIR(self._status(parent, name).st_mode):
                gaps[name] = reason
            else:
                self._queue.setdefault(parent, False)
        except OSError as error:
            if error.errno in _ABSENT:
                self._movement.vanished = True
            else:
                gaps[name] = reason

    def _status(self, directory: bytes, name: bytes) -> os.stat_result:
        fd = kernel.open_directory_beneath(self._workspace.fd, directory, only_to_read=True)
        try:
            return os.stat(name, dir_fd=fd, follow_symlinks=False)
        finally:
            os.close(fd)

    def _descend(self, draft: Draft) -> None:
        """Queues the sub-directories that are new, or may be."""
        prefix = draft.path + b"/" if draft.path else b""
        for name in draft.result.subs:
            path = prefix + name
            known = self._known.get(path)
            draft.result.subs[name] = (0, known.tree if known is not None else b"")
            if known is None or draft.ask_again:
                self._queue[path] = draft.ask_again
            elif path not in self._movement and known.listed != directory_signature(
                draft.entries[name]
            ):  # another one took its place since it was checked
                self._queue.setdefault(path, False)

    def _is_another_workspace(self, path: bytes, known: Directory | None) -> bool:
        """Tells whether a directory is a linked worktree; one that holds files stays ours.

        git makes a worktree only where there is nothing, and a pointer is easily forged.
        """
        if known is not None and known.tree not in (b"", EMPTY_TREE):
            return False
        git = git_directory(os.path.join(self._workspace.root, path))
        return git is not None and git.linked

    def _forget_vanished(self, draft: Draft) -> None:
        if draft.known is None:
            return
        for name in draft.known.subs:
            if name not in draft.result.subs:
                self._forget_below(draft.path + b"/" + name if draft.path else name)

    def _forget_below(self, path: bytes) -> None:
        """Drops what was known of a vanished directory and everything below it."""
        stack = [path]
        while stack:
            gone = stack.pop()
            self._queue.pop(gone, None)
            self._drafts.pop(gone, None)
            self._movement.forget(gone)
            directory = self._known.pop(gone)
            if directory is not None:
                self.removed.add(gone)
                prefix = gone + b"/" if gone else b""
                stack.extend(prefix + name for name in directory.subs)

    def settle(self) -> list[Directory]:
        """Turns what was listed and read into directories.

        Afterwards, ``moved`` tells whether the result is correct; if not, more can be listed.
        """
        fresh = []
        for path, draft in sorted(self._drafts.items()):
            if not self._still_listed(path):  # its parent was listed again and found it gone
                self._known.pop(path)
                continue
            result = draft.result
            draft.press(self._belief)
            self._movement.vanished |= draft.lost
            if draft.young:
                self._young[path] = draft.young
            open_gap = IGNORE_FILE in result.gaps or any(
                reason not in _STAYS for reason in result.gaps.values()
            )
            if open_gap or not draft.settled:
                result.listed = b""
            if draft.known is not None:
                result.tree = draft.known.tree
            self._known[path] = result
            fresh.append(result)
        for directory in fresh:
            prefix = directory.path + b"/" if directory.path else b""
            for name in list(directory.subs):
                child = self._known.get(prefix + name)
                if child is None:
                    del directory.subs[name]
                else:
                    directory.subs[name] = (entry_mode(child.mode), child.tree)
        self._drafts = {}
        return fresh

    def moved(self, *, vanished: bool = False) -> list[bytes]:
        """Returns the directories in which names came or went during the listing and reading.

        ``vanished``: a known file vanished that is in no directory of this survey.
        """
        self._movement.vanished |= vanished
        return self._movement.moved(self._known)

    def give_up(self, paths: Iterable[bytes]) -> None:
        """Reports directories that keep changing: something may be in them that is not listed.

        For the root only the names that came and went, in it or another such directory, are
        reported: one file that is replaced all the time must not put everything in doubt.
        """
        for path in paths:
            directory = self._known.get(path)
            if directory is None:
                continue
            names = {b""}
            if not path:
                names = self._restless - marks_of(directory).keys() - directory.subs.keys()
            directory.gaps.update((name, UNSTABLE) for name in names if name not in directory.gaps)
            directory.listed = b""
            self.removed_from.add(path)

    def _still_listed(self, path: bytes) -> bool:
        parent, _, name = path.rpartition(b"/")
        above = self._known.get(parent)  # settled already: parents come first
        return path == b"" or (above is not None and name in above.subs)


def _depth(path: bytes) -> int:
    return path.count(b"/") + 1 if path else 0


def _is_readable_by_git(ignore_file: os.stat_result) -> bool:
    """Tells whether git may be asked: it waits for ever on a FIFO, and reads whole files."""
    mode = ignore_file.st_mode
    if S_ISREG(mode):
        return ignore_file.st_size <= RULES_LIMIT
    return S_ISLNK(mode) or S_ISDIR(mode)
