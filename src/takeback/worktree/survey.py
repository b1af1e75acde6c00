"""Lists directories and sorts what is in them: held, saved, or not held and why.

New directories are found level by level, so that git is asked about all new names of one
depth in one go, and never about what lies below an ignored directory.
"""

from __future__ import annotations

import errno
import os
from stat import S_ISDIR, S_ISLNK, S_ISREG

from takeback import kernel
from takeback.durable import is_scratch_name
from takeback.errors import Refused
from takeback.model.coverage import (
    EXCLUDED,
    IGNORED,
    MOUNT,
    OTHER_WORKSPACE,
    OVERSIZED,
    SPECIAL,
    UNREADABLE,
)
from takeback.model.snapshot import entry_mode
from takeback.worktree.directory import (
    IGNORED_DIRECTORY,
    NEVER_TRUSTED,
    REPOSITORY,
    Directory,
    Files,
    directory_signature,
    signature,
)
from takeback.worktree.draft import Draft, was_ignored
from takeback.worktree.hashing import Task
from takeback.worktree.project import git_directory
from takeback.worktree.reading import GONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.model.policy import Policy
    from takeback.worktree.known import Known
    from takeback.worktree.rules import Rules
    from takeback.worktree.times import Moment
    from takeback.worktree.workspace import Workspace

_STAYS = frozenset((IGNORED, IGNORED_DIRECTORY, EXCLUDED, SPECIAL))
"""Gaps that cannot close without a change of the directory or of the rules."""
_IGNORE_FILE = b".gitignore"


