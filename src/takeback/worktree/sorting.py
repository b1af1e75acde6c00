"""Sorts what was listed: held, saved, or not held and why."""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK, S_ISREG

from takeback.errors import Refused
from takeback.model.coverage import EXCLUDED, IGNORED, OVERSIZED, SPECIAL
from takeback.worktree.directory import IGNORED_DIRECTORY, signature
from takeback.worktree.draft import was_ignored
from takeback.worktree.hashing import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.policy import Policy
    from takeback.worktree.draft import Draft
    from takeback.worktree.rules import Rules


class Sorting:
    """Judges the entries of directories. ``tasks`` are the files that must be read."""

    def __init__(self, root: bytes, rules: Rules, policy: Policy, *, allow_large: bool) -> None:
        self._root = root
        self._rules = rules
        self._policy = policy
        self._entries_left = policy.entries_limit if not allow_large else 1 << 62
        self._bytes_left = policy.bytes_limit if not allow_large else 1 << 62
        self.tasks: list[Task] = []

    def judge(self, drafts: list[Draft]) -> None:
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
            result.subs[name] = (0, b"")  # the survey fills it in
        elif S_ISREG(mode) and status.st_size > self._policy.size_limit:
            result.gaps[name] = OVERSIZED
        else:
            self._hold(draft, draft.held, name, status)

    def _hold(
        self,
        draft: Draft,
        into: dict[bytes, tuple[bytes, bytes] | Task],
        name: bytes,
        status: os.stat_result,
    ) -> None:
        known = draft.marks.get(name)
        if known is not None and known[0] == signature(status):
            into[name] = draft.young.get(name, known)
            return
        task = Task(draft.path, name, status.st_size if S_ISREG(status.st_mode) else 0)
        into[name] = task
        self.tasks.append(task)
        self._entries_left -= 1
        self._bytes_left -= task.size
        if self._entries_left < 0 or self._bytes_left < 0:
            raise Refused(
                f"the workspace {os.fsdecode(self._root)} has more than "
                f"{self._policy.entries_limit} files or "
                f"{self._policy.bytes_limit >> 30} GB to read",
                hint="say so once: takeback checkpoint --allow-large; or ignore what is not yours",
                flag="--allow-large",
            )