class Survey:
    """Finds what is there now. ``tasks`` are the files to read before ``settle``."""

    def __init__(
        self,
        workspace: Workspace,
        known: Known,
        rules: Rules,
        policy: Policy,
        moment: Moment,
        mounts: set[bytes],
        allow_large: bool,
    ) -> None:
        self._workspace = workspace
        self._known = known
        self._rules = rules
        self._policy = policy
        self._moment = moment
        self._mounts = mounts
        self._queue: dict[bytes, bool] = {}
        self._drafts: dict[bytes, Draft] = {}
        self._entries_left = policy.entries_limit if not allow_large else 1 << 62
        self._bytes_left = policy.bytes_limit if not allow_large else 1 << 62
        self.tasks: list[Task] = []
        self.removed: set[bytes] = set()
        self.removed_from: set[bytes] = set()

    def begin_anew(self) -> None:
        """Lists everything; what is known of unchanged files is still used."""
        self._queue[b""] = True

    def look_again(self, paths: Iterable[bytes]) -> None:
        """Lists these known directories again."""
        for path in paths:
            self._queue.setdefault(path, False)

    def finish(self) -> None:
        """Lists what is queued and every new directory below it."""
        while self._queue:
            level = self._next_level()
            drafts = [self._list(path, ask_again) for path, ask_again in level]
            whole = [draft for draft in drafts if draft is not None]
            self._judge(whole)

    def _next_level(self) -> list[tuple[bytes, bool]]:
        """Takes the shallowest queued paths: a parent may find that a child is gone."""
        depth = min(_depth(path) for path in self._queue)
        level = sorted(path for path in self._queue if _depth(path) == depth)
        return [(path, self._queue.pop(path)) for path in level]

    def _list(self, path: bytes, ask_again: bool) -> Draft | None:
        known = self._known.get(path)
        draft = Draft(path, known, ask_again=ask_again)
        if path in self._mounts:
            self._drop(path, MOUNT)
            return None
        try:
            fd = kernel.open_directory_beneath(self._workspace.fd, path, only_to_read=True)
        except OSError as error:
            self._drop(path, MOUNT if error.errno == errno.EXDEV else UNREADABLE)
            return None
        try:
            status = os.fstat(fd)
            draft.result.mode = status.st_mode
            draft.result.listed = directory_signature(status)
            draft.settled = self._moment.settled(status.st_mtime_ns, status.st_ctime_ns)
            with os.scandir(fd) as listing:
                names = [os.fsencode(entry.name) for entry in listing]
            for name in names:
                self._look(draft, fd, name)
        except OSError:
            self._drop(path, UNREADABLE)
            return None
        finally:
            os.close(fd)
        if path and draft.result.flags & REPOSITORY and self._is_linked_worktree(path):
            self._drop(path, OTHER_WORKSPACE)
            return None
        ignore_file = draft.entries.get(_IGNORE_FILE)
        if ignore_file is not None and not _harmless_ignore_file(ignore_file.st_mode):
            # git would wait on a FIFO for ever: the whole directory is named, not guessed at
            self._drop(path, UNREADABLE)
            return None
        if self._ignore_file_changed(draft):
            draft.ask_again = True
        self._drafts[path] = draft
        return draft

    def _look(self, draft: Draft, fd: int, name: bytes) -> None:
        if name == b".git":
            draft.result.flags |= REPOSITORY
            return
        if is_scratch_name(name):  # of an operation that was interrupted
            draft.result.gaps[name] = EXCLUDED
            draft.settled = False
            return
        try:
            draft.entries[name] = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            draft.settled = False
        except OSError:
            draft.result.gaps[name] = UNREADABLE
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
        else:
            directory = self._known.get(parent)
            if directory is None:  # the parent went a moment before
                return
            directory.subs.pop(name, None)
            gaps, directory.listed = directory.gaps, b""
            self.removed_from.add(parent)
        status = self._status(parent, name)
        if status is not None and S_ISDIR(status.st_mode):
            gaps[name] = reason
        elif status is not None:
            self._queue.setdefault(parent, False)

    def _status(self, directory: bytes, name: bytes) -> os.stat_result | None:
        try:
            fd = kernel.open_directory_beneath(self._workspace.fd, directory, only_to_read=True)
        except OSError:
            return None
        try:
            return os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError:
            return None
        finally:
            os.close(fd)

    def _ignore_file_changed(self, draft: Draft) -> bool:
        status = draft.entries.get(_IGNORE_FILE)
        if draft.known is None:
            return False
        before = draft.marks.get(_IGNORE_FILE)
        if before is None:
            return status is not None
        return status is None or before[0] != signature(status)

    def _judge(self, drafts: list[Draft]) -> None:
        """Asks git about all new names of one level and sorts the entries."""
        paths: list[bytes] = []
        for draft in drafts:
            draft.questions = [name for name in draft.entries if self._must_ask(draft, name)]
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
            self._forget_vanished(draft)

    def _must_ask(self, draft: Draft, name: bytes) -> bool:
        if draft.known is None or draft.ask_again:
            return True
        directory = S_ISDIR(draft.entries[name].st_mode)
        gap = draft.known.gaps.get(name)
        if directory:
            return name not in draft.known.subs and gap != IGNORED_DIRECTORY
        return name not in draft.marks and gap != IGNORED

    def _sort(self, draft: Draft, name: bytes, status: os.stat_result, ignored: bool) -> None:
        result, mode = draft.result, status.st_mode
        path = draft.path + b"/" + name if draft.path else name
        if self._rules.excluded(path):
            result.gaps[name] = EXCLUDED
        elif not (S_ISDIR(mode) or S_ISREG(mode) or S_ISLNK(mode)):
            result.gaps[name] = SPECIAL
        elif ignored and not self._rules.included(path):
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
            self._descend(draft, name, path)
        elif S_ISREG(mode) and status.st_size > self._policy.size_limit:
            result.gaps[name] = OVERSIZED
        else:
            self._hold(draft, draft.held, name, status)

    def _descend(self, draft: Draft, name: bytes, path: bytes) -> None:
        known = self._known.get(path)
        draft.result.subs[name] = (0, known.tree if known is not None else b"")
        if known is None or draft.ask_again:
            self._queue[path] = draft.ask_again

    def _is_linked_worktree(self, path: bytes) -> bool:
        git = git_directory(os.path.join(self._workspace.root, path))
        return git is not None and git.linked

    def _hold(
        self,
        draft: Draft,
        into: dict[bytes, tuple[bytes, bytes] | Task],
        name: bytes,
        status: os.stat_result,
    ) -> None:
        known = draft.marks.get(name)
        if known is not None and known[0] == signature(status):
            into[name] = known
            return
        task = Task(draft.path, name, status.st_size if S_ISREG(status.st_mode) else 0)
        into[name] = task
        self.tasks.append(task)
        self._entries_left -= 1
        self._bytes_left -= task.size
        if self._entries_left < 0 or self._bytes_left < 0:
            raise Refused(
                f"the workspace {os.fsdecode(self._workspace.root)} has more than "
                f"{self._policy.entries_limit} files or "
                f"{self._policy.bytes_limit >> 30} GB to read",
                hint="say so once: takeback checkpoint --allow-large; or ignore what is not yours",
                flag="--allow-large",
            )

    def _forget_vanished(self, draft: Draft) -> None:
        if draft.known is None:
            return
        for name in draft.known.subs:
            if name not in draft.result.subs:
                self._forget_below(draft.path + b"/" + name if draft.path else name)

    def _forget_below(self, path: bytes) -> None:
        """Drops what was known of a directory that is gone, with all below it."""
        stack = [path]
        while stack:
            gone = stack.pop()
            self._queue.pop(gone, None)
            self._drafts.pop(gone, None)
            directory = self._known.pop(gone)
            if directory is not None:
                self.removed.add(gone)
                prefix = gone + b"/" if gone else b""
                stack.extend(prefix + name for name in directory.subs)

    def settle(self) -> list[Directory]:
        """Turns what was listed and read into directories; call it when all tasks are done."""
        fresh = []
        for path, draft in sorted(self._drafts.items()):
            if not self._still_listed(path):  # its parent was listed again and found it gone
                self._known.pop(path)
                continue
            result = draft.result
            result.files = Files.of(self._rows(draft, draft.held))
            result.saved = Files.of(self._rows(draft, draft.saved))
            open_gap = any(reason not in _STAYS for reason in result.gaps.values())
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
        return fresh

    def _still_listed(self, path: bytes) -> bool:
        parent, _, name = path.rpartition(b"/")
        above = self._known.get(parent)  # settled already: parents come first
        return path == b"" or (above is not None and name in above.subs)

    def _rows(
        self, draft: Draft, held: dict[bytes, tuple[bytes, bytes] | Task]
    ) -> list[tuple[bytes, bytes, bytes]]:
        rows = []
        for name, kept in held.items():
            if isinstance(kept, Task):
                if isinstance(kept.outcome, str):
                    if kept.outcome != GONE:
                        draft.result.gaps[name] = kept.outcome
                    draft.settled = False
                    continue
                oid, mark = kept.outcome
                mark = self._believed(draft, name, mark)
            else:
                mark, oid = kept
            rows.append((name, mark, oid))
        return rows

    def _believed(self, draft: Draft, name: bytes, mark: bytes) -> bytes:
        """Returns the signature, or one that never matches if the file's times are too young."""
        size, mtime, ctime, _, mode = memoryview(mark).cast("q")
        if self._moment.settled(mtime, ctime):
            return mark
        draft.result.racy[name] = (mode, size)
        return NEVER_TRUSTED


def _depth(path: bytes) -> int:
    return path.count(b"/") + 1 if path else 0


def _harmless_ignore_file(mode: int) -> bool:
    return S_ISREG(mode) or S_ISLNK(mode) or S_ISDIR(mode)
